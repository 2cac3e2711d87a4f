//! Scripts as data: what clients, the model and faults do to one session, and what must be true in between.

use lariat_api::{AskPolicy, CheckpointParts, Delivery, ProblemCode, SessionStatus};

use super::model::{Approval, Turn};

/// A client of the session. Both are attached for the whole script, unless it says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScriptClient {
    /// Follows the log on one connection.
    A,
    /// Follows the log, and drops the connection after every event.
    B,
}

impl ScriptClient {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::A => "client-a",
            Self::B => "client-b",
        }
    }
}

/// A script for one session.
#[derive(Clone, Debug)]
pub struct Script {
    pub(super) name: &'static str,
    pub(super) policy: AskPolicy,
    pub(super) watched: WatchMode,
    pub(super) steps: Vec<Step>,
}

/// Whether clients are attached at the start of a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WatchMode {
    ByClients,
    ByNobody,
}

/// What a user answers to an approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ApprovalChoice {
    Allow,
    Deny,
}

/// A change of the queue, with messages by the keys of their prompts.
#[derive(Clone, Debug)]
pub(super) enum QueueEdit {
    Replace(&'static str, &'static str),
    Remove(&'static str),
    Reorder(Vec<&'static str>),
    Resume,
}

/// The point that a restore returns to.
#[derive(Clone, Copy, Debug)]
pub(super) enum Point {
    Start,
    Checkpoint(&'static str),
    /// After the last message of the reply to a prompt.
    ReplyTo(&'static str),
    UnknownMessage,
}

/// How a command of the user ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CommandEnd {
    ByItself,
    Early,
}

/// Something that must be true.
#[derive(Clone, Debug)]
pub(super) enum Condition {
    Status(SessionStatus),
    /// The calls that wait for approval, by their marks.
    Asks(Vec<&'static str>),
    /// The prompts that wait, in order.
    Queue(Vec<&'static str>),
    Paused(bool),
    /// The serialised kind of the outcome of the newest run.
    Outcome(&'static str),
    Title(&'static str),
    Mode,
    Model,
    /// These prompts are in the conversation, in this order, among others.
    Delivered(Vec<&'static str>),
    /// The tool or the shell left this mark.
    Marked(&'static str),
    /// The files that exist, by their marks, oldest first.
    Files(Vec<&'static str>),
    /// The newest request to the model had exactly these messages of the user: prompts, and outputs of commands.
    Request(Vec<&'static str>),
    /// The newest restore of files began and has not ended.
    Restoring,
    Ended(&'static str, CommandEnd),
}

/// One step of a script. Texts are keys of prompts, names of gates and marks; the runner makes them unique.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// The model will reply so to a prompt.
    Plan(&'static str, Vec<Turn>),
    /// The model may continue.
    Release(&'static str),
    Prompt(ScriptClient, &'static str, Delivery),
    RefusedPrompt(ScriptClient, &'static str, Delivery, ProblemCode),
    Continue(ScriptClient),
    Interrupt(ScriptClient),
    Close(ScriptClient),
    Title(ScriptClient, &'static str),
    OtherMode(ScriptClient),
    OtherModel(ScriptClient),
    /// An action of a newer version; refused.
    UnknownAction(ScriptClient),
    Edit(ScriptClient, QueueEdit),
    /// Names a checkpoint.
    Checkpoint(ScriptClient, &'static str),
    Restore(ScriptClient, Point, CheckpointParts),
    RefusedRestore(ScriptClient, Point, CheckpointParts, ProblemCode),
    /// Sends a restore, crashes the host while files change, and sends the same command again.
    InterruptedRestore(ScriptClient, Point, CheckpointParts),
    /// Runs a command of the user. It waits for the gate with its name.
    Shell(ScriptClient, &'static str),
    RefusedShell(ScriptClient, &'static str, ProblemCode),
    /// Answers the oldest ask.
    Answer(ScriptClient, ApprovalChoice),
    /// Answers the ask that was the oldest before; refused, because the first answer won.
    LateAnswer(ScriptClient, ApprovalChoice),
    /// Answers the ask that was the oldest before, after the run ended; refused with any of these codes.
    VoidAnswer(ScriptClient, Vec<ProblemCode>),
    /// Answers the oldest ask with the digest of something else; refused.
    WrongDigest(ScriptClient),
    /// Waits until this is true.
    Await(Condition),
    /// This is true now and stays true for a while.
    Stays(Condition),
    /// The first prompt was delivered in the same run as the second.
    SameRun(&'static str, &'static str),
    /// The first prompt was delivered in an earlier run than the second.
    EarlierRun(&'static str, &'static str),
    /// Ends the host as `kill -9` does and opens it again.
    Crash,
    /// Makes an interrupted run continue. A host that continues by itself needs no command.
    Revive,
    /// Drops every stream of every client.
    Detach,
    /// Attaches the clients again, each after its last event.
    Attach,
    /// Opens a live channel that no client reads.
    OpenSlowLive,
    /// Reads what the slow channel has: everything, or `Resync`.
    ReadSlowLive(&'static str),
}

impl Script {
    pub(super) fn new(name: &'static str, steps: impl IntoIterator<Item = Step>) -> Self {
        let steps = steps.into_iter().collect();
        Self { name, policy: AskPolicy::Wait, watched: WatchMode::ByClients, steps }
    }

    pub(super) const fn with_policy(mut self, policy: AskPolicy) -> Self {
        self.policy = policy;
        self
    }

    pub(super) const fn unwatched(mut self) -> Self {
        self.watched = WatchMode::ByNobody;
        self
    }

    /// The name of the script.
    pub const fn name(&self) -> &'static str {
        self.name
    }
}

/// A text in one piece.
pub(super) fn text(text: &str) -> Turn {
    Turn::Text { text: text.to_owned(), pieces: 3 }
}

/// A call that runs without approval.
pub(super) fn call(mark: &str) -> Turn {
    Turn::Call { mark: mark.to_owned(), approval: Approval::Free }
}

/// A call that needs approval.
pub(super) fn asked_call(mark: &str) -> Turn {
    Turn::Call { mark: mark.to_owned(), approval: Approval::Needed }
}

/// The same reply, after the script opened the gate.
pub(super) fn gate(gate: &str, then: Turn) -> Turn {
    Turn::Gate { gate: gate.to_owned(), then: Box::new(then) }
}
