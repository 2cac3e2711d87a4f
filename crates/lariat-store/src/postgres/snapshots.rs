//! Stores and finds snapshots: the newest few of each session, and for a fork those of its ancestors.

use deadpool_postgres::Client;
use lariat_core::id::SessionId;
use lariat_core::store::{Snapshot, StoreError};

use super::connection::{column, execute, failed, number, position, query_opt};
use super::read::line;
use super::session_row;

/// Number of snapshots kept per session.
const KEPT: i64 = 4;

const PUT: &str = "INSERT INTO lariat.snapshots (session, seq, state) \
    SELECT no, $2, $3 FROM lariat.sessions WHERE id = $1 AND NOT deleted \
    ON CONFLICT (session, seq) DO UPDATE SET state = excluded.state";

const THIN: &str = "DELETE FROM lariat.snapshots USING ( \
    SELECT o.session, o.seq FROM lariat.sessions s JOIN lariat.snapshots o ON o.session = s.no \
    WHERE s.id = $1 ORDER BY o.seq DESC OFFSET $2) old \
    WHERE snapshots.session = old.session AND snapshots.seq = old.seq";

const NEWEST: &str = concat!(
    line!(),
    "SELECT n.seq, n.state FROM line l CROSS JOIN LATERAL ( \
     SELECT seq, state FROM lariat.snapshots \
     WHERE session = l.no AND seq <= $2 AND (l.depth = 0 OR seq <= l.high) ORDER BY seq DESC LIMIT 1) n \
     ORDER BY n.seq DESC LIMIT 1"
);

pub(super) async fn put(
    client: &mut Client,
    session_id: &SessionId,
    snapshot: &Snapshot,
) -> Result<(), StoreError> {
    let id = session_row::id(session_id);
    let transaction = client.transaction().await.map_err(failed)?;
    if execute(&transaction, PUT, &[&id, &number(snapshot.seq), &snapshot.state]).await? == 0 {
        return Err(session_row::not_found(session_id));
    }
    execute(&transaction, THIN, &[&id, &KEPT]).await?;
    transaction.commit().await.map_err(failed)
}

pub(super) async fn newest(
    client: &Client,
    session_id: &SessionId,
    seq: u64,
) -> Result<Option<Snapshot>, StoreError> {
    let row = query_opt(client, NEWEST, &[&session_row::id(session_id), &number(seq)]).await?;
    row.map(|row| Ok(Snapshot::new(position(column(&row, 0)?), column(&row, 1)?))).transpose()
}
