"""A voice agent on Pipecat that looks up what it says in a base of larder.

    python agent.py check "how long does a refund take"    lists the tools and looks it up; needs no account
    python agent.py ask "how long does a refund take"      one turn in writing, with the language model
    python agent.py                                        takes calls from a browser

README.md beside this folder says what to set.
"""

import asyncio
import os
import shlex
import sys

from loguru import logger
from mcp import StdioServerParameters
from mcp.client.session_group import StreamableHttpParameters
from pipecat.audio.vad.silero import SileroVADAnalyzer
from pipecat.frames.frames import FunctionCallResultFrame, LLMMessagesAppendFrame
from pipecat.observers.base_observer import BaseObserver, FramePushed
from pipecat.pipeline.pipeline import Pipeline
from pipecat.pipeline.worker import PipelineWorker
from pipecat.processors.aggregators.llm_context import LLMContext
from pipecat.processors.aggregators.llm_response_universal import LLMContextAggregatorPair, LLMUserAggregatorParams
from pipecat.runner.types import RunnerArguments
from pipecat.runner.utils import create_transport
from pipecat.services.llm_service import FunctionCallParams
from pipecat.services.mcp_service import MCPClient
from pipecat.services.openai.llm import OpenAILLMService
from pipecat.services.openai.stt import OpenAISTTService
from pipecat.services.openai.tts import OpenAITTSService
from pipecat.transports.base_transport import TransportParams
from pipecat.workers.llm import LLMContextWorker
from pipecat.workers.runner import WorkerRunner

INSTRUCTIONS = """You answer callers of a shop, in one or two short sentences that are easy to say aloud.
Look things up before you state a fact, in the caller's own words. Name the source only if asked.
If the lookup is unavailable, say that you can't look it up right now. If nothing answers, say that you don't know."""


def knowledge() -> MCPClient:
    """The tools of larder mcp: of a server that runs already, or of one started for this process."""
    if url := os.environ.get("LARDER_URL"):
        token = os.environ.get("LARDER_TOKEN")
        return MCPClient(
            StreamableHttpParameters(url=url, headers={"Authorization": f"Bearer {token}"} if token else None)
        )
    command, *args = shlex.split(os.environ.get("LARDER_COMMAND", "larder mcp dist"))
    # Without env the server would get PATH and HOME, but no key that its bases need.
    return MCPClient(StdioServerParameters(command=command, args=args, env=dict(os.environ)))


def model() -> OpenAILLMService:
    return OpenAILLMService(
        settings=OpenAILLMService.Settings(model=os.environ.get("MODEL", "gpt-4.1-mini"), system_instruction=INSTRUCTIONS)
    )


async def bot(runner_args: RunnerArguments):
    """Takes a call. Pipecat's runner calls it for each."""
    log_little("INFO")
    transport = await create_transport(
        runner_args, {"webrtc": lambda: TransportParams(audio_in_enabled=True, audio_out_enabled=True)}
    )
    context = LLMContext(tools=await knowledge().tools())
    user, assistant = LLMContextAggregatorPair(
        context, user_params=LLMUserAggregatorParams(vad_analyzer=SileroVADAnalyzer())
    )
    worker = PipelineWorker(Pipeline([
        transport.input(), OpenAISTTService(), user, model(), OpenAITTSService(), transport.output(), assistant,
    ]))

    @transport.event_handler("on_client_connected")
    async def greet(transport, client):
        greeting = {"role": "developer", "content": "Greet the caller and offer your help."}
        await worker.queue_frame(LLMMessagesAppendFrame([greeting], run_llm=True))

    @transport.event_handler("on_client_disconnected")
    async def hang_up(transport, client):
        await worker.cancel()

    runner = WorkerRunner(handle_sigint=runner_args.handle_sigint)
    await runner.add_workers(worker)
    await runner.run()


def log_little(level: str):
    """Pipecat's more talkative levels log what is asked, found and said."""
    logger.remove()
    logger.add(sys.stderr, level=level)


class Calls(BaseObserver):
    """Prints each call of a tool, once."""

    def __init__(self):
        super().__init__()
        self.seen = set()

    async def on_push_frame(self, data: FramePushed):
        frame = data.frame
        if isinstance(frame, FunctionCallResultFrame) and frame.tool_call_id not in self.seen:
            self.seen.add(frame.tool_call_id)
            print("called:", frame.function_name, dict(frame.arguments))
            print("answer:", frame.result)


async def ask(question: str):
    """One turn of the same agent, without a microphone or a voice."""
    worker = LLMContextWorker(llm=model(), context=LLMContext(tools=await knowledge().tools()))
    worker.add_observer(Calls())

    @worker.assistant_aggregator.event_handler("on_assistant_turn_stopped")
    async def finish(aggregator, turn):
        if turn.content:
            print("agent:", turn.content)
            await worker.stop_when_done()

    await worker.queue_frame(LLMMessagesAppendFrame([{"role": "user", "content": question}], run_llm=True))
    runner = WorkerRunner()
    await runner.add_workers(worker)
    await runner.run()


async def check(question: str):
    """The tools that the agent would have, and what the first lookup of them finds."""
    async with knowledge() as client:
        tools = {tool.name: tool for tool in (await client.tools()).standard_tools}
        print("tools:", ", ".join(tools))

        async def take(result, *, properties=None):
            print("answer:", result)

        name = next((name for name in tools if name.startswith("look_up")), None) or sys.exit("no tool looks up")
        await tools[name].handler(FunctionCallParams(
            function_name=name, tool_call_id="check", arguments={"query": question},
            llm=None, pipeline_worker=None, context=LLMContext(), result_callback=take,
        ))


if __name__ == "__main__":
    modes = {"check": check, "ask": ask}
    if len(sys.argv) == 3 and sys.argv[1] in modes:
        log_little("WARNING")
        asyncio.run(modes[sys.argv[1]](sys.argv[2]))
    else:
        from pipecat.runner.run import main

        main()
