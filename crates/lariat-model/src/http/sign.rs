//! Signs requests with AWS signature version 4, using AWS's own crate.

use std::time::{Duration, SystemTime};

use aws_credential_types::Credentials;
use aws_sigv4::http_request::{SignableBody, SignableRequest, SigningSettings, sign as sigv4};
use aws_sigv4::sign::v4;
use bytes::Bytes;
use http::Request;
use lariat_core::model::ProviderError;
use lariat_core::time::Timestamp;

use super::credentials::AwsKeys;

/// Adds the signature to the request's headers.
pub(crate) fn sign(
    request: &mut Request<Bytes>,
    keys: &AwsKeys,
    region: &str,
    service: &str,
    now: Timestamp,
) -> Result<(), ProviderError> {
    let failed = |what: String| ProviderError::Auth(format!("cannot sign the request: {what}").into());
    let identity = Credentials::new(
        keys.access_key_id.as_str(),
        keys.secret_access_key.as_str(),
        keys.session_token.clone(),
        None,
        "lariat",
    )
    .into();
    let parameters = v4::SigningParams::builder()
        .identity(&identity)
        .region(region)
        .name(service)
        .time(SystemTime::UNIX_EPOCH + Duration::from_millis(now.as_millis()))
        .settings(SigningSettings::default())
        .build()
        .map_err(|error| failed(error.to_string()))?
        .into();
    let uri = request.uri().to_string();
    let method = request.method().to_string();
    let headers =
        request.headers().iter().filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)));
    let signable = SignableRequest::new(&method, uri, headers, SignableBody::Bytes(request.body()))
        .map_err(|error| failed(error.to_string()))?;
    let (instructions, _) =
        sigv4(signable, &parameters).map_err(|error| failed(error.to_string()))?.into_parts();
    instructions.apply_to_request_http1x(request);
    Ok(())
}
