//! The scripts of the suite. Each tests one promise of the protocol; the runner adds the invariants that every
//! script must keep.

mod outside_runs;

use lariat_api::{AskPolicy, Delivery, ProblemCode, SessionStatus};

use super::model::Turn;
use super::script::Condition::{
    Asks, Delivered, Marked, Mode, Model, Outcome, Paused, Queue, Status, Title as Titled,
};
use super::script::ScriptClient::{A, B};
use super::script::Step::{
    Answer, Attach, Await, Close, Continue, Crash, Detach, EarlierRun, Edit, Interrupt, LateAnswer,
    OpenSlowLive, OtherMode, OtherModel, Plan, Prompt, ReadSlowLive, RefusedPrompt, Release, Revive, SameRun,
    Stays, Title, UnknownAction, VoidAnswer, WrongDigest,
};
use super::script::{ApprovalChoice, QueueEdit, Script, asked_call, call, gate, text};

pub(super) use outside_runs::*;

const IDLE: SessionStatus = SessionStatus::Idle;
const RUNNING: SessionStatus = SessionStatus::Running;
const WAITING: SessionStatus = SessionStatus::RequiresAction;

/// Two prompts of two clients, one after the other.
pub(super) fn prompts_run_one_after_the_other() -> Script {
    Script::new(
        "prompts_run_one_after_the_other",
        [
            Prompt(A, "first", Delivery::Queue),
            Await(Delivered(vec!["first"])),
            Await(Status(IDLE)),
            Await(Outcome("completed")),
            Prompt(B, "second", Delivery::Steer),
            Await(Delivered(vec!["first", "second"])),
            Await(Status(IDLE)),
            Prompt(A, "third", Delivery::Interrupt),
            Await(Delivered(vec!["second", "third"])),
            Await(Status(IDLE)),
            Prompt(B, "fourth", Delivery::Reject),
            Await(Delivered(vec!["third", "fourth"])),
        ],
    )
}

/// A tool call without approval runs once.
pub(super) fn a_tool_call_runs_once() -> Script {
    Script::new(
        "a_tool_call_runs_once",
        [
            Plan("work", vec![call("one"), call("two"), text("done")]),
            Prompt(A, "work", Delivery::Queue),
            Await(Marked("two")),
            Await(Status(IDLE)),
            Await(Outcome("completed")),
        ],
    )
}

/// The active run receives a steering message between its tool calls.
pub(super) fn steering_reaches_the_active_run() -> Script {
    Script::new(
        "steering_reaches_the_active_run",
        [
            Plan("work", vec![gate("go", call("mark")), gate("never needed", text("not steered"))]),
            Prompt(A, "work", Delivery::Queue),
            Await(Delivered(vec!["work"])),
            Prompt(B, "steer", Delivery::Steer),
            Await(Queue(vec!["steer"])),
            Release("go"),
            Await(Delivered(vec!["work", "steer"])),
            Await(Status(IDLE)),
            SameRun("work", "steer"),
            Await(Queue(vec![])),
        ],
    )
}

/// Queued messages wait for the end of the run and arrive in order.
pub(super) fn the_queue_waits_for_the_run() -> Script {
    Script::new(
        "the_queue_waits_for_the_run",
        [
            Plan("work", vec![gate("go", call("mark")), gate("end", text("done"))]),
            Prompt(A, "work", Delivery::Queue),
            Await(Delivered(vec!["work"])),
            Prompt(A, "second", Delivery::Queue),
            Prompt(B, "third", Delivery::Queue),
            Await(Queue(vec!["second", "third"])),
            Release("go"),
            Await(Marked("mark")),
            Stays(Queue(vec!["second", "third"])),
            Release("end"),
            Await(Delivered(vec!["work", "second", "third"])),
            Await(Status(IDLE)),
            Await(Queue(vec![])),
        ],
    )
}

/// The queue shows the order of delivery: steering comes before messages that wait for the end of the run.
pub(super) fn steering_overtakes_the_queue() -> Script {
    Script::new(
        "steering_overtakes_the_queue",
        [
            Plan("work", vec![gate("go", call("mark")), text("done")]),
            Plan("steer", vec![gate("end", text("steered"))]),
            Prompt(A, "work", Delivery::Queue),
            Await(Delivered(vec!["work"])),
            Prompt(A, "later", Delivery::Queue),
            Prompt(B, "steer", Delivery::Steer),
            Await(Queue(vec!["steer", "later"])),
            Release("go"),
            Await(Delivered(vec!["work", "steer"])),
            Await(Queue(vec!["later"])),
            Release("end"),
            Await(Delivered(vec!["work", "steer", "later"])),
            Await(Status(IDLE)),
        ],
    )
}

/// An interrupting message stops the run and starts the next.
pub(super) fn an_interrupting_prompt_replaces_the_run() -> Script {
    Script::new(
        "an_interrupting_prompt_replaces_the_run",
        [
            Plan("work", vec![gate("never", call("not this"))]),
            Prompt(A, "work", Delivery::Queue),
            Await(Delivered(vec!["work"])),
            Prompt(B, "instead", Delivery::Interrupt),
            Await(Delivered(vec!["work", "instead"])),
            Await(Status(IDLE)),
            Await(Outcome("completed")),
            EarlierRun("work", "instead"),
        ],
    )
}

/// A message that must not wait is refused while a run is active.
pub(super) fn a_prompt_that_must_not_wait_is_refused() -> Script {
    Script::new(
        "a_prompt_that_must_not_wait_is_refused",
        [
            Plan("work", vec![gate("go", text("done"))]),
            Prompt(A, "work", Delivery::Queue),
            Await(Delivered(vec!["work"])),
            RefusedPrompt(B, "now", Delivery::Reject, ProblemCode::WrongStatus),
            Stays(Queue(vec![])),
            Release("go"),
            Await(Status(IDLE)),
            Prompt(B, "later", Delivery::Reject),
            Await(Delivered(vec!["work", "later"])),
        ],
    )
}

/// An interruption keeps the queue and pauses it, also over a crash, until a client resumes it.
pub(super) fn an_interruption_pauses_the_queue() -> Script {
    Script::new(
        "an_interruption_pauses_the_queue",
        [
            Plan("work", vec![gate("never", text("done"))]),
            Prompt(A, "work", Delivery::Queue),
            Await(Delivered(vec!["work"])),
            Prompt(A, "second", Delivery::Queue),
            Prompt(B, "third", Delivery::Queue),
            Interrupt(B),
            Await(Status(IDLE)),
            Await(Outcome("aborted")),
            Await(Paused(true)),
            Stays(Queue(vec!["second", "third"])),
            Crash,
            Stays(Queue(vec!["second", "third"])),
            Await(Paused(true)),
            Edit(A, QueueEdit::Resume),
            Await(Delivered(vec!["work", "second", "third"])),
            Await(Status(IDLE)),
            Await(Paused(false)),
            Await(Queue(vec![])),
        ],
    )
}

/// A message that arrives without an active run starts one, although the queue is paused.
pub(super) fn a_prompt_runs_while_the_queue_is_paused() -> Script {
    Script::new(
        "a_prompt_runs_while_the_queue_is_paused",
        [
            Plan("work", vec![gate("never", text("done"))]),
            Prompt(A, "work", Delivery::Queue),
            Await(Delivered(vec!["work"])),
            Prompt(A, "second", Delivery::Queue),
            Interrupt(A),
            Await(Status(IDLE)),
            Await(Paused(true)),
            Prompt(B, "now", Delivery::Queue),
            Await(Delivered(vec!["work", "now"])),
            Await(Outcome("completed")),
        ],
    )
}

/// Clients replace, remove and reorder messages that wait.
pub(super) fn clients_edit_the_queue() -> Script {
    Script::new(
        "clients_edit_the_queue",
        [
            Plan("work", vec![gate("go", text("done"))]),
            Prompt(A, "work", Delivery::Queue),
            Await(Delivered(vec!["work"])),
            Prompt(A, "one", Delivery::Queue),
            Prompt(A, "two", Delivery::Queue),
            Prompt(B, "three", Delivery::Queue),
            Await(Queue(vec!["one", "two", "three"])),
            Edit(B, QueueEdit::Reorder(vec!["three", "one", "two"])),
            Await(Queue(vec!["three", "one", "two"])),
            Edit(A, QueueEdit::Remove("one")),
            Await(Queue(vec!["three", "two"])),
            Edit(B, QueueEdit::Replace("two", "better")),
            Await(Queue(vec!["three", "better"])),
            Crash,
            Await(Queue(vec!["three", "better"])),
            Revive,
            Release("go"),
            Await(Delivered(vec!["work", "three", "better"])),
            Await(Status(IDLE)),
        ],
    )
}

/// Both clients see an ask; the first answer wins and the second client learns who gave it.
pub(super) fn the_first_answer_wins() -> Script {
    Script::new(
        "the_first_answer_wins",
        [
            Plan("work", vec![asked_call("mark"), gate("end", text("done"))]),
            Prompt(A, "work", Delivery::Queue),
            Await(Asks(vec!["mark"])),
            Await(Status(WAITING)),
            WrongDigest(A),
            Stays(Asks(vec!["mark"])),
            Answer(B, ApprovalChoice::Allow),
            LateAnswer(A, ApprovalChoice::Deny),
            Await(Asks(vec![])),
            Await(Marked("mark")),
            LateAnswer(A, ApprovalChoice::Allow),
            Release("end"),
            Await(Status(IDLE)),
            Await(Outcome("completed")),
        ],
    )
}

/// A call that a user denies does not run, and the run continues.
pub(super) fn a_denied_call_does_not_run() -> Script {
    Script::new(
        "a_denied_call_does_not_run",
        [
            Plan("work", vec![asked_call("mark"), text("a pity")]),
            Prompt(A, "work", Delivery::Queue),
            Await(Asks(vec!["mark"])),
            Answer(A, ApprovalChoice::Deny),
            LateAnswer(B, ApprovalChoice::Allow),
            Await(Status(IDLE)),
            Await(Outcome("completed")),
        ],
    )
}

/// An ask is gone when its run ends.
pub(super) fn an_ask_ends_with_its_run() -> Script {
    let codes = vec![ProblemCode::NotFound, ProblemCode::AlreadyAnswered, ProblemCode::WrongStatus];
    Script::new(
        "an_ask_ends_with_its_run",
        [
            Plan("work", vec![asked_call("mark"), text("done")]),
            Prompt(A, "work", Delivery::Queue),
            Await(Asks(vec!["mark"])),
            Interrupt(B),
            Await(Status(IDLE)),
            Await(Asks(vec![])),
            Await(Outcome("aborted")),
            VoidAnswer(A, codes),
        ],
    )
}

/// A client that attaches after a crash finds the ask and answers it.
pub(super) fn an_ask_survives_a_crash() -> Script {
    Script::new(
        "an_ask_survives_a_crash",
        [
            Plan("work", vec![asked_call("mark"), text("done")]),
            Prompt(A, "work", Delivery::Queue),
            Await(Asks(vec!["mark"])),
            Crash,
            Await(Asks(vec!["mark"])),
            Answer(B, ApprovalChoice::Allow),
            Revive,
            Await(Marked("mark")),
            Await(Status(IDLE)),
            Await(Outcome("completed")),
        ],
    )
}

/// With no client attached and the policy to deny, an ask does not hang.
pub(super) fn an_ask_without_a_client_is_denied() -> Script {
    Script::new(
        "an_ask_without_a_client_is_denied",
        [
            Plan("work", vec![asked_call("mark"), text("a pity")]),
            Prompt(A, "work", Delivery::Queue),
            Await(Delivered(vec!["work"])),
            Await(Status(IDLE)),
            Await(Outcome("completed")),
            Await(Asks(vec![])),
        ],
    )
    .with_policy(AskPolicy::Deny)
    .unwatched()
}

/// With a client attached, an ask waits for it, whatever the policy without clients is.
pub(super) fn an_attached_client_is_asked() -> Script {
    Script::new(
        "an_attached_client_is_asked",
        [
            Plan("work", vec![asked_call("mark"), text("done")]),
            Prompt(A, "work", Delivery::Queue),
            Await(Asks(vec!["mark"])),
            Stays(Asks(vec!["mark"])),
            Answer(A, ApprovalChoice::Allow),
            Await(Marked("mark")),
            Await(Status(IDLE)),
        ],
    )
    .with_policy(AskPolicy::Deny)
}

/// A run continues when every client is gone.
pub(super) fn a_run_outlives_its_clients() -> Script {
    Script::new(
        "a_run_outlives_its_clients",
        [
            Plan("work", vec![gate("go", call("mark")), text("done")]),
            Prompt(A, "work", Delivery::Queue),
            Await(Delivered(vec!["work"])),
            Detach,
            Await(Status(RUNNING)),
            Release("go"),
            Await(Marked("mark")),
            Await(Status(IDLE)),
            Await(Outcome("completed")),
            Attach,
            Prompt(B, "again", Delivery::Queue),
            Await(Delivered(vec!["work", "again"])),
        ],
    )
}

/// Closing releases a session; the next command opens it again.
pub(super) fn a_closed_session_opens_again() -> Script {
    Script::new(
        "a_closed_session_opens_again",
        [
            Prompt(A, "before", Delivery::Queue),
            Await(Delivered(vec!["before"])),
            Await(Status(IDLE)),
            Close(A),
            Await(Status(SessionStatus::Closed)),
            Prompt(B, "after", Delivery::Queue),
            Await(Delivered(vec!["before", "after"])),
            Await(Status(IDLE)),
        ],
    )
}

/// The description changes for every client.
pub(super) fn a_title_is_set_and_removed() -> Script {
    Script::new(
        "a_title_is_set_and_removed",
        [
            Title(A, "A fine title"),
            Await(Titled("A fine title")),
            Prompt(A, "work", Delivery::Queue),
            Await(Status(IDLE)),
            Stays(Titled("A fine title")),
            Title(B, "Another"),
            Await(Titled("Another")),
            Title(A, ""),
        ],
    )
}

/// Mode and model change for every client, and stay over a crash.
pub(super) fn mode_and_model_change() -> Script {
    Script::new(
        "mode_and_model_change",
        [
            Prompt(A, "work", Delivery::Queue),
            Await(Outcome("completed")),
            Await(Status(IDLE)),
            OtherMode(A),
            Await(Mode),
            OtherModel(B),
            Await(Model),
            Crash,
            Await(Mode),
            Await(Model),
        ],
    )
}

/// An action that the host does not know changes nothing.
pub(super) fn an_unknown_action_changes_nothing() -> Script {
    Script::new(
        "an_unknown_action_changes_nothing",
        [
            UnknownAction(A),
            Prompt(A, "work", Delivery::Queue),
            UnknownAction(B),
            Await(Delivered(vec!["work"])),
            Await(Status(IDLE)),
            UnknownAction(A),
        ],
    )
}

/// A run that failed continues with the same conversation.
pub(super) fn a_failed_run_continues() -> Script {
    Script::new(
        "a_failed_run_continues",
        [
            Plan("work", vec![call("mark"), Turn::Fail { until: "repaired".to_owned() }]),
            Prompt(A, "work", Delivery::Queue),
            Await(Outcome("failed")),
            Await(Status(IDLE)),
            Release("repaired"),
            Continue(B),
            Await(Outcome("completed")),
            Await(Status(IDLE)),
        ],
    )
}

/// A crash while the model replies loses nothing.
pub(super) fn a_crash_during_a_reply_loses_nothing() -> Script {
    Script::new(
        "a_crash_during_a_reply_loses_nothing",
        [
            Plan("work", vec![call("one"), gate("go", call("two")), text("done")]),
            Prompt(A, "work", Delivery::Queue),
            Await(Marked("one")),
            Prompt(B, "next", Delivery::Queue),
            Crash,
            Revive,
            Crash,
            Revive,
            Release("go"),
            Await(Delivered(vec!["work", "next"])),
            Await(Status(IDLE)),
        ],
    )
}

/// A client that does not read the live channel learns that it missed something, and the log is complete.
pub(super) fn a_slow_live_reader_reads_the_log() -> Script {
    // More than a host's channel and the buffers of a socket keep.
    let long = |text: &str, pieces| Turn::Text { text: text.repeat(pieces), pieces };
    Script::new(
        "a_slow_live_reader_reads_the_log",
        [
            Plan("work", vec![call("one"), call("two"), long("many pieces ", 4_000)]),
            Plan("more", vec![long("even more pieces ", 6_000)]),
            OpenSlowLive,
            Prompt(A, "work", Delivery::Queue),
            Await(Status(IDLE)),
            Await(Outcome("completed")),
            Prompt(A, "more", Delivery::Queue),
            Await(Delivered(vec!["work", "more"])),
            Await(Status(IDLE)),
            ReadSlowLive("more"),
        ],
    )
}
