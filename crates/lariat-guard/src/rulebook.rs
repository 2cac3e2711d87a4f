//! Matches the rules of a session with tool calls.
//!
//! Selects the rules for each part of a tool call. Path patterns are compiled once, with the directories of the session.

use lariat_core::tool::ToolEffects;
use serde_json::Value;

use crate::analyzed_call::AnalyzedCall;
use crate::check_context::CheckContext;
use crate::effect::Effect;
use crate::part::{FileAccess, Part, PartKind, TouchedFile};
use crate::path_rule::PathRules;
use crate::rule::{Parameter, Rule, Specifier, Tools, Warning};
use crate::shell_rule::{CoverageSearch, inner_spellings, spellings};
use crate::tool_name::{CallSubject, alias_of};

/// The rules of a session.
pub(crate) struct Rulebook {
    rules: Vec<Rule>,
    deny: EffectRules,
    ask: EffectRules,
    allow: EffectRules,
}

/// The rules of one effect, by what they apply to. Numbers are indices of rules.
struct EffectRules {
    /// Rules for every call of a tool, or for a parameter.
    calls: Vec<usize>,
    commands: Vec<usize>,
    names: Vec<usize>,
    domains: Vec<usize>,
    read: PathRules,
    edit: PathRules,
    enter: PathRules,
    /// Path rules for one tool by its own name.
    own: Vec<(String, PathRules)>,
}

/// Returns which files a rule applies to: read, written or entered.
fn file_class(rule: &Rule) -> Option<CallSubject> {
    let Tools::NamedScript(tools) = rule.tools else { return None };
    ["Read", "Edit", "Cd"]
        .into_iter()
        .filter_map(alias_of)
        .find(|alias| std::ptr::eq(alias.tools, tools) || alias.tools == tools)
        .map(|alias| alias.call_subject)
}

impl EffectRules {
    fn new(effect: Effect, rules: &[Rule], context: &CheckContext, broken: &mut Vec<usize>) -> Self {
        let numbered = || rules.iter().enumerate().filter(|(_, rule)| rule.effect == effect);
        let of = |fits: fn(&Specifier) -> bool| -> Vec<usize> {
            numbered().filter(|(_, rule)| fits(&rule.specifier)).map(|(number, _)| number).collect()
        };
        let mut paths = |fits: &dyn Fn(&Rule) -> bool| {
            let patterns = numbered().filter(|(_, rule)| fits(rule)).filter_map(|(number, rule)| match &rule
                .specifier
            {
                Specifier::Path(pattern) => Some((number, pattern.as_str(), rule.origin.as_ref())),
                Specifier::Any => Some((number, "//", rule.origin.as_ref())),
                _ => None,
            });
            let (paths, bad) = PathRules::new(effect, patterns, &context.places, context.resolver.as_ref());
            broken.extend(bad);
            paths
        };
        let mut own: Vec<String> = numbered()
            .filter(|(_, rule)| matches!(rule.specifier, Specifier::Path(_)))
            .filter_map(|(_, rule)| match &rule.tools {
                Tools::One(name) => Some(name.clone()),
                _ => None,
            })
            .collect();
        own.sort();
        own.dedup();
        Self {
            calls: of(|specifier| matches!(specifier, Specifier::Any | Specifier::Parameter(_))),
            commands: of(|specifier| matches!(specifier, Specifier::Command(..))),
            names: of(|specifier| matches!(specifier, Specifier::Name(..))),
            domains: of(|specifier| matches!(specifier, Specifier::Domain(_))),
            read: paths(&|rule| file_class(rule) == Some(CallSubject::Read)),
            edit: paths(&|rule| file_class(rule) == Some(CallSubject::Write)),
            enter: paths(&|rule| file_class(rule) == Some(CallSubject::Directory)),
            own: own
                .into_iter()
                .map(|name| {
                    let rules = paths(&|rule| rule.tools == Tools::One(name.clone()) && rule.is_scoped());
                    (name, rules)
                })
                .collect(),
        }
    }
}

impl Rulebook {
    /// Compiles rules. Also returns warnings about invalid patterns.
    pub(crate) fn new(rules: Vec<Rule>, context: &CheckContext) -> (Self, Vec<Warning>) {
        let mut broken = Vec::new();
        let deny = EffectRules::new(Effect::Deny, &rules, context, &mut broken);
        let ask = EffectRules::new(Effect::Ask, &rules, context, &mut broken);
        let allow = EffectRules::new(Effect::Allow, &rules, context, &mut broken);
        broken.sort_unstable();
        broken.dedup();
        let warnings = broken.iter().filter_map(|number| rules.get(*number)).map(|rule| Warning {
            subject: rule.text.clone(),
            reason: "has an invalid pattern; it matches no file.".to_owned(),
            origin: rule.origin.clone(),
        });
        let warnings = warnings.collect();
        (Self { rules, deny, ask, allow }, warnings)
    }

    const fn list(&self, effect: Effect) -> &EffectRules {
        match effect {
            Effect::Deny => &self.deny,
            Effect::Ask => &self.ask,
            Effect::Allow => &self.allow,
        }
    }

    fn rules_of(&self, numbers: &[usize]) -> impl Iterator<Item = &Rule> {
        numbers.iter().filter_map(|number| self.rules.get(*number))
    }

    /// Finds a rule for every call of a tool, or for its parameters.
    pub(crate) fn call_rule(
        &self,
        effect: Effect,
        tool: &str,
        effects: ToolEffects,
        arguments: &Value,
    ) -> Option<&Rule> {
        let list = self.list(effect);
        let whole = self.rules_of(&list.calls).find(|rule| {
            let speaks = rule.tools.matches_tool(tool, effects)
                || (effect == Effect::Deny && file_class(rule) == Some(CallSubject::Read) && is_writer(tool));
            speaks && matches_parameter(&rule.specifier, arguments)
        });
        whole.or_else(|| {
            let scoped = self.rules_of(&list.commands).chain(self.rules_of(&list.names));
            let mut scoped = scoped.filter(|rule| rule.tools.contain(tool));
            scoped.find(|rule| match &rule.specifier {
                Specifier::Command(_, Some(parameter)) | Specifier::Name(_, Some(parameter)) => {
                    has(parameter, arguments)
                }
                _ => false,
            })
        })
    }

    /// Finds a deny or ask rule that matches a part.
    pub(crate) fn restricting_rule(
        &self,
        effect: Effect,
        tool: &str,
        part: &Part,
        call: &AnalyzedCall,
    ) -> Option<&Rule> {
        let list = self.list(effect);
        if let Some(command) = call.command(part)
            && !list.commands.is_empty()
        {
            let spellings = spellings(command, &call.text);
            let found = self.rules_of(&list.commands).find(|rule| match &rule.specifier {
                Specifier::Command(pattern, _) => spellings.iter().any(|text| pattern.matches(text)),
                _ => false,
            });
            if found.is_some() {
                return found;
            }
        }
        let file = part.touched_files.iter().find_map(|touch| self.file_rule(effect, tool, touch));
        file.or_else(|| self.name_rule(list, tool, &part.kind))
    }

    /// Finds a command rule that matches the text as a whole.
    pub(crate) fn text_rule(&self, effect: Effect, text: &str) -> Option<&Rule> {
        let mut rules = self.rules_of(&self.list(effect).commands);
        rules.find(
            |rule| matches!(&rule.specifier, Specifier::Command(pattern, _) if pattern.matches(text.trim())),
        )
    }

    /// Finds a rule that allows a part.
    pub(crate) fn allowing_rule(&self, tool: &str, part: &Part, call: &AnalyzedCall) -> Option<&Rule> {
        let list = &self.allow;
        if let Some(command) = call.command(part) {
            let whole = self.rules_of(&list.calls).find(|rule| rule.tools.contain(tool));
            if whole.is_some() {
                return whole;
            }
            let allowing_rule = CoverageSearch::new(command, &call.text)?;
            let by_command = self.rules_of(&list.commands).find(|rule| match &rule.specifier {
                Specifier::Command(pattern, _) => {
                    rule.tools.contain(tool) && allowing_rule.is_covered_by(pattern)
                }
                _ => false,
            });
            return by_command.or_else(|| self.reading_rule(tool, part));
        }
        if let Some(touch) = part.touched_files.first() {
            touch.target.real.as_ref()?;
            let whole = || self.rules_of(&list.calls).find(|rule| tool != "bash" && rule.tools.contain(tool));
            return self.file_rule(Effect::Allow, tool, touch).or_else(whole);
        }
        let whole = self.rules_of(&list.calls).find(|rule| rule.tools.contain(tool));
        whole.or_else(|| self.name_rule(list, tool, &part.kind))
    }

    /// For a command that only reads or enters files: finds rules that allow all files outside the workspace.
    fn reading_rule(&self, tool: &str, part: &Part) -> Option<&Rule> {
        let outside = part.touched_files.iter().filter(|touch| !touch.is_inside);
        let rules: Option<Vec<&Rule>> =
            outside.map(|touch| self.file_rule(Effect::Allow, tool, touch)).collect();
        if part.only_reads { rules?.pop() } else { None }
    }

    fn file_rule(&self, effect: Effect, tool: &str, touch: &TouchedFile) -> Option<&Rule> {
        let list = self.list(effect);
        let beneath = touch.matched.iter().filter(|_| effect != Effect::Allow);
        let find = |rules: &PathRules| {
            let mut targets = beneath
                .clone()
                .filter(|_| !rules.is_empty())
                .flat_map(|matched| &matched.walk_result().files);
            rules.find(&touch.target).or_else(|| targets.find_map(|target| rules.find(target)))
        };
        let number = match touch.access {
            FileAccess::Read => find(&list.read),
            // A file that may not be read may not be written either.
            FileAccess::Write if effect == Effect::Deny => find(&list.edit).or_else(|| find(&list.read)),
            FileAccess::Write => find(&list.edit),
            FileAccess::Enter => find(&list.enter),
        };
        let own = || list.own.iter().find(|(name, _)| name == tool).and_then(|(_, rules)| find(rules));
        number.or_else(own).and_then(|number| self.rules.get(number))
    }

    fn name_rule(&self, list: &EffectRules, tool: &str, kind: &PartKind) -> Option<&Rule> {
        match kind {
            PartKind::Name(name) => self.rules_of(&list.names).find(|rule| match &rule.specifier {
                Specifier::Name(pattern, _) => rule.tools.contain(tool) && pattern.matches(name),
                _ => false,
            }),
            PartKind::Address(Some(host)) => {
                self.rules_of(&list.domains).find(|rule| match &rule.specifier {
                    Specifier::Domain(domain) => rule.tools.contain(tool) && domain.contains(host),
                    _ => false,
                })
            }
            _ => None,
        }
    }

    /// Whether a deny or ask rule may match what a part hides.
    pub(crate) fn may_restrict(&self, part: &Part, call: &AnalyzedCall) -> bool {
        let lists = [&self.deny, &self.ask];
        if let Some(command) = call.command(part)
            && lists.iter().any(|list| !list.commands.is_empty())
        {
            let inner = inner_spellings(command);
            let fits = |rule: &Rule| match &rule.specifier {
                Specifier::Command(pattern, _) => inner.iter().any(|text| pattern.matches(text)),
                _ => false,
            };
            if lists.iter().any(|list| self.rules_of(&list.commands).any(fits)) {
                return true;
            }
        }
        match &part.kind {
            PartKind::Address(None) => lists.iter().any(|list| !list.domains.is_empty()),
            _ if part.touched_files.iter().any(is_incomplete)
                && lists.iter().any(|list| !list.read.is_empty()) =>
            {
                true
            }
            _ if part.hides_files => lists.iter().any(|list| !list.read.is_empty() || !list.edit.is_empty()),
            _ => false,
        }
    }

    /// Whether a deny or ask rule restricts some commands.
    pub(crate) fn restricts_commands(&self) -> bool {
        !self.deny.commands.is_empty() || !self.ask.commands.is_empty()
    }

    /// Whether a deny or ask rule restricts reading some files.
    pub(crate) fn restricts_reading(&self) -> bool {
        [&self.deny, &self.ask].iter().any(|list| !list.read.is_empty() || !list.own.is_empty())
    }

    /// The directories and files that contain everything that rules deny to read.
    pub(crate) fn denied_starts(&self) -> &[std::path::PathBuf] {
        self.deny.read.starts()
    }

    /// Whether a rule denies reading a path, as written.
    pub(crate) fn denies_path(&self, path: &std::path::Path) -> bool {
        self.deny.read.fits(path)
    }

    /// Finds a rule that denies every call of a tool.
    pub(crate) fn hiding_rule(&self, tool: &str) -> Option<&Rule> {
        let mut rules = self.rules_of(&self.deny.calls);
        rules.find(|rule| rule.specifier == Specifier::Any && rule.tools.contain(tool))
    }
}

/// Whether a file stands for more files than could be examined.
fn is_incomplete(touch: &TouchedFile) -> bool {
    touch.matched.as_ref().is_some_and(|matched| !matched.walk_result().is_complete)
}

fn is_writer(tool: &str) -> bool {
    alias_of("Edit").is_some_and(|alias| alias.tools.contains(&tool))
}

fn matches_parameter(specifier: &Specifier, arguments: &Value) -> bool {
    match specifier {
        Specifier::Any => true,
        Specifier::Parameter(parameter) => has(parameter, arguments),
        _ => false,
    }
}

/// Whether a top-level parameter has a matching value.
fn has(parameter: &Parameter, arguments: &Value) -> bool {
    match arguments.get(&parameter.name) {
        Some(Value::String(text)) => parameter.value.matches(text),
        Some(value @ (Value::Bool(_) | Value::Number(_))) => parameter.value.matches(&value.to_string()),
        _ => false,
    }
}
