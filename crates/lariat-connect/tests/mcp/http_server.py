"""A small MCP service for tests, without dependencies: `http_server.py BEHAVIOUR`. Prints its port.

Behaviours: `json` and `events` (with `initialize` and a session id), `stateless` (without), `huge`, `silent`, `closed`
(wants authorization), `redirect`, and `sse` (the older transport).
"""

import json
import queue
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

BEHAVIOUR = sys.argv[1]
ANSWERS = queue.Queue()
TOOLS = [{"name": "echo", "description": "Repeats a text.", "inputSchema": {"type": "object", "properties": {}}}]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def reply(self, status, body=b"", kind="application/json", headers=()):
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        if BEHAVIOUR != "sse":
            return self.reply(405)
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        self.wfile.write(b"event: endpoint\ndata: /messages\n\n")
        while True:
            self.wfile.write(b"event: message\ndata: " + ANSWERS.get() + b"\n\n")
            self.wfile.flush()

    def do_DELETE(self):
        self.reply(200)

    def do_POST(self):
        length = int(self.headers.get("content-length", 0))
        request = json.loads(self.rfile.read(length))
        method = request.get("method")
        accepted = self.headers.get("accept", "")
        is_accepting = "application/json" in accepted and "text/event-stream" in accepted
        if BEHAVIOUR != "sse" and not is_accepting:
            return self.reply(406)
        if BEHAVIOUR == "closed":
            return self.reply(401, headers=[("www-authenticate", 'Bearer resource_metadata="https://example.com"')])
        if BEHAVIOUR == "redirect":
            return self.reply(307, headers=[("location", "http://127.0.0.1:1/")])
        if "id" not in request:
            return self.reply(202)
        if BEHAVIOUR == "sse":
            assert self.path == "/messages"
        headers = []
        if BEHAVIOUR == "stateless":
            if self.headers.get("mcp-method") != method or not self.headers.get("mcp-protocol-version"):
                return self.reply(400)
            result = {"resultType": "complete"}
            if method == "server/discover":
                result |= {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}},
                           "serverInfo": {"name": "http", "version": "1"}, "ttlMs": 0, "cacheScope": "private"}
            elif method == "tools/list":
                result |= {"tools": TOOLS, "ttlMs": 0, "cacheScope": "private"}
        else:
            if method == "server/discover":
                return self.reply(400, b"expected initialize", "text/plain")
            if BEHAVIOUR != "sse" and method != "initialize" and self.headers.get("mcp-session-id") != "session-1":
                return self.reply(400)
            result = {}
            if method == "initialize":
                headers = [("mcp-session-id", "session-1")]
                result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                          "serverInfo": {"name": "http", "version": "1"}}
            elif method == "tools/list":
                result = {"tools": TOOLS}
        if method == "tools/call":
            if BEHAVIOUR == "silent":
                time.sleep(3600)
            text = request["params"].get("arguments", {}).get("text", "")
            text += " " + self.headers.get("x-key", "")
            if BEHAVIOUR == "huge":
                text = "x" * (20 << 20)
            result |= {"content": [{"type": "text", "text": text.strip()}]}
        body = json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}).encode()
        if BEHAVIOUR == "sse":
            ANSWERS.put(body)
            self.reply(202)
        elif BEHAVIOUR == "events":
            self.reply(200, b"event: message\ndata: " + body + b"\n\n", "text/event-stream", headers)
        else:
            self.reply(200, body, headers=headers)


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
