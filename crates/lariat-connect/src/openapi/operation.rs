//! Reads the operations of a document: where each sends its arguments, and the schema that a model sees.
//!
//! An operation stands alone: it is stored when the user accepts it, and later sessions use it without the document.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::address;
use super::document::OpenApiDocument;
use super::filter::{FilterSubject, OperationFilter};
use super::names::UniqueNames;
use super::schema::{DEPTHS, Expansion, MAX_SCHEMA, description, note};
use super::style::ParameterStyle;
use crate::tool_change::{PinnedTool, schema_lines};

const METHODS: &[&str] = &["get", "put", "post", "delete", "options", "head", "patch"];
/// Maximum length of a path and of a name.
const MAX_TEXT: usize = 512;
/// Headers that Lariat or the HTTP client sets. A document must not let a model set them.
const OWN_HEADERS: &[&str] = &[
    "accept",
    "authorization",
    "connection",
    "content-length",
    "content-type",
    "cookie",
    "expect",
    "forwarded",
    "host",
    "keep-alive",
    "origin",
    "proxy-authorization",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "via",
];

/// One operation of a document, as a tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Operation {
    /// Name of the tool.
    pub name: String,
    /// Its `operationId`, neutralised; method and path if it has none.
    pub id: String,
    /// The method, in upper case.
    pub method: String,
    /// The path, with parameters in braces.
    pub path: String,
    /// What it does, neutralised.
    pub description: String,
    /// JSON Schema of the arguments.
    pub schema: Value,
    pub(super) parameters: Vec<Parameter>,
    pub(super) body: Option<RequestBody>,
}

impl Operation {
    /// Whether its method says that it changes nothing.
    pub fn is_read_only(&self) -> bool {
        matches!(self.method.as_str(), "GET" | "HEAD")
    }
}

impl PinnedTool for Operation {
    fn name(&self) -> &str {
        &self.name
    }

    fn text(&self) -> String {
        let head = format!("{} {}\n{}\n", self.method, self.path, self.description);
        let body = self.body.as_ref().map(|body| format!("body: {}\n", body.media_type)).unwrap_or_default();
        format!("{head}{body}{}\n", schema_lines(&self.schema))
    }

    fn is_same(&self, other: &Self) -> bool {
        self == other
    }
}

/// Where an argument goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Place {
    Path,
    Query,
    Header,
}

/// An argument that is not the body.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Parameter {
    /// The name in the request.
    pub(super) name: String,
    /// The name for the model.
    pub(super) argument: String,
    pub(super) place: Place,
    pub(super) style: ParameterStyle,
    pub(super) explode: bool,
    /// Whether the value is sent as JSON.
    pub(super) is_json: bool,
    pub(super) is_required: bool,
}

/// The argument that becomes the body.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RequestBody {
    pub(super) argument: String,
    pub(super) media_type: String,
    pub(super) form: BodyForm,
    /// Fields of a form whose lists are written in brackets.
    pub(super) in_brackets: Vec<String>,
    pub(super) is_required: bool,
}

/// How a body is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum BodyForm {
    Json,
    Form,
    Multipart,
    Text,
}

impl BodyForm {
    fn of(media_type: &str) -> Self {
        match media_type {
            "application/x-www-form-urlencoded" => Self::Form,
            "multipart/form-data" => Self::Multipart,
            "*/*" => Self::Json,
            json if json.ends_with("/json") || json.ends_with("+json") => Self::Json,
            _ => Self::Text,
        }
    }
}

/// The operations of a document.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct OperationList {
    /// Those that a filter selects, in the order of the document.
    pub operations: Vec<Operation>,
    /// Those that it selects and that cannot be tools, each with its reason.
    pub left_out: Vec<String>,
}

impl OpenApiDocument {
    /// The operations that a filter selects. Their names start with `{prefix}__`, and do not depend on the filter.
    pub fn operations(&self, prefix: Option<&str>, filter: &OperationFilter) -> OperationList {
        let mut names = UniqueNames::new(prefix.map(|prefix| format!("{prefix}__")).unwrap_or_default());
        let mut list = OperationList::default();
        for (path, item) in Self::object(self.root(), "paths") {
            let Ok(item) = self.resolve(item) else {
                list.left_out.push(format!("{}: its reference is not in the document", shown(path)));
                continue;
            };
            for method in METHODS {
                let Some(written) = item.get(*method).filter(|written| written.is_object()) else { continue };
                let method = method.to_uppercase();
                let own = written.get("operationId").and_then(Value::as_str).filter(|id| !id.is_empty());
                let id = own.map_or_else(|| format!("{}_{path}", method.to_lowercase()), str::to_owned);
                let name = names.add(&id, &format!("{method} {path} {id}"));
                let tags = written.get("tags").and_then(Value::as_array).into_iter().flatten();
                let tags: Vec<&str> = tags.filter_map(Value::as_str).collect();
                let subject = FilterSubject { id: &id, method: &method, path, tags: &tags };
                if !filter.selects(&subject) {
                    continue;
                }
                let reader = OperationReader { document: self, item, written, method: &method, path };
                match reader.read(name, &id) {
                    Ok(operation) => list.operations.push(operation),
                    Err(why) => list.left_out.push(format!("{method} {}: {why}", shown(path))),
                }
            }
        }
        list
    }
}

fn shown(text: &str) -> String {
    lariat_core::display::line(text).chars().take(100).collect()
}

/// Reads one operation.
struct OperationReader<'a> {
    document: &'a OpenApiDocument,
    item: &'a Value,
    written: &'a Value,
    method: &'a str,
    path: &'a str,
}

/// A parameter and the schema that the document has for it.
struct ReadParameter<'a> {
    parameter: Parameter,
    schema: Option<&'a Value>,
    description: &'a str,
}

impl<'a> OperationReader<'a> {
    fn read(&self, name: String, id: &str) -> Result<Operation, String> {
        self.check_path()?;
        self.check_server()?;
        let mut arguments = UniqueNames::new("");
        let parameters = self.parameters(&mut arguments)?;
        let (body, body_schema) = self.body(&mut arguments)?;
        let schema = self.schema(&parameters, body.as_ref(), body_schema);
        let text = |name: &str| self.written.get(name).and_then(Value::as_str).unwrap_or_default().trim();
        let about = match (text("summary"), text("description")) {
            ("", text) | (text, "") => text.to_owned(),
            (summary, text) if text.starts_with(summary) => text.to_owned(),
            (summary, text) => format!("{summary}\n\n{text}"),
        };
        let deprecated = self.written.get("deprecated") == Some(&Value::Bool(true));
        let note = if deprecated { " (deprecated)" } else { "" };
        let description = format!("{} {}{note}\n{}", self.method, shown(self.path), description(&about));
        Ok(Operation {
            name,
            id: shown(id),
            method: self.method.to_owned(),
            path: self.path.to_owned(),
            description: description.trim_end().to_owned(),
            schema,
            parameters: parameters.into_iter().map(|read| read.parameter).collect(),
            body,
        })
    }

    fn check_path(&self) -> Result<(), String> {
        let path = self.path;
        let is_odd = |letter: char| {
            letter.is_control()
                || letter.is_whitespace()
                || !letter.is_ascii()
                || "?#\\%<>\"^`|".contains(letter)
        };
        if !path.starts_with('/') || path.len() > MAX_TEXT || path.chars().any(is_odd) {
            return Err("its path is not a plain path".to_owned());
        }
        if path.starts_with("//") || path.split('/').any(|part| matches!(part, "." | "..")) {
            return Err("its path contains `//`, `.` or `..`".to_owned());
        }
        Ok(())
    }

    /// An operation with servers of its own would get requests at the wrong host.
    fn check_server(&self) -> Result<(), String> {
        let own = [self.written, self.item].into_iter().find(|value| value.get("servers").is_some());
        let Some(own) = own.filter(|own| own.pointer("/servers/0").is_some()) else { return Ok(()) };
        let (own, all) = (address::server(own, None), address::server(self.document.root(), None));
        match (own, all) {
            (Ok(own), Ok(all))
                if own.as_str().trim_end_matches('/') == all.as_str().trim_end_matches('/') =>
            {
                Ok(())
            }
            _ => Err("it has a server of its own, which is not the one that you named".to_owned()),
        }
    }

    fn parameters(&self, arguments: &mut UniqueNames) -> Result<Vec<ReadParameter<'a>>, String> {
        let mut read: Vec<ReadParameter<'a>> = Vec::new();
        let mut seen: Vec<(&str, &str)> = Vec::new();
        // Those of the operation replace those of the path.
        for list in [self.written, self.item] {
            for value in list.get("parameters").and_then(Value::as_array).into_iter().flatten() {
                let value = self.document.resolve(value)?;
                let text = |name: &str| value.get(name).and_then(Value::as_str);
                let (Some(name), Some(place)) = (text("name"), text("in")) else { continue };
                if seen.contains(&(name, place)) || name.is_empty() || name.len() > MAX_TEXT {
                    continue;
                }
                seen.push((name, place));
                let place = match place {
                    "path" if self.path.contains(&format!("{{{name}}}")) => Place::Path,
                    "query" => Place::Query,
                    "header" if is_free_header(name) => Place::Header,
                    // Cookies carry credentials, which the user configures.
                    _ => continue,
                };
                read.push(self.parameter(value, name, place, arguments));
            }
        }
        for name in braces(self.path) {
            if !read.iter().any(|read| read.parameter.place == Place::Path && read.parameter.name == name) {
                read.push(self.parameter(&Value::Null, name, Place::Path, arguments));
            }
        }
        Ok(read)
    }

    fn parameter(
        &self,
        value: &'a Value,
        name: &str,
        place: Place,
        arguments: &mut UniqueNames,
    ) -> ReadParameter<'a> {
        let default = if place == Place::Query { ParameterStyle::Form } else { ParameterStyle::Simple };
        let style =
            value.get("style").and_then(Value::as_str).and_then(ParameterStyle::parse).unwrap_or(default);
        let explode = value.get("explode").and_then(Value::as_bool).unwrap_or(style == ParameterStyle::Form);
        let content =
            value.get("content").and_then(Value::as_object).and_then(|content| content.iter().next());
        let parameter = Parameter {
            name: name.to_owned(),
            argument: arguments.add(name, &format!("{place:?} {name}")),
            place,
            style,
            explode,
            is_json: content.is_some_and(|(media, _)| BodyForm::of(media) == BodyForm::Json),
            is_required: place == Place::Path || value.get("required") == Some(&Value::Bool(true)),
        };
        let schema = value.get("schema").or_else(|| content?.1.get("schema"));
        let description = value.get("description").and_then(Value::as_str).unwrap_or_default();
        ReadParameter { parameter, schema, description }
    }

    fn body(&self, arguments: &mut UniqueNames) -> Result<(Option<RequestBody>, Option<&'a Value>), String> {
        let Some(body) = self.written.get("requestBody") else { return Ok((None, None)) };
        let body = self.document.resolve(body)?;
        let forms = [BodyForm::Json, BodyForm::Form, BodyForm::Multipart, BodyForm::Text];
        let kind = |name: &str| name.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        let content: Vec<(&String, &'a Value)> = OpenApiDocument::object(body, "content").collect();
        let best = forms.iter().find_map(|form| {
            content.iter().find(|(name, _)| BodyForm::of(&kind(name)) == *form).map(|found| (*form, *found))
        });
        let Some((form, (name, media))) = best else { return Ok((None, None)) };
        let media_type = match (form, kind(name)) {
            (BodyForm::Json, any) if any == "*/*" => "application/json".to_owned(),
            (_, plain) => plain,
        };
        if http::HeaderValue::from_str(&media_type).is_err() {
            return Err("the type of its body is not valid".to_owned());
        }
        let in_brackets = OpenApiDocument::object(media, "encoding")
            .filter(|(_, encoding)| encoding.get("style").and_then(Value::as_str) == Some("deepObject"));
        let argument = match arguments.add("body", "body") {
            free if free == "body" => free,
            _ => arguments.add("_request_body", "request body"),
        };
        let body = RequestBody {
            argument,
            media_type,
            form,
            in_brackets: in_brackets.map(|(name, _)| name.clone()).collect(),
            is_required: body.get("required") == Some(&Value::Bool(true)),
        };
        Ok((Some(body), media.get("schema")))
    }

    /// The schema of all arguments, expanded as deeply as its size allows.
    fn schema(
        &self,
        parameters: &[ReadParameter<'a>],
        body: Option<&RequestBody>,
        body_schema: Option<&'a Value>,
    ) -> Value {
        let mut last = json!({ "type": "object", "properties": {} });
        for depth in DEPTHS {
            let mut expansion = Expansion::new(self.document, *depth);
            last = arguments_schema(&mut expansion, parameters, body, body_schema);
            if !expansion.is_over() && last.to_string().len() <= MAX_SCHEMA {
                return last;
            }
        }
        names_only(&mut last);
        last
    }
}

fn arguments_schema<'a>(
    expansion: &mut Expansion<'a>,
    parameters: &[ReadParameter<'a>],
    body: Option<&RequestBody>,
    body_schema: Option<&'a Value>,
) -> Value {
    let (mut properties, mut required) = (Map::new(), Vec::new());
    for read in parameters {
        let mut schema =
            read.schema.map_or_else(|| json!({ "type": "string" }), |schema| expansion.schema(schema, 1));
        if let (Some(fields), false) = (schema.as_object_mut(), read.description.trim().is_empty()) {
            fields.insert("description".to_owned(), note(read.description).into());
        }
        properties.insert(read.parameter.argument.clone(), schema);
        if read.parameter.is_required {
            required.push(read.parameter.argument.clone());
        }
    }
    if let Some(body) = body {
        let schema = match body.form {
            BodyForm::Text => {
                json!({ "type": "string", "description": format!("The body, as {}.", body.media_type) })
            }
            _ => body_schema.map_or_else(|| json!({}), |schema| expansion.schema(schema, 1)),
        };
        properties.insert(body.argument.clone(), schema);
        if body.is_required {
            required.push(body.argument.clone());
        }
    }
    let mut schema = json!({ "type": "object", "properties": properties });
    if let (Some(fields), false) = (schema.as_object_mut(), required.is_empty()) {
        fields.insert("required".to_owned(), required.into());
    }
    schema
}

/// Leaves only the names of the arguments.
fn names_only(schema: &mut Value) {
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        properties.values_mut().for_each(|property| *property = json!({}));
    }
}

/// Whether a model may set a header.
fn is_free_header(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let is_own = OWN_HEADERS.contains(&name.as_str())
        || name.starts_with("proxy-")
        || name.starts_with("x-forwarded-");
    !is_own && http::HeaderName::from_bytes(name.as_bytes()).is_ok()
}

/// The names in braces of a path.
fn braces(path: &str) -> impl Iterator<Item = &str> {
    path.split('{').skip(1).filter_map(|rest| rest.split_once('}').map(|(name, _)| name))
}
