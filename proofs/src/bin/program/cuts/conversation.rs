//! One conversation with side effects, as the model server plays it: which reply a request gets, which calls it sent,
//! and which reply it cuts.
//!
//! Two replies have tool calls, the third has none. A reply that is requested again has other ids and arguments, so
//! that every execution names the reply it came from.
//! Invariant: a request that arrives after a tool ran must name that call; one that does not is a second request for a
//! reply that had an effect.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use lariat_proofs::server::{Turn, Wire};
use serde_json::{Value, json};

use super::response::{Framing, Response};

/// The model's last words.
pub(crate) const LAST_WORDS: &str = "All of it is done.";
/// What the output of a call begins with, followed by its id.
const OUTPUT: &str = "recorded ";
/// Replies with tool calls.
pub(crate) const STAGES: usize = 2;

/// How a connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// The server closes it in order.
    Fin,
    /// The server aborts it.
    Reset,
    /// No more bytes arrive until the client leaves.
    Silence,
}

/// Where the first reply of a stage ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cut {
    /// 1 or 2.
    pub(crate) stage: usize,
    /// Number of bytes of the response.
    pub(crate) at: usize,
    pub(crate) ending: Ending,
}

/// Who runs the calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Caller {
    /// The agent in this process, with tools of this proof.
    Library,
    /// The program, with commands of a shell. A command first appends to the ledger, then waits while a file exists.
    Program { held: PathBuf },
}

/// A call as it was sent.
#[derive(Clone, Debug)]
pub(crate) struct SentCall {
    pub(crate) id: String,
    pub(crate) stage: usize,
    pub(crate) attempt: usize,
    pub(crate) tool: &'static str,
    pub(crate) arguments: Value,
    /// What the ledger says after an execution with exactly these arguments.
    pub(crate) entry: String,
    /// Whether the model said, in the bytes that were sent, that the reply is complete.
    pub(crate) is_declared: bool,
}

/// What the server observed.
#[derive(Default)]
pub(crate) struct Observed {
    pub(crate) sent: Vec<SentCall>,
    /// Requests for each reply.
    pub(crate) attempts: [usize; STAGES + 1],
    pub(crate) faults: Vec<String>,
    /// The last request.
    pub(crate) last: String,
    /// Whether a reply ended in silence.
    pub(crate) is_silent: bool,
}

/// A conversation.
pub(crate) struct Conversation {
    pub(crate) number: usize,
    pub(crate) wire: Wire,
    pub(crate) framing: Framing,
    pub(crate) cut: Option<Cut>,
    pub(crate) caller: Caller,
    /// The file to which every execution appends a line.
    pub(crate) ledger: PathBuf,
    observed: Mutex<Observed>,
}

/// What the server sends for a request.
pub(crate) struct Delivery {
    pub(crate) response: Response,
    /// Where it ends early.
    pub(crate) cut: Option<(usize, Ending)>,
}

impl Conversation {
    pub(crate) fn new(
        number: usize,
        (wire, framing): (Wire, Framing),
        cut: Option<Cut>,
        caller: Caller,
        ledger: PathBuf,
    ) -> Self {
        Self { number, wire, framing, cut, caller, ledger, observed: Mutex::default() }
    }

    pub(crate) fn observed(&self) -> MutexGuard<'_, Observed> {
        self.observed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The executions: id and entry.
    pub(crate) fn executions(&self) -> Vec<(String, String)> {
        let text = std::fs::read_to_string(&self.ledger).unwrap_or_default();
        let lines = text.lines().map(|line| line.split_once(' ').unwrap_or((line, "")));
        lines.map(|(id, entry)| (id.to_owned(), entry.to_owned())).collect()
    }

    /// Decides the response to a request.
    pub(crate) fn respond(&self, body: &str) -> Delivery {
        let executions = self.executions();
        let mut observed = self.observed();
        for (id, _) in executions.iter().filter(|(id, _)| !body.contains(id.as_str())) {
            observed.faults.push(format!("a reply was requested again after its call {id} had run"));
        }
        body.clone_into(&mut observed.last);
        let answered = observed.sent.iter().filter(|call| body.contains(&call.id)).map(|call| call.stage);
        let stage = answered.max().unwrap_or_default() + 1;
        let before = observed.attempts.get_mut(stage - 1).map_or(0, |attempts| {
            *attempts += 1;
            *attempts - 1
        });
        let calls = self.calls(stage, before + 1);
        let response = Response::new(self.wire, &self.turn(stage, before + 1, &calls), self.framing);
        let cut = self.cut.filter(|cut| cut.stage == stage && before == 0);
        let is_declared = cut.is_none_or(|cut| cut.at >= response.declared_at);
        observed.sent.extend(calls.into_iter().map(|call| SentCall { is_declared, ..call }));
        Delivery { response, cut: cut.map(|cut| (cut.at, cut.ending)) }
    }

    /// The bytes of a reply, to know where it can be cut.
    pub(crate) fn response(&self, stage: usize) -> Response {
        Response::new(self.wire, &self.turn(stage, 1, &self.calls(stage, 1)), self.framing)
    }

    fn turn(&self, stage: usize, attempt: usize, calls: &[SentCall]) -> Turn {
        let turn = Turn::new().id(format!("{:08}{stage}{attempt}", self.number)).piece(24);
        let words = if calls.is_empty() { LAST_WORDS } else { "I will do it now: größer." };
        calls
            .iter()
            .fold(turn.text(words), |turn, call| turn.call(call.id.as_str(), call.tool, &call.arguments))
    }

    fn calls(&self, stage: usize, attempt: usize) -> Vec<SentCall> {
        let kinds: &[usize] = match stage {
            1 => &[0, 1, 2],
            2 => &[0],
            _ => &[],
        };
        kinds.iter().map(|kind| self.call(stage, attempt, *kind)).collect()
    }

    fn call(&self, stage: usize, attempt: usize, kind: usize) -> SentCall {
        let id = format!("call_{:06}s{stage}a{attempt}n{kind}", self.number);
        let (tool, arguments, entry) = match (&self.caller, kind) {
            // Arguments whose beginning is valid, too, once a reader completes it.
            (Caller::Library, 0) => {
                let arguments = json!({ "path": format!("/srv/{id}/old"), "all": true });
                ("remove", arguments.clone(), arguments.to_string())
            }
            (Caller::Library, 1) => {
                let arguments = json!({ "path": format!("/srv/{id}"), "count": 1_250 });
                ("remove", arguments.clone(), arguments.to_string())
            }
            // No arguments at all: nothing in them can be missing.
            (Caller::Library, _) => ("empty_bin", json!({}), json!({}).to_string()),
            (Caller::Program { held }, _) => {
                let held = Self::held(held, stage);
                let (ledger, held) = (self.ledger.display(), held.display());
                let command = format!(
                    "printf '%s ' {id} >> {ledger}; printf 'whole\\n' >> {ledger}; \
                     while [ -e {held} ]; do sleep 0.01; done; echo {OUTPUT}{id}"
                );
                ("bash", json!({ "command": command }), "whole".to_owned())
            }
        };
        SentCall { id, stage, attempt, tool, arguments, entry, is_declared: false }
    }

    /// The file whose existence keeps the commands of a stage waiting.
    pub(crate) fn held(base: &Path, stage: usize) -> PathBuf {
        base.with_extension(stage.to_string())
    }

    /// The output of a call.
    pub(crate) fn output(id: &str) -> String {
        format!("{OUTPUT}{id}")
    }
}
