"""Attacks on a user at a terminal and on scripts."""
import json
import os
import pty
import re
import select
import subprocess
import time

from kit import CUT_ONCE, REQUESTS, Scene, attack, expect, on_terminal


@attack
def typed_text_does_not_reach_the_shell(kit):
    """The shell does not run text that the user types while the agent works."""
    scene = Scene(kit)
    name = scene.script([("bash", {"command": "touch began; sleep 4"})])
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(scene.work)
        os.execve("/bin/bash", ["bash", "--norc", "-i"], scene.environment())
    os.write(terminal, f"{kit.program} run --mode auto 'SCRIPT={name} go'\n".encode())
    deadline, typed = time.monotonic() + 40, None
    while time.monotonic() < deadline and not (typed and time.monotonic() - typed > 9):
        if select.select([terminal], [], [], 0.3)[0]:
            try:
                os.read(terminal, 4096)
            except OSError:
                break
        if not typed and scene.has("began"):
            time.sleep(1)
            os.write(terminal, b"touch PWN\n")
            typed = time.monotonic()
    os.write(terminal, b"\nexit\n")
    time.sleep(1)
    os.close(terminal)
    os.waitpid(pid, 0)
    expect(typed, "the command began")
    return not scene.has("PWN")


@attack
def approved_commit(kit):
    """A commit that the user approved succeeds."""
    scene = Scene(kit, git=True)
    for key, value in (("user.name", "a"), ("user.email", "a@localhost")):
        subprocess.run(["git", "-C", scene.work, "config", key, value], check=True)
    scene.write("a.txt", "one\n")
    name = scene.script([("bash", {"command": "git add a.txt && git commit -q -m first"})])
    on_terminal(scene, [kit.program, "run", f"SCRIPT={name} go"], [b"y\r"] * 4, until=40)
    log = subprocess.run(["git", "-C", scene.work, "log", "--oneline"], capture_output=True, text=True).stdout
    return "first" in log


@attack
def piped_data_reaches_the_model(kit):
    """Piped data reaches the model."""
    scene = Scene(kit)
    name = scene.script([])
    scene.lariat("run", f"SCRIPT={name} explain this", stdin=b"CANARY-PIPED\n")
    return "CANARY-PIPED" in json.dumps(REQUESTS.get(name, []))


@attack
def continue_after_a_limit(kit):
    """A run without a prompt continues after a limit."""
    scene = Scene(kit)
    name = scene.script([("bash", {"command": "true"})] * 3)
    scene.lariat("run", "--mode", "auto", "--max-turns", "1", f"SCRIPT={name} go")
    before = len(REQUESTS.get(name, []))
    expect(before, "the first run reaches the model")
    done = scene.lariat("run", "--continue", "--mode", "auto")
    return done.returncode == 0 and len(REQUESTS[name]) > before


@attack
def failures_look_like_failures(kit):
    """A command that fails is not shown with a tick."""
    scene = Scene(kit)
    name = scene.script([("bash", {"command": "exit 3"})])
    shown = on_terminal(scene, [kit.program, "run", "--mode", "auto", f"SCRIPT={name} go"])
    lines = [line for line in re.split(r"[\r\n]+", shown) if "exit 3" in line]
    expect(lines, "the command is shown")
    return not any("\u2713" in line for line in lines)


@attack
def broken_stream_is_retried(kit):
    """A reply that is cut off before any tool call is requested again."""
    scene = Scene(kit)
    name = scene.script([])
    CUT_ONCE.add(name)
    done = scene.lariat("run", f"SCRIPT={name} go")
    return done.returncode == 0 and b"DONE" in done.stdout


@attack
def control_characters_in_exports(kit):
    """Control characters in a session do not reach the terminal when it is exported there."""
    scene = Scene(kit)
    name = scene.script([("bash", {"command": "printf 'x\\302\\233[31my'"})])
    scene.lariat("run", "--mode", "auto", f"SCRIPT={name} go")
    listed = json.loads(scene.lariat("sessions", "list", "--json").stdout)
    session = (listed if isinstance(listed, list) else listed["sessions"])[0]["session_id"]
    shown = on_terminal(scene, [kit.program, "sessions", "export", session])
    expect(session in shown or "bash" in shown, "a session is printed")
    return "\u009b" not in shown
