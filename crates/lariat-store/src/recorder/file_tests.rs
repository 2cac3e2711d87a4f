#![expect(clippy::disallowed_methods, reason = "a test inspects files")]

use super::super::session_recorder::tests::Events;
use super::super::{SessionRecorder, SessionRecorderConfig};
use super::*;

struct TempDir(PathBuf);

impl TempDir {
    fn new() -> Self {
        Self(std::env::temp_dir().join(format!("lariat-recorder-{}", uuid::Uuid::new_v4())).join("sessions"))
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(self.0.parent().unwrap());
    }
}

fn session(session: &str, loops: &[&str], secs: u64) -> Session {
    let mut recorder = SessionRecorder::new(SessionRecorderConfig::default());
    let mut events = Events::default();
    for loop_id in loops {
        events.complete_loop(secs, session, loop_id).iter().for_each(|event| recorder.on_event(event));
    }
    recorder.flush();
    recorder.drain_completed().remove(0)
}

#[test]
fn saves_lists_loads_and_deletes_sessions_with_any_id() {
    let TempDir(dir) = &TempDir::new();
    let long = "x".repeat(300);
    let ids = ["plain", "../../up", "a/b", "nul\0", ".", &long];
    assert!(list_session_ids(dir).unwrap().is_empty(), "no directory, no sessions");
    let sessions: Vec<Session> =
        ids.iter().zip(1..).map(|(id, secs)| session(id, &["l.x.1", "l.x.2"], secs)).collect();
    for session in &sessions {
        save_session(session, dir).unwrap();
    }
    let newest_first: Vec<SessionId> = ids.iter().rev().map(|id| SessionId::from(*id)).collect();
    assert_eq!(list_session_ids(dir).unwrap(), newest_first);
    for session in &sessions {
        assert_eq!(load_session(&session.session_id, dir).unwrap(), *session);
    }
    assert_eq!(std::fs::read_dir(dir).unwrap().count(), ids.len(), "one file each, all in the directory");
    assert!(
        std::fs::read_to_string(dir.join("plain.json")).unwrap().contains("\n  \"session_id\": \"plain\"")
    );
    delete_session(&"a/b".into(), dir).unwrap();
    for missing in [load_session(&"a/b".into(), dir).err(), delete_session(&"a/b".into(), dir).err()] {
        assert!(matches!(missing, Some(SessionFileError::NotFound(id)) if id.as_str() == "a/b"));
    }
    assert_eq!(list_session_ids(dir).unwrap().len(), ids.len() - 1);
}

#[test]
fn saving_never_drops_a_loop() {
    let TempDir(dir) = &TempDir::new();
    save_session(&session("s", &["s.x.1"], 1), dir).unwrap();
    save_session(&session("s", &["s.x.1", "s.x.2"], 1), dir).unwrap();
    let refused = save_session(&session("s", &["s.x.2"], 9), dir).unwrap_err();
    assert!(
        matches!(&refused, SessionFileError::WouldLose { loop_id, .. } if loop_id.as_str() == "s.x.1"),
        "{refused}"
    );
    assert_eq!(load_session(&"s".into(), dir).unwrap().loops.len(), 2);
}

#[test]
fn loads_sessions_of_an_agent_and_skips_other_files() {
    let TempDir(dir) = &TempDir::new();
    let mut other = session("o", &["o.x.1"], 5);
    other.agent_id = "another".into();
    for one in [session("a", &["a.x.1"], 1), session("b", &["b.x.1"], 2), other] {
        save_session(&one, dir).unwrap();
    }
    std::fs::write(dir.join("damaged.json"), b"{\"session_id\":").unwrap();
    std::fs::write(dir.join(".a.json.half"), b"").unwrap();
    let found = load_sessions_for_agent(&"agent".into(), dir).unwrap();
    assert_eq!(found.iter().map(|one| one.session_id.as_str()).collect::<Vec<_>>(), ["b", "a"]);
    let damaged = load_session(&"damaged".into(), dir).unwrap_err();
    assert!(matches!(damaged, SessionFileError::NotASession { .. }), "{damaged}");
    save_session(&session("damaged", &["d.x.1"], 3), dir).unwrap();
}
