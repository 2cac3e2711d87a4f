//! Questions of a server to the user, while one of its tools runs: a form of plain fields, or an address to open.
//!
//! A form becomes one question for each field, so that every front end which shows questions can show it. What the user
//! answers is checked against the form before the server gets it. Everything in it is text of the server: it is neutralised,
//! shortened, and shown with the name of the server. Lariat never opens an address.

use lariat_core::display;
use lariat_core::question::{UserAnswer, UserQuestion};
use lariat_core::tool::QuestionFn;
use serde_json::{Map, Value};
use tokio::sync::oneshot;
use url::{Host, Url};

/// Maximum number of fields of a form.
const MAX_FIELDS: usize = 20;
/// Maximum number of choices of a field.
const MAX_CHOICES: usize = 50;
/// Maximum characters of a text of the server.
const MAX_TEXT: usize = 2_000;
/// Maximum characters of an address.
const MAX_ADDRESS: usize = 4_000;
/// How often the user may answer a field in a way that does not fit.
const MAX_ATTEMPTS: usize = 3;
/// The start of the answer that takes the default of a field.
const DEFAULT: &str = "(default: ";
/// The answer that leaves a field empty.
const EMPTY: &str = "(leave empty)";
/// The answer that says that the user opened an address.
const OPENED: &str = "I opened it";
/// The answer that accepts a form without fields.
const CONTINUE: &str = "continue";

/// What a server asks of the user.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Elicitation {
    /// Values for fields. The schema is that of an object; `order` names its properties in the order of the server.
    Form { message: String, schema: Value, order: Vec<String> },
    /// To open an address.
    Address { message: String, url: String },
}

/// What the server gets.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ElicitationAnswer {
    /// The user agreed; the values of a form.
    Accept(Option<Value>),
    /// The user does not want to, for this reason, or no user can answer.
    Decline(String),
    /// The run ended before the user answered.
    Cancel,
}

/// A question of a server on its way to the call that it belongs to.
#[derive(Debug)]
pub(super) struct PendingElicitation {
    pub(super) elicitation: Elicitation,
    pub(super) reply: oneshot::Sender<ElicitationAnswer>,
}

/// Asks the user what a server asks.
pub(super) async fn ask(server: &str, elicitation: &Elicitation, ask: &QuestionFn) -> ElicitationAnswer {
    let asked = match elicitation {
        Elicitation::Form { message, schema, order } => ask_form(server, message, schema, order, ask).await,
        Elicitation::Address { message, url } => ask_address(server, message, url, ask).await,
    };
    asked.unwrap_or_else(|answer| answer)
}

type AnswerResult<T> = Result<T, ElicitationAnswer>;

fn declined<T>(reason: impl Into<String>) -> AnswerResult<T> {
    Err(ElicitationAnswer::Decline(reason.into()))
}

async fn ask_form(
    server: &str,
    message: &str,
    schema: &Value,
    order: &[String],
    ask: &QuestionFn,
) -> AnswerResult<ElicitationAnswer> {
    let fields = match Field::all(schema, order) {
        Ok(fields) => fields,
        Err(why) => return declined(format!("its form cannot be shown: {why}")),
    };
    let intro = format!("The MCP server `{server}` asks: {}", shown(message));
    if fields.is_empty() {
        answer(ask, UserQuestion::new(intro, vec![CONTINUE.to_owned()])).await?;
        return Ok(ElicitationAnswer::Accept(Some(Value::Object(Map::new()))));
    }
    let (count, mut values) = (fields.len(), Map::new());
    for (number, field) in fields.iter().enumerate() {
        let place = if count > 1 { format!(" ({} of {count})", number + 1) } else { String::new() };
        let text = format!("{intro}\n\n{}{place}", field.text());
        if let Some(value) = field.ask(&text, ask).await? {
            values.insert(field.name.clone(), value);
        }
    }
    Ok(ElicitationAnswer::Accept(Some(Value::Object(values))))
}

async fn ask_address(
    server: &str,
    message: &str,
    address: &str,
    ask: &QuestionFn,
) -> AnswerResult<ElicitationAnswer> {
    if address.chars().count() > MAX_ADDRESS {
        return declined("its address is too long to be shown");
    }
    let Ok(url) = Url::parse(address) else { return declined("its address is not valid") };
    let Some(host) = url.host().filter(|host| is_openable(&url, host)) else {
        return declined("its address is neither `https` nor on this machine");
    };
    // The parsed form, in which a host in other letters is visible as `xn--`.
    let text = format!(
        "The MCP server `{server}` asks you to open an address: {}\n\nhost: {}\naddress: {}\n\nLariat does not open it. Open it in your browser if you trust the host.",
        shown(message),
        display::line(&host.to_string()),
        display::line(url.as_str())
    );
    let said = answer(ask, UserQuestion::new(text, vec![OPENED.to_owned()])).await?;
    match said.trim().eq_ignore_ascii_case(OPENED) {
        true => Ok(ElicitationAnswer::Accept(None)),
        false => declined("the user did not open the address"),
    }
}

fn is_openable(url: &Url, host: &Host<&str>) -> bool {
    let is_here = match host {
        Host::Domain(name) => name.eq_ignore_ascii_case("localhost"),
        Host::Ipv4(address) => address.is_loopback(),
        Host::Ipv6(address) => address.is_loopback(),
    };
    let has_login = !url.username().is_empty() || url.password().is_some();
    !has_login && (url.scheme() == "https" || (url.scheme() == "http" && is_here))
}

/// The answer of the user.
async fn answer(ask: &QuestionFn, question: UserQuestion) -> AnswerResult<String> {
    match ask(question).await {
        UserAnswer::Text(text) => Ok(text),
        UserAnswer::Withdrawn => Err(ElicitationAnswer::Cancel),
        UserAnswer::Declined { reason: Some(reason) } => declined(reason),
        UserAnswer::Declined { reason: None } => declined("the user declined to answer"),
    }
}

/// A text of a server, neutralised and shortened.
fn shown(text: &str) -> String {
    let short: String = text.chars().take(MAX_TEXT).collect();
    let rest = if short.len() < text.len() { " […]" } else { "" };
    format!("{}{rest}", display::block(&short))
}

/// A field of a form.
struct Field {
    name: String,
    /// How a user reads it.
    label: String,
    is_required: bool,
    kind: FieldKind,
    /// What the server suggests, if it fits, and the answer that takes it.
    default: Option<(Value, String)>,
}

enum FieldKind {
    /// One of these values, each with how a user reads it.
    Choice(Vec<(Value, String)>),
    /// Several of these values.
    Choices(Vec<(Value, String)>),
    Text {
        min: Option<u64>,
        max: Option<u64>,
    },
    Number {
        is_integer: bool,
        min: Option<f64>,
        max: Option<f64>,
    },
}

impl Field {
    fn all(schema: &Value, order: &[String]) -> Result<Vec<Self>, String> {
        let none = Map::new();
        let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&none);
        if properties.len() > MAX_FIELDS {
            return Err(format!("it has more than {MAX_FIELDS} fields"));
        }
        let required: Vec<&str> = schema
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let named = order.iter().filter_map(|name| properties.get_key_value(name));
        let others = properties.iter().filter(|(name, _)| !order.contains(name));
        let field = |(name, schema): (&String, &Value)| {
            let title = schema.get("title").and_then(Value::as_str).unwrap_or(name);
            let about = schema.get("description").and_then(Value::as_str);
            let about = about.map(|about| format!(": {}", shown(about))).unwrap_or_default();
            let kind =
                FieldKind::of(schema).ok_or_else(|| format!("the field `{}` is not plain", shown(name)))?;
            let default = schema.get("default").and_then(|value| {
                let words = kind.words(value)?;
                Some((kind.value(&words).ok()?, format!("{DEFAULT}{})", shown(&words))))
            });
            let is_required = required.contains(&name.as_str());
            let label = format!("{}{about}", shown(title));
            Ok(Self { name: name.clone(), label, is_required, kind, default })
        };
        named.chain(others).map(field).collect()
    }

    fn text(&self) -> String {
        let form = match &self.kind {
            FieldKind::Choice(_) => String::new(),
            FieldKind::Choices(choices) => {
                let names: Vec<&str> = choices.iter().map(|(_, name)| name.as_str()).collect();
                format!(" [any of: {}; separated by commas]", names.join(", "))
            }
            FieldKind::Text { .. } => String::new(),
            FieldKind::Number { is_integer: true, .. } => " [a whole number]".to_owned(),
            FieldKind::Number { .. } => " [a number]".to_owned(),
        };
        format!("{}{form}", self.label)
    }

    /// Asks until the answer fits; `None` if the user leaves the field empty.
    async fn ask(&self, text: &str, ask: &QuestionFn) -> AnswerResult<Option<Value>> {
        let mut options = match &self.kind {
            FieldKind::Choice(choices) => choices.iter().map(|(_, name)| name.clone()).collect(),
            _ => Vec::new(),
        };
        options.extend(self.default.iter().map(|(_, answer)| answer.clone()));
        if !self.is_required {
            options.push(EMPTY.to_owned());
        }
        let mut problem = String::new();
        for _ in 0..MAX_ATTEMPTS {
            let said = answer(ask, UserQuestion::new(format!("{problem}{text}"), options.clone())).await?;
            if !self.is_required && said.trim() == EMPTY {
                return Ok(None);
            }
            if let Some((value, _)) = self.default.as_ref().filter(|(_, answer)| said.trim() == answer) {
                return Ok(Some(value.clone()));
            }
            match self.kind.value(&said) {
                Ok(value) => return Ok(Some(value)),
                Err(why) => problem = format!("That answer does not fit: {why}.\n\n"),
            }
        }
        declined("the answers of the user did not fit the form")
    }
}

impl FieldKind {
    fn of(schema: &Value) -> Option<Self> {
        if let Some(choices) = choices(schema) {
            return (choices.len() <= MAX_CHOICES).then_some(Self::Choice(choices));
        }
        let number = |key: &str| schema.get(key).and_then(Value::as_f64);
        let length = |key: &str| schema.get(key).and_then(Value::as_u64);
        Some(match schema.get("type")?.as_str()? {
            "boolean" => Self::Choice(vec![
                (Value::Bool(true), "yes".to_owned()),
                (Value::Bool(false), "no".to_owned()),
            ]),
            "string" => Self::Text { min: length("minLength"), max: length("maxLength") },
            kind @ ("integer" | "number") => {
                Self::Number { is_integer: kind == "integer", min: number("minimum"), max: number("maximum") }
            }
            "array" => {
                let choices = choices(schema.get("items")?)?;
                (choices.len() <= MAX_CHOICES).then_some(Self::Choices(choices))?
            }
            _ => return None,
        })
    }

    /// The answer that means a value; `None` if no answer does.
    fn words(&self, value: &Value) -> Option<String> {
        let name = |choices: &[(Value, String)], value: &Value| {
            choices.iter().find(|(choice, _)| choice == value).map(|(_, name)| name.clone())
        };
        match self {
            Self::Choice(choices) => name(choices, value),
            Self::Choices(choices) => {
                let names: Option<Vec<String>> =
                    value.as_array()?.iter().map(|value| name(choices, value)).collect();
                names.map(|names| names.join(", "))
            }
            Self::Text { .. } => value.as_str().map(str::to_owned),
            Self::Number { .. } => value.as_number().map(ToString::to_string),
        }
    }

    /// The value that an answer means.
    fn value(&self, said: &str) -> Result<Value, String> {
        let words = said.trim();
        match self {
            Self::Choice(choices) => chosen(choices, words),
            Self::Choices(choices) => {
                let parts = words.split(',').map(str::trim).filter(|part| !part.is_empty());
                parts.map(|part| chosen(choices, part)).collect::<Result<Vec<_>, _>>().map(Value::Array)
            }
            Self::Text { min, max } => {
                let count = said.chars().count() as u64;
                if min.is_some_and(|min| count < min) {
                    return Err(format!("it needs at least {} characters", min.unwrap_or_default()));
                }
                if max.is_some_and(|max| count > max) {
                    return Err(format!("it has at most {} characters", max.unwrap_or_default()));
                }
                Ok(said.into())
            }
            Self::Number { is_integer, min, max } => {
                let value = match is_integer {
                    true => words.parse::<i64>().ok().map(Value::from),
                    false => words
                        .parse::<f64>()
                        .ok()
                        .and_then(|number| serde_json::Number::from_f64(number).map(Value::Number)),
                };
                let value =
                    value.ok_or_else(|| format!("`{}` is not such a number", display::line(words)))?;
                let number = value.as_f64().unwrap_or_default();
                if min.is_some_and(|min| number < min) || max.is_some_and(|max| number > max) {
                    let edge = |edge: &Option<f64>| edge.map_or("…".to_owned(), |edge| edge.to_string());
                    return Err(format!("it must be between {} and {}", edge(min), edge(max)));
                }
                Ok(value)
            }
        }
    }
}

/// The value whose name, or which itself, is the answer.
fn chosen(choices: &[(Value, String)], words: &str) -> Result<Value, String> {
    let is_it = |(value, name): &&(Value, String)| {
        name.eq_ignore_ascii_case(words) || value.as_str().is_some_and(|value| value == words)
    };
    let found = choices.iter().find(is_it);
    found
        .map(|(value, _)| value.clone())
        .ok_or_else(|| format!("`{}` is not one of the choices", display::line(words)))
}

/// The choices of a field: `enum` with `enumNames`, or `oneOf` and `anyOf` with `const` and `title`.
fn choices(schema: &Value) -> Option<Vec<(Value, String)>> {
    let name = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        let names = schema.get("enumNames").and_then(Value::as_array);
        let named = |(at, value): (usize, &Value)| {
            let given = names.and_then(|names| names.get(at)?.as_str()).map(str::to_owned);
            (value.clone(), shown(&given.unwrap_or_else(|| name(value))))
        };
        return Some(values.iter().enumerate().map(named).collect());
    }
    let options = schema.get("oneOf").or_else(|| schema.get("anyOf"))?.as_array()?;
    let option = |option: &Value| {
        let value = option.get("const")?;
        let title = option.get("title").and_then(Value::as_str).map(str::to_owned);
        Some((value.clone(), shown(&title.unwrap_or_else(|| name(value)))))
    };
    options.iter().map(option).collect()
}

#[cfg(test)]
#[path = "elicitation_tests.rs"]
mod tests;
