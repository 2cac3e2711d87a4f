//! Tests `lariat loop` with other programs as actor and critic: sandbox, environment, deadlines, kills.

use std::path::Path;
use std::process::Command;

use lariat_core::event::AgentEvent;
use lariat_core::message::AgentMessage;
use lariat_proofs::server::Script;
use rustix::process::Signal;
use serde_json::json;

use crate::actor_critic::{exported, loop_journal};
use crate::fixture::{Fixture, RunResult, signal, wait, wait_for};

/// Writes a program for the test, outside the workspace.
fn program(fixture: &Fixture, name: &str, script: &str) -> String {
    let path = fixture.path(name);
    std::fs::write(&path, script).unwrap();
    path.display().to_string()
}

const ACTOR: &str = "echo \"$1\" >> prompts.log\nn=$(cat runs.log 2>/dev/null | wc -l)\necho run >> runs.log\n\
    echo \"content $n\" > \"out-$n.txt\"\necho \"wrote out-$n.txt\"\necho careful >&2\n";
const CRITIC: &str = "case \"$1\" in *out-1.txt*) echo '{\"decision\": \"DONE\", \"summary\": \"two files\", \"confidence\": 0.8}';;\n\
    *) echo \"$1\"; echo '```json'; echo '{\"decision\": \"CONTINUE\", \"feedback\": \"one more file\"}'; echo '```';; esac\n";

#[tokio::test(flavor = "multi_thread")]
async fn other_programs_act_and_judge_without_a_model() {
    let fixture = Fixture::new(Script::answer(|_| panic!("no model is needed"))).await;
    let (actor, critic) = (program(&fixture, "actor.sh", ACTOR), program(&fixture, "critic.sh", CRITIC));
    let (actor, critic) = (format!("sh {actor} {{prompt}}"), format!("sh {critic} '{{prompt}}'"));
    fixture.write("prompt.md", "write two files; $(touch injected) \"quoted\"\n");
    let ran = fixture.run(&["loop", "--actor", &actor, "--critic", &critic]).expect(0);
    assert_eq!(ran.stdout, "two files\n", "{}", ran.stderr);
    assert!(fixture.requests().is_empty(), "no model was asked");
    assert!(!fixture.workspace().join("injected").exists(), "no shell reads the prompt");
    let prompts = std::fs::read_to_string(fixture.workspace().join("prompts.log")).unwrap();
    assert!(
        prompts.contains("$(touch injected) \"quoted\"") && prompts.contains("one more file"),
        "{prompts}"
    );
    let (id, journal) = loop_journal(&fixture).await;
    let lines = exported(&fixture, &id);
    assert_eq!(
        (&lines[1]["actor_output"], &lines[1]["actor_stderr"]),
        (&json!("wrote out-0.txt\n"), &json!("careful\n"))
    );
    assert_eq!(
        (&lines[1]["critic_decision"], &lines[2]["critic_decision"]),
        (&json!("CONTINUE"), &json!("DONE"))
    );
    let replies = journal.iter().filter(|event| match &event.event {
        AgentEvent::MessagesImported { messages, .. } => {
            messages.iter().any(|message| message.as_assistant().is_some())
        }
        _ => false,
    });
    assert_eq!(replies.count(), 2, "the conversation has what the program wrote");
    let listed = fixture.run(&["undo", "--list"]).expect(0).stdout;
    assert!(listed.contains("out-1.txt"), "undo knows what the program changed: {listed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_loop_does_not_run_a_finished_program_again() {
    let fixture = Fixture::new(Script::answer(|_| panic!("no model is needed"))).await;
    let actor = program(&fixture, "actor.sh", ACTOR);
    let wait_file = fixture.path("hang");
    std::fs::write(&wait_file, "").unwrap();
    let hang =
        format!("touch {0}.begun; while [ -e {0} ]; do sleep 0.05; done\n{CRITIC}", wait_file.display());
    let critic = program(&fixture, "critic.sh", &hang);
    let words = [format!("sh {actor} {{prompt}}"), format!("sh {critic} {{prompt}}")];
    let child = fixture.spawn(&["loop", "write two files", "--actor", &words[0], "--critic", &words[1]]);
    wait_for("the review", || Path::new(&format!("{}.begun", wait_file.display())).exists());
    signal(&child, Signal::KILL);
    wait(child);
    std::fs::remove_file(&wait_file).unwrap();
    let (id, _) = loop_journal(&fixture).await;
    fixture.run(&["loop", "--resume", &id]).expect(0);
    let runs = std::fs::read_to_string(fixture.workspace().join("runs.log")).unwrap();
    assert_eq!(runs.lines().count(), 2, "one run per iteration");
    let (_, journal) = loop_journal(&fixture).await;
    let records = journal.iter().map(|event| match &event.event {
        AgentEvent::MessagesImported { messages, .. } => messages
            .iter()
            .filter(|message| matches!(&***message, AgentMessage::Extension(more) if more.kind == "codeloops/iteration"))
            .count(),
        _ => 0,
    });
    assert_eq!(records.sum::<usize>(), 2, "no iteration is recorded twice");
}

/// A fixture whose commands run in the sandbox.
async fn sandboxed() -> Fixture {
    let fixture = Fixture::new(Script::answer(|_| panic!("no model is needed"))).await;
    let settings = fixture.path("config/lariat/config.toml");
    let text = std::fs::read_to_string(&settings).unwrap();
    std::fs::write(&settings, text.replace("[sandbox]\nenabled = false\n", "")).unwrap();
    fixture
}

#[tokio::test(flavor = "multi_thread")]
async fn other_agents_run_in_the_sandbox_and_a_critic_cannot_write() {
    let fixture = sandboxed().await;
    let actor = program(&fixture, "actor.sh", "touch inside.txt\ntouch ../outside.txt\necho acted\n");
    let done = "touch critic.txt\necho '{\"decision\": \"DONE\", \"summary\": \"ok\"}'\n";
    let critic = program(&fixture, "critic.sh", done);
    let words = [format!("sh {actor} {{prompt}}"), format!("sh {critic} {{prompt}}")];
    let ran = fixture.run(&["loop", "x", "--actor", &words[0], "--critic", &words[1]]).expect(0);
    assert_eq!(ran.stdout, "ok\n", "{}", ran.stderr);
    let exists = |name: &str| fixture.workspace().join(name).exists();
    assert!(exists("inside.txt") && !exists("critic.txt") && !fixture.path("outside.txt").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn known_agent_reads_its_own_login_and_no_other() {
    let fixture = sandboxed().await;
    for (name, text) in [(".claude/.credentials.json", "own login"), (".codex/auth.json", "other login")] {
        let path = fixture.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let script = "#!/bin/sh\ncat ~/.claude/.credentials.json ~/.codex/auth.json > seen.txt 2>/dev/null\n\
                  echo x > ~/.claude/state\necho $IS_SANDBOX > sandbox.txt\nprintf '%s|' \"$@\" > args.txt\necho acted\n";
    std::fs::create_dir(fixture.path("bin")).unwrap();
    let claude = program(&fixture, "bin/claude", script);
    assert!(Command::new("chmod").args(["+x", &claude]).status().unwrap().success());
    let critic = "echo '{\"decision\": \"DONE\", \"summary\": \"ok\"}' # {prompt}";
    let path = format!("{}:{}", fixture.path("bin").display(), std::env::var("PATH").unwrap());
    let mut command = fixture.command(&["loop", "do it", "--actor", "claude:opus", "--critic", critic]);
    let ran = RunResult::of(&command.env("PATH", path).output().unwrap()).expect(0);
    assert_eq!(ran.stdout, "ok\n", "{}", ran.stderr);
    let read = |name: &str| std::fs::read_to_string(fixture.workspace().join(name)).unwrap();
    assert_eq!((read("seen.txt").as_str(), read("sandbox.txt").as_str()), ("own login", "1\n"));
    assert_eq!(read("args.txt"), "-p|do it|--dangerously-skip-permissions|--model|opus|");
    assert!(fixture.path(".claude/state").exists(), "it can save its own state");
    let (id, _) = loop_journal(&fixture).await;
    let start = &exported(&fixture, &id)[0];
    assert_eq!((&start["actor_agent"], &start["actor_model"]), (&json!("Claude Code"), &json!("opus")));
}

#[tokio::test(flavor = "multi_thread")]
async fn other_agents_get_only_their_own_keys_and_named_variables_and_none_is_saved() {
    let fixture = Fixture::new(Script::answer(|_| panic!("no model is needed"))).await;
    let names = ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "MY_SERVICE", "OTHER_SERVICE"];
    let seen = |extra: &[&str]| {
        let mut words = vec!["loop", "x", "--actor", "claude", "--critic"];
        words.extend(["echo '{\"decision\": \"DONE\", \"summary\": \"ok\"}' # {prompt}"]);
        words.extend(extra);
        let path = format!("{}:{}", fixture.path("bin").display(), std::env::var("PATH").unwrap());
        let mut command = fixture.command(&words);
        for name in names {
            command.env(name, format!("the-value-of-{name}"));
        }
        let ran = RunResult::of(&command.env("PATH", path).output().unwrap()).expect(0);
        assert!(ran.stderr.contains("claude ended with exit code 3: went wrong"), "{}", ran.stderr);
        let printed = std::fs::read_to_string(fixture.path("seen.txt")).unwrap();
        names.map(|name| printed.contains(&format!("the-value-of-{name}")))
    };
    std::fs::create_dir(fixture.path("bin")).unwrap();
    let script = "#!/bin/sh\nenv > ../seen.txt\nenv\nenv >&2\necho 'went wrong' >&2\nexit 3\n";
    let claude = program(&fixture, "bin/claude", script);
    assert!(Command::new("chmod").args(["+x", &claude]).status().unwrap().success());
    assert_eq!(seen(&[]), [true, false, false, false]);
    assert_eq!(seen(&["--env", "MY_SERVICE"]), [true, false, true, false]);
    let found =
        Command::new("grep").args(["-rlc", "the-value-of-"]).arg(fixture.path("state")).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&found.stdout), "", "no value is in the journal");
}

#[tokio::test(flavor = "multi_thread")]
async fn critic_without_a_decision_is_an_error_that_the_actor_learns() {
    let fixture = Fixture::new(Script::answer(|_| panic!("no model is needed"))).await;
    let actor = program(&fixture, "actor.sh", ACTOR);
    let critic = program(
        &fixture,
        "critic.sh",
        "echo \"$1\"\necho '{\"decision\": \"DONE\", \"summary\": \"x\"}'\nexit 3\n",
    );
    let words = [format!("sh {actor} {{prompt}}"), format!("sh {critic} {{prompt}}")];
    let ran = fixture
        .run(&["loop", "x", "--max-iterations", "1", "--actor", &words[0], "--critic", &words[1]])
        .expect(5);
    assert!(
        ran.stderr.contains("iteration 1: ERROR") && ran.stderr.contains("it ended with 3"),
        "{}",
        ran.stderr
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn deadline_ends_another_program() {
    let fixture = Fixture::new(Script::answer(|_| panic!("no model is needed"))).await;
    let ran = fixture
        .run(&[
            "loop",
            "x",
            "--max-time",
            "1s",
            "--actor",
            "sleep 600 # {prompt}",
            "--critic",
            "true {prompt}",
        ])
        .expect(5);
    assert!(ran.stderr.contains("reached its time limit"), "{}", ran.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_agent_is_refused_with_a_suggestion() {
    let fixture = Fixture::new(Script::answer(|_| panic!("no model is needed"))).await;
    let ran = fixture.run(&["loop", "x", "--critic", "cluade"]).expect(2);
    assert!(ran.stderr.contains("did you mean `claude`?"), "{}", ran.stderr);
    let ran = fixture.run(&["loop"]).expect(2);
    assert!(ran.stderr.contains("no task given"), "{}", ran.stderr);
}
