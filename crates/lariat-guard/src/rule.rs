//! One permission rule: `Tool` or `Tool(specifier)`, and where it was written.
//!
//! Owns the grammar. What a rule cannot mean is a [`Warning`] that names the rule and its file; nothing is dropped
//! silently. Whether a rule fits a call is decided by `judge`, with the patterns that are parsed here.

use std::fmt;
use std::sync::Arc;

use lariat_core::tool::ToolEffects;

use crate::origin::Origin;
use crate::shell_rule::CommandPattern;
use crate::tool_name::{About, MCP, PRIMARY, Paths, about, alias_of, by_effects};
use crate::wildcard::Wildcard;

/// Which list a rule stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Effect {
    /// What it fits never runs.
    Deny,
    /// What it fits is asked.
    Ask,
    /// What it fits may run.
    Allow,
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Deny => "deny",
            Self::Ask => "ask",
            Self::Allow => "allow",
        })
    }
}

/// A permission rule.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rule {
    /// As it was written.
    pub text: String,
    /// The list it stands in.
    pub effect: Effect,
    /// Where it was written.
    pub origin: Arc<Origin>,
    pub(crate) tools: Tools,
    pub(crate) specifier: Specifier,
}

/// Something in settings that has no effect, or not the one it seems to have.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Warning {
    /// What it is about: a rule or a key.
    pub subject: String,
    /// Why, and what to write instead.
    pub reason: String,
    /// Where it was written.
    pub origin: Arc<Origin>,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: `{}` {}", self.origin, self.subject, self.reason)
    }
}

/// The tools that a rule speaks of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Tools {
    /// Those that a name in settings stands for.
    Named(&'static [&'static str]),
    /// One, by its own name.
    One(String),
    /// Every tool of an MCP server.
    Server(String),
    /// Those whose names fit, under their own names or the names in settings.
    Fitting(Wildcard),
}

impl Tools {
    /// Whether a tool is among them, or can do what they do: for rules that deny or ask.
    pub(crate) fn reach(&self, tool: &str, effects: ToolEffects) -> bool {
        let stands = |alias: &'static str| match self {
            Self::Named(names) => alias_of(alias).is_some_and(|alias| alias.tools == *names),
            Self::Fitting(name) => name.matches(alias),
            Self::One(_) | Self::Server(_) => false,
        };
        self.contain(tool) || by_effects(tool, effects).any(stands)
    }

    /// Whether a tool is among them.
    pub(crate) fn contain(&self, tool: &str) -> bool {
        match self {
            Self::Named(names) => names.contains(&tool),
            Self::One(name) => name == tool,
            Self::Server(server) => tool
                .strip_prefix(MCP)
                .and_then(|rest| rest.strip_prefix(server.as_str()))
                .is_some_and(|rest| rest.starts_with("__")),
            Self::Fitting(name) => {
                name.matches(tool) || crate::tool_name::aliases_of(tool).any(|alias| name.matches(alias))
            }
        }
    }
}

/// What of a tool's calls a rule speaks of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Specifier {
    /// Every call.
    Any,
    /// Commands; with a parameter where the text could mean one.
    Command(CommandPattern, Option<Parameter>),
    /// Files, by a pattern that is compiled with the places of a session.
    Path(String),
    /// Hosts.
    Domain(Domain),
    /// An agent's or a skill's name, with a parameter where the text could mean one.
    Name(CommandPattern, Option<Parameter>),
    /// A parameter of the call.
    Parameter(Parameter),
}

/// A top-level parameter and its value.
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
    /// With the leading dot.
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
            return Err("is no host: write `domain:example.com` or `domain:*.example.com`.");
        }
        Ok(if below { Self::Below(format!(".{host}")) } else { Self::Host(host.to_owned()) })
    }

    /// Whether a host, in small letters and without a final dot, is meant.
    pub(crate) fn contains(&self, host: &str) -> bool {
        match self {
            Self::Every => true,
            Self::Host(own) => own == host,
            Self::Below(end) => host.len() > end.len() && host.ends_with(end.as_str()),
        }
    }
}

impl Rule {
    /// Reads a rule. The second value is what to tell about it; without the first it has no effect.
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
        match specified(name, specifier, effect) {
            Ok((specifier @ Specifier::Path(_), reason)) => {
                (made(of_files(name, tools), specifier), reason.and_then(warning))
            }
            Ok((specifier, reason)) => (made(tools, specifier), reason.and_then(warning)),
            Err(reason) => (None, warning(reason)),
        }
    }

    /// The name of the one tool that it speaks of, where that is neither a name of settings nor a tool of a server. A
    /// program that knows all of its tools can tell a slip by it.
    pub fn own_tool(&self) -> Option<&str> {
        match &self.tools {
            Tools::One(name) if !name.starts_with(MCP) => Some(name),
            _ => None,
        }
    }

    /// True when it speaks of only some calls of its tools.
    pub(crate) fn is_scoped(&self) -> bool {
        self.specifier != Specifier::Any
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} `{}` ({})", self.effect, self.text, self.origin)
    }
}

/// The name and the specifier.
fn split(text: &str) -> Result<(&str, Option<&str>), &'static str> {
    let (name, specifier) = match text.split_once('(') {
        None => (text, None),
        Some((name, rest)) => {
            let inner = rest.strip_suffix(')').ok_or("has no `)` at its end.")?;
            (name, Some(inner.trim()))
        }
    };
    if name.is_empty() {
        return Err("names no tool.");
    }
    if !name.chars().all(|c| c.is_alphanumeric() || "_-.*:/".contains(c)) {
        return Err("is not a tool's name: write `Tool` or `Tool(specifier)`.");
    }
    let count = |letter: char| specifier.unwrap_or_default().matches(letter).count();
    // Commands have parentheses of their own; in a path, one too many is a slip.
    if alias_of(name).is_some_and(|alias| matches!(alias.about, About::Read | About::Write))
        && count(')') > count('(')
    {
        return Err("has a `)` too many.");
    }
    if specifier == Some("") {
        return Err("has an empty specifier: leave out `()` to mean every call.");
    }
    Ok((name, specifier))
}

fn tools(name: &str, effect: Effect) -> Result<Tools, &'static str> {
    if name.contains('*') {
        if effect == Effect::Allow && !names_a_server(name) {
            return Err("may not use `*` in a tool's name to allow, but after `mcp__<server>__`.");
        }
        return Ok(Tools::Fitting(Wildcard::new(name)));
    }
    if let Some(alias) = alias_of(name) {
        return Ok(Tools::Named(alias.tools));
    }
    match name.strip_prefix(MCP) {
        Some("") => Err("names no server: write `mcp__<server>`."),
        Some(server) if !server.contains("__") => Ok(Tools::Server(server.to_owned())),
        _ => Ok(Tools::One(name.to_owned())),
    }
}

/// The tools of a rule about files: all that read, or all that write, whichever of them it names.
fn of_files(name: &str, tools: Tools) -> Tools {
    let class = match alias_of(name).filter(|alias| alias.paths == Paths::Ignored).map(|alias| alias.about) {
        Some(About::Read) => "Read",
        Some(_) => "Edit",
        None => return tools,
    };
    alias_of(class).map_or(tools, |alias| Tools::Named(alias.tools))
}

/// Whether the first `*` comes after a literal `mcp__<server>__`.
fn names_a_server(name: &str) -> bool {
    let literal = name.split('*').next().unwrap_or_default();
    literal
        .strip_prefix(MCP)
        .and_then(|rest| rest.split_once("__"))
        .is_some_and(|(server, _)| !server.is_empty())
}

type Specified = Result<(Specifier, Option<&'static str>), &'static str>;

fn specified(name: &str, text: &str, effect: Effect) -> Specified {
    let alias = alias_of(name);
    let parameter = parameter(text);
    let kind = alias.map_or_else(|| about(name), |alias| alias.about);
    let restricting = effect != Effect::Allow;
    let primary = parameter.as_ref().is_some_and(|parameter| PRIMARY.contains(&parameter.name.as_str()));
    match kind {
        About::Command | About::Input => {
            const READ_AS_TEXT: &str = "is read as the text of a command: fields that hold what a call is about have no parameter rules.";
            if primary && restricting {
                return Err(READ_AS_TEXT);
            }
            let reason = primary.then_some(READ_AS_TEXT);
            let parameter = parameter.filter(|_| restricting && !primary);
            Ok((Specifier::Command(CommandPattern::new(text), parameter), reason))
        }
        About::Agent | About::Skill => Ok((
            Specifier::Name(CommandPattern::new(text), parameter.filter(|_| restricting && !primary)),
            None,
        )),
        About::Address => match text.strip_prefix("domain:") {
            Some(host) => Domain::parse(host).map(|domain| (Specifier::Domain(domain), None)),
            None => by_parameter(parameter, restricting, "must be `domain:<host>`."),
        },
        About::Read | About::Write | About::Patch | About::Directory => {
            let consulted = alias.is_none_or(|alias| alias.paths == Paths::Consulted);
            match parameter {
                Some(parameter) if restricting && !primary && !consulted => {
                    Ok((Specifier::Parameter(parameter), None))
                }
                // To restrict, such a rule means what `Read(...)` or `Edit(...)` would; to allow, it must be written so.
                _ if !consulted && !restricting && kind == About::Read => {
                    Err("is ignored: only `Read(...)` rules say which files may be read.")
                }
                _ if !consulted && !restricting => {
                    Err("is ignored: only `Edit(...)` rules say which files may be written.")
                }
                _ if text.starts_with('!') => Err("is ignored: a rule has no exceptions."),
                _ if !crate::path_rule::is_readable(text) => Err("has a pattern that cannot be read."),
                _ => Ok((Specifier::Path(text.to_owned()), None)),
            }
        }
        About::Nothing => {
            by_parameter(parameter, restricting, "has a specifier that this tool does not know.")
        }
    }
}

fn by_parameter(parameter: Option<Parameter>, restricting: bool, otherwise: &'static str) -> Specified {
    match parameter {
        Some(parameter) if PRIMARY.contains(&parameter.name.as_str()) => {
            Err("is ignored: a field that holds what a call is about has no parameter rule.")
        }
        Some(parameter) if restricting => Ok((Specifier::Parameter(parameter), None)),
        Some(_) => Err("is ignored: a parameter can deny or ask, not allow."),
        None => Err(otherwise),
    }
}

/// `name:value`, where the name could be a field's.
fn parameter(text: &str) -> Option<Parameter> {
    let (name, value) = text.split_once(':')?;
    let mut letters = name.chars();
    let is_name = letters.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && letters.all(|c| c.is_ascii_alphanumeric() || c == '_');
    (is_name && !value.is_empty())
        .then(|| Parameter { name: name.to_owned(), value: Wildcard::new(value.trim()) })
}
