//! Tests of the ledger tool: what it does and what it records, also for abnormal ends.

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;
use futures_util::future::join;
use lariat_core::cancel::CancellationToken;
use lariat_core::content::Content;

use super::*;
use crate::clock::{EPOCH, VirtualClock};
use crate::executor::{Executor, Halt, block_on};
use crate::random::SeededRandom;

const SECOND: Duration = Duration::from_secs(1);

fn context(call: &str, cancel: &CancellationToken) -> ToolContext {
    ToolContext::new(call.into(), "tool", "s".into(), "s.c.0".into(), cancel.clone())
}

fn tool(
    clock: &VirtualClock,
    act: impl FnMut(&Invocation<'_>) -> Act + Send + 'static,
) -> (LedgerTool, Ledger) {
    let ledger = Ledger::new();
    (LedgerTool::new("tool", ledger.clone(), clock.shared()).with_script(act), ledger)
}

fn run(clock: &VirtualClock, tool: &LedgerTool, call: &str) -> Result<Result<ToolResult, ToolError>, Halt> {
    block_on(clock, tool.execute(json!({"n": 1}), context(call, &CancellationToken::new())))
}

fn start<'a>(
    tool: &'a LedgerTool,
    cancel: &CancellationToken,
    call: &str,
) -> BoxFuture<'a, Result<ToolResult, ToolError>> {
    tool.execute(json!({}), context(call, cancel))
}

#[test]
fn an_execution_is_recorded_with_its_call_arguments_times_and_end() {
    let clock = VirtualClock::new();
    let (tool, ledger) =
        tool(&clock, |call| Act::text(format!("{}: {}", call.index, call.args)).after(SECOND));
    assert_eq!(run(&clock, &tool, "a"), Ok(Ok(ToolResult::text(r#"0: {"n":1}"#))));
    assert_eq!(run(&clock, &tool, "b"), Ok(Ok(ToolResult::text(r#"1: {"n":1}"#))));
    let [execution] = ledger.executions(&"a".into()).try_into().unwrap();
    assert_eq!((execution.tool.as_str(), &execution.args), ("tool", &json!({"n": 1})));
    assert_eq!((execution.started, execution.finished), (EPOCH, Some(EPOCH.after(SECOND))));
    assert_eq!((execution.ending, execution.beside), (Ending::Returned, vec![]));
    assert_eq!((ledger.len(), ledger.running(), ledger.max_overlap()), (2, 0, 1));
    assert_eq!(ledger.repeated_calls(), []);
}

#[test]
fn a_future_that_is_never_polled_did_not_run() {
    let clock = VirtualClock::new();
    let (tool, ledger) = tool(&clock, |_| Act::text("ok"));
    drop(tool.execute(json!({}), context("a", &CancellationToken::new())));
    assert!(ledger.is_empty());
}

#[test]
fn a_call_that_runs_again_is_reported_once() {
    let clock = VirtualClock::new();
    let (tool, ledger) = tool(&clock, |_| Act::text("ok"));
    for call in ["a", "b", "a", "a"] {
        run(&clock, &tool, call).unwrap().unwrap();
    }
    assert_eq!(ledger.repeated_calls(), ["a".into()]);
    assert_eq!(ledger.executions(&"a".into()).len(), 3);
}

#[test]
fn overlapping_executions_list_each_other() {
    let clock = VirtualClock::new();
    let ledger = Ledger::new();
    let make = |name: &str, seconds: u32| {
        LedgerTool::new(name, ledger.clone(), clock.shared())
            .with_script(move |_| Act::text("ok").after(SECOND * seconds))
    };
    let (long, short) = (make("long", 3), make("short", 1));
    let cancel = CancellationToken::new();
    block_on(&clock, async {
        let one_after_another = async {
            start(&short, &cancel, "b").await.unwrap();
            start(&short, &cancel, "c").await.unwrap();
        };
        join(start(&long, &cancel, "a"), one_after_another).await.0.unwrap();
        start(&short, &cancel, "d").await.unwrap();
    })
    .unwrap();
    let beside: Vec<_> = ledger.all().into_iter().map(|execution| execution.beside).collect();
    assert_eq!(beside, [vec![1, 2], vec![0], vec![0], vec![]]);
    assert_eq!(ledger.max_overlap(), 2);
    assert_eq!((ledger.overlapping("short").len(), ledger.overlapping("long").len()), (2, 1));
}

#[test]
fn failures_panics_and_dropped_futures_are_recorded_as_ends() {
    let clock = VirtualClock::new();
    let (tool, ledger) = tool(&clock, |call| match call.index {
        0 => Act::fail("no"),
        1 => Act::panic("boom"),
        _ => Act::never(),
    });
    assert_eq!(run(&clock, &tool, "a"), Ok(Err(ToolError::Failed("no".into()))));
    let cancel = CancellationToken::new();
    let panicking = AssertUnwindSafe(tool.execute(json!({}), context("b", &cancel))).catch_unwind();
    let payload = block_on(&clock, panicking).unwrap().unwrap_err();
    assert_eq!(payload.downcast_ref::<String>().unwrap(), "boom");
    assert_eq!(run(&clock, &tool, "c"), Err(Halt::Stalled));
    let endings: Vec<_> = ledger.all().into_iter().map(|execution| execution.ending).collect();
    assert_eq!(endings, [Ending::Failed, Ending::Panicked, Ending::Dropped]);
    assert_eq!(ledger.running(), 0);
}

#[test]
fn cancelling_ends_a_tool_that_waits_unless_it_ignores_that() {
    for (act, ending, elapsed) in [
        (Act::text("ok").after(SECOND * 9), Ending::Cancelled, 1),
        (Act::never(), Ending::Cancelled, 1),
        (Act::text("ok").after(SECOND * 9).ignoring_cancel(), Ending::Returned, 9),
    ] {
        let clock = VirtualClock::new();
        let (tool, ledger) = tool(&clock, move |_| act.clone());
        let cancel = CancellationToken::new();
        let mut executor = Executor::new(clock.clone(), SeededRandom::new(1));
        executor.spawn(async {
            let _ = tool.execute(json!({}), context("a", &cancel)).await;
        });
        executor.spawn(async {
            clock.sleep_until(EPOCH.after(SECOND)).await;
            cancel.cancel();
        });
        assert_eq!(executor.run(100), Ok(()));
        let execution = ledger.all().remove(0);
        assert_eq!((execution.ending, execution.finished), (ending, Some(EPOCH.after(SECOND * elapsed))));
    }
}

#[test]
fn progress_and_updates_come_in_the_order_of_the_script() {
    let clock = VirtualClock::new();
    let (tool, _) = tool(&clock, |_| {
        Act::text("ok").with_progress("one").after(SECOND).with_update("two").with_progress("three")
    });
    let log: Arc<Mutex<Vec<String>>> = Arc::default();
    let mut context = context("a", &CancellationToken::new());
    let progress = Arc::clone(&log);
    context.on_progress = Some(Arc::new(move |text| progress.lock().unwrap().push(text)));
    let update = Arc::clone(&log);
    context.on_update = Some(Arc::new(move |partial: ToolResult| {
        let text = partial.content.first().and_then(Content::as_text).unwrap_or_default();
        update.lock().unwrap().push(text.to_owned());
    }));
    block_on(&clock, tool.execute(json!({}), context)).unwrap().unwrap();
    assert_eq!(*log.lock().unwrap(), ["one", "two", "three"]);
}

#[test]
fn declares_the_configured_effects_and_parallel_safety() {
    let clock = VirtualClock::new();
    let new = || LedgerTool::new("t", Ledger::new(), clock.shared());
    assert_eq!((new().effects(), new().is_parallel_safe()), (ToolEffects::ALL, false));
    assert!(new().with_effects(ToolEffects::READS).is_parallel_safe());
    assert!(!new().with_effects(ToolEffects::READS).with_parallel(Parallel::Alone).is_parallel_safe());
    assert!(new().with_parallel(Parallel::Safe).is_parallel_safe());
}
