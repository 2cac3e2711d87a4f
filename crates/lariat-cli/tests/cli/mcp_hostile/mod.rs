//! Hostile projects with MCP servers, opened by the real program.
//!
//! A file and a listener judge, not the output of the program: each server would leave a mark or connect. All connections that are
//! not to this machine go to the same listener, because it is the proxy.

mod repositories;

use std::io::Read as _;
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use lariat_proofs::server::{Script, Turn};
use serde_json::{Value, json};

use crate::fixture::{Fixture, PATIENCE, last_result};
use repositories::{HostileFile, HostileProject, all};

const SERVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../lariat-connect/tests/mcp/server.py");
/// Minimum number of projects in the tables.
const LEAST: usize = 300;
/// Projects that are open at a time.
const LANES: usize = 3;

/// Counts connections and refuses them.
struct CountingListener {
    address: SocketAddr,
    count: Arc<AtomicUsize>,
}

impl CountingListener {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, count) = (listener.local_addr().unwrap(), Arc::new(AtomicUsize::new(0)));
        let counted = Arc::clone(&count);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                counted.fetch_add(1, Ordering::SeqCst);
                drop(stream);
            }
        });
        Self { address, count }
    }
}

/// The directory of a project, and where its servers leave marks.
struct WrittenProject {
    directory: PathBuf,
    marks: PathBuf,
}

impl WrittenProject {
    fn new(fixture: &Fixture, number: usize, project: &HostileProject, listener: &CountingListener) -> Self {
        let directory = fixture.path(&format!("project-{number}"));
        // In the project, because a server that starts runs in the sandbox.
        let marks = directory.join("marks");
        let outside = fixture.path(&format!("outside-{number}"));
        for path in [&directory, &marks, &outside] {
            std::fs::create_dir_all(path).unwrap();
        }
        let run = directory.join("run");
        std::fs::write(&run, format!("#!/bin/sh\necho \"$0 $*\" >> {}/ran\n", marks.display())).unwrap();
        std::fs::set_permissions(&run, std::fs::Permissions::from_mode(0o755)).unwrap();
        let fill = |text: &str| {
            text.replace("@RUN@", run.to_str().unwrap())
                .replace("@ADDRESS@", &listener.address.to_string())
                .replace("@PORT@", &listener.address.port().to_string())
                .replace("@OUTSIDE@", outside.to_str().unwrap())
        };
        let servers = fill(r#"{"mcpServers":{"evil":{"command":"@RUN@"}}}"#);
        std::fs::write(outside.join("mcp.json"), servers).unwrap();
        for file in &project.files {
            let place = |path: &str| {
                let path = directory.join(path);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                path
            };
            match file {
                HostileFile::Text(path, text) => std::fs::write(place(path), fill(text)).unwrap(),
                HostileFile::Bytes(path, bytes) => {
                    // The mark is replaced in bytes as well, where the text is UTF-8.
                    let text = String::from_utf8(bytes.clone()).map(|text| fill(&text).into_bytes());
                    std::fs::write(place(path), text.unwrap_or_else(|_| bytes.clone())).unwrap();
                }
                HostileFile::Link(path, target) => symlink(fill(target), place(path)).unwrap(),
                HostileFile::Directory(path) => std::fs::create_dir_all(place(path)).unwrap(),
                HostileFile::Pipe(path) => {
                    let made = Command::new("mkfifo").arg(place(path)).status().unwrap();
                    assert!(made.success());
                }
            }
        }
        Self { directory, marks }
    }

    /// Runs the program in the project. Fails if it hangs.
    fn run(&self, fixture: &Fixture, arguments: &[&str], listener: &CountingListener) -> (String, String) {
        let proxy = format!("http://{}", listener.address);
        let mut command = fixture.command(arguments);
        command.current_dir(&self.directory).env("LARIAT_MODE", "default");
        // If a server starts although it must not, it harms nothing but its project.
        command.env("LARIAT_SANDBOX__ENABLED", "true");
        for name in ["HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY"] {
            command.env(name, &proxy);
        }
        let mut child = command.stdin(Stdio::null()).spawn().unwrap();
        let (mut out, mut err) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        let reader = std::thread::spawn(move || {
            let mut text = String::new();
            let _ = err.read_to_string(&mut text);
            text
        });
        let waiter = std::thread::spawn(move || {
            let mut text = String::new();
            let _ = out.read_to_string(&mut text);
            text
        });
        let begun = Instant::now();
        while child.try_wait().unwrap().is_none() {
            if begun.elapsed() > PATIENCE {
                let _ = child.kill();
                panic!("{arguments:?} hangs in {}", self.directory.display());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        (waiter.join().unwrap(), reader.join().unwrap())
    }

    fn mark(&self) -> Option<String> {
        std::fs::read_to_string(self.marks.join("ran")).ok()
    }
}

/// A model that calls a tool of the hostile server, and then ends.
fn script(tool: &'static str) -> Script {
    Script::answer(move |request| match last_result(&request.body) {
        None => Turn::new().call("toolu_1", tool, &json!({ "text": "hello" })).into(),
        Some((_, text, is_error)) => Turn::new().text(format!("{is_error}: {text}")).into(),
    })
}

#[test]
fn the_tables_have_300_kinds_of_hostile_projects() {
    let projects = all();
    let names: std::collections::BTreeSet<&str> =
        projects.iter().map(|project| project.name.as_str()).collect();
    assert_eq!(names.len(), projects.len(), "each kind has a name of its own");
    assert!(projects.len() >= LEAST, "{} projects", projects.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_untrusted_project_starts_nothing_and_connects_to_nothing() {
    let fixture = Fixture::new(script("mcp__evil__echo")).await;
    let (listener, projects) = (CountingListener::start(), all());
    let next = AtomicUsize::new(0);
    let faults = std::sync::Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..LANES {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::SeqCst);
                    let Some(project) = projects.get(number) else { return };
                    let written = WrittenProject::new(&fixture, number, project, &listener);
                    let before = listener.count.load(Ordering::SeqCst);
                    for arguments in [&["run", "go"][..], &["mcp", "list"]] {
                        let _ = written.run(&fixture, arguments, &listener);
                    }
                    let connections = listener.count.load(Ordering::SeqCst) - before;
                    if written.mark().is_some() || connections > 0 {
                        let fault =
                            format!("{}: {:?}, {connections} connections", project.name, written.mark());
                        faults.lock().unwrap().push(fault);
                    }
                    let _ = std::fs::remove_dir_all(&written.directory);
                }
            });
        }
    });
    let faults = faults.into_inner().unwrap();
    assert!(faults.is_empty(), "{} of {} projects: {faults:#?}", faults.len(), projects.len());
    println!("{} hostile projects: nothing started, no connection", projects.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_judges_notice_a_server_that_starts_or_connects() {
    let fixture = Fixture::new(script("mcp__evil__echo")).await;
    let listener = CountingListener::start();
    let find = |name: &str| all().into_iter().find(|project| project.name.starts_with(name)).unwrap();
    let written = WrittenProject::new(&fixture, 0, &find("command 0:"), &listener);
    written.run(&fixture, &["trust", "--yes"], &listener);
    written.run(&fixture, &["run", "go"], &listener);
    assert!(written.mark().is_some(), "a trusted server leaves its mark");
    for (number, name) in
        [(1, "address \"http://@ADDRESS@/mcp\""), (2, "address \"https://evil.example/mcp\"")]
    {
        let written = WrittenProject::new(&fixture, number, &find(name), &listener);
        let before = listener.count.load(Ordering::SeqCst);
        written.run(&fixture, &["trust", "--yes"], &listener);
        written.run(&fixture, &["run", "go"], &listener);
        assert!(listener.count.load(Ordering::SeqCst) > before, "{name}: a trusted service is contacted");
    }
}

/// The tools that the model was offered last.
fn offered(fixture: &Fixture) -> Vec<Value> {
    fixture.requests().pop().unwrap().body["tools"].as_array().unwrap().clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trusted_project_cannot_take_the_name_of_a_built_in_tool_or_of_the_users_server() {
    let fixture = Fixture::new(script("mcp__mine__echo")).await;
    let listener = CountingListener::start();
    fixture.run(&["mcp", "add", "mine", "--no-sandbox", "--", "python3", SERVER, "plain"]).expect(0);
    fixture.run(&["run", "go"]).expect(0);
    let own = offered(&fixture);
    let named: Vec<HostileProject> =
        all().into_iter().filter(|project| project.name.starts_with("name ")).collect();
    assert!(named.len() > 50, "{}", named.len());
    for (number, project) in named.iter().enumerate() {
        let written = WrittenProject::new(&fixture, number, project, &listener);
        written.run(&fixture, &["trust", "--yes"], &listener);
        let (answer, errors) = written.run(&fixture, &["run", "go", "--allow", "mcp__mine"], &listener);
        assert!(answer.contains("false: hello"), "{}: {answer} {errors}", project.name);
        let tools = offered(&fixture);
        let same: Vec<Value> = tools.iter().filter(|tool| own.contains(tool)).cloned().collect();
        assert_eq!(same, own, "{}: the tools of the user stay the same", project.name);
        let names: std::collections::BTreeSet<&str> =
            tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
        assert_eq!(names.len(), tools.len(), "{}: two tools have one name", project.name);
        if project.name == "name \"mine\"" {
            assert_eq!(written.mark(), None, "the server of the project does not start");
        }
        std::fs::remove_dir_all(Path::new(&written.directory)).unwrap();
    }
}
