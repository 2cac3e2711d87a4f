//! Tests `lariat loop` and `lariat race` with agents that speak ACP: a scripted one, `lariat acp` itself, and hostile ones.

use std::process::Command;

use lariat_core::event::{AgentEvent, Event};
use lariat_core::message::{AgentMessage, Message};
use lariat_proofs::server::{Script, Turn};
use serde_json::{Value, json};

use crate::fixture::{Fixture, RunResult, last_result, read_journal};
use crate::pty::Pty;

/// A critic that is satisfied.
const DONE: &str = "echo '{\"decision\": \"DONE\", \"summary\": \"ok\", \"confidence\": 1}' # {prompt}";

/// A fixture whose programs run in the sandbox, in the mode that Lariat chooses.
async fn sandboxed(script: Script) -> Fixture {
    let fixture = Fixture::new(script).await;
    let settings = fixture.path("config/lariat/config.toml");
    let text = std::fs::read_to_string(&settings).unwrap();
    let text = text.replace("[sandbox]\nenabled = false\n", "").replace("mode = \"bypass\"\n", "");
    std::fs::write(&settings, text).unwrap();
    fixture
}

async fn without_model() -> Fixture {
    sandboxed(Script::answer(|_| panic!("no model is needed"))).await
}

/// A shell script that speaks ACP. `prompt` runs when the prompt came, `line` for every later line that it gets. `say` writes a
/// message, `update` an update of the session, `done` answers the prompt.
fn agent(fixture: &Fixture, name: &str, prompt: &str, line: &str) -> String {
    let script = format!(
        r#"say() {{ printf '%s\n' "$1"; }}
update() {{ say '{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"s","update":'"$1"'}}}}'; }}
ask() {{ say '{{"jsonrpc":"2.0","id":"'"$1"'","method":"'"$2"'","params":{{"sessionId":"s",'"$3"'}}}}'; }}
ended() {{ say '{{"jsonrpc":"2.0","id":3,"result":{{"stopReason":"end_turn"}}}}'; }}
while IFS= read -r line; do
  printf '%s\n' "$line" >> "$LOG"
  case "$line" in
  *'"method":"initialize"'*) say '{{"jsonrpc":"2.0","id":1,"result":{{"protocolVersion":1,"agentCapabilities":{{}}}}}}';;
  *'"method":"session/new"'*) say '{{"jsonrpc":"2.0","id":2,"result":{{"sessionId":"s"}}}}';;
  *'"method":"session/prompt"'*) {prompt}
    ;;
  *) {line}
    ;;
  esac
done
"#
    );
    let path = fixture.path(name);
    std::fs::write(&path, script).unwrap();
    // It writes what it got into the workspace, where a sandbox permits it; a critic cannot.
    format!("acp:LOG=${{LOG:-/dev/null}} sh {}", path.display())
}

const OPTIONS: &str = r#""options":[{"optionId":"always","name":"Always","kind":"allow_always"},{"optionId":"yes","name":"Yes","kind":"allow_once"},{"optionId":"no","name":"No","kind":"reject_once"}]"#;

/// A request for permission to run a command.
fn wants(command: &str) -> String {
    format!(
        r#"ask p session/request_permission '"toolCall":{{"toolCallId":"c","title":"{command}","kind":"execute","rawInput":{{"command":"{command}"}}}},{OPTIONS}'"#
    )
}

async fn loop_journal(fixture: &Fixture) -> Vec<Event> {
    let store = fixture.store().await.unwrap();
    let mut query = lariat_core::archive::ListQuery::default();
    query.tag = Some("loop".to_owned());
    let listed = lariat_core::archive::SessionArchive::list(&store, &query).await.unwrap();
    assert_eq!(listed.len(), 1, "one loop");
    read_journal(&store, &listed[0].session_id).await
}

/// What the conversation of the loop has: `said`, `call NAME TITLE`, `result TEXT`, `error TEXT`.
fn conversation(journal: &[Event]) -> Vec<String> {
    let mut lines = Vec::new();
    for event in journal {
        let AgentEvent::MessagesImported { messages, .. } = &event.event else { continue };
        for message in messages {
            let AgentMessage::Llm(message) = &**message else { continue };
            match &message.message {
                Message::Assistant(reply) => {
                    lines.extend(reply.content.iter().map(|content| match content {
                        lariat_core::content::Content::ToolCall(call) => {
                            format!(
                                "call {} {}",
                                call.name,
                                call.arguments["title"].as_str().unwrap_or_default()
                            )
                        }
                        other => {
                            format!("said {}", lariat_core::content::joined_text(std::slice::from_ref(other)))
                        }
                    }))
                }
                Message::ToolResult(result) => {
                    let word = if result.is_error { "error" } else { "result" };
                    lines.push(format!("{word} {}", lariat_core::content::joined_text(&result.content)));
                }
                Message::User(_) => {}
            }
        }
    }
    lines
}

#[tokio::test(flavor = "multi_thread")]
async fn acp_actor_is_shown_recorded_and_undone() {
    let fixture = without_model().await;
    fixture.write("old.txt", "old\n");
    let update = |value: Value| format!("update '{value}'");
    let path = fixture.workspace().join("new.txt");
    let prompt = [
        update(
            json!({"sessionUpdate": "plan", "entries": [{"content": "write it", "priority": "high", "status": "in_progress"}]}),
        ),
        update(
            json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "I look first."}}),
        ),
        update(
            json!({"sessionUpdate": "tool_call", "toolCallId": "r", "title": "Read old.txt", "kind": "read", "status": "pending"}),
        ),
        format!(r#"ask read fs/read_text_file '"path":"{}"'"#, fixture.workspace().join("old.txt").display()),
    ];
    let line = format!(
        r#"case "$line" in
    *'"id":"read"'*'"content":"old\n"'*) update '{{"sessionUpdate":"tool_call_update","toolCallId":"r","status":"completed"}}'
      ask write fs/write_text_file '"path":"{0}","content":"new\n"';;
    *'"id":"write"'*'"result"'*) {1};;
    *'"optionId":"yes"'*) touch asked.txt
      update '{{"sessionUpdate":"tool_call_update","toolCallId":"c","status":"failed","content":[{{"type":"content","content":{{"type":"text","text":"exit 3"}}}}]}}'
      update '{{"sessionUpdate":"usage_update","used":1,"size":2,"cost":{{"amount":0.25,"currency":"USD"}}}}'
      update '{{"sessionUpdate":"agent_message_chunk","content":{{"type":"text","text":"All "}}}}'
      update '{{"sessionUpdate":"agent_message_chunk","content":{{"type":"text","text":"done."}}}}'
      ended;;
    *) say "unexpected: $line";;
    esac"#,
        path.display(),
        wants("touch asked.txt")
    );
    let actor = agent(&fixture, "actor.sh", &prompt.join("\n    "), &line);
    let ran = fixture
        .run(&["loop", "write a file", "--actor", &actor, "--critic", DONE, "--json", "--max-time", "30s"])
        .expect(0);
    for shown in [
        "  plan: 0 of 1 done: write it",
        "  Read old.txt: completed",
        "  touch asked.txt: failed",
        "DONE (2 files",
    ] {
        assert!(ran.stderr.contains(shown), "{shown}: {}", ran.stderr);
    }
    assert_eq!(ran.json()["cost_usd"], json!(0.25), "what it reports is counted");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "new\n");
    assert!(fixture.workspace().join("asked.txt").exists());
    let journal = loop_journal(&fixture).await;
    assert_eq!(
        conversation(&journal),
        [
            "said I look first.",
            "call read Read old.txt",
            "result completed",
            "call execute touch asked.txt",
            "error exit 3",
            "said All done."
        ]
    );
    let plans = journal.iter().filter(|event| matches!(event.event, AgentEvent::TasksChanged { .. }));
    assert_eq!(plans.count(), 1);
    fixture.run(&["undo", "--yes"]).expect(0);
    assert!(!path.exists() && !fixture.workspace().join("asked.txt").exists(), "all that it did is undone");
}

#[tokio::test(flavor = "multi_thread")]
async fn gate_decides_about_the_tool_calls_of_an_acp_actor() {
    let line = "case \"$line\" in *'\"optionId\":\"yes\"'*) touch ran.txt;; esac; ended";
    for (extra, is_allowed) in [
        (&[][..], true),
        (&["--deny", "Bash(touch *)"][..], false),
        // No user can answer here, so what requires approval is denied.
        (&["--mode", "default"][..], false),
        (&["--mode", "default", "--allow", "Bash(touch *)"][..], true),
    ] {
        let fixture = without_model().await;
        let actor = agent(&fixture, "actor.sh", &wants("touch ran.txt"), line);
        let mut words = vec!["loop", "x", "--actor", &actor, "--critic", DONE];
        words.extend(extra);
        let ran = fixture.run(&words).expect(0);
        assert_eq!(fixture.workspace().join("ran.txt").exists(), is_allowed, "{extra:?}: {}", ran.stderr);
        assert_eq!(
            ran.stderr.contains("  touch ran.txt: denied: "),
            !is_allowed,
            "{extra:?}: {}",
            ran.stderr
        );
        let journal = loop_journal(&fixture).await;
        let blocked = journal.iter().filter(|event| matches!(event.event, AgentEvent::ToolBlocked { .. }));
        assert_eq!(blocked.count(), usize::from(!is_allowed), "{extra:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn user_is_asked_about_a_tool_call_of_an_acp_actor() {
    for (answer, is_allowed) in [("y", true), ("n", false)] {
        let fixture = without_model().await;
        let line = "case \"$line\" in *'\"optionId\":\"yes\"'*) touch ran.txt;; esac; ended";
        let actor = agent(&fixture, "actor.sh", &wants("touch ran.txt"), line);
        let words = ["loop", "x", "--actor", &actor, "--critic", DONE, "--mode", "default"];
        let mut pty = Pty::start(&fixture, &words, 120, 40);
        pty.shows("touch ran.txt");
        pty.shows("> ");
        pty.type_text(&format!("{answer}\r"));
        pty.shows("done after 1 iteration");
        assert_eq!(pty.end(), Some(0), "{}", pty.screen());
        assert_eq!(fixture.workspace().join("ran.txt").exists(), is_allowed, "{answer}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn acp_critic_reads_and_cannot_write_in_any_way() {
    let fixture = without_model().await;
    let file = |name: &str| fixture.workspace().join(name).display().to_string();
    let prompt = format!(
        r#"touch direct.txt 2>/dev/null
    ask w fs/write_text_file '"path":"{}","content":"x"'
    {}
    ask r fs/read_text_file '"path":"{}"'"#,
        file("written.txt"),
        wants("touch asked.txt"),
        file("acted.txt"),
    );
    // It gives its decision only after all three are answered as they should be.
    let line = r#"case "$line" in
    *'"error"'*'"id":"w"'*) a=1;;
    *'"id":"p"'*'"optionId":"no"'*) b=1;;
    *'"id":"r"'*'"content":"acted\n"'*) c=1;;
    *) say "unexpected: $line"; ended;;
    esac
    [ "$a$b$c" = 111 ] && update '{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"{\"decision\":\"DONE\",\"summary\":\"read only\"}"}}' && ended"#;
    let critic = agent(&fixture, "critic.sh", &prompt, line);
    let actor = "echo acted > acted.txt # {prompt}";
    let ran =
        fixture.run(&["loop", "x", "--actor", actor, "--critic", &critic, "--max-time", "20s"]).expect(0);
    assert_eq!(ran.stdout, "read only\n", "{}", ran.stderr);
    assert!(ran.stderr.contains("  touch asked.txt: denied: "), "{}", ran.stderr);
    for name in ["direct.txt", "written.txt", "asked.txt"] {
        assert!(!fixture.workspace().join(name).exists(), "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn acp_agent_reaches_no_file_outside_the_workspace_and_no_protected_one() {
    let fixture = without_model().await;
    fixture.git(&["init", "-q"]);
    let outside = fixture.path("outside.txt");
    std::fs::write(&outside, "secret\n").unwrap();
    std::os::unix::fs::symlink(&outside, fixture.workspace().join("link.txt")).unwrap();
    let config = fixture.workspace().join(".git/config").display().to_string();
    let before = std::fs::read_to_string(&config).unwrap();
    let link = fixture.workspace().join("link.txt").display().to_string();
    let outside = outside.display().to_string();
    let prompt = format!(
        r#"ask 1 fs/read_text_file '"path":"{outside}"'
    ask 2 fs/write_text_file '"path":"{outside}","content":"x"'
    ask 3 fs/read_text_file '"path":"{link}"'
    ask 4 fs/write_text_file '"path":"{link}","content":"x"'
    ask 5 fs/write_text_file '"path":"{config}","content":"x"'
    ask 6 terminal/create '"command":"sh"'"#
    );
    let line = r#"case "$line" in *'"error"'*) n=$((n+1));; *) say "unexpected: $line"; ended;; esac
    [ "$n" = 6 ] && ended"#;
    let actor = agent(&fixture, "actor.sh", &prompt, line);
    let ran = fixture.run(&["loop", "x", "--actor", &actor, "--critic", DONE, "--max-time", "20s"]).expect(0);
    assert!(ran.stderr.contains("DONE (0 files"), "{}", ran.stderr);
    assert_eq!(std::fs::read_to_string(fixture.path("outside.txt")).unwrap(), "secret\n");
    assert_eq!(std::fs::read_to_string(config).unwrap(), before);
    assert_eq!(conversation(&loop_journal(&fixture).await), ["said "], "six errors were its answers");
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_acp_agent_ends_with_an_error_that_says_why() {
    let open = "update '{\"sessionUpdate\":\"tool_call\",\"toolCallId\":\"c'$i'\",\"title\":\"t\"}'";
    let cases = [
        ("exit 7", "it ended with exit code 7 before it answered"),
        ("echo went wrong >&2; kill -9 $$", "a signal ended it before it answered; it wrote: went wrong"),
        ("exec 1>&-; sleep 60", "it closed its output before it answered"),
        ("exec head -c 20000000 /dev/zero", "it sent a message of more than 8 MiB"),
        ("yes 'not a message'", "it writes lines that are not messages: not a message"),
        (
            &*format!("i=0; while [ $i -lt 2000 ]; do i=$((i+1)); {open}; done"),
            "it makes more tool calls than Lariat follows",
        ),
        (
            "say '{\"jsonrpc\":\"2.0\",\"id\":3,\"error\":{\"code\":-32603,\"message\":\"overloaded\"}}'",
            "it answered `session/prompt` with an error: overloaded",
        ),
        (
            "say '{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"stopReason\":\"refusal\"}}'",
            "it stopped: refusal",
        ),
    ];
    let fixture = without_model().await;
    for (prompt, problem) in cases {
        let actor = agent(&fixture, "actor.sh", prompt, ":");
        let words = ["loop", "x", "--actor", &actor, "--critic", DONE, "--max-time", "30s"];
        let ran = fixture.run(&words).expect(0);
        assert!(
            ran.stderr.contains(problem) && ran.stderr.contains("ended with exit code"),
            "{prompt}: {}",
            ran.stderr
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn acp_agent_that_does_not_start_stops_the_loop_with_the_reason() {
    let fixture = without_model().await;
    let error =
        |message: &str| format!("acp:read x; echo '{{\"jsonrpc\":\"2.0\",\"id\":1,{message}}}'; sleep 9");
    let cases = [
        ("acp:no-such-program --acp".to_owned(), "it ended with exit code 127 before it answered"),
        (error(r#""result":{"protocolVersion":9}"#), "it speaks version 9 of the protocol"),
        (
            error(r#""error":{"code":-32000,"message":"Authentication required"}"#),
            "it is not logged in (Authentication required)",
        ),
        (error(r#""result":{}"#), "names no version of the protocol"),
    ];
    for (actor, problem) in cases {
        let ran = fixture.run(&["loop", "x", "--actor", &actor, "--critic", DONE]).expect(3);
        assert!(
            ran.stderr.contains(problem) && ran.stderr.contains("lariat loop --resume"),
            "{}",
            ran.stderr
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn deadline_cancels_the_prompt_of_an_acp_agent() {
    let fixture = without_model().await;
    let line = "case \"$line\" in *session/cancel*) touch cancelled.txt;; esac";
    let actor = agent(&fixture, "actor.sh", ":", line);
    let ran = fixture.run(&["loop", "x", "--actor", &actor, "--critic", DONE, "--max-time", "2s"]).expect(5);
    assert!(ran.stderr.contains("the time limit ended it"), "{}", ran.stderr);
    assert!(ran.stderr.contains("reached its time limit"), "{}", ran.stderr);
    assert!(fixture.workspace().join("cancelled.txt").exists(), "it received the cancellation");
    // One that never answers anything.
    let words = ["loop", "x", "--actor", "acp:sleep 600", "--critic", DONE, "--max-time", "1s"];
    let ran = fixture.run(&words).expect(5);
    assert!(ran.stderr.contains("the time limit ended it before it was ready"), "{}", ran.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn cost_that_an_acp_agent_reports_ends_the_loop_at_its_limit() {
    let fixture = without_model().await;
    let prompt = "update '{\"sessionUpdate\":\"usage_update\",\"used\":1,\"size\":2,\"cost\":{\"amount\":3.5,\"currency\":\"USD\"}}'";
    let actor = agent(&fixture, "actor.sh", prompt, ":");
    let words = ["loop", "x", "--actor", &actor, "--critic", DONE, "--max-cost", "2", "--json"];
    let ran = fixture.run(&words).expect(5);
    assert!(ran.stderr.contains("the cost limit ended it at $3.50"), "{}", ran.stderr);
    assert_eq!(ran.json()["outcome"], "cost_limit_reached");
    assert_eq!(ran.json()["cost_usd"], json!(3.5));
}

/// A model for two programs: the loop's own critic, and `lariat acp` as the actor.
fn writes_a_note() -> Script {
    Script::answer(|request| {
        if request.body["system"].to_string().contains("You are the critic") {
            let answer = json!({"decision": "DONE", "summary": "the note is there", "confidence": 1.0,
                "feedback": null, "recovery": null});
            return Turn::new().text(answer.to_string()).into();
        }
        match last_result(&request.body) {
            None => {
                Turn::new().call("w", "write_file", &json!({"path": "note.txt", "content": "x\n"})).into()
            }
            Some(_) => Turn::new().text("I wrote the note.").into(),
        }
    })
}

/// `lariat acp` in its default mode, with settings and sessions of its own.
fn lariat_acp(fixture: &Fixture) -> String {
    let settings = std::fs::read_to_string(fixture.path("config/lariat/config.toml")).unwrap();
    let own = fixture.workspace().join("own");
    std::fs::create_dir_all(own.join("config/lariat")).unwrap();
    std::fs::write(own.join(".gitignore"), "*\n").unwrap();
    std::fs::write(
        own.join("config/lariat/config.toml"),
        format!("{settings}\n[sandbox]\nenabled = false\n[undo]\nenabled = false\n"),
    )
    .unwrap();
    let own = own.display();
    format!(
        "acp:XDG_CONFIG_HOME={own}/config XDG_STATE_HOME={own}/state XDG_CACHE_HOME={own}/cache {} acp",
        env!("CARGO_BIN_EXE_lariat")
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn lariat_acp_works_for_a_loop_and_its_questions_pass_the_gate() {
    for (extra, is_allowed) in [(&[][..], true), (&["--deny", "Write(note.txt)"][..], false)] {
        let fixture = sandboxed(writes_a_note()).await;
        fixture.git(&["init", "-q"]);
        let actor = lariat_acp(&fixture);
        // The sandbox has no `openat2`, so a Lariat inside it cannot open files.
        let mut words = vec!["loop", "write a note", "--env", "TEST_KEY", "--actor", &actor];
        words.extend(["--no-sandbox", "--mode", "accept-edits"]);
        words.extend(extra);
        let ran = fixture.run(&words).expect(0);
        assert_eq!(ran.stdout, "the note is there\n", "{}", ran.stderr);
        let status = if is_allowed { ": completed" } else { ": denied: " };
        let is_shown =
            |line: &str| line.starts_with("  ") && line.contains("note.txt") && line.contains(status);
        assert!(ran.stderr.lines().any(is_shown), "{extra:?}: {}", ran.stderr);
        assert_eq!(fixture.workspace().join("note.txt").exists(), is_allowed, "{extra:?}");
        let lines = conversation(&loop_journal(&fixture).await);
        let first = lines.first().map(String::as_str).unwrap_or_default();
        assert!(first.starts_with("call edit ") && first.contains("note.txt"), "{lines:?}");
        assert_eq!(lines.last().map(String::as_str), Some("said I wrote the note."), "{lines:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn acp_agents_race_and_the_table_names_their_tool_calls() {
    let fixture = without_model().await;
    let update = "update '{\"sessionUpdate\":\"tool_call\",\"toolCallId\":\"c\",\"title\":\"Write it\",\"status\":\"completed\"}'";
    let one = agent(&fixture, "one.sh", &format!("echo 1 > out.txt; {update}; ended"), ":");
    let two = agent(&fixture, "two.sh", "exit 4", ":");
    let words =
        ["race", "write it", "--agents", &format!("{one},{two}"), "--check", "test -e out.txt", "--json"];
    let ran = fixture.run(&words).expect(0).json();
    assert_eq!(ran["selection"]["branch"], "a", "{ran}");
    assert_eq!(ran["branches"]["a"]["tool_calls"], json!(["Write it: completed"]));
    let problem = ran["branches"]["b"]["problem"].as_str().unwrap();
    assert!(problem.contains("it ended with exit code 4 before it answered"), "{problem}");
    assert_eq!(std::fs::read_to_string(fixture.workspace().join("out.txt")).unwrap(), "1\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn known_agent_speaks_acp_where_its_adapter_is_installed() {
    let fixture = without_model().await;
    std::fs::create_dir(fixture.path("bin")).unwrap();
    let install = |name: &str, script: &str| {
        let path = fixture.path(&format!("bin/{name}"));
        std::fs::write(&path, format!("#!/bin/sh\n{script}")).unwrap();
        assert!(Command::new("chmod").arg("+x").arg(&path).status().unwrap().success());
    };
    let ran = |actor: &str| {
        let path = format!("{}:{}", fixture.path("bin").display(), std::env::var("PATH").unwrap());
        let mut command = fixture.command(&["loop", "x", "--actor", actor, "--critic", DONE]);
        RunResult::of(&command.env("PATH", path).output().unwrap()).expect(0);
        std::fs::read_to_string(fixture.workspace().join("mode.txt")).unwrap()
    };
    install("claude", "echo headless > mode.txt\n");
    assert_eq!(ran("claude"), "headless\n");
    let adapter = agent(&fixture, "adapter.sh", "echo acp > mode.txt; ended", ":");
    install("claude-code-acp", adapter.strip_prefix("acp:").unwrap());
    assert_eq!(ran("claude"), "acp\n");
    assert_eq!(ran("headless:claude"), "headless\n");
}
