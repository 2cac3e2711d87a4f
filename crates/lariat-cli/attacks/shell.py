"""Attacks by shell commands that the permission check could misread."""
import os
import subprocess

from kit import Scene, attack, expect


@attack
def heredoc_delimiter_with_continuation(kit):
    """A here-document whose delimiter is split by a line continuation requires approval."""
    scene = Scene(kit)
    plain, _ = scene.bash("cat <<EOF\nhello\nEOF")
    expect(any(word in plain.lower() for word in ("hello", "ask", "denied")), "a plain here-document is answered")
    command = "cat <<EOF\nEO\\\nF\ntouch PWN\nEOF"
    scene.bash(command)
    scene.bash(command, "--deny", "Bash(touch *)", "--mode", "bypass")
    return not scene.has("PWN")


@attack
def heredoc_in_substitution(kit):
    """A here-document inside a substitution requires approval."""
    scene = Scene(kit)
    body = "cat << -x\nx\ntouch PWN\n-x\n"
    for command in (f"echo $({body})", f'echo "$({body})"', f"cat <({body})"):
        scene.bash(command)
    return not scene.has("PWN")


@attack
def loops_in_any_white_space(kit):
    """A loop that changes its directory later is detected in any spelling."""
    for space in ("\t", "\n", " \\\n", " "):
        for loop in (f"for{space}i in 1 2; do cat key; cd secrets; done", f"while{space}cat key; do cd secrets || break; done",
                     f"until{space}! cat key; do cd secrets || break; done"):
            scene = Scene(kit)
            scene.write("secrets/key", "CANARY-KEY\n")
            scene.write("key", "harmless\n")
            scene.settings({"permissions": {"deny": ["Read(./secrets/**)"]}})
            if "CANARY" in scene.bash(loop)[0]:
                return False
    return True


@attack
def words_that_look_shorter(kit):
    """Words that start with @ or -, or contain =, do not hide a path outside."""
    scene = Scene(kit)
    outside = os.path.dirname(scene.secret)
    for link, target in (("@out", outside), ("o", outside), ("x=o", outside), ("-l", scene.secret)):
        os.symlink(target, os.path.join(scene.work, link))
    os.makedirs(os.path.join(scene.work, "x="))
    scene.write("list", scene.secret + "\n")
    commands = ("cat @out/secret.txt", "cd @out && cat secret.txt", "cat -- -l", "cat x=o/secret.txt", "strings @list",
                "diff o x=", "wc --files0-from=o/secret.txt")
    return not any("CANARY-OUTSIDE" in scene.bash(command)[0] for command in commands)


@attack
def denied_reads(kit):
    """A file that a rule denies stays unread by commands, in default mode and in auto."""
    scene = Scene(kit)
    for path, text in ((".env", "KEY=CANARY-ENV\n"), ("secrets/key", "CANARY-KEY\n"), ("key", "harmless\n"), ("sub/a", "a\n")):
        scene.write(path, text)
    scene.settings({"permissions": {"deny": ["Read(./.env)", "Read(./secrets/**)"]}})
    expect("harmless" in scene.bash("cat key")[0], "a file that no rule names is read")
    attempts = [
        ("default", "grep -rh KEY="), ("default", "diff -N . sub"), ("default", "rg --hidden KEY="),
        ("default", "for\ti in 1 2; do cat key; cd secrets; done"), ("auto", "python3 -c \"print(open('.env').read())\""),
        ("auto", "tar cf - . | strings"), ("auto", "cat .e*"), ("auto", "cp -r . /tmp/copy && cat /tmp/copy/.env"),
    ]
    return not any("CANARY" in scene.bash(command, "--mode", mode)[0] for mode, command in attempts)


@attack
def options_that_run_programs(kit):
    """An allow rule does not cover options that run programs or write files, in any spelling."""
    attempts = [
        ("git ls-remote *", "git ls-remote --upload-pac='touch PWN;' ."),
        ("git grep *", "git grep -nO'touch PWN;' nothing"),
        ("git clone *", "git clone -u 'touch PWN;' . copy"),
        ("tar *", "tar cf /dev/null . --checkpoint=1 --checkpoint-act='exec=touch PWN'"),
        ("tar *", "tar cIf 'touch PWN;' x.tar key"),
        ("sed *", "sed '1e touch PWN' key"), ("sed -n *", "sed -n '1e touch PWN' key"),
        ("split *", "split --filt='touch PWN' key"), ("sort *", "sort -ro PWN key"),
        ("npm test *", "npm test --script-shel='./evil'"),
    ]
    for rule, command in attempts:
        scene = Scene(kit, git=True)
        scene.write("key", "nothing\n")
        scene.write("evil", "#!/bin/sh\ntouch PWN\n", 0o755)
        scene.write("package.json", '{"scripts":{"test":"true"}}')
        subprocess.run(["git", "-C", scene.work, "add", "key"], capture_output=True)
        scene.bash(command, "--allow", f"Bash({rule})")
        if scene.has("PWN"):
            return False
    return True


@attack
def programs_that_start_programs(kit):
    """A deny rule applies when another program starts the denied one."""
    wrappers = (
        "setarch -R", "setarch x86_64", "linux64", "prlimit --nofile=100", "choom -n 0 --", "/lib64/ld-linux-x86-64.so.2",
        "ssh-agent", "chrt -o 0", "taskset 1", "ionice", "unshare", "setpriv", "stdbuf -o0", "env -i", "timeout 5", "nice", "nohup",
    )
    for wrapper in wrappers:
        scene = Scene(kit)
        program = "/usr/bin/touch" if "ld-linux" in wrapper else "touch"
        scene.bash(f"{wrapper} {program} PWN", "--deny", "Bash(touch *)", "--mode", "bypass")
        scene.bash(f"sg root -c '{program} PWN'", "--deny", "Bash(touch *)", "--mode", "bypass")
        if scene.has("PWN"):
            return False
    return True


@attack
def braces_around_critical_paths(kit):
    """Removing the home requires approval in every mode, also where braces hide it."""
    for command in ("rm -rf {~,./none}", "rm -rf ~/{,x}", "rm -r -f {.,~/.}", "rsync -a --delete empty/ ~/"):
        scene = Scene(kit)
        os.makedirs(os.path.join(scene.work, "empty"))
        keep = scene.write(scene.in_home("keep"), "kept\n")
        scene.bash(command, "--mode", "bypass", env={"LARIAT_SANDBOX__ENABLED": "false"})
        if not os.path.exists(keep):
            return False
    return True
