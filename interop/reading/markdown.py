"""Renders Markdown with markdown-it-py and prints what a reader of the page sees: paths in, one a line, JSON out.

Each answer has the text, and for each heading its text and the anchor that it gives itself, if any. What other tools
write into Markdown is taken out first: front matter, shortcodes, includes, lists of attributes, lines of Rust that
documentation hides. Marks of footnotes are no text.
"""
import json
import re
import sys
from html.parser import HTMLParser

from markdown_it import MarkdownIt
from mdit_py_plugins.deflist import deflist_plugin
from mdit_py_plugins.footnote import footnote_plugin

FRONT = re.compile(r"\A(?:---+[ \t]*\n.*?^---+[ \t]*\n|\+\+\++[ \t]*\n.*?^\+\+\++[ \t]*$)", re.S | re.M)
TAGS = re.compile(r"\{\{<(?!/\*)(?:(?!\{\{).)*?>\}\}|\{\{%(?!/\*)(?:(?!\{\{).)*?%\}\}|\{\{#(?:include|rustdoc_include|playground|title)\b[^\n]*?\}\}", re.S)
MARKS = re.compile(r"^[ \t]*\{:?[ \t]*[.#:][^{}\n]*\}[ \t]*$", re.M)
OWN = re.compile(r"[ \t]*\{(?:#([\w-]+)|[.:])[^{}]*\}[ \t]*$")
HEADINGS = {"h1", "h2", "h3", "h4", "h5", "h6"}
WITHIN_WORDS = set("a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label mark q s samp small span "
                   "strike strong sub sup time tt u var wbr".split())


class Page(HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.text, self.headings, self.heading, self.hidden, self.notes = [], [], None, 0, 0

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if tag not in WITHIN_WORDS:
            self.text.append("\n")
        if tag in ("script", "style"):
            self.hidden += 1
        if attributes.get("class") in ("footnote-ref", "footnote-backref"):
            self.notes = 1
        if tag == "img":
            self.text.append(" " + (attributes.get("alt") or "") + " ")
        if tag in HEADINGS:
            self.heading = []
            self.own = attributes.get("id") or ""

    def handle_endtag(self, tag):
        if tag in ("script", "style"):
            self.hidden = max(0, self.hidden - 1)
        if tag in ("sup", "a"):
            self.notes = 0
        if tag in HEADINGS and self.heading is not None:
            text = "".join(self.heading)
            if own := OWN.search(text):
                self.own, text = own[1] or self.own, text[: own.start()]
            self.headings.append([text, self.own])
            self.heading = None
        if tag not in WITHIN_WORDS:
            self.text.append("\n")

    def handle_data(self, data):
        if self.hidden or self.notes:
            return
        self.text.append(data)
        if self.heading is not None:
            self.heading.append(data)


def fence(renderer, tokens, index, options, env):
    token, code = tokens[index], tokens[index].content
    if token.info.strip().startswith("rust"):
        code = re.sub(r"(?m)^[ \t]*#(?: .*)?(?:\n|\Z)", "", code)
    from html import escape
    return "<pre><code>" + escape(code) + "</code></pre>\n"


markdown = MarkdownIt("gfm-like", {"html": True, "linkify": True}).use(footnote_plugin).use(deflist_plugin)
markdown.add_render_rule("fence", fence)
for name in sys.stdin:
    with open(name.rstrip("\n"), encoding="utf-8-sig") as file:
        source = MARKS.sub("", TAGS.sub("", FRONT.sub("", file.read(), count=1)))
    page = Page()
    page.feed(markdown.render(source))
    page.close()
    text = re.sub(r"[ \t]*\{#[\w-]+[^{}\n]*\}[ \t]*(?=\n)", "", "".join(page.text))
    print(json.dumps({"text": text, "headings": page.headings}))
