//! Tests how secrets are attached to requests.

use lariat_core::model::ModelConfig;

use super::*;

const KEY: &str = "sk-secret-123";

fn attach_to_get(auth: Auth, secret: &Secret, model: &ModelConfig) -> Result<Request<Bytes>, ProviderError> {
    let outgoing = OutgoingRequest::get("https://host/v1?a=b".into(), auth).with_headers_of(model)?;
    attach(outgoing, secret, model, Timestamp::default(), &mut Redactor::default())
}

fn header<'a>(request: &'a Request<Bytes>, name: &str) -> &'a str {
    request.headers()[name].to_str().unwrap()
}

#[test]
fn sends_key_only_in_the_header_that_the_provider_reads() {
    let key = Secret::Key(ApiKey::new(KEY));
    let model = ModelConfig::default();
    let bearer = attach_to_get(Auth::Bearer, &key, &model).unwrap();
    assert_eq!(header(&bearer, "authorization"), format!("Bearer {KEY}"));
    let named = attach_to_get(Auth::Header("x-api-key"), &key, &model).unwrap();
    assert_eq!(header(&named, "x-api-key"), KEY);
    let aws = Auth::Aws { region: "us-east-1".into(), service: "bedrock" };
    assert_eq!(header(&attach_to_get(aws, &key, &model).unwrap(), "authorization"), format!("Bearer {KEY}"));
    for request in [bearer, named] {
        assert!(!request.uri().to_string().contains(KEY));
        assert!(!format!("{request:?}").contains(KEY), "{request:?}");
    }
}

#[test]
fn missing_key_error_names_the_provider() {
    let mut model = ModelConfig::new("openai-chat", "m");
    model.provider = "groq".into();
    let error = attach_to_get(Auth::Bearer, &Secret::None, &model).unwrap_err();
    assert_eq!(error.to_string(), "authentication: no API key is configured for `groq`");
    assert!(attach_to_get(Auth::None, &Secret::None, &model).is_ok(), "local servers need no key");
    model.headers.insert("authorization".into(), "Bearer other".into());
    let request = attach_to_get(Auth::Bearer, &Secret::None, &model).unwrap();
    assert_eq!(header(&request, "authorization"), "Bearer other");
    assert!(!format!("{request:?}").contains("other"));
}

#[test]
fn rejects_key_with_line_break_without_showing_it() {
    let key = Secret::Key(ApiKey::new("sk-secret\n"));
    let error = attach_to_get(Auth::Bearer, &key, &ModelConfig::default()).unwrap_err();
    assert!(matches!(&error, ProviderError::Auth(_)) && !error.to_string().contains("sk-secret"));
}

/// The test vector `get-vanilla` that AWS publishes for signature version 4.
#[test]
fn signature_matches_the_published_aws_test_vector() {
    let keys = AwsKeys {
        access_key_id: "AKIDEXAMPLE".into(),
        secret_access_key: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY".into(),
        session_token: None,
    };
    let mut request = Request::get("https://example.amazonaws.com/").body(Bytes::new()).unwrap();
    let at: jiff::Timestamp = "2015-08-30T12:36:00Z".parse().unwrap();
    let at = Timestamp::from_millis(at.as_millisecond() as u64);
    sign::sign(&mut request, &keys, "us-east-1", "service", at).unwrap();
    let signature = "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31";
    assert!(
        header(&request, "authorization").ends_with(signature),
        "{:?}",
        header(&request, "authorization")
    );
    assert!(!format!("{keys:?}").contains("wJalr"));
}

#[test]
fn temporary_keys_send_their_session_token() {
    let keys = AwsKeys {
        access_key_id: "A".into(),
        secret_access_key: "secret-secret".into(),
        session_token: Some("token-token".into()),
    };
    let auth = Auth::Aws { region: "eu-west-1".into(), service: "bedrock" };
    let request = attach_to_get(auth, &Secret::Aws(keys), &ModelConfig::default()).unwrap();
    assert_eq!(header(&request, "x-amz-security-token"), "token-token");
    assert!(header(&request, "authorization").contains("/eu-west-1/bedrock/aws4_request"));
}

#[test]
fn removes_user_and_password_from_addresses() {
    for (address, left) in [
        ("https://me:word@host/v1?x=a@b", "https://host/v1?x=a@b"),
        ("https://a@b@host", "https://host/"),
        ("https://host/a@b", "https://host/a@b"),
        ("https://host?a@b", "https://host/?a@b"),
        ("http://127.0.0.1:8/model/a%3Ab%2Fc", "http://127.0.0.1:8/model/a%3Ab%2Fc"),
        ("https://host/my deployment/ü?q={1}#part", "https://host/my%20deployment/%C3%BC?q=%7B1%7D"),
        ("https://me:word@[::1]:8/v1", "https://[::1]:8/v1"),
    ] {
        assert_eq!(without_user(address).unwrap(), left);
    }
    for invalid in
        ["host", "data:,x", "https://", "https:///v1", "host:80/v1", "https://no host/", "https://a\\@b/"]
    {
        assert_eq!(without_user(invalid), None, "{invalid}");
    }
}
