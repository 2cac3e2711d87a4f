#![expect(clippy::disallowed_methods, reason = "inspects the files from outside")]

use std::os::unix::fs::PermissionsExt as _;

use super::*;

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("lariat-trace-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

#[test]
fn rotates_full_file_and_deletes_the_oldest() {
    let folder = folder("full");
    let path = folder.join("trace.jsonl");
    let mut trace = TraceFile::open(&path).unwrap().with_max_bytes(30).with_kept_files(2);
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
    assert_eq!(mode, 0o600, "only the owner can read the trace");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn ends_torn_line_before_writing_the_next() {
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
fn truncates_full_file_when_none_are_kept() {
    let folder = folder("anew");
    let path = folder.join("trace.jsonl");
    let mut trace = TraceFile::open(&path).unwrap().with_max_bytes(10).with_kept_files(0);
    trace.write_line("12345678").unwrap();
    trace.write_line("abcdefgh").unwrap();
    trace.flush().unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "abcdefgh\n");
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
    std::fs::remove_dir_all(&folder).unwrap();
}
