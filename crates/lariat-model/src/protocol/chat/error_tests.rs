use super::*;

fn classified(status: u16, body: &str) -> ProviderError {
    let headers = HeaderMap::new();
    classify(&Failure { status, headers: &headers, body: body.as_bytes(), now: Timestamp::default() })
}

/// The name of the error's kind.
fn kind(error: &ProviderError) -> &'static str {
    match error {
        ProviderError::RateLimited(_) => "limited",
        ProviderError::Network(_) => "network",
        ProviderError::Auth(_) => "key",
        ProviderError::Api(_) => "rejected",
        ProviderError::ContextOverflow(_) => "overflow",
        ProviderError::InvalidReply(_) => "invalid",
        _ => "other",
    }
}

#[test]
fn classifies_errors_of_every_provider() {
    for (status, body, expected) in [
        (
            401,
            r#"{"error":{"message":"Incorrect API key provided","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}"#,
            "key",
        ),
        (
            400,
            r#"{"error":{"message":"This model's maximum context length is 128000 tokens.","type":"invalid_request_error","code":"context_length_exceeded"}}"#,
            "overflow",
        ),
        (
            400,
            r#"{"error":{"message":"Unsupported parameter: 'max_tokens'","type":"invalid_request_error","code":"unsupported_parameter"}}"#,
            "rejected",
        ),
        (
            404,
            r#"{"error":{"message":"The model `x` does not exist","type":"invalid_request_error","code":"model_not_found"}}"#,
            "rejected",
        ),
        (
            429,
            r#"{"error":{"message":"Rate limit reached","type":"requests","code":"rate_limit_exceeded"}}"#,
            "limited",
        ),
        (
            429,
            r#"{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}"#,
            "rejected",
        ),
        (
            429,
            r#"{"error":{"message":"Request too large for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, Requested 40000.","type":"tokens","code":"rate_limit_exceeded"}}"#,
            "overflow",
        ),
        (
            413,
            r#"{"error":{"message":"Request too large for model `llama` on tokens per minute (TPM): Limit 6000, Requested 8000","type":"tokens","code":"rate_limit_exceeded"}}"#,
            "overflow",
        ),
        (
            500,
            r#"{"error":{"message":"The server had an error","type":"server_error","code":null}}"#,
            "network",
        ),
        (503, r#"{"error":{"message":"Slow down","type":"server_error","code":"slow_down"}}"#, "limited"),
        (503, "<html><head><title>503 Service Unavailable</title></head></html>", "network"),
        (502, "", "network"),
        (
            402,
            r#"{"error":{"message":"Insufficient Balance","type":"unknown_error","code":"invalid_request_error"}}"#,
            "rejected",
        ),
        (
            403,
            r#"{"error":{"code":403,"message":"flagged","metadata":{"reasons":["violence"],"flagged_input":"…"}}}"#,
            "rejected",
        ),
        (403, r#"{"error":{"code":403,"message":"not allowed"}}"#, "key"),
        (498, r#"{"error":{"message":"flex tier capacity exceeded"}}"#, "limited"),
        (
            400,
            r#"{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error","n_prompt_tokens":9,"n_ctx":8}}"#,
            "overflow",
        ),
        (
            400,
            r#"{"object":"error","message":"This model's maximum context length is 8 tokens","type":"BadRequestError","code":400}"#,
            "overflow",
        ),
        (
            422,
            r#"{"object":"error","message":{"detail":[{"msg":"bad"}]},"type":"invalid_request_error"}"#,
            "rejected",
        ),
        (200, r#"{"base_resp":{"status_code":1004,"status_msg":"login fail"}}"#, "key"),
        (200, r#"{"error":{"message":"overloaded","type":"overloaded_error"}}"#, "limited"),
        (200, "<html>", "invalid"),
        (
            429,
            r#"{"error":{"code":"1113","message":"Insufficient balance or no resource package"}}"#,
            "rejected",
        ),
        (429, r#"{"error":{"code":"1302","message":"High concurrency"}}"#, "limited"),
        (
            404,
            r#"{"error":{"code":"DeploymentNotFound","message":"The API deployment does not exist"}}"#,
            "rejected",
        ),
        (
            429,
            r#"{"error":{"message":"Tokens per minute would exceed the share of the context window","code":"rate_limit_exceeded"}}"#,
            "limited",
        ),
        (529, "", "limited"),
    ] {
        let error = classified(status, body);
        assert_eq!(kind(&error), expected, "{status} {body}: {error}");
        assert_eq!(error.status(), Some(status));
    }
}

#[test]
fn account_without_credit_is_not_retried() {
    let body = r#"{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}"#;
    assert!(!classified(429, body).is_retryable());
}
