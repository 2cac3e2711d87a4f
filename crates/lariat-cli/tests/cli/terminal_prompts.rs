//! Tests the questions at a terminal, and that typed keys are not echoed.

use std::time::Duration;

use lariat_proofs::engine::process::{Environment, Exit, Input, Launch, Output, Process, Size, Supervisor};

use crate::kit::{Home, Scene};

/// Polling interval while waiting for output.
const LOOK: Duration = Duration::from_millis(10);

/// Starts the program on its own terminal. It ends with its supervisor.
pub(crate) async fn start(supervisor: &Supervisor, home: &Home, args: &[&str]) -> Process {
    let command = home.command(&[]);
    let variables = command.get_envs().filter_map(|(name, value)| Some((name, value?)));
    let environment = variables.fold(Environment::default(), |all, (name, value)| all.with(name, value));
    let environment = environment.with("TERM", "xterm").with("LANG", "C.UTF-8");
    let launch = Launch::new(env!("CARGO_BIN_EXE_lariat"), home.path("project"))
        .with_arguments(args)
        .with_environment(environment)
        .with_input(Input::Written)
        .with_output(Output::Terminal(Size::default()));
    supervisor.start(launch).await.unwrap()
}

/// Waits until the terminal shows a text. The test runner's timeout ends an endless wait.
pub(crate) async fn shows(process: &Process, text: &str) {
    loop {
        let shown = String::from_utf8_lossy(&process.read(0).bytes).into_owned();
        if shown.contains(text) {
            return;
        }
        assert!(process.exit().is_none(), "it ended and showed {shown:?} instead of {text:?}");
        tokio::time::sleep(LOOK).await;
    }
}

#[tokio::test]
async fn typed_api_key_is_not_echoed() {
    let home = Home::offline();
    let supervisor = Supervisor::new();
    let process = start(&supervisor, &home, &["auth", "login", "anthropic"]).await;
    shows(&process, "API key for anthropic: ").await;
    process.write(b"sk-typed-1\n").await.unwrap();
    let finished = process.wait().await;
    let shown = finished.output.text();
    assert_eq!(finished.exit, Exit::Code(0), "{shown}");
    assert!(!shown.contains("sk-typed"), "{shown}");
    assert!(home.read("home/.local/state/lariat/keys.json").contains("sk-typed-1"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn asks_before_deleting_a_session() {
    let (scene, id) = Scene::with_session().await;
    let home = &scene.home;
    let supervisor = Supervisor::new();
    for (answer, is_left) in [("\n", true), ("no\n", true), ("y\n", false)] {
        let process = start(&supervisor, home, &["sessions", "delete", &id]).await;
        shows(&process, "[y/N]").await;
        process.write(answer.as_bytes()).await.unwrap();
        let finished = process.wait().await;
        assert_eq!(finished.exit, Exit::Code(0), "{}", finished.output.text());
        let code = home.run(&["sessions", "show", &id]).code;
        assert_eq!(code == Some(0), is_left, "after {answer:?}");
    }
}

#[tokio::test]
async fn doctor_checks_the_terminal() {
    let home = Home::offline();
    let supervisor = Supervisor::new();
    let process = start(&supervisor, &home, &["doctor"]).await;
    let shown = process.wait().await.output.text();
    assert!(shown.contains("80 columns, color"), "{shown}");
}
