//! Finds damage in journals.
//!
//! Damage is a record that is missing, changed, out of its chain or unreadable, a blob that does not match its address, or
//! anything that SQLite's own check finds in its pages. This module only reads; [`super::repair`] repairs.

use std::collections::HashMap;

use lariat_core::archive::{Damage, DamageKind, VerificationReport};
use lariat_core::id::SessionId;
use lariat_core::store::{BlobHash, StoreError};
use rusqlite::Connection;

use super::fault::{SqliteFault, is_damage, no_session};
use super::rows::{self, JournalEnd, RecordSlot, SessionRow};
use crate::content;
use crate::record::Chain;

/// Maximum number of findings of SQLite's own check to report.
const FINDINGS: u32 = 20;

/// Checks every record of a journal, the blobs it references, and the database.
pub(super) fn verify(
    connection: &Connection,
    session_id: &SessionId,
) -> Result<VerificationReport, SqliteFault> {
    let mut verdict = journal(connection, session_id)?;
    let own = quick_check(connection)?;
    verdict.damage.extend(own.into_iter().map(|note| Damage::new(None, None, DamageKind::Garbage, note)));
    Ok(verdict)
}

/// Checks every record of a journal and the blobs it references.
pub(super) fn journal(
    connection: &Connection,
    session_id: &SessionId,
) -> Result<VerificationReport, SqliteFault> {
    let session = SessionRow::existing(connection, session_id)?.ok_or_else(|| no_session(session_id))?;
    let head = JournalEnd::of(connection, &session)?.head;
    let segments = rows::segments(connection, &session, head)?;
    let mut verdict = VerificationReport::default();
    let mut previous = match segments.first() {
        Some(first) => Some(SessionRow::at(connection, first.no)?.base),
        None => None,
    };
    let mut blobs = HashMap::new();
    rows::walk(connection, &segments, &(0..head), |found| {
        let seq = found.seq;
        let next = found.record.as_ref().filter(|record| record.is_whole()).map(|record| record.chain);
        match inspect(connection, found, previous, &mut blobs)? {
            None => verdict.intact += 1,
            Some((kind, note)) => verdict.damage.push(Damage::new(Some(seq), None, kind, note)),
        }
        previous = next;
        Ok(())
    })?;
    Ok(verdict)
}

/// Runs SQLite's check of its pages. Must not run in a write transaction, because a failing check aborts it.
fn quick_check(connection: &Connection) -> Result<Vec<String>, SqliteFault> {
    let mut statement = connection.prepare(&format!("PRAGMA quick_check({FINDINGS})"))?;
    let mut findings = Vec::new();
    for finding in statement.query_map([], |row| row.get::<_, String>(0))? {
        match finding {
            Ok(finding) if finding == "ok" => {}
            Ok(finding) => findings.push(finding),
            Err(error) if is_damage(&error) => {
                findings.push(error.to_string());
                break;
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(findings)
}

/// Returns what is wrong with a record. Without a previous chain, only checks that the record is whole.
fn inspect(
    connection: &Connection,
    found: RecordSlot,
    previous: Option<Chain>,
    blobs: &mut HashMap<BlobHash, bool>,
) -> Result<Option<(DamageKind, String)>, SqliteFault> {
    let Some(record) = &found.record else {
        return Ok(Some((DamageKind::Missing, "the record is missing".to_owned())));
    };
    if !record.is_whole() {
        return Ok(Some((DamageKind::Checksum, "the checksum does not match".to_owned())));
    }
    if previous.is_some_and(|previous| !record.follows(previous)) {
        return Ok(Some((
            DamageKind::Chain,
            "the chain hash does not continue the previous record".to_owned(),
        )));
    }
    let moved_out = content::moved_out(&record.body);
    for address in content::mentions(&record.body) {
        let needed = moved_out.contains(&address);
        if !is_blob_valid(connection, &address, needed, blobs)? {
            let note = format!("blob {} is missing or does not match its hash", address.0);
            return Ok(Some((DamageKind::Blob, note)));
        }
    }
    match rows::event(connection, found) {
        Ok(_) => Ok(None),
        // A record that this version cannot read is not damaged, and must not be repaired.
        Err(newer @ SqliteFault::Refused(StoreError::Newer { .. })) => Err(newer),
        Err(SqliteFault::Refused(error)) => Ok(Some((DamageKind::Garbage, error.to_string()))),
        Err(failed) => Err(failed),
    }
}

/// Returns whether a blob is valid. A blob that is only mentioned, not needed, may be missing.
fn is_blob_valid(
    connection: &Connection,
    address: &BlobHash,
    needed: bool,
    blobs: &mut HashMap<BlobHash, bool>,
) -> Result<bool, SqliteFault> {
    if let Some(sound) = blobs.get(address) {
        return Ok(*sound);
    }
    let sound = match rows::blob(connection, address) {
        Ok(_) => true,
        Err(SqliteFault::Refused(StoreError::NotFound(_))) => !needed,
        Err(SqliteFault::Refused(_)) => false,
        Err(failed) => return Err(failed),
    };
    // Do not cache a blob that is only mentioned and missing: a later event may need it.
    if needed || !sound {
        blobs.insert(address.clone(), sound);
    }
    Ok(sound)
}
