//! Implements the contracts for `Arc`, so that several agents can share a model, a tool or a policy, and the
//! program can keep a handle to what it gave to an agent.
//!
//! Invariant: every method is forwarded, also those with a default.

#![deny(clippy::missing_trait_methods)]

use std::sync::Arc;

use serde_json::Value;

use crate::BoxFuture;
use crate::budget::{BudgetLimits, BudgetRequest};
use crate::cancel::CancellationToken;
use crate::content::ToolCall;
use crate::hooks::{FilterResult, Flow, HookInterest, Hooks, InputFilter, SessionHooks};
use crate::id::{SessionId, ToolCallId};
use crate::message::AgentMessage;
use crate::model::{ModelConfig, ModelStream, ProviderError, StreamConfig, StreamProvider};
use crate::permission::{
    Approver, CallPermit, PermissionDecision, PermissionPolicy, PermissionRequest, PolicyQuery, Verdict,
};
use crate::tool::{Access, AgentTool, ToolContext, ToolEffects, ToolError, ToolResult};
use crate::transcript::Window;
use crate::usage::Usage;

impl<T: StreamProvider + ?Sized> StreamProvider for Arc<T> {
    fn provider_id(&self) -> &str {
        (**self).provider_id()
    }

    fn stream(&self, request: StreamConfig, cancel: CancellationToken) -> ModelStream {
        (**self).stream(request, cancel)
    }

    fn count_tokens<'a>(
        &'a self,
        request: StreamConfig,
    ) -> BoxFuture<'a, Result<Option<u64>, ProviderError>> {
        (**self).count_tokens(request)
    }

    fn reports_cost(&self, model: &ModelConfig) -> bool {
        (**self).reports_cost(model)
    }

    fn check_model(&self, model: &ModelConfig) -> Result<(), ProviderError> {
        (**self).check_model(model)
    }
}

impl<T: AgentTool + ?Sized> AgentTool for Arc<T> {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn label(&self) -> &str {
        (**self).label()
    }

    fn description(&self) -> &str {
        (**self).description()
    }

    fn parameters_schema(&self) -> Value {
        (**self).parameters_schema()
    }

    fn effects(&self) -> ToolEffects {
        (**self).effects()
    }

    fn is_parallel_safe(&self) -> bool {
        (**self).is_parallel_safe()
    }

    fn is_offered(&self, access: Access) -> bool {
        (**self).is_offered(access)
    }

    fn task_argument(&self) -> Option<&'static str> {
        (**self).task_argument()
    }

    fn background_calls(&self) -> Vec<(&'static str, Value)> {
        (**self).background_calls()
    }

    fn extra_grace(&self) -> std::time::Duration {
        (**self).extra_grace()
    }

    fn preview<'a>(&'a self, params: &'a Value) -> BoxFuture<'a, Result<Option<String>, ToolError>> {
        (**self).preview(params)
    }

    fn execute<'a>(
        &'a self,
        params: Value,
        context: ToolContext,
    ) -> BoxFuture<'a, Result<ToolResult, ToolError>> {
        (**self).execute(params, context)
    }
}

impl<T: PermissionPolicy + ?Sized> PermissionPolicy for Arc<T> {
    fn check<'a>(&'a self, query: PolicyQuery<'a>) -> BoxFuture<'a, Verdict> {
        (**self).check(query)
    }

    fn on_answered(&self, request: &PermissionRequest, decision: &PermissionDecision) {
        (**self).on_answered(request, decision);
    }

    fn has_pure_check(&self) -> bool {
        (**self).has_pure_check()
    }

    fn release_files(&self, session_id: &SessionId) {
        (**self).release_files(session_id);
    }

    fn access(&self) -> Access {
        (**self).access()
    }

    fn on_start(&self, query: PolicyQuery<'_>) -> Result<CallPermit, String> {
        (**self).on_start(query)
    }

    fn is_offered(&self, tool: &str) -> bool {
        (**self).is_offered(tool)
    }

    fn allows_questions(&self) -> bool {
        (**self).allows_questions()
    }

    fn can_plan(&self) -> bool {
        (**self).can_plan()
    }

    fn on_approved(&self, call: &ToolCall) {
        (**self).on_approved(call);
    }

    fn on_finished<'a>(
        &'a self,
        query: PolicyQuery<'a>,
        result: &'a mut Result<ToolResult, ToolError>,
    ) -> BoxFuture<'a, ()> {
        (**self).on_finished(query, result)
    }

    fn session_hooks(&self) -> Option<&dyn SessionHooks> {
        (**self).session_hooks()
    }
}

impl<T: Approver + ?Sized> Approver for Arc<T> {
    fn ask<'a>(&'a self, request: &'a PermissionRequest) -> BoxFuture<'a, PermissionDecision> {
        (**self).ask(request)
    }

    fn extend_budget<'a>(&'a self, request: &'a BudgetRequest) -> BoxFuture<'a, Option<BudgetLimits>> {
        (**self).extend_budget(request)
    }
}

impl<T: Hooks + ?Sized> Hooks for Arc<T> {
    fn interest(&self) -> HookInterest {
        (**self).interest()
    }

    fn before_loop(&self, messages: &Window, loop_index: u64) -> Flow {
        (**self).before_loop(messages, loop_index)
    }

    fn after_loop(&self, messages: &Window, usage: &Usage) {
        (**self).after_loop(messages, usage);
    }

    fn before_turn(&self, messages: &Window, turn_index: u32) -> Flow {
        (**self).before_turn(messages, turn_index)
    }

    fn after_turn(&self, messages: &Window, usage: &Usage) {
        (**self).after_turn(messages, usage);
    }

    fn before_tool_execution(&self, tool_name: &str, tool_call_id: &ToolCallId, args: &Value) -> Flow {
        (**self).before_tool_execution(tool_name, tool_call_id, args)
    }

    fn after_tool_execution(&self, tool_name: &str, tool_call_id: &ToolCallId, is_error: bool) {
        (**self).after_tool_execution(tool_name, tool_call_id, is_error);
    }

    fn before_tool_execution_update(&self, tool_name: &str, tool_call_id: &ToolCallId, text: &str) -> Flow {
        (**self).before_tool_execution_update(tool_name, tool_call_id, text)
    }

    fn after_tool_execution_update(&self, tool_name: &str, tool_call_id: &ToolCallId, text: &str) {
        (**self).after_tool_execution_update(tool_name, tool_call_id, text);
    }

    fn on_error(&self, error: &str) {
        (**self).on_error(error);
    }
}

impl<T: InputFilter + ?Sized> InputFilter for Arc<T> {
    fn filter(&self, message: &AgentMessage) -> FilterResult {
        (**self).filter(message)
    }
}
