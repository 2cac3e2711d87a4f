//! Questions of running tools to the user, and approval requests of sub-agents.
//!
//! A question is an approval request with a question in it, so that it is durable, every client of the session sees it, and
//! the first answer wins. Invariant: a tool receives an answer only once the answer is durable.

use std::panic::AssertUnwindSafe;

use lariat_core::BoxFuture;
use lariat_core::content::ToolCall;
use lariat_core::display;
use lariat_core::id::ToolCallId;
use lariat_core::permission::{DangerLevel, PermissionDecision, PermissionRequest};
use lariat_core::question::{UserAnswer, UserQuestion};
use lariat_core::run::Input;
use tokio::sync::oneshot;

use super::super::mailbox::{Mailbox, MailboxItem};
use super::Driver;

/// What a tool receives if the session may not ask the user.
const NO_USER: &str = "no user is available to answer";

/// Sends the question of a tool to its run, and waits for the answer.
pub(crate) fn send(
    mailbox: &Mailbox,
    call: &ToolCall,
    question: UserQuestion,
) -> BoxFuture<'static, UserAnswer> {
    let request = PermissionRequest::new(call, display::block(&question.text))
        .with_danger(DangerLevel::Safe)
        .with_question(question);
    let (reply, answer) = oneshot::channel();
    // A run that is over drops the item, and with it the sender.
    let _ = mailbox.send(MailboxItem::Ask { request: Box::new(request), reply });
    Box::pin(async move { answer.await.map_or(UserAnswer::Withdrawn, PermissionDecision::into_answer) })
}

impl Driver {
    /// Records the question of a tool. A tool that does not run any more, or that has asked already, gets no answer.
    pub(super) fn ask_for_tool(
        &mut self,
        request: Box<PermissionRequest>,
        reply: oneshot::Sender<PermissionDecision>,
    ) {
        let is_allowed = AssertUnwindSafe(|| self.ports.policy.allows_questions());
        // A policy that panics allows nothing. The approval request of a sub-agent is not a question of a tool.
        if request.question.is_some() && !std::panic::catch_unwind(is_allowed).unwrap_or(false) {
            let _ = reply.send(PermissionDecision::deny(NO_USER));
            return;
        }
        let call = request.tool_call_id.clone();
        if self.asking_tools.iter().any(|(asking, _)| *asking == call) {
            return;
        }
        self.feed(Input::ToolAsked { call: call.clone(), request });
        if self.run.pending_permissions().any(|pending| pending.tool_call_id == call) {
            self.asking_tools.push((call, reply));
        }
    }

    /// Gives a durable answer to the tool that asked.
    pub(super) fn answer_tool(&mut self, request: &PermissionRequest, decision: &PermissionDecision) {
        let at = self.asking_tools.iter().position(|(call, _)| *call == request.tool_call_id);
        if let Some((_, reply)) = at.map(|at| self.asking_tools.swap_remove(at)) {
            let _ = reply.send(decision.clone());
        }
    }

    /// Withdraws the question of a tool that does not wait for the answer any more.
    pub(super) fn withdraw_question(&mut self, call: &ToolCallId) {
        let asked = self.run.pending_permissions().find(|pending| pending.tool_call_id == *call);
        if let Some(request) = asked.map(|request| request.id) {
            self.feed(Input::PermissionAnswered { request, decision: PermissionDecision::Withdrawn });
        }
    }
}
