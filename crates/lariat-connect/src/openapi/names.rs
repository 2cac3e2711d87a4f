//! Names of tools and of arguments that providers accept, unique within a document or an operation.

use std::collections::HashSet;

/// Maximum length of a name: providers refuse longer ones.
pub(super) const MAX_NAME: usize = 64;
/// Hexadecimal digits of a hash that makes a name unique.
const HASH: usize = 8;

/// Gives out names, each once.
pub(super) struct UniqueNames {
    prefix: String,
    taken: HashSet<String>,
}

impl UniqueNames {
    pub(super) fn new(prefix: impl Into<String>) -> Self {
        Self { prefix: prefix.into(), taken: HashSet::new() }
    }

    /// A name for `wanted`. If it is too long or taken, it ends with a hash of `identity`, which must be unique.
    pub(super) fn add(&mut self, wanted: &str, identity: &str) -> String {
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
        let plain: String =
            wanted.chars().map(|letter| if is_plain(letter) { letter } else { '_' }).collect();
        let plain = if plain == wanted { plain.as_str() } else { plain.trim_matches('_') };
        let full = format!("{}{plain}", self.prefix);
        let mut name = full.clone();
        let mut round = 0_u32;
        while plain.is_empty() && round == 0 || name.len() > MAX_NAME || !self.taken.insert(name.clone()) {
            let hash = blake3::hash(format!("{round}{identity}").as_bytes()).to_hex();
            let start: String = full.chars().take(MAX_NAME - HASH - 1).collect();
            name = format!("{start}_{}", hash.get(..HASH).unwrap_or_default());
            round += 1;
        }
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_short_plain_and_unique() {
        let mut names = UniqueNames::new("openapi__api__");
        assert_eq!(names.add("repos/list", "GET /a"), "openapi__api__repos_list");
        let same = names.add("repos.list", "GET /b");
        assert!(same.starts_with("openapi__api__repos_list_") && same.len() == 33, "{same}");
        let long = "x".repeat(100);
        let (first, second) = (names.add(&long, "GET /c"), names.add(&long, "GET /d"));
        assert!(first != second && first.len() == MAX_NAME && second.len() == MAX_NAME, "{first} {second}");
        assert_ne!(names.add("é", "GET /e"), names.add("ü", "GET /f"));
    }
}
