use std::sync::atomic::{AtomicU32, Ordering};

use super::*;

struct TempDir(PathBuf);

impl TempDir {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("lariat-{name}-{}", uuid::Uuid::new_v4()));
        create_dir_durably(&path).unwrap();
        Self(path)
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn put_replaces_the_file_and_leaves_no_temporary_file() {
    let dir = TempDir::new("put");
    let path = dir.0.join("a");
    assert_eq!(read(&path).unwrap(), None);
    put(&path, b"one").unwrap();
    put(&path, b"two").unwrap();
    assert_eq!(read(&path).unwrap().unwrap(), b"two");
    assert_eq!(list(&dir.0).unwrap(), std::slice::from_ref(&path));
    assert!(put(&dir.0.join("no/such/directory"), b"x").is_err());
    remove(&path).unwrap();
    remove(&path).unwrap();
}

#[test]
fn creates_directories_with_parents_and_accepts_existing_ones() {
    let dir = TempDir::new("directories");
    let deep = dir.0.join("a/b/c");
    create_dir_durably(&deep).unwrap();
    create_dir_durably(&deep).unwrap();
    create_dir_durably(&dir.0.join("a/d")).unwrap();
    assert!(deep.is_dir() && dir.0.join("a/d").is_dir());
    put(&dir.0.join("file"), b"x").unwrap();
    assert!(create_dir_durably(&dir.0.join("file/below")).is_err());
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| create_dir_durably(&dir.0.join("all/at/once")).unwrap());
        }
    });
}

#[test]
fn lock_excludes_others_names_its_holder_and_is_released_on_drop() {
    let dir = TempDir::new("lock");
    let path = dir.0.join("s.lock");
    let lock = Lock::take(&path).unwrap();
    match Lock::take(&path) {
        Err(LockError::HeldBy(holder)) => assert_eq!(holder, format!("process {}", std::process::id())),
        other => panic!("{other:?}"),
    }
    drop(lock);
    assert!(!path.exists());
    drop(Lock::take(&path).unwrap());
}

#[test]
fn threads_that_race_for_a_lock_never_hold_it_together() {
    let dir = TempDir::new("race");
    let path = dir.0.join("s.lock");
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
