//! Tests the limits of stored outputs.
#![expect(clippy::disallowed_methods, reason = "the test checks its own files")]

use lariat_host::files::Workspace;

use super::{MAX_BYTES, MAX_OUTPUTS, Outputs};

#[test]
fn drops_the_oldest_output_beyond_the_limits() {
    let outputs = Outputs::default();
    let first = outputs.keep(*b"first");
    for _ in 1..MAX_OUTPUTS {
        outputs.keep(*b"x");
    }
    assert!(outputs.find(&first).is_some());
    outputs.keep(*b"one more");
    assert!(outputs.find(&first).is_none());
    let large = outputs.keep(vec![0; MAX_BYTES]);
    assert_eq!(outputs.ids(), [large]);
    let larger = outputs.keep(vec![0; MAX_BYTES + 1]);
    assert_eq!(outputs.ids(), [larger]);
}

#[test]
fn removes_output_files_on_drop() {
    let folder = std::env::temp_dir().join(format!("lariat-outputs-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let outputs = Outputs::in_directory(Workspace::open(&folder).unwrap());
    let place = outputs.place().unwrap();
    std::fs::write(&place, "long").unwrap();
    let id = outputs.keep_file(&place).unwrap();
    assert!(outputs.find(&id).is_some());
    drop(outputs);
    assert!(!place.exists());
    std::fs::remove_dir_all(folder).unwrap();
}
