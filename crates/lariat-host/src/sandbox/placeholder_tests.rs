use super::*;

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("lariat-placeholder-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn paths(&self) -> Vec<PathBuf> {
        [".git", ".claude", ".mcp.json"].iter().map(|name| self.0.join(name)).collect()
    }

    fn names(&self) -> Vec<String> {
        let listed = std::fs::read_dir(&self.0).unwrap();
        let mut names: Vec<_> =
            listed.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn what_is_missing_is_made_and_taken_away_again() {
    let folder = Folder::new("missing");
    let made = Placeholders::make(&folder.paths()).unwrap();
    assert_eq!(folder.names(), [".claude", ".git", ".mcp.json"]);
    assert!(folder.0.join(".git").is_dir() && folder.0.join(".mcp.json").is_file());
    drop(made);
    assert!(folder.names().is_empty());
}

#[test]
fn what_is_there_is_not_touched() {
    let folder = Folder::new("there");
    std::fs::create_dir(folder.0.join(".git")).unwrap();
    std::fs::write(folder.0.join(".mcp.json"), "{}").unwrap();
    drop(Placeholders::make(&folder.paths()).unwrap());
    assert_eq!(folder.names(), [".git", ".mcp.json"]);
}

#[test]
fn the_last_who_needs_one_takes_it_away() {
    let folder = Folder::new("last");
    let first = Placeholders::make(&folder.paths()).unwrap();
    let second = Placeholders::make(&folder.paths()).unwrap();
    drop(first);
    assert_eq!(folder.names().len(), 3);
    drop(second);
    assert!(folder.names().is_empty());
}

#[test]
fn what_a_crash_left_is_taken_away_by_the_next() {
    let folder = Folder::new("crash");
    std::mem::forget(Placeholders::make(&folder.paths()[..0]).unwrap());
    create(&folder.0.join(".git")).unwrap();
    drop(Placeholders::make(&folder.paths()).unwrap());
    assert!(folder.names().is_empty());
}
