use super::*;

fn redactor() -> Redactor {
    Redactor::new([("MY_KEY", "hunter2-canary/Zq+\"1"), ("SHORT", "abc")])
}

#[test]
fn every_shape_is_a_valid_expression() {
    assert!(SHAPES_EXPRESSION.is_some());
}

#[test]
fn finds_registered_value_in_every_encoding() {
    let value = "hunter2-canary/Zq+\"1";
    let mut texts = vec![
        format!("the key is {value}."),
        Value::from(value).to_string(),
        "https://x/?key=hunter2-canary%2FZq%2B%221&y".to_owned(),
    ];
    for prefix in ["", "a", "ab", "abc", "Basic user:"] {
        for suffix in ["", "z", "zz"] {
            texts.push(BASE64_STANDARD.encode(format!("{prefix}{value}{suffix}")));
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
fn secret_that_is_added_later_applies_to_clones() {
    let (redactor, clone) = (redactor(), redactor().clone());
    let of_first = redactor.clone();
    redactor.add([("TOKEN", "renewed-token-1")]);
    assert_eq!(of_first.text("x renewed-token-1"), "x [redacted: TOKEN]");
    assert_eq!(clone.text("x renewed-token-1"), "x renewed-token-1", "another redactor");
    assert!(of_first.text("hunter2-canary/Zq+\"1").contains("MY_KEY"), "earlier secrets stay");
}

/// A text of each shape, composed here so that no scanner takes this file for a leak. The secret is in `<…>`.
fn samples() -> Vec<(&'static str, String)> {
    let mixed = |length: usize| "aB3xZ9".repeat(40).chars().take(length).collect::<String>();
    let hex = |length: usize| "0f9a3c".repeat(40).chars().take(length).collect::<String>();
    let upper = |length: usize| "A7QZ2".repeat(40).chars().take(length).collect::<String>();
    vec![
        ("Anthropic key", format!("<sk-ant-api03-{}>", mixed(40))),
        ("OpenAI key", format!("x <sk-proj-{}> y", mixed(40))),
        ("OpenAI key", format!("<sk-svcacct-{}>", mixed(40))),
        ("API key", format!("<sk-{}>", mixed(42))),
        ("API key", format!("<sk-or-v1-{}>", hex(64))),
        ("GitHub token", format!("token=<ghp_{}>", mixed(36))),
        ("GitHub token", format!("<github_pat_{}>", mixed(60))),
        ("GitLab token", format!("<glpat-{}>", mixed(20))),
        ("GitLab token", format!("<glrt-{}>", mixed(20))),
        ("Bitbucket token", format!("<ATBB{}>", mixed(32))),
        ("Atlassian token", format!("<ATATT3{}>", mixed(180))),
        ("AWS key id", "<AKIAIOSFODNN7EXAMPLE>".to_owned()),
        ("AWS key id", "<ASIAIOSFODNN7EXAMPLE>".to_owned()),
        ("AWS secret key", format!("aws_secret_access_key = <{}>", mixed(40))),
        ("AWS secret key", format!("export AWS_SECRET_ACCESS_KEY=<{}>", mixed(40))),
        ("AWS secret key", format!("{{\"SecretAccessKey\": \"<{}>\"}}", mixed(40))),
        ("AWS session token", format!("aws_session_token=<{}>", mixed(200))),
        ("AWS session token", format!("\"SessionToken\": \"<{}>\"", mixed(200))),
        (
            "Azure key",
            format!("DefaultEndpointsProtocol=https;AccountName=x;AccountKey=<{}==>;Endpoint", mixed(86)),
        ),
        ("Azure key", format!("Endpoint=sb://x/;SharedAccessKeyName=r;SharedAccessKey=<{}=>", mixed(43))),
        ("Azure signature", format!("https://x.blob.core.windows.net/c?sv=2024&sig=<{}%3D>", mixed(43))),
        ("Azure client secret", format!("<abc8Q~{}>", mixed(33))),
        ("Google key", format!("<AIza{}>", mixed(35))),
        ("Google token", format!("<ya29.{}>", mixed(60))),
        ("Google refresh token", format!("<1//0{}>", mixed(60))),
        ("Google client secret", format!("<GOCSPX-{}>", mixed(28))),
        ("Slack token", "<xoxb-123456789012-abc>".to_owned()),
        ("Slack token", format!("<xapp-1-A012-{}>", mixed(40))),
        ("Slack webhook", format!("https://hooks.slack.com/services/<T00000000/B00000000/{}>", mixed(24))),
        ("Discord webhook", format!("https://discord.com/api/webhooks/<123456789012345678/{}>", mixed(68))),
        ("Telegram token", format!("<123456789:AA{}>", mixed(33))),
        ("SendGrid key", format!("<SG.{}.{}>", mixed(22), mixed(43))),
        ("Vault token", format!("<hvs.{}>", mixed(90))),
        ("Terraform token", format!("<{}.atlasv1.{}>", mixed(14), mixed(67))),
        ("DigitalOcean token", format!("<dop_v1_{}>", hex(64))),
        ("age key", format!("<AGE-SECRET-KEY-1{}>", upper(58))),
        ("age key", format!("<AGE-PLUGIN-YUBIKEY-1{}>", upper(58))),
        ("npm token", format!("<npm_{}>", mixed(36))),
        ("npm credential", format!("//registry.example.com/:_authToken=<{}>", mixed(40))),
        ("PyPI token", format!("<pypi-AgE{}>", mixed(80))),
        ("RubyGems key", format!("<rubygems_{}>", hex(48))),
        ("crates.io token", format!("token = \"<cio{}>\"", mixed(32))),
        ("Docker token", format!("<dckr_pat_{}>", mixed(27))),
        ("Hugging Face token", format!("<hf_{}>", mixed(34))),
        ("Groq key", format!("<gsk_{}>", mixed(52))),
        ("xAI key", format!("<xai-{}>", mixed(80))),
        ("Perplexity key", format!("<pplx-{}>", mixed(48))),
        ("Replicate token", format!("<r8_{}>", mixed(37))),
        ("Nvidia key", format!("<nvapi-{}>", mixed(64))),
        ("Cerebras key", format!("<csk-{}>", hex(48))),
        ("LangSmith key", format!("<lsv2_pt_{}_{}>", hex(32), hex(10))),
        ("Stripe key", format!("<sk_live_{}>", mixed(24))),
        ("Stripe key", format!("<whsec_{}>", mixed(32))),
        ("Square token", format!("<sq0atp-{}>", mixed(22))),
        ("Square token", format!("<EAAA{}>", mixed(60))),
        ("Shopify token", format!("<shpat_{}>", hex(32))),
        ("Linear key", format!("<lin_api_{}>", mixed(40))),
        ("Notion token", format!("<ntn_{}>", mixed(46))),
        ("Databricks token", format!("<dapi{}>", hex(32))),
        ("Grafana token", format!("<glsa_{}_{}>", mixed(32), hex(8))),
        ("Grafana token", format!("<glc_ey{}>", mixed(60))),
        ("New Relic key", format!("<NRAK-{}>", upper(27))),
        ("Sentry token", format!("<sntrys_{}>", mixed(80))),
        ("PlanetScale token", format!("<pscale_tkn_{}>", mixed(43))),
        ("Supabase token", format!("<sbp_{}>", hex(40))),
        ("Fly token", format!("FlyV1 <fm2_{}>", mixed(80))),
        ("Netlify token", format!("<nfp_{}>", mixed(36))),
        ("Doppler token", format!("<dp.st.prd.{}>", mixed(40))),
        ("Postman key", format!("<PMAK-{}-{}>", hex(24), hex(34))),
        ("signed token", format!("<eyJhbGciOiJIUzI1NiIsInR5.eyJzdWIiOiIxMjM0NTY3ODkw.{}>", mixed(40))),
        (
            "private key",
            "<-----BEGIN OPENSSH PRIVATE KEY-----\nabc\n-----END OPENSSH PRIVATE KEY----->".to_owned(),
        ),
        ("private key", "<-----BEGIN RSA PRIVATE KEY-----\nabc>".to_owned()),
        (
            "private key",
            "<-----BEGIN PGP PRIVATE KEY BLOCK-----\nabc\n-----END PGP PRIVATE KEY BLOCK----->".to_owned(),
        ),
        ("bearer token", format!("Authorization: Bearer <{}>", mixed(40))),
        ("bearer token", format!("{{\"Authorization\": \"Bearer <{}>\"}}", mixed(40))),
        ("password", "postgres://me:<s3cr3t>@db/x".to_owned()),
    ]
}

/// About twenty shapes of keys were once not redacted.
#[test]
fn redacts_every_shape_under_its_name_and_nothing_else() {
    for (name, sample) in samples() {
        let text = sample.replace(['<', '>'], "");
        let (before, rest) = sample.split_once('<').unwrap();
        let (_, after) = rest.rsplit_once('>').unwrap();
        let wanted = format!("{before}[redacted: {name}]{after}");
        assert_eq!(Redactor::default().text(&text), wanted, "{text}");
        let framed = format!("key \"{text}\", next line\n");
        assert!(Redactor::default().text(&framed).contains(&format!("[redacted: {name}]")), "{framed}");
    }
}

#[test]
fn every_shape_has_a_sample_and_a_sign() {
    let samples = samples();
    for shape in SHAPES {
        let own: Vec<_> = samples.iter().filter(|(name, _)| *name == shape.name).collect();
        assert!(!own.is_empty(), "{} has no sample", shape.name);
        for sign in shape.signs {
            assert!(shape.pattern.len() > sign.len() && !sign.is_empty(), "{}", shape.name);
        }
        for (_, sample) in own {
            assert!(shape.signs.iter().any(|sign| sample.contains(sign)), "{}: {sample}", shape.name);
        }
    }
}

/// Everyday texts: this project's own files, lock files full of hashes, and lines that contain every sign.
#[test]
fn everyday_texts_contain_no_secret() {
    let files = [
        include_str!("../../../Cargo.lock"),
        include_str!("../../../README.md"),
        include_str!("../../../ARCHITECTURE.md"),
        include_str!("../../../CHANGELOG.md"),
        include_str!("lib.rs"),
        include_str!("agent/builder.rs"),
        include_str!("drive/journal.rs"),
        include_str!("redact/shapes.rs"),
    ];
    let lines = [
        "aws_secret_access_key = os.environ[\"AWS_SECRET_ACCESS_KEY\"]",
        "secret_access_key: ${{ secrets.AWS_SECRET_ACCESS_KEY }}",
        "AccountKey=$KEY;EndpointSuffix=core.windows.net",
        "https://example.com/?sig=short&x=1",
        "fn hvs.len() SG.Foo.bar SG.svg hvs.yaml ya29.txt",
        "npm_config_registry=https://registry.example/ npm_lifecycle_event=test",
        "hf_hub_download(repo_id=\"x/y\") hf_transfer gsk_file r8_unorm ntn_x nfp_fit",
        "sbp_page shpat_ dapi.example.com dapi_version cio.run() precious",
        "session_token = request.cookies.get(\"session_token\")",
        "integrity sha512-q2Nq1cZg3nDzDWf0nF1w6Yl4mQv0y5m0Zk8cVb7mGx9rTt1oPp5sLd2eUj6iXa3hWn4bKo7fRy8gCz0vAq==",
        "12:34:56:AABBCC 1//2 1//0 10:AA",
        "key-value sk-learn xai-explainability pplx-lint glpat-less xapp-shell",
        "npm ERR! _auth is deprecated; _authToken = ${NPM_TOKEN}",
        "git@github.com:owner/repo.git ssh://git@host:22/x https://host:443/a@b",
        "AGE-SECRET-KEY- is how such a key begins; SharedAccessKey= too",
        "lsv2_pt lin_api_key EAAA EAAAAA== 8Q~ .atlasv1. PMAK- NRAK-",
        "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
        "uuid 019a3c5e-1b2c-7def-8abc-0123456789ab, commit 3f786850e387550fdab836ed7e6dc881de23001b",
        "DATABASE_URL=postgres://localhost/x SENTRY_DSN=https://abc@o1.ingest.sentry.io/2",
    ];
    for text in files.iter().copied().chain(lines) {
        for line in text.lines() {
            assert!(matches!(Redactor::default().text(line), Cow::Borrowed(_)), "{line}");
        }
    }
}

#[test]
fn leaves_text_without_secrets_unchanged() {
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
fn cleans_json_values_and_field_names() {
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
fn long_text_takes_linear_time() {
    // Many starts of secrets without an end are the worst case for the expression.
    let text = "-----BEGIN RSA PRIVATE KEY-----eyJa://a:".repeat(2_000);
    let started = std::time::Instant::now();
    let _ = redactor().text(&text);
    assert!(started.elapsed().as_secs() < 5, "{:?}", started.elapsed());
}
