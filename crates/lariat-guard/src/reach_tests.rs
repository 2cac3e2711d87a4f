use super::*;
use crate::place::Entry;

/// A directory `/w` with files, a hidden file, a directory, and links out of it.
struct World;

const NAMES: &[(&str, &str)] = &[
    ("/w", "a.txt b.md .env sub/ out@ note@"),
    ("/w/sub", "x .hidden deep/ away@"),
    ("/w/sub/deep", "y"),
    ("/outside", "secret"),
];

impl Resolver for World {
    fn real(&self, path: &Path) -> Option<PathBuf> {
        let path = plain(path);
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

fn files(reach: &Reach) -> Vec<String> {
    let mut files: Vec<String> =
        reach.found().files.iter().map(|file| file.named.display().to_string()).collect();
    files.sort();
    files
}

fn fitting(pattern: &str, depth: Depth) -> Reach {
    Reach::fitting(Path::new("/w"), pattern, depth, Arc::new(World))
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
        assert_eq!(files(&fitting(pattern, Depth::Names)), expected, "{pattern}");
    }
    assert!(files(&fitting("[[:alpha:]]*", Depth::Names)).contains(&"/w/a.txt".to_owned()));
}

#[test]
fn reports_followed_links() {
    assert_eq!(fitting("o*/*", Depth::Names).found().links, [PathBuf::from("/outside")]);
    assert_eq!(fitting("*.txt", Depth::Names).found().links, [] as [PathBuf; 0]);
    let folder = Reach::beneath(PathBuf::from("/w/sub"), Depth::Files, Arc::new(World));
    assert_eq!(folder.found().links, [PathBuf::from("/outside/secret")]);
}

#[test]
fn recursive_reader_enters_directories_but_follows_no_links() {
    let all = Reach::beneath(PathBuf::from("/w"), Depth::Everything { hidden: true }, Arc::new(World));
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
    let visible = Reach::beneath(PathBuf::from("/w"), Depth::Everything { hidden: false }, Arc::new(World));
    assert!(!files(&visible).iter().any(|file| file.contains("/.")));
    assert!(files(&fitting("s*", Depth::Everything { hidden: true })).contains(&"/w/sub/.hidden".to_owned()));
}

#[test]
fn result_is_incomplete_if_nothing_is_known_about_files() {
    let reach = Reach::beneath(PathBuf::from("/w"), Depth::Files, Arc::new(crate::place::NoLinks));
    assert!(!reach.found().is_whole && reach.found().files.is_empty());
}
