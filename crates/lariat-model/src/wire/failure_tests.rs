use super::*;

fn failure<'a>(status: u16, headers: &'a HeaderMap, body: &'a str) -> Failure<'a> {
    // 2015-10-21 07:28:00 UTC
    Failure { status, headers, body: body.as_bytes(), now: Timestamp::from_millis(1_445_412_480_000) }
}

fn header(name: &'static str, value: &'static str) -> HeaderMap {
    HeaderMap::from_iter([(http::HeaderName::from_static(name), http::HeaderValue::from_static(value))])
}

#[test]
fn status_alone_decides_the_error_kind() {
    let headers = HeaderMap::new();
    for (status, retryable) in [
        (400, false),
        (401, false),
        (403, false),
        (404, false),
        (408, true),
        (409, true),
        (413, false),
        (429, true),
        (500, true),
        (502, true),
        (503, true),
        (529, true),
    ] {
        let error = failure(status, &headers, "x").classify_by_status();
        assert_eq!(error.is_retryable(), retryable, "{status}");
        assert_eq!(error.status(), Some(status));
    }
    assert!(matches!(failure(413, &headers, "").classify_by_status(), ProviderError::ContextOverflow(_)));
    assert!(matches!(failure(200, &headers, "{}").classify_by_status(), ProviderError::InvalidReply(_)));
}

#[test]
fn parses_all_forms_of_retry_after_and_limits_the_wait() {
    for (name, value, expected) in [
        ("retry-after", "7", Some(Duration::from_secs(7))),
        ("retry-after", "0.5", Some(Duration::from_millis(500))),
        ("retry-after-ms", "250", Some(Duration::from_millis(250))),
        ("retry-after", "Wed, 21 Oct 2015 07:28:30 GMT", Some(Duration::from_secs(30))),
        ("retry-after", "Wed, 21 Oct 2015 07:27:00 GMT", Some(Duration::ZERO)),
        ("retry-after", "-3", Some(Duration::ZERO)),
        ("retry-after", "86400000", Some(LONGEST_WAIT)),
        ("retry-after", "1e300", None),
        ("retry-after", "soon", None),
        ("retry-after", "", None),
    ] {
        let headers = header(name, value);
        assert_eq!(failure(429, &headers, "").detail().retry_after, expected, "{name}: {value}");
    }
}

#[test]
fn retry_after_ms_takes_precedence() {
    let mut headers = header("retry-after", "7");
    headers.extend(header("retry-after-ms", "250"));
    assert_eq!(failure(429, &headers, "").detail().retry_after, Some(Duration::from_millis(250)));
}

#[test]
fn finds_request_id_in_every_known_header() {
    for name in REQUEST_ID_HEADERS {
        let headers = header(name, "req_1");
        assert_eq!(failure(500, &headers, "").detail().request_id.as_deref(), Some("req_1"), "{name}");
    }
}

#[test]
fn finds_error_message_in_any_body() {
    for (body, expected) in [
        (r#"{"error":{"message":"a"}}"#, "a"),
        (r#"{"message":"b"}"#, "b"),
        (r#"{"Message":"c"}"#, "c"),
        (r#"{"error":"d"}"#, "d"),
        (r#"{"detail":"e"}"#, "e"),
        (r#"[{"error":{"message":"f"}}]"#, "f"),
        ("plain", "plain"),
        ("  ", "the response has no error message"),
        (
            "<html><head><title> 502 Bad Gateway </title></head></html>",
            "the server returned a web page: 502 Bad Gateway",
        ),
        (r#"{"odd":1}"#, r#"{"odd":1}"#),
    ] {
        assert_eq!(error_message(body.as_bytes()), expected);
    }
    assert_eq!(error_message(b"\xff\xfe"), "\u{fffd}\u{fffd}");
    assert!(error_message("é".repeat(10_000).as_bytes()).chars().count() <= 500);
}
