"""Pipecat's MCP client, its tools called as a pipeline calls them. See calls.py for what it reads and prints."""

import sys

from calls import main
from loguru import logger
from mcp import StdioServerParameters
from mcp.client.session_group import StreamableHttpParameters
from pipecat.processors.aggregators.llm_context import LLMContext
from pipecat.services.llm_service import FunctionCallParams
from pipecat.services.mcp_service import MCPClient


async def session(server, calls):
    if "url" in server:
        params = StreamableHttpParameters(url=server["url"])
    else:
        params = StdioServerParameters(command=server["command"], args=server["args"])
    async with MCPClient(server_params=params) as client:
        schemas = {schema.name: schema for schema in (await client.tools()).standard_tools}
        tools = [
            {"name": s.name, "description": s.description,
             "input": {"type": "object", "properties": s.properties, "required": s.required}}
            for s in schemas.values()
        ]
        answers = []
        for number, call in enumerate(calls):
            results = []

            async def take(result, *, properties=None):
                results.append(result)

            await schemas[call["tool"]].handler(FunctionCallParams(
                function_name=call["tool"], tool_call_id=str(number), arguments=call["arguments"],
                llm=None, pipeline_worker=None, context=LLMContext(), result_callback=take,
            ))
            assert len(results) == 1, results
            answers.append({"text": results[0]})  # Pipecat hands on the text alone
        return tools, answers


logger.remove()
logger.add(sys.stderr, level="WARNING")
main(session)
