//! Sends the requests of one API and turns responses into text.
//!
//! Follows a redirect only for methods that read, and only to the origin of the base address, so a credential reaches no
//! other server.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use http::Method;
use http::header::{CONTENT_TYPE, LOCATION};
use lariat_core::display;
use lariat_core::tool::ToolError;
use lariat_http::{AddressCheck as _, HttpClient, HttpResponse, Transport as _, TransportError};
use url::Url;

use super::address::HostCheck;
use super::config::OpenApiConfig;
use super::error::OpenApiError;
use super::request::{Credentials, PreparedRequest};

/// Maximum number of redirects to follow.
const MAX_REDIRECTS: usize = 5;
/// What a response shows instead of the credential.
const MASK: &str = "****";
/// A shorter credential would be found everywhere.
const MIN_SECRET: usize = 4;

/// The server of an API.
pub(super) struct ApiServer {
    client: HttpClient,
    check: Arc<HostCheck>,
    is_proxied: bool,
    base: Url,
    credentials: Credentials,
    secret: Option<String>,
    max_response: usize,
    timeout: Duration,
}

/// A response as text.
#[derive(Debug)]
pub(super) struct ApiResponse {
    pub(super) status: u16,
    /// `METHOD URL → STATUS`, an empty line, and the body.
    pub(super) text: String,
}

impl ApiServer {
    pub(super) fn new(base: Url, config: &OpenApiConfig) -> Result<Self, OpenApiError> {
        let check = Arc::new(HostCheck::new(&base, config.internal));
        let client = HttpClient::new(config.client.clone())
            .with_address_check(Arc::clone(&check) as Arc<dyn lariat_http::AddressCheck>);
        Ok(Self {
            client,
            check,
            is_proxied: config.client.proxy.is_some() || config.client.http_proxy.is_some(),
            base,
            credentials: Credentials::new(config)?,
            secret: config.auth.secret().filter(|secret| secret.len() >= MIN_SECRET).map(str::to_owned),
            max_response: config.max_response_bytes,
            timeout: Duration::from_secs(config.timeout_secs.max(1)),
        })
    }

    pub(super) const fn base(&self) -> &Url {
        &self.base
    }

    pub(super) const fn credentials(&self) -> &Credentials {
        &self.credentials
    }

    /// Sends a request and reads the response.
    pub(super) async fn send(&self, request: &PreparedRequest) -> Result<ApiResponse, ToolError> {
        match tokio::time::timeout(self.timeout, self.exchange(request)).await {
            Ok(response) => response,
            Err(_) => {
                let text = format!("the server did not respond within {} s", self.timeout.as_secs());
                Err(lost(&request.method, text))
            }
        }
    }

    async fn exchange(&self, request: &PreparedRequest) -> Result<ApiResponse, ToolError> {
        let reads = matches!(request.method, Method::GET | Method::HEAD);
        let mut url = request.url.clone();
        for _ in 0..=MAX_REDIRECTS {
            self.admit(&url).await?;
            let message = request.complete(&url, &self.credentials).map_err(ToolError::Failed)?;
            let response =
                self.client.send(message).await.map_err(|error| failure(&request.method, &error))?;
            if !matches!(response.status, 301 | 302 | 303 | 307 | 308) {
                return self.read(request, &url, response).await;
            }
            let target = response.headers.get(LOCATION).and_then(|value| value.to_str().ok());
            let next = target.and_then(|target| url.join(target).ok());
            match next {
                Some(next) if reads && next.origin() == self.base.origin() => url = next,
                next => {
                    let shown =
                        next.map_or_else(|| "an invalid address".to_owned(), |next| format!("`{next}`"));
                    let text = format!(
                        "{} {url} → {}\n\nThe server redirects to {}, which was not followed: requests go only to {}.",
                        request.method,
                        response.status,
                        self.masked(&display::line(&shown)),
                        self.base.origin().ascii_serialization(),
                    );
                    return Err(ToolError::Failed(text));
                }
            }
        }
        Err(ToolError::Failed(format!("More than {MAX_REDIRECTS} redirects.")))
    }

    /// With a proxy, the proxy resolves names: a name that resolves to a denied address here is refused.
    async fn admit(&self, url: &Url) -> Result<(), ToolError> {
        let host = url.host_str().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
        if self.is_proxied {
            let found = tokio::net::lookup_host((host, 0)).await;
            for address in found.into_iter().flatten() {
                self.check.check(host, address.ip()).map_err(ToolError::Failed)?;
            }
        }
        Ok(())
    }

    async fn read(
        &self,
        request: &PreparedRequest,
        url: &Url,
        mut response: HttpResponse,
    ) -> Result<ApiResponse, ToolError> {
        let kind =
            response.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let kind = display::line(kind).chars().take(100).collect::<String>();
        let (mut body, mut is_cut) = (Vec::new(), false);
        while let Some(chunk) = response.body.next().await {
            let chunk = chunk.map_err(|error| failure(&request.method, &error))?;
            let room = self.max_response - body.len();
            body.extend_from_slice(chunk.get(..room.min(chunk.len())).unwrap_or_default());
            if chunk.len() > room {
                is_cut = true;
                break;
            }
        }
        let mut text = match readable(&body, is_cut) {
            Some(text) => display::output(text).into_owned(),
            None => format!("[{} bytes of type {kind} that are not text]", body.len()),
        };
        if is_cut {
            text.push_str(&format!(
                "\n[The response has more than {} bytes; the rest was not read.]",
                self.max_response
            ));
        }
        let head = format!("{} {} → {}", request.method, display::line(url.as_str()), response.status);
        let text = self.masked(&format!("{head}\n\n{text}"));
        Ok(ApiResponse { status: response.status, text })
    }

    /// The text without the credential, which a server may repeat.
    fn masked(&self, text: &str) -> String {
        match &self.secret {
            Some(secret) => text.replace(secret.as_str(), MASK),
            None => text.to_owned(),
        }
    }
}

/// The text of a body, up to a character that was cut; `None` if it is not text.
fn readable(body: &[u8], is_cut: bool) -> Option<&str> {
    let text = match std::str::from_utf8(body) {
        Ok(text) => text,
        Err(error) if is_cut && error.error_len().is_none() => {
            std::str::from_utf8(body.get(..error.valid_up_to())?).ok()?
        }
        Err(_) => return None,
    };
    (!text.contains('\0')).then_some(text)
}

fn failure(method: &Method, error: &TransportError) -> ToolError {
    match error {
        TransportError::Impossible(why) => ToolError::Failed(why.clone()),
        other => lost(method, other.to_string()),
    }
}

/// A request that changes something may have reached the server.
fn lost(method: &Method, text: String) -> ToolError {
    match *method {
        Method::GET | Method::HEAD => ToolError::Failed(text),
        _ => ToolError::Interrupted(text),
    }
}
