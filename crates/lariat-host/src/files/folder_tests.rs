//! A walk stays in the directory where it began.

use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::fs::symlink;

use crate::files::Workspace;

#[test]
fn walk_opens_names_from_handle_and_follows_no_links() {
    let base = std::env::temp_dir().join(format!("lariat-folder-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&base);
    std::fs::create_dir_all(base.join("ws/inner")).unwrap();
    std::fs::create_dir_all(base.join("out")).unwrap();
    std::fs::write(base.join("ws/inner/a"), "inside").unwrap();
    std::fs::write(base.join("out/a"), "outside").unwrap();
    symlink(base.join("out"), base.join("ws/link")).unwrap();
    symlink("inner/a", base.join("ws/file-link")).unwrap();
    let top = Workspace::open(base.join("ws")).unwrap().folder(".").unwrap();
    let name = OsStr::new;
    assert!(top.folder(name("link")).is_err());
    assert!(top.file(name("file-link")).is_err());
    for hostile in ["..", ".", "", "inner/a", "../out"] {
        assert!(top.folder(name(hostile)).is_err(), "{hostile}");
        assert!(top.file(name(hostile)).is_err(), "{hostile}");
        assert!(top.stamp(name(hostile)).is_err(), "{hostile}");
    }
    let inner = top.folder(name("inner")).unwrap();
    // Replace the directory with a link; the open handle still refers to the old directory.
    std::fs::rename(base.join("ws/inner"), base.join("ws/moved")).unwrap();
    symlink(base.join("out"), base.join("ws/inner")).unwrap();
    let (mut file, stamp) = inner.file(name("a")).unwrap();
    let mut text = String::new();
    file.read_to_string(&mut text).unwrap();
    assert_eq!((text.as_str(), stamp.size()), ("inside", 6));
    assert_eq!(inner.names(10).unwrap().0.len(), 1);
    std::fs::remove_dir_all(base).unwrap();
}
