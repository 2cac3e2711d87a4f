"""Tools for attacks: a scripted model on loopback, a home and workspace for each attack, and a terminal.

A script is a list of steps; each step is a list of tool calls that the model asks for. The prompt names its script, and the
number of replies in the conversation says which step comes next.
"""
import json
import os
import pty
import re
import select
import subprocess
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SCRIPTS = {}
REQUESTS = {}
# Scripts whose first reply is cut off.
CUT_ONCE = set()
ATTACKS = {}


class Broken(Exception):
    """The control of an attack failed, so its result is meaningless."""


def attack(function):
    """Registers an attack, which returns whether the program withstood it."""
    ATTACKS[function.__name__] = function
    return function


def expect(control, what):
    if not control:
        raise Broken(what)


class Model(BaseHTTPRequestHandler):
    """Chat Completions, streamed."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))))
        name, step = self.position(body)
        REQUESTS.setdefault(name, []).append(body)
        steps = SCRIPTS.get(name, [])
        calls = steps[step] if step < len(steps) else []
        self.close_connection = True
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        if name in CUT_ONCE:
            CUT_ONCE.discard(name)
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            event = self.event({"role": "assistant", "content": "Hel"})
            self.wfile.write(b"%x\r\n%s\r\n" % (len(event), event))
            return
        self.end_headers()
        try:
            self.wfile.write(self.event({"role": "assistant", "content": "" if calls else "DONE"}))
            for index, (tool, arguments) in enumerate(calls):
                function = {"name": tool, "arguments": json.dumps(arguments)}
                call = {"index": index, "id": f"call_{step}_{index}", "type": "function", "function": function}
                self.wfile.write(self.event({"tool_calls": [call]}))
            self.wfile.write(self.event({}, finish="tool_calls" if calls else "stop"))
            usage = {"prompt_tokens": 100, "completion_tokens": 5, "total_tokens": 105}
            self.wfile.write(self.event(None, usage=usage))
            self.wfile.write(b"data: [DONE]\n\n")
        except (BrokenPipeError, ConnectionResetError):
            pass

    @staticmethod
    def position(body):
        name, step = None, 0
        for message in body.get("messages", []):
            content = message.get("content") or ""
            text = content if isinstance(content, str) else "".join(part.get("text", "") for part in content)
            names = re.findall(r"SCRIPT=(\w+)", text) if message["role"] == "user" else []
            if names:
                name, step = names[-1], 0
            elif message["role"] == "assistant":
                step += 1
        return name, step

    @staticmethod
    def event(delta, finish=None, **more):
        choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
        chunk = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": choices, **more}
        return b"data: " + json.dumps(chunk).encode() + b"\n\n"


class Kit:
    """The program under attack, the model's URL, and the directory for all files."""

    def __init__(self, program, root):
        self.program, self.root, self.scenes = os.path.abspath(program), root, 0
        server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{server.server_port}/v1"


class Scene:
    """One attack's home, state and workspace."""

    def __init__(self, kit, git=False):
        kit.scenes += 1
        self.kit, self.root, self.requests = kit, os.path.join(kit.root, f"s{kit.scenes}"), []
        self.home, self.work = os.path.join(self.root, "home"), os.path.join(self.root, "work")
        os.makedirs(self.work)
        self.new_home(self.home)
        self.secret = self.write(os.path.join(self.root, "outside", "secret.txt"), "CANARY-OUTSIDE\n")
        if git:
            subprocess.run(["git", "init", "-q", self.work], check=True, capture_output=True)

    def new_home(self, home):
        self.write(
            os.path.join(home, ".config/lariat/config.toml"),
            'model = "mine/m"\n[providers.mine]\napi = "openai-chat"\n'
            f'base_url = "{self.kit.url}"\nkey_env = "MINE_KEY"\n',
        )

    def in_home(self, name):
        """A path below the home."""
        return os.path.join(self.home, name)

    def settings(self, content, path=".claude/settings.json"):
        """Writes the user's own settings, or the project's with `path` in the workspace."""
        self.write(path if os.path.isabs(path) else self.in_home(path), json.dumps(content))

    def write(self, path, text, mode=0o644):
        path = path if os.path.isabs(path) else os.path.join(self.work, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(text)
        os.chmod(path, mode)
        return path

    def read(self, path):
        with open(os.path.join(self.work, path)) as file:
            return file.read()

    def has(self, path):
        return os.path.lexists(os.path.join(self.work, path))

    def environment(self, home=None, **more):
        return {
            "HOME": home or self.home, "PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "TERM": "xterm",
            "MINE_KEY": "sk-canary-MINEKEY-0123456789abcdef", **more,
        }

    def lariat(self, *words, home=None, cwd=None, env=None, timeout=90, umask=None, stdin=None):
        given = {"stdin": subprocess.DEVNULL} if stdin is None else {"input": stdin}
        before = (lambda: os.umask(umask)) if umask is not None else None
        return subprocess.run(
            [self.kit.program, *words], cwd=cwd or self.work, env=self.environment(home, **(env or {})),
            capture_output=True, timeout=timeout, preexec_fn=before, **given,
        )

    def script(self, steps):
        """Registers steps and returns the name that a prompt gives: `SCRIPT=NAME`."""
        name = f"n{time.monotonic_ns()}"
        SCRIPTS[name] = [step if isinstance(step, list) else [step] for step in steps]
        return name

    def run(self, steps, *flags, **where):
        """Runs the steps. Returns the tool results as one text, and the finished process."""
        name = self.script(steps)
        done = self.lariat("run", *flags, f"SCRIPT={name} go", **where)
        self.requests = REQUESTS.get(name, [])
        messages = self.requests[-1]["messages"] if self.requests else []
        results = [message["content"] for message in messages if message["role"] == "tool"]
        parts = (c if isinstance(c, str) else "".join(p.get("text", "") for p in c) for c in results)
        return "\n".join(parts), done

    def bash(self, command, *flags, **where):
        return self.run([("bash", {"command": command})], *flags, **where)

    def trust(self):
        return self.lariat("trust", "--yes")


def on_terminal(scene, command, answers=(), until=30, quiet=1.2, cue=None):
    """Runs a command on its own terminal and types an answer whenever the screen is quiet (and `cue` was shown). Returns the
    output."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(scene.work)
        os.execve(command[0], command, scene.environment())
    shown, answers = b"", list(answers)
    last, deadline = time.monotonic(), time.monotonic() + until
    while time.monotonic() < deadline:
        if select.select([terminal], [], [], 0.2)[0]:
            try:
                piece = os.read(terminal, 4096)
            except OSError:
                break
            if not piece:
                break
            shown, last = shown + piece, time.monotonic()
        elif answers and time.monotonic() - last > quiet and (cue is None or cue in shown):
            os.write(terminal, answers.pop(0))
            last = time.monotonic()
    os.close(terminal)
    os.waitpid(pid, 0)
    return shown.decode(errors="replace")
