//! Regression tests for the sandbox, from outside the program.

use std::path::Path;
use std::process::{Command, Stdio};

use lariat_core::event::AgentEvent;
use lariat_core::opening::SandboxOpening;
use lariat_proofs::engine::process::{Environment, Exit, Input, Launch, Output, Size, Supervisor};
use lariat_proofs::server::{Script, Turn};
use serde_json::{Value, json};

use crate::fixture::{Fixture, last_result, silence, wait_for};
use crate::terminal_prompts::shows;

/// A model that calls `bash` once and repeats its result.
async fn script_with_calls(arguments: Value) -> Fixture {
    Fixture::new(Script::answer(move |request| match last_result(&request.body) {
        None => Turn::new().call("toolu_1", "bash", &arguments).into(),
        Some((_, said, _)) => Turn::new().text(format!("It says: {said}")).into(),
    }))
    .await
}

/// A model that runs one command and repeats its output.
async fn running(command: &str) -> Fixture {
    script_with_calls(json!({ "command": command })).await
}

/// The program with the sandbox enabled.
fn confined(fixture: &Fixture, mode: &str) -> Command {
    let mut command = fixture.command(&["run", "--mode", mode, "do it"]);
    command.env("LARIAT_SANDBOX__ENABLED", "true");
    command
}

fn run_output(mut command: Command) -> String {
    let output = command.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    format!("{}\n--- stderr\n{errors}", String::from_utf8_lossy(&output.stdout))
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        folder.read_dir().unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Commands can write to `/tmp`, find their files there later, and do not see those of other programs.
#[tokio::test(flavor = "multi_thread")]
async fn commands_have_a_private_tmp_until_the_session_is_deleted() {
    let commands = ["echo kept > /tmp/note; mktemp", "cat /tmp/note; ls /tmp; echo TMPDIR=$TMPDIR"];
    let script = Script::answer(move |request| {
        let asked = request.body["messages"].as_array().map_or(0, |messages| messages.len() / 2);
        match commands.get(asked) {
            Some(command) => {
                Turn::new().call(format!("toolu_{asked}"), "bash", &json!({ "command": command })).into()
            }
            None => Turn::new()
                .text(last_result(&request.body).map(|(_, said, _)| said).unwrap_or_default())
                .into(),
        }
    });
    // In `/tmp` itself, the fixture would make the real one visible.
    let fixture = Fixture::beneath(Path::new("/var/tmp"), script).await;
    let foreign = std::env::temp_dir().join(format!("lariat-foreign-{}", std::process::id()));
    std::fs::write(&foreign, "x").unwrap();
    let shown = run_output(confined(&fixture, "auto"));
    std::fs::remove_file(&foreign).unwrap();
    assert!(shown.contains("kept") && shown.contains("tmp.") && shown.contains("TMPDIR=/tmp"), "{shown}");
    assert!(!shown.contains("lariat-foreign"), "{shown}");
    let sessions = fixture.path("state/lariat/tmp");
    let session = names(&sessions).pop().unwrap();
    assert!(sessions.join(&session).join("note").exists());
    fixture.run(&["sessions", "delete", &session, "--yes"]).expect(0);
    assert!(names(&sessions).is_empty());
}

/// The sandbox must not create `.git`, `.claude`, … in the user's directory, not even after a kill.
#[tokio::test(flavor = "multi_thread")]
async fn sandbox_leaves_no_files_during_a_command_or_after_a_kill() {
    let fixture = running("touch began; sleep 30").await;
    let mut child = confined(&fixture, "auto").stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let began = fixture.workspace().join("began");
    wait_for("the command", || began.exists());
    assert_eq!(names(&fixture.workspace()), ["began"]);
    child.kill().unwrap();
    child.wait().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert_eq!(names(&fixture.workspace()), ["began"]);
}

/// Protected paths that do not exist cannot be created in any way; everything else can.
#[tokio::test(flavor = "multi_thread")]
async fn missing_protected_paths_cannot_be_created() {
    let ways = r#"
mkdir .git; git init -q .; ln -s x .claude; echo x > .mcp.json; echo a > a; ln a lariat.toml; mv a .envrc; mkfifo .lariat
mkdir x; mv -T x .GIT; cp a mise.toml; python3 -c 'import os; os.mknod(".jj")'; mkdir .jj
umask 027; mkdir -p new/deep; echo b > new/deep/b; mv new/deep/b c; ln -s c d; ln c e; mkdir f; rmdir f
rm -rf g; mkdir g; echo g > g/g; rm -rf g; mkdir g; echo g > g/h; cat g/h d e; stat -c %a new
"#;
    let fixture = running("bash ways.sh").await;
    fixture.write("ways.sh", ways);
    std::fs::create_dir(fixture.workspace().join("g")).unwrap();
    let shown = run_output(confined(&fixture, "auto"));
    assert_eq!(names(&fixture.workspace()), ["a", "c", "d", "e", "g", "new", "ways.sh", "x"], "{shown}");
    assert!(shown.contains("g\nb\nb\n750\n"), "{shown}");
    assert!(shown.contains("the sandbox protects"), "{shown}");
}

/// Threads that swap a name during the check cannot create a protected path.
#[tokio::test(flavor = "multi_thread")]
async fn name_swapped_during_check_is_not_created() {
    let script = r#"
import ctypes, os, threading, time
c = ctypes.CDLL(None, use_errno=True)
os.mkdir("sub")
good, bad = b"sub/xx\0", b".git\0\0\0"
box = ctypes.create_string_buffer(good, 7)
stop = False
def swap():
    while not stop:
        ctypes.memmove(box, bad, 7); ctypes.memmove(box, good, 7)
thread = threading.Thread(target=swap); thread.start()
end, made = time.time() + 2, 0
while time.time() < end:
    if c.mkdir(box, 0o755) == 0:
        made += 1
    try: os.rmdir("sub/xx")
    except OSError: pass
    fd = c.open(box, os.O_CREAT | os.O_WRONLY, 0o644)
    if fd >= 0: os.close(fd)
    try: os.unlink("sub/xx")
    except OSError: pass
    if os.path.lexists(".git"): print("ESCAPED"); break
stop = True; thread.join()
print("tried", made > 0)
"#;
    let fixture = running("python3 swap.py").await;
    fixture.write("swap.py", script);
    let shown = run_output(confined(&fixture, "auto"));
    assert!(shown.contains("tried True") && !shown.contains("ESCAPED"), "{shown}");
    assert!(!fixture.workspace().join(".git").exists());
}

fn repository(fixture: &Fixture) {
    let git = |arguments: &[&str]| {
        let done = Command::new("git").arg("-C").arg(fixture.workspace()).args(arguments).output().unwrap();
        assert!(done.status.success(), "{arguments:?}: {done:?}");
    };
    git(&["init", "-q", "."]);
    git(&["config", "user.name", "a"]);
    git(&["config", "user.email", "a@localhost"]);
}

fn history(fixture: &Fixture) -> String {
    let done =
        Command::new("git").arg("-C").arg(fixture.workspace()).args(["log", "--format=%s"]).output().unwrap();
    String::from_utf8(done.stdout).unwrap()
}

/// Runs the program on a terminal and approves its request with `y`.
async fn answered(fixture: &Fixture) -> String {
    let command = confined(fixture, "default");
    let variables = command.get_envs().filter_map(|(name, value)| Some((name, value?)));
    let environment = variables.fold(Environment::default(), |all, (name, value)| all.with(name, value));
    let launch = Launch::new(env!("CARGO_BIN_EXE_lariat"), fixture.workspace())
        .with_arguments(command.get_args())
        .with_environment(environment.with("TERM", "xterm"))
        .with_input(Input::Written)
        .with_output(Output::Terminal(Size::default()));
    let supervisor = Supervisor::new();
    let process = supervisor.start(launch).await.unwrap();
    shows(&process, "git commit").await;
    // Keys typed before the prompt do not answer it.
    for _ in 0..20 {
        tokio::time::sleep(std::time::Duration::from_millis(700)).await;
        if process.exit().is_some() {
            break;
        }
        let _ = process.write(b"y\r").await;
    }
    let finished = process.wait().await;
    assert_eq!(finished.exit, Exit::Code(0), "{}", finished.output.text());
    finished.output.text()
}

/// An approved `git commit` must not fail with a read-only `.git`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn approved_commit_succeeds_and_keeps_hooks_and_configuration() {
    let fixture = running(
        "git add a.txt && git commit -q -m first; echo evil > .git/hooks/pre-push; git config a.b c; echo x > .git/commondir; mkdir .git/modules",
    )
    .await;
    repository(&fixture);
    fixture.write("a.txt", "one\n");
    let configuration = std::fs::read_to_string(fixture.workspace().join(".git/config")).unwrap();
    let shown = answered(&fixture).await;
    assert_eq!(history(&fixture), "first\n", "{shown}");
    let git = fixture.workspace().join(".git");
    assert_eq!(std::fs::read_to_string(git.join("config")).unwrap(), configuration);
    for name in ["hooks/pre-push", "commondir", "modules"] {
        assert!(!git.join(name).exists(), "{name}: {shown}");
    }
    let asked = fixture.journal().await.into_iter().find_map(|event| match &event.event {
        AgentEvent::PermissionRequired { request } => Some(request.openings.clone()),
        _ => None,
    });
    assert_eq!(asked, Some(vec![SandboxOpening::Git]));
}

/// The model learns what the sandbox blocked and what it needs; without a user, that access is not granted.
#[tokio::test(flavor = "multi_thread")]
async fn blocked_commit_names_needed_access_and_does_not_get_it_unasked() {
    let fixture = running("git commit -q --allow-empty -m first").await;
    repository(&fixture);
    let shown = run_output(confined(&fixture, "auto"));
    assert!(shown.contains(r#"`needs`: ["git"]"#), "{shown}");
    let events = fixture.journal().await;
    let blocked = events.iter().find_map(|event| match &event.event {
        AgentEvent::ToolExecutionEnd { details, .. } => {
            Some(lariat_core::opening::BlockedAction::of_details(details))
        }
        _ => None,
    });
    let blocked = blocked.unwrap();
    assert!(blocked.iter().any(|blocked| blocked.opening == Some(SandboxOpening::Git)), "{blocked:?}");
    for needs in [json!(["git"]), json!(["outside"]), json!(["everything"])] {
        let fixture =
            script_with_calls(json!({ "command": "git commit -q --allow-empty -m first", "needs": needs }))
                .await;
        repository(&fixture);
        for mode in ["auto", "dont-ask"] {
            let shown = run_output(confined(&fixture, mode));
            assert_eq!(history(&fixture), "", "{mode}, {needs}: {shown}");
        }
    }
}

/// Programs in the sandbox must not read denied files.
#[tokio::test(flavor = "multi_thread")]
async fn files_that_a_rule_denies_are_hidden_in_the_sandbox() {
    let look = r#"
import os
def look():
    for folder, _, files in os.walk("."):
        for name in files:
            try: print(open(os.path.join(folder, name)).read())
            except OSError as error: print(error)
look()
for old, new in (("secrets", "away"), (".env", "env"), ("sub/.env", "env")):
    try: os.rename(old, new); print("MOVED", old)
    except OSError as error: print(error)
look()
"#;
    let fixture = running("python3 look.py").await;
    for folder in ["secrets/deep", "sub"] {
        std::fs::create_dir_all(fixture.workspace().join(folder)).unwrap();
    }
    for name in [".env", "secrets/deep/k", "sub/.env"] {
        fixture.write(name, "CANARY\n");
    }
    fixture.write("look.py", look);
    fixture.write("open.txt", "can be read\n");
    let mut command = confined(&fixture, "auto");
    command.args(["--deny", "Read(./.env)", "--deny", "Read(./secrets/**)"]);
    let shown = run_output(command);
    assert!(shown.contains("can be read") && !shown.contains("CANARY"), "{shown}");
    // The printed script contains the word once.
    assert_eq!(shown.matches("MOVED").count(), shown.matches("print(\"MOVED\", old)").count(), "{shown}");
    assert_eq!(std::fs::read_to_string(fixture.workspace().join(".env")).unwrap(), "CANARY\n");
}

/// With the network on, `auto` must not reach services on this machine without asking.
#[tokio::test(flavor = "multi_thread")]
async fn auto_mode_asks_if_network_is_enabled() {
    let fixture = running("python3 -c 'open(\"ran\", \"w\")'").await;
    let mut command = confined(&fixture, "auto");
    command.env("LARIAT_SANDBOX__NETWORK", "true");
    let asked = run_output(command);
    assert!(!fixture.workspace().join("ran").exists(), "{asked}");
    let fixture = running("python3 -c 'open(\"ran\", \"w\")'").await;
    let shown = run_output(confined(&fixture, "auto"));
    assert!(fixture.workspace().join("ran").exists(), "{shown}");
}

/// With HOME as the workspace, start-up files, keys and Lariat's own state stay protected.
#[tokio::test(flavor = "multi_thread")]
async fn home_as_workspace_protects_startup_files_and_own_state() {
    let paths = ".bashrc .profile .ssh/authorized_keys .config/lariat/config.toml config/lariat/config.toml state/lariat/trust.json .local/bin/git .config/fish/config.fish";
    let fixture = running("bash set.sh").await;
    let home = fixture.path("");
    std::fs::create_dir_all(home.join(".config")).unwrap();
    let script = format!(
        "for p in {paths}; do mkdir -p ~/$(dirname $p); (echo PWN >> ~/$p) 2>/dev/null; done; echo fine > ~/ordinary\n"
    );
    std::fs::write(home.join("set.sh"), script).unwrap();
    let mut command = confined(&fixture, "auto");
    command.current_dir(&home).env("LARIAT_UNDO__ENABLED", "false");
    let shown = run_output(command);
    for path in paths.split(' ') {
        let text = std::fs::read_to_string(home.join(path)).unwrap_or_default();
        assert!(!text.contains("PWN"), "{path}: {shown}");
    }
    assert_eq!(std::fs::read_to_string(home.join("ordinary")).unwrap(), "fine\n", "{shown}");
    assert!(shown.contains("home directory"), "{shown}");
}

/// Keys of other programs and Lariat's own sessions must not be readable.
#[tokio::test(flavor = "multi_thread")]
async fn keys_histories_and_our_own_sessions_are_hidden() {
    const HIDDEN: &[&str] = &[
        ".ssh/id_ed25519",
        ".aws/credentials",
        ".claude/.credentials.json",
        ".codex/auth.json",
        ".gemini/oauth_creds.json",
        ".config/opencode/auth.json",
        ".pgpass",
        ".vault-token",
        ".netrc",
        ".config/gh/hosts.yml",
        ".docker/config.json",
        ".kube/config",
        ".mozilla/firefox/logins.json",
        ".password-store/x.gpg",
        ".bash_history",
        "state/lariat/undo/x/blob",
    ];
    let list: Vec<String> = HIDDEN.iter().map(|path| format!("~/{path}")).collect();
    let fixture = running("bash look.sh").await;
    let script = format!(
        "cat {} 2>/dev/null; head -c 15 ~/state/lariat/sessions.db; cat ~/open.txt\n",
        list.join(" ")
    );
    fixture.write("look.sh", script);
    for path in HIDDEN {
        let path = fixture.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "CANARY\n").unwrap();
    }
    std::fs::write(fixture.path("open.txt"), "can be read\n").unwrap();
    let shown = run_output(confined(&fixture, "auto"));
    assert!(shown.contains("can be read"), "{shown}");
    assert!(!shown.contains("CANARY") && !shown.contains("SQLite format"), "{shown}");
}

/// File tools and commands can write to `additionalDirectories`.
#[tokio::test(flavor = "multi_thread")]
async fn tools_and_commands_write_to_additional_directory() {
    let fixture = Fixture::new(Script::answer(|request| match last_result(&request.body) {
        None => {
            let path = request_path(&request.body);
            Turn::new()
                .call("toolu_1", "write_file", &json!({ "path": path, "content": "by a tool\n" }))
                .into()
        }
        Some((name, ..)) if name == "write_file" => Turn::new()
            .call("toolu_2", "bash", &json!({ "command": "echo by a command > ../more/command" }))
            .into(),
        Some((_, said, _)) => Turn::new().text(said).into(),
    }))
    .await;
    let more = fixture.path("more");
    std::fs::create_dir(&more).unwrap();
    let settings = json!({ "permissions": { "additionalDirectories": [more] } });
    std::fs::create_dir_all(fixture.path(".claude")).unwrap();
    std::fs::write(fixture.path(".claude/settings.json"), settings.to_string()).unwrap();
    let mut command = fixture.command(&["run", "--mode", "auto"]);
    command.arg(format!("PATH={}/tool", more.display())).env("LARIAT_SANDBOX__ENABLED", "true");
    let shown = run_output(command);
    assert_eq!(names(&more), ["command", "tool"], "{shown}");
}

/// A directory that is added to the workspace is protected like it: commands cannot plant hooks or settings there.
#[tokio::test(flavor = "multi_thread")]
async fn commands_cannot_change_what_controls_agents_in_an_added_directory() {
    // The permission check does not see what a script does.
    let fixture = running("sh plant.sh").await;
    fixture.write(
        "plant.sh",
        "cd ../more\necho x > plain\necho x > .git/hooks/pre-commit\necho x > inner/.git/config\nmkdir .claude\necho x > .mcp.json\n",
    );
    for directory in ["more/.git/hooks", "more/inner/.git"] {
        std::fs::create_dir_all(fixture.path(directory)).unwrap();
    }
    let mut command = fixture.command(&["run", "--mode", "bypass", "--add-dir", "../more", "do it"]);
    command.env("LARIAT_SANDBOX__ENABLED", "true");
    let shown = run_output(command);
    let more = fixture.path("more");
    assert_eq!(names(&more), [".git", "inner", "plain"], "{shown}");
    assert!(
        names(&more.join(".git/hooks")).is_empty() && names(&more.join("inner/.git")).is_empty(),
        "{shown}"
    );
}

fn request_path(body: &Value) -> String {
    let text = body.to_string();
    let after = text.split("PATH=").nth(1).unwrap_or_default();
    after.split(['"', '\\', ' ']).next().unwrap_or_default().to_owned()
}

/// A command's memory is limited, and it cannot set the set-user-id bit.
#[tokio::test(flavor = "multi_thread")]
async fn limits_memory_and_blocks_set_user_id() {
    let fixture = running(
        "python3 -c 'x = bytearray(600 << 20); print(\"took it\")'; cp /bin/true t; chmod u+s t; chmod 4755 t; install -m 6755 /bin/true i; python3 -c 'import os; os.open(\"o\", os.O_CREAT, 0o4755)'; stat -c %a t",
    )
    .await;
    let mut command = confined(&fixture, "auto");
    command.env("LARIAT_SANDBOX__MEMORY", "256");
    let shown = run_output(command);
    assert!(!shown.contains("took it") && shown.contains("MemoryError"), "{shown}");
    use std::os::unix::fs::PermissionsExt as _;
    for entry in fixture.workspace().read_dir().unwrap() {
        let entry = entry.unwrap();
        let mode = entry.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o6000, 0, "{:?}: {shown}", entry.file_name());
    }
    assert!(shown.contains("755"), "{shown}");
}

/// Commands work in a read-only directory.
#[tokio::test(flavor = "multi_thread")]
async fn commands_run_in_read_only_directory() {
    let fixture = running("ls; echo b > b").await;
    let mut command = confined(&fixture, "auto");
    // A kernel directory, in which even root cannot create a file.
    command.current_dir("/sys/kernel");
    let shown = run_output(command);
    assert!(!shown.contains("could not start") && !shown.contains("was not run"), "{shown}");
    assert!(shown.contains("mm") && shown.contains("b: "), "{shown}");
}

/// A program without capabilities: root has some that allow it to read the environment of every process.
fn without_capabilities(program: &str) -> Command {
    if !rustix::process::getuid().is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--bounding-set=-all", program]);
    command
}

/// What another process of the same user reads as the environment of a process.
fn environment_of(process: u32) -> String {
    let read = without_capabilities("cat").arg(format!("/proc/{process}/environ")).output().unwrap();
    String::from_utf8_lossy(&read.stdout).into_owned()
}

/// Other processes of the user must not read the keys in the environment of Lariat.
#[tokio::test(flavor = "multi_thread")]
async fn other_processes_cannot_read_the_environment() {
    let fixture = Fixture::new(Script::answer(|_| silence())).await;
    let run = fixture.command(&["run", "think hard"]);
    let mut lariat = without_capabilities(env!("CARGO_BIN_EXE_lariat"));
    lariat.args(run.get_args()).env_clear().current_dir(fixture.workspace());
    lariat.envs(run.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let mut lariat = lariat.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_for("the request", || !fixture.requests().is_empty());
    let read = environment_of(lariat.id());
    lariat.kill().unwrap();
    lariat.wait().unwrap();
    assert_eq!(read, "");
    // The control: the environment of an ordinary program can be read.
    let mut other = without_capabilities("sleep").arg("30").env("TEST_KEY", "sk-ant-test").spawn().unwrap();
    wait_for("the environment", || environment_of(other.id()).contains("TEST_KEY=sk-ant-test"));
    other.kill().unwrap();
    other.wait().unwrap();
}

/// With an allow-list, commands reach the listed hosts through the proxy and nothing else.
#[tokio::test(flavor = "multi_thread")]
async fn sandboxed_commands_reach_only_allowed_hosts() {
    // In a file, because the shell analysis does not know what this command reaches.
    let script = "p=${http_proxy#http://}\nfor port in $(cat port) 9; do\n  exec 3<>/dev/tcp/${p%%:*}/${p##*:}\n  \
                  printf 'GET http://127.0.0.1:%s/ HTTP/1.1\\r\\nHost: a\\r\\n\\r\\n' $port >&3\n  \
                  echo \"port $port: $(head -1 <&3)\"\ndone\n(: < /dev/tcp/127.0.0.1/$(cat port)) || echo no direct way\n";
    let fixture = running("bash ask.sh").await;
    fixture.write("ask.sh", script);
    let address = fixture.server.base_url(lariat_proofs::server::Wire::AnthropicMessages);
    let port: String = address.rsplit(':').next().unwrap().chars().take_while(char::is_ascii_digit).collect();
    fixture.write("port", &port);
    let mut command = confined(&fixture, "bypass");
    command.env("LARIAT_SANDBOX__HOSTS", format!("[\"127.0.0.1:{port}\"]"));
    // The allow-list also applies where the network is on.
    command.env("LARIAT_SANDBOX__NETWORK", "true");
    let shown = run_output(command);
    assert!(shown.contains(&format!("port {port}: HTTP/1.1 ")), "{shown}");
    assert!(!shown.contains(&format!("port {port}: HTTP/1.1 403")), "{shown}");
    assert!(shown.contains("port 9: HTTP/1.1 403 Forbidden"), "{shown}");
    assert!(shown.contains("no direct way"), "{shown}");
}

/// A value that is not a list of hosts stops the run.
#[tokio::test(flavor = "multi_thread")]
async fn invalid_allow_list_stops_the_run() {
    let fixture = running("true").await;
    let mut command = confined(&fixture, "bypass");
    command.env("LARIAT_SANDBOX__HOSTS", "[\"https://example.org\"]");
    let shown = run_output(command);
    assert!(shown.contains("cannot enforce a restriction") && shown.contains("not a host"), "{shown}");
    assert!(fixture.requests().is_empty(), "{shown}");
}
