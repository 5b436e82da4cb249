"""Prints where the sentences of each text start, in UTF-8 bytes: JSON strings in, JSON lists out, one a line."""
import json
import sys

import pysbd

segmenter = pysbd.Segmenter(language=sys.argv[1], clean=False, char_span=False)
for line in sys.stdin:
    text, at, starts = json.loads(line), 0, []
    for sentence in segmenter.segment(text):
        found = text.find(sentence.strip(), at)
        if found >= 0:
            starts.append(len(text[:found].encode()))
            at = found + len(sentence.strip())
    print(json.dumps(starts))
