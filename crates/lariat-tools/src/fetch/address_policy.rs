//! Decides which addresses `fetch` may connect to.
//!
//! The client asks about every address before it connects to it, whether it resolved a name or the URL contains the
//! address, so it connects to exactly what was checked. With a proxy, the proxy resolves names: a name that resolves to
//! an internal address here is denied, and a name that only the proxy can resolve is left to the proxy.

use std::net::IpAddr;
use std::sync::Arc;

use lariat_core::tool::ToolError;
use lariat_host::sandbox::is_internal;
use lariat_http::AddressCheck;
use url::Url;

use crate::OutgoingHttp;

/// Which hosts may be reached. Clones share the lists.
#[derive(Clone, Debug)]
pub(super) struct AddressPolicy {
    /// Hosts that may be reached although they are internal.
    internal: Arc<[String]>,
    is_proxied: bool,
}

impl AddressPolicy {
    pub(super) fn new(internal: &[String], egress: &OutgoingHttp) -> Self {
        Self {
            internal: internal.iter().map(|host| host.to_ascii_lowercase()).collect(),
            is_proxied: egress.has_proxy(),
        }
    }

    fn is_known(&self, host: &str) -> bool {
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        self.internal.contains(&host)
    }

    /// Rejects URLs that are not HTTP, and internal addresses in the URL.
    pub(super) async fn admit(&self, url: &Url) -> Result<(), ToolError> {
        if !matches!(url.scheme(), "http" | "https") {
            let text = format!("`{url}` is not a web address: only `http` and `https` are supported.");
            return Err(ToolError::Failed(text));
        }
        if !url.username().is_empty() || url.password().is_some() {
            let text =
                "The address contains a user name or password, which are not sent. Remove them.".to_owned();
            return Err(ToolError::Failed(text));
        }
        let host = url.host_str().unwrap_or_default();
        let host = host.trim_start_matches('[').trim_end_matches(']');
        match host.parse::<IpAddr>() {
            Ok(address) if is_internal(address) && !self.is_known(host) => {
                Err(ToolError::Failed(denial(host)))
            }
            Err(_) if self.is_proxied && !self.is_known(host) && resolves_to_internal(host).await => {
                Err(ToolError::Failed(denial(host)))
            }
            _ => Ok(()),
        }
    }
}

impl AddressCheck for AddressPolicy {
    fn check(&self, host: &str, address: IpAddr) -> Result<(), String> {
        match is_internal(address) && !self.is_known(host) {
            true => Err(denial(host)),
            false => Ok(()),
        }
    }
}

/// Whether a name resolves to an internal address here. A name that does not resolve here is left to the proxy.
async fn resolves_to_internal(host: &str) -> bool {
    let found = tokio::net::lookup_host((host, 0)).await;
    found.is_ok_and(|mut addresses| addresses.any(|address| is_internal(address.ip())))
}

fn denial(host: &str) -> String {
    format!("`{host}` is an address of this machine or of an internal network, which `fetch` does not access")
}
