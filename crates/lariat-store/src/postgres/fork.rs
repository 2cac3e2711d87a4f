//! Forks and deletes sessions.
//!
//! Invariant: a fork references the session that owns its last shared event. So a session is needed exactly as long as a
//! row references it, and sessions that only passed the events on can be removed.

use deadpool_postgres::{Client, Transaction};
use lariat_core::archive::SessionSummary;
use lariat_core::id::SessionId;
use lariat_core::store::StoreError;

use super::connection::{column, execute, failed, number, position, query_opt};
use super::read::{self, JournalSegment, line};
use super::session_row::{self, key};
use crate::record::Chain;

/// Number of events to fold at once.
const PAGE: u64 = 1_000;

/// Locks the session against purging, not against appends.
const ORIGIN: &str = "SELECT head, chain, summary::text, set_config('synchronous_commit', 'on', true) \
    FROM lariat.sessions WHERE id = $1 AND NOT deleted FOR KEY SHARE";

const CHAIN_AT: &str = "SELECT chain FROM lariat.events WHERE session = $1 AND seq = $2";

/// The newest fold of at most `$2` events, of a session or its ancestors.
const NEAREST: &str = concat!(
    line!(),
    "SELECT n.summary::text FROM line l CROSS JOIN LATERAL ( \
     SELECT seq, summary FROM lariat.folds \
     WHERE session = l.no AND seq <= $2 AND (l.depth = 0 OR seq <= l.high) ORDER BY seq DESC LIMIT 1) n \
     ORDER BY n.seq DESC LIMIT 1"
);

const FORK: &str = "INSERT INTO lariat.sessions \
    (id, epoch, head, chain, base, fork_of, fork_seq, summary, last_active, cwd, parent, tags, agent, stale) \
    VALUES ($1, 0, $2, $3, $3, $4, $2, $5::text::json, $6, $7, $8, $9, $10, true) ON CONFLICT (id) DO NOTHING";

const LENGTH: &str = "SELECT head FROM lariat.sessions WHERE id = $1 AND NOT deleted";

const DELETE: &str = "UPDATE lariat.sessions SET deleted = true, stale = false WHERE id = $1 AND NOT deleted \
    RETURNING set_config('synchronous_commit', 'on', true)";

/// Creates a session that shares the first events of another.
pub(super) async fn fork(
    client: &mut Client,
    from: &SessionId,
    at_seq: u64,
    to: &SessionId,
) -> Result<(), StoreError> {
    session_row::storable(to)?;
    let transaction = client.transaction().await.map_err(failed)?;
    let origin = query_opt(&transaction, ORIGIN, &[&session_row::id(from)]).await?;
    let origin = origin.ok_or_else(|| session_row::not_found(from))?;
    let head = position(column(&origin, 0)?);
    if at_seq > head {
        return Err(StoreError::Conflict { expected: at_seq, actual: head });
    }
    let (owner, chain) = if at_seq == head && head > 0 {
        let segments = read::segments(&transaction, from).await?;
        (owner(&segments, at_seq), session_row::chain(column(&origin, 1)?)?)
    } else {
        owner_and_chain(&transaction, from, at_seq).await?
    };
    let mut summary = if at_seq == head {
        session_row::summary(column(&origin, 2)?)?
    } else {
        fold(&transaction, from, at_seq).await?
    };
    summary.session_id = to.clone();
    summary.parent = Some(from.clone());
    let made = execute(
        &transaction,
        FORK,
        &[
            &session_row::id(to),
            &number(at_seq),
            &chain.as_bytes().as_slice(),
            &owner,
            &session_row::summary_json(&summary)?,
            &number(summary.last_active_at.as_millis()),
            &summary.cwd.as_deref().map(key),
            &key(from.as_str()),
            &summary.tags.iter().map(|tag| key(tag)).collect::<Vec<_>>(),
            &summary.agent_id.as_ref().map(|agent| key(agent.as_str())),
        ],
    )
    .await?;
    if made == 0 {
        let there = query_opt(&transaction, LENGTH, &[&session_row::id(to)]).await?;
        let actual = there.map(|row| column(&row, 0)).transpose()?.map_or(0, position);
        return Err(StoreError::Conflict { expected: 0, actual });
    }
    transaction.commit().await.map_err(failed)
}

/// Returns the session that owns the event before a position, and the chain up to it.
async fn owner_and_chain(
    transaction: &Transaction<'_>,
    from: &SessionId,
    at_seq: u64,
) -> Result<(Option<i64>, Chain), StoreError> {
    let segments = read::segments(transaction, from).await?;
    let Some(owner) = owner(&segments, at_seq) else {
        let first = segments.first().ok_or_else(|| session_row::not_found(from))?;
        return Ok((None, first.base));
    };
    let row = query_opt(transaction, CHAIN_AT, &[&owner, &number(at_seq - 1)]).await?;
    let missing = || StoreError::Damaged(format!("event {} is missing", at_seq - 1));
    Ok((Some(owner), session_row::chain(column(&row.ok_or_else(missing)?, 0)?)?))
}

fn owner(segments: &[JournalSegment], at_seq: u64) -> Option<i64> {
    segments.iter().find(|segment| segment.low < at_seq && at_seq <= segment.high).map(|segment| segment.no)
}

/// Folds the first `to` events of a session, starting from the nearest stored fold.
pub(super) async fn fold(
    transaction: &Transaction<'_>,
    session_id: &SessionId,
    to: u64,
) -> Result<SessionSummary, StoreError> {
    let nearest = query_opt(transaction, NEAREST, &[&session_row::id(session_id), &number(to)]).await?;
    // Treat an unreadable fold as missing.
    let nearest = nearest.and_then(|row| session_row::summary(column(&row, 0).ok()?).ok());
    let mut summary = nearest.unwrap_or_else(|| SessionSummary::new(session_id.clone()));
    summary.session_id = session_id.clone();
    let mut next = summary.events;
    while next < to {
        let until = to.min(next + PAGE);
        let events = read::events(transaction, session_id, next, until).await?;
        events.iter().for_each(|event| summary.apply(event));
        next = until;
    }
    Ok(summary)
}

/// Marks a session as deleted, permanently.
pub(super) async fn delete(client: &Client, session_id: &SessionId) -> Result<(), StoreError> {
    let row = query_opt(client, DELETE, &[&session_row::id(session_id)]).await?;
    row.map(drop).ok_or_else(|| session_row::not_found(session_id))
}
