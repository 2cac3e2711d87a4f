//! The standard AWS credential chain: environment, profiles, SSO, web identity, processes, containers, instances.
//!
//! Owns caching until shortly before keys expire; finding them is AWS's own crate's. A Bedrock API key in the model's
//! configuration wins over the chain.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use aws_config::default_provider::credentials::DefaultCredentialsChain;
use aws_config::default_provider::region::DefaultRegionChain;
use aws_credential_types::Credentials;
use aws_credential_types::provider::ProvideCredentials;
use aws_credential_types::provider::error::CredentialsError;
use lariat_core::BoxFuture;
use lariat_core::model::{ModelConfig, ProviderError};

use super::credentials::{AwsKeys, CredentialSource, Secret};

/// Keys are renewed this long before they expire: a request must not outlive its signature's keys.
const RENEW_BEFORE: Duration = Duration::from_secs(300);

/// The region that AWS's own tools would use: `AWS_REGION`, `AWS_DEFAULT_REGION`, the profile, the instance.
pub async fn region() -> Option<String> {
    DefaultRegionChain::builder().build().region().await.map(|region| region.to_string())
}

/// The standard chain.
#[derive(Debug, Default)]
pub struct StandardChain {
    found: Mutex<Option<Credentials>>,
}

impl StandardChain {
    fn kept(&self, now: SystemTime) -> Option<Credentials> {
        let found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let fresh = |keys: &&Credentials| keys.expiry().is_none_or(|expiry| expiry > now + RENEW_BEFORE);
        found.as_ref().filter(fresh).cloned()
    }
}

/// What AWS's crate says went wrong, with its causes: the outermost only says that nothing was found.
fn explained(error: &CredentialsError) -> String {
    let mut text = format!("no AWS credentials: {error}");
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        text.push_str(&format!(": {error}"));
        cause = error.source();
    }
    text
}

impl CredentialSource for StandardChain {
    #[expect(clippy::disallowed_methods, reason = "the expiry of AWS keys is wall time")]
    fn secret<'a>(&'a self, model: &'a ModelConfig) -> BoxFuture<'a, Result<Secret, ProviderError>> {
        Box::pin(async move {
            if model.api_key.expose().is_some() {
                return Ok(Secret::Key(model.api_key.clone()));
            }
            let keys = match self.kept(SystemTime::now()) {
                Some(keys) => keys,
                None => {
                    let chain = DefaultCredentialsChain::builder().build().await;
                    let failed = |error: CredentialsError| ProviderError::Auth(explained(&error).into());
                    let keys = chain.provide_credentials().await.map_err(failed)?;
                    *self.found.lock().unwrap_or_else(PoisonError::into_inner) = Some(keys.clone());
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
