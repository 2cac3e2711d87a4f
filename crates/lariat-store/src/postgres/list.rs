//! Lists sessions with one statement, built from the conditions of the query.

use deadpool_postgres::GenericClient;
use lariat_core::archive::{ListQuery, SessionSummary};
use lariat_core::store::StoreError;
use tokio_postgres::types::ToSql;

use super::connection::{Value, column, number, query};
use super::search;
use super::session_row::{self, key};

/// A statement that grows by conditions and their values.
struct Listing {
    sql: String,
    values: Vec<Box<dyn ToSql + Sync + Send>>,
}

impl Listing {
    /// Adds a condition, in which `?` stands for the value.
    fn condition(&mut self, text: &str, value: impl ToSql + Sync + Send + 'static) {
        self.values.push(Box::new(value));
        let place = format!("${}", self.values.len());
        self.sql.push_str(" AND ");
        self.sql.push_str(&text.replace('?', &place));
    }
}

/// Milliseconds per minute, the unit of the listing's index.
const MINUTE: i64 = 60_000;

/// Returns the matching sessions, newest first. Call [`search::catch_up`] before a query with words.
pub(super) async fn list(
    client: &impl GenericClient,
    asked: &ListQuery,
) -> Result<Vec<SessionSummary>, StoreError> {
    let sql = "SELECT summary::text FROM lariat.sessions WHERE NOT deleted AND head > 0".to_owned();
    let mut listing = Listing { sql, values: Vec::new() };
    if let Some(after) = &asked.after {
        let at = number(after.last_active_at.as_millis());
        // The first condition uses the index, the others implement the cursor's order.
        listing.condition("minute <= ?", at / MINUTE);
        listing.condition("last_active <= ?", at);
        let same = format!("(last_active < ${} OR id < ?)", listing.values.len());
        listing.condition(&same, session_row::id(&after.session_id).to_vec());
    }
    if let Some(since) = asked.active_since {
        let at = number(since.as_millis());
        listing.condition("minute >= ?", at / MINUTE);
        listing.condition("last_active >= ?", at);
    }
    if let Some(cwd) = &asked.cwd {
        listing.condition("cwd = ?", key(cwd));
    }
    if let Some(parent) = &asked.parent {
        listing.condition("parent = ?", key(parent.as_str()));
    }
    if let Some(agent_id) = &asked.agent_id {
        listing.condition("agent = ?", key(agent_id.as_str()));
    }
    if let Some(tag) = &asked.tag {
        // The first condition is for the index, which leaves out sessions without tags.
        listing.condition("tags <> '{}' AND tags @> ARRAY[?::bytea]", key(tag));
    }
    for word in asked.words() {
        let found = "no IN (SELECT session FROM lariat.search WHERE words @@ ?::text::tsquery)";
        listing.condition(found, search::lexeme(&word));
    }
    listing.sql.push_str(" ORDER BY minute DESC, last_active DESC, id DESC");
    if asked.limit > 0 {
        listing.values.push(Box::new(number(asked.limit as u64)));
        listing.sql.push_str(&format!(" LIMIT ${}", listing.values.len()));
    }
    let values: Vec<Value<'_>> = listing.values.iter().map(|value| &**value as Value<'_>).collect();
    let rows = query(client, &listing.sql, &values).await?;
    rows.iter().map(|row| session_row::summary(column(row, 0)?)).collect()
}
