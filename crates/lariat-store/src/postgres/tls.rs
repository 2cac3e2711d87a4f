//! Configures TLS for the database connection.
//!
//! Parses `sslmode` and `sslrootcert` from a connection string; `connector` connects. The certificate is always
//! verified, including the name, so `require` means what `verify-full` means to `libpq`. Without `sslmode`, a database on
//! another machine requires TLS.

use std::path::PathBuf;

use lariat_core::store::StoreError;
use tokio_postgres::config::{Host, SslMode};

/// The TLS options of a connection string, and the rest of the string.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct TlsOptions {
    pub(super) rest: String,
    pub(super) mode: Option<SslMode>,
    pub(super) root: Option<PathBuf>,
}

/// Extracts the TLS options from a URL or `key=value` pairs.
pub(super) fn parse_tls_options(text: &str) -> Result<TlsOptions, StoreError> {
    let is_url = text.starts_with("postgres://") || text.starts_with("postgresql://");
    let (head, words, separator) = match text.split_once('?') {
        Some((head, query)) if is_url => (head, query.split('&').collect::<Vec<_>>(), "&"),
        None if is_url => (text, Vec::new(), "&"),
        _ => ("", text.split_whitespace().collect(), " "),
    };
    let mut options = TlsOptions::default();
    let mut rest = Vec::new();
    for word in words {
        match word.split_once('=') {
            Some(("sslmode", mode)) => options.mode = Some(ssl_mode(mode)?),
            Some(("sslrootcert", path)) if path != "system" => {
                options.root = Some(PathBuf::from(path.replace("%2F", "/").trim_matches('\'')));
            }
            Some(("sslrootcert", _)) => {}
            _ => rest.push(word),
        }
    }
    let rest = rest.join(separator);
    options.rest = match (is_url, rest.is_empty()) {
        (true, true) => head.to_owned(),
        (true, false) => format!("{head}?{rest}"),
        (false, _) => rest,
    };
    Ok(options)
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

/// Returns the mode for a string without `sslmode`: no TLS on this machine, TLS everywhere else.
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
        let options = parse_tls_options(text).unwrap();
        (options.rest, options.mode, options.root)
    }

    #[test]
    fn extracts_tls_options_from_urls_and_pairs() {
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
        assert!(
            parse_tls_options("host=db sslmode=perhaps").unwrap_err().to_string().contains("sslmode=perhaps")
        );
    }

    #[test]
    fn only_remote_databases_require_tls_by_default() {
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
