//! The system prompt of a session: journaled once, the same in every process, never rewritten.

use std::sync::Arc;

use lariat_core::BoxFuture;
use lariat_core::event::Learning;
use lariat_runtime::prompt::{
    ContextReport, PartKind, Section, SectionQuery, SectionSource, SectionStability,
};
use lariat_test::{Act, Reply, ScriptedModel};
use serde_json::json;
use tokio::runtime::{Builder, Runtime};

use super::fixture::{Fixture, call, kinds, until};

fn process() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

fn memory(text: &str) -> Section {
    Section::new("memory", SectionStability::SemiStatic, text)
}

fn prompts(fixture: &Fixture) -> Vec<String> {
    fixture
        .model
        .recorded_requests()
        .iter()
        .map(|request| request.system_prompt.as_str().to_owned())
        .collect()
}

#[tokio::test]
async fn prompt_is_journaled_once_before_the_first_loop_of_a_session() {
    let fixture = Fixture::without_time(ScriptedModel::new([]));
    let agent = fixture.agent().session_id("s").section(memory("Use tabs.")).build().unwrap();
    agent.run("one").await.unwrap();
    agent.run("two").await.unwrap();
    let journaled = kinds(&fixture.journal(&"s".into()).await);
    assert_eq!(journaled[..2], ["PromptAssembled", "AgentStart"]);
    assert_eq!(journaled.iter().filter(|kind| *kind == "PromptAssembled").count(), 1);
    assert_eq!(prompts(&fixture), ["Use tabs.", "Use tabs."]);
    let fresh = agent.new_session().unwrap();
    agent.run("three").await.unwrap();
    assert_eq!(kinds(&fixture.journal(&fresh).await)[..2], ["SessionFormed", "PromptAssembled"]);
    fixture.assert_valid();
}

#[tokio::test]
async fn agent_without_sections_journals_no_prompt() {
    let fixture = Fixture::without_time(ScriptedModel::new([]));
    let agent = fixture.agent().session_id("s").system_prompt("Be brief.").build().unwrap();
    agent.run("one").await.unwrap();
    assert_eq!(kinds(&fixture.journal(&"s".into()).await)[0], "AgentStart");
    assert_eq!(prompts(&fixture), ["Be brief."]);
}

#[tokio::test]
async fn another_process_sends_the_journaled_prompt_and_the_difference_once() {
    let fixture = Fixture::without_time(ScriptedModel::new([]));
    let agent = |text: &str| fixture.agent().session_id("s").section(memory(text)).build().unwrap();
    agent("Use tabs.").run("one").await.unwrap();
    let second = agent("Use spaces.");
    second.run("two").await.unwrap();
    second.run("three").await.unwrap();
    agent("Use spaces.").run("four").await.unwrap();
    assert_eq!(prompts(&fixture), ["Use tabs."; 4]);
    let notes = fixture.sent_messages(3).iter().filter(|line| line.contains("Use spaces.")).count();
    assert_eq!(notes, 1, "{:?}", fixture.sent_messages(3));
    fixture.assert_valid();
}

#[tokio::test]
async fn changes_of_a_section_marked_once_are_not_reported() {
    let fixture = Fixture::without_time(ScriptedModel::new([]));
    let agent =
        |text: &str| fixture.agent().session_id("s").section(memory(text).without_updates()).build().unwrap();
    agent("src/a.rs").run("one").await.unwrap();
    agent("src/b.rs").run("two").await.unwrap();
    assert_eq!(prompts(&fixture), ["src/a.rs"; 2]);
    assert_eq!(fixture.sent_messages(1).len(), 3, "{:?}", fixture.sent_messages(1));
}

#[test]
fn recovered_run_keeps_the_prompt_it_began_with() {
    let fixture =
        Arc::new(Fixture::without_time(ScriptedModel::new([call("c1", "write"), Reply::text("done")])));
    let first = process();
    first.block_on(async {
        let agent = fixture.agent().session_id("s").section(memory("Use tabs."));
        let agent = agent.tool(fixture.tool("write", Act::never)).build().unwrap();
        let mut stream = agent.run_stream("write it");
        until(&mut stream, "ToolExecutionStart").await;
        std::mem::forget(stream);
    });
    drop(first);
    process().block_on(async {
        let agent = fixture.agent().session_id("s").section(memory("Use spaces."));
        let agent = agent.tool(fixture.tool("write", || Act::text("ok"))).build().unwrap();
        agent.recover().await.unwrap().unwrap();
    });
    assert_eq!(prompts(&fixture), ["Use tabs.", "Use tabs."]);
    assert!(
        fixture.sent_messages(1).last().unwrap().contains("Use spaces."),
        "{:?}",
        fixture.sent_messages(1)
    );
    fixture.assert_valid();
}

struct PanickingSource;

impl SectionSource for PanickingSource {
    fn sections(&self, _: SectionQuery) -> BoxFuture<'_, Vec<Section>> {
        panic!("on purpose")
    }
}

#[tokio::test]
async fn panicking_source_contributes_nothing() {
    let fixture = Fixture::without_time(ScriptedModel::new([]));
    let agent = fixture.agent().sections(PanickingSource).section(memory("Use tabs.")).build().unwrap();
    agent.run("one").await.unwrap();
    assert_eq!(prompts(&fixture), ["Use tabs."]);
}

#[tokio::test]
async fn context_report_works_before_during_and_after_a_run() {
    let fixture = Fixture::without_time(ScriptedModel::new([]));
    let agent = fixture.agent().section(memory("Use tabs.")).system_prompt("Be brief.").build().unwrap();
    let names = |report: &ContextReport| -> Vec<(PartKind, String)> {
        report.parts.iter().map(|part| (part.kind, part.name.clone())).collect()
    };
    let system = [(PartKind::Static, "system".to_owned()), (PartKind::SemiStatic, "memory".to_owned())];
    assert_eq!(names(&agent.context().await.unwrap()), system);
    let mut stream = agent.run_stream("one");
    until(&mut stream, "AgentStart").await;
    assert_eq!(names(&agent.context().await.unwrap())[..2], system);
    stream.finish().await.unwrap();
    assert_eq!(agent.context().await.unwrap().parts.len(), 4);
}

#[tokio::test]
async fn learnings_are_journaled_and_removed() {
    let fixture = Fixture::without_time(ScriptedModel::new([]));
    let agent = fixture.agent().session_id("s").build().unwrap();
    let learning: Learning = serde_json::from_value(json!({"learning_id": "l", "text": "t"})).unwrap();
    agent.learn(learning).await.unwrap();
    agent.unlearn("l").await.unwrap();
    agent.run("one").await.unwrap();
    assert_eq!(kinds(&fixture.journal(&"s".into()).await)[..3], ["Learned", "Unlearned", "AgentStart"]);
}
