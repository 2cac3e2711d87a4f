//! The routes under `/v1`: each reads a request, calls one method of [`Sessions`], and writes the result.
//!
//! - `extract`: who calls, and what the path, the query and the body say.
//! - `failure`: a [`Problem`] as a response.
//! - `streams`: a stream of items as server-sent events.
//!
//! Invariants: every failure is a [`Problem`]; a request without a [`Principal`](lariat_api::Principal) is refused; a client that goes away
//! ends its stream, and a change that it asked for still runs to its end. The caller of [`router`] attaches the
//! principal of a connection as a request extension.

mod extract;
mod failure;
mod streams;

use std::future::Future;
use std::sync::Arc;

use axum::extract::{DefaultBodyLimit, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use http::{HeaderMap, StatusCode, header};
use lariat_api::{
    Action, Answer, AskDigest, AskId, ClientName, CommandId, ContextUse, CreateSession, Delivery, FileDiff,
    FileList, LogRequest, Problem, ProblemCode, PromptContent, Receipt, SessionCommand, SessionPage,
    SessionView, Sessions,
};
use lariat_core::cancel::CancellationToken;
use lariat_core::id::SessionId;
use lariat_core::store::BlobHash;
use serde::Deserialize;

use crate::host::{Host, HostStatus};
use crate::wire;
use extract::{Body, Caller, Params, Query};
use failure::RouteFailure;

type JsonReply<T> = Result<Json<T>, RouteFailure>;

/// The state of the router.
#[derive(Clone)]
struct Server {
    host: Arc<dyn Host>,
    stop: CancellationToken,
}

/// Builds the routes over a host. Cancelling `stop` ends the streams, so that their clients connect again.
pub fn router(host: Arc<dyn Host>, stop: CancellationToken) -> Router {
    Router::new()
        .route("/v1/host", get(status))
        .route("/v1/host/stop", post(stop_host))
        .route("/v1/changes", get(changes))
        .route("/v1/sessions", get(list).post(create))
        .route("/v1/sessions/{id}", get(view))
        .route("/v1/sessions/{id}/commands", post(command))
        .route("/v1/sessions/{id}/prompts", post(prompt))
        .route("/v1/sessions/{id}/interrupt", post(interrupt))
        .route("/v1/sessions/{id}/asks/{ask_id}", post(answer))
        .route("/v1/sessions/{id}/log", get(log))
        .route("/v1/sessions/{id}/live", get(live))
        .route("/v1/sessions/{id}/diff", get(diff))
        .route("/v1/sessions/{id}/files", get(files))
        .route("/v1/sessions/{id}/context", get(context))
        .route("/v1/sessions/{id}/blobs/{hash}", get(blob))
        .fallback(unknown_path)
        .method_not_allowed_fallback(unknown_method)
        .layer(DefaultBodyLimit::max(wire::MAX_BODY))
        .with_state(Server { host, stop })
}

async fn status(_: Caller, State(server): State<Server>) -> Json<HostStatus> {
    Json(HostStatus::of(server.host.as_ref()).await)
}

async fn stop_host(_: Caller, State(server): State<Server>) -> (StatusCode, Json<HostStatus>) {
    server.host.stop();
    (StatusCode::ACCEPTED, Json(HostStatus::of(server.host.as_ref()).await))
}

async fn create(Caller(sessions): Caller, Body(request): Body<CreateSession>) -> JsonReply<SessionView> {
    Ok(Json(run_to_end(async move { sessions.create(request).await }).await?))
}

async fn list(
    Caller(sessions): Caller,
    Query(pairs): Query<Vec<(String, String)>>,
) -> JsonReply<SessionPage> {
    let filter = wire::read_filter(pairs)
        .map_err(|error| Problem::new(ProblemCode::Invalid, format!("the filter is not valid: {error}")))?;
    Ok(Json(sessions.list(filter).await?))
}

async fn view(Caller(sessions): Caller, Params(id): Params<SessionId>) -> JsonReply<SessionView> {
    Ok(Json(sessions.view(&id).await?))
}

async fn command(
    Caller(sessions): Caller,
    Params(id): Params<SessionId>,
    Body(command): Body<SessionCommand>,
) -> JsonReply<Receipt> {
    send(sessions, id, command).await
}

/// The body of a prompt: a command without the name of its action.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PromptBody {
    id: CommandId,
    client: ClientName,
    content: PromptContent,
    #[serde(default)]
    delivery: Delivery,
}

async fn prompt(
    Caller(sessions): Caller,
    Params(id): Params<SessionId>,
    Body(body): Body<PromptBody>,
) -> JsonReply<Receipt> {
    let action = Action::Prompt { content: body.content, delivery: body.delivery };
    send(sessions, id, SessionCommand::new(body.id, body.client, action)).await
}

/// The body of an interruption.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct InterruptBody {
    id: CommandId,
    client: ClientName,
}

async fn interrupt(
    Caller(sessions): Caller,
    Params(id): Params<SessionId>,
    Body(body): Body<InterruptBody>,
) -> JsonReply<Receipt> {
    send(sessions, id, SessionCommand::new(body.id, body.client, Action::Interrupt)).await
}

/// The body of an answer. The path names the ask.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AnswerBody {
    id: CommandId,
    client: ClientName,
    digest: AskDigest,
    answer: Answer,
}

async fn answer(
    Caller(sessions): Caller,
    Params((id, ask_id)): Params<(SessionId, AskId)>,
    Body(body): Body<AnswerBody>,
) -> JsonReply<Receipt> {
    let action = Action::Answer { ask_id, digest: body.digest, answer: body.answer };
    send(sessions, id, SessionCommand::new(body.id, body.client, action)).await
}

async fn send(sessions: Arc<dyn Sessions>, id: SessionId, command: SessionCommand) -> JsonReply<Receipt> {
    Ok(Json(run_to_end(async move { sessions.send(&id, command).await }).await?))
}

async fn log(
    Caller(sessions): Caller,
    State(server): State<Server>,
    Params(id): Params<SessionId>,
    Query(mut request): Query<LogRequest>,
    headers: HeaderMap,
) -> Result<Response, RouteFailure> {
    // A browser that connects again repeats its first address, so the header is newer than the query.
    if let Some(last) = headers.get("last-event-id") {
        let cursor = last.to_str().ok().and_then(|text| text.parse().ok());
        let invalid = || Problem::new(ProblemCode::Invalid, "the header `Last-Event-ID` is not a cursor");
        (request.after, request.last) = (Some(cursor.ok_or_else(invalid)?), None);
    }
    Ok(streams::response(sessions.log(&id, request).await?, streams::log_event, &server.stop))
}

async fn live(
    Caller(sessions): Caller,
    State(server): State<Server>,
    Params(id): Params<SessionId>,
) -> Result<Response, RouteFailure> {
    Ok(streams::response(sessions.live(&id).await?, streams::live_event, &server.stop))
}

async fn changes(Caller(sessions): Caller, State(server): State<Server>) -> Result<Response, RouteFailure> {
    Ok(streams::response(sessions.changes().await?, streams::change_event, &server.stop))
}

async fn diff(Caller(sessions): Caller, Params(id): Params<SessionId>) -> JsonReply<Vec<FileDiff>> {
    Ok(Json(sessions.diff(&id).await?))
}

async fn files(Caller(sessions): Caller, Params(id): Params<SessionId>) -> JsonReply<FileList> {
    Ok(Json(sessions.files(&id).await?))
}

async fn context(Caller(sessions): Caller, Params(id): Params<SessionId>) -> JsonReply<ContextUse> {
    Ok(Json(sessions.context(&id).await?))
}

async fn blob(
    Caller(sessions): Caller,
    Params((id, hash)): Params<(SessionId, BlobHash)>,
) -> Result<Response, RouteFailure> {
    let bytes = sessions.blob(&id, &hash).await?;
    Ok(([(header::CONTENT_TYPE, "application/octet-stream")], bytes).into_response())
}

async fn unknown_path() -> RouteFailure {
    RouteFailure::from(Problem::new(ProblemCode::NotFound, "this host has no such route"))
}

async fn unknown_method() -> RouteFailure {
    let problem = Problem::new(ProblemCode::Unsupported, "this route does not accept this method");
    RouteFailure { status: StatusCode::METHOD_NOT_ALLOWED, problem }
}

/// Runs a change to its end, even if the client goes away and the server drops the request.
async fn run_to_end<T: Send + 'static>(
    work: impl Future<Output = Result<T, Problem>> + Send + 'static,
) -> Result<T, Problem> {
    let failed = |_| Problem::new(ProblemCode::Internal, "the host failed while it handled the request");
    tokio::spawn(work).await.map_err(failed)?
}
