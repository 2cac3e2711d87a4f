//! Parses the header of a server that refuses a request without a login: `WWW-Authenticate` (RFC 9110, RFC 9728).

use http::HeaderMap;
use http::header::WWW_AUTHENTICATE;

/// The parameters of the first `Bearer` challenge that matter for a login.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::mcp) struct Challenge {
    /// Where the metadata of the protected resource is.
    pub(super) resource_metadata: Option<String>,
    /// The scopes that the request needs, separated by spaces.
    pub(in crate::mcp) scope: Option<String>,
    /// For example `invalid_token` or `insufficient_scope`.
    pub(in crate::mcp) error: Option<String>,
}

impl Challenge {
    /// Reads the challenges of a response.
    pub(in crate::mcp) fn of(headers: &HeaderMap) -> Self {
        let mut challenge = Self::default();
        for value in headers.get_all(WWW_AUTHENTICATE).iter().filter_map(|value| value.to_str().ok()) {
            for (name, value) in parameters(value) {
                let field = match name.as_str() {
                    "resource_metadata" => &mut challenge.resource_metadata,
                    "scope" => &mut challenge.scope,
                    "error" => &mut challenge.error,
                    _ => continue,
                };
                field.get_or_insert(value);
            }
        }
        challenge
    }
}

/// The parameters `name=value` and `name="value"` of all challenges of a header. The names of schemes are left out.
fn parameters(header: &str) -> Vec<(String, String)> {
    let (mut found, mut rest) = (Vec::new(), header);
    while let Some((before, after)) = rest.split_once('=') {
        let name = before.rsplit([' ', ',', '\t']).next().unwrap_or_default().to_ascii_lowercase();
        let (value, left) = match after.strip_prefix('"') {
            Some(quoted) => unquoted(quoted),
            None => {
                let end = after.find([',', ' ']).unwrap_or(after.len());
                (after.get(..end).unwrap_or_default().to_owned(), after.get(end..).unwrap_or_default())
            }
        };
        found.push((name, value));
        rest = left;
    }
    found
}

/// A quoted text without its quotes and escapes, and what follows it.
fn unquoted(text: &str) -> (String, &str) {
    let (mut value, mut letters) = (String::new(), text.char_indices());
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return (value, text.get(at + 1..).unwrap_or_default()),
            '\\' => value.extend(letters.next().map(|(_, escaped)| escaped)),
            letter => value.push(letter),
        }
    }
    (value, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_parameters_among_other_challenges() {
        let mut headers = HeaderMap::new();
        headers.append(WWW_AUTHENTICATE, "Basic realm=\"a, b=c\"".parse().unwrap());
        let text = r#"DPoP algs="ES256", Bearer error="insufficient_scope", scope="read write",resource_metadata="https://x/\"y""#;
        headers.append(WWW_AUTHENTICATE, text.parse().unwrap());
        let challenge = Challenge::of(&headers);
        assert_eq!(challenge.scope.as_deref(), Some("read write"));
        assert_eq!(challenge.error.as_deref(), Some("insufficient_scope"));
        assert_eq!(challenge.resource_metadata.as_deref(), Some("https://x/\"y"));
        for odd in ["", "Bearer", "Bearer scope", "Bearer scope=", "Bearer scope=\"", "=", "==\"=\\"] {
            let mut headers = HeaderMap::new();
            headers.append(WWW_AUTHENTICATE, odd.parse().unwrap());
            assert_eq!(Challenge::of(&headers).resource_metadata, None, "{odd}");
        }
    }
}
