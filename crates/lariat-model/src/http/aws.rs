//! Gets AWS credentials from the standard chain: environment, profiles, SSO, web identity, processes,
//! containers, instances.
//!
//! AWS's own crate finds the keys; this module caches them until shortly before they expire. The crate
//! reaches AWS through our transport, so that the proxy and extra certificates apply there too. A Bedrock API
//! key in the model's configuration takes precedence over the chain.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use aws_config::default_provider::credentials::DefaultCredentialsChain;
use aws_config::default_provider::region::DefaultRegionChain;
use aws_config::provider_config::ProviderConfig;
use aws_credential_types::Credentials;
use aws_credential_types::provider::ProvideCredentials;
use aws_credential_types::provider::error::CredentialsError;
use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, SharedHttpConnector, http_client_fn,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_types::body::SdkBody;
use bytes::{Bytes, BytesMut};
use futures_util::StreamExt as _;
use lariat_core::BoxFuture;
use lariat_core::model::{ModelConfig, ProviderError};

use super::credentials::{AwsKeys, CredentialSource, Secret};
use lariat_http::Transport;

/// Keys are renewed this long before they expire, so that they do not expire while a request is on its way.
const RENEW_BEFORE: Duration = Duration::from_secs(300);

/// Returns the region that AWS's own tools would use: `AWS_REGION`, `AWS_DEFAULT_REGION`, the profile or the
/// instance.
pub async fn region() -> Option<String> {
    DefaultRegionChain::builder().build().region().await.map(|region| region.to_string())
}

/// Credentials from the standard AWS chain, cached until shortly before they expire.
pub struct AwsCredentialChain {
    transport: Arc<dyn Transport>,
    cache: Mutex<Option<Credentials>>,
}

impl fmt::Debug for AwsCredentialChain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StandardChain")
    }
}

impl AwsCredentialChain {
    /// Creates a chain that reaches AWS through `transport`.
    pub fn new(transport: Arc<dyn Transport>) -> Self {
        Self { transport, cache: Mutex::new(None) }
    }

    async fn find(&self) -> Result<Credentials, CredentialsError> {
        let connector = SharedHttpConnector::new(TransportConnector(Arc::clone(&self.transport)));
        let client = http_client_fn(move |_, _| connector.clone());
        let config = ProviderConfig::without_region().with_http_client(client);
        let chain = DefaultCredentialsChain::builder().configure(config).build().await;
        chain.provide_credentials().await
    }

    fn cached(&self, now: SystemTime) -> Option<Credentials> {
        let cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        let fresh = |keys: &&Credentials| keys.expiry().is_none_or(|expiry| expiry > now + RENEW_BEFORE);
        cache.as_ref().filter(fresh).cloned()
    }
}

/// Maximum size of a response in bytes. Credentials take a few kilobytes.
const MAX_RESPONSE_BYTES: usize = 1024 * 1024;

/// Adapts our transport to the interface of AWS's crate.
struct TransportConnector(Arc<dyn Transport>);

impl fmt::Debug for TransportConnector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Connector")
    }
}

impl HttpConnector for TransportConnector {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let transport = Arc::clone(&self.0);
        HttpConnectorFuture::new(async move {
            let request = request.try_into_http1x().map_err(|error| ConnectorError::user(error.into()))?;
            let request = request.map(|body| Bytes::copy_from_slice(body.bytes().unwrap_or_default()));
            let incoming = transport.send(request).await.map_err(|error| ConnectorError::io(error.into()))?;
            let mut body = BytesMut::new();
            let mut chunks = incoming.body;
            while let Some(chunk) = chunks.next().await {
                body.extend_from_slice(&chunk.map_err(|error| ConnectorError::io(error.into()))?);
                if body.len() > MAX_RESPONSE_BYTES {
                    return Err(ConnectorError::io("the response is too large".into()));
                }
            }
            let mut response = http::Response::new(SdkBody::from(body.freeze()));
            *response.status_mut() = http::StatusCode::from_u16(incoming.status)
                .map_err(|error| ConnectorError::other(error.into(), None))?;
            *response.headers_mut() = incoming.headers;
            HttpResponse::try_from(response).map_err(|error| ConnectorError::other(error.into(), None))
        })
    }
}

/// Formats an error with all its causes, because the outermost only says that no credentials were found.
fn with_causes(error: &CredentialsError) -> String {
    let mut text = format!("no AWS credentials: {error}");
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        text.push_str(&format!(": {error}"));
        cause = error.source();
    }
    text
}

impl CredentialSource for AwsCredentialChain {
    #[expect(clippy::disallowed_methods, reason = "AWS keys expire by wall time")]
    fn secret<'a>(&'a self, model: &'a ModelConfig) -> BoxFuture<'a, Result<Secret, ProviderError>> {
        Box::pin(async move {
            if model.api_key.expose().is_some() {
                return Ok(Secret::Key(model.api_key.clone()));
            }
            let keys = match self.cached(SystemTime::now()) {
                Some(keys) => keys,
                None => {
                    let failed = |error: CredentialsError| ProviderError::Auth(with_causes(&error).into());
                    let keys = self.find().await.map_err(failed)?;
                    *self.cache.lock().unwrap_or_else(PoisonError::into_inner) = Some(keys.clone());
                    keys
                }
            };
            Ok(Secret::Aws(AwsKeys {
                access_key_id: keys.access_key_id().to_owned(),
                secret_access_key: keys.secret_access_key().to_owned(),
                session_token: keys.session_token().map(str::to_owned),
            }))
        })
    }
}
