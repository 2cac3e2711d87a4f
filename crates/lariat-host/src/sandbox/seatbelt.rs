//! Translates a policy into a Seatbelt profile for `sandbox-exec` on macOS.
//!
//! In a profile the last matching rule wins, so denials follow allowances.

use std::fmt::Write;
use std::path::Path;

use super::policy::{LocalSockets, Network, Policy};

/// Returns the profile for a policy. With an allow-list, only the proxy's port is open.
pub fn profile(policy: &Policy, proxy: Option<u16>) -> String {
    let mut profile = String::from(
        "(version 1)\n(deny default)\n(allow process*)\n(allow signal (target same-sandbox))\n(allow sysctl-read)\n\
         (allow mach-lookup)\n(allow file-read*)\n(allow file-write* (subpath \"/dev\"))\n",
    );
    for path in policy.writable.iter().chain(&policy.temporary) {
        let _ = writeln!(profile, "(allow file-write* (subpath {}))", quote(path));
    }
    for path in &policy.protected {
        let _ = writeln!(profile, "(deny file-write* (subpath {}))", quote(path));
    }
    for path in &policy.hidden {
        let _ = writeln!(profile, "(deny file-read* file-write* (subpath {}))", quote(path));
    }
    match (&policy.network, proxy) {
        (Network::On, _) => profile.push_str("(allow network*)\n"),
        (Network::Only(_), Some(port)) => {
            let _ = writeln!(profile, "(allow network-outbound (remote ip \"localhost:{port}\"))");
        }
        (Network::Only(_), None) | (Network::Off, _) => {}
    }
    if policy.local_sockets == LocalSockets::Refused {
        profile.push_str("(deny network* (remote unix-socket))\n");
    }
    profile
}

fn quote(path: &Path) -> String {
    let text = path.to_string_lossy();
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn denies_protected_paths_after_allowing_writable_ones() {
        let policy = Policy::workspace(Path::new("/w"), Some(Path::new("/Users/me")));
        let profile = profile(&policy, None);
        let at = |text: &str| profile.find(text).unwrap_or_else(|| panic!("{text} is not in\n{profile}"));
        assert!(at("(deny default)") < at("(allow file-write* (subpath \"/w\"))"));
        assert!(at("(allow file-write* (subpath \"/w\"))") < at("(deny file-write* (subpath \"/w/.git\"))"));
        at("(deny file-read* file-write* (subpath \"/Users/me/.ssh\"))");
        assert!(!profile.contains("(allow network"));
    }

    #[test]
    fn allow_list_allows_only_the_proxy() {
        let policy = Policy::workspace(Path::new("/w"), None).with_network(Network::Only(Vec::new()));
        let profile = profile(&policy, Some(3128));
        assert!(profile.contains("(allow network-outbound (remote ip \"localhost:3128\"))"));
        assert!(!profile.contains("(allow network*)"));
    }

    #[test]
    fn quotes_in_a_path_are_escaped() {
        let policy = Policy::workspace(Path::new("/w\") (allow file-write* (subpath \"/"), None);
        let profile = profile(&policy, None);
        assert!(profile.contains(r#"(subpath "/w\") (allow file-write* (subpath \"/")"#));
    }
}
