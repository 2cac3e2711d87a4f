#![expect(clippy::disallowed_methods, reason = "looks at the files from outside")]

use std::os::unix::fs::PermissionsExt as _;

use super::*;

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("lariat-trace-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

#[test]
fn a_full_file_makes_room_and_the_oldest_one_goes() {
    let folder = folder("full");
    let path = folder.join("trace.jsonl");
    let mut trace = TraceFile::open(&path).unwrap().full_at(30).keeping(2);
    for number in 0..10 {
        trace.write_line(&format!("{{\"number\":{number}}}")).unwrap();
    }
    trace.flush().unwrap();
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    assert_eq!(read("trace.jsonl"), "{\"number\":8}\n{\"number\":9}\n");
    assert_eq!(read("trace.jsonl.1"), "{\"number\":6}\n{\"number\":7}\n");
    assert_eq!(read("trace.jsonl.2"), "{\"number\":4}\n{\"number\":5}\n");
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 3);
    let mode = std::fs::metadata(&path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o600, "nobody else reads what agents did");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_torn_line_is_ended_before_the_next_one_is_written() {
    let folder = folder("torn");
    let path = folder.join("trace.jsonl");
    std::fs::write(&path, "{\"whole\":1}\n{\"torn").unwrap();
    let mut trace = TraceFile::open(&path).unwrap();
    trace.write_line("{\"next\":1}").unwrap();
    trace.flush().unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "{\"whole\":1}\n{\"torn\n{\"next\":1}\n");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn with_nothing_kept_a_full_file_is_begun_anew() {
    let folder = folder("anew");
    let path = folder.join("trace.jsonl");
    let mut trace = TraceFile::open(&path).unwrap().full_at(10).keeping(0);
    trace.write_line("12345678").unwrap();
    trace.write_line("abcdefgh").unwrap();
    trace.flush().unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "abcdefgh\n");
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
    std::fs::remove_dir_all(&folder).unwrap();
}
