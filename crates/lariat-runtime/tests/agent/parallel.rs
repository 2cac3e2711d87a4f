//! Branches that run at the same time in one session: strategies, shared budgets, cancellation, recovery.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use lariat_core::BoxFuture;
use lariat_core::budget::BudgetLimits;
use lariat_core::cancel::CancellationToken;
use lariat_core::config::ContextConfig;
use lariat_core::evaluation::{
    CheckEvaluation, CheckResult, ElaborateEvaluation, EvaluationError, EvaluationStrategy,
    PickFirstEvaluation, TokenEfficientEvaluation, TransparentEvaluation,
};
use lariat_core::event::{AgentEvent, Event, RunOutcome};
use lariat_core::id::LoopId;
use lariat_core::message::AgentMessage;
use lariat_core::model::ProviderError;
use lariat_core::permission::{AskBeforeEffects, PermissionDecision};
use lariat_core::run::RunConfig;
use lariat_core::store::SessionStore;
use lariat_core::tool::{AgentTool, ToolContext, ToolEffects, ToolError, ToolResult};
use lariat_core::usage::Usage;
use lariat_runtime::{
    AgentContext, AgentError, AgentLoopConfig, LlmJudgeEvaluation, ParallelLoopResult, agent_loop,
    agent_loop_parallel, agent_loop_parallel_recover, agent_loop_recover,
};
use lariat_test::{Act, Reply, ScriptedModel};

use super::fixture::{Fixture, call, durable, kinds, starts};

/// A session with one model per branch.
struct Branches {
    base: Fixture,
    models: Vec<Arc<ScriptedModel>>,
    run: RunConfig,
}

impl Branches {
    fn new(scripts: impl IntoIterator<Item = Vec<Reply>>) -> Self {
        let base = Fixture::new([]);
        let model = |script: Vec<Reply>| {
            Arc::new(ScriptedModel::new(script).with_clock(Arc::clone(&base.clock)).with_recording())
        };
        let models = scripts.into_iter().map(model).collect();
        Self { base, models, run: RunConfig::default() }
    }

    fn config(&self, model: &Arc<ScriptedModel>, name: &str, act: fn() -> Act) -> AgentLoopConfig {
        self.base.loop_config(model, name, self.run.clone(), act)
    }

    fn configs(&self, act: fn() -> Act) -> Vec<AgentLoopConfig> {
        let named = self.models.iter().zip(["a", "b", "c", "d"]);
        named.map(|(model, name)| self.config(model, name, act)).collect()
    }

    fn context(&self) -> AgentContext {
        AgentContext::new("agent".into(), self.base.open_journal())
    }

    async fn events(&self) -> Vec<Event> {
        self.base.journal(&"s".into()).await
    }

    async fn run(&self, strategy: &dyn EvaluationStrategy) -> Result<ParallelLoopResult, AgentError> {
        let (configs, mut context) = (self.configs(|| Act::text("ok")), self.context());
        agent_loop_parallel(prompt("go"), &mut context, &configs, strategy, |_| {}, CancellationToken::new())
            .await
    }
}

fn prompt(text: &str) -> Vec<AgentMessage> {
    vec![AgentMessage::user(text)]
}

fn spent(text: &str, tokens: u64) -> Reply {
    Reply::text(text).with_usage(Usage::new(tokens, 0))
}

fn texts(context: &AgentContext) -> Vec<String> {
    context.messages().iter().map(|message| super::fixture::formatted(message)).collect()
}

#[tokio::test(start_paused = true)]
async fn selected_branch_becomes_the_conversation() {
    let branches =
        Branches::new([vec![Reply::text("from a")], vec![Reply::text("from b"), Reply::text("next")]]);
    let first = Arc::new(ScriptedModel::new([Reply::text("hello")]));
    let mut context = branches.context();
    let before = branches.config(&first, "first", || Act::text("ok"));
    let go = CancellationToken::new;
    agent_loop(prompt("hi"), &mut context, &before, |_| {}, go()).await.unwrap();

    let mut seen: Vec<Event> = Vec::new();
    let configs = branches.configs(|| Act::text("ok"));
    let second = CheckEvaluation::new(|outcome, _| {
        let result = match outcome.text().as_str() {
            "from b" => CheckResult::passed(1),
            text => CheckResult::failed(text),
        };
        Box::pin(std::future::ready(result))
    });
    let sender = |event: Event| seen.push(event);
    let result =
        agent_loop_parallel(prompt("go"), &mut context, &configs, &second, sender, go()).await.unwrap();
    assert_eq!((result.selected_index, result.selected().unwrap().text().as_str()), (1, "from b"));
    assert_eq!(result.outcomes[0].original_context_len, 2);
    assert_eq!(result.outcomes[0].added_messages().len(), 2);
    assert_eq!(texts(&context), ["user: hi", "assistant: hello", "user: go", "assistant: from b"]);
    let ids: Vec<LoopId> = starts(&branches.events().await).into_iter().map(|start| start.loop_id).collect();
    assert_eq!(ids, ["s.first.0".into(), "s.a.1".into(), "s.b.2".into()]);
    assert_eq!(durable(&seen), branches.events().await[seen_before(&branches.events().await)..]);

    agent_loop(prompt("more"), &mut context, &configs[1], |_| {}, go()).await.unwrap();
    assert_eq!(texts(&context).last().unwrap(), "assistant: next");
    let last = starts(&branches.events().await).pop().unwrap();
    assert_eq!(last.loop_id, "s.b.3".into());
    let reloaded = AgentContext::load("agent".into(), branches.base.open_journal()).await.unwrap();
    assert_eq!(texts(&reloaded), texts(&context), "another process reads the same conversation");
}

/// Returns the position of the group's start.
fn seen_before(events: &[Event]) -> usize {
    let start = |event: &Event| matches!(event.event, AgentEvent::ParallelLoopStart { .. });
    events.iter().position(start).unwrap()
}

#[tokio::test(start_paused = true)]
async fn strategies_select_by_tokens() {
    let branches = || Branches::new([vec![spent("a", 30)], vec![spent("b", 10)], vec![spent("c", 50)]]);
    let selected =
        async |strategy: &dyn EvaluationStrategy| branches().run(strategy).await.unwrap().selected_index;
    assert_eq!(selected(&PickFirstEvaluation).await, 0);
    assert_eq!(selected(&TokenEfficientEvaluation).await, 1);
    assert_eq!(selected(&ElaborateEvaluation).await, 2);
    let several = branches().run(&TransparentEvaluation).await;
    let wrong = EvaluationError::WrongCount { expected: 1, given: 3 };
    assert!(matches!(several, Err(AgentError::Evaluation(error)) if error == wrong));
}

#[tokio::test(start_paused = true)]
async fn branches_run_at_the_same_time_and_interleave_in_the_journal() {
    let slow =
        || vec![Reply::text("be").then_wait(Duration::from_secs(10)).then_text("gin"), Reply::text("end")];
    let branches = Branches::new([slow(), slow()]);
    let began = branches.base.clock.now();
    branches.run(&PickFirstEvaluation).await.unwrap();
    assert_eq!(branches.base.clock.now().since(began), Duration::from_secs(10), "not 20");
    let events = branches.events().await;
    let ends: Vec<_> = kinds(&events).into_iter().filter(|kind| kind.starts_with("Agent")).collect();
    assert_eq!(ends, ["AgentStart", "AgentStart", "AgentEnd", "AgentEnd"]);
}

#[tokio::test(start_paused = true)]
async fn without_prompts_the_branches_continue() {
    let branches = Branches::new([vec![Reply::text("a")], vec![Reply::text("b")]]);
    let (configs, mut context) = (branches.configs(|| Act::text("ok")), branches.context());
    context.replace_messages(prompt("already asked"), &configs[0].ports);
    let go = CancellationToken::new;
    agent_loop_parallel(Vec::new(), &mut context, &configs, &PickFirstEvaluation, |_| {}, go())
        .await
        .unwrap();
    assert_eq!(texts(&context), ["user: already asked", "assistant: a"]);
    let request = super::fixture::sent_messages(&branches.models[1].recorded_requests()[0]);
    assert_eq!(request, ["user: already asked"]);
}

#[tokio::test(start_paused = true)]
async fn budget_of_the_session_includes_all_branches() {
    let script = || {
        let mut replies: Vec<Reply> =
            (0..20).map(|n| call(&format!("c{n}"), "write").with_usage(Usage::new(100, 0))).collect();
        replies.push(Reply::text("done"));
        replies
    };
    let mut branches = Branches::new([script(), script(), script()]);
    // The calls are all the same.
    branches.run.repetition = None;
    branches.run.budget.session = BudgetLimits::none().with_tokens(1_000);
    let result = branches.run(&PickFirstEvaluation).await.unwrap();
    let limited = |outcome: &RunOutcome| matches!(outcome, RunOutcome::LimitReached { .. });
    assert!(result.outcomes.iter().all(|branch| limited(&branch.outcome)), "{:?}", result.outcomes);
    let total = result.total_usage().total();
    // Without a view of its siblings, each branch would spend 1,000 by itself.
    assert!((1_000..=1_300).contains(&total), "{total} tokens, more than the calls in flight allow");
}

#[tokio::test(start_paused = true)]
async fn cancelling_ends_every_branch_and_selects_the_first() {
    let branches = Branches::new([vec![call("c1", "write")], vec![call("c1", "write")]]);
    let (configs, mut context) = (branches.configs(Act::never), branches.context());
    let cancel = CancellationToken::new();
    let (stop, started) = (cancel.clone(), Mutex::new(0));
    let sender = move |event: Event| {
        if matches!(event.event, AgentEvent::ToolExecutionStart { .. }) {
            let mut started = started.lock().unwrap();
            *started += 1;
            if *started == 2 {
                stop.cancel();
            }
        }
    };
    let running =
        agent_loop_parallel(prompt("go"), &mut context, &configs, &TransparentEvaluation, sender, cancel);
    let result = running.await.unwrap();
    assert_eq!(result.selected_index, 0);
    assert!(result.outcomes.iter().all(|branch| branch.outcome == RunOutcome::Aborted));
    assert!(context.messages().len() > 1);
}

#[tokio::test(start_paused = true)]
async fn dropped_branches_resume_without_running_a_tool_twice() {
    let script = || vec![call("c1", "write"), Reply::text("I see"), Reply::text("more")];
    let branches = Branches::new([vec![spent("a at once", 7)], script(), script()]);
    let (configs, mut context) = (branches.configs(Act::never), branches.context());
    let go = CancellationToken::new;
    let running =
        agent_loop_parallel(prompt("go"), &mut context, &configs, &PickFirstEvaluation, |_| {}, go());
    assert!(tokio::time::timeout(Duration::from_secs(5), running).await.is_err());
    let refused = agent_loop(prompt("third"), &mut context, &configs[0], |_| {}, go()).await;
    assert!(matches!(refused, Err(AgentError::Interrupted(_))), "{refused:?}");

    let elaborate = &ElaborateEvaluation;
    let few = agent_loop_parallel_recover(&mut context, &configs[..2], elaborate, |_| {}, go()).await;
    assert!(matches!(
        few,
        Err(AgentError::Evaluation(EvaluationError::WrongCount { expected: 3, given: 2 }))
    ));
    let resumed = agent_loop_parallel_recover(&mut context, &configs, elaborate, |_| {}, go()).await;
    let result = resumed.unwrap().unwrap();
    assert_eq!(branches.base.ledger.len(), 2, "each tool ran once");
    let answers: Vec<String> = result.outcomes.iter().map(|branch| branch.text()).collect();
    assert_eq!(answers, ["a at once", "I see", "I see"]);
    assert_eq!(result.outcomes[0].usage.total(), 7, "known from the journal");
    assert_eq!(result.outcomes[0].added_messages().len(), 2);
    assert!(
        agent_loop_parallel_recover(&mut context, &configs, elaborate, |_| {}, go()).await.unwrap().is_none()
    );
    for model in &branches.models {
        assert_eq!(model.violations(), []);
    }
}

#[tokio::test(start_paused = true)]
async fn group_that_died_before_its_branches_began_starts_them_all() {
    let branches = Branches::new([vec![Reply::text("a")], vec![Reply::text("b")]]);
    let (configs, mut context) = (branches.configs(|| Act::text("ok")), branches.context());
    let go = CancellationToken::new;
    agent_loop_parallel(prompt("go"), &mut context, &configs, &PickFirstEvaluation, |_| {}, go())
        .await
        .unwrap();
    let journal: Vec<Event> = branches.events().await;
    let cut: Vec<Event> = journal.into_iter().take(1).collect();
    assert_eq!(kinds(&cut), ["ParallelLoopStart"]);
    // Another process finds only the start: the first one died before a branch wrote anything.
    let fresh = Branches::new([vec![Reply::text("a")], vec![Reply::text("b")]]);
    let epoch = fresh.base.store.claim(&"s".into()).await.unwrap();
    fresh.base.store.append(lariat_core::store::Append::new(&"s".into(), epoch, 0, &cut)).await.unwrap();
    let (configs, mut context) = (fresh.configs(|| Act::text("ok")), fresh.context());
    let resumed =
        agent_loop_parallel_recover(&mut context, &configs, &PickFirstEvaluation, |_| {}, go()).await;
    assert_eq!(resumed.unwrap().unwrap().outcomes.len(), 2);
    assert_eq!(texts(&context), ["user: go", "assistant: a"]);
}

#[tokio::test(start_paused = true)]
async fn recover_of_an_ordinary_program_finishes_the_group() {
    let script = || vec![call("c1", "write"), Reply::text("done")];
    let branches = Branches::new([script(), script()]);
    let (configs, mut context) = (branches.configs(Act::never), branches.context());
    let go = CancellationToken::new;
    let running =
        agent_loop_parallel(prompt("go"), &mut context, &configs, &PickFirstEvaluation, |_| {}, go());
    assert!(tokio::time::timeout(Duration::from_secs(5), running).await.is_err());
    let output = agent_loop_recover(&mut context, &configs[0], |_| {}, go()).await.unwrap().unwrap();
    assert_eq!((output.text.as_str(), output.turns), ("done", 2));
    assert!(agent_loop_recover(&mut context, &configs[0], |_| {}, go()).await.unwrap().is_none());
}

#[tokio::test(start_paused = true)]
async fn group_without_a_decision_can_be_decided_later() {
    let branches = Branches::new([vec![Reply::text("a")], vec![Reply::text("b")]]);
    let (configs, mut context) = (branches.configs(|| Act::text("ok")), branches.context());
    let go = CancellationToken::new;
    let none = CheckEvaluation::new(|_, _| Box::pin(std::future::ready(CheckResult::failed("tests fail"))));
    let undecided = agent_loop_parallel(prompt("go"), &mut context, &configs, &none, |_| {}, go()).await;
    let error = undecided.unwrap_err().to_string();
    assert!(error.starts_with("no branch was selected: no branch passed the check"), "{error}");
    let decided =
        agent_loop_parallel_recover(&mut context, &configs, &PickFirstEvaluation, |_| {}, go()).await;
    assert_eq!(decided.unwrap().unwrap().selected_index, 0);
    assert_eq!(texts(&context), ["user: go", "assistant: a"]);
}

#[tokio::test(start_paused = true)]
async fn judge_selects_and_its_usage_is_recorded() {
    let failing = vec![Reply::error(ProviderError::Auth("no".into()))];
    let branches = Branches::new([vec![Reply::text("two")], vec![Reply::text("four")], failing]);
    let reply = Reply::text("The second is right.\nBEST: 2").with_usage(Usage::new(40, 2));
    let judge = Arc::new(ScriptedModel::new([reply]).with_recording());
    let strategy = LlmJudgeEvaluation::new(branches.config(&judge, "judge", || Act::text("ok")));
    // The third branch fails and is not judged.
    let result = branches.run(&strategy).await.unwrap();
    assert_eq!((result.selected_index, result.evaluation_usage.total()), (1, 42));
    let request = super::fixture::sent_messages(&judge.recorded_requests()[0]).join("\n");
    assert!(
        request.contains("<request>\ngo\n</request>") && request.contains("Which of the 2 answers"),
        "{request}"
    );
    let recorded = branches.events().await.into_iter().find_map(|event| match &event.event {
        AgentEvent::ParallelLoopEnd { evaluation_usage, selected_loop_id, .. } => {
            Some((evaluation_usage.total(), selected_loop_id.clone()))
        }
        _ => None,
    });
    assert_eq!(recorded, Some((42, "s.b.1".into())));
}

#[tokio::test(start_paused = true)]
async fn judge_that_hangs_fails_the_judgement() {
    let branches = Branches::new([vec![Reply::text("two")], vec![Reply::text("four")]]);
    let judge = Arc::new(ScriptedModel::new([Reply::text("BEST").then_stall()]));
    let strategy = LlmJudgeEvaluation::new(branches.config(&judge, "judge", || Act::text("ok")));
    let error = branches.run(&strategy).await.unwrap_err().to_string();
    assert!(error.contains("the judge did not reply"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn judge_with_a_small_window_warns_that_it_sees_only_parts() {
    let long = || vec![Reply::text("a long answer. ".repeat(2_000))];
    let mut branches = Branches::new([long(), long()]);
    branches.run.context = None;
    let judge = Arc::new(ScriptedModel::new([Reply::text("BEST: 1")]).with_recording());
    let mut config = branches.config(&judge, "judge", || Act::text("ok"));
    Arc::make_mut(&mut config.run).context = Some(ContextConfig::with_window(900));
    let strategy = LlmJudgeEvaluation::new(config);
    let (configs, mut context) = (branches.configs(|| Act::text("ok")), branches.context());
    let mut warnings = Vec::new();
    let sender = |event: Event| {
        if let AgentEvent::ProgressMessage { text, .. } = &event.event {
            warnings.push(text.clone());
        }
    };
    let go = CancellationToken::new();
    agent_loop_parallel(prompt("go"), &mut context, &configs, &strategy, sender, go).await.unwrap();
    assert_eq!(warnings, ["the answers are too long for the judge: it sees only parts of them"]);
}

#[tokio::test(start_paused = true)]
async fn agent_runs_branches_and_answers_reach_the_branch_that_asks() {
    let fixture = Fixture::new([]);
    let agent = |script: Vec<Reply>, name: &str| {
        let model = ScriptedModel::new(script).with_clock(Arc::clone(&fixture.clock));
        let builder = fixture.agent().provider(Arc::new(model)).permission_policy(AskBeforeEffects);
        builder
            .tool(fixture.tool("write", || Act::text("ok")))
            .config_id(name)
            .session_id("s")
            .build()
            .unwrap()
    };
    let branches =
        ["a", "b"].map(|name| agent(vec![call("c1", "write"), Reply::text(format!("from {name}"))], name));
    let session = agent(Vec::new(), "session");
    let mut stream = session.run_branches_stream("go", &branches, Arc::new(PickFirstEvaluation));
    let (mut asked, mut last) = (Vec::new(), None);
    while let Some(event) = stream.next().await {
        if let AgentEvent::PermissionRequired { request } = &event.event {
            asked.push((event.loop_id.clone().unwrap(), request.id));
            // Both wait before the first answer.
            if asked.len() == 2 {
                asked.iter().for_each(|(_, id)| stream.respond_permission(*id, PermissionDecision::Allow));
            }
        }
        last = Some(event);
    }
    assert_eq!(asked.len(), 2);
    assert_ne!(asked[0].0, asked[1].0);
    assert!(matches!(last.unwrap().event, AgentEvent::ParallelLoopEnd { .. }));
    let output = stream.finish().await.unwrap();
    assert_eq!((output.text.as_str(), output.turns, fixture.ledger.len()), ("from a", 2, 2));
    assert_eq!(session.messages().len(), 4);
    assert!(!session.is_streaming());
}

/// Records the conversation that each of its calls belongs to.
struct RecordsConversation(Arc<Mutex<Vec<String>>>);

impl AgentTool for RecordsConversation {
    fn name(&self) -> &str {
        "look"
    }

    fn description(&self) -> &str {
        "Looks."
    }

    fn parameters_schema(&self) -> serde_json::Value {
        serde_json::json!({"type": "object"})
    }

    fn effects(&self) -> ToolEffects {
        ToolEffects::NONE
    }

    fn execute<'a>(
        &'a self,
        _: serde_json::Value,
        context: ToolContext,
    ) -> BoxFuture<'a, Result<ToolResult, ToolError>> {
        self.0.lock().unwrap().push(context.conversation_id().to_string());
        Box::pin(std::future::ready(Ok(ToolResult::text("seen"))))
    }
}

#[tokio::test(start_paused = true)]
async fn tools_know_to_which_branch_a_call_belongs() {
    let (fixture, seen) = (Fixture::new([]), Arc::new(Mutex::new(Vec::new())));
    let agent = |name: &str| {
        let model = ScriptedModel::new([call("c1", "look"), Reply::text("seen")]);
        let builder = fixture.agent().provider(Arc::new(model.with_clock(Arc::clone(&fixture.clock))));
        builder.tool(RecordsConversation(Arc::clone(&seen))).config_id(name).session_id("s").build().unwrap()
    };
    let session = agent("session");
    session.run_branches("go", &["a", "b"].map(agent), Arc::new(PickFirstEvaluation)).await.unwrap();
    seen.lock().unwrap().sort();
    session.run("and on").await.unwrap();
    assert_eq!(*seen.lock().unwrap(), ["s.a.0", "s.b.1", "s"]);
}
