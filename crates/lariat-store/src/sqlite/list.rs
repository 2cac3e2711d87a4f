//! Lists sessions and maintains the full-text search index.
//!
//! For each range of a session's events that was indexed at once, `search` has the words as [`ListQuery::words`] splits
//! them, so that SQLite's own tokenizer has no influence. Searches update the index; appends do not pay for it.
//! Invariant: the first `indexed` events of a session are in `search`.

use std::collections::BTreeSet;

use lariat_core::archive::{ListQuery, SessionSummary, searchable_text};
use lariat_core::id::SessionId;
use rusqlite::types::Value;
use rusqlite::{Connection, params, params_from_iter};

use super::fault::SqliteFault;
use super::projection::limit_of;
use super::rows::{self, SessionRow, int, uint};
use super::settle;

/// Maximum number of events of a session that are indexed at once.
const MAX_EVENTS: u64 = 1_000;

/// Approximate maximum number of bytes of words in one transaction.
const MAX_BYTES: usize = 1 << 20;

/// Returns the sessions that match a query, newest first.
pub(super) fn list(connection: &Connection, query: &ListQuery) -> Result<Vec<SessionSummary>, SqliteFault> {
    let mut sql = "SELECT id, parent, summary FROM sessions WHERE kept IS NULL AND folded > 0".to_owned();
    let mut values: Vec<Value> = Vec::new();
    let mut and = |condition: &str, new: Vec<Value>| {
        sql.push_str(" AND ");
        sql.push_str(condition);
        values.extend(new);
    };
    if let Some(after) = &query.after {
        let last_active = int(after.last_active_at.as_millis());
        and("(last_active, id) < (?, ?)", vec![last_active.into(), text(&after.session_id)]);
    }
    if let Some(cwd) = &query.cwd {
        and("cwd = ?", vec![cwd.clone().into()]);
    }
    if let Some(parent) = &query.parent {
        and("parent = ?", vec![text(parent)]);
    }
    if let Some(agent_id) = &query.agent_id {
        and("summary ->> '$.agent_id' = ?", vec![agent_id.as_str().to_owned().into()]);
    }
    if let Some(since) = query.active_since {
        and("last_active >= ?", vec![int(since.as_millis()).into()]);
    }
    if let Some(tag) = &query.tag {
        let has = "EXISTS (SELECT 1 FROM json_each(summary, '$.tags') WHERE value = ?)";
        and(has, vec![tag.clone().into()]);
    }
    for word in query.words() {
        let found = "no IN (SELECT rowid >> 32 FROM search WHERE search MATCH ?)";
        and(found, vec![format!("\"{word}\"").into()]);
    }
    sql.push_str(" ORDER BY last_active DESC, id DESC LIMIT ?");
    values.push(limit_of(query.limit).into());
    let mut statement = connection.prepare_cached(&sql)?;
    let found = statement.query_map(params_from_iter(values), settle::read)?;
    Ok(found.collect::<rusqlite::Result<_>>()?)
}

/// Lists sessions without the writer: folds unsettled sessions and filters all sessions in memory. For databases that
/// cannot be written.
pub(super) fn list_without_writer(
    connection: &Connection,
    query: &ListQuery,
) -> Result<Vec<SessionSummary>, SqliteFault> {
    let mut found = list(connection, &ListQuery::default())?;
    let folded = settle::fold_unsettled(connection, &[])?;
    found.retain(|summary| folded.iter().all(|folded| folded.summary.session_id != summary.session_id));
    found.extend(folded.into_iter().map(|folded| folded.summary).filter(|summary| summary.events > 0));
    found.retain(|summary| query.fits(summary));
    found.sort_unstable_by_key(|summary| std::cmp::Reverse(summary.cursor()));
    if query.limit > 0 {
        found.truncate(query.limit);
    }
    Ok(found)
}

fn text(session_id: &SessionId) -> Value {
    Value::Text(session_id.as_str().to_owned())
}

/// The words of a range of events that are not in the index yet.
#[derive(Clone, Debug)]
pub(super) struct IndexRange {
    no: i64,
    from: u64,
    to: u64,
    words: String,
}

/// Returns some of the events that are not indexed yet, or nothing if all are.
pub(super) fn unindexed_ranges(connection: &Connection) -> Result<Vec<IndexRange>, SqliteFault> {
    let mut statement = connection
        .prepare_cached("SELECT no, indexed, head FROM sessions WHERE kept IS NULL AND indexed < head")?;
    let mut rows = statement.query([])?;
    let (mut ranges, mut bytes) = (Vec::new(), 0);
    while let Some(row) = rows.next()? {
        let (no, from, head) = (row.get(0)?, uint(row.get(1)?), uint(row.get(2)?));
        let to = head.min(from + MAX_EVENTS);
        let session = SessionRow::at(connection, no)?;
        let mut words = BTreeSet::new();
        rows::walk(connection, &rows::segments(connection, &session, head)?, &(from..to), |found| {
            match rows::event(connection, found) {
                Ok(event) => words.extend(searchable_text(&event).map(words_of).unwrap_or_default()),
                // An unreadable event has no words.
                Err(SqliteFault::Refused(_)) => {}
                Err(failed) => return Err(failed),
            }
            Ok(())
        })?;
        let words: Vec<String> = words.into_iter().collect();
        let words = words.join(" ");
        bytes += words.len();
        ranges.push(IndexRange { no, from, to, words });
        if bytes > MAX_BYTES {
            break;
        }
    }
    Ok(ranges)
}

fn words_of(text: String) -> Vec<String> {
    let mut query = ListQuery::default();
    query.text = Some(text);
    query.words()
}

/// Adds words to the index, unless another writer did.
pub(super) fn index(connection: &Connection, ranges: &[IndexRange]) -> Result<(), SqliteFault> {
    for IndexRange { no, from, to, words } in ranges {
        let mut advance =
            connection.prepare_cached("UPDATE sessions SET indexed = ? WHERE no = ? AND indexed = ?")?;
        if advance.execute([int(*to), *no, int(*from)])? == 1 && !words.is_empty() {
            let mut insert = connection.prepare_cached("INSERT INTO search (rowid, words) VALUES (?, ?)")?;
            insert.execute(params![(no << 32) + int(*from), words])?;
        }
    }
    Ok(())
}

/// Removes a session from the index.
pub(super) fn unindex(connection: &Connection, no: i64) -> Result<(), SqliteFault> {
    connection
        .prepare_cached("DELETE FROM search WHERE rowid >= ? AND rowid < ?")?
        .execute([no << 32, (no + 1) << 32])?;
    connection.prepare_cached("UPDATE sessions SET indexed = 0 WHERE no = ?")?.execute([no])?;
    Ok(())
}

/// Empties the index. The next search fills it again.
pub(super) fn reset(connection: &Connection) -> Result<(), SqliteFault> {
    connection.execute_batch(
        "INSERT INTO search (search) VALUES ('delete-all'); UPDATE sessions SET indexed = 0",
    )?;
    Ok(())
}
