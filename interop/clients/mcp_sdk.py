"""The MCP Python SDK as a client. See calls.py for what it reads and prints.

The argument says how its Client negotiates: "legacy" by the initialize handshake, "auto" by server/discover first.
"""

import sys

from calls import main
from mcp import Client, StdioServerParameters


async def session(server, calls):
    target = server["url"] if "url" in server else StdioServerParameters(command=server["command"], args=server["args"])
    async with Client(target, mode=sys.argv[1]) as client:
        tools = [
            {"name": t.name, "description": t.description, "input": t.input_schema, "output": t.output_schema,
             "read_only": t.annotations is not None and t.annotations.read_only_hint}
            for t in (await client.list_tools()).tools
        ]
        answers = []
        for call in calls:
            result = await client.call_tool(call["tool"], call["arguments"])
            answers.append({
                "text": "".join(part.text for part in result.content),
                "structured": result.structured_content,
                "failed": bool(result.is_error),
            })
        return tools, answers


main(session)
