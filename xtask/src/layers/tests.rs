use serde_json::{Value, json};

use super::check::violations;
use super::graph::Graph;
use super::table::Table;

/// A page whose table has these `(crate, may depend on)` rows.
fn page(rows: &[(&str, &[&str])]) -> String {
    let mut text =
        String::from("# Layers\n<!-- layers:begin -->\n| crate | may depend on |\n| --- | --- |\n");
    for (name, allowed) in rows {
        let allowed: Vec<String> = allowed.iter().map(|name| format!("`{name}`")).collect();
        let allowed = if allowed.is_empty() { "nothing".to_owned() } else { allowed.join(", ") };
        text.push_str(&format!("| `{name}` | {allowed} |\n"));
    }
    text + "<!-- layers:end -->\n"
}

fn package(name: &str, dependencies: &[(&str, Value)]) -> Value {
    let dependencies: Vec<Value> =
        dependencies.iter().map(|(name, kind)| json!({ "name": name, "kind": kind })).collect();
    json!({ "name": name, "dependencies": dependencies })
}

fn check(rows: &[(&str, &[&str])], packages: &[Value]) -> Vec<String> {
    let table = Table::read(&page(rows)).unwrap();
    let graph = Graph::read(&json!({ "packages": packages }).to_string()).unwrap();
    violations(&table, &graph)
}

const ROWS: &[(&str, &[&str])] = &[
    ("lariat-core", &[]),
    ("lariat-runtime", &["lariat-core"]),
    ("lariat-test", &["lariat-core"]),
    ("lariat-proofs", &["lariat-core", "lariat-runtime", "lariat-test"]),
    ("lariat-cli", &["lariat-core", "lariat-runtime"]),
];

fn only(violations: Vec<String>) -> String {
    assert_eq!(violations.len(), 1, "{violations:#?}");
    violations.into_iter().next().unwrap()
}

#[test]
fn accepts_listed_dependencies() {
    let packages = [
        package("lariat-core", &[("serde", Value::Null), ("lariat-test", json!("dev"))]),
        package("lariat-runtime", &[("lariat-core", Value::Null), ("lariat-proofs", json!("dev"))]),
        package("lariat-test", &[("lariat-core", Value::Null)]),
        package("lariat-proofs", &[("lariat-test", Value::Null), ("lariat-core", json!("build"))]),
    ];
    assert_eq!(check(ROWS, &packages), Vec::<String>::new());
}

#[test]
fn upward_dependency_error_names_both_crates_and_a_fix() {
    for kind in [Value::Null, json!("build")] {
        let packages = [package("lariat-core", &[("lariat-runtime", kind)]), package("lariat-runtime", &[])];
        let violation = only(check(ROWS, &packages));
        assert!(violation.starts_with("`lariat-core` depends on `lariat-runtime`"), "{violation}");
        assert!(violation.contains("remove the dependency"), "{violation}");
    }
}

#[test]
fn test_support_is_allowed_only_as_dev_dependency() {
    for name in ["lariat-proofs", "lariat-test"] {
        let packages = [package("lariat-core", &[(name, Value::Null)]), package(name, &[])];
        let violation = only(check(ROWS, &packages));
        assert!(violation.starts_with(&format!("`lariat-core` depends on `{name}`")), "{violation}");
    }
}

#[test]
fn rejects_dev_dependency_on_an_unlisted_crate() {
    let packages =
        [package("lariat-core", &[("lariat-runtime", json!("dev"))]), package("lariat-runtime", &[])];
    let violation = only(check(ROWS, &packages));
    assert!(violation.starts_with("`lariat-core` has a dev-dependency on `lariat-runtime`"), "{violation}");
}

#[test]
fn accepts_dev_dependency_of_a_crate_on_itself() {
    let packages = [package("lariat-core", &[("lariat-core", json!("dev"))])];
    assert_eq!(check(ROWS, &packages), Vec::<String>::new());
}

#[test]
fn crate_without_a_row_is_reported_once() {
    let packages = [package("lariat-lasso", &[("lariat-core", Value::Null)]), package("lariat-core", &[])];
    let violation = only(check(ROWS, &packages));
    assert!(violation.starts_with("`lariat-lasso` has no row"), "{violation}");
}

#[test]
fn rejects_dependency_on_the_binary_even_if_listed() {
    let rows: &[(&str, &[&str])] = &[("lariat-cli", &[]), ("lariat-tui", &["lariat-cli"])];
    let packages = [package("lariat-cli", &[]), package("lariat-tui", &[("lariat-cli", json!("dev"))])];
    let violations = check(rows, &packages);
    assert_eq!(violations.len(), 2, "{violations:#?}");
    assert!(violations[0].starts_with("the row of `lariat-tui`"), "{violations:#?}");
    assert!(violations[1].starts_with("`lariat-tui` depends on `lariat-cli`"), "{violations:#?}");
}

#[test]
fn cycle_in_the_table_is_reported_with_its_members() {
    let rows: &[(&str, &[&str])] = &[
        ("base", &[]),
        ("hen", &["base", "egg"]),
        ("egg", &["chick"]),
        ("chick", &["hen"]),
        ("above", &["hen"]),
    ];
    let violation = only(check(rows, &[]));
    assert!(violation.contains("a dependency cycle among `chick`, `egg`, `hen`;"), "{violation}");
    let violation = only(check(&[("self", &["self"])], &[]));
    assert!(violation.contains("a dependency cycle among `self`;"), "{violation}");
}

#[test]
fn rejects_row_with_an_unknown_crate() {
    let violation = only(check(&[("lariat-core", &["lariat-cor"])], &[]));
    assert!(violation.contains("allows `lariat-cor`, which has no row"), "{violation}");
}

#[test]
fn page_without_a_valid_table_is_an_error() {
    let good = page(ROWS);
    for (broken, complaint) in [
        (good.replace("<!-- layers:begin -->", ""), "layers:begin"),
        (good.replace("<!-- layers:end -->", ""), "layers:end"),
        (page(&[]), "empty"),
        (page(&[("twice", &[]), ("twice", &[])]), "two rows"),
        (good.replace("| nothing |", "| |"), "not a crate name"),
        (good.replace("| nothing |", "| `lariat core` |"), "not a crate name"),
        (good.replace("| nothing |", ""), "is not a row"),
    ] {
        let error = Table::read(&broken).err().expect(complaint).to_string();
        assert!(error.contains(complaint), "{error}");
    }
}

#[test]
fn unexpected_metadata_is_an_error() {
    for metadata in ["", "{}", r#"{"packages":[{}]}"#, r#"{"packages":[{"name":"a"}]}"#] {
        assert!(Graph::read(metadata).is_err(), "{metadata}");
    }
    let odd = json!({ "packages": [package("a", &[("a", json!("strange"))])] });
    assert!(Graph::read(&odd.to_string()).is_err());
}
