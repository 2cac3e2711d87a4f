# The model of the picture: says and calls what is written here, one reply for each result it is shown.
import http.server, json, sys

FINAL = """The test wanted another greeting:

- `greet.sh` said *Hello*, the test expects **Good day**.
- I changed that line and nothing else.

```bash
bash greet.sh Ada   # Good day, Ada!
```
"""
REPLIES = [
    ("I'll look at the test first.", "read_file", {"path": "test.sh"}),
    ("", "read_file", {"path": "greet.sh"}),
    ("The greeting is not the one it wants.", "edit_file",
     {"path": "greet.sh", "old_string": "Hello, $1!", "new_string": "Good day, $1!"}),
    ("", "bash", {"command": "bash test.sh"}),
    (FINAL, None, None),
]


class Model(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        done = sum(message["role"] == "tool" for message in body["messages"])
        text, name, arguments = REPLIES[min(done, len(REPLIES) - 1)]
        deltas = [{"role": "assistant", "content": text}]
        if name:
            call = {"index": 0, "id": f"call_{done}", "type": "function",
                    "function": {"name": name, "arguments": json.dumps(arguments)}}
            deltas.append({"tool_calls": [call]})
        head = {"id": f"r{done}", "object": "chat.completion.chunk", "created": 1, "model": body["model"]}
        chunks = [head | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
        reason = "tool_calls" if name else "stop"
        usage = {"prompt_tokens": 4100 + 240 * done, "completion_tokens": 60, "total_tokens": 4160 + 240 * done,
                 "prompt_tokens_details": {"cached_tokens": 4000 if done else 0}}
        chunks.append(head | {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
        chunks.append(head | {"choices": [], "usage": usage})
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        for chunk in chunks:
            self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
        self.wfile.write(b"data: [DONE]\n\n")

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
print(server.server_port, flush=True)
server.serve_forever()
