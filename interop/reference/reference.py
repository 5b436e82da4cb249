"""Asks unmute_core.knowledge.KnowledgeBase what standard input says, and prints its answers as JSON.

in:  {"endpoint", "model", "bases": [{"name", "folder", "mode", "min_score", "questions"}], "settings": [{…}]}
out: {"version", "tools", "bases": [{"before_start", "passages", "answers"}], "refusals": ["…" or null]}
"""

import asyncio
import importlib.metadata
import json
import sys
import urllib.request
from pathlib import Path

from llama_index.core.base.embeddings.base import BaseEmbedding
from unmute_core.knowledge import KnowledgeBase


class Endpoint(BaseEmbedding):
    """An embedder that posts to an OpenAI-compatible endpoint, which llama-index's own does for OpenAI's models only."""

    url: str

    def _post(self, texts):
        body = json.dumps({"model": self.model_name, "input": texts}).encode()
        request = urllib.request.Request(self.url + "/embeddings", body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=600) as response:
            data = json.load(response)["data"]
        return [one["embedding"] for one in sorted(data, key=lambda one: one["index"])]

    def _get_text_embeddings(self, texts):
        return self._post(texts)

    def _get_text_embedding(self, text):
        return self._post([text])[0]

    def _get_query_embedding(self, query):
        return self._post([query])[0]

    async def _aget_query_embedding(self, query):
        return self._get_query_embedding(query)


def refusal(settings):
    """Return what a base with these settings is refused with, None if it isn't."""
    if settings.pop("embed", False):
        settings["embed"] = lambda: None
    try:
        KnowledgeBase("refunds", Path("refunds"), **settings)
    except ValueError as error:
        return str(error)
    return None


async def ask(task, base):
    embed = None
    if base["mode"] != "keyword":
        embed = lambda: Endpoint(url=task["endpoint"], model_name=task["model"])
    kb = KnowledgeBase(base["name"], Path(base["folder"]), mode=base["mode"], min_score=base["min_score"], embed=embed)
    before = await kb.look_up("before the start")
    kb.start()
    return {
        "before_start": before,
        "passages": len(kb._nodes()),
        "answers": [await kb.look_up(question) for question in base["questions"]],
    }


def main():
    task = json.load(sys.stdin)
    stdout, sys.stdout = sys.stdout, sys.stderr  # the splitter prints
    tool = KnowledgeBase("refunds", Path("refunds"), mode="keyword").tool("look_up_refunds", "Look up refunds.")
    default = KnowledgeBase("refunds", Path("refunds"), mode="keyword").tool()
    show = lambda spec: {"name": spec.name, "description": spec.description, "inputSchema": spec.parameters}
    out = {
        "version": importlib.metadata.version("unmute-core"),
        "tools": [show(tool), show(default)],
        "bases": [asyncio.run(ask(task, base)) for base in task["bases"]],
        "refusals": [refusal(settings) for settings in task["settings"]],
    }
    json.dump(out, stdout, ensure_ascii=False)


main()
