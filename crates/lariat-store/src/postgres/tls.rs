//! Encryption between a store and its database.
//!
//! Reads what a connection string says about TLS (`sslmode`, `sslrootcert`); `connector` makes the connection. A certificate is always verified, name
//! included, so `require` means here what `verify-full` means to `libpq`. A database on another machine that no `sslmode` speaks of is
//! reached by TLS or not at all.

use std::path::PathBuf;

use lariat_core::store::StoreError;
use tokio_postgres::config::{Host, SslMode};

/// What a connection string says about TLS, and the rest of it, which is the server's.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Spoken {
    pub(super) rest: String,
    pub(super) mode: Option<SslMode>,
    pub(super) root: Option<PathBuf>,
}

/// Takes the words about TLS out of a URL or of `key=value` pairs.
pub(super) fn spoken(text: &str) -> Result<Spoken, StoreError> {
    let is_url = text.starts_with("postgres://") || text.starts_with("postgresql://");
    let (head, words, separator) = match text.split_once('?') {
        Some((head, query)) if is_url => (head, query.split('&').collect::<Vec<_>>(), "&"),
        None if is_url => (text, Vec::new(), "&"),
        _ => ("", text.split_whitespace().collect(), " "),
    };
    let mut spoken = Spoken::default();
    let mut rest = Vec::new();
    for word in words {
        match word.split_once('=') {
            Some(("sslmode", mode)) => spoken.mode = Some(ssl_mode(mode)?),
            Some(("sslrootcert", path)) if path != "system" => {
                spoken.root = Some(PathBuf::from(path.replace("%2F", "/").trim_matches('\'')));
            }
            Some(("sslrootcert", _)) => {}
            _ => rest.push(word),
        }
    }
    let rest = rest.join(separator);
    spoken.rest = match (is_url, rest.is_empty()) {
        (true, true) => head.to_owned(),
        (true, false) => format!("{head}?{rest}"),
        (false, _) => rest,
    };
    Ok(spoken)
}

fn ssl_mode(word: &str) -> Result<SslMode, StoreError> {
    match word.trim_matches('\'') {
        "disable" => Ok(SslMode::Disable),
        "allow" | "prefer" => Ok(SslMode::Prefer),
        "require" | "verify-ca" | "verify-full" => Ok(SslMode::Require),
        other => Err(StoreError::Unavailable(format!(
            "PostgreSQL: unknown `sslmode={other}`; use disable, prefer, require or verify-full"
        ))),
    }
}

/// What a string that does not speak of TLS means: nothing on this machine, TLS everywhere else.
pub(super) fn default_mode(server: &tokio_postgres::Config) -> SslMode {
    let is_local = |host: &Host| match host {
        Host::Tcp(name) => {
            name == "localhost" || name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
        }
        Host::Unix(_) => true,
    };
    if server.get_hosts().iter().all(is_local) { SslMode::Disable } else { SslMode::Require }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (String, Option<SslMode>, Option<PathBuf>) {
        let spoken = spoken(text).unwrap();
        (spoken.rest, spoken.mode, spoken.root)
    }

    #[test]
    fn words_about_tls_are_taken_out_of_urls_and_pairs() {
        let root = Some(PathBuf::from("/ca.pem"));
        assert_eq!(
            read("postgres://a@db/x?sslmode=verify-full&sslrootcert=/ca.pem&connect_timeout=3"),
            ("postgres://a@db/x?connect_timeout=3".into(), Some(SslMode::Require), root.clone())
        );
        assert_eq!(
            read("host=db user=a sslmode=require sslrootcert=/ca.pem"),
            ("host=db user=a".into(), Some(SslMode::Require), root)
        );
        assert_eq!(read("postgres://a@db/x"), ("postgres://a@db/x".into(), None, None));
        assert!(spoken("host=db sslmode=perhaps").unwrap_err().to_string().contains("sslmode=perhaps"));
    }

    #[test]
    fn a_database_elsewhere_needs_tls_and_one_here_does_not() {
        let mode = |text: &str| default_mode(&text.parse().unwrap());
        for here in [
            "host=/run/postgresql user=a",
            "host=localhost user=a",
            "host=127.0.0.1 user=a",
            "host=::1 user=a",
        ] {
            assert_eq!(mode(here), SslMode::Disable, "{here}");
        }
        for elsewhere in ["host=db.example.org user=a", "host=10.0.0.7 user=a", "host=localhost,db user=a"] {
            assert_eq!(mode(elsewhere), SslMode::Require, "{elsewhere}");
        }
    }
}
