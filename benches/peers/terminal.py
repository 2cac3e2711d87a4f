"""terminal.py OUT.json SECONDS STARTS PEER…: measures the terminal UI of each agent on a pseudo terminal. Called by terminal.sh.

Each agent starts with the environment of its script in run/, but with a terminal. Measured are the time to the first
character on the screen and to the first typed character on the screen (medians of STARTS), the memory of its processes
(proportional set size), and for SECONDS each: the bytes written and the processor time after a reply, while nothing happens,
and during a request that the model does not answer.
"""
import fcntl, json, os, pathlib, pty, re, select, signal, statistics, struct, subprocess, sys, termios, time

HERE = pathlib.Path(__file__).resolve().parent
HOME = pathlib.Path(os.environ["PEERS_HOME"])
HOLD = pathlib.Path(os.environ["HOLD"])
WORK = HOME / "work"
ROWS, COLUMNS = 40, 120
TYPED = "ŋ"
PATIENCE = 90

# The flags of each agent's terminal UI, and variables that its script sets only for a run.
AGENTS = {
    "lariat": ([], {}),
    "claude": (["--model", "claude-sonnet-4-5"], {}),
    "codex": ([], {"MOCK_KEY": "x"}),
    "opencode": (["--model", "mock/mock-model"], {}),
    "pi": (["--provider", "mock", "--model", "mock-model"], {}),
}
# What a terminal answers when a program asks for its attributes, cursor, colors and modes.
REPLIES = [
    (re.compile(rb"\x1b\[0?c"), b"\x1b[?62;22c"),
    (re.compile(rb"\x1b\[>0?c"), b"\x1b[>1;10;0c"),
    (re.compile(rb"\x1b\[5n"), b"\x1b[0n"),
    (re.compile(rb"\x1b\[6n"), b"\x1b[1;1R"),
    (re.compile(rb"\x1b\]10;\?(\x07|\x1b\\)"), b"\x1b]10;rgb:d4d4/bebe/9898\x1b\\"),
    (re.compile(rb"\x1b\]11;\?(\x07|\x1b\\)"), b"\x1b]11;rgb:1d1d/2020/2121\x1b\\"),
    (re.compile(rb"\x1b\[\?2026\$p"), b"\x1b[?2026;2$y"),
    (re.compile(rb"\x1b\[14t"), b"\x1b[4;720;960t"),
]
SEQUENCE = re.compile(rb"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]P_^X].*?(\x07|\x1b\\)|\x1b[ -/]*[0-~]", re.S)


class Missing(Exception):
    """Why an agent has no figures."""


class Terminal:
    """An agent on a pseudo terminal."""

    def __init__(self, words):
        self.output, self.answered = b"", 0
        # Agents may leave processes behind, such as Codex its server. All have the home that was given to the first.
        self.home = next(word for word in words if word.startswith("HOME=")).encode()
        self.started = time.perf_counter()
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            # What is typed before the agent reads must not be echoed as if the agent had shown it.
            modes = termios.tcgetattr(0)
            modes[3] &= ~termios.ECHO
            termios.tcsetattr(0, termios.TCSANOW, modes)
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
            os.chdir(WORK)
            os.execvp(words[0], words)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))

    def read(self, seconds):
        """Reads what the agent writes within this time, and answers what it asks the terminal."""
        ready, _, _ = select.select([self.fd], [], [], max(0, seconds))
        if not ready:
            return
        try:
            self.output += os.read(self.fd, 1 << 16)
        except OSError:
            raise Missing(f"it ended: {self.last_words()}") from None
        asked = self.output[self.answered :]
        for query, reply in REPLIES:
            for _ in query.findall(asked):
                os.write(self.fd, reply)
        # A sequence can be cut at the end of what was read.
        cut = asked.rfind(b"\x1b", -16) if len(asked) > 16 else asked.rfind(b"\x1b")
        is_cut = cut >= 0 and not SEQUENCE.match(asked, cut)
        self.answered = self.answered + cut if is_cut else len(self.output)

    def watch(self, seconds):
        end = time.perf_counter() + seconds
        while (left := end - time.perf_counter()) > 0:
            self.read(left)

    def until(self, holds, what):
        end = time.perf_counter() + PATIENCE
        while not holds():
            if time.perf_counter() > end:
                raise Missing(f"{what}: {self.last_words()}")
            self.read(0.05)
        return time.perf_counter() - self.started

    def text(self):
        return SEQUENCE.sub(b"", self.output)

    def last_words(self):
        words = self.text()[-3000:].decode(errors="replace").split()
        return " ".join(words)[-300:]

    def write(self, text):
        os.write(self.fd, text.encode())

    def say(self, prompt):
        """Types a prompt, and Enter as a key of its own: some agents take one long read for a paste."""
        self.write(prompt)
        self.watch(1)
        self.write("\r")

    def measure(self, seconds):
        bytes_before, used = len(self.output), processor_time(self.home)
        self.watch(seconds)
        used = processor_time(self.home) - used
        return {"bytes": len(self.output) - bytes_before, "cpu": used / seconds * 100}

    def close(self):
        """Ends every process of the agent."""
        for stop in (signal.SIGTERM, signal.SIGKILL):
            for process in processes(self.home):
                try:
                    os.kill(process, stop)
                except ProcessLookupError:
                    pass
            end = time.perf_counter() + 2
            while processes(self.home) and time.perf_counter() < end:
                try:
                    self.read(0.05)
                except Missing:
                    time.sleep(0.05)
        os.waitpid(self.pid, 0)
        os.close(self.fd)


def fields(process):
    stat = pathlib.Path(f"/proc/{process}/stat").read_text()
    return stat[stat.rindex(")") + 2 :].split()


def processes(home):
    """The processes that an agent started, by the home directory in their environment."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                if home in pathlib.Path(f"/proc/{entry}/environ").read_bytes().split(b"\0"):
                    found.append(int(entry))
            except OSError:
                pass
    return found


def processor_time(home):
    """Seconds of the agent's processes, with children that have ended."""
    ticks = 0
    for process in processes(home):
        try:
            ticks += sum(map(int, fields(process)[11:15]))
        except OSError:
            pass
    return ticks / os.sysconf("SC_CLK_TCK")


def memory(home):
    """The proportional set size of the agent's processes in MB."""
    total = 0
    for process in processes(home):
        try:
            text = pathlib.Path(f"/proc/{process}/smaps_rollup").read_text()
            total += int(re.search(r"^Pss:\s+(\d+)", text, re.M)[1])
        except OSError:
            pass
    return total / 1024


def command(agent):
    """The command line of the agent's script, for a terminal."""
    script = ["bash", str(HERE / "run" / f"{agent}.sh"), "--version"]
    printed = subprocess.run(script, env={**os.environ, "PRINT": "1"}, stdout=subprocess.PIPE, check=True).stdout
    words = [word.decode() for word in printed.split(b"\0")[:-2]]
    flags, variables = AGENTS[agent]
    program = next(word for word in words if word.startswith("/") and "=" not in word)
    if not os.path.exists(program):
        raise Missing("not installed")
    variables = {"TERM": "xterm-256color", "COLORTERM": "truecolor", "NO_COLOR": "", **variables}
    at = words.index(program)
    return words[:at] + [f"{name}={value}" for name, value in variables.items()] + words[at:] + flags


def answer_first_questions(agent):
    """Writes what the agent would ask at its first start: theme, trust in the directory, use of the key."""
    home = HOME / "homes" / agent
    if agent == "claude":
        trusted = {str(WORK): {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}}
        answers = {"hasCompletedOnboarding": True, "theme": "dark", "projects": trusted}
        answers["customApiKeyResponses"] = {"approved": ["sk-mock"], "rejected": []}
        (home / ".claude.json").write_text(json.dumps(answers))
    if agent == "codex":
        config = home / ".codex" / "config.toml"
        if "projects" not in config.read_text():
            with config.open("a") as file:
                file.write(f'[projects."{WORK}"]\ntrust_level = "trusted"\n')


def start(words):
    """Starts an agent; returns its terminal and the times of the first paint and of the first typed character."""
    terminal = Terminal(words)
    try:
        paint = terminal.until(lambda: terminal.text().strip(), "nothing painted")
        typed_at = [0.0]

        def is_shown():
            # An agent may drop what was typed before it was ready.
            if time.perf_counter() - typed_at[0] > 1:
                typed_at[0] = time.perf_counter()
                terminal.write(TYPED)
            return TYPED.encode() in terminal.output

        return terminal, paint, terminal.until(is_shown, "a typed character is not shown")
    except BaseException:
        terminal.close()
        raise


def measure(agent, seconds, starts):
    words = command(agent)
    answer_first_questions(agent)
    paints, keys = [], []
    for _ in range(starts):
        time.sleep(1)
        terminal, paint, key = start(words)
        paints.append(paint * 1000)
        keys.append(key * 1000)
        terminal.close()
    terminal, _, _ = start(words)
    try:
        result = {"paint": statistics.median(paints), "key": statistics.median(keys)}
        terminal.watch(3)
        terminal.write("\x7f" * terminal.output.count(TYPED.encode()))
        terminal.watch(1)
        result["memory"] = memory(terminal.home)
        terminal.say("Say hi. TOOLS=0")
        # Some agents move the cursor instead of writing a blank.
        terminal.until(lambda: re.search(rb"DONE\s*0", terminal.text()), "no reply is shown")
        terminal.watch(8)
        result["idle"] = terminal.measure(seconds)
        log = pathlib.Path(f"{HOLD}.log")
        log.write_text("")
        HOLD.touch()
        terminal.say("Say more. TOOLS=0")
        terminal.until(lambda: log.read_text(), "no request was sent")
        terminal.watch(3)
        result["waiting"] = terminal.measure(seconds)
        return result
    finally:
        HOLD.unlink(missing_ok=True)
        terminal.close()


def main():
    out, seconds, starts = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
    results = {}
    for agent in sys.argv[4:]:
        try:
            results[agent] = measure(agent, seconds, starts)
        except Missing as reason:
            results[agent] = {"missing": str(reason)}
        print(agent, json.dumps(results[agent]), flush=True)
    pathlib.Path(out).write_text(json.dumps(results, indent=1))


main()
