//! Credentials: where they are sent, and where they are not shown.

use lariat_connect::openapi::{OpenApiAdapter, OpenApiAuth, OpenApiConfig, OpenApiError, OperationFilter};
use lariat_core::tool::{AgentTool as _, ToolError};
use serde_json::{Value, json};

use crate::support::{Server, call, response, tools};

const SECRET: &str = "s3cret/token";

fn document() -> Value {
    json!({ "openapi": "3.0.3", "paths": { "/me": { "get": { "operationId": "me", "parameters": [
        { "name": "key", "in": "query", "required": true }, { "name": "X-Key", "in": "header", "required": true },
    ] } } } })
}

fn all() -> [(OpenApiAuth, &'static str); 5] {
    let value = || SECRET.to_owned();
    [
        (OpenApiAuth::Bearer(value()), "authorization: Bearer s3cret/token\r\n"),
        (
            OpenApiAuth::Basic { user: "me".into(), password: value() },
            "authorization: Basic bWU6czNjcmV0L3Rva2Vu\r\n",
        ),
        (OpenApiAuth::ApiKey { header: "X-Key".into(), value: value() }, "x-key: s3cret/token\r\n"),
        (OpenApiAuth::QueryKey { parameter: "key".into(), value: value() }, "key=s3cret%2Ftoken"),
        (OpenApiAuth::CookieKey { cookie: "sid".into(), value: value() }, "cookie: sid=s3cret/token\r\n"),
    ]
}

#[tokio::test]
async fn each_kind_is_sent_and_shown_nowhere() {
    for (auth, expected) in all() {
        let echo = Server::json(&format!(r#"{{"you":"{SECRET}"}}"#)).await;
        let config = OpenApiConfig::default().with_auth(auth.clone());
        assert!(!format!("{config:?}{auth:?}").contains("s3cret"), "{config:?}");
        assert!(format!("{auth:?}").contains("****"), "{auth:?}");
        let tools = tools(&document(), &echo, config);
        assert!(!format!("{tools:?}").contains("s3cret"), "{tools:?}");
        let schema = tools[0].parameters_schema();
        let hidden = match &auth {
            OpenApiAuth::ApiKey { header, .. } => Some(header),
            OpenApiAuth::QueryKey { parameter, .. } => Some(parameter),
            _ => None,
        };
        assert!(hidden.is_none_or(|name| schema["properties"].get(name).is_none()), "{schema}");
        let mut arguments = json!({ "key": "k", "X-Key": "x" });
        // An argument that the configuration sets is not the model's.
        arguments.as_object_mut().unwrap().retain(|name, _| schema["properties"].get(name).is_some());
        let text = call(&tools[0], arguments).await.unwrap();
        assert!(!text.contains("s3cret") && text.contains("****"), "{text}");
        let sent = echo.requests().pop().unwrap();
        assert!(sent.contains(expected), "{sent}");
        let preview = tools[0].preview(&json!({ "key": "k", "X-Key": "x" })).await;
        assert!(!format!("{preview:?}").contains("s3cret"), "{preview:?}");
    }
}

#[tokio::test]
async fn no_redirect_carries_a_credential_to_another_server() {
    for (auth, _) in all() {
        let other = Server::json("{}").await;
        for location in
            [other.url("/v1/me"), "http://169.254.169.254/latest".to_owned(), "//localhost/x".to_owned()]
        {
            let redirect = format!(
                "HTTP/1.1 302 Found\r\nLocation: {location}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
            );
            let server = Server::start(redirect).await;
            let tools = tools(&document(), &server, OpenApiConfig::default().with_auth(auth.clone()));
            let schema = tools[0].parameters_schema();
            let mut arguments = json!({ "key": "k", "X-Key": "x" });
            arguments.as_object_mut().unwrap().retain(|name, _| schema["properties"].get(name).is_some());
            let error = call(&tools[0], arguments).await.unwrap_err();
            let ToolError::Failed(text) = error else { panic!("{error:?}") };
            assert!(text.contains("which was not followed") && !text.contains("s3cret"), "{text}");
            assert_eq!(server.requests().len(), 1);
        }
        assert_eq!(other.requests(), Vec::<String>::new());
    }
}

#[tokio::test]
async fn a_redirect_on_the_same_server_is_followed_by_methods_that_read() {
    let body = "HTTP/1.1 307 Moved\r\nLocation: /v1/other\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    let server = Server::start(body).await;
    let document = json!({ "openapi": "3.0.3", "paths": { "/me": { "get": {}, "post": {} } } });
    let tools = tools(&document, &server, OpenApiConfig::default());
    let error = call(&tools[0], json!({})).await.unwrap_err();
    assert!(error.to_string().contains("More than 5 redirects"), "{error}");
    assert_eq!(server.requests().len(), 6);
    let error = call(&tools[1], json!({})).await.unwrap_err();
    assert!(error.to_string().contains("was not followed"), "{error}");
    assert_eq!(server.requests().len(), 7);
}

#[tokio::test]
async fn the_document_never_chooses_the_host() {
    let text = |server: &str| {
        json!({ "openapi": "3.0.3", "servers": [{ "url": server, "variables": { "host": { "default": "evil.example" } } }],
            "paths": { "/me": { "get": {} } } })
        .to_string()
    };
    let filter = OperationFilter::All;
    let bearer = OpenApiConfig::default().with_auth(OpenApiAuth::Bearer(SECRET.to_owned()));
    // A text with a credential needs a base address.
    let error = OpenApiAdapter::from_str(&text("https://api.example"), &bearer, &filter).unwrap_err();
    assert!(matches!(error, OpenApiError::OtherServer(_)), "{error}");
    // A fetched document may only name its own host.
    for server in ["https://evil.example/v1", "https://{host}/v1", "//evil.example", "http://[::1]/"] {
        let source = Server::start(response("200 OK", "application/json", &text(server))).await;
        let error =
            OpenApiAdapter::from_url(&source.url("/openapi.json"), &bearer, &filter).await.unwrap_err();
        assert!(matches!(error, OpenApiError::OtherServer(_)), "{server}: {error}");
    }
    let source = Server::start(response("200 OK", "application/json", &text("/v2"))).await;
    let tools = OpenApiAdapter::from_url(&source.url("/openapi.json"), &bearer, &filter).await.unwrap();
    let _ = call(&tools[0], json!({})).await;
    let sent = source.requests();
    assert!(sent[0].starts_with("GET /openapi.json ") && !sent[0].contains(SECRET), "{}", sent[0]);
    assert!(sent[1].starts_with("GET /v2/me ") && sent[1].contains(SECRET), "{}", sent[1]);
    // A named base address wins over the document.
    let server = Server::json("{}").await;
    let config = bearer.with_base_url(server.url("/v1"));
    let tools = OpenApiAdapter::from_str(&text("https://evil.example"), &config, &filter).unwrap();
    call(&tools[0], json!({})).await.unwrap();
    assert!(server.requests()[0].starts_with("GET /v1/me "));
}
