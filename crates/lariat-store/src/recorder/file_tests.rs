#![expect(clippy::disallowed_methods, reason = "a test looks at files")]

use super::super::forming::tests::Events;
use super::super::{SessionRecorder, SessionRecorderConfig};
use super::*;

struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        Self(std::env::temp_dir().join(format!("lariat-recorder-{}", uuid::Uuid::new_v4())).join("sessions"))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(self.0.parent().unwrap());
    }
}

fn session(session: &str, loops: &[&str], secs: u64) -> Session {
    let mut recorder = SessionRecorder::new(SessionRecorderConfig::default());
    let mut events = Events::default();
    for loop_id in loops {
        events.whole(secs, session, loop_id).iter().for_each(|event| recorder.on_event(event));
    }
    recorder.flush();
    recorder.drain_completed().remove(0)
}

#[test]
fn sessions_are_saved_listed_loaded_and_deleted_whatever_their_ids_are() {
    let Folder(folder) = &Folder::new();
    let long = "x".repeat(300);
    let ids = ["plain", "../../up", "a/b", "nul\0", ".", &long];
    assert!(list_session_ids(folder).unwrap().is_empty(), "no folder, no sessions");
    let sessions: Vec<Session> =
        ids.iter().zip(1..).map(|(id, secs)| session(id, &["l.x.1", "l.x.2"], secs)).collect();
    for session in &sessions {
        save_session(session, folder).unwrap();
    }
    let newest_first: Vec<SessionId> = ids.iter().rev().map(|id| SessionId::from(*id)).collect();
    assert_eq!(list_session_ids(folder).unwrap(), newest_first);
    for session in &sessions {
        assert_eq!(load_session(&session.session_id, folder).unwrap(), *session);
    }
    assert_eq!(std::fs::read_dir(folder).unwrap().count(), ids.len(), "one file each, all in the folder");
    assert!(
        std::fs::read_to_string(folder.join("plain.json")).unwrap().contains("\n  \"session_id\": \"plain\"")
    );
    delete_session(&"a/b".into(), folder).unwrap();
    for missing in [load_session(&"a/b".into(), folder).err(), delete_session(&"a/b".into(), folder).err()] {
        assert!(matches!(missing, Some(SessionFileError::NotFound(id)) if id.as_str() == "a/b"));
    }
    assert_eq!(list_session_ids(folder).unwrap().len(), ids.len() - 1);
}

#[test]
fn saving_never_drops_a_loop() {
    let Folder(folder) = &Folder::new();
    save_session(&session("s", &["s.x.1"], 1), folder).unwrap();
    save_session(&session("s", &["s.x.1", "s.x.2"], 1), folder).unwrap();
    let refused = save_session(&session("s", &["s.x.2"], 9), folder).unwrap_err();
    assert!(
        matches!(&refused, SessionFileError::WouldLose { loop_id, .. } if loop_id.as_str() == "s.x.1"),
        "{refused}"
    );
    assert_eq!(load_session(&"s".into(), folder).unwrap().loops.len(), 2);
}

#[test]
fn sessions_of_an_agent_are_found_beside_files_that_are_none() {
    let Folder(folder) = &Folder::new();
    let mut other = session("o", &["o.x.1"], 5);
    other.agent_id = "another".into();
    for one in [session("a", &["a.x.1"], 1), session("b", &["b.x.1"], 2), other] {
        save_session(&one, folder).unwrap();
    }
    std::fs::write(folder.join("damaged.json"), b"{\"session_id\":").unwrap();
    std::fs::write(folder.join(".a.json.half"), b"").unwrap();
    let found = load_sessions_for_agent(&"agent".into(), folder).unwrap();
    assert_eq!(found.iter().map(|one| one.session_id.as_str()).collect::<Vec<_>>(), ["b", "a"]);
    let damaged = load_session(&"damaged".into(), folder).unwrap_err();
    assert!(matches!(damaged, SessionFileError::NotASession { .. }), "{damaged}");
    save_session(&session("damaged", &["d.x.1"], 3), folder).unwrap();
}
