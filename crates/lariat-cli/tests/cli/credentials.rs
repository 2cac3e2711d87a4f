//! Tests credentials that AWS's and Google's own tools would find, and the usual variables, with fake cloud services.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use lariat_proofs::server::{Script, Server, Turn, Wire};
use serde_json::json;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::aws_lc_rs::default_provider;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::kit::{CONFIG, Home, RunResult};

/// A private authority, and a certificate and key for this machine that it signed.
const AUTHORITY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../lariat-model/tests/http/tls/authority.pem");
const CERTIFICATE: &[u8] = include_bytes!("../../../lariat-model/tests/http/tls/server.pem");
const KEY: &[u8] = include_bytes!("../../../lariat-model/tests/http/tls/server.key");

/// A fake cloud service: responds by method and path, and records requests.
struct FakeService {
    url: String,
    requests: Arc<Mutex<Vec<String>>>,
}

impl FakeService {
    fn start(answer: impl Fn(&str) -> Option<String> + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&requests);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let line = Self::read(&stream);
                seen.lock().unwrap().push(line.clone());
                let (status, body) =
                    answer(&line).map_or(("404 Not Found", String::new()), |body| ("200 OK", body));
                let kind = if body.starts_with('<') { "text/xml" } else { "application/json" };
                let head = format!(
                    "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\nmetadata-flavor: Google\r\nx-aws-ec2-metadata-token-ttl-seconds: 600\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
                    body.len()
                );
                let _ = (&stream).write_all((head + &body).as_bytes());
            }
        });
        Self { url, requests }
    }

    /// The request's first line, followed by its body.
    fn read(stream: &TcpStream) -> String {
        let mut reader = BufReader::new(stream);
        let (mut first, mut length) = (String::new(), 0);
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).unwrap_or_default() == 0 || line == "\r\n" {
                break;
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
            if first.is_empty() {
                first = line.trim_end().to_owned();
            }
        }
        let mut body = vec![0; length];
        let _ = reader.read_exact(&mut body);
        format!("{first} {}", String::from_utf8_lossy(&body))
    }

    fn received(&self, words: &str) -> bool {
        self.requests.lock().unwrap().iter().any(|line| line.contains(words))
    }
}

/// A home that uses a model on Bedrock behind a scripted server.
async fn bedrock() -> (Home, Server) {
    let server = Server::start(Script::queue([Turn::new().text("Hello.")]).unchecked()).await.unwrap();
    let home = Home::new()
        .with("LARIAT_MODEL", "amazon-bedrock/anthropic.claude-sonnet-5-5")
        .with("AWS_REGION", "eu-west-1")
        .with("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", &server.base_url(Wire::BedrockConverse));
    (home, server)
}

/// Runs the program on a blocking thread. Returns the authorization header that the model provider received.
async fn authorization(home: Home, server: &Server) -> (RunResult, String) {
    let ran = tokio::task::spawn_blocking(move || home.run(&["run", "--no-sandbox", "hello"])).await.unwrap();
    let requests = server.requests();
    let sent = requests.last().and_then(|request| request.headers.get("authorization"));
    (ran, sent.map(|value| value.to_str().unwrap().to_owned()).unwrap_or_default())
}

fn keys(id: &str) -> serde_json::Value {
    json!({ "AccessKeyId": id, "SecretAccessKey": "secret", "Token": "token", "Expiration": "2099-01-01T00:00:00Z", "Code": "Success" })
}

/// Every build must include the credential chains.
#[tokio::test(flavor = "multi_thread")]
async fn bedrock_takes_keys_of_a_container() {
    let (home, server) = bedrock().await;
    let service =
        FakeService::start(|line| line.starts_with("GET /keys").then(|| keys("AKIDCONTAINER").to_string()));
    let home = home.with("AWS_CONTAINER_CREDENTIALS_FULL_URI", &format!("{}/keys", service.url));
    let (ran, sent) = authorization(home, &server).await;
    assert_eq!(ran.code, Some(0), "{ran}");
    assert!(sent.contains("Credential=AKIDCONTAINER/") && sent.contains("/eu-west-1/bedrock/"), "{sent}");
}

/// The metadata service of an instance.
#[tokio::test(flavor = "multi_thread")]
async fn bedrock_takes_keys_of_an_instance() {
    let (home, server) = bedrock().await;
    let service = FakeService::start(|line| match line.split(' ').nth(1)? {
        "/latest/api/token" => Some("session".to_owned()),
        "/latest/meta-data/iam/security-credentials/"
        | "/latest/meta-data/iam/security-credentials-extended/" => Some("role".to_owned()),
        path if path.ends_with("/role") => Some(keys("AKIDINSTANCE").to_string()),
        _ => None,
    });
    let home = home.with("AWS_EC2_METADATA_SERVICE_ENDPOINT", &service.url);
    let (ran, sent) = authorization(home, &server).await;
    assert_eq!(ran.code, Some(0), "{ran}");
    assert!(sent.contains("Credential=AKIDINSTANCE/"), "{sent}");
}

/// A role by web identity, from the token service.
#[tokio::test(flavor = "multi_thread")]
async fn bedrock_assumes_a_role_by_web_identity() {
    let (home, server) = bedrock().await;
    let service = FakeService::start(|line| {
        line.contains("Action=AssumeRoleWithWebIdentity").then(|| {
            "<AssumeRoleWithWebIdentityResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><AssumeRoleWithWebIdentityResult><Credentials>\
             <AccessKeyId>AKIDROLE</AccessKeyId><SecretAccessKey>secret</SecretAccessKey><SessionToken>token</SessionToken>\
             <Expiration>2099-01-01T00:00:00Z</Expiration></Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>"
                .to_owned()
        })
    });
    home.write("home/token", "a-token");
    let file = home.path("home/token").display().to_string();
    let home = home
        .with("AWS_WEB_IDENTITY_TOKEN_FILE", &file)
        .with("AWS_ROLE_ARN", "arn:aws:iam::123456789012:role/agents")
        .with("AWS_ENDPOINT_URL_STS", &service.url);
    let (ran, sent) = authorization(home, &server).await;
    assert_eq!(ran.code, Some(0), "{ran}");
    assert!(sent.contains("Credential=AKIDROLE/"), "{sent}");
}

/// A login by single sign-on, with its token in the cache.
#[tokio::test(flavor = "multi_thread")]
async fn bedrock_takes_keys_of_single_sign_on() {
    let (home, server) = bedrock().await;
    let service = FakeService::start(|line| {
        let keys = json!({ "roleCredentials": { "accessKeyId": "AKIDSSO", "secretAccessKey": "secret", "sessionToken": "token", "expiration": 4_070_908_800_000_u64 } });
        line.contains("/federation/credentials").then(|| keys.to_string())
    });
    home.write(
        "home/.aws/config",
        "[profile work]\nsso_session = corp\nsso_account_id = 123456789012\nsso_role_name = Dev\nregion = eu-west-1\n[sso-session corp]\nsso_region = eu-west-1\nsso_start_url = https://corp.example/start\n",
    );
    // The name is the SHA-1 of `corp`, as AWS's tools name it.
    let token = json!({ "accessToken": "t", "expiresAt": "2099-01-01T00:00:00Z", "startUrl": "https://corp.example/start", "region": "eu-west-1" });
    home.write("home/.aws/sso/cache/ee0bfd2552fbd840c02cc48b6e823320543c450f.json", &token.to_string());
    let home = home.with("AWS_PROFILE", "work").with("AWS_ENDPOINT_URL_SSO", &service.url);
    let (ran, sent) = authorization(home, &server).await;
    assert_eq!(ran.code, Some(0), "{ran}");
    assert!(sent.contains("Credential=AKIDSSO/"), "{sent}");
    assert!(service.received("role_name=Dev"));
}

/// Google's metadata service, and a project from the environment.
#[tokio::test(flavor = "multi_thread")]
async fn vertex_takes_a_token_of_the_metadata_service() {
    let server = Server::start(Script::queue([Turn::new().text("Hello.")]).unchecked()).await.unwrap();
    let service = FakeService::start(|line| {
        let token = json!({ "access_token": "ya29.metadata", "expires_in": 3600, "token_type": "Bearer" });
        line.contains("/service-accounts/default/token").then(|| token.to_string())
    });
    let home = Home::new()
        .with("LARIAT_MODEL", "google-vertex/gemini-3.8-flash")
        .with("GOOGLE_VERTEX_BASE_URL", &server.base_url(Wire::Vertex))
        .with("GOOGLE_CLOUD_PROJECT", "p1")
        .with("GOOGLE_CLOUD_LOCATION", "europe-west4")
        .with("GCE_METADATA_HOST", service.url.trim_start_matches("http://"));
    let (ran, sent) = authorization(home, &server).await;
    assert_eq!(ran.code, Some(0), "{ran}");
    assert_eq!(sent, "Bearer ya29.metadata");
}

/// Without credentials, the error names the cause.
#[tokio::test(flavor = "multi_thread")]
async fn missing_aws_credentials_are_an_error_with_a_cause() {
    let (home, server) = bedrock().await;
    let home = home.with("AWS_EC2_METADATA_DISABLED", "true");
    let (ran, sent) = authorization(home, &server).await;
    assert_ne!(ran.code, Some(0), "{ran}");
    assert!(ran.err.contains("no AWS credentials"), "{ran}");
    assert_eq!(sent, "");
}

/// A gateway instead of Anthropic, from the variables that Claude Code reads.
#[tokio::test(flavor = "multi_thread")]
async fn gateway_of_the_usual_variables_gets_the_token_as_bearer() {
    let server = Server::start(Script::queue([Turn::new().text("Hello.")]).unchecked()).await.unwrap();
    let base = server.base_url(Wire::AnthropicMessages);
    let home = Home::new()
        .with("LARIAT_MODEL", "anthropic/claude-sonnet-5-5")
        .with("ANTHROPIC_BASE_URL", base.trim_end_matches("/v1"))
        .with("ANTHROPIC_AUTH_TOKEN", "gateway-token-1234");
    let (ran, sent) = authorization(home, &server).await;
    assert_eq!(ran.code, Some(0), "{ran}");
    assert_eq!(sent, "Bearer gateway-token-1234");
}

/// The user's corrections to the catalogue must take effect.
#[test]
fn reads_catalogue_corrections() {
    let home = Home::offline();
    home.write(
        "home/.config/lariat/models.json",
        r#"{"anthropic":{"models":{"claude-sonnet-5-5":{"limit":{"context":12345}},"claude-mine":{"name":"Mine","tool_call":true,"limit":{"context":777}}}}}"#,
    );
    let shown = home.run(&["models", "show", "anthropic/claude-sonnet-5-5"]);
    assert!(shown.out.contains("12345 tokens"), "{shown}");
    let own = home.run(&["models", "show", "anthropic/claude-mine"]);
    assert!(own.out.contains("777 tokens"), "{own}");
    home.write("home/.config/lariat/models.json", "{");
    let broken = home.run(&["models", "show", "anthropic/claude-mine"]);
    assert!(broken.code != Some(0) && broken.err.contains("models.json"), "{broken}");
}

/// The collector in the usual variables receives traces.
#[tokio::test(flavor = "multi_thread")]
async fn collector_of_the_usual_variables_gets_traces() {
    let server = Server::start(Script::queue([Turn::new().text("Hello.")]).unchecked()).await.unwrap();
    let collector = FakeService::start(|_| Some("{}".to_owned()));
    let home = Home::new()
        .with("LARIAT_MODEL", "anthropic/claude-sonnet-5-5")
        .with("ANTHROPIC_BASE_URL", &server.base_url(Wire::AnthropicMessages))
        .with("ANTHROPIC_API_KEY", "sk-ant-0123456789")
        .with("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url);
    let (ran, _) = authorization(home, &server).await;
    assert_eq!(ran.code, Some(0), "{ran}");
    assert!(collector.received("POST /v1/traces"));
}

/// All connections use the proxy: to the model and to the collector.
#[tokio::test(flavor = "multi_thread")]
async fn proxy_carries_every_request_that_leaves() {
    let proxy = FakeService::start(|_| None);
    let home = Home::new()
        .with("LARIAT_MODEL", "mine/m")
        .with("LARIAT_RETRY__ATTEMPTS", "0")
        .with("MINE_KEY", "k-0123456789")
        .with("http_proxy", &proxy.url)
        .with("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector.example:4318");
    home.write(
        CONFIG,
        "[providers.mine]\napi = \"openai-chat\"\nbase_url = \"http://models.example/v1\"\nkey_env = \"MINE_KEY\"\n",
    );
    let ran = tokio::task::spawn_blocking(move || home.run(&["run", "--no-sandbox", "hello"])).await.unwrap();
    assert_ne!(ran.code, Some(0), "the proxy responds with 404: {ran}");
    assert!(proxy.received("POST http://models.example/v1/chat/completions"));
    assert!(proxy.received("POST http://collector.example:4318/v1/"));
}

/// Accepts TLS connections, and forwards what they carry to a server. Returns its port.
async fn tls_in_front_of(server: SocketAddr) -> u16 {
    let builder = ServerConfig::builder_with_provider(Arc::new(default_provider()));
    let builder = builder.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
    let certificate = CertificateDer::from_pem_slice(CERTIFICATE).unwrap();
    let key = PrivateKeyDer::from_pem_slice(KEY).unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(builder.with_single_cert(vec![certificate], key).unwrap()));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let Ok(mut client) = acceptor.accept(client).await else { return };
                let Ok(mut server) = tokio::net::TcpStream::connect(server).await else { return };
                let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
            });
        }
    });
    port
}

/// A private authority is trusted only if the setting or the variable of Node names it.
#[tokio::test(flavor = "multi_thread")]
async fn setting_or_variable_adds_a_certificate_authority() {
    let script = Script::answer(|_| Turn::new().text("Hello.").into()).unchecked();
    let server = Server::start(script).await.unwrap();
    let port = tls_in_front_of(server.address()).await;
    let plain = format!("http://{}", server.address());
    let base = server.base_url(Wire::AnthropicMessages).replace(&plain, &format!("https://127.0.0.1:{port}"));
    let setting = format!("[network]\ncertificates = [\"{AUTHORITY}\"]\n");
    for (variable, setting, is_trusted) in
        [("", "", false), (AUTHORITY, "", true), ("", setting.as_str(), true)]
    {
        let home = Home::new()
            .with("LARIAT_MODEL", "mine/m")
            .with("LARIAT_RETRY__ATTEMPTS", "0")
            .with("MINE_KEY", "k-0123456789");
        let home = if variable.is_empty() { home } else { home.with("NODE_EXTRA_CA_CERTS", variable) };
        home.write(
            CONFIG,
            &format!("{setting}[providers.mine]\napi = \"anthropic-messages\"\nbase_url = \"{base}\"\nkey_env = \"MINE_KEY\"\n"),
        );
        let before = server.requests().len();
        let ran =
            tokio::task::spawn_blocking(move || home.run(&["run", "--no-sandbox", "hello"])).await.unwrap();
        let sent = server.requests().len() - before;
        assert_eq!(ran.code == Some(0) && ran.out.contains("Hello."), is_trusted, "{ran}");
        assert_eq!(sent > 0, is_trusted, "{ran}");
    }
}
