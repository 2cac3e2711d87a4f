//! The one gate: who may do what, for every caller.
//!
//! Owns the line that a call walks: plan mode → hooks → rules and mode → approval, then, when it starts → claim of the
//! files it changes, every file it opens by its real path (`opened`), and after it ran → hooks. The stages are the modules beside this one; `Gate::pass` is the line, and
//! it is straight. What a stage cannot decide is asked, what fails is denied.
//!
//! The rules are the guard's; this module gives them the session's mode and what the person answered meanwhile.

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

/// Why a call is asked that would run in a trusted workspace, and what to do about it.
const UNTRUSTED: &str = "this folder is not trusted; after `lariat trust` it runs without asking.";

/// Decides about every call of a session and of its sub-agents.
pub struct Gate {
    layers: Vec<Layer>,
    trust: Trust,
    places: Places,
    resolver: Arc<dyn Resolver>,
    confinement: Confinement,
    /// Whether commands run in a sandbox in which single things can be opened.
    has_sandbox: bool,
    hooks: Hooked,
    remembered: Remembered,
    approved: Approved,
    openings: Openings,
    judged: JudgedCalls,
    claims: Option<Claims>,
    now: RwLock<Now>,
}

/// What can change while a session runs.
#[derive(Clone)]
struct Now {
    mode: Mode,
    guard: Arc<Guard>,
}

impl Gate {
    /// A gate by these settings. The layers of an untrusted workspace count as far as they forbid.
    pub fn new(layers: Vec<Layer>, trust: Trust, places: Places, resolver: Arc<dyn Resolver>) -> Self {
        let settings = Settings::merge(layers.clone(), trust);
        let mode = settings.mode;
        let guard = Arc::new(Guard::new(settings, places.clone(), Arc::clone(&resolver)));
        // By the directory, not by the project: a relative path in a rule means another file elsewhere.
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

    /// Commands run in a sandbox without a network.
    #[must_use]
    pub const fn sandboxed(mut self) -> Self {
        self.confinement = Confinement::Sandboxed;
        self.has_sandbox = true;
        self
    }

    /// Commands run in a sandbox, and reach the network and the services of this machine: what they do there is not held
    /// by the sandbox, so the mode `auto` asks.
    #[must_use]
    pub const fn sandboxed_with_network(mut self) -> Self {
        self.has_sandbox = true;
        self
    }

    /// Adds hooks and who runs them. Hooks of an untrusted workspace must not be in the book.
    #[must_use]
    pub fn with_hooks(mut self, book: HookBook, runner: Arc<dyn HookRunner>) -> Self {
        self.hooks = Hooked::new(book, runner, self.places.directory.display().to_string());
        self
    }

    /// Keeps rules that are added by an "always" in this book, and counts those that are there.
    ///
    /// # Errors
    /// When the book cannot be read.
    pub fn with_approvals(mut self, book: ApprovalBook) -> Result<Self, lariat_guard::KeptError> {
        self.remembered = self.remembered.with_book(book)?;
        self.renew();
        Ok(self)
    }

    /// Keeps sessions that share this table from changing the same files at the same time.
    #[must_use]
    pub fn with_claims(mut self, claims: Claims) -> Self {
        self.claims = Some(claims);
        self
    }

    /// The mode of the session.
    pub fn mode(&self) -> Mode {
        self.now().mode
    }

    /// Changes the mode, as far as the settings permit it. Gives the mode that counts now.
    pub fn set_mode(&self, mode: Mode) -> Mode {
        let mut now = self.now.write().unwrap_or_else(PoisonError::into_inner);
        now.mode = now.guard.settings().permitted(mode);
        now.mode
    }

    /// Why a call would be allowed, asked or denied now. Nothing is run and nobody is asked.
    pub fn explain(&self, query: &PolicyQuery<'_>) -> Judgement {
        let now = self.now();
        now.guard.judge(&self.question(query, &query.call.arguments, now.mode))
    }

    /// Judges the files that the session reads on its own: what a rule denies or asks is not read.
    pub fn reading(&self) -> Arc<dyn FileJudge> {
        opened::reading(self.guard())
    }

    /// The guard as it stands, with what was remembered.
    pub fn guard(&self) -> Arc<Guard> {
        self.now().guard
    }

    /// The line.
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
        // What was approved out of a plan is not part of planning any more.
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
        // What runs outside of the sandbox is not held by it.
        let outside = requested.contains(&Opening::Outside);
        let question = if outside { question.with_confinement(Confinement::Open) } else { question };
        let judgement = guard.judge(&question);
        self.judged.add(&query, &judgement);
        let asked = match verdict::weigh(&hooked, &judgement) {
            verdict::Weighed::Run if !approved && !self.is_open(&requested, &question, &guard) => {
                let why = "it asks for more than the sandbox allows".to_owned();
                if guard.settings().permitted(mode) == Mode::DontAsk {
                    return Verdict::Deny(why);
                }
                why
            }
            verdict::Weighed::Run => {
                return rewritten.map_or(Verdict::Allow, Verdict::Rewrite);
            }
            verdict::Weighed::Deny(why) => return Verdict::Deny(why),
            // The person had exactly this before their eyes, and a hook cannot want more than that.
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

    /// Whether a call is asked only because the workspace is not trusted.
    fn trust_would_allow(&self, question: &Query<'_>) -> bool {
        if self.trust == Trust::Trusted {
            return false;
        }
        let layers = self.layers.iter().cloned().chain(self.remembered.layer());
        let settings = Settings::merge(layers, Trust::Trusted);
        let guard = Guard::new(settings, self.places.clone(), Arc::clone(&self.resolver));
        guard.judge(question).verdict == lariat_guard::Decision::Allow
    }

    /// Whether everything that a call asks for is open already, by an answer that is remembered.
    fn is_open(&self, requested: &[Opening], question: &Query<'_>, guard: &Guard) -> bool {
        requested.is_empty() || {
            let open = self.remembered.openings(question, guard);
            requested.iter().all(|opening| open.contains(opening))
        }
    }

    /// What an approval of a call opens: what it asks for, and what its words say that it needs.
    fn offered(&self, requested: Vec<Opening>, question: &Query<'_>, guard: &Guard) -> Vec<Opening> {
        let mut openings = requested;
        if self.has_sandbox && !openings.contains(&Opening::Outside) {
            openings.extend(guard.needs(question));
        }
        openings.sort();
        openings.dedup();
        openings
    }

    /// What becomes of a proposal: it is queued in plan mode, if no rule forbids what it proposes.
    fn propose(&self, query: &PolicyQuery<'_>, mode: Mode, guard: &Guard) -> Verdict {
        let Some(change) = plan::proposed(query.call).filter(|_| mode == Mode::Plan) else {
            return Verdict::Deny(match mode {
                Mode::Plan => "a proposal names a `tool` and its `arguments`.".to_owned(),
                _ => "this is not plan mode: call the tool itself.".to_owned(),
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

    /// Makes the guard anew, with what is remembered now.
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
