//! Asks the user on the terminal about a tool call of another agent. One question at a time, answered with a line, because no run of
//! Lariat owns the keys of the terminal here.

use std::io::{BufRead as _, IsTerminal as _};

use lariat_core::BoxFuture;
use lariat_core::permission::{Approver, PermissionDecision, PermissionRequest};
use lariat_terminal::approval::{ApprovalAnswer, ApprovalDialog};
use lariat_terminal::theme::Theme;
use tokio::sync::{Mutex, oneshot};

use super::output::write_stderr;
use crate::process_env::ProcessEnv;

/// Asks on standard error, and reads lines from standard input.
pub(super) struct TerminalApprover {
    theme: Theme,
    /// Held while a question is open.
    turn: Mutex<()>,
}

impl TerminalApprover {
    /// `None` if no user can answer.
    pub(super) fn open(env: &ProcessEnv, theme: Theme) -> Option<Self> {
        let can_ask = env.is_interactive() && std::io::stderr().is_terminal();
        can_ask.then(|| Self { theme, turn: Mutex::new(()) })
    }

    async fn decide(&self, request: &PermissionRequest) -> PermissionDecision {
        let _turn = self.turn.lock().await;
        let arguments = request.args.as_deref();
        let question = ApprovalDialog { request, arguments, is_confined: false };
        write_stderr(&format!("\n{}", question.lines(&self.theme)));
        loop {
            write_stderr(&question.prompt());
            let Some(line) = line().await else { return PermissionDecision::Deny { reason: None } };
            let mut letters = line.trim().chars();
            let (Some(letter), None) = (letters.next(), letters.next()) else { continue };
            match question.answer(letter) {
                ApprovalAnswer::Decided(decision) => return decision,
                ApprovalAnswer::WantsReason => return PermissionDecision::Deny { reason: None },
                ApprovalAnswer::WantsDiff => {
                    let preview = request.preview.as_deref().unwrap_or_default();
                    write_stderr(&format!("{}\n", lariat_core::display::block(preview)));
                }
                ApprovalAnswer::Unclear => {}
            }
        }
    }
}

impl Approver for TerminalApprover {
    fn ask<'a>(&'a self, request: &'a PermissionRequest) -> BoxFuture<'a, PermissionDecision> {
        Box::pin(self.decide(request))
    }
}

/// The next line of standard input; `None` at its end. A thread of its own reads it, because nothing can interrupt the read and the
/// program must be able to end meanwhile.
async fn line() -> Option<String> {
    let (sender, receiver) = oneshot::channel();
    std::thread::spawn(move || {
        let mut line = String::new();
        let read = std::io::stdin().lock().read_line(&mut line);
        let _ = sender.send(read.ok().filter(|bytes| *bytes > 0).map(|_| line));
    });
    receiver.await.ok().flatten()
}
