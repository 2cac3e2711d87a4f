//! A store that wraps another one: `cargo run -p lariat --example own_store`.

use lariat::store::{Ack, Append, BlobHash, Epoch, StoreError};
use lariat::{Agent, BoxFuture, Event, MemoryStore, SessionId, SessionStore};
use lariat_test::{Reply, ScriptedModel};

type StoreFuture<'a, T> = BoxFuture<'a, Result<T, StoreError>>;
/// Prints each append and passes every request on to a store in memory.
struct LoggingStore(MemoryStore);

impl SessionStore for LoggingStore {
    fn claim<'a>(&'a self, session: &'a SessionId) -> StoreFuture<'a, Epoch> {
        self.0.claim(session)
    }
    fn release<'a>(&'a self, session: &'a SessionId, epoch: Epoch) -> StoreFuture<'a, ()> {
        self.0.release(session, epoch)
    }
    fn append<'a>(&'a self, append: Append<'a>) -> StoreFuture<'a, Ack> {
        println!("{} events from {}", append.events.len(), append.expected_seq);
        self.0.append(append)
    }
    fn read<'a>(&'a self, session: &'a SessionId, from: u64, limit: usize) -> StoreFuture<'a, Vec<Event>> {
        self.0.read(session, from, limit)
    }
    fn head<'a>(&'a self, session: &'a SessionId) -> StoreFuture<'a, u64> {
        self.0.head(session)
    }
    fn put_blob<'a>(&'a self, bytes: &'a [u8]) -> StoreFuture<'a, BlobHash> {
        self.0.put_blob(bytes)
    }
    fn blob<'a>(&'a self, hash: &'a BlobHash) -> StoreFuture<'a, Vec<u8>> {
        self.0.blob(hash)
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let model = ScriptedModel::new([Reply::text("Saved.")]);
    let store = std::sync::Arc::new(LoggingStore(MemoryStore::new()));
    println!("{}", Agent::builder().model(model).store(store).build()?.run("Save this.").await?.text);
    Ok(())
}
