//! Receives the redirect of the browser on this machine, or reads one that the user pasted.
//!
//! The listener accepts connections from this machine only. A request without the right `state` gets an error page and is
//! ignored, so another program cannot end the login.

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use url::Url;

use super::endpoint::{failed, shown};
use crate::mcp::error::McpError;

/// The path of the redirect.
const PATH: &str = "/callback";
/// Maximum size of the head of a request, in bytes.
const MAX_HEAD: usize = 16 * 1024;
/// How long a browser may take to send its request.
const REQUEST: Duration = Duration::from_secs(5);

/// What a redirect says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Redirect {
    /// The user agreed.
    Code {
        code: String,
        /// Who says so (RFC 9207).
        issuer: Option<String>,
    },
    /// The authorization server refused, or the user did.
    Refused(String),
}

impl Redirect {
    /// Reads the address of a redirect; `None` if it is not one for this `state`.
    pub(super) fn parse(address: &str, state: &str) -> Option<Self> {
        let url = Url::parse(address.trim()).ok()?;
        let value = |name: &str| {
            let mut values = url.query_pairs().filter(|(key, _)| key == name);
            values.next().map(|(_, value)| value.into_owned())
        };
        if value("state").as_deref() != Some(state) {
            return None;
        }
        let issuer = value("iss");
        match (value("error"), value("code")) {
            (Some(error), _) => {
                let about = value("error_description").map(|about| format!(" ({})", shown(&about)));
                Some(Self::Refused(format!("{}{}", shown(&error), about.unwrap_or_default())))
            }
            (None, Some(code)) => Some(Self::Code { code, issuer }),
            (None, None) => None,
        }
    }
}

/// Waits for the browser.
pub(super) struct RedirectListener {
    listener: TcpListener,
    address: String,
}

impl RedirectListener {
    /// Listens on a port of this machine; on a free one if `port` is `None`.
    pub(super) async fn open(port: Option<u16>) -> Result<Self, McpError> {
        let cannot = |error| failed(format!("cannot wait for the browser on this machine: {error}"));
        let listener = TcpListener::bind(("127.0.0.1", port.unwrap_or(0))).await.map_err(cannot)?;
        let port = listener.local_addr().map_err(cannot)?.port();
        Ok(Self { listener, address: format!("http://127.0.0.1:{port}{PATH}") })
    }

    /// The address that the browser is redirected to.
    pub(super) fn address(&self) -> &str {
        &self.address
    }

    /// Waits for a redirect with this `state`.
    pub(super) async fn wait(&self, state: &str) -> Redirect {
        loop {
            let Ok((mut stream, _)) = self.listener.accept().await else {
                // The system has no resources for a connection; one may be free later.
                tokio::time::sleep(REQUEST).await;
                continue;
            };
            let answered = tokio::time::timeout(REQUEST, self.answer(&mut stream, state)).await;
            if let Ok(Some(redirect)) = answered {
                return redirect;
            }
        }
    }

    async fn answer(&self, stream: &mut TcpStream, state: &str) -> Option<Redirect> {
        let mut head = Vec::new();
        let mut chunk = [0_u8; 1024];
        while !head.windows(4).any(|four| four == b"\r\n\r\n") {
            let read = stream.read(&mut chunk).await.ok()?;
            head.extend_from_slice(chunk.get(..read)?);
            if read == 0 || head.len() > MAX_HEAD {
                return None;
            }
        }
        let text = String::from_utf8_lossy(&head);
        let target = text.strip_prefix("GET ").and_then(|rest| rest.split(' ').next());
        let target = target.filter(|target| target.split('?').next() == Some(PATH));
        let redirect = target.and_then(|target| {
            let origin = self.address.trim_end_matches(PATH);
            Redirect::parse(&format!("{origin}{target}"), state)
        });
        let (status, words) = match &redirect {
            Some(Redirect::Code { .. }) => ("200 OK", "Lariat has the answer. You can close this page."),
            Some(Redirect::Refused(_)) => ("200 OK", "The login was refused. You can close this page."),
            None => ("404 Not Found", "This is not the address of a login."),
        };
        let page = format!("<!doctype html><meta charset=utf-8><title>Lariat</title><p>{words}</p>\n");
        let answer = format!(
            "HTTP/1.1 {status}\r\ncontent-type: text/html; charset=utf-8\r\ncontent-length: {}\r\nconnection: close\r\ncache-control: no-store\r\n\r\n{page}",
            page.len()
        );
        let _ = stream.write_all(answer.as_bytes()).await;
        let _ = stream.shutdown().await;
        redirect
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redirect_with_another_state_is_ignored() {
        let parse = |query: &str| Redirect::parse(&format!("http://127.0.0.1:1/callback?{query}"), "s1");
        let code = |issuer: Option<&str>| {
            Some(Redirect::Code { code: "c d".to_owned(), issuer: issuer.map(str::to_owned) })
        };
        assert_eq!(parse("code=c%20d&state=s1"), code(None));
        assert_eq!(parse("code=c+d&state=s1&iss=https%3A%2F%2Fx"), code(Some("https://x")));
        let refused = Redirect::Refused("access_denied (no\u{2409}way)".to_owned());
        let parsed = parse("error=access_denied&error_description=no%09way&state=s1");
        assert!(matches!(parsed, Some(Redirect::Refused(_))), "{parsed:?} {refused:?}");
        for other in ["code=c&state=s2", "code=c", "state=s1", "error=x", ""] {
            assert_eq!(parse(other), None, "{other}");
        }
        assert_eq!(Redirect::parse("not an address", "s1"), None);
    }
}
