//! A temporary home, workspace and model server for a test.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use lariat_core::archive::{ListQuery, SessionArchive as _};
use lariat_core::event::Event;
use lariat_core::id::SessionId;
use lariat_core::store::SessionStore as _;
use lariat_proofs::engine::{SqliteStore, StoreOptions};
use lariat_proofs::server::{Answer, Frame, RawResponse, Request, Script, Server, Wire};
use serde_json::Value;

/// How long a test waits for something that must happen.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

static COUNT: AtomicU32 = AtomicU32::new(0);

/// The variable that switches a planted mistake on (`cargo xtask mistakes`). The program must inherit it.
pub(crate) fn mistake_switch() -> Option<(&'static str, OsString)> {
    let name = "PLANTED_MISTAKE";
    std::env::var_os(name).map(|mistake| (name, mistake))
}

/// The environment of a test. Its directory is removed with it.
pub(crate) struct Fixture {
    root: PathBuf,
    pub(crate) server: Server,
}

/// The result of running the program.
#[derive(Debug)]
pub(crate) struct RunResult {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl RunResult {
    pub(crate) fn of(output: &Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("output is UTF-8");
        Self { code: output.status.code(), stdout: text(&output.stdout), stderr: text(&output.stderr) }
    }

    /// Standard output as lines of JSON.
    pub(crate) fn lines(&self) -> Vec<Value> {
        let parse = |line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        self.stdout.lines().map(parse).collect()
    }

    /// Standard output as one document.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    #[track_caller]
    pub(crate) fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:#?}");
        self
    }
}

impl Fixture {
    pub(crate) async fn new(script: Script) -> Self {
        Self::beneath(&std::env::temp_dir(), script).await
    }

    /// A fixture in another directory than the default one for temporary files.
    pub(crate) async fn beneath(directory: &Path, script: Script) -> Self {
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let root = directory.join(format!("lariat-cli-{:07}-{count}", std::process::id()));
        let server = Server::start(script).await.unwrap();
        let fixture = Self { root, server };
        std::fs::create_dir_all(fixture.workspace()).unwrap();
        std::fs::create_dir_all(fixture.root.join("config/lariat")).unwrap();
        let settings = format!(
            "model = \"test/scripted\"\nmode = \"bypass\"\n[sandbox]\nenabled = false\n\
             [providers.test]\napi = \"anthropic-messages\"\nbase_url = \"{}\"\nkey_env = \"TEST_KEY\"\n",
            fixture.server.base_url(Wire::AnthropicMessages)
        );
        std::fs::write(fixture.root.join("config/lariat/config.toml"), settings).unwrap();
        fixture
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.root.join("work")
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// Writes a file in the workspace.
    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.workspace().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    /// Runs git in the workspace, without the settings of the user who runs the tests. Returns its output.
    #[track_caller]
    pub(crate) fn git(&self, words: &[&str]) -> String {
        let done = Command::new("git")
            .args(["-c", "user.name=A", "-c", "user.email=a@example.com", "-c", "init.defaultBranch=main"])
            .args(words)
            .current_dir(self.workspace())
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .output()
            .unwrap();
        assert!(done.status.success(), "git {words:?}: {}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap()
    }

    /// The program with these arguments, in the workspace.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        self.command_of(Path::new(env!("CARGO_BIN_EXE_lariat")), args)
    }

    /// The same as [`Self::command`] with another copy of the program.
    pub(crate) fn command_of(&self, program: &Path, args: &[&str]) -> Command {
        let mut command = Command::new(program);
        command
            .args(args)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", &self.root)
            .env("XDG_CONFIG_HOME", self.root.join("config"))
            .env("XDG_STATE_HOME", self.root.join("state"))
            .env("TEST_KEY", "sk-ant-test")
            .env("LANG", "C.UTF-8")
            .envs(mistake_switch())
            .current_dir(self.workspace())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> RunResult {
        RunResult::of(&self.command(args).output().unwrap())
    }

    /// Runs the program with data on standard input.
    pub(crate) fn run_with(&self, args: &[&str], input: impl Into<Vec<u8>>) -> RunResult {
        let mut child = self.command(args).stdin(Stdio::piped()).spawn().unwrap();
        let (mut stdin, input) = (child.stdin.take().unwrap(), input.into());
        let writer = std::thread::spawn(move || {
            // The program may end before it has read everything.
            let _ = std::io::Write::write_all(&mut stdin, &input);
        });
        let ran = RunResult::of(&child.wait_with_output().unwrap());
        writer.join().unwrap();
        ran
    }

    pub(crate) fn spawn(&self, args: &[&str]) -> Child {
        self.command(args).spawn().unwrap()
    }

    /// All requests to the model so far.
    pub(crate) fn requests(&self) -> Vec<Request> {
        self.server.requests()
    }

    /// The session store, if it exists.
    pub(crate) async fn store(&self) -> Option<SqliteStore> {
        let path = self.root.join("state/lariat/sessions.db");
        if !path.exists() {
            return None;
        }
        Some(SqliteStore::open(&path, StoreOptions::default()).await.unwrap())
    }

    /// All events of the newest session.
    pub(crate) async fn journal(&self) -> Vec<Event> {
        let Some(store) = self.store().await else { return Vec::new() };
        let newest = store.list(&ListQuery::default()).await.unwrap().into_iter().next();
        let Some(newest) = newest else { return Vec::new() };
        read_journal(&store, &newest.session_id).await
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.root);
    }
}

/// All events of a session.
pub(crate) async fn read_journal(store: &SqliteStore, session: &SessionId) -> Vec<Event> {
    let mut events = Vec::new();
    loop {
        let more = store.read(session, events.len() as u64, 1_000).await.unwrap();
        if more.is_empty() {
            return events;
        }
        events.extend(more);
    }
}

/// Waits until a condition is true.
#[track_caller]
pub(crate) fn wait_for(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < PATIENCE, "timed out waiting for {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Waits for a child process.
pub(crate) fn wait(child: Child) -> RunResult {
    RunResult::of(&child.wait_with_output().unwrap())
}

pub(crate) fn signal(child: &Child, signal: rustix::process::Signal) {
    let id = rustix::process::Pid::from_child(child);
    rustix::process::kill_process(id, signal).unwrap();
}

/// A response that never comes.
pub(crate) fn silence() -> Answer {
    Answer::Raw(RawResponse { status: 200, headers: Vec::new(), frames: vec![Frame::Stall] })
}

/// The text of a block or a list of blocks.
pub(crate) fn text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => blocks.iter().map(text_of).collect::<Vec<_>>().join("\n"),
        _ => String::new(),
    }
}

fn text_of(block: &Value) -> String {
    match block.get("text") {
        Some(text) => text.as_str().unwrap_or_default().to_owned(),
        None => text(block.get("content").unwrap_or(&Value::Null)),
    }
}

/// The last tool call in a Messages API request: its name, the text of its result, and whether it failed.
pub(crate) fn last_result(body: &Value) -> Option<(String, String, bool)> {
    let messages = body["messages"].as_array()?;
    let mut last = None;
    for block in messages.iter().flat_map(|message| message["content"].as_array().into_iter().flatten()) {
        if block["type"] == "tool_result" {
            last = Some(block);
        }
    }
    let result = last?;
    let calls = messages.iter().flat_map(|message| message["content"].as_array().into_iter().flatten());
    let call =
        calls.filter(|block| block["type"] == "tool_use").find(|call| call["id"] == result["tool_use_id"])?;
    let is_error = result["is_error"].as_bool().unwrap_or_default();
    Some((call["name"].as_str()?.to_owned(), text(&result["content"]), is_error))
}

/// Writes lines to a child's standard input.
pub(crate) fn feed(child: &mut Child, lines: &[Value]) {
    let stdin = child.stdin.as_mut().unwrap();
    for line in lines {
        std::io::Write::write_all(stdin, format!("{line}\n").as_bytes()).unwrap();
    }
}
