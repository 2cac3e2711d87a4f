//! Decides every tool call, in this order: deny rules, ask rules, uncertain and critical commands, permission mode, allow
//! rules.
//!
//! A deny or ask rule applies as soon as it matches one part of a tool call; to run, every part must be allowed by the mode
//! or by a rule. What nothing decides requires approval, or is denied in a mode that never asks.

use std::path::Path;
use std::sync::Arc;

use lariat_core::file_access::FileUse;
use lariat_core::permission::DangerLevel;
use lariat_core::tool::ToolEffects;
use serde_json::{Value, json};

use crate::analyzed_call::AnalyzedCall;
use crate::check_context::CheckContext;
use crate::effect::Effect;
use crate::judgement::{Cause, GuardDecision, JudgedFile, Judgement, Reason};
use crate::mode::{Confinement, Mode, ModeDecision};
use crate::origin::Origin;
use crate::part::{FileAccess, Part};
use crate::resolve::{ResolvedPath, Resolver, SessionDirectories};
use crate::rule::{Rule, Warning};
use crate::rulebook::Rulebook;
use crate::settings::{Layer, Settings, Trust};
use crate::shell::Doubt;
use crate::tool_name::{CallSubject, alias_of, call_subject};

/// A tool call to be decided.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Query<'a> {
    /// The name of the tool.
    pub tool: &'a str,
    /// Its arguments.
    pub arguments: &'a Value,
    /// The effects that the tool declares.
    pub effects: ToolEffects,
    /// The permission mode of the session.
    pub mode: Mode,
    /// Whether a command would run in a sandbox.
    pub confinement: Confinement,
}

impl<'a> Query<'a> {
    /// A tool call in the default mode, without a sandbox.
    pub const fn new(tool: &'a str, arguments: &'a Value, effects: ToolEffects) -> Self {
        Self { tool, arguments, effects, mode: Mode::Default, confinement: Confinement::Open }
    }

    /// Sets the mode.
    pub const fn with_mode(mut self, mode: Mode) -> Self {
        self.mode = mode;
        self
    }

    /// Sets whether a command would run in a sandbox.
    pub const fn with_confinement(mut self, confinement: Confinement) -> Self {
        self.confinement = confinement;
        self
    }
}

/// Decides tool calls by permission rules and modes.
pub struct Guard {
    settings: Settings,
    context: CheckContext,
    rulebook: Rulebook,
    warnings: Vec<Warning>,
}

impl Guard {
    /// Creates the guard of a session.
    pub fn new(settings: Settings, places: SessionDirectories, resolver: Arc<dyn Resolver>) -> Self {
        let context = CheckContext::new(&settings, places, resolver);
        let (rulebook, broken) = Rulebook::new(settings.rules.clone(), &context);
        let mut warnings = settings.warnings.clone();
        warnings.extend(broken);
        Self { settings, context, rulebook, warnings }
    }

    /// The settings that the guard was created from.
    pub const fn settings(&self) -> &Settings {
        &self.settings
    }

    /// What in the settings has no effect, and why.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// Returns the deny rule that hides a tool from the model, if there is one.
    pub fn hiding_rule(&self, tool: &str) -> Option<&Rule> {
        self.rulebook.hiding_rule(tool)
    }

    /// Whether a deny or ask rule restricts reading some files.
    pub fn restricts_reading(&self) -> bool {
        self.rulebook.restricts_reading()
    }

    /// Decides about a file that a tool call has opened, by its real path. The arguments were decided before; this repeats
    /// the decision with the real path in place of the named one.
    pub fn judge_opened(&self, query: &Query<'_>, path: &Path, used: FileUse) -> Judgement {
        let access = if used == FileUse::Read { FileAccess::Read } else { FileAccess::Write };
        self.decide_parts(
            query,
            &AnalyzedCall::of_file(Part::file(ResolvedPath::of_opened_file(path), access, &self.context)),
        )
    }

    /// Returns the files that a tool call names, by its arguments alone: what an earlier approval covers once it can no
    /// longer be determined where the paths led.
    pub fn named_files(&self, query: &Query<'_>) -> Vec<JudgedFile> {
        let mut files =
            AnalyzedCall::new(query.tool, query.arguments, query.effects, &self.context).files_as_named();
        let directory = &self.context.places.directory;
        let Some(real) = self.context.resolver.real(directory) else { return Vec::new() };
        for file in &mut files {
            if let Ok(beneath) = file.path.strip_prefix(directory) {
                file.path = real.join(beneath);
            }
        }
        files
    }

    /// The working directory and the additional directories, both as named and with links resolved.
    pub fn workspace(&self) -> &[std::path::PathBuf] {
        &self.context.workspace
    }

    /// The directories and files that contain everything that rules deny to read; none lies inside another.
    pub fn denied_starts(&self) -> &[std::path::PathBuf] {
        self.rulebook.denied_starts()
    }

    /// Whether a rule denies reading an absolute path without links.
    pub fn denies_path(&self, path: &std::path::Path) -> bool {
        self.rulebook.denies_path(path)
    }

    /// Returns the real paths of the workspace files that a tool call writes, as far as its arguments tell.
    pub fn written_files(&self, query: &Query<'_>) -> Vec<std::path::PathBuf> {
        AnalyzedCall::new(query.tool, query.arguments, query.effects, &self.context).written()
    }

    /// Decides a tool call.
    pub fn judge(&self, query: &Query<'_>) -> Judgement {
        let call = AnalyzedCall::new(query.tool, query.arguments, query.effects, &self.context);
        let mut judgement = self.decide_parts(query, &call);
        // A call without arguments, such as a command without text, is shown as its tool.
        for reason in judgement.because.iter_mut().filter(|reason| reason.part.is_empty()) {
            query.tool.clone_into(&mut reason.part);
        }
        (judgement.files, judgement.written) = (call.files(), call.written());
        judgement
    }

    /// Decides a tool call by its parts.
    fn decide_parts(&self, query: &Query<'_>, call: &AnalyzedCall) -> Judgement {
        let danger = danger(call);
        let decide = |verdict, because| Judgement::new(verdict, danger, because);
        let mode = self.settings.allowed_mode(query.mode);
        let asked = if mode == Mode::DontAsk { GuardDecision::Deny } else { GuardDecision::Ask };

        let denied = matching_reasons(&self.rulebook, Effect::Deny, query, call);
        if !denied.is_empty() {
            return decide(GuardDecision::Deny, denied);
        }
        if mode == Mode::Plan {
            let denied_by_plan = denied_by_plan(call, query);
            if !denied_by_plan.is_empty() {
                return decide(GuardDecision::Deny, denied_by_plan);
            }
        }
        let ask = matching_reasons(&self.rulebook, Effect::Ask, query, call);
        if !ask.is_empty() {
            return decide(asked, ask);
        }
        let mandatory_asks = self.mandatory_asks(call, mode, query.confinement);
        if !mandatory_asks.is_empty() {
            return decide(asked, mandatory_asks);
        }
        let mut passed = Vec::with_capacity(call.parts.len());
        let mut open = Vec::new();
        for part in &call.parts {
            match self.check_part(part, call, query, mode) {
                Ok(reason) => passed.push(reason),
                Err(reason) => open.push(reason),
            }
        }
        if open.is_empty() { decide(GuardDecision::Allow, passed) } else { decide(asked, open) }
    }

    /// Whether a rule matches a tool call or a part of it. Returns true if the rule or the command cannot be parsed.
    pub fn rule_matches(&self, rule: &str, tool: &str, arguments: &Value, effects: ToolEffects) -> bool {
        let layer = Layer::new(Origin::flags()).with_rule(Effect::Ask, rule);
        let settings = Settings::merge([layer], Trust::Trusted);
        let (rulebook, broken) = Rulebook::new(settings.rules, &self.context);
        if !broken.is_empty() || !settings.warnings.is_empty() {
            return true;
        }
        let query = Query::new(tool, arguments, effects);
        let call = AnalyzedCall::new(tool, arguments, effects, &self.context);
        call.is_unreadable() || !matching_reasons(&rulebook, Effect::Ask, &query, &call).is_empty()
    }

    /// Reasons to ask that no rule overrides, and hardly a mode.
    fn mandatory_asks(&self, call: &AnalyzedCall, mode: Mode, confinement: Confinement) -> Vec<Reason> {
        let critical = call
            .parts
            .iter()
            .filter_map(|part| Some(Reason::new(&part.shown, Cause::Critical(part.critical.clone()?))));
        let mut mandatory_asks: Vec<Reason> = critical.collect();
        // A mode that runs everything also runs uncertain commands, unless a restricting rule could match inside one.
        let runs_everything =
            mode == Mode::Bypass || (mode == Mode::Auto && confinement == Confinement::Sandboxed);
        let lenient = runs_everything && !self.rulebook.restricts_commands() && !call.is_unreadable();
        if !lenient {
            let doubts = call.script.doubts.iter();
            mandatory_asks.extend(
                doubts.map(|doubt| Reason::new(call.text.trim(), Cause::Doubt(describe_doubt(doubt)))),
            );
        }
        mandatory_asks
    }

    /// Returns why a part may run, or why it may not.
    fn check_part(
        &self,
        part: &Part,
        call: &AnalyzedCall,
        query: &Query<'_>,
        mode: Mode,
    ) -> Result<Reason, Reason> {
        let reason = |cause| Reason::new(&part.shown, cause);
        let bypassed = mode == Mode::Bypass;
        if self.rulebook.may_restrict(part, call) {
            let why = "a deny or ask rule may match what it runs or uses".to_owned();
            return Err(reason(Cause::Doubt(why)));
        }
        if mode_decision(part, call, query, mode) == ModeDecision::Run
            && (bypassed || part.protected.is_none())
        {
            return Ok(reason(Cause::Mode(mode)));
        }
        if let Some(name) = &part.protected {
            return Err(reason(Cause::Protected(name.clone())));
        }
        match self.rulebook.allowing_rule(query.tool, part, call) {
            Some(rule) => Ok(Reason::rule(&part.shown, rule)),
            None => Err(reason(Cause::NoRule)),
        }
    }

    /// Decides what a rule would name, such as `Bash(git push)` or `Read(.env)`.
    ///
    /// `None` if the text does not have that form.
    pub fn dry_run(&self, text: &str, mode: Mode) -> Option<Judgement> {
        self.dry_run_in(text, mode, Confinement::Open)
    }

    /// Like [`dry_run`](Self::dry_run), with or without a sandbox.
    pub fn dry_run_in(&self, text: &str, mode: Mode, confinement: Confinement) -> Option<Judgement> {
        let (name, inner) = match text.trim().split_once('(') {
            Some((name, rest)) => (name, Some(rest.strip_suffix(')')?)),
            None => (text.trim(), None),
        };
        let tool = alias_of(name).and_then(|alias| alias.tools.first()).copied().unwrap_or(name);
        let arguments = match (call_subject(tool), inner) {
            (_, None) => json!({}),
            (CallSubject::Command, Some(command)) => json!({ "command": command }),
            (CallSubject::Input, Some(text)) => json!({ "text": text }),
            (CallSubject::Read | CallSubject::Write | CallSubject::Directory, Some(path)) => {
                json!({ "path": path })
            }
            (CallSubject::Patch, Some(patch)) => json!({ "patch": patch }),
            (CallSubject::Address, Some(url)) => match url.strip_prefix("domain:") {
                Some(host) => json!({ "url": format!("https://{host}/") }),
                None => json!({ "url": url }),
            },
            (CallSubject::Agent, Some(name)) => json!({ "agent": name }),
            (CallSubject::Skill, Some(text)) => {
                let (name, arguments) = text.split_once(' ').unwrap_or((text, ""));
                json!({ "skill": name, "args": arguments })
            }
            (CallSubject::Nothing, Some(_)) => json!({}),
        };
        let effects = ToolEffects::ALL;
        let query = Query::new(tool, &arguments, effects).with_mode(mode).with_confinement(confinement);
        Some(self.judge(&query))
    }

    pub(crate) const fn context(&self) -> &CheckContext {
        &self.context
    }
}

/// Returns the rules of one effect that match, each with the part it matches.
fn matching_reasons(
    rulebook: &Rulebook,
    effect: Effect,
    query: &Query<'_>,
    call: &AnalyzedCall,
) -> Vec<Reason> {
    let whole = rulebook.call_rule(effect, query.tool, query.effects, query.arguments);
    let text = || {
        // If the parts are uncertain, the whole text is compared as well.
        let is_open = call.is_typed || !call.script.doubts.is_empty();
        is_open.then(|| rulebook.text_rule(effect, &call.text)).flatten()
    };
    if let Some(rule) = whole.or_else(text) {
        return vec![Reason::rule(shown_text(call, query), rule)];
    }
    let matching = call.parts.iter().filter_map(|part| {
        let rule = rulebook.restricting_rule(effect, query.tool, part, call)?;
        Some(Reason::rule(&part.shown, rule))
    });
    matching.collect()
}

fn mode_decision(part: &Part, call: &AnalyzedCall, query: &Query<'_>, mode: Mode) -> ModeDecision {
    // Only commands run in a sandbox, and it confines only what they do there.
    let is_confined = call.command(part).is_some()
        || (call_subject(query.tool) == CallSubject::Command && part.danger != DangerLevel::Critical);
    let confinement = if is_confined { query.confinement } else { Confinement::Open };
    match mode {
        Mode::Plan if !part.changes => Mode::Default.mode_decision(part.danger, confinement),
        mode => mode.mode_decision(part.danger, confinement),
    }
}

/// Returns what plan mode denies.
fn denied_by_plan(call: &AnalyzedCall, query: &Query<'_>) -> Vec<Reason> {
    let parts =
        call.parts.iter().filter(|part| mode_decision(part, call, query, Mode::Plan) == ModeDecision::Refuse);
    let parts = parts.map(|part| part.shown.as_str());
    let doubtful = (!call.script.doubts.is_empty()).then(|| call.text.trim());
    parts.chain(doubtful).map(|part| Reason::new(part, Cause::Mode(Mode::Plan))).collect()
}

/// Returns the level of the worst part. A command that cannot be analyzed is at least dangerous.
fn danger(call: &AnalyzedCall) -> DangerLevel {
    let worst = call.parts.iter().map(|part| part.danger).max().unwrap_or(DangerLevel::Dangerous);
    if call.script.doubts.is_empty() { worst } else { worst.max(DangerLevel::Dangerous) }
}

fn shown_text<'a>(call: &'a AnalyzedCall, query: &Query<'a>) -> &'a str {
    match call.parts.as_slice() {
        _ if !call.text.is_empty() => call.text.trim(),
        [only] if !only.shown.is_empty() => &only.shown,
        _ => query.tool,
    }
}

fn describe_doubt(doubt: &Doubt) -> String {
    match doubt {
        Doubt::Unreadable(why) => format!("not valid bash: {why}"),
        Doubt::TooLong => "the command is too long".to_owned(),
        Doubt::Disagreement(why) => format!("the two parsers disagree: {why}"),
        Doubt::OneParser => "this build of Lariat has no second parser to confirm the first".to_owned(),
        Doubt::Unknown(what) => format!("{what} is not analyzed"),
        Doubt::HiddenProgram(what) => format!("`{what}` is known only at run time"),
        Doubt::Document(what) => format!("{what} is not analyzed"),
        Doubt::Evaluated(what) => format!("{what} evaluates an unknown value"),
        #[expect(unreachable_patterns, reason = "the list of doubts may grow")]
        _ => "it is unclear what it would do".to_owned(),
    }
}

#[cfg(test)]
#[path = "judge_tests.rs"]
mod tests;
