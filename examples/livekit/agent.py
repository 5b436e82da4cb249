"""A voice agent on LiveKit that looks up what it says in a base of larder.

    python agent.py check "how long does a refund take"    lists the tools and looks it up; needs no account
    python agent.py ask "how long does a refund take"      one turn in writing, with the language model
    python agent.py dev                                    takes calls

README.md beside this folder says what to set.
"""

import asyncio
import os
import shlex
import sys

from livekit.agents import Agent, AgentServer, AgentSession, JobContext, cli, inference, mcp

INSTRUCTIONS = """You answer callers of a shop, in one or two short sentences that are easy to say aloud.
Look things up before you state a fact, in the caller's own words. Name the source only if asked.
If the lookup is unavailable, say that you can't look it up right now. If nothing answers, say that you don't know."""

server = AgentServer()


def text(call: mcp.MCPToolResultContext) -> str:
    """What the model reads of a result. By default LiveKit wraps it in JSON once more."""
    return "\n".join(part.text for part in call.result.content)


def knowledge() -> mcp.MCPToolset:
    """The tools of larder mcp: of a server that runs already, or of one started for this process."""
    if url := os.environ.get("LARDER_URL"):
        token = os.environ.get("LARDER_TOKEN")
        connection = mcp.MCPServerHTTP(
            url,
            transport_type="streamable_http",
            headers={"Authorization": f"Bearer {token}"} if token else None,
            tool_result_resolver=text,
        )
    else:
        command, *args = shlex.split(os.environ.get("LARDER_COMMAND", "larder mcp dist"))
        # Without env the server would get PATH and HOME, but no key that its bases need.
        connection = mcp.MCPServerStdio(command, args=args, env=dict(os.environ), tool_result_resolver=text)
    return mcp.MCPToolset(id="larder", mcp_server=connection)


def assistant() -> Agent:
    return Agent(instructions=INSTRUCTIONS, tools=[knowledge()])


def model() -> inference.LLM:
    return inference.LLM(os.environ.get("MODEL", "openai/gpt-4.1-mini"))


@server.rtc_session()
async def take_call(ctx: JobContext):
    session = AgentSession(
        stt=inference.STT("deepgram/nova-3"),
        llm=model(),
        tts=inference.TTS("cartesia/sonic-3"),
    )
    await session.start(assistant(), room=ctx.room)
    await session.generate_reply(instructions="Greet the caller and offer your help.")


async def ask(question: str):
    """One turn of the same agent, without a room, a microphone or a voice."""
    async with model() as llm, AgentSession(llm=llm, vad=None) as session:
        await session.start(assistant())
        turn = await session.run(user_input=question)
        for event in turn.events:
            if event.type == "function_call":
                print("called:", event.item.name, event.item.arguments)
            elif event.type == "function_call_output":
                print("answer:", event.item.output)
            elif event.type == "message" and event.item.role == "assistant":
                print("agent:", event.item.text_content)


async def check(question: str):
    """The tools that the agent would have, and what the first lookup of them finds."""
    toolset = knowledge()
    await toolset.setup()
    try:
        tools = {tool.info.name: tool for tool in toolset.tools}
        print("tools:", ", ".join(tools))
        name = next((name for name in tools if name.startswith("look_up")), None) or sys.exit("no tool looks up")
        print("answer:", await tools[name](raw_arguments={"query": question}))
    finally:
        await toolset.aclose()


if __name__ == "__main__":
    modes = {"check": check, "ask": ask}
    if len(sys.argv) == 3 and sys.argv[1] in modes:
        asyncio.run(modes[sys.argv[1]](sys.argv[2]))
    else:
        cli.run_app(server)
