//! Exports sessions to files and imports them into stores of other kinds.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that fails panics")]

use std::io::Cursor;
use std::sync::Arc;

use lariat_core::archive::SessionArchive;
use lariat_core::event::{AgentEvent, Event, EventRecord, Learning};
use lariat_core::id::SessionId;
use lariat_core::store::{Append, Durability, StoreError};
use lariat_store::archive_file::{ArchiveFileError, check, export, import};
use lariat_store::sqlite::SqliteStore;
use lariat_test::conformance::{ArchiveFixture, Script, description_event, message_event};

use crate::jsonl::JsonlFixture;

const SESSION: &str = "../strange \u{1F980}/id";

async fn sqlite() -> Arc<dyn SessionArchive> {
    Arc::new(SqliteStore::in_memory().await.unwrap())
}

/// Writes a session with text that is moved to a blob, and with a blob that a tool named.
async fn write_session(store: &dyn SessionArchive) -> Script {
    let mut script = Script::claim(store, SESSION, 1_000).await;
    let named = store.put_blob(&[0, 159, 146, 150]).await.unwrap();
    let large = "large ".repeat(10_000);
    let unknown = format!("blake3:{}", "0".repeat(64));
    script.write(store, [description_event(Some("a title"), Some("/w"), None), message_event("first")]).await;
    script
        .write(
            store,
            [
                message_event(&large),
                message_event(&large),
                message_event(&format!("see {} and {unknown}", named.0)),
            ],
        )
        .await;
    script.write(store, (0..200).map(|n| message_event(&format!("words {n}")))).await;
    script
}

async fn export_bytes(store: &dyn SessionArchive, session: &str) -> Vec<u8> {
    let mut file = Vec::new();
    let contents = export(store, &SessionId::from(session), &mut file).await.unwrap();
    assert_eq!(check(&file[..]).unwrap(), contents);
    file
}

/// Returns the events of an imported session as they are in the file.
async fn without_mark(store: &dyn SessionArchive, session: &SessionId) -> Vec<Event> {
    let events = store.read(session, 0, usize::MAX).await.unwrap();
    assert!(matches!(events[0].event, AgentEvent::SessionImported(_)), "{:?}", events[0]);
    let unshifted = |event: &Event| Arc::new(EventRecord { seq: event.seq - 1, ..EventRecord::clone(event) });
    events[1..].iter().map(unshifted).collect()
}

#[tokio::test]
async fn session_moves_between_stores_and_back() {
    let fixture = JsonlFixture::new(Durability::Fast);
    let (files, database) = (fixture.open().await, sqlite().await);
    let script = write_session(&*files).await;
    let file = export_bytes(&*files, SESSION).await;
    let contents = import(&*database, Cursor::new(&file), None).await.unwrap();
    assert_eq!((contents.events, contents.blobs), (script.written.len() as u64, 2));
    assert_eq!(without_mark(&*database, &script.session_id).await, script.written);
    let named = lariat_store::content::address(&[0, 159, 146, 150]);
    assert_eq!(database.blob(&named).await.unwrap(), [0, 159, 146, 150]);
    assert!(database.verify(&script.session_id).await.unwrap().is_sound());
    let (there, here) = (
        files.summary(&script.session_id).await.unwrap(),
        database.summary(&script.session_id).await.unwrap(),
    );
    assert_eq!(here.events, there.events + 1, "one more for the import mark");
    assert_eq!((here.title, here.created_at, here.usage), (there.title, there.created_at, there.usage));
    // Importing it back into its store changes nothing, and neither does a second import.
    import(&*files, Cursor::new(&file), None).await.unwrap();
    import(&*database, Cursor::new(&file), None).await.unwrap();
    script.check(&*files).await;
    assert_eq!(database.head(&script.session_id).await.unwrap(), here.events);
}

#[tokio::test]
async fn exported_fork_is_self_contained() {
    let (from, to) = (sqlite().await, sqlite().await);
    let script = write_session(&*from).await;
    let fork = SessionId::from("fork");
    from.fork(&script.session_id, 4, &fork).await.unwrap();
    let mut own = Script::claim(&*from, "fork", 900_000).await;
    own.catch_up(&*from).await;
    own.write(&*from, [message_event("another way")]).await;
    let file = export_bytes(&*from, "fork").await;
    import(&*to, Cursor::new(&file), None).await.unwrap();
    assert_eq!(without_mark(&*to, &fork).await, own.written);
}

#[tokio::test]
async fn import_accepts_another_id_and_never_changes_an_existing_session() {
    let (from, to) = (sqlite().await, sqlite().await);
    let mut script = write_session(&*from).await;
    let file = export_bytes(&*from, SESSION).await;
    for _ in 0..2 {
        // Importing again succeeds and changes nothing.
        import(&*to, Cursor::new(&file), Some("mine".into())).await.unwrap();
        assert_eq!(to.head(&"mine".into()).await.unwrap(), script.written.len() as u64 + 1);
    }
    script.write(&*from, [message_event("more")]).await;
    let refused = import(&*from, Cursor::new(&file), None).await.unwrap_err();
    assert!(matches!(refused, ArchiveFileError::Store(StoreError::Conflict { .. })), "{refused}");
    let mut other = Script::claim(&*to, SESSION, 5).await;
    other.write(&*to, [message_event("something else")]).await;
    let refused = import(&*to, Cursor::new(&file), None).await.unwrap_err();
    assert!(matches!(refused, ArchiveFileError::Store(StoreError::Conflict { .. })), "{refused}");
    other.check(&*to).await;
}

#[tokio::test]
async fn interrupted_import_continues() {
    let (from, to) = (sqlite().await, sqlite().await);
    let script = write_session(&*from).await;
    let file = export_bytes(&*from, SESSION).await;
    import(&*to, Cursor::new(&file), None).await.unwrap();
    let whole = to.read(&script.session_id, 0, usize::MAX).await.unwrap();
    for there in [1, 63, 64, 65, 130] {
        let session = SessionId::from(format!("part {there}"));
        let epoch = to.claim(&session).await.unwrap();
        to.append(Append::new(&session, epoch, 0, &whole[..there])).await.unwrap();
        import(&*to, Cursor::new(&file), Some(session.clone())).await.unwrap();
        assert_eq!(to.read(&session, 0, usize::MAX).await.unwrap(), whole);
    }
    // A session without an import mark is not an interrupted import but a session of this store.
    let epoch = to.claim(&"own".into()).await.unwrap();
    to.append(Append::new(&"own".into(), epoch, 0, &script.written[..3])).await.unwrap();
    let refused = import(&*to, Cursor::new(&file), Some("own".into())).await.unwrap_err();
    assert!(matches!(refused, ArchiveFileError::Store(StoreError::Conflict { .. })), "{refused}");
}

/// Where the first line of a file has the version of the format.
const VERSION_DIGIT: usize = "LARIAT SESSION ".len();

#[tokio::test]
async fn rejects_a_cut_or_changed_file_before_writing_anything() {
    let (from, to) = (sqlite().await, sqlite().await);
    let mut script = Script::claim(&*from, "s", 1_000).await;
    let named = from.put_blob(b"a blob").await.unwrap();
    script.write(&*from, [message_event("first"), message_event(&format!("see {}", named.0))]).await;
    let file = export_bytes(&*from, "s").await;
    let refused = |bytes: &[u8]| match check(bytes).unwrap_err() {
        ArchiveFileError::Damaged { offset, .. } => usize::try_from(offset).unwrap(),
        other => panic!("{other}"),
    };
    for end in 0..file.len() {
        assert_eq!(refused(&file[..end]), end, "the offset is the end of the file");
    }
    for at in 0..file.len() {
        for bit in 0..8 {
            let mut changed = file.clone();
            changed[at] ^= 1 << bit;
            if at == VERSION_DIGIT && changed[at].is_ascii_digit() && changed[at] > b'1' {
                // This is what a file of a newer format looks like.
                let newer = check(&changed[..]).unwrap_err();
                assert!(matches!(newer, ArchiveFileError::Store(StoreError::Newer { .. })), "{newer}");
                continue;
            }
            let place = refused(&changed);
            // A changed length is reported where the file ends too early.
            assert!(place <= at || place == file.len(), "byte {at}, bit {bit}: {place}");
        }
    }
    assert_eq!(refused(&[&file[..], b"x"].concat()), file.len());
    assert!(import(&*to, Cursor::new(&file[..file.len() - 1]), None).await.is_err());
    assert!(to.list(&Default::default()).await.unwrap().is_empty());
}

#[tokio::test]
async fn export_of_a_missing_session_fails() {
    let store = sqlite().await;
    let missing = export(&*store, &"s".into(), Vec::new()).await.unwrap_err();
    assert!(matches!(missing, ArchiveFileError::Store(StoreError::NotFound(_))), "{missing}");
}

/// Learnings of another machine must not reach sessions here, and must not remove learnings made here.
#[tokio::test]
async fn import_leaves_out_learnings() {
    let (from, to) = (sqlite().await, Arc::new(SqliteStore::in_memory().await.unwrap()));
    let mut learning = Learning::default();
    (learning.learning_id, learning.text) = ("known".into(), "from elsewhere".into());
    let mut there = Script::claim(&*from, "there", 9_000).await;
    let forget = AgentEvent::Unlearned { learning_id: "own".into() };
    there.write(&*from, [message_event("hi"), AgentEvent::Learned(Box::new(learning.clone())), forget]).await;
    (learning.learning_id, learning.text) = ("own".into(), "from here".into());
    let mut here = Script::claim(&*to, "here", 1_000).await;
    here.write(&*to, [AgentEvent::Learned(Box::new(learning))]).await;
    import(&*to, Cursor::new(&export_bytes(&*from, "there").await), None).await.unwrap();
    let known: Vec<String> =
        to.learnings(None, 0).await.unwrap().into_iter().map(|known| known.learning.text).collect();
    assert_eq!(known, ["from here"]);
}
