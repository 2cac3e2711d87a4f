//! Checks where tests are. CONTRIBUTING.md states the rule.
//!
//! The unit tests of a file are its module `tests`, last in the file: inline if they are short, otherwise in
//! `foo_tests.rs` beside `foo.rs`, or in `tests.rs` or the folder `tests` beside `mod.rs`. The integration tests of a
//! crate are one binary, `tests/NAME/main.rs`. Invariant: a test in a macro does not belong to the file that defines the macro.

use std::collections::BTreeMap;

use crate::rust_tokens::{Token, TokenKind, tokens};

/// Longer inline tests move to a file of their own.
const INLINE_MOST: usize = 60;
/// Shorter files of tests become inline. Less than the other limit, because a line that is indented may need a break.
const FILE_LEAST: usize = 40;

/// Returns every deviation, given the text of each source and manifest by its path.
pub(super) fn violations(files: &BTreeMap<String, String>) -> Vec<String> {
    let mut violations = Vec::new();
    for (manifest, text) in files {
        // The scenarios of tests contain packages too.
        let Some(package) = manifest.strip_suffix("Cargo.toml").filter(|path| !path.contains("/tests/"))
        else {
            continue;
        };
        let below = |directory: &str| {
            let start = format!("{package}{directory}/");
            files.iter().filter(move |(path, _)| path.starts_with(&start) && path.ends_with(".rs"))
        };
        let sources: BTreeMap<&str, TestsOfFile> =
            below("src").map(|(path, text)| (path.as_str(), TestsOfFile::read(text))).collect();
        for (path, tests) in &sources {
            violations.extend(unit_violations(path, tests, &sources));
        }
        violations.extend(binary_violations(package, text, below("tests").map(|(path, _)| path.as_str())));
    }
    violations
}

fn unit_violations(path: &str, tests: &TestsOfFile, sources: &BTreeMap<&str, TestsOfFile>) -> Vec<String> {
    let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
    let declares = |file: &str, declaration: Option<&str>| {
        let module = sources.get(file).and_then(|tests| tests.module.as_ref());
        module.is_some_and(|module| module.inline_lines.is_none() && module.path.as_deref() == declaration)
    };
    // The file that has to declare this one, and the `path` attribute of the declaration.
    let owner = match name {
        _ if tests.first_test.is_none() => None,
        "tests.rs" => Some((format!("{directory}/mod.rs"), None)),
        "mod.rs" => directory.strip_suffix("/tests").map(|above| (format!("{above}/mod.rs"), None)),
        _ if path.contains("/tests/") => return Vec::new(),
        _ => name.strip_suffix("_tests.rs").map(|stem| (format!("{directory}/{stem}.rs"), Some(name))),
    };
    let mut violations = Vec::new();
    if let Some((owner, declaration)) = owner {
        if !declares(&owner, declaration) {
            violations.push(format!(
                "{path} has tests, but is not the module `tests` of {owner}; rename one of them"
            ));
        } else if name != "mod.rs" && tests.lines < FILE_LEAST {
            violations.push(format!(
                "{path} has {} lines of tests; write fewer than {FILE_LEAST} as `mod tests {{ … }}` in {owner}",
                tests.lines
            ));
        }
        return violations;
    }
    if let Some(line) = tests.first_test {
        violations.push(format!("{path}:{line}: a test outside the module `tests`; move it there"));
    }
    if let Some(module) = &tests.module {
        let expected = match name {
            "mod.rs" => None,
            _ => Some(name.replace(".rs", "_tests.rs")),
        };
        if !module.is_last {
            violations.push(format!("{path}: the module `tests` is not last in the file; move it there"));
        }
        match module.inline_lines {
            Some(lines) if lines > INLINE_MOST => violations.push(format!(
                "{path} has {lines} lines of inline tests; move more than {INLINE_MOST} to {directory}/{}",
                expected.as_deref().unwrap_or("tests.rs")
            )),
            None if module.path != expected => violations.push(match expected {
                Some(file) => format!("{path}: declare the tests with `#[path = \"{file}\"] mod tests;`"),
                None => format!("{path}: declare the tests with `mod tests;`, in {directory}/tests.rs"),
            }),
            _ => {}
        }
    }
    violations
}

fn binary_violations<'a>(package: &str, manifest: &str, paths: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut violations = Vec::new();
    let mut binaries = Vec::new();
    for path in paths {
        let below = path.strip_prefix(package).unwrap_or(path);
        match below.split('/').collect::<Vec<_>>().as_slice() {
            ["tests", _] => violations.push(format!(
                "{path} is linked as a program of its own; make it a module of the crate's {package}tests/NAME/main.rs"
            )),
            ["tests", _, "main.rs"] => binaries.push(below),
            _ => {}
        }
    }
    if binaries.len() > 1 {
        let has_reason = |binary: &&&str| {
            manifest.split("[[test]]").skip(1).any(|section| {
                section.contains(&format!("\"{binary}\"")) && section.trim_start().starts_with('#')
            })
        };
        let without_reason = binaries.iter().filter(|binary| !has_reason(binary));
        violations.extend(without_reason.map(|binary| {
            format!(
                "{package}{binary} is one of {} test programs; merge them, or write a comment with the reason below `[[test]]` in {package}Cargo.toml",
                binaries.len()
            )
        }));
    }
    violations
}

/// What a file says about its tests.
#[derive(Debug, Default)]
struct TestsOfFile {
    lines: usize,
    /// The line of the first test outside the module `tests`.
    first_test: Option<usize>,
    module: Option<TestModule>,
}

#[derive(Debug)]
struct TestModule {
    /// `None` if the module is in another file.
    inline_lines: Option<usize>,
    path: Option<String>,
    is_last: bool,
}

impl TestsOfFile {
    fn read(text: &str) -> Self {
        let tokens: Vec<Token<'_>> =
            tokens(text).into_iter().filter(|token| token.kind != TokenKind::Comment).collect();
        let mut tests = Self { lines: text.lines().count(), ..Self::default() };
        let mut attributes: Vec<String> = Vec::new();
        let mut rest = tokens.as_slice();
        while let [token, after @ ..] = rest {
            rest = after;
            match token.text {
                "#" => {
                    let (group, beyond) = split_group(after);
                    let attribute: String = group.iter().map(|token| token.text).collect();
                    if attribute == "[test]" || attribute.starts_with("[tokio::test") {
                        tests.first_test.get_or_insert(token.line);
                    }
                    attributes.push(attribute);
                    rest = beyond;
                }
                "macro_rules" => rest = split_group(after).1,
                "mod" if names(after, "tests") && attributes.iter().any(|text| text == "[cfg(test)]") => {
                    let (group, beyond) = split_group(after);
                    let lines = |(first, last): (&Token<'_>, &Token<'_>)| {
                        last.line.saturating_sub(first.line).saturating_sub(1)
                    };
                    tests.module = Some(TestModule {
                        inline_lines: group.first().zip(group.last()).map(lines),
                        path: attributes.iter().find_map(|attribute| path_of(attribute)),
                        is_last: beyond.is_empty(),
                    });
                    rest = beyond;
                }
                ";" | "{" | "}" => attributes.clear(),
                _ => {}
            }
        }
        tests
    }
}

fn names(tokens: &[Token<'_>], name: &str) -> bool {
    tokens.first().is_some_and(|token| token.text == name)
}

fn path_of(attribute: &str) -> Option<String> {
    attribute.strip_prefix("[path=\"")?.strip_suffix("\"]").map(str::to_owned)
}

/// Splits after the first group of brackets, braces or parentheses, or after a semicolon before any; the first part
/// begins with the opening token and is empty for a semicolon.
fn split_group<'a, 'b>(tokens: &'b [Token<'a>]) -> (&'b [Token<'a>], &'b [Token<'a>]) {
    let (mut depth, mut start) = (0_usize, 0);
    for (at, token) in tokens.iter().enumerate() {
        match token.text {
            "(" | "[" | "{" => {
                if depth == 0 {
                    start = at;
                }
                depth += 1;
            }
            ")" | "]" | "}" => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    let (group, beyond) = tokens.split_at(at + 1);
                    return (group.get(start..).unwrap_or_default(), beyond);
                }
            }
            ";" if depth == 0 => return (&[], tokens.split_at(at + 1).1),
            _ => {}
        }
    }
    (&[], &[])
}

#[cfg(test)]
#[path = "test_layout_tests.rs"]
mod tests;
