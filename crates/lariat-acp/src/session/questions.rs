//! Shows the questions of a session in the editor, and sends the answers.

use std::sync::Arc;

use lariat_api::{Action, Answer, Ask, AskId, AskKind, ProblemCode, SessionStatus, SessionView};
use serde_json::json;

use super::{OpenSession, QueueState};
use crate::connection::SentRequest;
use crate::question::{self, PermissionForm, QuestionReply};
use crate::wire::draft::{self, Activity};
use crate::wire::{Protocol, RpcError, StopReason, ToolCall, ToolStatus, Update};

impl OpenSession {
    /// Shows the questions of a run that waits, and withdraws those that no longer need an answer.
    pub(super) async fn refresh_questions(self: &Arc<Self>) {
        let Ok(view) = self.view().await else { return };
        let shown: Vec<AskId> = self.state().questions.keys().cloned().collect();
        for id in shown.iter().filter(|id| !view.asks.iter().any(|ask| ask.id == **id)) {
            self.withdraw(id).await;
        }
        // A run that a crash interrupted asks again when it continues.
        if view.status == SessionStatus::RequiresAction {
            for ask in view.asks.iter().filter(|ask| ask.subject.kind() != AskKind::Plan) {
                if !shown.contains(&ask.id) {
                    self.ask(ask.clone(), &view).await;
                }
            }
        }
    }

    /// Asks about the changes that plan mode collected. Returns whether there are any; the prompts then end with the
    /// decision.
    pub(super) async fn ask_about_plan(
        self: &Arc<Self>,
        view: &SessionView,
        result: Result<StopReason, RpcError>,
    ) -> bool {
        let plan = view.asks.iter().find(|ask| ask.subject.kind() == AskKind::Plan);
        let is_wanted = {
            let state = self.state();
            !state.prompts.is_empty() && !state.prompts.iter().any(|prompt| prompt.is_cancelled)
        };
        let Some(plan) = plan.filter(|_| is_wanted) else { return false };
        self.state().plan = Some(result);
        self.ask(plan.clone(), view).await;
        true
    }

    /// Says whether the run waits for an answer.
    pub(super) async fn report_waiting(&self) {
        let waits = !self.state().questions.is_empty();
        self.report(if waits { Activity::RequiresAction } else { Activity::Running }).await;
    }

    async fn ask(self: &Arc<Self>, ask: Ask, view: &SessionView) {
        let call = self.state().calls.get(&ask.id).cloned();
        let form = question::form(&ask, call.as_deref(), &view.plan.changes, self.directory());
        let Some(form) = form else {
            let answer = question::declined("the editor cannot answer this kind of question");
            return self.answer(&ask, answer).await;
        };
        let connection = &self.opening.connection;
        let is_text = question::wants_text(&ask) && self.opening.editor.has_forms();
        let sent = if is_text {
            connection.request("elicitation/create", &question::text_form(self.id.as_str(), &ask)).await
        } else {
            let params = match connection.protocol() {
                Protocol::Stable => json!({
                    "sessionId": self.id.as_str(), "toolCall": form.tool_call, "options": form.options
                }),
                Protocol::Draft => draft::permission(self.id.as_str(), &form.tool_call, &form.options),
            };
            connection.request("session/request_permission", &params).await
        };
        self.state().questions.insert(ask.id.clone(), sent.id);
        self.report_waiting().await;
        tokio::spawn(Arc::clone(self).wait_for_reply(ask, form, is_text, sent));
    }

    async fn wait_for_reply(
        self: Arc<Self>,
        ask: Ask,
        form: PermissionForm,
        is_text: bool,
        sent: SentRequest,
    ) {
        // Without a response, the question was withdrawn or the editor is gone.
        let Ok(response) = sent.response.await else { return };
        if self.state().questions.remove(&ask.id).is_none() {
            return;
        }
        let reply = match response {
            Ok(response) if is_text => question::text_reply(&response),
            Ok(response) => form.reply(&response),
            Err(error) => QuestionReply::Answer(question::declined(&format!(
                "the editor could not ask: {}",
                error.message
            ))),
        };
        if !matches!(ask.subject.kind(), AskKind::Approval | AskKind::Question) {
            // The editor made an entry for the question, which no other event ends.
            self.end_entry(form.tool_call.tool_call_id.clone()).await;
        }
        match reply {
            QuestionReply::Answer(answer) => self.answer(&ask, answer).await,
            QuestionReply::Cancel => self.cancel().await,
        }
    }

    async fn answer(self: &Arc<Self>, ask: &Ask, answer: Answer) {
        let action = Action::Answer { ask_id: ask.id.clone(), digest: ask.digest.clone(), answer };
        let Err(problem) = self.send(action).await else { return };
        match problem.code {
            // Another client was faster, or the run is over. The log says so.
            ProblemCode::AlreadyAnswered | ProblemCode::NotFound | ProblemCode::WrongStatus => {}
            _ => {
                self.say(format!("\n\n[the answer could not be sent: {problem}]\n\n")).await;
                let plan = self.state().plan.take();
                if ask.subject.kind() == AskKind::Plan && plan.is_some() {
                    self.end_prompts(Err(problem.into()), |_| false, QueueState::Delivered).await;
                }
            }
        }
    }

    async fn end_entry(&self, tool_call_id: String) {
        let status = Some(ToolStatus::Completed);
        let call = ToolCall { tool_call_id, status, ..ToolCall::default() };
        self.update(Update::ToolCallUpdate(Box::new(call))).await;
    }

    /// Withdraws a question that the editor shows.
    pub(super) async fn withdraw(&self, id: &AskId) {
        let request = self.state().questions.remove(id);
        if let Some(request) = request {
            self.opening.connection.withdraw(request).await;
        }
    }

    /// Withdraws all questions that the editor shows.
    pub(super) async fn withdraw_all(&self) {
        let shown: Vec<AskId> = self.state().questions.keys().cloned().collect();
        for id in &shown {
            self.withdraw(id).await;
        }
    }
}
