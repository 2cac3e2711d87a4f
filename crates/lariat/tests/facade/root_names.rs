//! The names at the root of the crate, as its source lists them.

const SOURCE: &str = include_str!("../../src/lib.rs");

/// Types and traits at the root. A program that names a rare one finds it in the module of its topic.
const MOST_TYPES: usize = 45;

/// What each `pub use` of the root re-exports, without comments.
fn reexports() -> Vec<String> {
    let code: Vec<&str> = SOURCE.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let code = code.join(" ");
    code.split("pub use ").skip(1).filter_map(|rest| rest.split(';').next()).map(str::to_owned).collect()
}

#[test]
fn root_has_few_types_and_no_whole_crate_of_lariat() {
    let mut types = Vec::new();
    for path in reexports() {
        assert!(path.contains("::") || !path.starts_with("lariat_"), "`{path}` re-exports a whole crate");
        let names = path.split_once('{').map_or(path.as_str(), |(_, names)| names);
        let names = names.split(['{', '}', ',']).filter_map(|name| name.rsplit("::").next()).map(str::trim);
        types.extend(names.filter(|name| name.starts_with(char::is_uppercase)).map(str::to_owned));
    }
    assert!((30..=MOST_TYPES).contains(&types.len()), "{}: {types:?}", types.len());
}
