//! Documents and arguments that try to break out.

use lariat_connect::openapi::{
    InternalAddresses, MAX_DOCUMENT, OpenApiAdapter, OpenApiConfig, OpenApiDocument, OpenApiError,
    OperationFilter,
};
use lariat_core::tool::{AgentTool as _, ToolError};
use serde_json::{Value, json};

use crate::support::{Server, call, response, tools};

fn list(document: &Value) -> lariat_connect::openapi::OperationList {
    OpenApiDocument::parse(&document.to_string()).unwrap().operations(Some("p"), &OperationFilter::All)
}

#[test]
fn schemas_that_contain_themselves_end() {
    let body = |reference: &str| json!({ "post": { "requestBody": { "content": { "application/json": { "schema": { "$ref": reference } } } } } });
    let document = json!({ "openapi": "3.1.0",
        "paths": { "/a": body("#/components/schemas/Node"), "/b": body("#/components/schemas/Wide"),
            "/c": body("#/components/schemas/Loop"), "/d": body("other.yaml#/X") },
        "components": { "schemas": {
            "Node": { "type": "object", "properties": { "next": { "$ref": "#/components/schemas/Node" } } },
            // Each level has ten times the values of the next.
            "Wide": { "type": "object", "properties": (0..10).map(|i| (format!("p{i}"), json!({ "$ref": "#/components/schemas/Wide2" }))).collect::<serde_json::Map<_, _>>() },
            "Wide2": { "anyOf": vec![json!({ "$ref": "#/components/schemas/Wide3" }); 100] },
            "Wide3": { "allOf": vec![json!({ "$ref": "#/components/schemas/Node" }); 100] },
            "Loop": { "$ref": "#/components/schemas/Loop" },
        } } });
    let found = list(&document);
    assert_eq!((found.operations.len(), found.left_out.len()), (4, 0), "{:?}", found.left_out);
    for operation in &found.operations {
        assert!(operation.schema.to_string().len() <= 16 * 1024);
        jsonschema::validator_for(&operation.schema).unwrap();
    }
    assert_eq!(found.operations[0].schema["properties"]["body"]["properties"]["next"], json!({}));
    let circle = json!({ "openapi": "3.1.0",
        "paths": { "/a": { "get": { "parameters": [{ "$ref": "#/components/parameters/A" }] } } },
        "components": { "parameters": { "A": { "$ref": "#/components/parameters/A" } } } });
    assert!(list(&circle).left_out[0].contains("lead to each other"), "{:?}", list(&circle));
}

#[tokio::test]
async fn documents_that_are_too_large_or_invalid_are_refused() {
    let large = format!("{{\"openapi\":\"3.0.0\",\"x\":\"{}\"}}", "x".repeat(100 << 20));
    assert!(matches!(OpenApiDocument::parse(&large), Err(OpenApiError::TooLarge(MAX_DOCUMENT))));
    let file = std::env::temp_dir().join(format!("lariat-openapi-{}", std::process::id()));
    std::fs::write(&file, &large).unwrap();
    let read = OpenApiDocument::read(&file).await;
    std::fs::remove_file(&file).unwrap();
    assert!(matches!(read, Err(OpenApiError::TooLarge(_))), "{read:?}");
    let server = Server::start(response("200 OK", "application/json", &large)).await;
    let fetched = OpenApiDocument::fetch(
        &server.url("/"),
        &OpenApiConfig::default().client,
        InternalAddresses::Written,
    )
    .await;
    assert!(matches!(fetched, Err(OpenApiError::TooLarge(_))), "{fetched:?}");
    let deep = format!("{{\"openapi\":\"3.0.0\",\"x\":{}1{}}}", "[".repeat(5000), "]".repeat(5000));
    let aliases = "openapi: 3.0.0\na: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e,*e]\ng: [*f,*f,*f,*f,*f,*f,*f,*f,*f,*f]\n";
    for text in
        ["", "{", "[]", "{}", "swagger: '2.0'", "openapi: 4.0.0", "openapi: [", deep.as_str(), aliases]
    {
        assert!(OpenApiDocument::parse(text).is_err(), "{}", &text[..text.len().min(60)]);
    }
}

#[tokio::test]
async fn path_values_cannot_leave_their_segment() {
    let server = Server::json("{}").await;
    let document = json!({ "openapi": "3.0.3", "paths": { "/pets/{id}/toys": { "get": {} } } });
    let tools = tools(&document, &server, OpenApiConfig::default());
    for id in [
        json!(".."),
        json!("."),
        json!(""),
        json!("../../admin"),
        json!("a/../../b"),
        json!("..\\..\\b"),
        json!("%2e%2e"),
        json!("%2e%2e%2fadmin"),
        json!("%252e%252e%252fadmin"),
        json!("a\r\nb"),
        json!("%0d%0a"),
        json!([".."]),
        json!({ "a": ".." }),
        json!([]),
    ] {
        let error = call(&tools[0], json!({ "id": id })).await.unwrap_err();
        assert!(matches!(error, ToolError::InvalidArgs(_)), "{id}: {error:?}");
    }
    assert_eq!(server.requests(), Vec::<String>::new());
    for path in ["/a/../b", "//evil.example/x", "/a?b=c", "/a#b", "a", "/a\r\nb", "/..", "/%2e%2e/x"] {
        let found = list(&json!({ "openapi": "3.0.3", "paths": { path: { "get": {} } } }));
        assert_eq!((found.operations.len(), found.left_out.len()), (0, 1), "{path}");
    }
}

#[tokio::test]
async fn line_breaks_start_no_header() {
    let server = Server::json("{}").await;
    let parameters = json!([{ "name": "X-Note", "in": "header" }, { "name": "X\r\nEvil", "in": "header" },
        { "name": "Host", "in": "header" }, { "name": "q\r\nx", "in": "query" }]);
    let document = json!({ "openapi": "3.0.3", "paths": { "/a": { "get": { "parameters": parameters } } } });
    let tools = tools(&document, &server, OpenApiConfig::default());
    let schema = tools[0].parameters_schema();
    assert_eq!(schema["properties"].as_object().unwrap().len(), 2, "{schema}");
    let error = call(&tools[0], json!({ "X-Note": "a\r\nX-Evil: 1" })).await.unwrap_err();
    assert!(matches!(error, ToolError::InvalidArgs(_)), "{error:?}");
    assert_eq!(server.requests(), Vec::<String>::new());
    call(&tools[0], json!({ "q__x": "v\r\nX-Evil: 1" })).await.unwrap();
    let sent = server.requests().pop().unwrap();
    assert!(sent.starts_with("GET /v1/a?q%0D%0Ax=v%0D%0AX-Evil%3A%201 HTTP"), "{sent}");
    for value in ["a\r\nb", "a\nb"] {
        let config = OpenApiConfig::default().with_base_url("https://a.example").with_header("X-A", value);
        assert!(OpenApiAdapter::from_str(&document.to_string(), &config, &OperationFilter::All).is_err());
    }
}

#[tokio::test]
async fn texts_of_documents_and_responses_are_neutralised() {
    let evil = "a\u{1b}[31mred\u{202e}b";
    let document = json!({ "openapi": "3.0.3", "info": { "title": evil }, "paths": { "/a": { "get": {
        "operationId": evil, "summary": evil, "description": "x".repeat(100_000),
        "parameters": [{ "name": evil, "in": "query", "description": evil,
            "schema": { "enum": [evil], "default": evil, "title": evil, "properties": { evil: {} } } }],
    } } } });
    let server = Server::json(evil).await;
    let found = list(&document);
    let shown =
        serde_json::to_string(&(&found.operations[0].schema, &found.operations[0].description)).unwrap();
    assert!(found.operations[0].description.len() < 3000);
    let tools = tools(&document, &server, OpenApiConfig::default());
    let text = call(&tools[0], json!({})).await.unwrap();
    let title = OpenApiDocument::parse(&document.to_string()).unwrap().title();
    for text in [shown, text, title, tools[0].name().to_owned(), tools[0].label().to_owned()] {
        assert!(!text.contains(['\u{1b}', '\u{202e}']) && !text.contains("\\u001b"), "{text}");
    }
}

#[tokio::test]
async fn internal_addresses_are_reached_only_by_a_name_that_the_caller_wrote() {
    let document = json!({ "openapi": "3.0.3", "paths": { "/a": { "get": {} } } }).to_string();
    let server = Server::json("{}").await;
    let port = server.port;
    let reach = async |host: &str, internal| {
        let mut config = OpenApiConfig::default().with_base_url(format!("http://{host}:{port}"));
        config.internal = internal;
        config.timeout_secs = 2;
        let tools = OpenApiAdapter::from_str(&document, &config, &OperationFilter::All).unwrap();
        call(&tools[0], json!({})).await
    };
    assert!(reach("127.0.0.1", InternalAddresses::NamedLoopback).await.is_ok());
    // Another name of this machine.
    for host in ["127.0.0.2", "0.0.0.0", "[::ffff:127.0.0.1]"] {
        let error = reach(host, InternalAddresses::NamedLoopback).await.unwrap_err();
        assert!(error.to_string().contains("internal network"), "{host}: {error}");
    }
    // The server listens on one address only, so the connection to a written one fails.
    let tried = reach("127.0.0.2", InternalAddresses::Written).await.unwrap_err();
    assert!(!tried.to_string().contains("internal network"), "{tried}");
}

#[tokio::test]
async fn a_document_is_not_fetched_from_an_internal_address_by_redirect() {
    let inner = Server::json("{}").await;
    let location = format!("http://127.0.0.2:{}/secret", inner.port);
    let redirect = format!(
        "HTTP/1.1 302 Found\r\nLocation: {location}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    );
    let server = Server::start(redirect).await;
    let config = OpenApiConfig::default();
    let error = OpenApiDocument::fetch(&server.url("/"), &config.client, InternalAddresses::Written)
        .await
        .unwrap_err();
    assert!(error.to_string().contains("internal network"), "{error}");
    assert_eq!(inner.requests(), Vec::<String>::new());
}

#[test]
fn operations_with_servers_of_their_own_are_left_out() {
    let document = json!({ "openapi": "3.0.3", "servers": [{ "url": "https://api.example" }], "paths": {
        "/a": { "get": { "servers": [{ "url": "https://evil.example" }] } },
        "/b": { "get": {}, "servers": [{ "url": "https://evil.example" }] },
        "/c": { "get": { "servers": [{ "url": "https://api.example/" }] } } } });
    let found = list(&document);
    assert_eq!((found.operations.len(), found.left_out.len()), (1, 2), "{:?}", found.left_out);
}
