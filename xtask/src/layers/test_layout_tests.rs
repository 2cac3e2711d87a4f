use super::*;

const TEST: &str = "#[test]\nfn works() {}\n";

/// Checks a crate `a` of these `(file, text)` pairs; its manifest is empty unless it is given.
fn check(files: &[(&str, &str)]) -> Vec<String> {
    let mut all = BTreeMap::from([("a/Cargo.toml".to_owned(), String::new())]);
    all.extend(files.iter().map(|(path, text)| (format!("a/{path}"), (*text).to_owned())));
    violations(&all)
}

fn only(files: &[(&str, &str)]) -> String {
    let violations = check(files);
    assert_eq!(violations.len(), 1, "{violations:#?}");
    violations.into_iter().next().unwrap()
}

fn inline(lines: usize) -> String {
    format!("fn f() {{}}\n\n#[cfg(test)]\nmod tests {{\n{}}}\n", "    // A line.\n".repeat(lines))
}

fn file(lines: usize) -> String {
    format!("{}{TEST}", "// A line.\n".repeat(lines - 2))
}

#[test]
fn accepts_every_form_of_the_layout() {
    let files = [
        ("src/short.rs", inline(INLINE_MOST)),
        ("src/long.rs", "#[cfg(test)]\n#[path = \"long_tests.rs\"]\nmod tests;\n".to_owned()),
        ("src/long_tests.rs", file(FILE_LEAST)),
        ("src/folder/mod.rs", "mod b;\n#[cfg(test)]\npub(crate) mod tests;\n".to_owned()),
        ("src/folder/tests.rs", file(FILE_LEAST)),
        ("src/wide/mod.rs", "#[cfg(test)]\nmod tests;\n".to_owned()),
        ("src/wide/tests/mod.rs", format!("mod one;\n{TEST}")),
        ("src/wide/tests/one.rs", TEST.to_owned()),
        ("src/suite.rs", format!("macro_rules! suite {{ () => {{ {TEST} }}; }}")),
        ("src/texts.rs", "const TEXT: &str = \"#[test]\"; // #[test]".to_owned()),
        ("src/mistakes_in_tests.rs", "//! No test, only the name.\n".to_owned()),
        ("tests/all/main.rs", "mod one;\n".to_owned()),
        ("tests/all/one.rs", TEST.to_owned()),
    ];
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (*path, text.as_str())).collect();
    assert_eq!(check(&files), Vec::<String>::new());
}

#[test]
fn rejects_tests_outside_the_module() {
    assert!(only(&[("src/b.rs", TEST)]).starts_with("a/src/b.rs:1: a test outside"));
    let other = "#[cfg(test)]\nmod checks {\n    #[tokio::test(flavor = \"current_thread\")]\n    async fn f() {}\n}\n";
    assert!(only(&[("src/b.rs", other)]).starts_with("a/src/b.rs:3: a test outside"));
}

#[test]
fn rejects_module_that_is_not_last() {
    let text = "#[cfg(test)]\nmod tests {}\nfn f() {}\n";
    assert!(only(&[("src/b.rs", text)]).contains("not last"));
}

#[test]
fn rejects_long_inline_tests_and_short_files() {
    let message = only(&[("src/b.rs", &inline(INLINE_MOST + 1))]);
    assert!(message.ends_with("move more than 60 to a/src/b_tests.rs"), "{message}");
    let message = only(&[("src/b/mod.rs", &inline(INLINE_MOST + 1))]);
    assert!(message.ends_with("a/src/b/tests.rs"), "{message}");
    let owner = ("src/b.rs", "#[cfg(test)]\n#[path = \"b_tests.rs\"]\nmod tests;\n");
    let message = only(&[owner, ("src/b_tests.rs", &file(FILE_LEAST - 1))]);
    assert!(message.contains("has 39 lines") && message.ends_with("in a/src/b.rs"), "{message}");
}

#[test]
fn rejects_other_names_of_files() {
    let tests = file(FILE_LEAST);
    let tests = tests.as_str();
    for (owner, declaration, path) in [
        ("src/b.rs", "mod tests;", "src/b/tests.rs"),
        ("src/b.rs", "#[path = \"../b_tests.rs\"]\nmod tests;", "b_tests.rs"),
        ("src/b/mod.rs", "#[path = \"b_tests.rs\"]\nmod tests;", "src/b/b_tests.rs"),
        ("src/b/mod.rs", "mod c_tests;", "src/b/c_tests.rs"),
    ] {
        let violations = check(&[(owner, &format!("#[cfg(test)]\n{declaration}\n")), (path, tests)]);
        assert!(!violations.is_empty(), "{declaration}");
    }
}

#[test]
fn rejects_second_test_program_without_a_reason() {
    assert!(only(&[("tests/one.rs", TEST)]).starts_with("a/tests/one.rs is linked"));
    let binaries = [("tests/one/main.rs", TEST), ("tests/two/main.rs", TEST)];
    assert_eq!(check(&binaries).len(), 2);
    let section = |comment: &str, name: &str| {
        format!("[[test]]\n{comment}\nname = \"{name}\"\npath = \"tests/{name}/main.rs\"\n")
    };
    let with = |comment| section("# Fast.", "one") + &section(comment, "two");
    let manifest = with("# It takes real time.");
    assert_eq!(check(&[binaries[0], binaries[1], ("Cargo.toml", &manifest)]), Vec::<String>::new());
    let manifest = with("");
    assert!(
        only(&[binaries[0], binaries[1], ("Cargo.toml", &manifest)])
            .starts_with("a/tests/two/main.rs is one of 2")
    );
}
