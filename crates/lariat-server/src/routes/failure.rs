//! A [`Problem`] as a response: its JSON as `application/problem+json`, with the HTTP status that fits its code.

use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use lariat_api::{Problem, ProblemCode};

use crate::wire;

/// A request that failed.
#[derive(Debug)]
pub(super) struct RouteFailure {
    pub(super) status: StatusCode,
    pub(super) problem: Problem,
}

impl From<Problem> for RouteFailure {
    fn from(problem: Problem) -> Self {
        Self { status: status(&problem.code), problem }
    }
}

impl IntoResponse for RouteFailure {
    fn into_response(self) -> Response {
        let mut response = (self.status, axum::Json(self.problem)).into_response();
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(wire::PROBLEM));
        response
    }
}

fn status(code: &ProblemCode) -> StatusCode {
    match code {
        ProblemCode::NotFound => StatusCode::NOT_FOUND,
        ProblemCode::CommandConflict
        | ProblemCode::AlreadyAnswered
        | ProblemCode::DigestMismatch
        | ProblemCode::WrongStatus => StatusCode::CONFLICT,
        ProblemCode::Forbidden => StatusCode::FORBIDDEN,
        ProblemCode::Invalid => StatusCode::BAD_REQUEST,
        ProblemCode::Unsupported => StatusCode::NOT_IMPLEMENTED,
        ProblemCode::OwnedElsewhere => StatusCode::LOCKED,
        ProblemCode::CursorGone => StatusCode::GONE,
        ProblemCode::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        // Damaged data, a defect of the host, and codes of newer versions.
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}
