//! Parses Claude Code's flags, so that programs made for it can start Lariat instead.
//!
//! One table says what each flag takes and does here. An unsupported flag causes a warning, unless it restricts the run: then
//! the run is refused. So is a run with an unknown flag, because that flag may restrict. Lariat's own commands start with a
//! word and these start with a flag, so the two cannot be confused.

use lariat_core::permission::split_rules;
use lariat_service::SessionSelector;
use serde_json::Value;

use super::run::Output;
use super::task::{Schema, Task};

/// What the flags request.
#[derive(Debug)]
pub(crate) enum CompatCommand {
    /// Print the version.
    Version,
    /// Run a task.
    Run(Box<Task>),
}

/// The values and the effect of a flag.
#[derive(Clone, Copy)]
enum Flag {
    /// Takes nothing.
    Bare(fn(&mut Task)),
    /// Takes a value.
    Valued(fn(&mut Task, &str)),
    /// Takes one value or more, up to the next flag.
    ListValued(fn(&mut Task, &str)),
    /// Takes a value, or nothing.
    Optional(fn(&mut Task, Option<&str>)),
    /// Takes nothing, and has no effect here.
    Ignored,
    /// Takes a value, and has no effect here.
    IgnoredValued,
    /// Takes nothing, and is not supported.
    Unsupported,
    /// Takes a value, and is not supported.
    UnsupportedValued,
    /// Takes a value, restricts the run, and is not supported.
    RefusedValued,
}

/// All known flags.
const FLAGS: &[(&str, Flag)] = &[
    ("print", Flag::Bare(|_| {})),
    ("verbose", Flag::Bare(|task| task.verbose = true)),
    ("output-format", Flag::Valued(output)),
    ("input-format", Flag::Valued(input)),
    ("include-partial-messages", Flag::Bare(|task| task.stream_options.partial = true)),
    ("replay-user-messages", Flag::Bare(|task| task.stream_options.replay = true)),
    ("include-hook-events", Flag::Bare(|task| task.stream_options.hooks = true)),
    ("model", Flag::Valued(|task, value| task.set("model", value.into()))),
    ("fallback-model", Flag::Valued(|task, value| task.set("fallback_models", list(value).into()))),
    ("permission-mode", Flag::Valued(|task, value| task.set("mode", value.into()))),
    ("dangerously-skip-permissions", Flag::Bare(|task| task.set("mode", "bypass".into()))),
    ("permission-prompt-tool", Flag::Valued(prompt_tool)),
    ("max-turns", Flag::Valued(|task, value| number(task, "limits.turns", value))),
    ("max-budget-usd", Flag::Valued(|task, value| number(task, "limits.cost", value))),
    ("system-prompt", Flag::Valued(words)),
    ("append-system-prompt", Flag::Valued(words)),
    ("allowedTools", Flag::ListValued(|task, value| task.allow.extend(split_rules(value)))),
    ("allowed-tools", Flag::ListValued(|task, value| task.allow.extend(split_rules(value)))),
    ("disallowedTools", Flag::ListValued(|task, value| task.deny.extend(split_rules(value)))),
    ("disallowed-tools", Flag::ListValued(|task, value| task.deny.extend(split_rules(value)))),
    ("continue", Flag::Bare(|task| task.which = SessionSelector::Continue)),
    ("resume", Flag::Optional(resume)),
    ("fork-session", Flag::Bare(|task| task.forks = true)),
    ("no-session-persistence", Flag::Bare(|task| task.ephemeral = true)),
    ("json-schema", Flag::Valued(|task, value| task.schema = Some(Schema::Text(value.to_owned())))),
    ("effort", Flag::Valued(|task, value| task.set("thinking", effort(value).into()))),
    ("thinking", Flag::Valued(|task, value| task.set("thinking", thinking(value).into()))),
    ("max-thinking-tokens", Flag::Valued(thinking_tokens)),
    ("thinking-display", Flag::IgnoredValued),
    ("strict-mcp-config", Flag::Ignored),
    ("debug", Flag::Ignored),
    ("debug-to-stderr", Flag::Ignored),
    ("debug-file", Flag::IgnoredValued),
    ("allow-dangerously-skip-permissions", Flag::Ignored),
    ("tools", Flag::ListValued(tools)),
    ("add-dir", Flag::ListValued(|task, value| task.directories.push(value.into()))),
    ("session-id", Flag::Valued(|task, value| task.session_id = Some(value.to_owned()))),
    ("mcp-config", Flag::UnsupportedValued),
    ("settings", Flag::Valued(|task, value| task.settings_texts.push(value.to_owned()))),
    ("setting-sources", Flag::Valued(sources)),
    ("system-prompt-file", Flag::UnsupportedValued),
    ("resume-session-at", Flag::UnsupportedValued),
    ("resume-drops-turn", Flag::UnsupportedValued),
    ("session-mirror", Flag::Unsupported),
    ("task-budget", Flag::RefusedValued),
    ("betas", Flag::UnsupportedValued),
    ("agents", Flag::UnsupportedValued),
    ("plugin-dir", Flag::UnsupportedValued),
];

/// Parses the arguments if they start with a Claude Code flag.
pub(crate) fn parse(words: &[String]) -> Option<CompatCommand> {
    let first = words.first()?;
    if matches!(first.as_str(), "-v") {
        return Some(CompatCommand::Version);
    }
    let is_short = matches!(first.as_str(), "-p" | "-c" | "-r");
    let is_known = first.strip_prefix("--").is_some_and(|flag| find(name(flag).0).is_some());
    (is_short || is_known).then(|| CompatCommand::Run(Box::new(read(words))))
}

fn read(words: &[String]) -> Task {
    let mut task = Task::default();
    // A controlling program passes no prompt as an argument, so a word after an unknown flag is its value.
    let controlled = words.iter().zip(words.iter().skip(1)).any(|(flag, value)| is_controlled(flag, value));
    let mut words = words.iter().map(String::as_str).peekable();
    while let Some(word) = words.next() {
        let long = match word {
            "-p" => "print",
            "-c" => "continue",
            "-r" => "resume",
            "--" => {
                task.prompt = words.next().map(str::to_owned).or(task.prompt);
                continue;
            }
            word => match word.strip_prefix("--") {
                Some(long) => long,
                None if task.prompt.is_none() => {
                    task.prompt = Some(word.to_owned());
                    continue;
                }
                None => {
                    let why = "there is already a prompt; separate several values of a flag with commas";
                    task.refused.push((format!("`{word}`"), why.to_owned()));
                    continue;
                }
            },
        };
        let (name, inline) = name(long);
        // A required value may start with a dash; an optional one may not.
        let mut value = || inline.or_else(|| words.next());
        match find(name) {
            Some(Flag::Bare(act)) => act(&mut task),
            Some(Flag::Valued(act)) => match value() {
                Some(value) => act(&mut task, value),
                None => task.refuse(name, "a value is missing"),
            },
            Some(Flag::ListValued(act)) => {
                match value() {
                    Some(value) => act(&mut task, value),
                    None => task.refuse(name, "a value is missing"),
                }
                while let Some(value) = words.next_if(|next| inline.is_none() && !next.starts_with('-')) {
                    act(&mut task, value);
                }
            }
            Some(Flag::Optional(act)) => {
                let next = words.next_if(|next| inline.is_none() && !next.starts_with('-'));
                act(&mut task, inline.or(next));
            }
            Some(Flag::Ignored) => {}
            Some(Flag::IgnoredValued) => {
                let _ = value();
            }
            Some(Flag::Unsupported) => task.warnings.push(format!("--{name} is not supported")),
            Some(Flag::UnsupportedValued) => {
                let _ = value();
                task.warnings.push(format!("--{name} is not supported"));
            }
            Some(Flag::RefusedValued) => {
                let _ = value();
                task.refuse(name, "Lariat does not support it");
            }
            None => {
                if controlled && inline.is_none() {
                    words.next_if(|next| !next.starts_with('-'));
                }
                task.refuse(name, "unknown flag, which may be a restriction");
            }
        }
    }
    task
}

impl Task {
    fn refuse(&mut self, flag: &str, why: &str) {
        self.refused.push((format!("--{flag}"), why.to_owned()));
    }
}

fn is_controlled(flag: &str, value: &str) -> bool {
    flag == "--input-format=stream-json" || (flag == "--input-format" && value == "stream-json")
}

fn find(name: &str) -> Option<Flag> {
    FLAGS.iter().find(|(known, _)| *known == name).map(|(_, flag)| *flag)
}

fn name(long: &str) -> (&str, Option<&str>) {
    long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)))
}

fn output(task: &mut Task, value: &str) {
    task.output = match value {
        "text" => Output::Text,
        "json" => Output::Json,
        "stream-json" => Output::StreamJson,
        other => return task.warnings.push(format!("unknown value `{other}` for --output-format")),
    };
}

fn input(task: &mut Task, value: &str) {
    match value {
        "stream-json" => task.controlled = true,
        "text" => {}
        other => task.warnings.push(format!("unknown value `{other}` for --input-format")),
    }
}

fn prompt_tool(task: &mut Task, value: &str) {
    if value == "stdio" {
        task.answers_approvals = true;
    } else {
        task.warnings.push(format!("--permission-prompt-tool {value} is not supported; use stdio"));
    }
}

fn words(task: &mut Task, value: &str) {
    if value.is_empty() {
        return;
    }
    let earlier = task.system_prompt.take().map(|earlier| format!("{earlier}\n\n")).unwrap_or_default();
    task.system_prompt = Some(format!("{earlier}{value}"));
}

fn resume(task: &mut Task, value: Option<&str>) {
    task.which = value.map_or(SessionSelector::Continue, |id| SessionSelector::Resume(id.to_owned()));
}

/// Sets a limit. Validation of the settings refuses a value that is not a number.
fn number(task: &mut Task, path: &str, value: &str) {
    let number = serde_json::from_str::<Value>(value).ok().filter(Value::is_number);
    task.set(path, number.unwrap_or_else(|| value.into()));
}

fn effort(value: &str) -> &str {
    if value == "xhigh" { "max" } else { value }
}

fn thinking(value: &str) -> &str {
    match value {
        "disabled" => "off",
        "adaptive" | "enabled" => "medium",
        other => other,
    }
}

fn thinking_tokens(task: &mut Task, value: &str) {
    let level = match value.parse::<u64>() {
        Ok(0) => "off",
        Ok(1..=4_096) => "low",
        Ok(4_097..=16_384) => "medium",
        Ok(_) => "high",
        Err(_) => return task.refuse("max-thinking-tokens", "expected a whole number"),
    };
    task.set("thinking", level.into());
}

/// The tools to offer: `default` for all, an empty value for none.
fn tools(task: &mut Task, value: &str) {
    if value != "default" {
        let names = value.split([',', ' ']).filter(|name| !name.is_empty()).map(str::to_owned);
        task.tools.get_or_insert_default().extend(names);
    }
}

/// The settings to load. The user's own settings always apply. Without the project's, nothing of the project is trusted, but
/// its deny and ask rules still apply.
fn sources(task: &mut Task, value: &str) {
    let names: Vec<&str> = value.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
    if let Some(name) = names.iter().find(|name| !["user", "project", "local"].contains(name)) {
        task.refuse("setting-sources", &format!("`{name}` is not `user`, `project` or `local`"));
    }
    task.distrusting = !names.contains(&"project") && !names.contains(&"local");
}

fn list(value: &str) -> Vec<Value> {
    value.split(',').map(str::trim).filter(|word| !word.is_empty()).map(Value::from).collect()
}

#[cfg(test)]
#[path = "compat_tests.rs"]
mod tests;
