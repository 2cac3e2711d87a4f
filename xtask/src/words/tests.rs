//! Tests of the check on wording.

use super::phrase::{Phrase, words};
use super::prose;

fn occurs(phrase: &str, text: &str) -> bool {
    Phrase::list(&format!("{phrase} => other words")).unwrap()[0].occurs_in(&words(text))
}

#[test]
fn alternatives_and_case_match() {
    assert!(occurs("is|are told", "The model IS\ntold so."));
    assert!(!occurs("is|are told", "The model is untold."));
}

#[test]
fn end_of_clause_matches_punctuation_and_end_of_text() {
    assert!(occurs("counts $", "the last one counts, then"));
    assert!(occurs("counts $", "the last one counts"));
    assert!(!occurs("counts $", "it counts tokens"));
}

#[test]
fn word_before_a_phrase_excuses_it() {
    assert!(occurs("~there is no json", "this is no JSON"));
    assert!(!occurs("~there is no json", "there is no JSON"));
}

#[test]
fn words_with_an_exclamation_mark_do_not_match() {
    assert!(occurs("is no !longer|more", "it is no file"));
    assert!(!occurs("is no !longer|more", "it is no longer"));
}

#[test]
fn rust_prose_is_comments_strings_and_function_names() {
    let source = "/// One `skipped`\n/// two\nfn named_so(a: &'static str) {\n    let x = '\"'; call(\"three \\\" four\");\n}\n";
    let texts: Vec<(usize, String)> = prose::of("a.rs", source);
    let texts: Vec<(usize, &str)> = texts.iter().map(|(line, text)| (*line, text.trim())).collect();
    assert_eq!(texts, [(1, "One _ two"), (3, "named so"), (4, "\"three \\\" four\"")]);
}

#[test]
fn raw_strings_are_read_to_their_own_end() {
    let texts = prose::of("a.rs", "let a = r#\"one \" two\"#; // three");
    assert_eq!(texts.len(), 2);
    assert!(texts[0].1.contains("two"));
}

#[test]
fn markdown_code_is_not_prose() {
    let texts = prose::of("a.md", "One\ntwo\n\n```text\nnobody\n```\n\n    nobody\n\nthree\n");
    assert_eq!(texts, [(1, "One two".to_owned()), (10, "three".to_owned())]);
}
