//! Verifies AWS signatures, version 4, like Bedrock.
//!
//! Checks the shape of the header for every key, and everything for the one key pair that the server knows.
//! The path is encoded twice, as for all services except S3: clients often get this wrong for a model id with
//! a colon.
//! Invariant: with the known key a request passes only if method, path, query, signed headers and body are as
//! signed.

use http::HeaderMap;

use super::WRONG_KEY;
use super::sha256::{hex, hmac, sha256};
use crate::server::Wire;
use crate::server::render::ApiError;

/// The access key whose secret the server knows. Other keys are accepted if their signature has the right
/// shape.
pub const ACCESS_KEY: &str = "AKIDSCRIPTED00000001";

/// The secret of [`ACCESS_KEY`], valid only for the scripted server.
pub const SECRET_KEY: &str = "scripted/secret+key/of/the/test/server";

pub(super) fn check(
    authorization: &str,
    method: &str,
    path: &str,
    headers: &HeaderMap,
    body: Option<&[u8]>,
) -> Result<(), ApiError> {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let incomplete = |what: &str| {
        let message = format!("Authorization header requires {what}. Authorization=(hidden)");
        ApiError::new(Wire::BedrockConverse, 403, &message)
            .header("x-amzn-errortype", "IncompleteSignatureException")
    };
    let Some(fields) = authorization.strip_prefix("AWS4-HMAC-SHA256 ") else {
        return Err(incomplete("the algorithm 'AWS4-HMAC-SHA256' or a bearer token"));
    };
    let field =
        |name: &str| fields.split(',').find_map(|field| field.trim().strip_prefix(name)?.strip_prefix('='));
    let credential = field("Credential").ok_or_else(|| incomplete("'Credential' parameter"))?;
    let signed = field("SignedHeaders").ok_or_else(|| incomplete("'SignedHeaders' parameter"))?;
    let signature = field("Signature").ok_or_else(|| incomplete("'Signature' parameter"))?;
    let date = header("x-amz-date")
        .ok_or_else(|| incomplete("existence of either a 'X-Amz-Date' or a 'Date' header"))?;
    let scope: Vec<&str> = credential.split('/').collect();
    let [key, day, region, "bedrock", "aws4_request"] = *scope.as_slice() else {
        return Err(mismatch("Credential should be scoped to correct service: 'bedrock'."));
    };
    if !date.starts_with(day) || date.len() != "20150830T123600Z".len() {
        return Err(mismatch(
            "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date",
        ));
    }
    if !signed.split(';').any(|name| name == "host") {
        return Err(mismatch("'Host' or ':authority' must be a 'SignedHeader' in the AWS Authorization."));
    }
    if signature.len() != 64 || !signature.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(mismatch("The signature is not 64 hexadecimal digits."));
    }
    if key == WRONG_KEY {
        let message = "The security token included in the request is invalid.";
        return Err(ApiError::new(Wire::BedrockConverse, 403, message)
            .header("x-amzn-errortype", "UnrecognizedClientException"));
    }
    let Some(body) = body else { return Ok(()) };
    if key != ACCESS_KEY {
        return Ok(());
    }
    let canonical = canonical_request(method, path, headers, signed, body);
    let scope = format!("{day}/{region}/bedrock/aws4_request");
    let to_sign = format!("AWS4-HMAC-SHA256\n{date}\n{scope}\n{}", hex(&sha256(canonical.as_bytes())));
    let secret = format!("AWS4{SECRET_KEY}");
    let derived = [day, region, "bedrock", "aws4_request"]
        .iter()
        .fold(secret.into_bytes(), |key, part| hmac(&key, part.as_bytes()).to_vec());
    if hex(&hmac(&derived, to_sign.as_bytes())) == signature {
        return Ok(());
    }
    Err(mismatch(&format!(
        "The request signature we calculated does not match the signature you provided. Check your AWS Secret Access \
         Key and signing method. The Canonical String for this request should have been '{canonical}'"
    )))
}

fn mismatch(message: &str) -> ApiError {
    ApiError::new(Wire::BedrockConverse, 403, message).header("x-amzn-errortype", "InvalidSignatureException")
}

fn canonical_request(method: &str, path: &str, headers: &HeaderMap, signed: &str, body: &[u8]) -> String {
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let mut pairs: Vec<String> = query
        .split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| if pair.contains('=') { pair.to_owned() } else { format!("{pair}=") })
        .collect();
    pairs.sort();
    let mut lines = String::new();
    for name in signed.split(';') {
        let values: Vec<String> = headers
            .get_all(name)
            .iter()
            .filter_map(|value| value.to_str().ok())
            .map(|value| value.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect();
        lines.push_str(&format!("{name}:{}\n", values.join(",")));
    }
    let digest = hex(&sha256(body));
    format!("{method}\n{}\n{}\n{lines}\n{signed}\n{digest}", encoded(path), pairs.join("&"))
}

/// The path, encoded once more: everything except unreserved characters and slashes.
fn encoded(path: &str) -> String {
    let mut text = String::with_capacity(path.len());
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'-' | b'.' | b'_' | b'~') {
            text.push(char::from(byte));
        } else {
            text.push_str(&format!("%{byte:02X}"));
        }
    }
    text
}
