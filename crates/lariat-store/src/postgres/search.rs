//! Indexes the words of sessions for search.
//!
//! A search first indexes the events since the last search, so that appends cost nothing. Words are split in the same way
//! as queries and stored unchanged, without a dictionary.
//! Invariant: a session that is not stale has all its words in the table. Damaged events have none.

use std::collections::BTreeSet;

use deadpool_postgres::Client;
use lariat_core::archive::{ListQuery, searchable_text};
use lariat_core::id::SessionId;
use lariat_core::store::StoreError;

use super::connection::{column, execute, failed, number, position, query};
use super::read;

/// Number of events to read at once.
const PAGE: u64 = 1_000;

/// Number of sessions to look up at once.
const SESSIONS: i64 = 256;

/// Number of significant characters of a word; PostgreSQL allows 2 KB.
const LONGEST: usize = 64;

/// Maximum number of bytes of words in one row; PostgreSQL allows 1 MB.
const ROW: usize = 256 * 1024;

const STALE: &str = "SELECT no, id, searched FROM lariat.sessions \
    WHERE stale AND NOT deleted AND no > $1 ORDER BY no LIMIT $2";

const INSERT: &str = "INSERT INTO lariat.search (session, words) VALUES ($1, array_to_tsvector($2::text[]))";

const DONE: &str = "UPDATE lariat.sessions SET searched = $3, stale = head > $3 WHERE no = $1 AND searched = $2 \
    AND NOT deleted";

/// Returns a query that matches exactly this word.
pub(super) fn lexeme(word: &str) -> String {
    // Words have only letters and digits, so nothing needs escaping.
    format!("'{}'", cut(word))
}

fn cut(word: &str) -> &str {
    word.char_indices().nth(LONGEST).and_then(|(end, _)| word.get(..end)).unwrap_or(word)
}

/// Indexes everything since the last search.
pub(super) async fn catch_up(client: &mut Client) -> Result<(), StoreError> {
    let mut last = 0_i64;
    loop {
        let stale = query(client, STALE, &[&last, &SESSIONS]).await?;
        for row in &stale {
            last = column(row, 0)?;
            let id = String::from_utf8_lossy(column(row, 1)?).into_owned();
            index_events(client, last, &SessionId::from(id), position(column(row, 2)?)).await?;
        }
        if stale.is_empty() {
            return Ok(());
        }
    }
}

async fn index_events(
    client: &mut Client,
    no: i64,
    session_id: &SessionId,
    searched: u64,
) -> Result<(), StoreError> {
    let transaction = client.transaction().await.map_err(failed)?;
    let (mut words, mut size, mut next) = (BTreeSet::new(), 0, searched);
    loop {
        let (head, mut records) = read::records(&transaction, session_id, next, next + PAGE).await?;
        records.retain(crate::record::SealedRecord::is_whole);
        for event in read::unpack_all(&transaction, &records).await?.into_iter().flatten() {
            for word in words_of(searchable_text(&event)) {
                size += word.len();
                words.insert(word);
                if size > ROW {
                    insert(&transaction, no, &mut words).await?;
                    size = 0;
                }
            }
        }
        next = (next + PAGE).min(head).max(next);
        if next >= head {
            break;
        }
    }
    insert(&transaction, no, &mut words).await?;
    // Another node was faster and has already indexed these words.
    if execute(&transaction, DONE, &[&no, &number(searched), &number(next)]).await? == 0 {
        return transaction.rollback().await.map_err(failed);
    }
    transaction.commit().await.map_err(failed)
}

async fn insert(
    transaction: &deadpool_postgres::Transaction<'_>,
    no: i64,
    words: &mut BTreeSet<String>,
) -> Result<(), StoreError> {
    let list: Vec<String> = std::mem::take(words).into_iter().collect();
    if !list.is_empty() {
        execute(transaction, INSERT, &[&no, &list]).await?;
    }
    Ok(())
}

fn words_of(text: Option<String>) -> Vec<String> {
    let mut query = ListQuery::default();
    query.text = text;
    query.words().iter().map(|word| cut(word).to_owned()).collect()
}
