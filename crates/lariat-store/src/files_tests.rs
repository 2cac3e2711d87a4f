use std::sync::atomic::{AtomicU32, Ordering};

use super::*;

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("lariat-{name}-{}", uuid::Uuid::new_v4()));
        make_folder(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_file_is_put_whole_and_leaves_nothing_beside_it() {
    let folder = Folder::new("put");
    let path = folder.0.join("a");
    assert_eq!(read(&path).unwrap(), None);
    put(&path, b"one").unwrap();
    put(&path, b"two").unwrap();
    assert_eq!(read(&path).unwrap().unwrap(), b"two");
    assert_eq!(list(&folder.0).unwrap(), std::slice::from_ref(&path));
    assert!(put(&folder.0.join("no/such/folder"), b"x").is_err());
    remove(&path).unwrap();
    remove(&path).unwrap();
}

#[test]
fn folders_are_made_with_those_above_and_may_be_there() {
    let folder = Folder::new("folders");
    let deep = folder.0.join("a/b/c");
    make_folder(&deep).unwrap();
    make_folder(&deep).unwrap();
    make_folder(&folder.0.join("a/d")).unwrap();
    assert!(deep.is_dir() && folder.0.join("a/d").is_dir());
    put(&folder.0.join("file"), b"x").unwrap();
    assert!(make_folder(&folder.0.join("file/below")).is_err());
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| make_folder(&folder.0.join("all/at/once")).unwrap());
        }
    });
}

#[test]
fn a_lock_is_held_once_names_its_holder_and_is_free_when_dropped() {
    let folder = Folder::new("lock");
    let path = folder.0.join("s.lock");
    let lock = Lock::take(&path).unwrap();
    match Lock::take(&path) {
        Err(Locked::By(holder)) => assert_eq!(holder, format!("process {}", std::process::id())),
        other => panic!("{other:?}"),
    }
    drop(lock);
    assert!(!path.exists());
    drop(Lock::take(&path).unwrap());
}

#[test]
fn threads_that_race_for_a_lock_never_hold_it_together() {
    let folder = Folder::new("race");
    let path = folder.0.join("s.lock");
    let (inside, taken) = (AtomicU32::new(0), AtomicU32::new(0));
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..500 {
                    if let Ok(lock) = Lock::take(&path) {
                        assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                        taken.fetch_add(1, Ordering::SeqCst);
                        inside.fetch_sub(1, Ordering::SeqCst);
                        drop(lock);
                    }
                }
            });
        }
    });
    assert!(taken.load(Ordering::SeqCst) > 100);
}
