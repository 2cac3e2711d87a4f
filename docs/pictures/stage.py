"""A home, a small project and a scripted model, in which the pictures are taken."""
import pathlib, subprocess, sys, tempfile

PROMPT = "Make test.sh pass"
SETTINGS = """model = "local/coder"
[providers.local]
api = "openai-chat"
base_url = "http://127.0.0.1:{port}/v1"
"""


class Stage:
    def __enter__(self):
        self._folder = tempfile.TemporaryDirectory()
        home = pathlib.Path(self._folder.name)
        model = pathlib.Path(__file__).with_name("model.py")
        self._model = subprocess.Popen([sys.executable, model], stdout=subprocess.PIPE, text=True)
        port = self._model.stdout.readline().strip()
        (home / ".config/lariat").mkdir(parents=True)
        (home / ".config/lariat/config.toml").write_text(SETTINGS.format(port=port))
        self.project = home / "greeting"
        subprocess.run(["git", "init", "-q", "-b", "main", self.project], check=True)
        self.reset()
        self.environment = {
            "HOME": str(home),
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
        }
        return self

    def reset(self):
        """Makes the test fail again."""
        (self.project / "greet.sh").write_text('echo "Hello, $1!"\n')
        (self.project / "test.sh").write_text('test "$(bash greet.sh Ada)" = "Good day, Ada!" && echo passed\n')

    def __exit__(self, *_):
        self._model.kill()
        self._model.wait()
        self._folder.cleanup()
