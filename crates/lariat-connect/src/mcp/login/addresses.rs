//! Which internal addresses a login may contact.

use std::net::IpAddr;

use lariat_host::sandbox::is_internal;
use lariat_http::AddressCheck;
use url::Url;

use crate::mcp::http::{ReachableAddresses, names_loopback};

/// Lets a login contact public addresses, and internal ones only at the hosts that the entry itself names. A server chooses
/// the addresses of its login, so it could otherwise make Lariat contact other machines of an internal network.
#[derive(Clone, Debug)]
pub struct LoginAddresses {
    server: ReachableAddresses,
    named: Vec<String>,
}

impl LoginAddresses {
    /// `named` are the addresses that the entry names: that of the server, and that of its authorization server if any.
    pub fn new<'a>(server: ReachableAddresses, named: impl IntoIterator<Item = &'a str>) -> Self {
        let host = |address: &str| Url::parse(address).ok()?.host_str().map(str::to_owned);
        Self { server, named: named.into_iter().filter_map(host).collect() }
    }
}

impl AddressCheck for LoginAddresses {
    fn check(&self, host: &str, address: IpAddr) -> Result<(), String> {
        let bare = |host: &str| host.trim_matches(['[', ']']).to_owned();
        if self.named.iter().any(|named| bare(named) == bare(host)) {
            return self.server.check(host, address);
        }
        let is_local = names_loopback(host) && address.is_loopback();
        if !is_internal(address) || (is_local && self.named.iter().any(|named| names_loopback(named))) {
            return Ok(());
        }
        Err(format!(
            "the server names {host} for its login, an address of an internal network; hint: if that is right, write it as `oauth.authServerMetadataUrl` into the entry of the server"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn server_cannot_send_a_login_to_another_internal_machine() {
        let check = |server, named: &[&str], host: &str, address: &str| {
            LoginAddresses::new(server, named.iter().copied()).check(host, address.parse().unwrap()).is_ok()
        };
        let (all, public) = (ReachableAddresses::All, ReachableAddresses::PublicAndNamedLoopback);
        let far = &["https://mcp.example.com/mcp"];
        assert!(check(all, far, "login.example.com", "93.184.216.34"));
        assert!(!check(all, far, "localhost", "127.0.0.1") && !check(all, far, "sso.corp", "10.0.0.2"));
        assert!(!check(all, far, "metadata", "169.254.169.254"));
        assert!(check(all, &["https://mcp.corp/"], "mcp.corp", "10.0.0.1"));
        assert!(!check(public, &["https://mcp.corp/"], "mcp.corp", "10.0.0.1"));
        let named = &["https://mcp.corp/", "https://sso.corp/x"];
        assert!(check(all, named, "sso.corp", "10.0.0.2"));
        let here = &["http://127.0.0.1:8000/mcp"];
        assert!(check(public, here, "localhost", "127.0.0.1") && !check(public, here, "x.corp", "127.0.0.1"));
    }
}
