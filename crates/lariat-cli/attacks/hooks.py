"""Attacks on hooks and imported sessions."""
import json
import os

from kit import Scene, attack, expect, on_terminal

BLOCK = {"type": "command", "command": "echo no >&2; exit 2"}


@attack
def hook_on_edits_covers_every_writer(kit):
    """A hook on Edit|Write covers every tool that writes."""
    patch = "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+two\n"
    calls = [
        ("apply_patch", {"patch": patch}),
        ("edit_file", {"path": "a.txt", "old_string": "one", "new_string": "two"}),
        ("write_file", {"path": "a.txt", "content": "two\n"}),
    ]
    for call in calls:
        scene = Scene(kit)
        scene.write("a.txt", "one\n")
        scene.run([("read_file", {"path": "a.txt"}), call], "--mode", "accept-edits")
        expect(scene.read("a.txt") == "two\n", f"{call[0]} works without a hook")
        scene.write("a.txt", "one\n")
        scene.settings({"hooks": {"PreToolUse": [{"matcher": "Edit|Write|MultiEdit", "hooks": [BLOCK]}]}})
        scene.run([("read_file", {"path": "a.txt"}), call], "--mode", "accept-edits")
        if scene.read("a.txt") != "one\n":
            return False
    return True


@attack
def allow_of_a_hook_beats_no_rule(kit):
    """A hook that allows does not override a deny or ask rule."""
    for rules in ({"deny": ["Bash(touch *)"]}, {"ask": ["Bash(touch *)"]}):
        scene = Scene(kit)
        answer = {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow"}}
        hook = {"type": "command", "command": f"echo '{json.dumps(answer)}'"}
        scene.settings({"permissions": rules, "hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [hook]}]}})
        scene.bash("touch PWN")
        if scene.has("PWN"):
            return False
    return True


@attack
def rewritten_hook_script(kit):
    """A hook script that a sandboxed command rewrote does not run outside the sandbox."""
    for command in ("sh tools/h.sh", '"$CLAUDE_PROJECT_DIR"/tools/h.sh', "cd tools && ./h.sh"):
        scene = Scene(kit)
        mark = os.path.join(scene.root, "ESCAPED")
        scene.write("tools/h.sh", "#!/bin/sh\ntrue\n", 0o755)
        hook = {"matcher": "", "hooks": [{"type": "command", "command": command}]}
        scene.settings({"hooks": {"PostToolUse": [hook]}}, os.path.join(scene.work, ".claude/settings.json"))
        scene.trust()
        rewrite = f"printf '#!/bin/sh\\ntouch {mark}\\n' > tools/h.sh"
        scene.run([("bash", {"command": rewrite}), ("bash", {"command": "true"})], "--mode", "auto")
        if os.path.exists(mark):
            return False
    return True


@attack
def imported_approval(kit):
    """An approval in an imported session does not run a command for the user who imports it."""
    scene = Scene(kit)
    name = scene.script([("bash", {"command": "touch APPROVED"})])
    on_terminal(scene, [kit.program, "run", f"SCRIPT={name} go"], [b"s\r"], cue=b"touch APPROVED", quiet=0.5)
    expect(scene.has("APPROVED"), "a call that was approved for the session runs")
    listed = json.loads(scene.lariat("sessions", "list", "--json").stdout)
    session = (listed if isinstance(listed, list) else listed["sessions"])[0]["session_id"]
    archive = os.path.join(scene.root, "session.lariat")
    scene.lariat("sessions", "export", session, "-o", archive)
    expect(os.path.exists(archive), "a session is exported")
    home, work = os.path.join(scene.root, "victim"), os.path.join(scene.root, "victims-work")
    scene.new_home(home)
    os.makedirs(work)
    expect(scene.lariat("sessions", "import", archive, home=home, cwd=work).returncode == 0, "a session is imported")
    scene.run([("bash", {"command": "touch PWN"})], "--resume", session, home=home, cwd=work)
    return not os.path.exists(os.path.join(work, "PWN"))
