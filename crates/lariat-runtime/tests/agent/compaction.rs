//! Compaction: with and without a model, automatic and on request, undone, and recalled.

use std::sync::Arc;
use std::time::Duration;

use lariat_core::config::ContextConfig;
use lariat_core::content::Content;
use lariat_core::context::TieredCompaction;
use lariat_core::event::{AgentEvent, CompactionEdit, RunOutcome};
use lariat_core::message::{AgentMessage, AssistantMessage, Message, SharedMessage, StopReason};
use lariat_core::model::{ModelConfig, ProviderError, StreamConfig};
use lariat_core::time::Timestamp;
use lariat_core::usage::Usage;
use lariat_runtime::drive::JournalConfig;
use lariat_runtime::{Agent, AgentBuilder, AgentError};
use lariat_test::{Act, Reply, ScriptedModel};
use serde_json::json;

use crate::fixture::{Fixture, kind, kinds, sent_messages};

fn small(window: usize) -> Option<ContextConfig> {
    let mut context = ContextConfig::with_window(window);
    context.system_prompt_tokens = 0;
    (context.keep_first, context.keep_recent) = (0, 2);
    context.tool_output_max_lines = 5;
    Some(context)
}

fn cheap() -> ModelConfig {
    let mut model = ModelConfig::default();
    model.id = "cheap".to_owned();
    model
}

fn reply(text: String) -> AgentMessage {
    Message::Assistant(AssistantMessage {
        content: vec![Content::text(text)],
        stop_reason: StopReason::Stop,
        model: "m".into(),
        provider: "p".into(),
        requested_model: None,
        usage: Usage::default(),
        timestamp: Timestamp::default(),
        error_message: None,
    })
    .into()
}

/// A conversation with answers of about 500 tokens.
fn talk(turns: usize) -> String {
    let turn =
        |n: usize| [AgentMessage::user(format!("question {n}")), reply(format!("answer {n} ").repeat(200))];
    serde_json::to_string(&(0..turns).flat_map(turn).collect::<Vec<_>>()).unwrap()
}

fn talked(agent: AgentBuilder, turns: usize) -> Agent {
    let agent = agent.build().unwrap();
    agent.restore_messages(&talk(turns)).unwrap();
    agent
}

fn texts(messages: &[SharedMessage]) -> Vec<String> {
    messages.iter().map(|message| crate::fixture::formatted(message)).collect()
}

/// A model that answers summary requests with `answer` and everything else with `fine`.
fn summarising(answer: impl Fn(usize) -> Reply + Send + 'static) -> ScriptedModel {
    ScriptedModel::from_fn(
        move |n, request: &StreamConfig| {
            if request.model_config.id == "cheap" { answer(n) } else { Reply::text("fine") }
        },
    )
}

#[tokio::test(start_paused = true)]
async fn cheaper_model_summarises_old_turns_and_user_messages_stay() {
    let fixture = Fixture::with_model(summarising(|_| Reply::text("## Parser\n- it was fixed")));
    let agent = talked(fixture.agent().context(small(4_000)).compaction_model(cheap()), 6);
    let report = agent.compact(Some("the parser")).await.unwrap();
    assert!(report.tokens_after * 2 <= report.tokens_before, "{report:?}");
    let asked = &fixture.model.recorded_requests()[0];
    assert_eq!((&*asked.model_config.id, asked.tools.len()), ("cheap", 0));
    let words = &sent_messages(asked)[0];
    assert!(words.contains("above all: the parser") && words.contains("answer 0"), "{words}");
    let seen = texts(&agent.messages());
    for n in 0..6 {
        assert!(seen.contains(&format!("user: question {n}")), "{seen:#?}");
    }
    assert!(
        seen.iter().any(|message| message.contains("it was fixed") && message.contains("`recall`")),
        "{seen:#?}"
    );
    let journal = fixture.journal(&agent.session_id()).await;
    let recorded = journal.iter().find_map(|event| match &event.event {
        AgentEvent::Compaction { usage, edits, .. } => Some((*usage, Arc::clone(edits))),
        _ => None,
    });
    let (usage, edits) = recorded.unwrap();
    assert!(usage.total() > 0 && edits == report.edits);
    agent.run("go on").await.unwrap();
    assert!(fixture.sent_messages(1).iter().any(|message| message.contains("it was fixed")));
    fixture.assert_valid();
}

#[tokio::test(start_paused = true)]
async fn failed_empty_or_hanging_summary_still_compacts() {
    let answers: [fn() -> Reply; 5] = [
        Reply::stall_forever,
        || Reply::text("half").then_stall(),
        || Reply::text(" "),
        || Reply::error(ProviderError::Api("x".into())),
        || Reply::text("x ".repeat(90_000)),
    ];
    for answer in answers {
        let fixture = Fixture::with_model(summarising(move |_| answer()));
        let agent = talked(fixture.agent().context(small(4_000)).compaction_model(cheap()), 6);
        let report = agent.compact(None).await.unwrap();
        assert!(report.edits.iter().any(|edit| matches!(edit, CompactionEdit::Summarise { .. })));
        assert!(texts(&agent.messages()).iter().any(|message| message.contains("left out to save context")));
    }
}

#[tokio::test(start_paused = true)]
async fn preview_calls_no_model_and_records_nothing() {
    let fixture = Fixture::new([]);
    let agent = talked(fixture.agent().context(small(4_000)), 6);
    agent.run("hello").await.unwrap();
    let before = fixture.journal(&agent.session_id()).await.len();
    let (requests, seen) = (fixture.model.requests(), texts(&agent.messages()));
    let report = agent.preview_compaction(None).await.unwrap();
    assert!(report.tokens_after < report.tokens_before && !report.gone.is_empty());
    assert_eq!(fixture.model.requests(), requests);
    assert_eq!(fixture.journal(&agent.session_id()).await.len(), before);
    assert_eq!(texts(&agent.messages()), seen);
}

#[tokio::test(start_paused = true)]
async fn undone_compaction_leaves_no_trace_for_this_agent_and_the_next() {
    let fixture = Fixture::new([Reply::text("one"), Reply::text("two")]);
    let every = JournalConfig { snapshot_every: 1, ..JournalConfig::default() };
    let build = || fixture.agent().context(small(4_000)).compaction(TieredCompaction).journal(every);
    let agent = talked(build(), 6);
    let before = texts(&agent.messages());
    agent.compact(None).await.unwrap();
    assert_ne!(texts(&agent.messages()), before);
    agent.run("more").await.unwrap();
    assert!(agent.undo_compaction().await.unwrap());
    let mut expected = before;
    expected.extend(["user: more".to_owned(), "assistant: one".to_owned()]);
    assert_eq!(texts(&agent.messages()), expected);
    assert!(!agent.undo_compaction().await.unwrap(), "no other compaction is left");
    let session = agent.session_id();
    drop(agent);
    let resumed = build().session_id(session).build().unwrap();
    assert_eq!(resumed.recover().await.unwrap().map(|output| output.text), None);
    assert_eq!(texts(&resumed.messages()), expected, "snapshots agree");
    resumed.run("and more").await.unwrap();
    assert!(fixture.sent_messages(1).len() > 4);
    fixture.assert_valid();
}

#[tokio::test(start_paused = true)]
async fn cleared_output_is_recalled_exactly_by_its_id() {
    let output: String = (0..312).map(|n| format!("line {n} of the output\n")).collect();
    // Without usage, so that the estimated size is used.
    let script = |n: usize, request: &StreamConfig| next(n, request).with_usage(Usage::default());
    fn next(n: usize, request: &StreamConfig) -> Reply {
        match n {
            0 => Reply::tool_call("c0", "look", json!({})),
            1..=3 => Reply::tool_call(format!("c{n}"), "peek", json!({})),
            4 => {
                let notes = sent_messages(request);
                let note = notes.iter().find(|message| message.contains("Output cleared")).unwrap().clone();
                let id = note.split("the id `").nth(1).unwrap().split('`').next().unwrap().to_owned();
                Reply::tool_call("c4", "recall", json!({"id": id}))
            }
            _ => Reply::text("done"),
        }
    }
    let fixture = Fixture::with_model(ScriptedModel::from_fn(script));
    let tool_output = output.clone();
    let look = fixture.tool("look", move || Act::text(tool_output.clone()));
    let agent =
        fixture.agent().context(small(2_000)).tool(look).tool(fixture.tool("peek", || Act::text("nothing")));
    let agent = agent.compaction(TieredCompaction).build().unwrap();
    assert_eq!(agent.run("look").await.unwrap().text, "done");
    let last = fixture.sent_messages(5).last().unwrap().clone();
    assert_eq!(last, format!("tool: {output}[End of text.]\n"));
    let journal = kinds(&fixture.journal(&agent.session_id()).await);
    assert!(journal.iter().any(|kind| kind == "CompactionWarning"), "{journal:?}");
    fixture.assert_valid();
}

#[tokio::test(start_paused = true)]
async fn pinned_message_stays_until_it_is_unpinned() {
    let fixture = Fixture::new([]);
    let agent = talked(fixture.agent().context(small(4_000)).compaction(TieredCompaction), 6);
    let pinned = agent.messages()[1].id();
    agent.pin(pinned).await.unwrap();
    agent.compact(None).await.unwrap();
    assert!(agent.messages().iter().any(|message| message.id() == pinned));
    agent.undo_compaction().await.unwrap();
    agent.unpin(pinned).await.unwrap();
    agent.compact(None).await.unwrap();
    assert!(agent.messages().iter().all(|message| message.id() != pinned));
}

#[tokio::test(start_paused = true)]
async fn summary_that_hangs_delays_neither_the_run_nor_its_end() {
    let fixture = Fixture::with_model(summarising(|_| Reply::stall_forever()));
    let agent = talked(fixture.agent().context(small(3_900)).compaction_model(cheap()), 6);
    assert_eq!(agent.run("go").await.unwrap().outcome, RunOutcome::Completed);
    let journal = fixture.journal(&agent.session_id()).await;
    assert!(journal.iter().any(|event| kind(event) == "CompactionWarning"));
    assert!(!journal.iter().any(|event| kind(event) == "Compaction"));
    assert!(fixture.model.recorded_requests().iter().any(|request| request.model_config.id == "cheap"));
}

#[tokio::test(start_paused = true)]
async fn interrupted_compaction_leaves_nothing_out() {
    let fixture = Fixture::with_model(summarising(|_| Reply::stall_forever()));
    let agent = talked(fixture.agent().context(small(4_000)).compaction_model(cheap()), 6);
    let before = texts(&agent.messages());
    let abort = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        agent.abort();
    };
    let (compacted, ()) = tokio::join!(agent.compact(None), abort);
    assert!(matches!(compacted, Err(AgentError::NotCompacted(reason)) if reason == "it was interrupted"));
    assert_eq!(texts(&agent.messages()), before);
}

#[tokio::test(start_paused = true)]
async fn full_context_error_names_the_largest_messages() {
    let overflow = || Reply::error(ProviderError::ContextOverflow("too long".into()));
    let fixture = Fixture::new([overflow(), overflow(), overflow(), overflow()]);
    let agent = fixture.agent().context(small(100_000)).build().unwrap();
    let output = agent.run("paste ".repeat(5_000)).await.unwrap();
    let RunOutcome::ContextFull(full) = output.outcome else { panic!("{:?}", output.outcome) };
    assert_eq!(full.largest[0].message_id, agent.messages()[0].id());
    assert!(full.largest[0].tokens > 4_000, "{full:?}");
}

#[tokio::test(start_paused = true)]
async fn compaction_on_request_fails_without_a_window() {
    let fixture = Fixture::new([]);
    let agent = talked(fixture.agent(), 6);
    for refused in [agent.compact(None).await, agent.preview_compaction(None).await] {
        assert!(matches!(refused, Err(AgentError::NotCompacted(why)) if why.contains("switched off")));
    }
}
