//! Suggests the rules that the answer "always" would store.
//!
//! Generalises a tool call to rules: `cargo test --all` becomes `Bash(cargo test *)`; a command that runs its arguments is
//! remembered word by word or not at all. The rules that the user sees are exactly those that are stored, and they allow the
//! same tool call; if that is impossible, nothing is suggested.

use std::path::Path;

use lariat_core::permission::DangerLevel;

use crate::analyzed_call::AnalyzedCall;
use crate::effect::Effect;
use crate::judge::{Guard, Query};
use crate::judgement::GuardDecision;
use crate::origin::Level;
use crate::part::{FileAccess, Part, PartKind};
use crate::program::{base, is_broad, is_editor, subcommands};
use crate::rule::Rule;
use crate::settings::{Layer, Settings, Trust};
use crate::shell::Command;
use crate::shell_rule::CoverageSearch;
use crate::tool_name::{CallSubject, call_subject};

/// Maximum rules that one answer may add.
const MAX_RULES: usize = 5;

/// Programs for which nothing is suggested: allowing one of their commands says nothing about the next.
const NEVER_SUGGESTED: &[&str] = &[
    "sudo", "doas", "su", "pkexec", "eval", "source", ".", "exec", "bash", "sh", "dash", "zsh", "ksh",
    "fish", "ssh", "env", "xargs", "dd", "kill", "pkill", "killall", "reboot", "shutdown",
];

/// Shells that run a script by its name.
const SHELLS: &[&str] = &["bash", "sh", "dash", "zsh", "ksh"];

/// Git subcommands that use the network.
const REMOTE: &[&str] = &["push", "pull", "fetch"];

/// Programs that are remembered word by word: what they do to one file says nothing about the next.
const EXACT_PROGRAMS: &[&str] = &["rm", "rmdir", "unlink", "shred", "truncate", "chmod", "chown"];

impl Guard {
    /// Returns the rules that would allow a tool call from now on: at most five, and none if they would not suffice.
    ///
    /// They are written for the local settings of the project.
    pub fn suggest(&self, query: &Query<'_>) -> Vec<String> {
        let call = AnalyzedCall::new(query.tool, query.arguments, query.effects, self.context());
        let mut rules: Vec<String> = Vec::new();
        for part in &call.parts {
            if part.danger == DangerLevel::Safe {
                continue;
            }
            match self.rule_for(part, &call, query.tool) {
                Some(rule) if rules.contains(&rule) => {}
                Some(rule) => rules.push(rule),
                None => return Vec::new(),
            }
        }
        if rules.len() > MAX_RULES || !self.would_allow(&rules, query) { Vec::new() } else { rules }
    }

    /// Whether the tool call would run with these rules.
    fn would_allow(&self, rules: &[String], query: &Query<'_>) -> bool {
        let origin = crate::Origin::file(Level::Local, ".claude/settings.local.json");
        let layer = rules.iter().fold(Layer::new(origin), |layer, rule| layer.with_rule(Effect::Allow, rule));
        let added: Vec<Rule> = Settings::merge([layer], Trust::Trusted).rules;
        let mut settings = self.settings().clone();
        settings.rules.extend(added);
        let context = self.context();
        let guard = Self::new(settings, context.places.clone(), context.resolver.clone());
        guard.judge(query).verdict == GuardDecision::Allow
    }

    fn rule_for(&self, part: &Part, call: &AnalyzedCall, tool: &str) -> Option<String> {
        if part.critical.is_some() || part.protected.is_some() {
            return None;
        }
        match &part.kind {
            PartKind::Command(_) => {
                let command = call.command(part)?;
                let program = command.words.first()?.text.as_str();
                let covering = CoverageSearch::new(command, &call.text)?;
                let first = covering.text().split(' ').next().unwrap_or_default();
                let is_bare = command.words.len() == 1 && command.wrappers.is_empty();
                let never =
                    NEVER_SUGGESTED.contains(&base(program)) || NEVER_SUGGESTED.contains(&base(first));
                // `env` alone only prints. A shell with a script is remembered word by word.
                if never && !(is_bare && program == "env") && !is_script(command) {
                    return None;
                }
                let text = generalise(&covering, command);
                (!text.contains('\n')).then(|| format!("Bash({text})"))
            }
            PartKind::File => {
                let touch = part.touched_files.first()?;
                let path = touch.target.real.as_deref()?;
                let name = match touch.access {
                    FileAccess::Read => "Read",
                    FileAccess::Write => "Edit",
                    FileAccess::Enter => "Cd",
                };
                Some(format!("{name}({})", self.pattern(path, touch.access)?))
            }
            PartKind::Address(host) => host.as_ref().map(|host| format!("WebFetch(domain:{host})")),
            PartKind::Name(_) => None,
            PartKind::Tool if matches!(call_subject(tool), CallSubject::Nothing) => Some(tool.to_owned()),
            PartKind::Tool => None,
        }
    }

    /// Returns a pattern for a file of the project, or for the directory of a file that is read elsewhere.
    fn pattern(&self, path: &Path, access: FileAccess) -> Option<String> {
        let places = &self.context().places;
        let real = self.context().resolver.real(&places.project);
        let own = path.strip_prefix(&places.project).ok();
        let own = own.or_else(|| real.and_then(|real| path.strip_prefix(real).ok()));
        if let Some(own) = own {
            return Some(format!("/{}", escaped(own.to_str()?)));
        }
        // Only a directory below the root and the home directory may be generalised.
        let directory =
            path.parent().filter(|parent| parent.components().count() > 2 && **parent != *places.home);
        match (access, directory) {
            (FileAccess::Read, Some(directory)) => Some(format!("/{}/**", escaped(directory.to_str()?))),
            _ => Some(format!("/{}", escaped(path.to_str()?))),
        }
    }
}

/// Returns the specifier of a rule for a command.
fn generalise(covering: &CoverageSearch, command: &Command) -> String {
    let exact = covering.text().to_owned();
    let words: Vec<&str> = command.words.iter().map(|word| word.text.as_str()).collect();
    let Some(program) = words.first() else { return exact };
    if covering.is_exact()
        || EXACT_PROGRAMS.contains(&base(program))
        || command.runs_its_arguments()
        || !exact.starts_with(program)
    {
        return exact;
    }
    match (subcommands(program), words.get(1), words.get(2)) {
        (Some(known), Some(name), _) if !known.contains(name) => exact,
        // `gh` has subcommands of subcommands.
        (Some(_), Some(name), Some(second)) if *program == "gh" && !second.starts_with('-') => {
            format!("{program} {name} {second} *")
        }
        // The next word is the remote: the rule covers only the remote that the user saw.
        (Some(_), Some(name), place) if *program == "git" && REMOTE.contains(name) => match place {
            Some(place) if is_name(place) => format!("{program} {name} {place} *"),
            _ => exact,
        },
        (Some(_), Some(name), _) if *program != "gh" => format!("{program} {name} *"),
        (None, ..) if is_editor(program) && !is_broad(command) => format!("{program} *"),
        _ => exact,
    }
}

/// Whether a command is a shell that runs a file: `bash test.sh`, without an option that gives it more to run.
fn is_script(command: &Command) -> bool {
    let words: Vec<&str> = command.words.iter().map(|word| word.text.as_str()).collect();
    let is_shell = words.first().is_some_and(|program| SHELLS.contains(program));
    let has_script = words.get(1).is_some_and(|script| !script.is_empty() && !script.starts_with(['-', '+']));
    is_shell && has_script && command.wrappers.is_empty()
}

/// Whether a word is the name of a remote, not an address or a path.
fn is_name(word: &str) -> bool {
    let is_plain = word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    is_plain && word.starts_with(|c: char| c.is_ascii_alphanumeric())
}

/// Escapes the characters that have a special meaning in a pattern.
fn escaped(path: &str) -> String {
    let mut text = String::with_capacity(path.len());
    for letter in path.chars() {
        if "*?[]\\{}".contains(letter) {
            text.push('\\');
        }
        text.push(letter);
    }
    text
}
