use super::*;

fn redactor() -> Redactor {
    Redactor::new([("MY_KEY", "hunter2-canary/Zq+\"1"), ("SHORT", "abc")])
}

#[test]
fn every_look_is_an_expression() {
    assert!(BY_LOOKS.is_some());
}

#[test]
fn a_known_value_is_found_in_every_form() {
    let value = "hunter2-canary/Zq+\"1";
    let mut texts = vec![
        format!("the key is {value}."),
        Value::from(value).to_string(),
        "https://x/?key=hunter2-canary%2FZq%2B%221&y".to_owned(),
    ];
    for prefix in ["", "a", "ab", "abc", "Basic user:"] {
        for suffix in ["", "z", "zz"] {
            texts.push(base64(format!("{prefix}{value}{suffix}").as_bytes()));
            texts.push(texts[texts.len() - 1].replace('+', "-").replace('/', "_"));
        }
    }
    for text in texts {
        let clean = redactor().text(&text).into_owned();
        assert!(clean.contains("[redacted: MY_KEY]"), "{text} → {clean}");
        assert!(!clean.contains("canary"), "{clean}");
    }
    assert_eq!(redactor().text("abc is short"), "abc is short");
}

#[test]
fn secrets_are_told_by_their_looks() {
    let forty = "aB3".repeat(14);
    for (text, name) in [
        (format!("sk-ant-api03-{forty}"), "Anthropic key"),
        (format!("x sk-proj-{forty} y"), "OpenAI key"),
        (format!("sk-{forty}"), "API key"),
        (format!("token=ghp_{forty}"), "GitHub token"),
        (format!("github_pat_{forty}"), "GitHub token"),
        ("AKIAIOSFODNN7EXAMPLE".to_owned(), "AWS key id"),
        (format!("AIza{}", "a".repeat(35)), "Google key"),
        ("xoxb-123456789012-abc".to_owned(), "Slack token"),
        (format!("npm_{}", "a".repeat(36)), "npm token"),
        (format!("Authorization: Bearer {forty}"), "bearer token"),
        (format!("{{\"Authorization\": \"Bearer {forty}\"}}"), "bearer token"),
        ("postgres://me:s3cr3t@db/x".to_owned(), "password"),
        (format!("eyJhbGciOiJIUzI1NiIsInR5.eyJzdWIiOiIxMjM0NTY3ODkw.{forty}"), "signed token"),
        (
            "-----BEGIN OPENSSH PRIVATE KEY-----\nabc\n-----END OPENSSH PRIVATE KEY-----".to_owned(),
            "private key",
        ),
        ("-----BEGIN RSA PRIVATE KEY-----\nabc".to_owned(), "private key"),
    ] {
        let clean = Redactor::default().text(&text).into_owned();
        assert!(clean.contains(&format!("[redacted: {name}]")), "{text} → {clean}");
    }
    assert_eq!(
        Redactor::default().text("postgres://me:s3cr3t@db/x"),
        "postgres://me:[redacted: password]@db/x"
    );
}

#[test]
fn what_is_no_secret_stays() {
    for text in [
        "task-list sk-learn risk-ant-free",
        "https://user@host/path:80@x",
        "a commit 3f786850e387550fdab836ed7e6dc881de23001b",
        "fn mask_key(sk: &str) {}",
        "Authorization: Bearer $TOKEN",
        "-----BEGIN PUBLIC KEY-----\nabc\n-----END PUBLIC KEY-----",
        "http://localhost:8080/a@b",
    ] {
        assert!(matches!(Redactor::default().text(text), Cow::Borrowed(_)), "{text}");
    }
}

#[test]
fn values_are_cleaned_to_their_names() {
    let mut value = serde_json::json!({
        "hunter2-canary/Zq+\"1": 1, "list": ["x hunter2-canary/Zq+\"1"], "n": 3
    });
    redactor().value(&mut value);
    assert_eq!(value, serde_json::json!({"[redacted: MY_KEY]": 1, "list": ["x [redacted: MY_KEY]"], "n": 3}));
}

#[test]
fn debug_output_shows_no_value() {
    assert!(!format!("{:?}", redactor()).contains("hunter2"));
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test that measures")]
fn a_long_text_takes_linear_time() {
    // Starts of secrets that never end are what an expression could stumble over.
    let text = "-----BEGIN RSA PRIVATE KEY-----eyJa://a:".repeat(2_000);
    let started = std::time::Instant::now();
    let _ = redactor().text(&text);
    assert!(started.elapsed().as_secs() < 5, "{:?}", started.elapsed());
}
