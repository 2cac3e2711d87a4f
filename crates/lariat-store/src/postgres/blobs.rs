//! Stores blobs by content address, and which sessions reference them.
//!
//! Invariant: a session's references are written together with the events that contain them, and the statement that removes
//! blobs sees either both or neither (it locks the table of references).

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use deadpool_postgres::{GenericClient, Transaction};
use lariat_core::store::{BlobHash, StoreError};

use super::connection::{column, execute, query, query_opt};
use crate::content;

/// Storing an existing blob again updates its time, and restores its bytes if they were damaged.
macro_rules! again {
    () => {
        "ON CONFLICT (hash) DO UPDATE SET touched = clock_timestamp(), \
         bytes = CASE WHEN b.bytes = excluded.bytes THEN b.bytes ELSE excluded.bytes END"
    };
}

const PUT: &str = concat!(
    "INSERT INTO lariat.blobs AS b (hash, bytes, touched) VALUES ($1, $2, clock_timestamp()) ",
    again!(),
    " RETURNING set_config('synchronous_commit', $3, true)"
);

const PUT_MANY: &str = concat!(
    "INSERT INTO lariat.blobs AS b (hash, bytes, touched) \
     SELECT hash, bytes, clock_timestamp() FROM unnest($1::bytea[], $2::bytea[]) AS n (hash, bytes) ",
    again!()
);

const REFER: &str =
    "INSERT INTO lariat.blob_refs (session, hash) SELECT $1, unnest($2::bytea[]) ON CONFLICT DO NOTHING";

const FETCH: &str = "SELECT hash, bytes FROM lariat.blobs WHERE hash = ANY ($1)";

/// Stores bytes with durability `level`.
pub(super) async fn put(
    client: &impl GenericClient,
    bytes: &[u8],
    level: &str,
) -> Result<BlobHash, StoreError> {
    let address = content::address(bytes);
    let hash = content::hash_of(&address).unwrap_or_default();
    query_opt(client, PUT, &[&hash.as_slice(), &bytes, &level]).await?;
    Ok(address)
}

/// Reads a blob and verifies its hash.
pub(super) async fn get(client: &impl GenericClient, address: &BlobHash) -> Result<Vec<u8>, StoreError> {
    let missing = || StoreError::NotFound(format!("blob {}", address.0));
    let hash = content::hash_of(address).ok_or_else(missing)?;
    let row = query_opt(client, FETCH, &[&vec![hash.as_slice()]]).await?.ok_or_else(missing)?;
    let bytes: Vec<u8> = column(&row, 1)?;
    if content::address(&bytes) == *address {
        return Ok(bytes);
    }
    Err(StoreError::Damaged(format!("blob {} does not match its hash", address.0)))
}

/// Returns the existing blobs among these that match their hashes.
pub(super) async fn fetch(
    client: &impl GenericClient,
    hashes: &[[u8; 32]],
) -> Result<HashMap<[u8; 32], Vec<u8>>, StoreError> {
    let hashes: Vec<&[u8]> = hashes.iter().map(<[u8; 32]>::as_slice).collect();
    let mut found = HashMap::new();
    for row in query(client, FETCH, &[&hashes]).await? {
        let bytes: Vec<u8> = column(&row, 1)?;
        let hash = *blake3::hash(&bytes).as_bytes();
        if column::<&[u8]>(&row, 0)? == hash {
            found.insert(hash, bytes);
        }
    }
    Ok(found)
}

/// Stores the blobs of a batch and records the references of its session, ordered by hash, so that two batches with the
/// same blobs cannot deadlock.
pub(super) async fn store_references(
    transaction: &Transaction<'_>,
    session: i64,
    blobs: &BTreeMap<[u8; 32], Vec<u8>>,
    mentions: &BTreeSet<[u8; 32]>,
) -> Result<(), StoreError> {
    if !mentions.is_empty() {
        let hashes: Vec<&[u8]> = mentions.iter().map(<[u8; 32]>::as_slice).collect();
        execute(transaction, REFER, &[&session, &hashes]).await?;
    }
    if !blobs.is_empty() {
        let hashes: Vec<&[u8]> = blobs.keys().map(<[u8; 32]>::as_slice).collect();
        let bytes: Vec<&[u8]> = blobs.values().map(Vec::as_slice).collect();
        execute(transaction, PUT_MANY, &[&hashes, &bytes]).await?;
    }
    Ok(())
}

/// Returns the existing blobs among these that do not match their hashes.
pub(super) async fn find_damaged(
    client: &impl GenericClient,
    hashes: &[[u8; 32]],
) -> Result<HashSet<[u8; 32]>, StoreError> {
    let hashes: Vec<&[u8]> = hashes.iter().map(<[u8; 32]>::as_slice).collect();
    let mut changed = HashSet::new();
    for row in query(client, FETCH, &[&hashes]).await? {
        let hash: &[u8] = column(&row, 0)?;
        if blake3::hash(column(&row, 1)?).as_bytes() != hash {
            changed.extend(<[u8; 32]>::try_from(hash));
        }
    }
    Ok(changed)
}
