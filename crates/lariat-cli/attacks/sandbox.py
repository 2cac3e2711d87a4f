"""Attacks on the kernel sandbox and on its traces."""
import ctypes
import os
import shutil
import stat
import subprocess
import time

from kit import Scene, attack, expect


@attack
def nothing_in_the_tree(kit):
    """The sandbox leaves nothing in the user's tree, neither while a command runs nor after a kill."""
    scene = Scene(kit)
    name = scene.script([("bash", {"command": "touch began; sleep 30"})])
    process = subprocess.Popen(
        [kit.program, "run", "--mode", "auto", f"SCRIPT={name} go"], cwd=scene.work, env=scene.environment(),
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 30
    while not scene.has("began") and time.monotonic() < deadline:
        time.sleep(0.05)
    during = set(os.listdir(scene.work))
    process.kill()
    process.wait()
    time.sleep(1)
    expect("began" in during, "a command runs in auto mode")
    return during == {"began"} and set(os.listdir(scene.work)) == {"began"}


@attack
def protected_names_cannot_be_made(kit):
    """A sandboxed command cannot create configuration of Lariat, git or other tools."""
    scene = Scene(kit)
    names = (".git", ".claude", ".lariat", ".vscode", ".githooks", ".hg", ".jj", ".zed", ".cursor", ".codex")
    files = (".mcp.json", "lariat.toml", "mise.toml", "lefthook.yaml", ".envrc")
    ways = [f"mkdir {name}" for name in names] + [f"echo x > {name}" for name in files]
    ways += ["mkdir t && mv t .git", "echo y > u && mv u lariat.toml", "ln -s /tmp .claude", "echo z > v && ln v .mcp.json"]
    # In a script, so that the permission check sees none of the names and the sandbox alone decides.
    scene.write("make.sh", "".join(f"({way}) 2>/dev/null\n" for way in ways) + "touch made\n")
    scene.bash("sh make.sh", "--mode", "auto")
    expect(scene.has("made"), "a sandboxed command makes other files")
    return not any(scene.has(name) for name in names + files)


@attack
def services_on_loopback(kit):
    """With the network on, commands cannot reach services on this machine without approval."""
    scene = Scene(kit)
    expect(shutil.which("curl"), "curl is installed")
    post = f"curl -s -m 3 -X POST -H 'content-type: application/json' -d '{{\"messages\":[]}}' {kit.url}/chat/completions; echo rc=$?"
    text, _ = scene.bash(post, "--mode", "auto", env={"LARIAT_SANDBOX__NETWORK": "true"})
    return "DONE" not in text


@attack
def home_as_workspace(kit):
    """A run in the home directory protects start-up files and Lariat's own settings."""
    scene = Scene(kit)
    paths = (".bashrc", ".ssh/authorized_keys", ".config/lariat/config.toml", ".config/autostart/x.desktop")
    loop = f"for p in {' '.join(paths)}; do mkdir -p ~/$(dirname $p); (echo PWN >> ~/$p) 2>/dev/null; done"
    scene.bash(loop, "--mode", "auto", cwd=scene.home,
               env={"LARIAT_UNDO__ENABLED": "false", "XDG_STATE_HOME": os.path.join(scene.root, "state")})
    return not any(os.path.exists(scene.in_home(p)) and "PWN" in open(scene.in_home(p)).read() for p in paths)


@attack
def secrets_of_other_programs(kit):
    """Secrets of other programs and Lariat's own journals are not readable in the sandbox."""
    scene = Scene(kit)
    paths = [
        ".ssh/id_ed25519", ".aws/credentials", ".claude/.credentials.json", ".codex/auth.json", ".pgpass", ".vault-token", ".netrc",
        ".config/gh/hosts.yml", ".docker/config.json", ".kube/config", ".mozilla/firefox/p/logins.json", ".bash_history",
        ".password-store/x.gpg", ".gnupg/private-keys-v1.d/k", ".config/google-chrome/Default/Cookies",
    ]
    for path in paths:
        scene.write(scene.in_home(path), "CANARY-HOME\n", 0o600)
    scene.run([])
    journal = "~/.local/state/lariat/sessions.db"
    text, _ = scene.bash(f"for f in {' '.join('~/' + p for p in paths)}; do echo $f $(cat $f 2>&1); done; head -c 20 {journal}", "--mode", "auto")
    expect(text, "a command runs in auto mode")
    return "CANARY" not in text and "SQLite format" not in text


@attack
def memory_has_a_bound(kit):
    """A sandboxed command cannot use all of the machine's memory."""
    scene = Scene(kit)
    expect("small" in scene.bash("python3 -c \"bytearray(1 << 24); print('small')\"", "--mode", "auto")[0], "a small program runs")
    take = "python3 -c \"x = bytearray(2 << 30); print('TAKEN')\""
    text, _ = scene.bash(take, "--mode", "auto", env={"LARIAT_SANDBOX__MEMORY": "512"}, timeout=120)
    return "TAKEN" not in text


@attack
def set_user_id_bits(kit):
    """A sandboxed command cannot leave a set-user-id program behind."""
    scene = Scene(kit)
    scene.bash("cp /bin/true t && chmod 4755 t; cp /bin/true u && chmod 2755 u; touch made", "--mode", "auto")
    expect(scene.has("made"), "a sandboxed command makes other files")
    paths = [os.path.join(scene.work, name) for name in ("t", "u") if scene.has(name)]
    return not any(os.stat(path).st_mode & (stat.S_ISUID | stat.S_ISGID) for path in paths)


def drop_capabilities():
    """Root has capabilities that allow it to read the environment of every process. Fails without effect for other users."""
    prctl, drop_from_bounding_set = ctypes.CDLL(None).prctl, 24
    for capability in range(64):
        prctl(drop_from_bounding_set, capability, 0, 0, 0)


def environment_of(pid):
    """What another process of the same user reads as the environment of a process."""
    read = subprocess.run(["cat", f"/proc/{pid}/environ"], capture_output=True, preexec_fn=drop_capabilities)
    return read.stdout


@attack
def keys_in_the_environment(kit):
    """Another process of the user cannot read the keys in the program's environment."""
    scene = Scene(kit)
    name = scene.script([("bash", {"command": "touch began; sleep 30"})])
    where = {"cwd": scene.work, "env": scene.environment(), "stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL,
             "stderr": subprocess.DEVNULL, "preexec_fn": drop_capabilities}
    plain = subprocess.Popen(["sleep", "30"], **where)
    control = environment_of(plain.pid)
    plain.kill()
    plain.wait()
    expect(b"MINE_KEY=" in control, "the environment of an ordinary program can be read")
    process = subprocess.Popen([kit.program, "run", "--no-sandbox", "--mode", "bypass", f"SCRIPT={name} go"], **where)
    deadline = time.monotonic() + 30
    while not scene.has("began") and time.monotonic() < deadline:
        time.sleep(0.05)
    read = environment_of(process.pid)
    process.kill()
    process.wait()
    expect(scene.has("began"), "a command runs in bypass mode")
    return read == b""
