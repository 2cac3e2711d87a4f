#![expect(clippy::disallowed_methods, reason = "these tests read their own processor time")]

use super::*;
use crate::test_folder::TestFolder;

const START: Duration = Duration::from_secs(100);

fn sorted_paths(paths: &[&str]) -> Vec<Arc<str>> {
    sorted(paths.iter().map(|path| Arc::from(*path)).collect())
}

fn find(paths: &[&str], query: &str) -> Vec<String> {
    best(&sorted_paths(paths), query, 10, &[])
}

fn index(folder: &TestFolder) -> FileIndex {
    let mut index = FileIndex::new(folder.path().to_owned());
    index.refresh(START);
    index.finish();
    index
}

#[test]
fn leaves_out_what_git_ignores() {
    let folder = TestFolder::new();
    for (path, text) in [
        (".gitignore", "target/\n*.log\n"),
        (".github/ci.yml", ""),
        (".git/config", ""),
        ("target/debug/x", ""),
        ("a.log", ""),
        ("src/main.rs", ""),
        ("src/.gitignore", "generated.rs\n"),
        ("src/generated.rs", ""),
        ("src/keep.rs", ""),
    ] {
        folder.write(path, text);
    }
    let found = index(&folder).search("", 50, START);
    let expected =
        ["src/", ".github/", ".gitignore", "src/keep.rs", "src/main.rs", ".github/ci.yml", "src/.gitignore"];
    assert_eq!(found, expected);
}

#[test]
fn an_old_index_is_walked_again_at_the_next_search() {
    let folder = TestFolder::new();
    folder.write("one.rs", "");
    let mut index = index(&folder);
    folder.write("two.rs", "");
    let almost = START + MAX_AGE - Duration::from_millis(1);
    index.search("rs", 10, almost);
    index.finish();
    assert_eq!(index.search("rs", 10, almost), ["one.rs"]);
    // The first search after the age answers from the old index and starts the walk.
    assert_eq!(index.search("one", 10, START + MAX_AGE), ["one.rs"]);
    index.finish();
    assert_eq!(index.search("rs", 10, START + MAX_AGE), ["one.rs", "two.rs"]);
}

#[test]
fn a_missing_directory_has_no_files() {
    let mut index = FileIndex::new("/does/not/exist".into());
    index.refresh(START);
    index.finish();
    assert_eq!(index.search("", 10, START), [""; 0]);
}

#[test]
fn a_walk_stops_at_the_bound_and_publishes_on_the_way() {
    let folder = TestFolder::new();
    (0..FIRST_PATHS + 10).for_each(|at| drop(folder.write(&format!("f{at}"), "")));
    let counts = Mutex::new(Vec::new());
    let publish = |paths: &[Arc<str>]| counts.lock().unwrap().push(paths.len());
    walk(folder.path(), true, &AtomicBool::new(false), publish);
    walk(folder.path(), false, &AtomicBool::new(false), publish);
    walk(folder.path(), false, &AtomicBool::new(true), publish);
    assert_eq!(*counts.lock().unwrap(), [FIRST_PATHS, FIRST_PATHS + 10, FIRST_PATHS + 10]);
}

#[test]
fn prefers_names_and_short_paths() {
    let paths =
        ["deep/composer/in/there.rs", "crates/tui/src/composer.rs", "src/composer.rs", "com/po/s/er.rs"];
    assert_eq!(find(&paths, "composer")[..2], ["src/composer.rs", "crates/tui/src/composer.rs"]);
    assert_eq!(find(&paths, "tuicomp"), ["crates/tui/src/composer.rs"]);
    assert_eq!(find(&paths, "xyz"), [""; 0]);
    assert_eq!(find(&["日本/語.md", "other.md"], "語"), ["日本/語.md"]);
    assert_eq!(find(&paths, &"x".repeat(10_000)), [""; 0]);
}

#[test]
fn prefers_what_was_chosen_before() {
    let folder = TestFolder::new();
    ["a/mod.rs", "b/mod.rs", "c/mod.rs"].iter().for_each(|path| drop(folder.write(path, "")));
    let mut index = index(&folder);
    assert_eq!(index.search("mod", 10, START), ["a/mod.rs", "b/mod.rs", "c/mod.rs"]);
    index.chosen("c/mod.rs");
    index.chosen("gone.rs");
    assert_eq!(index.search("mod", 10, START)[0], "c/mod.rs");
    assert_eq!(index.search("", 2, START), ["c/mod.rs", "a/"]);
    assert_eq!(index.search("", 0, START), [""; 0]);
}

/// Paths as in a large repository.
fn many(count: usize) -> Vec<Arc<str>> {
    let parts = ["core", "session", "terminal", "composer", "transcript", "network", "storage", "drivers"];
    let path = |at: usize| {
        let part = |step: usize| parts[(at / step) % parts.len()];
        format!("crates/{}/src/{}/{}/file_{at}.rs", part(1), part(8), part(64))
    };
    sorted((0..count).map(|at| path(at).into()).collect())
}

/// The time that this thread had a processor, which other programs do not change.
fn processor_time() -> Duration {
    let times = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    Duration::from_nanos(times.split(' ').next().unwrap().parse().unwrap())
}

/// The slowest of a few queries in an index of 100,000 paths.
fn slowest() -> Duration {
    let paths = many(100_000);
    let time = |query: &&str| {
        let start = processor_time();
        assert!(!best(&paths, query, 20, &[]).is_empty(), "{query}");
        processor_time() - start
    };
    ["f", "comp", "sessterm", "composer/transcript/file_9", "file_4711.rs"].iter().map(time).max().unwrap()
}

#[test]
fn finds_in_100_000_paths_without_a_noticeable_delay() {
    let slowest = slowest();
    assert!(slowest < Duration::from_millis(500), "{slowest:?}");
}

#[test]
#[ignore = "a figure of a release build: cargo test --release -p lariat-tui -- --ignored --nocapture figure"]
fn figure_of_a_search_in_100_000_paths() {
    let slowest = slowest();
    println!("slowest of 5 queries in 100,000 paths: {slowest:?}");
    assert!(slowest < Duration::from_millis(10), "{slowest:?}");
}
