//! Applies differences between snapshots to a work tree: whole files, links and permissions, conflicts, leftovers of kills.

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use lariat_host::git::{GitError, WorkTreeSnapshots};

use crate::git::snapshots;
use crate::temp_directory::TempDirectory;

/// A directory with snapshots, and the files of a copy of it.
struct Copied {
    path: PathBuf,
    copy: PathBuf,
    original: WorkTreeSnapshots,
    copied: WorkTreeSnapshots,
    before: String,
}

impl Copied {
    async fn new(folder: &TempDirectory, write: impl FnOnce(&Path)) -> Self {
        let path = folder.path().join("plain");
        std::fs::create_dir(&path).unwrap();
        write(&path);
        let original = snapshots(&path, folder).await;
        let before = original.take().await.unwrap();
        let copy = folder.path().join("copy");
        let copied = original.copy_to(&before, &copy).await.unwrap();
        Self { path, copy, original, copied, before }
    }

    fn text(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.path.join(name)).ok()
    }

    fn mode(&self, name: &str) -> u32 {
        self.path.join(name).symlink_metadata().unwrap().permissions().mode() & 0o777
    }
}

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

/// The names of all entries of a directory, sorted.
fn names(path: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(path).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[tokio::test]
async fn difference_is_applied_beside_other_changes_and_not_over_them() {
    let folder = TempDirectory::new();
    let path = folder.path().join("plain");
    std::fs::create_dir(&path).unwrap();
    for name in ["changed.txt", "deleted.txt", "mine.txt"] {
        std::fs::write(path.join(name), "one\n").unwrap();
    }
    let original = snapshots(&path, &folder).await;
    let before = original.take().await.unwrap();
    let copy = folder.path().join("copy");
    let copied = original.copy_to(&before, &copy).await.unwrap();
    assert!(!copy.join(".git").exists(), "the original is not a repository");
    std::fs::write(copy.join("changed.txt"), "two\n").unwrap();
    std::fs::remove_file(copy.join("deleted.txt")).unwrap();
    std::fs::create_dir(copy.join("sub")).unwrap();
    std::fs::write(copy.join("sub/new.txt"), "new\n").unwrap();
    let after = copied.take().await.unwrap();

    // The user changed a file that the copy changed, too: nothing happens.
    std::fs::write(path.join("mine.txt"), "mine\n").unwrap();
    std::fs::write(path.join("changed.txt"), "mine\n").unwrap();
    let now = original.take().await.unwrap();
    assert_eq!(original.conflicts(&before, &after, &now).await.unwrap(), ["changed.txt"]);
    original.apply(&before, &after).await.unwrap_err();
    assert_eq!(std::fs::read_to_string(path.join("changed.txt")).unwrap(), "mine\n");
    assert!(path.join("deleted.txt").exists() && !path.join("sub").exists());

    std::fs::write(path.join("changed.txt"), "one\n").unwrap();
    let now = original.take().await.unwrap();
    assert!(original.conflicts(&before, &after, &now).await.unwrap().is_empty());
    // The second time, a killed process had already applied it.
    for _ in 0..2 {
        original.apply(&before, &after).await.unwrap();
        assert_eq!(std::fs::read_to_string(path.join("changed.txt")).unwrap(), "two\n");
        assert_eq!(std::fs::read_to_string(path.join("sub/new.txt")).unwrap(), "new\n");
        assert_eq!(std::fs::read_to_string(path.join("mine.txt")).unwrap(), "mine\n", "not part of it");
        assert!(!path.join("deleted.txt").exists());
    }
    // And back.
    original.apply(&after, &before).await.unwrap();
    assert!(path.join("deleted.txt").exists() && !path.join("sub").exists());
    assert_eq!(std::fs::read_to_string(path.join("mine.txt")).unwrap(), "mine\n");
}

#[tokio::test]
async fn links_permissions_and_replaced_directories_are_applied_and_reverted() {
    let folder = TempDirectory::new();
    let tree = Copied::new(&folder, |path| {
        for name in ["private.txt", "script.sh", "file", "to-link"] {
            std::fs::write(path.join(name), "one\n").unwrap();
        }
        set_mode(&path.join("private.txt"), 0o600);
        symlink("file", path.join("link")).unwrap();
        std::fs::create_dir(path.join("folder")).unwrap();
        std::fs::write(path.join("folder/inner"), "inner\n").unwrap();
    })
    .await;
    let copy = |name: &str| tree.copy.join(name);
    std::fs::write(copy("private.txt"), "two\n").unwrap();
    set_mode(&copy("script.sh"), 0o755);
    std::fs::remove_file(copy("link")).unwrap();
    symlink("folder", copy("link")).unwrap();
    std::fs::remove_file(copy("to-link")).unwrap();
    symlink("/nowhere", copy("to-link")).unwrap();
    // A file takes the place of a directory, and a directory that of a file.
    std::fs::remove_dir_all(copy("folder")).unwrap();
    std::fs::write(copy("folder"), "now a file\n").unwrap();
    std::fs::remove_file(copy("file")).unwrap();
    std::fs::create_dir_all(copy("file/deep")).unwrap();
    std::fs::write(copy("file/deep/name \u{e4}\n.txt"), "deep\n").unwrap();
    let after = tree.copied.take().await.unwrap();
    // An application that was interrupted after some of the files.
    std::fs::write(tree.path.join("private.txt"), "two\n").unwrap();
    std::fs::remove_dir_all(tree.path.join("folder")).unwrap();
    for _ in 0..2 {
        tree.original.apply(&tree.before, &after).await.unwrap();
        assert_eq!(tree.text("private.txt").as_deref(), Some("two\n"));
        assert_eq!((tree.mode("private.txt"), tree.mode("script.sh") & 0o700), (0o600, 0o700));
        assert_eq!(std::fs::read_link(tree.path.join("link")).unwrap(), Path::new("folder"));
        assert_eq!(std::fs::read_link(tree.path.join("to-link")).unwrap(), Path::new("/nowhere"));
        assert_eq!(tree.text("folder").as_deref(), Some("now a file\n"));
        assert_eq!(tree.text("file/deep/name \u{e4}\n.txt").as_deref(), Some("deep\n"));
        assert_eq!(tree.original.take().await.unwrap(), after);
    }
    tree.original.apply(&after, &tree.before).await.unwrap();
    assert_eq!(tree.original.take().await.unwrap(), tree.before);
    assert_eq!(tree.mode("private.txt"), 0o600);
    assert_eq!(names(&tree.path), ["file", "folder", "link", "private.txt", "script.sh", "to-link"]);
    assert!(!names(&folder.path().join("snapshots")).contains(&"staged".to_owned()), "nothing is left");
}

#[tokio::test(flavor = "multi_thread")]
async fn file_is_whole_at_every_moment_of_an_application() {
    const ROUNDS: usize = 4;
    let folder = TempDirectory::new();
    let old = "old line\n".repeat(400_000);
    let new = "new line\n".repeat(400_000);
    let tree = Copied::new(&folder, |path| std::fs::write(path.join("large.txt"), &old).unwrap()).await;
    std::fs::write(tree.copy.join("large.txt"), &new).unwrap();
    let after = tree.copied.take().await.unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let watching = scope.spawn(|| {
            let (mut olds, mut news) = (0, 0);
            while !done.load(Ordering::Acquire) {
                let text = tree.text("large.txt").unwrap_or_else(|| panic!("the file is missing"));
                olds += usize::from(text == old);
                news += usize::from(text == new);
                assert!(text == old || text == new, "{} bytes of neither state", text.len());
            }
            (olds, news)
        });
        tokio::task::block_in_place(|| {
            tokio::runtime::Handle::current().block_on(async {
                for _ in 0..ROUNDS {
                    tree.original.apply(&tree.before, &after).await.unwrap();
                    tree.original.apply(&after, &tree.before).await.unwrap();
                    if watching.is_finished() {
                        break;
                    }
                }
            });
        });
        done.store(true, Ordering::Release);
        let (olds, news) = watching.join().unwrap();
        assert!(olds > 0 && news > 0, "the watcher saw both states: {olds} and {news}");
    });
}

#[tokio::test]
async fn ignored_file_in_the_way_of_a_new_one_is_a_conflict() {
    let folder = TempDirectory::new();
    let tree = Copied::new(&folder, |path| std::fs::write(path.join("a.txt"), "one\n").unwrap()).await;
    std::fs::write(tree.copy.join("a.txt"), "two\n").unwrap();
    std::fs::write(tree.copy.join("notes.log"), "theirs\n").unwrap();
    let after = tree.copied.take().await.unwrap();
    std::fs::write(tree.path.join(".gitignore"), "*.log\n").unwrap();
    std::fs::write(tree.path.join("notes.log"), "mine\n").unwrap();
    match tree.original.apply(&tree.before, &after).await {
        Err(GitError::Conflict(files)) => assert_eq!(files, ["notes.log"]),
        other => panic!("{other:?}"),
    }
    assert_eq!(tree.text("notes.log").as_deref(), Some("mine\n"));
    assert_eq!(tree.text("a.txt").as_deref(), Some("one\n"), "nothing was written");
}

#[tokio::test]
async fn killed_application_leaves_no_temporary_files() {
    let folder = TempDirectory::new();
    let tree = Copied::new(&folder, |path| std::fs::write(path.join("a.txt"), "one\n").unwrap()).await;
    std::fs::write(tree.copy.join("a.txt"), "two\n").unwrap();
    let after = tree.copied.take().await.unwrap();
    // What a kill leaves before it renames the new file, and the files that git had checked out.
    std::fs::write(tree.path.join(".lariat-new-0123456789abcdef"), "tw").unwrap();
    let staged = folder.path().join("snapshots/staged");
    std::fs::create_dir(&staged).unwrap();
    std::fs::write(staged.join("a.txt"), "tw").unwrap();
    tree.original.apply(&tree.before, &after).await.unwrap();
    assert_eq!(names(&tree.path), ["a.txt"]);
    assert_eq!(tree.text("a.txt").as_deref(), Some("two\n"));
}
