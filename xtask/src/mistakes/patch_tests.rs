use super::{Mistake, all, parse, plant};
use crate::workspace::Workspace;

const FILE: &str = "crates/lariat-host/src/a.rs";

fn planted(list: &str, text: &str) -> Result<String, String> {
    let mistakes = parse(list).map_err(|error| format!("{error:#}"))?;
    let mistakes: Vec<&Mistake> = mistakes.iter().collect();
    let files = plant(&mistakes, |_| Ok(text.to_owned())).map_err(|error| format!("{error:#}"))?;
    Ok(files[FILE].clone())
}

/// A list with one mistake per pair of old and new text.
fn list(changes: &[(&str, &str)]) -> String {
    let one = |(at, (old, new)): (usize, &(&str, &str))| {
        format!("== m{at}\nproof undo\nfile {FILE}\n- {old}\n+ {new}\n")
    };
    changes.iter().enumerate().map(one).collect()
}

#[test]
fn every_mistake_applies_to_the_sources() {
    let workspace = Workspace::repository();
    let mistakes = all(&workspace).unwrap();
    let together: Vec<&Mistake> = mistakes.iter().collect();
    plant(&together, |file| workspace.read(file)).unwrap();
    let of = |proof: &str| mistakes.iter().filter(|mistake| mistake.proof.as_deref() == Some(proof)).count();
    let sizes = crate::mistakes::in_proofs::NAMES.map(of);
    assert!(sizes.iter().all(|size| *size >= 4), "{sizes:?}");
}

#[test]
fn plants_several_mistakes_in_one_file_behind_switches() {
    let list = list(&[("c", "c || @active"), ("a", "!@active && a")]);
    let condition = |name: &str| format!("lariat_core::mistake_switch::is_active(\"{name}\")");
    assert_eq!(
        planted(&list, "a b c").unwrap(),
        format!("!{} && a b c || {}", condition("m1"), condition("m0"))
    );
}

#[test]
fn error_names_the_mistake_whose_text_is_missing_or_repeated() {
    for (text, count) in [("b", "0 times"), ("a a", "2 times")] {
        let error = planted(&list(&[("a", "@active")]), text).unwrap_err();
        assert!(error.contains("`m0`") && error.contains(count) && error.contains(FILE), "{error}");
    }
}

#[test]
fn error_names_both_mistakes_that_change_the_same_text() {
    let error = planted(&list(&[("a b", "@active"), ("b c", "@active")]), "a b c").unwrap_err();
    assert!(error.contains("`m0`") && error.contains("`m1`"), "{error}");
}

#[test]
fn old_text_after_new_text_begins_another_change() {
    let list = format!("== m\nproof undo\nfile {FILE}\n- a\n+ @active\n+ 1\n- b\n- c\n+ @active\n");
    let text = planted(&list, "a\nb\nc\n").unwrap();
    assert_eq!(text.matches("is_active").count(), 2);
    assert!(text.contains("\n1\n") && !text.contains('b'), "{text}");
}

#[test]
fn rejects_incomplete_mistakes() {
    for (list, why) in [
        ("- a", "== NAME"),
        ("== m\n- a", "file PATH"),
        ("== m\ntest x", "changes no file"),
        ("== m\nfile f\n- a\n+ @active", "neither a proof nor a test"),
        ("== m\nproof undo\nfile f\n- a\n+ b", "would stay on"),
        ("== m\nproof lasso\nfile f\n- a\n+ @active", "unknown proof"),
        ("== m\nproof undo\nfile f\n- a\n+ @active\nfile g\n- a\n+ b", "would stay on"),
        ("== m\ntest x\nfile f\n- a\n+ a", "same new text"),
        ("== m\nhorse", "invalid line"),
    ] {
        let error = format!("{:#}", parse(list).unwrap_err());
        assert!(error.contains(why), "{list}: {error}");
    }
}
