//! Checks the names of types in the published crates.
//!
//! A name means one thing in at most two crates, so that a search for it is short. A name that is only a participle
//! (`Told`, `Accepted`) does not say what the type is. Types that are local to a function are not read, nor are tests.

use std::collections::{BTreeMap, BTreeSet};

use crate::rust_tokens::{TokenKind, tokens};

/// Crates in which a name may have a meaning of its own.
const MOST_CRATES: usize = 2;
/// Participles that do not end in `ed`.
const PARTICIPLES: &[&str] = &[
    "Begun", "Bound", "Broken", "Built", "Caught", "Chosen", "Done", "Drawn", "Found", "Given", "Gone",
    "Held", "Hidden", "Kept", "Known", "Lost", "Made", "Seen", "Sent", "Shown", "Spent", "Taken", "Told",
    "Woken", "Written",
];

/// The types of the published crates, with the files that define them.
#[derive(Default)]
pub(super) struct TypeNames(BTreeMap<String, BTreeSet<String>>);

impl TypeNames {
    /// Adds the types that a file defines.
    pub(super) fn add(&mut self, file: &str, source: &str) {
        if !is_product(file) {
            return;
        }
        for name in defined(source) {
            self.0.entry(name).or_default().insert(file.to_owned());
        }
    }

    /// Names that do not say what their type is, each with what is wrong.
    pub(super) fn problems(&self) -> Vec<(&str, String)> {
        let mut problems = Vec::new();
        for (name, files) in &self.0 {
            let crates: BTreeSet<&str> = files.iter().filter_map(|file| crate_of(file)).collect();
            let places = files.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
            if crates.len() > MOST_CRATES {
                let count = crates.len();
                problems.push((name.as_str(), format!("means something else in {count} crates: {places}")));
            }
            if is_participle(name) {
                problems
                    .push((name.as_str(), format!("is a participle and does not say what it is: {places}")));
            }
        }
        problems
    }
}

fn crate_of(file: &str) -> Option<&str> {
    file.split('/').nth(1)
}

/// Whether a file is a source of a published crate and not a test.
fn is_product(file: &str) -> bool {
    let mut parts = file.split('/');
    let is_source = parts.next() == Some("crates") && parts.nth(1) == Some("src");
    let is_test = file.ends_with("_tests.rs")
        || ["/tests/", "/testing/", "/tests.rs"].iter().any(|part| file.contains(part));
    is_source && !is_test
}

fn is_participle(name: &str) -> bool {
    let is_one_word = name.chars().filter(char::is_ascii_uppercase).count() == 1;
    let ends_like_one = name.ends_with("ed") && !name.ends_with("eed");
    is_one_word && (ends_like_one || PARTICIPLES.contains(&name))
}

/// The types that a source defines outside of functions and modules.
fn defined(source: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut depth = 0_usize;
    let mut follows_keyword = false;
    for token in tokens(source) {
        match (token.kind, token.text) {
            (TokenKind::Comment, _) => {}
            (TokenKind::Mark, "{") => depth += 1,
            (TokenKind::Mark, "}") => depth = depth.saturating_sub(1),
            (TokenKind::Word, name) if follows_keyword => {
                names.push(name.to_owned());
                follows_keyword = false;
            }
            (TokenKind::Word, keyword) => {
                follows_keyword = depth == 0 && matches!(keyword, "struct" | "enum" | "trait" | "type");
            }
            _ => follows_keyword = false,
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(files: &[(&str, &str)]) -> Vec<String> {
        let mut names = TypeNames::default();
        for (file, source) in files {
            names.add(file, source);
        }
        names.problems().into_iter().map(|(name, problem)| format!("{name} {problem}")).collect()
    }

    #[test]
    fn name_in_three_crates_is_reported_with_its_files() {
        let source = "pub(super) enum Entry { File }";
        let found = problems(&[("crates/a/src/x.rs", source), ("crates/b/src/y.rs", source)]);
        assert!(found.is_empty(), "{found:?}");
        let third = ("crates/c/src/z.rs", "struct Entry;\ntype Other = u8;");
        let found = problems(&[("crates/a/src/x.rs", source), ("crates/b/src/y.rs", source), third]);
        assert_eq!(
            found,
            [
                "Entry means something else in 3 crates: crates/a/src/x.rs, crates/b/src/y.rs, crates/c/src/z.rs"
            ]
        );
    }

    #[test]
    fn participle_is_reported_and_a_noun_that_ends_like_one_is_not() {
        let source = "struct Told;\nstruct Accepted(u8);\nstruct Feed;\nstruct SharedList;\nenum Sentence {}";
        let found = problems(&[("crates/a/src/x.rs", source)]);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].starts_with("Accepted") && found[1].starts_with("Told"));
    }

    #[test]
    fn tests_local_types_and_associated_types_are_not_read() {
        let source = "fn a() { struct Told; }\nimpl A for B { type Kept = u8; }\n// struct Shown\n";
        let tests = "struct Told;";
        let found = problems(&[
            ("crates/a/src/x.rs", source),
            ("crates/a/src/x_tests.rs", tests),
            ("crates/a/tests/a/main.rs", tests),
            ("proofs/src/x.rs", tests),
        ]);
        assert!(found.is_empty(), "{found:?}");
    }
}
