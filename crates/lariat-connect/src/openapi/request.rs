//! Builds the request of a tool call. Pure: no connection, no clock.
//!
//! Invariant: the address has the origin of the base and a path beneath it, exactly as built here: no parser normalises it
//! to another one. The credential is added last, and replaces what an argument set.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, COOKIE};
use http::{HeaderMap, HeaderName, HeaderValue, Request, Uri};
use serde_json::{Map, Value};
use url::Url;

use super::config::{OpenApiAuth, OpenApiConfig};
use super::error::OpenApiError;
use super::operation::{BodyForm, Operation, Place, RequestBody};
use super::style;

const ACCEPTED: &str = "application/json, text/*;q=0.9, */*;q=0.1";
/// Maximum length of an address: servers refuse longer ones.
const MAX_ADDRESS: usize = 16 * 1024;

/// A request without its credential.
#[derive(Debug)]
pub(super) struct PreparedRequest {
    pub(super) method: http::Method,
    pub(super) url: Url,
    headers: HeaderMap,
    body: Bytes,
}

/// Builds the request of a tool call.
///
/// # Errors
/// What is wrong with the arguments.
pub(super) fn prepare(
    operation: &Operation,
    base: &Url,
    arguments: &Map<String, Value>,
) -> Result<PreparedRequest, String> {
    let is_known = |name: &String| {
        operation.parameters.iter().any(|parameter| parameter.argument == *name)
            || operation.body.as_ref().is_some_and(|body| body.argument == *name)
    };
    if let Some(unknown) = arguments.keys().find(|name| !is_known(name)) {
        return Err(format!("`{}` is not an argument of this tool", lariat_core::display::line(unknown)));
    }
    let (mut path, mut pairs, mut headers) = (operation.path.clone(), Vec::new(), HeaderMap::new());
    for parameter in &operation.parameters {
        let value = match arguments.get(&parameter.argument).filter(|value| !value.is_null()) {
            Some(value) => value,
            None if parameter.is_required => return Err(format!("`{}` is missing", parameter.argument)),
            None => continue,
        };
        let json;
        let value = match parameter.is_json {
            true => {
                json = Value::String(value.to_string());
                &json
            }
            false => value,
        };
        match parameter.place {
            Place::Path => {
                let text = style::path(&parameter.name, value, parameter.style, parameter.explode)?;
                path = path.replace(&format!("{{{}}}", parameter.name), &text);
            }
            Place::Query => {
                style::query(&mut pairs, &parameter.name, value, parameter.style, parameter.explode)
            }
            Place::Header => {
                let (name, value) = header(&parameter.name, &header_text(value))?;
                headers.insert(name, value);
            }
        }
    }
    if path.contains(['{', '}']) {
        return Err("the path of the operation has a parameter without a name".to_owned());
    }
    let url = address(base, &path, &pairs)?;
    headers.insert(ACCEPT, HeaderValue::from_static(ACCEPTED));
    let body = match &operation.body {
        Some(body) => written_body(body, arguments, &mut headers)?,
        None => Bytes::new(),
    };
    let method = operation.method.parse().map_err(|_| "the method is not valid".to_owned())?;
    Ok(PreparedRequest { method, url, headers, body })
}

/// Joins base, path and query, and checks that a parser reads exactly that.
fn address(base: &Url, path: &str, pairs: &[String]) -> Result<Url, String> {
    let beneath = base.path().trim_end_matches('/');
    let path = format!("{beneath}{path}");
    let origin = base.origin().ascii_serialization();
    let query = if pairs.is_empty() { String::new() } else { format!("?{}", pairs.join("&")) };
    let text = format!("{origin}{path}{query}");
    if text.len() > MAX_ADDRESS {
        return Err(format!("the arguments make an address of more than {MAX_ADDRESS} bytes"));
    }
    let url = Url::parse(&text).map_err(|error| format!("the arguments make no valid address: {error}"))?;
    if url.origin() != base.origin() || url.path() != path {
        return Err("the arguments would change the path of the operation".to_owned());
    }
    Ok(url)
}

fn header_text(value: &Value) -> String {
    match value {
        Value::Array(items) => items.iter().map(style::plain).collect::<Vec<_>>().join(","),
        one => style::plain(one),
    }
}

/// A header of a request. Refuses line breaks, which would start another header.
pub(super) fn header(name: &str, value: &str) -> Result<(HeaderName, HeaderValue), String> {
    let shown = lariat_core::display::line(name).into_owned();
    let name =
        HeaderName::from_bytes(name.as_bytes()).map_err(|_| format!("`{shown}` is not a valid header"))?;
    let value = HeaderValue::from_str(value)
        .map_err(|_| format!("the value of the header `{shown}` contains a control character"))?;
    Ok((name, value))
}

fn written_body(
    body: &RequestBody,
    arguments: &Map<String, Value>,
    headers: &mut HeaderMap,
) -> Result<Bytes, String> {
    let value = match arguments.get(&body.argument) {
        Some(value) => value,
        None if body.is_required => return Err(format!("`{}` is missing", body.argument)),
        None => return Ok(Bytes::new()),
    };
    let fields = || {
        value
            .as_object()
            .ok_or_else(|| format!("`{}` must be an object with the fields of the form", body.argument))
    };
    let mut media_type = body.media_type.clone();
    let bytes = match body.form {
        BodyForm::Json => value.to_string().into_bytes(),
        BodyForm::Form => style::form(fields()?, &body.in_brackets).into_bytes(),
        BodyForm::Multipart => {
            let (boundary, bytes) = multipart(fields()?)?;
            media_type = format!("{media_type}; boundary={boundary}");
            bytes
        }
        BodyForm::Text => style::plain(value).into_bytes(),
    };
    let value =
        HeaderValue::from_str(&media_type).map_err(|_| "the type of the body is not valid".to_owned())?;
    headers.insert(CONTENT_TYPE, value);
    Ok(bytes.into())
}

/// Fields as `multipart/form-data`. The boundary is a hash of the content, so the content does not contain it.
fn multipart(fields: &Map<String, Value>) -> Result<(String, Vec<u8>), String> {
    let hash = blake3::hash(Value::Object(fields.clone()).to_string().as_bytes()).to_hex();
    let boundary = format!("lariat-{}", hash.get(..32).unwrap_or_default());
    let mut text = String::new();
    for (name, value) in fields {
        if name.chars().any(|letter| letter.is_control() || letter == '"') {
            return Err("the name of a field contains a quote or a control character".to_owned());
        }
        let part = style::plain(value);
        if part.contains(&boundary) {
            return Err("a field contains the boundary of the body".to_owned());
        }
        text.push_str(&format!(
            "--{boundary}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{part}\r\n"
        ));
    }
    text.push_str(&format!("--{boundary}--\r\n"));
    Ok((boundary, text.into_bytes()))
}

impl PreparedRequest {
    /// What the user approves: the request line and the body, without the credential.
    pub(super) fn preview(&self) -> String {
        let body = String::from_utf8_lossy(&self.body);
        let end = body.floor_char_boundary(4 * 1024);
        format!("{} {}\n\n{}", self.method, self.url, body.get(..end).unwrap_or_default())
            .trim_end()
            .to_owned()
    }

    /// The request to an address, with the headers and the credential of the configuration. The caller checked that the
    /// address has the origin of the base.
    pub(super) fn complete(&self, url: &Url, credentials: &Credentials) -> Result<Request<Bytes>, String> {
        let mut url = url.clone();
        if let Some((name, value)) = &credentials.query {
            let pair = format!("{}={}", style::encode(name), style::encode(value));
            let query = url.query().filter(|query| !query.is_empty()).map(|query| format!("{query}&{pair}"));
            url.set_query(Some(&query.unwrap_or(pair)));
        }
        let uri: Uri = url.as_str().parse().map_err(|_| "the address is not valid".to_owned())?;
        // The check of addresses and the client must read the same host.
        if uri.host() != url.host_str() {
            return Err("the host of the address is ambiguous".to_owned());
        }
        let mut request = Request::builder().method(self.method.clone()).uri(uri);
        if let Some(headers) = request.headers_mut() {
            headers.extend(self.headers.clone());
            for (name, value) in &credentials.headers {
                headers.insert(name.clone(), value.clone());
            }
        }
        request.body(self.body.clone()).map_err(|_| "the request is not valid".to_owned())
    }
}

/// The headers and the query parameter that each request has.
pub(super) struct Credentials {
    headers: Vec<(HeaderName, HeaderValue)>,
    query: Option<(String, String)>,
}

impl Credentials {
    pub(super) fn new(config: &OpenApiConfig) -> Result<Self, OpenApiError> {
        let mut all = Self { headers: Vec::new(), query: None };
        for (name, value) in &config.custom_headers {
            all.add(name, value)?;
        }
        match &config.auth {
            OpenApiAuth::None => {}
            OpenApiAuth::Bearer(token) => all.add(AUTHORIZATION.as_str(), &format!("Bearer {token}"))?,
            OpenApiAuth::Basic { user, password } => {
                let encoded = STANDARD.encode(format!("{user}:{password}"));
                all.add(AUTHORIZATION.as_str(), &format!("Basic {encoded}"))?;
            }
            OpenApiAuth::ApiKey { header, value } => all.add(header, value)?,
            OpenApiAuth::QueryKey { parameter, value } => {
                all.query = Some((parameter.clone(), value.clone()));
            }
            OpenApiAuth::CookieKey { cookie, value } => {
                if value.contains([';', ',']) {
                    return Err(OpenApiError::Config("the value of the cookie is not valid".to_owned()));
                }
                all.add(COOKIE.as_str(), &format!("{cookie}={value}"))?;
            }
        }
        Ok(all)
    }

    fn add(&mut self, name: &str, value: &str) -> Result<(), OpenApiError> {
        let (name, mut value) = header(name, value).map_err(OpenApiError::Config)?;
        value.set_sensitive(true);
        self.headers.push((name, value));
        Ok(())
    }

    /// Whether an argument of this name would be replaced by the configuration, so that a model should not see it.
    pub(super) fn replaces(&self, place: Place, name: &str) -> bool {
        match place {
            Place::Header => self.headers.iter().any(|(own, _)| own.as_str().eq_ignore_ascii_case(name)),
            Place::Query => self.query.as_ref().is_some_and(|(own, _)| own == name),
            Place::Path => false,
        }
    }
}
