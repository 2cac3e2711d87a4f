//! Reads who calls and what a request says. What cannot be read is a [`Problem`] of the code `invalid`.

use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::JsonRejection;
use axum::extract::{FromRequest, FromRequestParts, Path, Request};
use http::StatusCode;
use http::request::Parts;
use hyper::body::Body as _;
use lariat_api::{Principal, Problem, ProblemCode, Sessions};
use serde::de::DeserializeOwned;

use super::Server;
use super::failure::RouteFailure;
use crate::wire;

/// The sessions that the caller may use.
pub(super) struct Caller(pub(super) Arc<dyn Sessions>);

impl FromRequestParts<Server> for Caller {
    type Rejection = RouteFailure;

    async fn from_request_parts(parts: &mut Parts, server: &Server) -> Result<Self, RouteFailure> {
        let unknown = || Problem::new(ProblemCode::Forbidden, "the connection has no known user");
        let principal = parts.extensions.get::<Principal>().ok_or_else(unknown)?;
        Ok(Self(server.host.sessions_for(principal)))
    }
}

/// The ids in the path.
pub(super) struct Params<T>(pub(super) T);

impl<T: DeserializeOwned + Send> FromRequestParts<Server> for Params<T> {
    type Rejection = RouteFailure;

    async fn from_request_parts(parts: &mut Parts, server: &Server) -> Result<Self, RouteFailure> {
        let Path(value) = Path::from_request_parts(parts, server).await.map_err(|error| {
            invalid(StatusCode::BAD_REQUEST, format!("the path is not valid: {}", error.body_text()))
        })?;
        Ok(Self(value))
    }
}

/// The query.
pub(super) struct Query<T>(pub(super) T);

impl<T: DeserializeOwned> FromRequestParts<Server> for Query<T> {
    type Rejection = RouteFailure;

    async fn from_request_parts(parts: &mut Parts, _: &Server) -> Result<Self, RouteFailure> {
        let axum::extract::Query(value) =
            axum::extract::Query::try_from_uri(&parts.uri).map_err(|error| {
                invalid(StatusCode::BAD_REQUEST, format!("the query is not valid: {}", error.body_text()))
            })?;
        Ok(Self(value))
    }
}

/// The JSON body.
pub(super) struct Body<T>(pub(super) T);

impl<T: DeserializeOwned> FromRequest<Server> for Body<T> {
    type Rejection = RouteFailure;

    async fn from_request(request: Request, server: &Server) -> Result<Self, RouteFailure> {
        // The limit of the router ends a body that is too long while it arrives; one that says so is not read at all.
        if request.body().size_hint().lower() > wire::MAX_BODY as u64 {
            return Err(too_large());
        }
        match Json::from_request(request, server).await {
            Ok(Json(value)) => Ok(Self(value)),
            Err(error) => Err(unreadable(&error)),
        }
    }
}

fn unreadable(error: &JsonRejection) -> RouteFailure {
    match error.status() {
        StatusCode::PAYLOAD_TOO_LARGE => too_large(),
        status @ StatusCode::UNSUPPORTED_MEDIA_TYPE => {
            invalid(status, "the body must have the content type `application/json`".to_owned())
        }
        _ => invalid(StatusCode::BAD_REQUEST, format!("the body is not valid: {}", error.body_text())),
    }
}

fn too_large() -> RouteFailure {
    RouteFailure { status: StatusCode::PAYLOAD_TOO_LARGE, problem: wire::too_large() }
}

fn invalid(status: StatusCode, message: String) -> RouteFailure {
    RouteFailure { status, problem: Problem::new(ProblemCode::Invalid, message) }
}
