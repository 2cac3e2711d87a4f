use super::*;
use crate::test_folder::TestFolder;

fn history(folder: &TestFolder) -> History {
    History::new(folder.path().join("sub/history.jsonl"))
}

#[test]
fn messages_come_back_in_order_and_unchanged() {
    let folder = TestFolder::new();
    let texts = ["first", "two\nlines\t\u{1b}[31m 日本", "  spaces  "];
    let mut one = history(&folder);
    assert_eq!(one.load().unwrap(), [""; 0]);
    texts.iter().for_each(|text| one.append(text).unwrap());
    assert_eq!(history(&folder).load().unwrap(), texts);
    assert_eq!(folder.mode("sub/history.jsonl"), 0o600);
}

#[test]
fn repeated_empty_and_huge_messages_are_left_out() {
    let folder = TestFolder::new();
    let mut one = history(&folder);
    for text in ["a", "a", " \n", &"x".repeat(MAX_ENTRY + 1), "b", "a"] {
        one.append(text).unwrap();
    }
    assert_eq!(history(&folder).load().unwrap(), ["a", "b", "a"]);
}

#[test]
fn damaged_lines_are_skipped_and_a_cut_line_does_not_damage_the_next() {
    let folder = TestFolder::new();
    folder.write(
        "sub/history.jsonl",
        "{\"text\":\"a\"}\nnoise\n{\"text\":1}\n{\"other\":\"x\"}\n\n{\"text\":\"cut",
    );
    history(&folder).append("b").unwrap();
    assert_eq!(history(&folder).load().unwrap(), ["a", "b"]);
}

#[test]
fn a_file_far_above_the_bound_is_compacted_when_it_is_read() {
    let folder = TestFolder::new();
    let lines = |count: usize| (0..count).map(|at| format!("{{\"text\":\"{at}\"}}\n")).collect::<String>();
    folder.write("sub/history.jsonl", &lines(MAX_LINES - 1));
    let entries = history(&folder).load().unwrap();
    assert_eq!((entries.len(), entries[0].as_str()), (MAX_ENTRIES, "999"));
    assert_eq!(folder.read("sub/history.jsonl").unwrap().lines().count(), MAX_LINES - 1);
    folder.write("sub/history.jsonl", &lines(MAX_LINES + 500));
    let entries = history(&folder).load().unwrap();
    assert_eq!((entries.len(), entries[0].as_str()), (MAX_ENTRIES, "1500"));
    assert_eq!(folder.read("sub/history.jsonl").unwrap().lines().count(), MAX_ENTRIES);
    assert_eq!(folder.mode("sub/history.jsonl"), 0o600);
}

#[test]
fn programs_that_append_while_others_compact_lose_nothing() {
    let folder = TestFolder::new();
    let old: String = (0..MAX_LINES + 1).map(|at| format!("{{\"text\":\"old {at}\"}}\n")).collect();
    folder.write("sub/history.jsonl", &old);
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let folder = &folder;
            scope.spawn(move || {
                for at in 0..50 {
                    history(folder).append(&format!("{writer} {at}")).unwrap();
                    if at % 10 == writer {
                        history(folder).compact().unwrap();
                    }
                }
            });
        }
    });
    let entries = history(&folder).load().unwrap();
    for writer in 0..4 {
        let own: Vec<_> = entries.iter().filter(|text| text.starts_with(&format!("{writer} "))).collect();
        assert_eq!(own.len(), 50, "{writer}");
    }
}
