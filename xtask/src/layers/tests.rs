use serde_json::{Value, json};

use super::check::faults;
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
    faults(&table, &graph)
}

const ROWS: &[(&str, &[&str])] = &[
    ("lariat-core", &[]),
    ("lariat-runtime", &["lariat-core"]),
    ("lariat-testkit", &["lariat-core", "lariat-runtime"]),
    ("lariat-cli", &["lariat-core", "lariat-runtime"]),
];

fn only(faults: Vec<String>) -> String {
    assert_eq!(faults.len(), 1, "{faults:#?}");
    faults.into_iter().next().unwrap()
}

#[test]
fn dependencies_that_the_table_lists_pass() {
    let packages = [
        package("lariat-core", &[("serde", Value::Null), ("lariat-testkit", json!("dev"))]),
        package("lariat-runtime", &[("lariat-core", Value::Null), ("lariat-testkit", json!("dev"))]),
        package("lariat-testkit", &[("lariat-runtime", Value::Null), ("lariat-core", json!("build"))]),
    ];
    assert_eq!(check(ROWS, &packages), Vec::<String>::new());
}

#[test]
fn an_upward_dependency_fails_with_both_names_and_a_way_out() {
    for kind in [Value::Null, json!("build")] {
        let packages = [package("lariat-core", &[("lariat-runtime", kind)]), package("lariat-runtime", &[])];
        let fault = only(check(ROWS, &packages));
        assert!(fault.starts_with("`lariat-core` depends on `lariat-runtime`"), "{fault}");
        assert!(fault.contains("take the dependency out"), "{fault}");
    }
}

#[test]
fn the_testkit_is_for_dev_dependencies_only() {
    let packages =
        [package("lariat-core", &[("lariat-testkit", Value::Null)]), package("lariat-testkit", &[])];
    let fault = only(check(ROWS, &packages));
    assert!(fault.starts_with("`lariat-core` depends on `lariat-testkit`"), "{fault}");
}

#[test]
fn a_dev_dependency_on_an_unlisted_crate_fails() {
    let packages =
        [package("lariat-core", &[("lariat-runtime", json!("dev"))]), package("lariat-runtime", &[])];
    let fault = only(check(ROWS, &packages));
    assert!(fault.starts_with("`lariat-core` has a dev-dependency on `lariat-runtime`"), "{fault}");
}

#[test]
fn a_crate_may_test_itself_with_more_features() {
    let packages = [package("lariat-core", &[("lariat-core", json!("dev"))])];
    assert_eq!(check(ROWS, &packages), Vec::<String>::new());
}

#[test]
fn a_crate_without_a_row_fails_once() {
    let packages = [package("lariat-lasso", &[("lariat-core", Value::Null)]), package("lariat-core", &[])];
    let fault = only(check(ROWS, &packages));
    assert!(fault.starts_with("`lariat-lasso` has no row"), "{fault}");
}

#[test]
fn nothing_depends_on_the_binary_even_when_the_table_says_so() {
    let rows: &[(&str, &[&str])] = &[("lariat-cli", &[]), ("lariat-tui", &["lariat-cli"])];
    let packages = [package("lariat-cli", &[]), package("lariat-tui", &[("lariat-cli", json!("dev"))])];
    let faults = check(rows, &packages);
    assert_eq!(faults.len(), 2, "{faults:#?}");
    assert!(faults[0].starts_with("the row of `lariat-tui`"), "{faults:#?}");
    assert!(faults[1].starts_with("`lariat-tui` depends on `lariat-cli`"), "{faults:#?}");
}

#[test]
fn a_circle_in_the_table_fails_and_names_its_members_only() {
    let rows: &[(&str, &[&str])] = &[
        ("base", &[]),
        ("hen", &["base", "egg"]),
        ("egg", &["chick"]),
        ("chick", &["hen"]),
        ("above", &["hen"]),
    ];
    let fault = only(check(rows, &[]));
    assert!(fault.contains("a circle among `chick`, `egg`, `hen`;"), "{fault}");
    let fault = only(check(&[("self", &["self"])], &[]));
    assert!(fault.contains("a circle among `self`;"), "{fault}");
}

#[test]
fn a_row_that_names_an_unknown_crate_fails() {
    let fault = only(check(&[("lariat-core", &["lariat-cor"])], &[]));
    assert!(fault.contains("allows `lariat-cor`, which has no row"), "{fault}");
}

#[test]
fn a_page_that_is_not_a_table_is_an_error() {
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
fn metadata_of_another_shape_is_an_error() {
    for metadata in ["", "{}", r#"{"packages":[{}]}"#, r#"{"packages":[{"name":"a"}]}"#] {
        assert!(Graph::read(metadata).is_err(), "{metadata}");
    }
    let odd = json!({ "packages": [package("a", &[("a", json!("strange"))])] });
    assert!(Graph::read(&odd.to_string()).is_err());
}
