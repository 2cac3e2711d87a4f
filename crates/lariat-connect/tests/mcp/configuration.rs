//! Entries of `.mcp.json`: variables, transports, identities and mistakes.

use lariat_connect::mcp::{McpServerConfig, McpTransport};
use serde_json::{Value, json};

fn parse(name: &str, entry: Value) -> Result<McpServerConfig, String> {
    let value = |name: &str| match name {
        "TOKEN" => Some("secret".to_owned()),
        "EMPTY" => Some(String::new()),
        _ => None,
    };
    McpServerConfig::parse(name, &entry, "project", &value).map_err(|error| error.to_string())
}

fn identity(entry: Value) -> String {
    parse("server", entry).unwrap().identity().to_owned()
}

#[test]
fn expands_variables_with_defaults() {
    let entry = json!({
        "command": "${PROGRAM:-run}",
        "args": ["--token=${TOKEN}", "${EMPTY:-full}", "a${EMPTY}b", "${open", "$HOME"],
        "env": { "KEY": "${TOKEN}${TOKEN}" },
        "cwd": "/${NONE:-tmp}",
    });
    let McpTransport::Stdio { command, arguments, environment, directory } =
        parse("a", entry).unwrap().transport
    else {
        unreachable!()
    };
    assert_eq!(command, "run");
    assert_eq!(arguments, ["--token=secret", "full", "ab", "${open", "$HOME"]);
    assert_eq!(environment["KEY"], "secretsecret");
    assert_eq!(directory.unwrap().to_str(), Some("/tmp"));
}

#[test]
fn debug_output_shows_no_values() {
    let entry = json!({ "command": "run", "env": { "KEY": "${TOKEN}" } });
    let shown = format!("{:?}", parse("a", entry).unwrap());
    assert!(shown.contains("KEY") && !shown.contains("secret"), "{shown}");
}

#[test]
fn reads_every_transport() {
    let kind = |entry| parse("a", entry).unwrap().transport.name();
    assert_eq!(kind(json!({ "command": "run" })), "stdio");
    assert_eq!(kind(json!({ "type": "stdio", "command": "run" })), "stdio");
    assert_eq!(kind(json!({ "type": "http", "url": "https://example.com" })), "http");
    assert_eq!(kind(json!({ "type": "streamable-http", "url": "https://example.com" })), "http");
    assert_eq!(kind(json!({ "type": "sse", "url": "https://example.com" })), "sse");
}

#[test]
fn reports_mistakes() {
    let cases = [
        ("a", json!({}), "`command` is missing"),
        ("a", json!({ "url": "https://example.com" }), "`url` needs"),
        ("a", json!({ "type": "http" }), "`url` is missing"),
        ("a", json!({ "type": "http", "url": "" }), "`url` is empty"),
        ("a", json!({ "type": "sse", "url": "${EMPTY:-}" }), "`url` is empty"),
        ("a", json!({ "command": " " }), "`command` is empty"),
        ("a", json!({ "type": "ws", "url": "wss://example.com" }), "`ws` is not supported"),
        ("a", json!({ "command": "run", "url": "https://example.com" }), "either `command` or `url`"),
        ("a", json!({ "command": "${MISSING}" }), "the variable `MISSING` is not set"),
        ("a", json!({ "command": ["run"] }), "invalid type"),
        ("a", json!({ "type": "http", "url": "https://a", "headersHelper": "x" }), "`headersHelper`"),
        ("a b", json!({ "command": "run" }), "letters, digits"),
        ("a__b", json!({ "command": "run" }), "does not contain `__`"),
        ("", json!({ "command": "run" }), "letters, digits"),
    ];
    for (name, entry, expected) in cases {
        let problem = parse(name, entry.clone()).unwrap_err();
        assert!(problem.contains(expected), "{entry}: {problem}");
    }
}

#[test]
fn each_field_that_decides_what_runs_changes_the_identity() {
    let base = json!({ "command": "run", "args": ["a", "b"], "env": { "KEY": "${TOKEN}" }, "cwd": "/a" });
    let changed = [
        json!({ "command": "run2", "args": ["a", "b"], "env": { "KEY": "${TOKEN}" }, "cwd": "/a" }),
        json!({ "command": "run", "args": ["ab"], "env": { "KEY": "${TOKEN}" }, "cwd": "/a" }),
        json!({ "command": "run", "args": ["b", "a"], "env": { "KEY": "${TOKEN}" }, "cwd": "/a" }),
        json!({ "command": "run", "args": ["a", "b"], "env": { "KEY": "${OTHER:-x}" }, "cwd": "/a" }),
        json!({ "command": "run", "args": ["a", "b"], "env": { "KEY2": "${TOKEN}" }, "cwd": "/a" }),
        json!({ "command": "run", "args": ["a", "b"], "env": { "KEY": "${TOKEN}" }, "cwd": "/b" }),
        json!({ "command": "run", "args": ["a", "b"], "env": {}, "cwd": "/a" }),
    ];
    let own = identity(base.clone());
    assert_eq!(own, identity(base.clone()));
    for entry in changed {
        assert_ne!(own, identity(entry.clone()), "{entry}");
    }
    let elsewhere = McpServerConfig::parse("server", &base, "user", &|_| Some(String::new())).unwrap();
    assert_ne!(own, elsewhere.identity());
}
