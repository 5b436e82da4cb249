"""LiveKit Agents' MCP client, its tools called as an agent calls them. See calls.py for what it reads and prints."""

import json

from calls import main
from livekit.agents import mcp
from livekit.agents.llm import ToolError


async def session(server, calls):
    if "url" in server:
        connection = mcp.MCPServerHTTP(server["url"])
    else:
        connection = mcp.MCPServerStdio(server["command"], args=server["args"])
    toolset = mcp.MCPToolset(id="larder", mcp_server=connection)
    await toolset.setup()
    try:
        named = {tool.info.name: tool for tool in toolset.tools}
        tools = [
            {"name": name, "description": tool.info.raw_schema["description"], "input": tool.info.raw_schema["parameters"]}
            for name, tool in named.items()
        ]
        answers = []
        for call in calls:
            try:
                result = await named[call["tool"]](raw_arguments=call["arguments"])
                part = json.loads(result)  # the one part of the result, as JSON: what the model reads
                answers.append({"text": part["text"], "failed": False})
            except ToolError as error:
                answers.append({"text": error.message, "failed": True})
        return tools, answers
    finally:
        await toolset.aclose()


main(session)
