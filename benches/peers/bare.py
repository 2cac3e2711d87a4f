# bare.py PROMPT: what a turn costs with no agent at all: the same request sizes, the same command, nothing kept, nothing checked.
import json, os, re, socket, sys

turns = int(re.search(r"TOOLS=(\d+)", sys.argv[1]).group(1))
parameters = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}
tools = [{"type": "function", "function": {"name": "bash", "parameters": parameters, "description": "x" * 14000}}]
messages = [{"role": "user", "content": sys.argv[1]}]
service = socket.create_connection(("127.0.0.1", 8099))
service.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
for turn in range(turns + 1):
    body = json.dumps({"model": "bare", "stream": True, "messages": messages, "tools": tools}).encode()
    head = f"POST /v1/chat/completions HTTP/1.1\r\nhost: bare\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    service.sendall(head.encode() + body)
    reply = b""
    while not reply.endswith(b"0\r\n\r\n"):
        reply += service.recv(65536)
    if turn < turns:
        os.waitpid(os.posix_spawn("/bin/bash", ["bash", "-c", f"true {turn}"], dict(os.environ)), 0)
    call = {"id": f"call-{turn}", "type": "function", "function": {"name": "bash", "arguments": "{}"}}
    messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
    messages.append({"role": "tool", "tool_call_id": call["id"], "content": "done"})
