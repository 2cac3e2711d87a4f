//! Gets Google's application default credentials: a key file, the user's login, workload identity or the
//! metadata server.
//!
//! Google's own crate finds, refreshes and caches the tokens. A token in the model's configuration takes
//! precedence.

use std::sync::OnceLock;

use google_cloud_auth::credentials::{AccessTokenCredentials, Builder};
use lariat_core::BoxFuture;
use lariat_core::model::{ApiKey, ModelConfig, ProviderError};

use super::credentials::{CredentialSource, Secret};

/// Tokens from Google's application default credentials.
#[derive(Debug, Default)]
pub struct GoogleDefaultCredentials {
    credentials: OnceLock<Result<AccessTokenCredentials, String>>,
}

impl CredentialSource for GoogleDefaultCredentials {
    fn secret<'a>(&'a self, model: &'a ModelConfig) -> BoxFuture<'a, Result<Secret, ProviderError>> {
        Box::pin(async move {
            if model.api_key.expose().is_some() {
                return Ok(Secret::Key(model.api_key.clone()));
            }
            let failed = |what: &str| ProviderError::Auth(format!("no Google credentials: {what}").into());
            let found = self.credentials.get_or_init(|| {
                Builder::default().build_access_token_credentials().map_err(|error| error.to_string())
            });
            let credentials = found.as_ref().map_err(|what| failed(what))?;
            let token = credentials.access_token().await.map_err(|error| failed(&error.to_string()))?;
            Ok(Secret::Key(ApiKey::new(token.token)))
        })
    }
}
