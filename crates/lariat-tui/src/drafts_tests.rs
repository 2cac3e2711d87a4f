use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use super::*;
use crate::test_folder::TestFolder;

/// How the test below starts itself as the program that is killed.
const CHILD: &str = "LARIAT_TUI_DRAFT_CHILD";

fn draft(folder: &TestFolder) -> DraftFile {
    DraftFile::new(folder.path().join("drafts/session"))
}

#[test]
fn a_draft_comes_back_unchanged_and_is_private() {
    let folder = TestFolder::new();
    let text = "two\nlines \u{1b}[31m 日本\r\n";
    assert_eq!(draft(&folder).load().unwrap(), "");
    draft(&folder).save(text).unwrap();
    assert_eq!(draft(&folder).load().unwrap(), text);
    assert_eq!(folder.mode("drafts/session"), 0o600);
}

#[test]
fn a_draft_that_was_sent_is_removed() {
    let folder = TestFolder::new();
    let mut one = draft(&folder);
    one.save("hello").unwrap();
    one.remove().unwrap();
    one.remove().unwrap();
    assert_eq!(folder.read("drafts/session"), None);
    assert_eq!(draft(&folder).load().unwrap(), "");
}

#[test]
fn an_unchanged_draft_is_not_written_again() {
    let folder = TestFolder::new();
    let mut one = draft(&folder);
    one.save("hello").unwrap();
    folder.write("drafts/session", "changed by another program");
    one.save("hello").unwrap();
    assert_eq!(folder.read("drafts/session").as_deref(), Some("changed by another program"));
}

#[test]
fn a_draft_that_is_too_long_is_refused_and_the_old_one_stays() {
    let folder = TestFolder::new();
    let mut one = draft(&folder);
    one.save("hello").unwrap();
    assert_eq!(one.save(&"x".repeat(MAX_DRAFT + 1)).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
    assert_eq!(draft(&folder).load().unwrap(), "hello");
}

/// A whole draft: a number and as many letters.
fn version(number: usize) -> String {
    format!("{number} {}", "x".repeat(number))
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the test starts itself as the program that is killed")]
fn kill_leaves_the_last_whole_draft() {
    if let Ok(path) = std::env::var(CHILD) {
        let mut draft = DraftFile::new(path.into());
        for number in 0_usize.. {
            draft.save(&version(number % 50_000)).unwrap();
            println!("saved {number}");
        }
    }
    let folder = TestFolder::new();
    for enough in [1, 20, 100] {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["drafts::tests::kill_leaves_the_last_whole_draft", "--exact", "--nocapture"])
            .env(CHILD, folder.path().join("drafts/session"))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let saved = lines.filter(|line| line.contains("saved ")).nth(enough);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(saved.is_some());
        let text = draft(&folder).load().unwrap();
        let number: usize = text.split(' ').next().unwrap().parse().unwrap();
        assert!(number >= enough && text == version(number), "{} bytes", text.len());
    }
}
