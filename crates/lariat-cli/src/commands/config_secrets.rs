//! Hides the secrets in settings that are shown: passwords and queries of addresses, values of headers, passwords of databases.

use serde_json::Value;

/// Shown instead of a secret.
const HIDDEN: &str = "****";
/// Settings whose values are headers, each as `NAME: VALUE`.
const HEADERS: &str = "telemetry.headers";

/// The value of a setting without its secrets.
pub(super) fn without_secrets(key: &str, value: Value) -> Value {
    match value {
        Value::String(text) if key == HEADERS => Value::String(header(&text)),
        Value::String(text) => Value::String(address(&text)),
        Value::Array(values) => {
            Value::Array(values.into_iter().map(|value| without_secrets(key, value)).collect())
        }
        other => other,
    }
}

fn header(text: &str) -> String {
    match text.split_once([':', '=']) {
        Some((name, _)) => format!("{}: {HIDDEN}", name.trim_end()),
        None => HIDDEN.to_owned(),
    }
}

/// Hides the user and password before the host, the query, and `password=…` of a database without an address.
fn address(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else {
        let hide = |word: &str| match word.split_once('=') {
            Some((name, _)) if name.eq_ignore_ascii_case("password") => format!("{name}={HIDDEN}"),
            _ => word.to_owned(),
        };
        return text.split(' ').map(hide).collect::<Vec<_>>().join(" ");
    };
    let (place, query) = rest.split_at(rest.find(['?', '#']).unwrap_or(rest.len()));
    let (authority, path) = place.split_at(place.find('/').unwrap_or(place.len()));
    let authority = match authority.rsplit_once('@') {
        Some((_, host)) => format!("{HIDDEN}@{host}"),
        None => authority.to_owned(),
    };
    let query = if query.is_empty() { String::new() } else { format!("?{HIDDEN}") };
    format!("{scheme}://{authority}{path}{query}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::without_secrets;

    #[test]
    fn shown_settings_have_no_password_query_or_header_value() {
        for (key, value, shown) in [
            (
                "providers.a.base_url",
                json!("http://me:pw@127.0.0.1:8/v1?code=c"),
                json!("http://****@127.0.0.1:8/v1?****"),
            ),
            ("providers.a.base_url", json!("https://api.example/v1"), json!("https://api.example/v1")),
            ("store.url", json!("host=db user=me password=pw"), json!("host=db user=me password=****")),
            ("telemetry.headers", json!(["x-team: red", "odd"]), json!(["x-team: ****", "****"])),
            ("limits.turns", json!(7), json!(7)),
            ("trace.file", json!("/a b/c"), json!("/a b/c")),
        ] {
            assert_eq!(without_secrets(key, value), shown, "{key}");
        }
    }
}
