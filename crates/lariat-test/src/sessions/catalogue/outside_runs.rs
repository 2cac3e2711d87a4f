//! Scripts of what a session does outside runs: it restores a conversation and files, and runs the user's own commands.

use lariat_api::{CheckpointParts, Delivery, ProblemCode};

use super::{IDLE, RUNNING};
use crate::sessions::script::Condition::{Delivered, Ended, Files, Marked, Request, Status};
use crate::sessions::script::ScriptClient::{A, B};
use crate::sessions::script::Step::{
    Await, Checkpoint, Crash, Interrupt, InterruptedRestore, Plan, Prompt, RefusedPrompt, RefusedRestore,
    RefusedShell, Release, Restore, Revive, Shell, Stays,
};
use crate::sessions::script::{CommandEnd, Point, Script, Step, call, gate, text};

const BEFORE: Point = Point::Checkpoint("before");
const BOTH: CheckpointParts = CheckpointParts::Both;
const CONVERSATION: CheckpointParts = CheckpointParts::Conversation;
const FILES: CheckpointParts = CheckpointParts::Files;

/// A prompt whose run adds a file, up to the end of the run.
fn run(name: &'static str, mark: &'static str) -> [Step; 4] {
    [
        Plan(name, vec![call(mark), text("done")]),
        Prompt(A, name, Delivery::Queue),
        Await(Delivered(vec![name])),
        Await(Status(IDLE)),
    ]
}

/// Two runs that add a file each, with a checkpoint between them.
fn two_runs() -> impl Iterator<Item = Step> {
    run("one", "first").into_iter().chain([Checkpoint(A, "before")]).chain(run("two", "second"))
}

/// A third run, to see what the model receives after a restore.
fn next_run(request: &[&'static str]) -> [Step; 4] {
    [
        Prompt(A, "three", Delivery::Queue),
        Await(Delivered(vec!["three"])),
        Await(Request(request.to_vec())),
        Await(Status(IDLE)),
    ]
}

/// Two runs, a restore that nothing holds back, and a third run.
fn restored(name: &'static str, restore: Step, files: &[&'static str], request: &[&'static str]) -> Script {
    let steps = std::iter::once(Release("undo")).chain(two_runs()).chain([
        restore,
        Await(Files(files.to_vec())),
        Stays(Status(IDLE)),
    ]);
    Script::new(name, steps.chain(next_run(request)))
}

/// The conversation returns to a checkpoint, and the files stay.
pub(in crate::sessions) fn a_conversation_is_restored() -> Script {
    let restore = Restore(B, BEFORE, CONVERSATION);
    restored("a_conversation_is_restored", restore, &["first", "second"], &["one", "three"])
}

/// The files return to a checkpoint, and the conversation stays.
pub(in crate::sessions) fn files_are_restored() -> Script {
    restored("files_are_restored", Restore(A, BEFORE, FILES), &["first"], &["one", "two", "three"])
}

/// Files and conversation return to the point after a message.
pub(in crate::sessions) fn a_restore_returns_to_a_message() -> Script {
    let restore = Restore(B, Point::ReplyTo("one"), BOTH);
    restored("a_restore_returns_to_a_message", restore, &["first"], &["one", "three"])
}

/// Files and conversation return to the start.
pub(in crate::sessions) fn a_restore_to_the_start_undoes_everything() -> Script {
    let restore = Restore(A, Point::Start, BOTH);
    restored("a_restore_to_the_start_undoes_everything", restore, &[], &["three"])
}

/// A run is not pulled from under its own files: a restore is refused until the run ended.
pub(in crate::sessions) fn a_restore_is_refused_while_a_run_works() -> Script {
    Script::new(
        "a_restore_is_refused_while_a_run_works",
        [
            Plan("work", vec![call("mark"), gate("go", text("done"))]),
            Prompt(A, "work", Delivery::Queue),
            Await(Marked("mark")),
            RefusedRestore(B, Point::Start, BOTH, ProblemCode::WrongStatus),
            RefusedRestore(A, Point::Start, CONVERSATION, ProblemCode::WrongStatus),
            Stays(Files(vec!["mark"])),
            Release("go"),
            Await(Status(IDLE)),
            Release("undo"),
            Restore(B, Point::Start, FILES),
            Await(Files(vec![])),
        ],
    )
}

/// A restore to a checkpoint or a message that does not exist changes nothing.
pub(in crate::sessions) fn an_unknown_point_is_not_restored() -> Script {
    let steps = run("one", "first").into_iter().chain([
        RefusedRestore(A, BEFORE, BOTH, ProblemCode::NotFound),
        RefusedRestore(B, Point::UnknownMessage, CONVERSATION, ProblemCode::NotFound),
        RefusedRestore(A, Point::UnknownMessage, BOTH, ProblemCode::NotFound),
        Stays(Files(vec!["first"])),
        Stays(Status(IDLE)),
    ]);
    Script::new("an_unknown_point_is_not_restored", steps)
}

/// A restore that a crash interrupts is finished, once.
pub(in crate::sessions) fn a_restore_survives_a_crash() -> Script {
    let steps = two_runs().chain([
        InterruptedRestore(B, BEFORE, BOTH),
        Release("undo"),
        Revive,
        Await(Files(vec!["first"])),
        Await(Status(IDLE)),
    ]);
    Script::new("a_restore_survives_a_crash", steps.chain(next_run(&["one", "three"])))
}

/// A command of the user runs once, and the model receives its output with the next prompt.
pub(in crate::sessions) fn a_users_command_runs_once() -> Script {
    Script::new(
        "a_users_command_runs_once",
        [
            Shell(A, "build"),
            Await(Marked("build")),
            Stays(Status(RUNNING)),
            Release("build"),
            Await(Ended("build", CommandEnd::ByItself)),
            Await(Status(IDLE)),
            Prompt(B, "well", Delivery::Queue),
            Await(Delivered(vec!["well"])),
            Await(Request(vec!["build", "well"])),
            Await(Status(IDLE)),
        ],
    )
}

/// A command of the user and a run exclude each other, and so do two commands.
pub(in crate::sessions) fn a_users_command_excludes_runs() -> Script {
    Script::new(
        "a_users_command_excludes_runs",
        [
            Shell(A, "build"),
            RefusedPrompt(B, "now", Delivery::Queue, ProblemCode::WrongStatus),
            RefusedShell(B, "other", ProblemCode::WrongStatus),
            RefusedRestore(A, Point::Start, BOTH, ProblemCode::WrongStatus),
            Release("build"),
            Await(Ended("build", CommandEnd::ByItself)),
            Await(Status(IDLE)),
            Plan("work", vec![gate("go", text("done"))]),
            Prompt(A, "work", Delivery::Queue),
            Await(Delivered(vec!["work"])),
            RefusedShell(B, "late", ProblemCode::WrongStatus),
            Release("go"),
            Await(Status(IDLE)),
            Await(Files(vec!["build"])),
        ],
    )
}

/// An interruption ends a command of the user, and a restore undoes what it changed.
pub(in crate::sessions) fn a_users_command_is_interrupted() -> Script {
    Script::new(
        "a_users_command_is_interrupted",
        [
            Shell(A, "build"),
            Await(Marked("build")),
            Interrupt(B),
            Await(Ended("build", CommandEnd::Early)),
            Await(Status(IDLE)),
            Release("undo"),
            Restore(A, Point::Start, FILES),
            Await(Files(vec![])),
            Await(Status(IDLE)),
            Prompt(A, "work", Delivery::Queue),
            Await(Delivered(vec!["work"])),
            Await(Status(IDLE)),
        ],
    )
}

/// A command that a crash interrupts is reported as ended, and does not run again.
pub(in crate::sessions) fn a_crash_ends_a_users_command() -> Script {
    Script::new(
        "a_crash_ends_a_users_command",
        [
            Shell(A, "build"),
            Await(Marked("build")),
            Crash,
            Release("build"),
            Revive,
            Await(Ended("build", CommandEnd::Early)),
            Await(Status(IDLE)),
            Prompt(B, "well", Delivery::Queue),
            Await(Delivered(vec!["well"])),
            Await(Status(IDLE)),
        ],
    )
}
