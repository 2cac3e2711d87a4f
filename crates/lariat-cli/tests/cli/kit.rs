//! A temporary home and project, and the program run in them.
//!
//! Values that differ between runs (directories, ids, times, ports) are replaced by placeholders before comparison.

use std::fmt;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use lariat_proofs::server::{Script, Server, Turn, Wire};
use serde_json::json;

use crate::fixture::mistake_switch;

static NEXT: AtomicU32 = AtomicU32::new(0);

/// A temporary home and project, deleted on drop.
pub(crate) struct Home {
    root: PathBuf,
    variables: Vec<(String, String)>,
}

/// The exit code and output of the program.
pub(crate) struct RunResult {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl fmt::Display for RunResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let code = self.code.map_or_else(|| "a signal".to_owned(), |code| code.to_string());
        writeln!(f, "ends with {code}")?;
        for (name, text) in [("stdout", &self.out), ("stderr", &self.err)] {
            if !text.is_empty() {
                writeln!(f, "--- {name}\n{}", text.trim_end())?;
            }
        }
        Ok(())
    }
}

/// URLs without a server, so that servers on this machine do not matter.
const NO_SERVERS: &str = "[providers.ollama]\nbase_url = \"http://127.0.0.1:1/v1\"\n\
    [providers.lmstudio]\nbase_url = \"http://127.0.0.1:1/v1\"\n\
    [providers.llamacpp]\nbase_url = \"http://127.0.0.1:1/v1\"\n";

impl Home {
    /// An empty home and an empty project.
    pub(crate) fn new() -> Self {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let root = std::env::temp_dir().join(format!("lariat-cli-{:07}-{number}", std::process::id()));
        for folder in ["home", "project"] {
            std::fs::create_dir_all(root.join(folder)).unwrap();
        }
        Self { root: root.canonicalize().unwrap(), variables: Vec::new() }
    }

    /// A home without local model servers.
    pub(crate) fn offline() -> Self {
        let home = Self::new();
        home.write(CONFIG, NO_SERVERS);
        home
    }

    /// Sets an environment variable.
    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// A path inside: `home/…` or `project/…`.
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    /// Writes a file.
    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Reads a file.
    pub(crate) fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.path(path)).unwrap()
    }

    /// The program, in the project, with a clean environment.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lariat"));
        command.args(args).current_dir(self.path("project")).env_clear();
        command.env("HOME", self.path("home")).env("PATH", "/usr/bin:/bin").env("TERM", "dumb");
        command.envs(mistake_switch());
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Runs the program with empty standard input.
    pub(crate) fn run(&self, args: &[&str]) -> RunResult {
        self.run_with(args, "")
    }

    /// Runs the program with data on standard input.
    pub(crate) fn run_with(&self, args: &[&str], input: &str) -> RunResult {
        let mut command = self.command(args);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // The program need not read it.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        let output = child.wait_with_output().unwrap();
        let text = |bytes: &[u8]| self.named(&String::from_utf8_lossy(bytes));
        RunResult { code: output.status.code(), out: text(&output.stdout), err: text(&output.stderr) }
    }

    /// Runs the program and returns its raw output, without placeholders.
    pub(crate) fn bytes(&self, args: &[&str]) -> Vec<u8> {
        let output = self.command(args).stdin(Stdio::null()).output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    }

    /// Replaces directories, ids, times and ports by placeholders.
    pub(crate) fn named(&self, text: &str) -> String {
        named(&text.replace(&*self.root.to_string_lossy(), "[ROOT]"))
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.root);
    }
}

/// The user's settings file.
pub(crate) const CONFIG: &str = "home/.config/lariat/config.toml";

/// A scripted model, and a home that uses it.
pub(crate) struct Scene {
    pub(crate) home: Home,
    _server: Server,
}

impl Scene {
    /// Starts the server, without running the program.
    pub(crate) async fn new(turns: Vec<Turn>) -> Self {
        let server = Server::start(Script::queue(turns)).await.unwrap();
        let home = Home::new().with("LARIAT_MODEL", "test/x").with("TEST_KEY", "sk-test");
        let address = server.base_url(Wire::OpenAiChat);
        let settings = format!(
            "[sandbox]\nenabled = false\n[providers.test]\napi = \"openai-chat\"\nbase_url = \"{address}\"\nkey_env = \"TEST_KEY\"\n"
        );
        home.write(CONFIG, &settings);
        Self { home, _server: server }
    }

    /// Runs a session that writes a file and answers a second prompt. Returns its id.
    pub(crate) async fn with_session() -> (Self, String) {
        let scene = Self::new(vec![
            Turn::new().text("I write it.").call(
                "call_1",
                "write_file",
                &json!({ "path": "hello.txt", "content": "hello\n" }),
            ),
            Turn::new().text("hello.txt is there."),
            Turn::new().text("It says hello."),
            Turn::new().text("Nothing more."),
        ])
        .await;
        let first = ["run", "--mode", "accept-edits", "--no-sandbox", "write a greeting"];
        let ran = scene.home.run(&first);
        assert_eq!(ran.code, Some(0), "{ran}");
        let ran = scene.home.run(&["run", "--no-sandbox", "--continue", "what does it say?"]);
        assert_eq!(ran.code, Some(0), "{ran}");
        let id = scene.id();
        (scene, id)
    }

    /// The id of the newest session.
    pub(crate) fn id(&self) -> String {
        let listed = self.home.bytes(&["sessions", "list", "--json"]);
        let listed: serde_json::Value = serde_json::from_slice(&listed).unwrap();
        listed.pointer("/0/session_id").unwrap().as_str().unwrap().to_owned()
    }
}

/// Compares with the named snapshot.
pub(crate) fn snap(name: &str, text: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/snapshots"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, text));
}

/// Patterns to replace: `h` is a hexadecimal digit, `d` a decimal digit, anything else is literal.
const FORMS: &[(&str, &str)] = &[
    ("hhhhhhhh-hhhh-hhhh-hhhh-hhhhhhhhhhhh", "[ID]"),
    ("dddd-dd-ddTdd:dd:dd.dddZ", "[TIME]"),
    ("dddd-dd-dd dd:dd", "[TIME]"),
    ("127.0.0.1:ddddd", "[ADDRESS]"),
    ("127.0.0.1:dddd", "[ADDRESS]"),
];

fn named(text: &str) -> String {
    let mut named = String::with_capacity(text.len());
    let mut rest = text;
    'next: while let Some(letter) = rest.chars().next() {
        for (form, name) in FORMS {
            if fits(form, rest) {
                named.push_str(name);
                rest = &rest[form.len()..];
                continue 'next;
            }
        }
        named.push(letter);
        rest = &rest[letter.len_utf8()..];
    }
    // An abbreviated id at the start of a listing's line.
    let short = |line: &str| match line.split_once("  ") {
        Some((id, rest)) if id.len() == 8 && id.chars().all(|c| c.is_ascii_hexdigit()) => {
            format!("[SHORT]   {rest}")
        }
        _ => line.to_owned(),
    };
    named.lines().map(short).map(|line| format!("{line}\n")).collect()
}

fn fits(form: &str, text: &str) -> bool {
    let mut letters = text.chars();
    form.chars().all(|form| {
        letters.next().is_some_and(|letter| match form {
            'h' => letter.is_ascii_hexdigit(),
            'd' => letter.is_ascii_digit(),
            form => form == letter,
        })
    })
}

#[test]
fn replaces_varying_values() {
    let text =
        "a 019a3c5e-1b2c-7def-8abc-0123456789ab at 2026-11-16T00:01:02.345Z, 2026-11-16 00:01\n0a1b2c3d  x\n";
    assert_eq!(named(text), "a [ID] at [TIME], [TIME]\n[SHORT]   x\n");
    assert_eq!(named("http://127.0.0.1:43211/v1"), "http://[ADDRESS]/v1\n");
    assert_eq!(named("http://127.0.0.1:1/v1"), "http://127.0.0.1:1/v1\n");
}
