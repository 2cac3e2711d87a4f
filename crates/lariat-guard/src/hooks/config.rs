//! Holds the configured hooks, read from `hooks → Event → [{matcher, hooks: [handler]}]`.

use std::time::Duration;

use serde_json::Value;

use super::{HookEvent, Matcher, Scripts};

/// All configured hooks, in the order of the settings files.
#[derive(Clone, Debug, Default)]
pub struct HookConfig {
    entries: Vec<(HookEvent, Matcher, Handler)>,
}

/// One configured handler: a command to run or an address to post to.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Handler {
    /// The command or the address.
    pub way: Invocation,
    /// Run only for tool calls that this permission rule matches.
    pub condition: Option<String>,
    /// Time limit.
    pub timeout: Duration,
    /// Whether a failure blocks an event that the handler may block.
    pub on_failure: OnFailure,
    /// Runs in the background and decides nothing (`async`).
    pub background: bool,
    /// Runs once per session.
    pub once: bool,
    /// Shown to the user while the handler runs.
    pub status: Option<String>,
    /// The file that configures it.
    pub origin: String,
    /// The workspace files that the handler runs; filled in when the workspace is opened.
    pub scripts: Scripts,
}

/// How a handler is invoked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Invocation {
    /// A shell command line.
    Shell(String),
    /// A program with arguments, started without a shell.
    Program(String, Vec<String>),
    /// An HTTP POST request.
    Post {
        /// The address.
        url: String,
        /// Headers; the runner fills in `$NAME` and `${NAME}` for the variables below.
        headers: Vec<(String, String)>,
        /// Environment variables that headers may use.
        variables: Vec<String>,
    },
    /// A function of the program that controls the session, by its id. No settings file can name one.
    Callback(String),
}

/// What a failure or a timeout of a handler does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnFailure {
    /// Blocks the event.
    #[default]
    Block,
    /// Continues as if the handler did not exist.
    Proceed,
}

/// A part of a hook configuration that cannot be used. Report it to the user: a hook that should have blocked must not go
/// missing silently.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookProblem {
    /// The settings file.
    pub origin: String,
    /// What is wrong with it.
    pub problem: String,
}

impl HookConfig {
    /// Adds the `hooks` of one settings file. Returns what cannot be used.
    pub fn add(&mut self, origin: &str, hooks: &Value) -> Vec<HookProblem> {
        let mut problems = Vec::new();
        let mut problem = |problem: String| problems.push(HookProblem { origin: origin.to_owned(), problem });
        let Value::Object(events) = hooks else {
            if !hooks.is_null() {
                problem("`hooks` is not an object".to_owned());
            }
            return problems;
        };
        for (name, groups) in events {
            let Some(event) = HookEvent::ALL.into_iter().find(|event| event.name() == name) else {
                problem(format!("unknown event `{name}`; its hooks never run"));
                continue;
            };
            let Value::Array(groups) = groups else {
                problem(format!("`{name}` is not a list of groups with `matcher` and `hooks`"));
                continue;
            };
            for group in groups {
                if !group.get("hooks").is_some_and(Value::is_array) {
                    problem(format!("a group of `{name}` has no `hooks` list"));
                }
                let matcher = group.get("matcher").and_then(Value::as_str).unwrap_or_default();
                let matcher = match Matcher::parse(matcher) {
                    Ok(matcher) => matcher,
                    Err(why) => {
                        problem(format!("invalid matcher `{matcher}` of `{name}`: {why}"));
                        continue;
                    }
                };
                for handler in group.get("hooks").and_then(Value::as_array).into_iter().flatten() {
                    match Handler::read(event, handler, origin) {
                        Ok(handler) => self.entries.push((event, matcher.clone(), handler)),
                        Err(why) => problem(format!("invalid handler of `{name}`: {why}")),
                    }
                }
            }
        }
        problems
    }

    /// Adds functions of the program that controls the session: `Event → [{matcher, hookCallbackIds, timeout}]`. Returns
    /// what cannot be used.
    pub fn add_callbacks(&mut self, origin: &str, hooks: &Value) -> Vec<HookProblem> {
        let mut problems = Vec::new();
        let mut problem = |problem: String| problems.push(HookProblem { origin: origin.to_owned(), problem });
        let Value::Object(events) = hooks else {
            if !hooks.is_null() {
                problem("`hooks` is not an object".to_owned());
            }
            return problems;
        };
        for (name, groups) in events {
            let event = HookEvent::ALL.into_iter().find(|event| event.name() == name);
            let (Some(event), Some(groups)) = (event, groups.as_array()) else {
                problem(format!("`{name}` is not a known event with a list of matchers"));
                continue;
            };
            for group in groups {
                match callbacks(event, group, origin) {
                    Ok((matcher, handlers)) => self
                        .entries
                        .extend(handlers.into_iter().map(|handler| (event, matcher.clone(), handler))),
                    Err(why) => problem(format!("invalid callback of `{name}`: {why}")),
                }
            }
        }
        problems
    }

    /// Adds the hooks of another configuration, after the ones here.
    pub fn extend(&mut self, more: Self) {
        self.entries.extend(more.entries);
    }

    /// Returns the handlers that match an event about something with these names, without duplicates. Each comes with its
    /// index in the configuration and the name that it matched.
    pub fn matching<'a, 'n>(
        &'a self,
        event: HookEvent,
        names: &[&'n str],
    ) -> Vec<(usize, &'a Handler, &'n str)> {
        let mut found: Vec<(usize, &Handler, &str)> = Vec::new();
        let entries = self.entries.iter().enumerate().filter(|(_, (on, _, _))| *on == event);
        for (at, (_, matcher, handler)) in entries {
            let any = || names.first().copied().unwrap_or_default();
            let name = if event.has_matcher() { matcher.first(names) } else { Some(any()) };
            let Some(name) = name else { continue };
            if !found.iter().any(|(_, other, _)| handler.is_like(other)) {
                found.push((at, handler, name));
            }
        }
        found
    }

    /// All handlers, of all events.
    pub fn handlers(&self) -> impl Iterator<Item = &Handler> {
        self.entries.iter().map(|(_, _, handler)| handler)
    }

    /// All handlers, for filling in the scripts they run when a workspace is opened.
    pub fn handlers_mut(&mut self) -> impl Iterator<Item = &mut Handler> {
        self.entries.iter_mut().map(|(_, _, handler)| handler)
    }

    /// Whether no handler is configured for an event.
    pub fn is_empty(&self, event: HookEvent) -> bool {
        !self.entries.iter().any(|(on, _, _)| *on == event)
    }
}

impl Handler {
    /// Whether running both would run the same handler twice. A handler that the run waits for never replaces one in the
    /// background, and the reverse.
    fn is_like(&self, other: &Self) -> bool {
        self.way == other.way
            && self.condition == other.condition
            && self.background == other.background
            && self.once == other.once
    }

    fn read(event: HookEvent, entry: &Value, origin: &str) -> Result<Self, String> {
        let text = |name: &str| entry.get(name).and_then(Value::as_str).map(str::to_owned);
        let texts = |name: &str| {
            let items = entry.get(name).and_then(Value::as_array).into_iter().flatten();
            items.filter_map(Value::as_str).map(str::to_owned).collect::<Vec<_>>()
        };
        let needed = |name: &str| text(name).ok_or_else(|| format!("`{name}` is missing"));
        let way = match text("type").as_deref() {
            Some("command") | None if entry.get("args").is_some() => {
                Invocation::Program(needed("command")?, texts("args"))
            }
            Some("command") | None => Invocation::Shell(needed("command")?),
            Some("http") => {
                let headers = entry.get("headers").and_then(Value::as_object).into_iter().flatten();
                let header =
                    |(name, value): (&String, &Value)| Some((name.clone(), value.as_str()?.to_owned()));
                let headers = headers.filter_map(header).collect();
                Invocation::Post { url: needed("url")?, headers, variables: texts("allowedEnvVars") }
            }
            Some(other) => return Err(format!("unsupported handler type `{other}`")),
        };
        let on_failure = match text("on_failure").as_deref() {
            Some("proceed") => OnFailure::Proceed,
            Some("block") | None => OnFailure::Block,
            Some(other) => return Err(format!("`on_failure` must be `block` or `proceed`, not `{other}`")),
        };
        let flag = |name: &str| entry.get(name).and_then(Value::as_bool).unwrap_or_default();
        if text("if").is_some() && !event.is_about_a_call() {
            return Err("`if` applies to tool calls only".to_owned());
        }
        if flag("asyncRewake") {
            return Err("`asyncRewake` is not supported".to_owned());
        }
        if flag("async") && matches!(way, Invocation::Post { .. }) {
            return Err("only a command can be `async`".to_owned());
        }
        let seconds = entry.get("timeout").and_then(Value::as_f64).filter(|seconds| *seconds > 0.0);
        let timeout = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        Ok(Self {
            way,
            condition: text("if"),
            timeout: timeout.unwrap_or_else(|| default_timeout(event)),
            on_failure,
            background: flag("async"),
            once: flag("once"),
            status: text("statusMessage"),
            origin: origin.to_owned(),
            scripts: Scripts::default(),
        })
    }
}

/// Reads one group of callbacks.
fn callbacks(event: HookEvent, group: &Value, origin: &str) -> Result<(Matcher, Vec<Handler>), String> {
    let matcher = match group.get("matcher") {
        None | Some(Value::Null) => Matcher::parse("")?,
        Some(Value::String(matcher)) => Matcher::parse(matcher)?,
        Some(other) => return Err(format!("the matcher {other} is not a string")),
    };
    let ids = group.get("hookCallbackIds").and_then(Value::as_array).ok_or("`hookCallbackIds` is missing")?;
    let timeout = match group.get("timeout") {
        None | Some(Value::Null) => default_timeout(event),
        Some(seconds) => seconds
            .as_f64()
            .filter(|seconds| *seconds > 0.0)
            .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
            .ok_or_else(|| format!("the timeout {seconds} is not a number of seconds"))?,
    };
    let handler = |id: &Value| {
        let id = id.as_str().ok_or_else(|| format!("the id {id} is not a string"))?;
        Ok(Handler {
            way: Invocation::Callback(id.to_owned()),
            condition: None,
            timeout,
            on_failure: OnFailure::Block,
            background: false,
            once: false,
            status: None,
            origin: origin.to_owned(),
            scripts: Scripts::default(),
        })
    };
    let handlers: Result<Vec<Handler>, String> = ids.iter().map(handler).collect();
    Ok((matcher, handlers?))
}

fn default_timeout(event: HookEvent) -> Duration {
    match event {
        HookEvent::UserPromptSubmit => Duration::from_secs(30),
        HookEvent::SessionEnd => Duration::from_millis(1_500),
        _ => Duration::from_secs(600),
    }
}
