//! Streamable HTTP: the transport of `rmcp` over the one HTTP client of Lariat, with its proxies, certificates and checked
//! addresses.
//!
//! Follows no redirect, so headers with secrets reach only the configured address. Memory stays bounded: a response that
//! is one message, and each event of a stream, has at most [`MAX_MESSAGE`] bytes.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use http::{HeaderName, HeaderValue, Method, Request, StatusCode, Uri, header};
use lariat_core::display;
use lariat_host::sandbox::is_internal;
use lariat_http::{AddressCheck, BodyStream, HttpResponse, TransportError};
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, ErrorData, ServerJsonRpcMessage};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, SseError, StreamableHttpClient, StreamableHttpClientTransportConfig,
    StreamableHttpError, StreamableHttpPostResponse,
};
use sse_stream::{Sse, SseStream};

use super::authorized_client::McpHttpClient;
use super::error::McpError;
use super::protocol::{ProtocolEra, ServerConnection};
use crate::line_pipe::MAX_MESSAGE;

const SESSION: &str = "mcp-session-id";
const LAST_EVENT: &str = "last-event-id";
const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";
/// How many bytes of an error page an error shows.
const SHOWN_BODY: usize = 300;

/// Which addresses a service may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReachableAddresses {
    /// All of them: the user wrote the address.
    All,
    /// Public ones, and this machine if the entry names it (`localhost`, `127.0.0.1` or `[::1]`): a project wrote the
    /// address, and must not reach other machines of an internal network.
    PublicAndNamedLoopback,
}

impl AddressCheck for ReachableAddresses {
    fn check(&self, host: &str, address: IpAddr) -> Result<(), String> {
        let is_named = names_loopback(host) && address.is_loopback();
        if *self == Self::All || is_named || !is_internal(address) {
            return Ok(());
        }
        Err(format!(
            "{host} is an address of an internal network, which a project's server must not have; add the server to your own settings"
        ))
    }
}

/// Whether a host is a usual name or address of this machine.
pub(super) fn names_loopback(host: &str) -> bool {
    matches!(host, "localhost" | "127.0.0.1" | "::1" | "[::1]")
}

/// The address of a service. One with a user name or a password is refused: nothing would send them, and they can make an
/// address look like another one.
pub(super) fn parsed_address(url: &str) -> Result<Uri, McpError> {
    let invalid = |why: &str| McpError::Transport(format!("the address is not valid{why}"));
    let address: Uri = url.parse().map_err(|_| invalid(""))?;
    match address.authority() {
        Some(host) if host.as_str().contains('@') => {
            Err(invalid(": it contains a user name or a password; hint: use `headers`"))
        }
        _ => Ok(address),
    }
}

/// Opens a connection to a service.
pub(super) async fn open(
    client: McpHttpClient,
    url: &str,
    headers: &BTreeMap<String, String>,
    era: Option<ProtocolEra>,
    has_questions: bool,
) -> Result<ServerConnection, McpError> {
    parsed_address(url)?;
    let header = |(name, value): (&String, &String)| {
        let invalid = || McpError::Transport(format!("the header `{name}` is not valid"));
        let name = HeaderName::try_from(name.as_str()).map_err(|_| invalid())?;
        let mut value = HeaderValue::try_from(value.as_str()).map_err(|_| invalid())?;
        value.set_sensitive(true);
        Ok((name, value))
    };
    let headers = headers.iter().map(header).collect::<Result<HashMap<_, _>, McpError>>()?;
    let mut config = StreamableHttpClientTransportConfig::with_uri(url).custom_headers(headers);
    config.max_sse_event_size = MAX_MESSAGE;
    let transport = StreamableHttpClientTransport::with_client(Sender(client), config);
    ServerConnection::open(transport, era, has_questions).await
}

type HttpError = StreamableHttpError<TransportError>;

/// Sends the requests of `rmcp`.
#[derive(Clone)]
struct Sender(McpHttpClient);

impl Sender {
    async fn send(
        &self,
        method: Method,
        uri: &str,
        headers: &[(&str, Option<&str>)],
        auth: Option<String>,
        custom: HashMap<HeaderName, HeaderValue>,
        body: Bytes,
    ) -> Result<HttpResponse, HttpError> {
        let mut request = Request::builder().method(method).uri(uri);
        for (name, value) in headers {
            if let Some(value) = value {
                request = request.header(*name, *value);
            }
        }
        if let Some(token) = auth {
            request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
        }
        for (name, value) in custom {
            request = request.header(name, value);
        }
        let request = request.body(body).map_err(|error| {
            StreamableHttpError::Client(TransportError::Impossible(format!(
                "the address is not valid: {error}"
            )))
        })?;
        let response = self.0.send(request).await.map_err(StreamableHttpError::Client)?;
        match header_text(&response, header::WWW_AUTHENTICATE) {
            Some(challenge) if matches!(response.status, 401 | 403) => {
                Err(StreamableHttpError::AuthRequired(AuthRequiredError::new(challenge.to_owned())))
            }
            _ => Ok(response),
        }
    }
}

impl StreamableHttpClient for Sender {
    type Error = TransportError;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, HttpError> {
        let body = serde_json::to_vec(&message)?;
        let accept = format!("{JSON}, {EVENTS}");
        let headers = [
            ("content-type", Some(JSON)),
            ("accept", Some(accept.as_str())),
            (SESSION, session_id.as_deref()),
        ];
        let response =
            self.send(Method::POST, &uri, &headers, auth_header, custom_headers, body.into()).await?;
        let status = StatusCode::from_u16(response.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if status == StatusCode::NOT_FOUND && session_id.is_some() {
            return Err(StreamableHttpError::SessionExpired);
        }
        if !status.is_success() {
            let body = whole(response.body).await?;
            if session_id.is_none()
                && let Some(response) = legacy_discover_response(&message, status, &body)
            {
                return Ok(response);
            }
            return Err(unexpected(format!("HTTP {status}: {}", preview(&body))));
        }
        let kind = header_text(&response, header::CONTENT_TYPE).unwrap_or_default().to_owned();
        let session = header_text(&response, HeaderName::from_static(SESSION)).map(str::to_owned);
        if kind.starts_with(EVENTS) {
            return Ok(StreamableHttpPostResponse::Sse(events(response.body), session));
        }
        let body = whole(response.body).await?;
        let needs_no_answer = !matches!(message, ClientJsonRpcMessage::Request(_));
        if kind.starts_with(JSON) {
            return match serde_json::from_slice::<ServerJsonRpcMessage>(&body) {
                Ok(answer) => Ok(StreamableHttpPostResponse::Json(answer, session)),
                Err(_) if needs_no_answer => Ok(StreamableHttpPostResponse::Accepted),
                Err(error) => {
                    Err(unexpected(format!("the answer is not a message ({error}): {}", preview(&body))))
                }
            };
        }
        if needs_no_answer && body.is_empty() {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        Err(StreamableHttpError::UnexpectedContentType(Some(kind)))
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), HttpError> {
        let headers = [(SESSION, Some(&*session_id))];
        let response =
            self.send(Method::DELETE, &uri, &headers, auth_header, custom_headers, Bytes::new()).await?;
        match response.status {
            405 => Err(StreamableHttpError::ServerDoesNotSupportDeleteSession),
            200..300 => Ok(()),
            status => Err(unexpected(format!("HTTP {status}"))),
        }
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, HttpError> {
        let headers = [
            ("accept", Some(EVENTS)),
            (SESSION, session_id.as_deref()),
            (LAST_EVENT, last_event_id.as_deref()),
        ];
        let response =
            self.send(Method::GET, &uri, &headers, auth_header, custom_headers, Bytes::new()).await?;
        let kind = header_text(&response, header::CONTENT_TYPE).unwrap_or_default().to_owned();
        match response.status {
            405 => Err(StreamableHttpError::ServerDoesNotSupportSse),
            200..300 if kind.starts_with(EVENTS) => Ok(events(response.body)),
            200..300 => Err(StreamableHttpError::UnexpectedContentType(Some(kind))),
            status => Err(unexpected(format!("HTTP {status}"))),
        }
    }
}

/// An older server refuses `server/discover` with an HTTP error. As an answer, it makes `rmcp` try `initialize`.
fn legacy_discover_response(
    message: &ClientJsonRpcMessage,
    status: StatusCode,
    body: &[u8],
) -> Option<StreamableHttpPostResponse> {
    let ClientJsonRpcMessage::Request(request) = message else { return None };
    let is_refused = status.is_client_error() && !matches!(status.as_u16(), 401 | 403);
    if !is_refused || !matches!(request.request, ClientRequest::DiscoverRequest(_)) {
        return None;
    }
    let error = match serde_json::from_slice::<ServerJsonRpcMessage>(body) {
        Ok(ServerJsonRpcMessage::Error(error)) => error.error,
        _ => ErrorData::invalid_request(format!("HTTP {status}"), None),
    };
    let answer = ServerJsonRpcMessage::error(error, Some(request.id.clone()));
    Some(StreamableHttpPostResponse::Json(answer, None))
}

fn header_text(response: &HttpResponse, name: HeaderName) -> Option<&str> {
    response.headers.get(name)?.to_str().ok()
}

fn unexpected(reason: String) -> HttpError {
    StreamableHttpError::UnexpectedServerResponse(Cow::Owned(reason))
}

fn preview(body: &[u8]) -> String {
    let start = body.get(..SHOWN_BODY).unwrap_or(body);
    display::line(&String::from_utf8_lossy(start)).into_owned()
}

/// Reads a body that is one message.
async fn whole(mut body: BodyStream) -> Result<Vec<u8>, HttpError> {
    let mut bytes = Vec::new();
    while let Some(chunk) = body.next().await {
        bytes.extend_from_slice(&chunk.map_err(StreamableHttpError::Client)?);
        if bytes.len() > MAX_MESSAGE {
            return Err(unexpected(format!("the answer has more than {} MiB", MAX_MESSAGE >> 20)));
        }
    }
    Ok(bytes)
}

/// The events of a body. Ends with an error at an event that is too large.
pub(super) fn events(body: BodyStream) -> BoxStream<'static, Result<Sse, SseError>> {
    // An empty line ends an event.
    let (mut event, mut line) = (0_usize, 0_usize);
    let bounded = body.map(move |chunk| {
        let chunk = chunk.map_err(std::io::Error::other)?;
        for byte in &chunk {
            event += 1;
            match byte {
                b'\n' if line == 0 => event = 0,
                b'\n' => line = 0,
                b'\r' => {}
                _ => line += 1,
            }
            if event > MAX_MESSAGE {
                let size = MAX_MESSAGE >> 20;
                return Err(std::io::Error::other(format!("an event has more than {size} MiB")));
            }
        }
        Ok(chunk)
    });
    SseStream::from_bytes_stream(bounded).boxed()
}
