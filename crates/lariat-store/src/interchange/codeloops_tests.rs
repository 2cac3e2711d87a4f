use lariat_core::session::SessionFold;

use super::*;

/// A whole session: start, three iterations, end.
const SEED: &str = r#"{"type":"session_start","timestamp":"2025-01-27T15:30:45Z","prompt":"Fix the bug\nin main","working_dir":"/path/to/project","actor_agent":"Claude Code","critic_agent":"Claude Code","actor_model":"sonnet","critic_model":null,"max_iterations":10}
{"type":"iteration","iteration_number":1,"actor_output":"I tried","actor_stderr":"","actor_exit_code":0,"actor_duration_secs":45.2,"git_diff":"diff --git","git_files_changed":3,"critic_decision":"CONTINUE","feedback":"Tests fail","timestamp":"2025-01-27T15:31:30Z"}
{"type":"iteration","iteration_number":2,"actor_output":"","actor_stderr":"killed","actor_exit_code":1,"actor_duration_secs":1.0,"git_diff":"","git_files_changed":0,"critic_decision":"ERROR","feedback":null,"timestamp":"2025-01-27T15:31:50Z"}
{"type":"iteration","iteration_number":3,"actor_output":"Fixed","actor_stderr":"","actor_exit_code":0,"actor_duration_secs":9.0,"git_diff":"diff","git_files_changed":1,"critic_decision":"DONE","feedback":null,"timestamp":"2025-01-27T15:32:10Z"}
{"type":"session_end","outcome":"success","iterations":3,"summary":"All good","confidence":0.95,"duration_secs":89.4,"timestamp":"2025-01-27T15:32:14Z"}
"#;

fn short_form(imported: &ImportedSession) -> Vec<String> {
    let fold = SessionFold::of(&imported.records(0));
    let (transcript, repairs) = fold.conversation(fold.tip());
    assert!(repairs.is_empty(), "{repairs:?}");
    let short = |message: &lariat_core::message::SharedMessage| match &**message {
        AgentMessage::Extension(extension) => extension.kind.clone(),
        AgentMessage::Llm(llm) => match &llm.message {
            Message::Assistant(reply) => format!("{}: {}", reply.model, llm.message.text()),
            other => format!("user: {}", other.text()),
        },
    };
    transcript.window().iter().map(short).collect()
}

#[test]
fn imports_a_session_as_a_conversation_with_the_critic() {
    let imported = import(SEED.as_bytes()).unwrap();
    let wanted = [
        "codeloops/session_start",
        "user: Fix the bug\nin main",
        "sonnet: I tried",
        "codeloops/iteration",
        "user: Tests fail",
        "sonnet: killed",
        "codeloops/iteration",
        "user: Continue.",
        "sonnet: Fixed",
        "codeloops/iteration",
        "codeloops/session_end",
    ];
    assert_eq!(short_form(&imported), wanted);
    let AgentEvent::SessionDescribed(about) = &imported.events[0].event else { panic!() };
    assert_eq!(
        (about.title.as_deref(), about.cwd.as_deref()),
        (Some("Fix the bug in main"), Some("/path/to/project"))
    );
    assert_eq!(imported.events.last().unwrap().at.to_string(), "2025-01-27T15:32:14.000Z");
    let AgentEvent::MessagesImported { messages, .. } = &imported.events[1].event else { panic!() };
    let AgentMessage::Extension(end) = &**messages.last().unwrap() else { panic!() };
    assert_eq!(end.data["confidence"], 0.95, "nothing of a line is lost");
}

#[test]
fn unfinished_session_keeps_its_id_and_messages_as_it_grows() {
    let whole = import(SEED.as_bytes()).unwrap();
    for end in SEED.match_indices('\n').map(|(at, _)| at) {
        let part = import(&SEED.as_bytes()[..end]).unwrap();
        assert_eq!(part.session_id, whole.session_id);
        let (part, whole) = (part.records(0), whole.records(0));
        let (
            AgentEvent::MessagesImported { messages: part, .. },
            AgentEvent::MessagesImported { messages: whole, .. },
        ) = (&part[2].event, &whole[2].event)
        else {
            panic!()
        };
        assert_eq!(part[..], whole[..part.len()]);
    }
}

#[test]
fn notes_damaged_lines() {
    let file = format!("nonsense\n{{\"type\":\"hologram\"}}\n{SEED}{{\"type\":\"iter");
    let notes: Vec<usize> = import(file.as_bytes()).unwrap().notes.iter().map(|note| note.line).collect();
    assert_eq!(notes, [1, 2, 8]);
    assert!(matches!(import(b""), Err(InterchangeError::NoMessages { format: "codeloops", lines: 0 })));
}

#[test]
fn exported_session_is_the_imported_file_byte_for_byte() {
    let imported = import(SEED.as_bytes()).unwrap();
    let exported = export(&imported.records(0)).unwrap();
    assert_eq!(String::from_utf8(exported).unwrap(), SEED);
    let unknown = SEED.replace(r#""iterations":3,"#, r#""iterations":3,"zeta":{"b":[1]},"#);
    let again = export(&import(unknown.as_bytes()).unwrap().records(0)).unwrap();
    assert!(
        String::from_utf8(again)
            .unwrap()
            .ends_with("\"timestamp\":\"2025-01-27T15:32:14Z\",\"zeta\":{\"b\":[1]}}\n")
    );
    assert_eq!(export(&[]), Err(InterchangeError::NoIterations));
}
