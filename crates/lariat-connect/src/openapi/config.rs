//! How the tools of a document send requests.

use std::collections::BTreeMap;
use std::fmt;

use lariat_http::ClientConfig;

use super::address::InternalAddresses;

/// What debug output shows instead of a secret.
const MASK: &str = "****";

/// Where requests go, and how.
#[derive(Clone)]
#[non_exhaustive]
pub struct OpenApiConfig {
    /// Address of the API. Without one, the first server of the document applies, if it is on the host that the document
    /// was fetched from, or if there is no credential.
    pub base_url: Option<String>,
    /// The credential of each request.
    pub auth: OpenApiAuth,
    /// Headers of each request.
    pub custom_headers: BTreeMap<String, String>,
    /// Maximum bytes of a response that the model receives.
    pub max_response_bytes: usize,
    /// Timeout for a request, in seconds.
    pub timeout_secs: u64,
    /// Names the tools `{prefix}__{operationId}`.
    pub name_prefix: Option<String>,
    /// Proxy and certificates.
    pub client: ClientConfig,
    /// Which addresses of internal networks the host may have.
    pub internal: InternalAddresses,
    /// Which effects the tools declare.
    pub effects: OperationEffects,
}

impl Default for OpenApiConfig {
    fn default() -> Self {
        Self {
            base_url: None,
            auth: OpenApiAuth::None,
            custom_headers: BTreeMap::new(),
            max_response_bytes: 64 * 1024,
            timeout_secs: 30,
            name_prefix: None,
            client: ClientConfig::default(),
            internal: InternalAddresses::default(),
            effects: OperationEffects::default(),
        }
    }
}

impl OpenApiConfig {
    /// Sends requests to this address.
    #[must_use]
    pub fn with_base_url(mut self, url: impl Into<String>) -> Self {
        self.base_url = Some(url.into());
        self
    }

    /// Adds this credential to each request.
    #[must_use]
    pub fn with_auth(mut self, auth: OpenApiAuth) -> Self {
        self.auth = auth;
        self
    }

    /// Adds a header to each request.
    #[must_use]
    pub fn with_header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.custom_headers.insert(name.into(), value.into());
        self
    }

    /// Names the tools `{prefix}__{operationId}`.
    #[must_use]
    pub fn with_name_prefix(mut self, prefix: impl Into<String>) -> Self {
        self.name_prefix = Some(prefix.into());
        self
    }
}

/// Shows the names of headers, not their values, which may be secret.
impl fmt::Debug for OpenApiConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenApiConfig")
            .field("base_url", &self.base_url)
            .field("auth", &self.auth)
            .field("custom_headers", &self.custom_headers.keys())
            .field("name_prefix", &self.name_prefix)
            .finish_non_exhaustive()
    }
}

/// The credential of each request. Its debug output shows no secret.
#[derive(Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OpenApiAuth {
    /// None.
    #[default]
    None,
    /// `Authorization: Bearer TOKEN`.
    Bearer(String),
    /// `Authorization: Basic …`.
    Basic {
        /// The user name.
        user: String,
        /// The password.
        password: String,
    },
    /// A header with a key.
    ApiKey {
        /// Name of the header.
        header: String,
        /// The key.
        value: String,
    },
    /// A query parameter with a key.
    QueryKey {
        /// Name of the parameter.
        parameter: String,
        /// The key.
        value: String,
    },
    /// A cookie with a key.
    CookieKey {
        /// Name of the cookie.
        cookie: String,
        /// The key.
        value: String,
    },
}

impl OpenApiAuth {
    /// The secret value; `None` without a credential.
    pub fn secret(&self) -> Option<&str> {
        match self {
            Self::None => None,
            Self::Bearer(value)
            | Self::Basic { password: value, .. }
            | Self::ApiKey { value, .. }
            | Self::QueryKey { value, .. }
            | Self::CookieKey { value, .. } => Some(value),
        }
    }
}

impl fmt::Debug for OpenApiAuth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("None"),
            Self::Bearer(_) => write!(f, "Bearer({MASK})"),
            Self::Basic { user, .. } => write!(f, "Basic {{ user: {user:?}, password: {MASK} }}"),
            Self::ApiKey { header, .. } => write!(f, "ApiKey {{ header: {header:?}, value: {MASK} }}"),
            Self::QueryKey { parameter, .. } => {
                write!(f, "QueryKey {{ parameter: {parameter:?}, value: {MASK} }}")
            }
            Self::CookieKey { cookie, .. } => write!(f, "CookieKey {{ cookie: {cookie:?}, value: {MASK} }}"),
        }
    }
}

/// Which effects the tools of a document declare.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OperationEffects {
    /// `GET` and `HEAD` read; all other methods change something.
    #[default]
    ByMethod,
    /// Every operation may change something, whatever its method.
    AllChange,
}
