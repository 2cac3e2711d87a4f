//! The permission check for every tool call, from the agent and its sub-agents.
//!
//! A tool call passes these stages: plan mode → hooks → permission rules and mode → approval; when it starts
//! → claims on the files it changes, and a check of every file it opens by its real path (`opened`); after it
//! ran → hooks. Each stage is a module here; `Gate::pass` runs them in order. What a stage cannot decide
//! requires approval, and what fails is denied.
//!
//! The permission rules are those of `lariat-guard`; this module adds the session's permission mode and the
//! user's decisions during the session.

mod hooked;
mod moments;
mod opened;
mod openings;
pub(crate) mod plan;
mod remembered;
mod verdict;

use std::sync::{Arc, PoisonError, RwLock};

use lariat_core::BoxFuture;
use lariat_core::content::ToolCall;
use lariat_core::file_judge::FileJudge;
use lariat_core::hooks::SessionHooks;
use lariat_core::opening::Opening;
use lariat_core::permission::{
    Clearance, PermissionDecision, PermissionPolicy, PermissionRequest, PolicyQuery, Verdict,
};
use lariat_core::tool::{Access, ToolEffects, ToolError, ToolResult};
use lariat_guard::hooks::{HookBook, HookRunner};
use lariat_guard::{
    ApprovalBook, Claims, Confinement, Guard, Judgement, Layer, Mode, Places, Query, Resolver, Settings,
    Trust,
};

use hooked::Hooked;
use opened::JudgedCalls;
use openings::Openings;
use plan::Approved;
use remembered::Remembered;

/// Why approval is required, and what to do about it, if the tool call would run in a trusted workspace.
const UNTRUSTED: &str = "this directory is not trusted; run `lariat trust` to allow it without asking.";

/// Decides about every tool call of a session and of its sub-agents. The built-in [`PermissionPolicy`].
pub struct Gate {
    layers: Vec<Layer>,
    trust: Trust,
    places: Places,
    resolver: Arc<dyn Resolver>,
    confinement: Confinement,
    /// Whether commands run in a sandbox to which single exceptions can be granted.
    has_sandbox: bool,
    hooks: Hooked,
    remembered: Remembered,
    approved: Approved,
    openings: Openings,
    judged: JudgedCalls,
    claims: Option<Claims>,
    now: RwLock<Now>,
}

/// What can change during a session.
#[derive(Clone)]
struct Now {
    mode: Mode,
    guard: Arc<Guard>,
}

impl Gate {
    /// Creates a gate with these settings. The layers of an untrusted workspace can only add restrictions.
    pub fn new(layers: Vec<Layer>, trust: Trust, places: Places, resolver: Arc<dyn Resolver>) -> Self {
        let settings = Settings::merge(layers.clone(), trust);
        let mode = settings.mode;
        let guard = Arc::new(Guard::new(settings, places.clone(), Arc::clone(&resolver)));
        // By directory, not by project: a relative path in a rule means another file in another directory.
        let remembered = Remembered::new(places.directory.display().to_string());
        Self {
            layers,
            trust,
            places,
            resolver,
            confinement: Confinement::Open,
            has_sandbox: false,
            hooks: Hooked::default(),
            remembered,
            approved: Approved::default(),
            openings: Openings::default(),
            judged: JudgedCalls::default(),
            claims: None,
            now: RwLock::new(Now { mode, guard }),
        }
    }

    /// Declares that commands run in a sandbox without network access.
    #[must_use]
    pub const fn sandboxed(mut self) -> Self {
        self.confinement = Confinement::Sandboxed;
        self.has_sandbox = true;
        self
    }

    /// Declares that commands run in a sandbox with access to the network and to services on this machine.
    /// The sandbox does not restrict what they do there, so the mode `auto` asks for approval.
    #[must_use]
    pub const fn sandboxed_with_network(mut self) -> Self {
        self.has_sandbox = true;
        self
    }

    /// Adds hooks and their runner. The book must not contain hooks of an untrusted workspace.
    #[must_use]
    pub fn with_hooks(mut self, book: HookBook, runner: Arc<dyn HookRunner>) -> Self {
        self.hooks = Hooked::new(book, runner, self.places.directory.display().to_string());
        self
    }

    /// Stores rules of "allow always" decisions in this book, and applies those it already contains.
    ///
    /// # Errors
    /// If the book cannot be read.
    pub fn with_approvals(mut self, book: ApprovalBook) -> Result<Self, lariat_guard::KeptError> {
        self.remembered = self.remembered.with_book(book)?;
        self.renew();
        Ok(self)
    }

    /// Prevents sessions that share these claims from changing the same files at the same time.
    #[must_use]
    pub fn with_claims(mut self, claims: Claims) -> Self {
        self.claims = Some(claims);
        self
    }

    /// Returns the permission mode of the session.
    pub fn mode(&self) -> Mode {
        self.now().mode
    }

    /// Changes the permission mode, as far as the settings allow it. Returns the mode that now applies.
    pub fn set_mode(&self, mode: Mode) -> Mode {
        let mut now = self.now.write().unwrap_or_else(PoisonError::into_inner);
        now.mode = now.guard.settings().permitted(mode);
        now.mode
    }

    /// Explains whether a tool call would be allowed, denied or require approval now. Runs nothing and asks
    /// for nothing.
    pub fn explain(&self, query: &PolicyQuery<'_>) -> Judgement {
        let now = self.now();
        now.guard.judge(&self.question(query, &query.call.arguments, now.mode))
    }

    /// Returns the check for files that the session reads on its own: files that a rule denies or requires
    /// approval for are not read.
    pub fn reading(&self) -> Arc<dyn FileJudge> {
        opened::reading(self.guard())
    }

    /// Returns the current guard, including remembered rules.
    pub fn guard(&self) -> Arc<Guard> {
        self.now().guard
    }

    /// Passes a tool call through the stages in order.
    async fn pass(&self, query: PolicyQuery<'_>) -> Verdict {
        let Now { mode, guard } = self.now();
        if query.call.name == plan::PROPOSE {
            return self.propose(&query, mode, &guard);
        }
        if mode == Mode::Plan && !self.approved.covers(query.call, &query.call.arguments) {
            let judgement = guard.judge(&self.question(&query, &query.call.arguments, mode));
            if let Some(verdict) = verdict::planned(&query, &judgement) {
                return verdict;
            }
        }
        let hooked = self.hooks.before(&query, mode, &guard).await;
        if let Some(refusal) = verdict::refused(&hooked) {
            return refusal;
        }
        let rewritten = hooked.updated_input.clone().map(Arc::new);
        let arguments = rewritten.as_deref().unwrap_or(&query.call.arguments);
        let approved = self.approved.covers(query.call, arguments);
        // An approved change of a plan runs outside plan mode.
        let mode = if approved && mode == Mode::Plan { Mode::Default } else { mode };
        let question = self.question(&query, arguments, mode);
        let requested = match Guard::requested(&question) {
            Ok(requested) if self.has_sandbox => requested,
            Ok(_) => Vec::new(),
            Err(why) => return Verdict::Deny(why),
        };
        if let Some(why) = openings::denied(&requested, &guard) {
            return Verdict::Deny(why);
        }
        // The sandbox does not restrict what runs outside it.
        let outside = requested.contains(&Opening::Outside);
        let question = if outside { question.with_confinement(Confinement::Open) } else { question };
        let judgement = guard.judge(&question);
        self.judged.add(&query, &judgement);
        let asked = match verdict::weigh(&hooked, &judgement) {
            verdict::Weighed::Run if !approved && !self.is_open(&requested, &question, &guard) => {
                let why = "it requests more than the sandbox allows".to_owned();
                if guard.settings().permitted(mode) == Mode::DontAsk {
                    return Verdict::Deny(why);
                }
                why
            }
            verdict::Weighed::Run => {
                return rewritten.map_or(Verdict::Allow, Verdict::Rewrite);
            }
            verdict::Weighed::Deny(why) => return Verdict::Deny(why),
            // The user approved exactly this, and a hook cannot ask for more than that.
            verdict::Weighed::Ask(_) if approved => return Verdict::Allow,
            verdict::Weighed::Ask(why) => why,
        };
        let openings = self.offered(requested, &question, &guard);
        self.openings.asked(&query.call.id, &question);
        let asked = match openings.as_slice() {
            [] => asked,
            openings => format!("{asked}\n{}", openings::words(openings)),
        };
        let asked = if self.trust_would_allow(&question) { format!("{asked}\n- {UNTRUSTED}") } else { asked };
        let request = verdict::request(&query, arguments, &judgement, &asked, guard.suggest(&question))
            .with_openings(openings);
        let request = match &rewritten {
            Some(arguments) => request.with_args(Arc::clone(arguments)),
            None => request,
        };
        self.hooks.on_request(&query, mode, &guard, &judgement, request).await
    }

    /// Whether a tool call requires approval only because the workspace is not trusted.
    fn trust_would_allow(&self, question: &Query<'_>) -> bool {
        if self.trust == Trust::Trusted {
            return false;
        }
        let layers = self.layers.iter().cloned().chain(self.remembered.layer());
        let settings = Settings::merge(layers, Trust::Trusted);
        let guard = Guard::new(settings, self.places.clone(), Arc::clone(&self.resolver));
        guard.judge(question).verdict == lariat_guard::Decision::Allow
    }

    /// Whether remembered decisions already grant every requested sandbox exception.
    fn is_open(&self, requested: &[Opening], question: &Query<'_>, guard: &Guard) -> bool {
        requested.is_empty() || {
            let open = self.remembered.openings(question, guard);
            requested.iter().all(|opening| open.contains(opening))
        }
    }

    /// Returns the sandbox exceptions that an approval grants: those that the tool call requests, and those
    /// that its command needs.
    fn offered(&self, requested: Vec<Opening>, question: &Query<'_>, guard: &Guard) -> Vec<Opening> {
        let mut openings = requested;
        if self.has_sandbox && !openings.contains(&Opening::Outside) {
            openings.extend(guard.needs(question));
        }
        openings.sort();
        openings.dedup();
        openings
    }

    /// Decides about a proposal: queues it in plan mode, if no rule denies the proposed change.
    fn propose(&self, query: &PolicyQuery<'_>, mode: Mode, guard: &Guard) -> Verdict {
        let Some(change) = plan::proposed(query.call).filter(|_| mode == Mode::Plan) else {
            return Verdict::Deny(match mode {
                Mode::Plan => "a proposal must name a `tool` and its `arguments`".to_owned(),
                _ => "plan mode is off; call the tool itself".to_owned(),
            });
        };
        let inner = PolicyQuery::new(query.session_id, query.loop_id, &change, ToolEffects::ALL);
        let judgement = guard.judge(&self.question(&inner, &change.arguments, Mode::Default));
        if judgement.verdict == lariat_guard::Decision::Deny {
            return Verdict::Deny(judgement.why());
        }
        Verdict::Queue { summary: verdict::summary(&inner, &change.arguments) }
    }

    fn question<'a>(
        &self,
        query: &PolicyQuery<'a>,
        arguments: &'a serde_json::Value,
        mode: Mode,
    ) -> Query<'a> {
        Query::new(&query.call.name, arguments, query.effects)
            .with_mode(mode)
            .with_confinement(self.confinement)
    }

    fn now(&self) -> Now {
        self.now.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Creates a new guard, with the rules remembered now.
    fn renew(&self) {
        let layers = self.layers.iter().cloned().chain(self.remembered.layer());
        let settings = Settings::merge(layers, self.trust);
        let guard = Guard::new(settings, self.places.clone(), Arc::clone(&self.resolver));
        self.now.write().unwrap_or_else(PoisonError::into_inner).guard = Arc::new(guard);
    }
}

impl PermissionPolicy for Gate {
    fn check<'a>(&'a self, query: PolicyQuery<'a>) -> BoxFuture<'a, Verdict> {
        Box::pin(self.pass(query))
    }

    fn only_judges(&self) -> bool {
        self.hooks.lets_pass()
    }

    fn access(&self) -> Access {
        if self.mode() == Mode::Plan { Access::Reads } else { Access::Full }
    }

    fn plans(&self) -> bool {
        true
    }

    fn approved(&self, call: &ToolCall) {
        self.approved.add(call);
    }

    fn starts(&self, query: PolicyQuery<'_>) -> Result<Clearance, String> {
        let Now { mode, guard } = self.now();
        let approved = self.approved.covers(query.call, &query.call.arguments);
        let access = if mode == Mode::Plan && !approved { Access::Reads } else { Access::Full };
        let mode = if approved && mode == Mode::Plan { Mode::Default } else { mode };
        let question = self.question(&query, &query.call.arguments, mode);
        let files = Some(self.judged.judge(&query, &question, Arc::clone(&guard)));
        let mut clearance = Clearance { access, files, ..Clearance::default() };
        if self.has_sandbox && access == Access::Full {
            clearance.openings =
                self.openings.of(&query.call.id, &question, &guard, &self.remembered, approved);
        }
        if let Some(claims) = self.claims.as_ref().filter(|_| access == Access::Full) {
            let paths = guard.written(&question);
            let held = claims.take(query.session_id.as_str(), paths).map_err(|taken| taken.to_string())?;
            clearance.held = Some(Box::new(held));
        }
        Ok(clearance)
    }

    fn answered(&self, request: &PermissionRequest, decision: &PermissionDecision) {
        self.openings.answered(request, decision);
        if self.remembered.take(request, decision) {
            self.renew();
        }
    }

    fn finished<'a>(
        &'a self,
        query: PolicyQuery<'a>,
        result: &'a mut Result<ToolResult, ToolError>,
    ) -> BoxFuture<'a, ()> {
        self.approved.end(&query.call.id);
        self.openings.end(&query.call.id);
        Box::pin(self.hooks.after(query, self.mode(), self.guard(), result))
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
#[path = "gate_tests.rs"]
mod tests;
