//! The gate: checks every tool call of an agent and of its sub-agents.
//!
//! A tool call passes these stages, each a module here:
//!
//! 1. Before it runs: plan mode → hooks → permission rules and mode → approval. `Gate::run_stages` runs them in order.
//! 2. When it starts: claims on the files it changes, and a check of every file it opens, by its real path
//!    (`opened_files`).
//! 3. After it ran: hooks.
//!
//! What a stage cannot decide requires approval, and what fails is denied.
//!
//! The permission rules are those of `lariat-guard`; this module adds the session's permission mode and the
//! user's decisions during the session.

mod opened_files;
pub(crate) mod plan;
mod remembered_rules;
mod restricted;
mod sandbox_grants;
mod session_events;
mod tool_hooks;
mod verdict;

use std::sync::{Arc, Mutex, PoisonError, RwLock};

use lariat_core::BoxFuture;
use lariat_core::content::ToolCall;
use lariat_core::file_access::FileAccessCheck;
use lariat_core::hooks::SessionHooks;
use lariat_core::id::SessionId;
use lariat_core::opening::SandboxOpening;
use lariat_core::permission::{
    CallPermit, PermissionDecision, PermissionPolicy, PermissionRequest, PolicyQuery, UserQuestion, Verdict,
};
use lariat_core::tool::{Access, ToolEffects, ToolError, ToolResult};
use lariat_guard::hooks::{HookConfig, HookRunner};
use lariat_guard::{
    ApprovalStore, Claims, Confinement, Guard, Judgement, Layer, Mode, Query, Resolver, SessionDirectories,
    Settings, Trust,
};

use opened_files::CheckedCalls;
use plan::ApprovedCalls;
use remembered_rules::RememberedRules;
use sandbox_grants::SandboxGrants;
use tool_hooks::ToolHooks;

/// Why approval is required, and what to do about it, if the tool call would run in a trusted workspace.
const UNTRUSTED: &str = "this directory is not trusted; run `lariat trust` to allow it without asking.";

/// Decides about every tool call of a session and of its sub-agents. The built-in [`PermissionPolicy`].
pub struct Gate {
    layers: Vec<Layer>,
    trust: Trust,
    places: SessionDirectories,
    resolver: Arc<dyn Resolver>,
    confinement: Confinement,
    /// Whether commands run in a sandbox to which single exceptions can be granted.
    has_sandbox: bool,
    hooks: ToolHooks,
    remembered_rules: RememberedRules,
    /// Rules of the command that the user invoked last.
    command_rules: Mutex<Option<Layer>>,
    approved: ApprovedCalls,
    grants: SandboxGrants,
    checked: CheckedCalls,
    claims: Option<Claims>,
    questions: Option<QuestionReader>,
    current: RwLock<CurrentPolicy>,
}

/// Reads the question to the user out of a tool call; `None` if the tool call asks none.
pub type QuestionReader = fn(&str, &serde_json::Value) -> Option<UserQuestion>;

/// What can change during a session.
#[derive(Clone)]
struct CurrentPolicy {
    mode: Mode,
    guard: Arc<Guard>,
}

impl Gate {
    /// Creates a gate with these settings. The layers of an untrusted workspace can only add restrictions.
    pub fn new(
        layers: Vec<Layer>,
        trust: Trust,
        places: SessionDirectories,
        resolver: Arc<dyn Resolver>,
    ) -> Self {
        let settings = Settings::merge(layers.clone(), trust);
        let mode = settings.mode;
        let guard = Arc::new(Guard::new(settings, places.clone(), Arc::clone(&resolver)));
        // By directory, not by project: a relative path in a rule means another file in another directory.
        let remembered_rules = RememberedRules::new(places.directory.display().to_string());
        Self {
            layers,
            trust,
            places,
            resolver,
            confinement: Confinement::Open,
            has_sandbox: false,
            hooks: ToolHooks::default(),
            remembered_rules,
            command_rules: Mutex::default(),
            approved: ApprovedCalls::default(),
            grants: SandboxGrants::default(),
            checked: CheckedCalls::default(),
            claims: None,
            questions: None,
            current: RwLock::new(CurrentPolicy { mode, guard }),
        }
    }

    /// Turns the questions of tools into approval requests, which are durable and which every client of a session sees.
    /// `reader` gets the name of a tool and its arguments. Without it, the tools ask by themselves.
    #[must_use]
    pub const fn with_questions(mut self, reader: QuestionReader) -> Self {
        self.questions = Some(reader);
        self
    }

    /// Declares that commands run in a sandbox without network access.
    #[must_use]
    pub const fn with_sandbox(mut self) -> Self {
        self.confinement = Confinement::Sandboxed;
        self.has_sandbox = true;
        self
    }

    /// Declares that commands run in a sandbox with access to the network and to services on this machine.
    /// The sandbox does not restrict what they do there, so the mode `auto` asks for approval.
    #[must_use]
    pub const fn with_sandbox_and_network(mut self) -> Self {
        self.has_sandbox = true;
        self
    }

    /// Adds hooks and their runner. It must not contain hooks of an untrusted workspace.
    #[must_use]
    pub fn with_hooks(mut self, hook_config: HookConfig, runner: Arc<dyn HookRunner>) -> Self {
        self.hooks = ToolHooks::new(hook_config, runner, self.places.directory.display().to_string());
        self
    }

    /// Sets the file that hooks receive as `transcript_path`. Call it after [`with_hooks`](Self::with_hooks).
    #[must_use]
    pub fn with_transcript(mut self, path: impl Into<String>) -> Self {
        self.hooks.transcript = path.into();
        self
    }

    /// Stores rules of "allow always" decisions here, and applies those that are already stored.
    ///
    /// # Errors
    /// If the stored rules cannot be read.
    pub fn with_approvals(mut self, store: ApprovalStore) -> Result<Self, lariat_guard::StateFileError> {
        self.remembered_rules = self.remembered_rules.with_store(store)?;
        self.rebuild_guard();
        Ok(self)
    }

    /// Prevents sessions that share these claims from changing the same files at the same time.
    #[must_use]
    pub fn with_claims(mut self, claims: Claims) -> Self {
        self.claims = Some(claims);
        self
    }

    /// Applies the rules of a command that the user invoked, in place of those of an earlier one; `None` for no rules. They
    /// are as strong as the settings of their origin: in a workspace that is not trusted, those of the project allow nothing.
    pub fn set_command_rules(&self, rules: Option<Layer>) {
        let mut current = self.command_rules.lock().unwrap_or_else(PoisonError::into_inner);
        if *current != rules {
            *current = rules;
            drop(current);
            self.rebuild_guard();
        }
    }

    /// Returns the permission mode of the session.
    pub fn mode(&self) -> Mode {
        self.current().mode
    }

    /// Changes the permission mode, as far as the settings allow it. Returns the mode that now applies.
    pub fn set_mode(&self, mode: Mode) -> Mode {
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        current.mode = current.guard.settings().allowed_mode(mode);
        current.mode
    }

    /// Explains whether a tool call would be allowed, denied or require approval now. Runs nothing and asks
    /// for nothing.
    pub fn explain(&self, query: &PolicyQuery<'_>) -> Judgement {
        let current = self.current();
        current.guard.judge(&self.guard_query(query, &query.call.arguments, current.mode))
    }

    /// Returns the check for files that the session reads on its own: files that a rule denies or requires
    /// approval for are not read.
    pub fn read_check(&self) -> Arc<dyn FileAccessCheck> {
        opened_files::read_check(self.guard())
    }

    /// Returns the current guard, including remembered rules.
    pub fn guard(&self) -> Arc<Guard> {
        self.current().guard
    }

    /// Passes a tool call through the stages in order.
    async fn run_stages(&self, query: PolicyQuery<'_>) -> Verdict {
        let CurrentPolicy { mode, guard } = self.current();
        if query.call.name == crate::proposal::PROPOSE {
            return self.propose(&query, mode, &guard);
        }
        if mode == Mode::Plan && !self.approved.covers(query.call, &query.call.arguments) {
            let judgement = guard.judge(&self.guard_query(&query, &query.call.arguments, mode));
            if let Some(verdict) = verdict::plan_mode_verdict(&query, &judgement) {
                return verdict;
            }
        }
        let hook_outcome = self.hooks.run_before_call(&query, mode, &guard).await;
        if let Some(refusal) = verdict::hook_denial(&hook_outcome) {
            return refusal;
        }
        let rewritten = hook_outcome.updated_input.clone().map(Arc::new);
        let arguments = rewritten.as_deref().unwrap_or(&query.call.arguments);
        let approved = self.approved.covers(query.call, arguments);
        // An approved change of a plan runs outside plan mode.
        let mode = if approved && mode == Mode::Plan { Mode::Default } else { mode };
        let guard_query = self.guard_query(&query, arguments, mode);
        let requested = match Guard::requested_openings(&guard_query) {
            Ok(requested) if self.has_sandbox => requested,
            Ok(_) => Vec::new(),
            Err(why) => return Verdict::Deny(why),
        };
        if let Some(why) = sandbox_grants::denial(&requested, &guard) {
            return Verdict::Deny(why);
        }
        // The sandbox does not restrict what runs outside it.
        let outside = requested.contains(&SandboxOpening::Outside);
        let guard_query = if outside { guard_query.with_confinement(Confinement::Open) } else { guard_query };
        let judgement = guard.judge(&guard_query);
        self.checked.add(&query, arguments, &judgement);
        let reason = match verdict::combine(&hook_outcome, &judgement) {
            verdict::CombinedDecision::Run
                if !approved && !self.are_granted(&requested, &guard_query, &guard) =>
            {
                let why = "it requests more than the sandbox allows".to_owned();
                if guard.settings().allowed_mode(mode) == Mode::DontAsk {
                    return Verdict::Deny(why);
                }
                why
            }
            verdict::CombinedDecision::Run => {
                return match self.questions.and_then(|read| read(&query.call.name, arguments)) {
                    Some(question) => verdict::question(&query, mode, question),
                    None => rewritten.map_or(Verdict::Allow, Verdict::Rewrite),
                };
            }
            verdict::CombinedDecision::Deny(why) => return Verdict::Deny(why),
            // The user approved exactly this, and a hook cannot ask for more than that.
            verdict::CombinedDecision::Ask(_) if approved => return Verdict::Allow,
            verdict::CombinedDecision::Ask(why) => why,
        };
        let openings = self.grantable(requested, &guard_query, &guard);
        self.grants.request(&query.call.id, &guard_query);
        let reason = match openings.as_slice() {
            [] => reason,
            openings => format!("{reason}\n{}", sandbox_grants::describe(openings)),
        };
        let reason =
            if self.trust_would_allow(&guard_query) { format!("{reason}\n- {UNTRUSTED}") } else { reason };
        let request = verdict::request(&query, arguments, &judgement, &reason, guard.suggest(&guard_query))
            .with_openings(openings);
        let request = match &rewritten {
            Some(arguments) => request.with_args(Arc::clone(arguments)),
            None => request,
        };
        self.hooks.on_request(&query, mode, &guard, &judgement, request).await
    }

    /// Whether a tool call requires approval only because the workspace is not trusted.
    fn trust_would_allow(&self, guard_query: &Query<'_>) -> bool {
        if self.trust == Trust::Trusted {
            return false;
        }
        let settings = Settings::merge(self.current_layers(), Trust::Trusted);
        let guard = Guard::new(settings, self.places.clone(), Arc::clone(&self.resolver));
        guard.judge(guard_query).verdict == lariat_guard::GuardDecision::Allow
    }

    /// Whether remembered decisions already grant every requested sandbox exception.
    fn are_granted(&self, requested: &[SandboxOpening], guard_query: &Query<'_>, guard: &Guard) -> bool {
        requested.is_empty() || {
            let open = self.remembered_rules.openings(guard_query, guard);
            requested.iter().all(|opening| open.contains(opening))
        }
    }

    /// Returns the sandbox exceptions that an approval grants: those that the tool call requests, and those
    /// that its command needs.
    fn grantable(
        &self,
        requested: Vec<SandboxOpening>,
        guard_query: &Query<'_>,
        guard: &Guard,
    ) -> Vec<SandboxOpening> {
        let mut openings = requested;
        if self.has_sandbox && !openings.contains(&SandboxOpening::Outside) {
            openings.extend(guard.needed_openings(guard_query));
        }
        openings.sort();
        openings.dedup();
        openings
    }

    /// Decides about a proposal: queues it in plan mode, if no rule denies the proposed change.
    fn propose(&self, query: &PolicyQuery<'_>, mode: Mode, guard: &Guard) -> Verdict {
        let Some(change) = crate::proposal::proposed_call(query.call).filter(|_| mode == Mode::Plan) else {
            return Verdict::Deny(match mode {
                Mode::Plan => "a proposal must name a `tool` and its `arguments`".to_owned(),
                _ => "plan mode is off; call the tool itself".to_owned(),
            });
        };
        let inner = PolicyQuery::new(query.session_id, query.loop_id, &change, ToolEffects::ALL);
        let judgement = guard.judge(&self.guard_query(&inner, &change.arguments, Mode::Default));
        if judgement.verdict == lariat_guard::GuardDecision::Deny {
            return Verdict::Deny(judgement.why());
        }
        Verdict::Queue { summary: verdict::summary(&inner, &change.arguments) }
    }

    fn guard_query<'a>(
        &self,
        query: &PolicyQuery<'a>,
        arguments: &'a serde_json::Value,
        mode: Mode,
    ) -> Query<'a> {
        Query::new(&query.call.name, arguments, query.effects)
            .with_mode(mode)
            .with_confinement(self.confinement)
    }

    fn current(&self) -> CurrentPolicy {
        self.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the settings together with the rules that the user's decisions and commands added.
    fn current_layers(&self) -> impl Iterator<Item = Layer> {
        let of_command = self.command_rules.lock().unwrap_or_else(PoisonError::into_inner).clone();
        self.layers.iter().cloned().chain(self.remembered_rules.layer()).chain(of_command)
    }

    /// Creates a new guard, with the rules that apply now.
    fn rebuild_guard(&self) {
        let settings = Settings::merge(self.current_layers(), self.trust);
        let guard = Guard::new(settings, self.places.clone(), Arc::clone(&self.resolver));
        self.current.write().unwrap_or_else(PoisonError::into_inner).guard = Arc::new(guard);
    }
}

impl PermissionPolicy for Gate {
    fn check<'a>(&'a self, query: PolicyQuery<'a>) -> BoxFuture<'a, Verdict> {
        Box::pin(self.run_stages(query))
    }

    fn has_pure_check(&self) -> bool {
        self.hooks.runs_no_hooks_before_calls()
    }

    fn access(&self) -> Access {
        if self.mode() == Mode::Plan { Access::Reads } else { Access::Full }
    }

    fn is_offered(&self, tool: &str) -> bool {
        self.guard().hiding_rule(tool).is_none()
    }

    /// Only if clients answer questions, and not in a mode that asks nothing.
    fn allows_questions(&self) -> bool {
        self.questions.is_some() && self.mode() != Mode::DontAsk
    }

    fn can_plan(&self) -> bool {
        true
    }

    fn release_files(&self, session_id: &SessionId) {
        if let Some(claims) = &self.claims {
            claims.release(session_id.as_str());
        }
    }

    fn on_approved(&self, call: &ToolCall) {
        self.approved.add(call);
    }

    fn on_start(&self, query: PolicyQuery<'_>) -> Result<CallPermit, String> {
        let CurrentPolicy { mode, guard } = self.current();
        let approved = self.approved.covers(query.call, &query.call.arguments);
        let access = if mode == Mode::Plan && !approved { Access::Reads } else { Access::Full };
        let mode = if approved && mode == Mode::Plan { Mode::Default } else { mode };
        let guard_query = self.guard_query(&query, &query.call.arguments, mode);
        let files = self.checked.start(&query, &guard_query, Arc::clone(&guard));
        let mut clearance = CallPermit { access, files: Some(files.check), ..CallPermit::default() };
        if self.has_sandbox && access == Access::Full {
            clearance.openings =
                self.grants.for_call(&query.call.id, &guard_query, &guard, &self.remembered_rules, approved);
        }
        if let Some(claims) = self.claims.as_ref().filter(|_| access == Access::Full) {
            let held =
                claims.take(query.session_id.as_str(), files.written).map_err(|taken| taken.to_string())?;
            clearance.held = Some(Box::new(held));
        }
        Ok(clearance)
    }

    fn on_answered(&self, request: &PermissionRequest, decision: &PermissionDecision) {
        self.grants.record_decision(request, decision);
        if self.remembered_rules.record(request, decision) {
            self.rebuild_guard();
        }
    }

    fn on_finished<'a>(
        &'a self,
        query: PolicyQuery<'a>,
        result: &'a mut Result<ToolResult, ToolError>,
    ) -> BoxFuture<'a, ()> {
        self.approved.end(&query.call.id);
        self.grants.end(&query.call.id);
        Box::pin(self.hooks.run_after_call(query, self.mode(), self.guard(), result))
    }

    fn session_hooks(&self) -> Option<&dyn SessionHooks> {
        Some(self)
    }
}

impl std::fmt::Debug for Gate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gate").field("mode", &self.mode()).field("trust", &self.trust).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
