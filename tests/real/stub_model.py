#!/usr/bin/env python3
"""A model service for tests, without a model: embeddings from words, and chat answers that keep what the user said.

It speaks as much of the OpenAI interface as a real OpenViking server needs: POST /v1/embeddings (numbers or base64) and
POST /v1/chat/completions (whole or streamed). The same input always gets the same answer.

Usage: stub_model.py PORT
"""
import base64
import hashlib
import json
import math
import re
import struct
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# Large enough that two words seldom share a place.
DIMENSION = 2048


def words(text):
    """Words of alphabetic scripts; single characters and pairs of the others; signs and pictures one by one."""
    text = text.lower()
    found = re.findall(r"[^\W_\u2e80-\uffff]+", text) + re.findall(r"[\U0001f000-\U0001faff]", text)
    for run in re.findall(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+", text):
        found += list(run) + [run[at : at + 2] for at in range(len(run) - 1)]
    return found


def embed(text):
    """A unit vector in which each word has a place and a sign of its own."""
    vector = [0.0] * DIMENSION
    for word in words(text):
        digest = hashlib.sha256(word.encode()).digest()
        place = int.from_bytes(digest[:4], "big") % DIMENSION
        vector[place] += 1.0 if digest[4] % 2 else -1.0
    length = math.sqrt(sum(value * value for value in vector))
    if not length:
        vector[0] = length = 1.0
    return [value / length for value in vector]


def answer(messages):
    """What the model says. Asked to write a program of memory operations, it keeps each thing the user said as it is."""
    texts = [message.get("content") or "" for message in messages]
    texts = ["\n".join(part.get("text", "") for part in text) if isinstance(text, list) else text for text in texts]
    instructions, everything = texts[0] if texts else "", "\n".join(texts)
    if "sdk.commit" not in instructions:
        return "Summary: " + " ".join((texts or [""])[-1].split())[-120:]
    program = []
    for said in re.findall(r"^\[\d+\]\[user\]\[[^\]\n]*\]: (.+)$", everything, re.MULTILINE):
        name = "said_" + hashlib.sha256(said.encode()).hexdigest()[:8]
        content = f"# {name}\nWhat the user said.\n\n## Description\n- {said}"
        program.append(f"sdk.create_entities(category={json.dumps('said')}, name={json.dumps(name)}, "
                       f"content={json.dumps(content, ensure_ascii=False)})")
    return "\n".join(program + ["sdk.commit()"])


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def reply(self, status, body, kind="application/json"):
        body = body if isinstance(body, bytes) else json.dumps(body, ensure_ascii=False).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.reply(200, {"object": "list", "data": []})

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
        model, usage = request.get("model"), {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        if self.path.endswith("/embeddings"):
            inputs = request["input"] if isinstance(request["input"], list) else [request["input"]]
            vectors = [embed(str(text)) for text in inputs]
            if request.get("encoding_format") == "base64":
                vectors = [base64.b64encode(struct.pack(f"<{DIMENSION}f", *vector)).decode() for vector in vectors]
            data = [{"object": "embedding", "index": at, "embedding": vector} for at, vector in enumerate(vectors)]
            return self.reply(200, {"object": "list", "model": model, "data": data, "usage": usage})
        if not self.path.endswith("/chat/completions"):
            return self.reply(404, {"error": {"message": f"there is no {self.path}"}})
        content = answer(request.get("messages") or [])
        whole = {"id": "stub", "created": 0, "model": model}
        if request.get("stream"):
            parts = [({"role": "assistant", "content": content}, None), ({}, "stop")]
            events = [{**whole, "object": "chat.completion.chunk",
                       "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]} for delta, finish in parts]
            lines = [json.dumps(event, ensure_ascii=False) for event in events] + ["[DONE]"]
            return self.reply(200, "".join(f"data: {line}\n\n" for line in lines).encode(), "text/event-stream")
        message = {"role": "assistant", "content": content}
        choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
        self.reply(200, {**whole, "object": "chat.completion", "choices": choices, "usage": usage})


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
    server.daemon_threads = True
    server.serve_forever()
