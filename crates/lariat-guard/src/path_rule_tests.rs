use std::path::Path;

use super::PathRules;
use crate::effect::Effect;
use crate::origin::{Level, Origin};
use crate::resolve::{NoLinks, ResolvedPath, SessionDirectories};

fn target(path: &str) -> ResolvedPath {
    ResolvedPath::opened(Path::new(path))
}

fn rules(patterns: &[String]) -> (PathRules, Vec<usize>) {
    let origin = Origin::file(Level::Project, "/people/u/p/.claude/settings.json");
    let numbered = patterns.iter().enumerate().map(|(number, pattern)| (number, pattern.as_str(), &origin));
    PathRules::new(Effect::Deny, numbered, &SessionDirectories::new("/people/u/p", "/people/u"), &NoLinks)
}

#[test]
fn oversized_patterns_do_not_disable_the_others() {
    let mut patterns = vec![".env".to_owned(), "x".repeat(5_000)];
    patterns.extend((0..240).map(|index| format!("{}{index}", "?*[a-zA-Zäöü]*[!q]".repeat(45))));
    let (rules, broken) = rules(&patterns);
    assert_eq!(rules.find(&target("/people/u/p/a/.env")), Some(0));
    assert_eq!(rules.find(&target("/people/u/p/a")), None);
    assert!(broken.contains(&1), "reports that a pattern is too long");
    assert!(rules.sets.len() > 1, "the patterns of this test are too few to need more than one automaton");
}

#[test]
fn nothing_matches_without_rules() {
    let (rules, broken) = rules(&[]);
    assert!(rules.is_empty() && broken.is_empty());
    assert_eq!(rules.find(&target("/people/u/p/a")), None);
}
