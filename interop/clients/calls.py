"""What the clients have in common: tasks come as JSON on standard input, and what the client saw goes as JSON to
standard output.

    in:  [{"server": {"command": …, "args": […]} or {"url": …}, "calls": [{"tool": …, "arguments": {…}}]}]
    out: [{"tools": [{"name": …, "description": …, "input": {…}}], "answers": [{"text": …}]}]
"""

import asyncio
import json
import sys


async def converse(session, tasks):
    seen = []
    for task in tasks:
        tools, answers = await session(task["server"], task["calls"])
        seen.append({"tools": tools, "answers": answers})
    return seen


def main(session):
    json.dump(asyncio.run(converse(session, json.load(sys.stdin))), sys.stdout)
