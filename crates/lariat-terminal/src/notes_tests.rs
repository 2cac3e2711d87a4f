use lariat_core::event::{Finding, RunOutcome};
use lariat_core::usage::Usage;
use lariat_proofs::terminal::assert_harmless;

use super::*;

fn samples() -> Vec<AgentEvent> {
    let error = || "overloaded_error: try later\u{1b}[2J\nmore".to_owned();
    vec![
        AgentEvent::MessageWithdrawn { message_id: Default::default() },
        AgentEvent::ModelRetry { attempt: 1, delay_ms: 3_200, error: error() },
        AgentEvent::ModelFallback { from: "a".to_owned(), to: "b".to_owned(), error: error() },
        AgentEvent::BudgetWarning {
            limit: LimitKind::Cost,
            used_percent: 91,
            scope: BudgetScope::Session,
            level: 90,
            used: 910_000_000,
            cap: 1_000_000_000,
        },
        AgentEvent::LimitReached {
            limit: LimitKind::Turns,
            scope: BudgetScope::Run,
            note: "20 of 20 turns are used".to_owned(),
        },
        AgentEvent::Compaction {
            cause: CompactionCause::Threshold,
            edits: Default::default(),
            tokens_before: 120_000,
            tokens_after: 41_000,
            usage: Usage::default(),
        },
        AgentEvent::HookStopped { reason: error() },
        AgentEvent::HookMessage { message: error() },
        AgentEvent::RepetitionDetected {
            tool_name: "bash".to_owned(),
            count: 3,
            pattern: Default::default(),
        },
        AgentEvent::SubAgentCompleted {
            tool_call_id: "c".into(),
            child_loop_id: "l".into(),
            outcome: RunOutcome::Completed,
            usage: Usage::new(1_000, 200),
        },
        AgentEvent::FindingShared(Box::new(
            Finding::new("f", "child".into(), "\x1b[2J The parser drops commas.\nmore").by(["explore"]),
        )),
        AgentEvent::LoopRecovered { interrupted: vec!["c".into()], repairs: Vec::new() },
        AgentEvent::JournalUnavailable { error: "No space left on device".to_owned(), unsaved: 2 },
        AgentEvent::JournalRestored,
    ]
}

#[test]
fn describes_events_in_sentences() {
    let theme = Theme::plain(72);
    let shown: String = samples().iter().filter_map(note).map(|note| lines(&note, &theme)).collect();
    insta::assert_snapshot!(shown, @r#"
    ▸ the reply was cut off and discarded; requesting it again
    ▸ attempt 1 failed, retrying in 4s: overloaded_error: try
      later⟨U+001B⟩[2J
    ▸ a failed, continuing with b: overloaded_error: try later⟨U+001B⟩[2J
    ▸ 91 % of the cost limit for this session is used: $0.9100 of $1.00
    ▸ 20 of 20 turns are used
    ▸ compacted the context (the context window is nearly full): 120.0k to
      41.0k tokens
    ▸ a hook stopped the run: overloaded_error: try later⟨U+001B⟩[2J
      more
    ▸ hook: overloaded_error: try later⟨U+001B⟩[2J
      more
    ▸ the model is repeating itself: bash, 3 times
    ▸ subagent finished (1.2k tokens)
    ▸ explore found: ⟨U+001B⟩[2J The parser drops commas.
    ▸ resumed after a crash; 1 tool call was running, outcome unknown
    ▸ could not save the session, retrying (2 events waiting): No space left
      on device
    ▸ saving the session works again
    "#);
}

#[test]
fn notes_are_neutralised_and_wrapped() {
    for event in samples() {
        let note = note(&event).unwrap();
        assert_harmless(&lines(&note, &Theme::full(30)), &note.1);
        assert!(lines(&note, &Theme::plain(30)).lines().all(|line| text::width(line) <= 30));
    }
    assert_eq!(note(&AgentEvent::AbortRequested), None);
}
