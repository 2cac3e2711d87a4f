"""xterm.py LARIAT DIR: photographs the real program in a real xterm under Xvfb, step by step, into DIR.

Needs Debian's xvfb, xterm, xdotool and imagemagick. `cargo xtask terminal --screenshots DIR` builds the program and runs this.
"""
import os, pathlib, shutil, subprocess, sys, time

from stage import PROMPT, Stage

LARIAT, PLACE = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
NEEDED = ["Xvfb", "xterm", "xdotool", "import"]


class Xterm:
    """An xterm on a display of its own."""

    def __init__(self, stage, *arguments):
        reader, writer = os.pipe()
        display = ["Xvfb", "-displayfd", str(writer), "-screen", "0", "1300x900x24"]
        self.server = subprocess.Popen(display, pass_fds=[writer], stderr=subprocess.DEVNULL)
        os.close(writer)
        with os.fdopen(reader) as number:
            self.environment = {**stage.environment, "DISPLAY": f":{number.readline().strip()}"}
        font = ["-fa", "DejaVu Sans Mono", "-fs", "11", "-bg", "#1d2021", "-fg", "#d4be98", "-sl", "5000"]
        shell = ["-e", "bash", "-c", '"$@"; stty -a | grep -o -e "-\\?icanon" -e "-\\?echo "; exec cat', "-", LARIAT, *arguments]
        words = ["xterm", "-tn", "xterm-256color", "-geometry", "100x34+0+0", *font, *shell]
        self.terminal = subprocess.Popen(words, env=self.environment, cwd=stage.project)
        self.window = self.tool("search", "--sync", "--class", "xterm").split()[-1]
        self.tool("windowfocus", "--sync", self.window)
        self.count = 0

    def tool(self, *words):
        return subprocess.run(["xdotool", *words], env=self.environment, stdout=subprocess.PIPE, text=True, check=True).stdout

    def type(self, text, wait=1.0):
        self.tool("type", "--delay", "15", text)
        time.sleep(wait)

    def key(self, *names, wait=1.0):
        self.tool("key", *names)
        time.sleep(wait)

    def resize(self, columns, rows):
        self.tool("windowsize", "--usehints", self.window, str(columns), str(rows))
        time.sleep(1)

    def photograph(self, name):
        self.count += 1
        path = PLACE / f"{self.count:02}-{name}.png"
        subprocess.run(["import", "-window", "root", path], env=self.environment, check=True)
        print(path.name)

    def close(self):
        for process in (self.terminal, self.server):
            process.terminate()
            process.wait()


if missing := [program for program in NEEDED if not shutil.which(program)]:
    sys.exit(f"not installed: {', '.join(missing)}; install Debian's xvfb, xterm, xdotool and imagemagick")
PLACE.mkdir(parents=True, exist_ok=True)
with Stage() as stage:
    xterm = Xterm(stage)
    time.sleep(2)
    xterm.photograph("start")
    xterm.type("/")
    xterm.photograph("commands")
    xterm.key("BackSpace")
    xterm.type(PROMPT)
    xterm.key("Return", wait=3)
    xterm.photograph("question")
    xterm.type("yes, and always say hello")
    xterm.photograph("question-with-draft")
    xterm.resize(60, 24)
    xterm.photograph("question-narrow")
    xterm.resize(110, 40)
    xterm.photograph("question-wide")
    xterm.key("ctrl+y")
    xterm.photograph("question-focused")
    xterm.key("y", wait=3)
    xterm.photograph("next-question")
    xterm.key("ctrl+y")
    xterm.key("y", wait=3)
    xterm.photograph("answered")
    xterm.resize(48, 20)
    xterm.photograph("narrow")
    xterm.resize(100, 34)
    xterm.photograph("wide-again")
    xterm.key("ctrl+u")
    xterm.key("F1")
    xterm.photograph("help")
    xterm.key("Escape")
    xterm.type("/sessions")
    xterm.key("Return", wait=2)
    xterm.photograph("sessions")
    xterm.key("Escape")
    xterm.key("F11")
    xterm.photograph("full-screen")
    xterm.key("F11")
    xterm.photograph("inline-again")
    xterm.key("ctrl+t")
    xterm.photograph("pager")
    xterm.key("q")
    xterm.key("ctrl+d", wait=2)
    xterm.photograph("left")
    xterm.close()
