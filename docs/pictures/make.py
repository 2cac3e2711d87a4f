"""make.py LARIAT PICTURE: draws the pictures from the real program. PICTURE is the example `picture` of lariat-cli.

`cargo xtask pictures` builds both and runs this.
"""
import fcntl, os, pathlib, pty, re, select, signal, struct, subprocess, sys, termios, time

from stage import PROMPT, Stage

HERE = pathlib.Path(__file__).resolve().parent
LARIAT, PICTURE = (str(pathlib.Path(word).resolve()) for word in sys.argv[1:3])
ROWS, COLUMNS = 44, 92
PATIENCE = 60
SEQUENCE = re.compile(rb"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\].*?(\x07|\x1b\\)|\x1b[ -/]*[0-~]", re.S)


class Program:
    """The program on a pseudo terminal."""

    def __init__(self, stage, *arguments):
        self.output = b""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
            os.chdir(stage.project)
            os.execve(LARIAT, ["lariat", *arguments], stage.environment)

    def read(self, seconds):
        if select.select([self.fd], [], [], seconds)[0]:
            self.output += os.read(self.fd, 1 << 16)
            return True
        return False

    def shows(self, text):
        end = time.monotonic() + PATIENCE
        while text.encode() not in SEQUENCE.sub(b"", self.output):
            if time.monotonic() > end:
                sys.exit(f"`{text}` is missing:\n{SEQUENCE.sub(b'', self.output).decode(errors='replace')}")
            self.read(0.1)
        while self.read(0.5):
            pass

    def type(self, keys):
        os.write(self.fd, keys.encode())

    def draw(self, name):
        size = [str(COLUMNS), str(ROWS)]
        drawn = subprocess.run([PICTURE, *size], input=self.output, stdout=subprocess.PIPE, check=True).stdout
        (HERE / name).write_bytes(drawn)
        print(f"docs/pictures/{name}: {len(drawn)} bytes")

    def close(self):
        os.kill(self.pid, signal.SIGTERM)
        try:
            while True:
                self.read(5)
        except OSError:
            os.waitpid(self.pid, 0)
            os.close(self.fd)


with Stage() as stage:
    program = Program(stage, "--mode", "auto", PROMPT)
    program.shows("5 turns")
    program.draw("terminal.svg")
    program.close()

    stage.reset()
    program = Program(stage, PROMPT)
    program.shows("Allow edit_file?")
    program.type("and say hello to Grace too")
    program.shows("Grace too")
    program.draw("question.svg")
    program.type("\x15")
    program.close()

    program = Program(stage, "--mode", "auto", "Greet politely")
    program.shows("5 turns")
    program.type("/sessions\r")
    program.shows("type to filter")
    program.draw("sessions.svg")
    program.close()
