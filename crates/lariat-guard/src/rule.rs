//! Parses one permission rule, `Tool` or `Tool(specifier)`, and records where it was written.
//!
//! A rule that means nothing becomes a [`Warning`] that names the rule and its file; nothing is dropped silently. `judge`
//! decides whether a rule matches a tool call, with the patterns that are parsed here.

use std::fmt;
use std::sync::Arc;

use lariat_core::tool::ToolEffects;

use crate::effect::Effect;
use crate::origin::Origin;
use crate::shell_rule::CommandPattern;
use crate::tool_name::{CallSubject, PRIMARY, PathSpecifiers, alias_of, by_effects, call_subject, connected};
use crate::wildcard::Wildcard;

/// A permission rule.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rule {
    /// The rule as written.
    pub text: String,
    /// The list that contains it.
    pub effect: Effect,
    /// The settings that contain it.
    pub origin: Arc<Origin>,
    pub(crate) tools: Tools,
    pub(crate) specifier: Specifier,
}

/// Something in settings that has no effect, or not the apparent one.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Warning {
    /// The rule or the key.
    pub subject: String,
    /// What is wrong and what to write instead, in words that follow the subject.
    pub reason: String,
    /// The settings that contain it.
    pub origin: Arc<Origin>,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: `{}` {}", self.origin, self.subject, self.reason)
    }
}

/// The tools that a rule applies to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Tools {
    /// Those that a name in settings stands for.
    NamedScript(&'static [&'static str]),
    /// One tool, by its own name.
    One(String),
    /// Every tool of an MCP server or of an API, by the start of its name: `mcp__server__`.
    Server(String),
    /// Those with a matching name, their own or the one in settings.
    Matching(Wildcard),
}

impl Tools {
    /// Whether a tool is among them, or can do what they do: for deny and ask rules.
    pub(crate) fn matches_tool(&self, tool: &str, effects: ToolEffects) -> bool {
        let stands = |alias: &'static str| match self {
            Self::NamedScript(names) => alias_of(alias).is_some_and(|alias| alias.tools == *names),
            Self::Matching(name) => name.matches(alias),
            Self::One(_) | Self::Server(_) => false,
        };
        self.contain(tool) || by_effects(tool, effects).any(stands)
    }

    /// Whether a tool is among them.
    pub(crate) fn contain(&self, tool: &str) -> bool {
        match self {
            Self::NamedScript(names) => names.contains(&tool),
            Self::One(name) => name == tool,
            Self::Server(start) => tool.starts_with(start.as_str()),
            Self::Matching(name) => {
                name.matches(tool) || crate::tool_name::aliases_of(tool).any(|alias| name.matches(alias))
            }
        }
    }
}

/// The tool calls of its tools that a rule applies to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Specifier {
    /// Every tool call.
    Any,
    /// Commands; also a parameter if the text could mean one.
    Command(CommandPattern, Option<Parameter>),
    /// Files, by a pattern that is compiled with the directories of a session.
    Path(String),
    /// Hosts.
    Domain(Domain),
    /// The name of an agent or a skill; also a parameter if the text could mean one.
    Name(CommandPattern, Option<Parameter>),
    /// A parameter of the tool call.
    Parameter(Parameter),
}

/// A top-level parameter and a pattern for its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Parameter {
    pub(crate) name: String,
    pub(crate) value: Wildcard,
}

/// A host, or everything below one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Domain {
    Every,
    Host(String),
    /// Everything below a host, with the leading dot.
    Below(String),
}

impl Domain {
    fn parse(text: &str) -> Result<Self, &'static str> {
        let text = text.trim().trim_end_matches('.').to_ascii_lowercase();
        let (below, host) = match text.strip_prefix("*.") {
            Some(host) => (true, host),
            None if text == "*" => return Ok(Self::Every),
            None => (false, text.as_str()),
        };
        if host.is_empty() || host.contains(['*', '/', ':', '@', ' ', '?']) {
            return Err("is not a host: write `domain:example.com` or `domain:*.example.com`.");
        }
        Ok(if below { Self::Below(format!(".{host}")) } else { Self::Host(host.to_owned()) })
    }

    /// Whether a host, in lower case and without a trailing dot, belongs to the domain.
    pub(crate) fn contains(&self, host: &str) -> bool {
        match self {
            Self::Every => true,
            Self::Host(own) => own == host,
            Self::Below(end) => host.len() > end.len() && host.ends_with(end.as_str()),
        }
    }
}

impl Rule {
    /// Parses a rule. Returns what is wrong with it as the second value; without the first, the rule has no effect.
    pub fn parse(text: &str, effect: Effect, origin: &Arc<Origin>) -> (Option<Self>, Option<Warning>) {
        let warning = |reason: &str| {
            Some(Warning { subject: text.to_owned(), reason: reason.to_owned(), origin: origin.clone() })
        };
        let made = |tools, specifier| {
            Some(Self { text: text.trim().to_owned(), effect, origin: origin.clone(), tools, specifier })
        };
        let (name, specifier) = match split(text.trim()) {
            Ok(parts) => parts,
            Err(reason) => return (None, warning(reason)),
        };
        let tools = match tools(name, effect) {
            Ok(tools) => tools,
            Err(reason) => return (None, warning(reason)),
        };
        let Some(specifier) = specifier.filter(|specifier| *specifier != "*") else {
            return (made(tools, Specifier::Any), None);
        };
        match parse_specifier(name, specifier, effect) {
            Ok((specifier @ Specifier::Path(_), reason)) => {
                (made(file_tools(name, tools), specifier), reason.and_then(warning))
            }
            Ok((specifier, reason)) => (made(tools, specifier), reason.and_then(warning)),
            Err(reason) => (None, warning(reason)),
        }
    }

    /// Returns the one tool that the rule applies to, unless that is a name of settings or a tool of a server. A program
    /// that knows all of its tools can detect a typo by it.
    pub fn builtin_tool(&self) -> Option<&str> {
        match &self.tools {
            Tools::One(name) if connected(name).is_none() => Some(name),
            _ => None,
        }
    }

    /// Whether the rule applies to only some calls of its tools.
    pub(crate) fn is_scoped(&self) -> bool {
        self.specifier != Specifier::Any
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} `{}` ({})", self.effect, self.text, self.origin)
    }
}

/// Splits a rule into its name and its specifier.
fn split(text: &str) -> Result<(&str, Option<&str>), &'static str> {
    let (name, specifier) = match text.split_once('(') {
        None => (text, None),
        Some((name, rest)) => {
            let inner = rest.strip_suffix(')').ok_or("has no closing `)`.")?;
            (name, Some(inner.trim()))
        }
    };
    if name.is_empty() {
        return Err("names no tool.");
    }
    if !name.chars().all(|c| c.is_alphanumeric() || "_-.*:/".contains(c)) {
        return Err("is not the name of a tool: write `Tool` or `Tool(specifier)`.");
    }
    let count = |letter: char| specifier.unwrap_or_default().matches(letter).count();
    // Commands contain parentheses; in a path, one too many is a typo.
    if alias_of(name)
        .is_some_and(|alias| matches!(alias.call_subject, CallSubject::Read | CallSubject::Write))
        && count(')') > count('(')
    {
        return Err("has an extra `)`.");
    }
    if specifier == Some("") {
        return Err("has an empty specifier: omit `()` to match every call.");
    }
    Ok((name, specifier))
}

fn tools(name: &str, effect: Effect) -> Result<Tools, &'static str> {
    if name.contains('*') {
        if effect == Effect::Allow && !names_a_server(name) {
            return Err(
                "is ignored: an allow rule may use `*` in a tool name only after `mcp__<server>__` or `openapi__<api>__`.",
            );
        }
        return Ok(Tools::Matching(Wildcard::new(name)));
    }
    if let Some(alias) = alias_of(name) {
        return Ok(Tools::NamedScript(alias.tools));
    }
    match connected(name) {
        Some((_, "")) => Err("names no server: write `mcp__<server>` or `openapi__<api>`."),
        Some((_, server)) if !server.contains("__") => Ok(Tools::Server(format!("{name}__"))),
        _ => Ok(Tools::One(name.to_owned())),
    }
}

/// Returns the tools of a rule about files: all that read, or all that write, whichever of them it names.
fn file_tools(name: &str, tools: Tools) -> Tools {
    let class = match alias_of(name)
        .filter(|alias| alias.paths == PathSpecifiers::Ignored)
        .map(|alias| alias.call_subject)
    {
        Some(CallSubject::Read) => "Read",
        Some(_) => "Edit",
        None => return tools,
    };
    alias_of(class).map_or(tools, |alias| Tools::NamedScript(alias.tools))
}

/// Whether the first `*` comes after a literal `mcp__<server>__` or `openapi__<api>__`.
fn names_a_server(name: &str) -> bool {
    let literal = name.split('*').next().unwrap_or_default();
    connected(literal)
        .and_then(|(_, rest)| rest.split_once("__"))
        .is_some_and(|(server, _)| !server.is_empty())
}

type SpecifierResult = Result<(Specifier, Option<&'static str>), &'static str>;

fn parse_specifier(name: &str, text: &str, effect: Effect) -> SpecifierResult {
    let alias = alias_of(name);
    let parameter = parameter(text);
    let kind = alias.map_or_else(|| call_subject(name), |alias| alias.call_subject);
    let restricting = effect != Effect::Allow;
    let primary = parameter.as_ref().is_some_and(|parameter| PRIMARY.contains(&parameter.name.as_str()));
    match kind {
        CallSubject::Command | CallSubject::Input => {
            const READ_AS_TEXT: &str =
                "is read as the text of a command: a parameter rule cannot use the main argument of a tool.";
            if primary && restricting {
                return Err(READ_AS_TEXT);
            }
            let reason = primary.then_some(READ_AS_TEXT);
            let parameter = parameter.filter(|_| restricting && !primary);
            Ok((Specifier::Command(CommandPattern::new(text), parameter), reason))
        }
        CallSubject::Agent | CallSubject::Skill => Ok((
            Specifier::Name(CommandPattern::new(text), parameter.filter(|_| restricting && !primary)),
            None,
        )),
        CallSubject::Address => match text.strip_prefix("domain:") {
            Some(host) => Domain::parse(host).map(|domain| (Specifier::Domain(domain), None)),
            None => by_parameter(parameter, restricting, "must be `domain:<host>`."),
        },
        CallSubject::Read | CallSubject::Write | CallSubject::Patch | CallSubject::Directory => {
            let consulted = alias.is_none_or(|alias| alias.paths == PathSpecifiers::Consulted);
            match parameter {
                Some(parameter) if restricting && !primary && !consulted => {
                    Ok((Specifier::Parameter(parameter), None))
                }
                // A deny or ask rule means what `Read(...)` or `Edit(...)` would; an allow rule must be written that way.
                _ if !consulted && !restricting && kind == CallSubject::Read => {
                    Err("is ignored: only `Read(...)` rules can allow reading files.")
                }
                _ if !consulted && !restricting => {
                    Err("is ignored: only `Edit(...)` rules can allow writing files.")
                }
                _ if text.starts_with('!') => Err("is ignored: rules do not support exceptions (`!`)."),
                _ if !crate::path_rule::is_valid(text) => Err("has an invalid pattern."),
                _ => Ok((Specifier::Path(text.to_owned()), None)),
            }
        }
        CallSubject::Nothing => {
            by_parameter(parameter, restricting, "has a specifier that this tool does not support.")
        }
    }
}

fn by_parameter(parameter: Option<Parameter>, restricting: bool, otherwise: &'static str) -> SpecifierResult {
    match parameter {
        Some(parameter) if PRIMARY.contains(&parameter.name.as_str()) => {
            Err("is ignored: a parameter rule cannot use the main argument of a tool.")
        }
        Some(parameter) if restricting => Ok((Specifier::Parameter(parameter), None)),
        Some(_) => Err("is ignored: a parameter rule can deny or ask, but not allow."),
        None => Err(otherwise),
    }
}

/// Parses `name:value` if the name could be that of a field.
fn parameter(text: &str) -> Option<Parameter> {
    let (name, value) = text.split_once(':')?;
    let mut letters = name.chars();
    let is_name = letters.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && letters.all(|c| c.is_ascii_alphanumeric() || c == '_');
    (is_name && !value.is_empty())
        .then(|| Parameter { name: name.to_owned(), value: Wildcard::new(value.trim()) })
}
