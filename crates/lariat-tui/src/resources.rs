//! The resources of MCP servers that `@` offers, as `server:uri`.

use crate::composer::Suggestion;
use crate::fuzzy;

/// How many resources are offered besides files.
const MAX_RESOURCES: usize = 6;

/// The best matches for what was typed after `@`, best first.
pub(crate) fn matching(resources: &[Suggestion], query: &str) -> Vec<Suggestion> {
    if query.is_empty() {
        return Vec::new();
    }
    let names: Vec<&str> = resources.iter().map(|resource| resource.name.as_str()).collect();
    let found = fuzzy::find(query, &names);
    found.iter().filter_map(|found| resources.get(found.at).cloned()).take(MAX_RESOURCES).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offers_resources_by_server_and_address() {
        let resource = |name: &str| Suggestion { name: name.to_owned(), summary: String::new() };
        let all: Vec<Suggestion> = (0..20)
            .map(|n| resource(&format!("notes:day://{n}")))
            .chain([resource("db:table/users")])
            .collect();
        let names = |query: &str| -> Vec<String> {
            matching(&all, query).into_iter().map(|found| found.name).collect()
        };
        assert_eq!(names("db:"), ["db:table/users"]);
        assert_eq!(names("users"), ["db:table/users"]);
        assert_eq!(names("notes:").len(), MAX_RESOURCES);
        assert!(names("").is_empty() && names("src/lib.rs").is_empty());
    }
}
