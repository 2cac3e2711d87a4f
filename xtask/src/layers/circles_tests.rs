use super::super::modules::read_crate;
use super::{Exception, ModuleGraph};

/// Checks a crate of these `(file, text)` pairs; `lib.rs` is its root.
fn check(files: &[(&str, &str)], exceptions: &[Exception]) -> Vec<String> {
    let read = |file: &str| files.iter().find(|(name, _)| *name == file).map(|(_, text)| (*text).to_owned());
    let modules = read_crate("lib.rs", &|file| read(file.trim_start_matches('/'))).unwrap();
    ModuleGraph::of(&modules).violations("demo", exceptions)
}

fn only(violations: Vec<String>) -> String {
    assert_eq!(violations.len(), 1, "{violations:#?}");
    violations.into_iter().next().unwrap()
}

const ROOT: (&str, &str) = ("lib.rs", "pub mod hen;\nmod egg;\npub use egg::Egg;\npub struct Straw;\n");

#[test]
fn circle_error_names_the_modules_a_line_for_each_and_a_fix() {
    let files = [ROOT, ("hen.rs", "\nuse crate::egg::Egg;\n"), ("egg.rs", "fn f() { super::hen::lay(); }\n")];
    let violation = only(check(&files, &[]));
    assert!(
        violation.starts_with("the modules `egg` → `hen` → `egg` of `demo` use each other:"),
        "{violation}"
    );
    assert!(violation.contains("hen.rs:2 uses `crate::egg::Egg`"), "{violation}");
    assert!(violation.contains("egg.rs:1 uses `crate::hen::lay`"), "{violation}");
    assert!(violation.contains("move what both need"), "{violation}");
}

#[test]
fn one_way_use_makes_no_circle() {
    let files = [
        ROOT,
        ("hen.rs", "use crate::{Straw, egg::Egg};"),
        ("egg.rs", "use super::Straw; use self::inner::A; mod inner {}"),
    ];
    assert_eq!(check(&files, &[]), Vec::<String>::new());
}

#[test]
fn finds_circle_behind_a_reexport_of_the_root() {
    for root in [
        ROOT.1,
        "mod hen; mod egg; pub use crate::egg::Egg as Egg;",
        "mod hen; mod egg; pub use egg::{Other, Shell as Egg};",
        "mod hen; mod egg; pub use egg::*;",
        "mod hen; mod egg; pub use egg as shells; pub use shells::Egg;",
    ] {
        let egg = "pub struct Egg; pub use crate::hen::Hen;";
        let files = [("lib.rs", root), ("hen.rs", "use crate::{Egg};"), ("egg.rs", egg)];
        let violation = only(check(&files, &[]));
        assert!(violation.contains("hen.rs:1 uses `crate::Egg`"), "{root}: {violation}");
    }
}

#[test]
fn comments_strings_and_tests_make_no_circle() {
    let egg = r##"
//! Like [`crate::hen::Hen`].
/* use crate::hen; /* nested */ use crate::hen; */
const TEXT: &str = "crate::hen::Hen"; const RAW: &str = r#"" crate::hen "#; const TICK: char = '"';
/// See `crate::hen`.
fn f<'a>(x: &'a str) {}
#[cfg(test)]
#[path = "egg_tests.rs"]
mod tests;
#[cfg(test)]
mod more { use crate::hen::Hen; fn g() { if true {} } }
#[cfg(test)]
use crate::hen::Hen;
#[cfg(all(test, feature = "feathers"))]
use crate::hen::Hen;
"##;
    let files = [ROOT, ("hen.rs", "use crate::egg;"), ("egg.rs", egg)];
    assert_eq!(check(&files, &[]), Vec::<String>::new());
}

#[test]
fn paths_in_attributes_and_after_tests_make_a_circle() {
    for egg in [
        "struct A { #[serde(with = \"crate::hen::text\")] b: B }",
        "#[cfg(test)] mod tests { }\nfn f() { let a = crate::hen::A; }",
        "mod inner { fn f() -> super::super::hen::A {} }",
        "macro_rules! lay { () => { $crate::hen::lay() } }",
    ] {
        let violation = only(check(&[ROOT, ("hen.rs", "use crate::egg;"), ("egg.rs", egg)], &[]));
        assert!(violation.contains("uses `crate::hen::"), "{egg}: {violation}");
    }
}

#[test]
fn modules_in_folders_belong_to_their_top_module() {
    let files = [
        ROOT,
        ("hen/mod.rs", "mod wing;"),
        ("hen/wing.rs", "mod feather;"),
        ("hen/wing/feather.rs", "use crate::egg; use super::super::Beak;"),
        ("egg.rs", "mod yolk;"),
        ("egg/yolk.rs", "use crate::hen::wing;"),
    ];
    let violation = only(check(&files, &[]));
    assert!(violation.contains("hen/wing/feather.rs:1 uses `crate::egg`"), "{violation}");
}

#[test]
fn shortest_of_several_circles_is_named_with_all_members() {
    let files = [
        ("lib.rs", "mod a; mod b; mod c;"),
        ("a.rs", "use crate::b;"),
        ("b.rs", "use crate::c;"),
        ("c.rs", "use crate::{a, b};"),
    ];
    let violation = only(check(&files, &[]));
    assert!(violation.starts_with("the modules `b` → `c` → `b` of `demo`"), "{violation}");
    assert!(violation.contains("longer circles connect `a`, `b`, `c`"), "{violation}");
}

#[test]
fn exported_macro_belongs_to_its_module_and_imported_crate_to_the_root() {
    let root = ("lib.rs", "mod hen; mod egg; pub use feathers;");
    let hen = ("hen.rs", "#[macro_export] macro_rules! cluck { () => { $crate::cluck!(@a) } }");
    let egg = ("egg.rs", "use crate::feathers::Down; fn f() { crate::cluck!() }");
    assert_eq!(check(&[root, hen, egg], &[]), Vec::<String>::new());
    let hen = ("hen.rs", "use crate::egg; #[macro_export] macro_rules! cluck { () => {} }");
    let violation = only(check(&[root, hen, egg], &[]));
    assert!(violation.contains("egg.rs:1 uses `crate::cluck`"), "{violation}");
}

#[test]
fn name_of_unknown_origin_is_an_error() {
    let violation = only(check(&[ROOT, ("hen.rs", "use crate::Lost;"), ("egg.rs", "")], &[]));
    assert!(violation.contains("hen.rs:1: cannot find where `crate::Lost` is defined"), "{violation}");
}

#[test]
fn exception_needs_a_circle_and_a_reason() {
    let exception = |reason| [Exception { package: "demo", modules: &["egg", "hen"], reason }];
    let circle = [ROOT, ("hen.rs", "use crate::egg;"), ("egg.rs", "use crate::hen;")];
    assert_eq!(check(&circle, &exception("they hatch together")), Vec::<String>::new());
    assert!(only(check(&circle, &exception(""))).contains("has no reason"));
    let none = [ROOT, ("hen.rs", "use crate::egg;"), ("egg.rs", "")];
    assert!(only(check(&none, &exception("they hatch together"))).contains("not a circle"));
}
