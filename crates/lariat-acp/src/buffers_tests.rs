use std::path::Path;
use std::time::Duration;

use lariat_core::editor_files::EditorText;
use lariat_core::id::SessionId;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::{EditorBuffers, READ_WAIT, SessionBuffers};
use crate::connection::Connection;

/// An editor that has the session `s` open, and what Lariat sends to it.
fn editor(capabilities: Value) -> (EditorBuffers, Connection, mpsc::Receiver<String>) {
    let (lines, sent) = mpsc::channel(8);
    let (buffers, connection) = (EditorBuffers::default(), Connection::new(lines));
    let capabilities = serde_json::from_value(json!({ "fs": capabilities })).unwrap();
    let open = SessionBuffers::new(
        connection.clone(),
        capabilities,
        Path::new("/real/project"),
        Path::new("/link/project"),
    );
    buffers.attach(SessionId::from("s"), open);
    (buffers, connection, sent)
}

async fn request(sent: &mut mpsc::Receiver<String>) -> Value {
    serde_json::from_str(&sent.recv().await.unwrap()).unwrap()
}

#[tokio::test]
async fn a_file_is_read_by_the_name_that_the_editor_gave_its_directory() {
    let (buffers, connection, mut sent) = editor(json!({ "readTextFile": true }));
    let files = buffers.of(&SessionId::from("s"));
    let answering = async {
        let request = request(&mut sent).await;
        assert_eq!(request["method"], "fs/read_text_file");
        assert_eq!(request["params"], json!({ "sessionId": "s", "path": "/link/project/src/a.rs" }));
        connection.resolve(&request["id"], Ok(json!({ "content": "unsaved" })));
    };
    let (text, ()) = tokio::join!(files.read(Path::new("/real/project/src/a.rs")), answering);
    assert_eq!(text, EditorText::Text("unsaved".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn a_silent_editor_delays_once_and_is_asked_again_after_it_answers() {
    let (buffers, connection, mut sent) = editor(json!({ "readTextFile": true }));
    let files = buffers.of(&SessionId::from("s"));
    let begun = tokio::time::Instant::now();
    assert_eq!(files.read(Path::new("/a")).await, EditorText::Silent);
    assert_eq!(files.read(Path::new("/b")).await, EditorText::Silent);
    assert!(begun.elapsed() >= READ_WAIT);
    assert!(begun.elapsed() < READ_WAIT * 3 / 2, "it is not asked about the second file");
    let late = request(&mut sent).await;
    assert!(sent.try_recv().is_err());
    connection.resolve(&late["id"], Ok(json!({ "content": "late" })));
    tokio::time::sleep(Duration::from_millis(1)).await;
    let answering = async {
        let request = request(&mut sent).await;
        connection.resolve(&request["id"], Ok(json!({ "content": "now" })));
    };
    let (text, ()) = tokio::join!(files.read(Path::new("/c")), answering);
    assert_eq!(text, EditorText::Text("now".to_owned()));
}

#[tokio::test]
async fn an_editor_is_asked_only_for_what_it_announced() {
    let (buffers, _connection, mut sent) = editor(json!({ "writeTextFile": false }));
    let files = buffers.of(&SessionId::from("s"));
    assert_eq!(files.read(Path::new("/a")).await, EditorText::Absent);
    assert!(files.save(Path::new("/a"), "x").await.unwrap_err().contains("does not let"));
    let other = buffers.of(&SessionId::from("not open"));
    assert_eq!(other.read(Path::new("/a")).await, EditorText::Absent);
    assert!(sent.try_recv().is_err(), "nothing was sent");
}
