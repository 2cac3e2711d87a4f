//! Tests the walk in real directories.
#![expect(clippy::disallowed_methods, reason = "the test creates its own files")]

use std::ops::ControlFlow;
use std::path::PathBuf;

use lariat_core::cancel::CancellationToken;
use lariat_core::tool::ToolError;
use lariat_host::files::Workspace;

use super::{Rules, VisitedFile, Visitor, Walk};

struct Names;

impl Visitor for Names {
    type Finding = String;
    type ThreadState = ();

    fn thread_state(&self) {}

    fn wants(&self, path: &str) -> bool {
        !path.ends_with(".no")
    }

    fn visit(&self, (): &mut (), file: &VisitedFile<'_>, found: &mut Vec<String>) -> ControlFlow<()> {
        found.push(file.path.to_owned());
        ControlFlow::Continue(())
    }
}

fn folder(name: &str, files: &[(&str, &str)]) -> PathBuf {
    let base = std::env::temp_dir().join(format!("lariat-tree-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&base);
    std::fs::create_dir_all(&base).unwrap();
    for (path, text) in files {
        let path = base.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    base
}

fn walked(base: &PathBuf, path: &str, most: usize) -> Vec<String> {
    let workspace = Workspace::open(base).unwrap();
    let cancel = CancellationToken::new();
    let mut names = Vec::new();
    let rules = Rules::above(&workspace, path);
    Walk { workspace: &workspace, path, rules, cancel: &cancel }
        .run(&Names, |found| {
            names.extend(found);
            if names.len() >= most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
        .unwrap();
    names
}

#[test]
fn walks_files_before_directories_by_name() {
    let base =
        folder("order", &[("b/x", ""), ("a/y", ""), ("a/b/z", ""), ("c", ""), ("a.no", ""), ("0/0", "")]);
    assert_eq!(walked(&base, ".", 100), ["c", "0/0", "a/y", "a/b/z", "b/x"]);
    assert_eq!(walked(&base, "a", 100), ["a/y", "a/b/z"]);
    std::fs::remove_dir_all(base).unwrap();
}

#[test]
fn walk_order_is_stable_and_a_limit_cuts_the_end() {
    let names: Vec<String> = (0..60)
        .flat_map(|folder| (0..20).map(move |file| format!("d{folder:02}/e{}/f{file:02}", folder % 3)))
        .collect();
    let mut files: Vec<_> = names.iter().map(|name| (name.as_str(), "")).collect();
    let wide: Vec<String> = (0..300).map(|file| format!("wide/{file:03}")).collect();
    files.extend(wide.iter().map(|name| (name.as_str(), "")));
    let base = folder("large", &files);
    let first = walked(&base, ".", usize::MAX);
    let mut sorted: Vec<_> = files.iter().map(|(name, _)| (*name).to_owned()).collect();
    sorted.sort();
    assert_eq!(first, sorted);
    for most in [1, 100, 700, 1_400] {
        for _ in 0..20 {
            let some = walked(&base, ".", most);
            assert!(some.len() >= most);
            assert_eq!(some, first[..some.len()]);
        }
    }
    std::fs::remove_dir_all(base).unwrap();
}

#[test]
fn applies_ignore_files_and_the_deepest_decides() {
    let base = folder(
        "ignored",
        &[
            (".gitignore", "*.log\n/target\n"),
            ("a.log", ""),
            ("target/x", ""),
            ("src/target/y", ""),
            ("src/.gitignore", "!keep.log\n"),
            ("src/keep.log", ""),
            ("src/b.log", ""),
            ("src/.ignore", "secret\n"),
            ("src/secret/z", ""),
            (".git/config", ""),
            (".git/info/exclude", "excluded\n"),
            ("excluded", ""),
        ],
    );
    let expected = ["src/.gitignore", "src/.ignore", "src/keep.log", "src/target/y"];
    assert_eq!(walked(&base, ".", 100)[1..], expected);
    assert_eq!(walked(&base, "src", 100), expected);
    assert_eq!(walked(&base, "target", 100), ["target/x"]);
    std::fs::remove_dir_all(base).unwrap();
}

#[test]
fn links_are_not_followed() {
    let base = folder("links", &[("real/a", "")]);
    std::os::unix::fs::symlink(base.join("real"), base.join("again")).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", base.join("outside")).unwrap();
    assert_eq!(walked(&base, ".", 100), ["real/a"]);
    std::fs::remove_dir_all(base).unwrap();
}

#[test]
fn cancelled_walk_returns_cancelled() {
    let base = folder("cancelled", &[("a", ""), ("b", "")]);
    let workspace = Workspace::open(&base).unwrap();
    let cancel = CancellationToken::new();
    cancel.cancel();
    let walk = Walk { workspace: &workspace, path: ".", rules: Rules::Nothing, cancel: &cancel };
    assert_eq!(walk.run(&Names, |_| ControlFlow::Continue(())), Err(ToolError::Cancelled));
    std::fs::remove_dir_all(base).unwrap();
}
