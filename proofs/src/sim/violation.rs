//! The violations of invariants, one variant per invariant.

use lariat_core::id::ToolCallId;

/// A violated invariant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Violation {
    /// An acknowledged event was lost, moved or changed.
    #[error("an acknowledged event was lost, moved or changed: {0}")]
    AcknowledgedLost(String),
    /// An observer missed a durable event, or saw one twice.
    #[error("an observer missed an event or saw one twice: {0}")]
    ObserverGap(String),
    /// An observer saw a durable event that was not acknowledged.
    #[error("an observer saw an event before it was acknowledged: {0}")]
    SeenBeforeAcknowledged(String),
    /// A tool ran before its start was durable.
    #[error("call `{0}` ran before its start was durable")]
    RanBeforeRecorded(ToolCallId),
    /// A tool ran twice for one call.
    #[error("call `{0}` ran more than once")]
    RanTwice(ToolCallId),
    /// A tool ran although the gate denied it.
    #[error("call `{0}` ran although it was forbidden")]
    RanForbidden(ToolCallId),
    /// A tool that must run alone ran concurrently with others.
    #[error("call `{0}` ran concurrently although it must run alone")]
    RanBeside(ToolCallId),
    /// A request that a model API would reject.
    #[error("an invalid request was sent: {0}")]
    InvalidRequest(String),
    /// A request does not contain the result of the previous turn.
    #[error("a request does not contain the previous turn: {0}")]
    Forgotten(String),
    /// A loop saw something of a loop that ran at the same time.
    #[error("a loop and its sibling were mixed up: {0}")]
    Mixed(String),
    /// Hooks or events in the wrong order.
    #[error("wrong order: {0}")]
    WrongOrder(String),
    /// The journal of a finished run is malformed.
    #[error("wrong journal: {0}")]
    WrongJournal(String),
    /// A limit was exceeded by more than one turn.
    #[error("a limit was exceeded: {0}")]
    LimitExceeded(String),
    /// The run waits for something that will never happen.
    #[error("the run hangs")]
    Hangs,
    /// The run does not end.
    #[error("the run never ends")]
    NeverEnds,
    /// The run ended with an unexplained error.
    #[error("unexplained error: {0}")]
    WrongError(String),
    /// An accepted message is not in the journal.
    #[error("a message that was accepted is not in the journal: {0}")]
    LostText(String),
    /// The code itself panicked: a failed assertion.
    #[error("a panic: {0}")]
    Panicked(String),
    /// A loop could not be recovered.
    #[error("a loop could not be recovered: {0}")]
    NotRecovered(String),
    /// A loop could not be started.
    #[error("a loop could not be started: {0}")]
    NotStarted(String),
    /// The conversation in the journal differs from the one of the run.
    #[error("the conversation read back differs: {0}")]
    FoldDiffers(String),
    /// A writer violated the contract of the store.
    #[error("a writer violated the contract of the store: {0}")]
    Misuse(String),
    /// A sub-agent worked after its end, or after that of an agent above it.
    #[error("a sub-agent works on after its end: {0}")]
    RanAgain(String),
    /// The journals of a tree of agents contradict each other.
    #[error("wrong tree of agents: {0}")]
    WrongTree(String),
    /// A parent records another usage of a sub-agent than its journal says.
    #[error("wrong usage of a sub-agent: {0}")]
    WrongUsage(String),
    /// A budget was exceeded by more than the open calls.
    #[error("a budget was exceeded: {0}")]
    OverBudget(String),
    /// A command that a host acknowledged is not in the journal.
    #[error("an acknowledged command is not in the journal: {0}")]
    CommandLost(String),
    /// A command is in the journal twice, or in another session too.
    #[error("a command was carried out twice: {0}")]
    CommandTwice(String),
    /// A host replied what it must not reply.
    #[error("a wrong reply of the host: {0}")]
    WrongReply(String),
    /// Two answers to one question were accepted, or the loser learned a wrong winner.
    #[error("a question has the wrong answer: {0}")]
    WrongAnswer(String),
    /// A client that follows a session missed an event, or saw one twice.
    #[error("a follower missed an event or saw one twice: {0}")]
    FollowerGap(String),
    /// A view is not what the events of the session say.
    #[error("a view differs from the journal: {0}")]
    WrongView(String),
    /// A request contains messages that the user left behind.
    #[error("a request contains rewound messages: {0}")]
    NotRewound(String),
    /// A tool or a request uses another permission mode or model than the client chose.
    #[error("a choice of a client does not apply: {0}")]
    WrongChoice(String),
    /// A fork and its origin are mixed up.
    #[error("a fork and its origin are mixed up: {0}")]
    WrongFork(String),
    /// A session is not at rest, although nothing disturbs it any more.
    #[error("a session does not come to rest: {0}")]
    NeverRests(String),
    /// Recovery from a prefix of the journal failed.
    #[error("recovery after event {at}: {what}")]
    Prefix {
        /// Number of events in the prefix.
        at: usize,
        /// What went wrong.
        what: String,
    },
}
