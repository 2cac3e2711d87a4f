use super::*;
use crate::resolve::Entry;

/// A directory `/w` with files, a hidden file, a directory, and links out of it.
struct TestFiles;

const NAMES: &[(&str, &str)] = &[
    ("/w", "a.txt b.md .env sub/ out@ note@"),
    ("/w/sub", "x .hidden deep/ away@"),
    ("/w/sub/deep", "y"),
    ("/outside", "secret"),
];

impl Resolver for TestFiles {
    fn real(&self, path: &Path) -> Option<PathBuf> {
        let path = normalize(path);
        for (link, to) in
            [("/w/out", "/outside"), ("/w/note", "/w/sub/x"), ("/w/sub/away", "/outside/secret")]
        {
            if let Ok(rest) = path.strip_prefix(link) {
                let to = PathBuf::from(to);
                return Some(if rest.as_os_str().is_empty() { to } else { to.join(rest) });
            }
        }
        Some(path)
    }

    fn list(&self, directory: &Path) -> Option<Vec<Entry>> {
        let names =
            NAMES.iter().find(|(folder, _)| directory == Path::new(folder)).map_or("", |(_, names)| names);
        let entry = |name: &str| match (name.strip_suffix('/'), name.strip_suffix('@')) {
            (Some(name), _) => Entry::new(name, EntryKind::Directory),
            (_, Some(name)) => Entry::new(name, EntryKind::Link),
            _ => Entry::new(name, EntryKind::File),
        };
        Some(names.split(' ').filter(|name| !name.is_empty()).map(entry).collect())
    }
}

fn files(matched: &MatchedFiles) -> Vec<String> {
    let mut files: Vec<String> =
        matched.walk_result().files.iter().map(|file| file.named.display().to_string()).collect();
    files.sort();
    files
}

fn matching(pattern: &str, depth: Depth) -> MatchedFiles {
    MatchedFiles::from_pattern(Path::new("/w"), pattern, depth, Arc::new(TestFiles))
}

#[test]
fn pattern_matches_the_names_that_bash_matches() {
    for (pattern, expected) in [
        ("*.txt", &["/w/a.txt"][..]),
        (".e*", &["/w/.env"]),
        (".E*", &["/w/.env"]),
        ("[!a]*", &["/w/b.md", "/w/note", "/w/out", "/w/sub"]),
        ("*/x", &["/w/note/x", "/w/out/x", "/w/sub/x"]),
        ("sub/*", &["/w/sub/away", "/w/sub/deep", "/w/sub/x"]),
        ("/w/sub/.*", &["/w/sub/.hidden"]),
        ("o*/*", &["/w/out/secret"]),
        ("./?.md", &["/w/b.md"]),
    ] {
        assert_eq!(files(&matching(pattern, Depth::Names)), expected, "{pattern}");
    }
    assert!(files(&matching("[[:alpha:]]*", Depth::Names)).contains(&"/w/a.txt".to_owned()));
}

#[test]
fn reports_followed_links() {
    assert_eq!(matching("o*/*", Depth::Names).walk_result().links, [PathBuf::from("/outside")]);
    assert_eq!(matching("*.txt", Depth::Names).walk_result().links, [] as [PathBuf; 0]);
    let folder = MatchedFiles::in_directory(PathBuf::from("/w/sub"), Depth::Files, Arc::new(TestFiles));
    assert_eq!(folder.walk_result().links, [PathBuf::from("/outside/secret")]);
}

#[test]
fn recursive_reader_enters_directories_but_follows_no_links() {
    let all = MatchedFiles::in_directory(
        PathBuf::from("/w"),
        Depth::Everything { hidden: true },
        Arc::new(TestFiles),
    );
    assert_eq!(
        files(&all),
        [
            "/w/.env",
            "/w/a.txt",
            "/w/b.md",
            "/w/sub",
            "/w/sub/.hidden",
            "/w/sub/deep",
            "/w/sub/deep/y",
            "/w/sub/x"
        ]
    );
    let visible = MatchedFiles::in_directory(
        PathBuf::from("/w"),
        Depth::Everything { hidden: false },
        Arc::new(TestFiles),
    );
    assert!(!files(&visible).iter().any(|file| file.contains("/.")));
    assert!(
        files(&matching("s*", Depth::Everything { hidden: true })).contains(&"/w/sub/.hidden".to_owned())
    );
}

#[test]
fn result_is_incomplete_if_nothing_is_known_about_files() {
    let matched =
        MatchedFiles::in_directory(PathBuf::from("/w"), Depth::Files, Arc::new(crate::resolve::NoLinks));
    assert!(!matched.walk_result().is_complete && matched.walk_result().files.is_empty());
}
