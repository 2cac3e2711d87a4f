//! Fetches a document. Sends no credential, follows redirects to checked addresses, and reads a bounded number of bytes.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt as _;
use http::header::{ACCEPT, LOCATION};
use http::{Request, Uri};
use lariat_core::display;
use lariat_http::{ClientConfig, HttpClient, Transport as _};
use url::Url;

use super::address::{self, HostCheck, InternalAddresses};
use super::document::{MAX_DOCUMENT, OpenApiDocument};
use super::error::OpenApiError;

/// Maximum number of redirects to follow.
const MAX_REDIRECTS: usize = 5;
/// Timeout for the whole download.
const TIME: Duration = Duration::from_secs(60);

impl OpenApiDocument {
    /// Fetches a document. Only the named host may have an internal address, as `internal` says.
    ///
    /// # Errors
    /// If the address is not valid, the download fails, or as in [`parse`](Self::parse).
    pub async fn fetch(
        url: &str,
        client: &ClientConfig,
        internal: InternalAddresses,
    ) -> Result<Self, OpenApiError> {
        let url = address::parse(url)?;
        let text = tokio::time::timeout(TIME, download(&url, client, internal));
        let text = text
            .await
            .map_err(|_| OpenApiError::Fetch(format!("no response within {} s", TIME.as_secs())))??;
        let reading = tokio::task::spawn_blocking(move || Self::parse(&text));
        reading.await.map_err(|error| OpenApiError::Invalid(error.to_string()))?
    }
}

async fn download(
    named: &Url,
    client: &ClientConfig,
    internal: InternalAddresses,
) -> Result<String, OpenApiError> {
    let failed =
        |why: &dyn std::fmt::Display| OpenApiError::Fetch(display::line(&why.to_string()).into_owned());
    let check = HostCheck::new(named, internal);
    let client = HttpClient::new(client.clone()).with_address_check(Arc::new(check));
    let mut url = named.clone();
    for _ in 0..=MAX_REDIRECTS {
        let uri: Uri = url.as_str().parse().map_err(|error| failed(&error))?;
        if uri.host() != url.host_str() {
            return Err(failed(&"the host of the address is ambiguous"));
        }
        let request = Request::get(uri).header(ACCEPT, "application/json, application/yaml, */*;q=0.5");
        let request = request.body(Bytes::new()).map_err(|error| failed(&error))?;
        let mut response = client.send(request).await.map_err(|error| failed(&error))?;
        if (300..400).contains(&response.status) {
            let target = response.headers.get(LOCATION).and_then(|value| value.to_str().ok());
            let next = target.and_then(|target| url.join(target).ok());
            let next = next.ok_or_else(|| failed(&"the server redirects without a valid address"))?;
            if next.scheme() != "https" && next.scheme() != named.scheme() {
                return Err(failed(&format!("the server redirects to `{next}`, which is not `https`")));
            }
            url = address::parse(next.as_str())?;
            continue;
        }
        if response.status != 200 {
            return Err(failed(&format!("HTTP {} from {url}", response.status)));
        }
        let mut bytes = Vec::new();
        while let Some(chunk) = response.body.next().await {
            bytes.extend_from_slice(&chunk.map_err(|error| failed(&error))?);
            if bytes.len() > MAX_DOCUMENT {
                return Err(OpenApiError::TooLarge(MAX_DOCUMENT));
            }
        }
        return String::from_utf8(bytes)
            .map_err(|_| OpenApiError::Invalid("the document is not UTF-8".to_owned()));
    }
    Err(failed(&format!("more than {MAX_REDIRECTS} redirects")))
}
