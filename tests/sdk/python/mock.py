"""A model that says what a test wants: a small part of Anthropic's Messages API, on loopback.

    server = Mock([say("Hello."), call("TaskCreate", subject="A", description="a"), say("Done.")])

A turn is what one request is answered with. When the turns are used up, the answer is "Done.".
`server.requests` holds what was asked.
"""

import http.server
import itertools
import json
import threading
import time

_ids = itertools.count(1)


def say(text, **options):
    """An answer of one text."""
    return {"blocks": [{"type": "text", "text": text}], **options}


def call(name, /, *, then=None, **arguments):
    """An answer of one call; `then` is a turn whose blocks follow."""
    return calls((name, arguments), then=then)


def calls(*pairs, text=None, then=None, **options):
    """An answer of several calls, behind a text if one is given."""
    blocks = [{"type": "text", "text": text}] if text else []
    for name, arguments in pairs:
        blocks.append({"type": "tool_use", "id": f"toolu_{next(_ids):06}", "name": name, "input": arguments})
    return {"blocks": blocks + (then["blocks"] if then else []), **options}


def think(thought, text):
    """An answer behind a thought."""
    return {"blocks": [{"type": "thinking", "thinking": thought, "signature": "c2lnbmVk"},
                       {"type": "text", "text": text}]}


def fail(status, kind="invalid_request_error", message="no", headers=None):
    """A refusal."""
    return {"status": status, "kind": kind, "message": message, "headers": headers or {}}


def hang(seconds=30, text=None):
    """An answer that does not come, or not to its end if it has a text."""
    return {"hang": seconds, "blocks": [{"type": "text", "text": text}] if text else []}


class Mock:
    """The server. It ends with the test: use it in a `with`."""

    def __init__(self, turns=()):
        self.turns = list(turns)
        self.requests = []
        self.headers = []
        self._lock = threading.Lock()
        self._open = threading.Event()
        mock = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                turn = mock._next(body, dict(self.headers))
                try:
                    mock._answer(self, turn, body)
                except OSError:
                    self.close_connection = True

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 128

        self._server = Server(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._open.set()
        self._server.shutdown()
        self._server.server_close()

    def release(self):
        """Lets answers that hang go on."""
        self._open.set()

    def asked(self, count=1, seconds=20):
        """Waits until so many requests have come."""
        end = time.monotonic() + seconds
        while len(self.requests) < count and time.monotonic() < end:
            time.sleep(0.01)
        return len(self.requests) >= count

    def tools(self, index=0):
        """The names of the tools that a request offers."""
        return [tool["name"] for tool in self.requests[index].get("tools", [])]

    def results(self, index=-1):
        """The results of calls in the last message of a request: by call id, text and error."""
        content = self.requests[index]["messages"][-1]["content"]
        return [(block["content"], block.get("is_error", False))
                for block in content if block["type"] == "tool_result"]

    def _next(self, body, headers):
        with self._lock:
            self.requests.append(body)
            self.headers.append(headers)
            if not self.turns:
                return say("Done.")
            turn = self.turns.pop(0)
            return turn(body) if callable(turn) else turn

    def _answer(self, handler, turn, body):
        if "status" in turn:
            data = json.dumps({"type": "error", "error": {"type": turn["kind"], "message": turn["message"]}})
            handler.send_response(turn["status"])
            for name, value in turn["headers"].items():
                handler.send_header(name, value)
            handler.send_header("content-type", "application/json")
            handler.send_header("content-length", str(len(data)))
            handler.end_headers()
            handler.wfile.write(data.encode())
            return
        time.sleep(turn.get("delay", 0))
        handler.send_response(200)
        handler.send_header("content-type", "text/event-stream")
        handler.send_header("connection", "close")
        handler.end_headers()
        handler.close_connection = True
        events = list(self._events(turn, body))
        if "hang" in turn:
            for event in events[:-2]:
                self._send(handler, event)
            self._open.wait(turn["hang"])
            return
        for event in events:
            self._send(handler, event)

    @staticmethod
    def _send(handler, event):
        handler.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
        handler.wfile.flush()

    @staticmethod
    def _events(turn, body):
        blocks = turn["blocks"]
        usage = {"input_tokens": len(json.dumps(body)) // 4, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0,
                 "output_tokens": 10, **turn.get("usage", {})}
        has_calls = any(block["type"] == "tool_use" for block in blocks)
        stop = turn.get("stop", "tool_use" if has_calls else "end_turn")
        yield {"type": "message_start", "message": {
            "id": f"msg_{next(_ids):06}", "type": "message", "role": "assistant", "content": [],
            "model": turn.get("model", body["model"]), "stop_reason": None, "stop_sequence": None,
            "usage": {**usage, "output_tokens": 1}}}
        for index, block in enumerate(blocks):
            def delta(kind, **fields):
                return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **fields}}

            if block["type"] == "text":
                start, deltas = {"type": "text", "text": ""}, [
                    delta("text_delta", text=part) for part in parts(block["text"])]
            elif block["type"] == "thinking":
                start = {"type": "thinking", "thinking": "", "signature": ""}
                deltas = [delta("thinking_delta", thinking=block["thinking"]),
                          delta("signature_delta", signature=block["signature"])]
            else:
                start = {**block, "input": {}}
                text = block.get("raw") or json.dumps(block["input"], ensure_ascii=False)
                deltas = [delta("input_json_delta", partial_json=part) for part in parts(text)]
            yield {"type": "content_block_start", "index": index, "content_block": start}
            yield from deltas
            yield {"type": "content_block_stop", "index": index}
        yield {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": usage}
        yield {"type": "message_stop"}


def parts(text, length=24):
    return [text[at:at + length] for at in range(0, len(text), length)]
