use std::cell::RefCell;
use std::collections::BTreeMap;

use super::*;
use crate::trust::Entry;

#[derive(Default)]
struct Files(RefCell<BTreeMap<String, Vec<u8>>>);

impl Files {
    fn with(files: &[(&str, &str)]) -> Self {
        let files = files.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec()));
        Self(RefCell::new(files.collect()))
    }

    fn write(&self, path: &str, text: &str) {
        self.0.borrow_mut().insert(path.to_owned(), text.as_bytes().to_vec());
    }
}

impl WorkspaceReader for Files {
    fn entries(&self, _: &str) -> Result<Vec<Entry>, String> {
        Ok(Vec::new())
    }

    fn read(&self, path: &str, _: usize) -> Result<Option<Vec<u8>>, String> {
        Ok(self.0.borrow().get(path).cloned())
    }
}

fn pinned(command: &str, files: &Files) -> Scripts {
    let pins = Scripts::of(command, Path::new("/w"), Path::new("/people/me"), files).unwrap();
    Scripts { pins, ..Scripts::default() }
}

/// A script is pinned however the command names it, and a change is detected.
#[test]
fn pins_scripts_however_they_are_named() {
    for (command, script) in [
        ("sh tools/h.sh", "tools/h.sh"),
        ("tools/h", "tools/h"),
        ("./tools/h --fast", "tools/h"),
        ("bash -eu tools/h", "tools/h"),
        (". tools/h", "tools/h"),
        ("\"$CLAUDE_PROJECT_DIR\"/tools/h.sh", "tools/h.sh"),
        ("${CLAUDE_PROJECT_DIR}/tools/h", "tools/h"),
        ("cd tools && ./h.sh", "tools/h.sh"),
        ("cd tools; sh h", "tools/h"),
        ("cat | python3 -u tools/h.py", "tools/h.py"),
        ("python -m tools.h", "tools/h.py"),
        ("python3 -m tools", "tools/__main__.py"),
        ("npm run lint", "package.json"),
        ("make -C sub check", "sub/Makefile"),
        ("make check", "Makefile"),
        ("just check", "justfile"),
        ("/w/tools/h", "tools/h"),
        ("tools/../tools/h", "tools/h"),
        ("sh < tools/h.sh", "tools/h.sh"),
        ("echo x | sh tools/h >> log.txt 2>&1", "tools/h"),
        ("env A=1 node ./tools/h.mjs", "tools/h.mjs"),
    ] {
        let files = Files::with(&[(script, r#"{"scripts": {"lint": "true"}}"#), ("log.txt", "a")]);
        let scripts = pinned(command, &files);
        assert!(scripts.run_workspace_code(), "{command}");
        assert!(!scripts.pins.iter().any(|pin| pin.path == "log.txt"), "{command}");
        assert_eq!(scripts.check(&files), Ok(()), "{command}");
        files.write(script, r#"{"scripts": {"lint": "evil"}}"#);
        let why = scripts.check(&files).unwrap_err();
        assert!(why.contains(script) && why.contains("changed"), "{command}: {why}");
    }
}

#[test]
fn new_script_is_a_change() {
    for (command, script) in [
        ("sh h", "h"),
        ("./h", "h"),
        ("python -m pkg", "pkg/__main__.py"),
        ("make", "GNUmakefile"),
        ("node x.js", "x.js"),
    ] {
        let files = Files::default();
        let scripts = pinned(command, &files);
        assert!(!scripts.run_workspace_code(), "{command}");
        assert_eq!(scripts.check(&files), Ok(()), "{command}");
        files.write(script, "evil");
        assert!(scripts.check(&files).unwrap_err().contains("appeared"), "{command}");
    }
}

#[test]
fn data_files_named_by_a_hook_may_change() {
    let files =
        Files::with(&[("notes.md", "a"), ("out.log", "a"), ("src/main.rs", "a"), ("package.json", "{}")]);
    for command in ["cat notes.md", "jq . >> out.log", "rustfmt src/main.rs", "npm test"] {
        let scripts = pinned(command, &files);
        for (path, text) in [("notes.md", "b"), ("out.log", "b"), ("src/main.rs", "b")] {
            files.write(path, text);
        }
        files.write("package.json", r#"{"dependencies": {"left-pad": "1"}}"#);
        assert_eq!(scripts.check(&files), Ok(()), "{command}");
    }
}
