use serde_json::json;

use super::*;

const FILE: &str = "# mine\nmodel = \"a/b\" # the good one\n\n[limits]\n# dollars\ncost = 1.5\n";

#[test]
fn replaces_value_and_keeps_the_rest() {
    assert_eq!(edit_text(FILE, "model", Some(&json!("c/d"))).unwrap(), FILE.replace("a/b", "c/d"));
    assert_eq!(edit_text(FILE, "limits.cost", Some(&json!(3))).unwrap(), FILE.replace("1.5", "3"));
}

#[test]
fn inserts_new_value_into_its_table() {
    let text = edit_text(FILE, "limits.turns", Some(&json!(9))).unwrap();
    assert_eq!(text, format!("{FILE}turns = 9\n"));
    let text = edit_text("", "providers.mine.base_url", Some(&json!("http://x"))).unwrap();
    assert_eq!(text, "[providers.mine]\nbase_url = \"http://x\"\n");
    let text = edit_text("", "fallback_models", Some(&json!(["a", "b"]))).unwrap();
    assert_eq!(text, "fallback_models = [\"a\", \"b\"]\n");
}

#[test]
fn removes_value() {
    assert_eq!(
        edit_text(FILE, "limits.cost", None).unwrap(),
        "# mine\nmodel = \"a/b\" # the good one\n\n[limits]\n"
    );
    assert_eq!(edit_text(FILE, "ui.color", None).unwrap(), FILE);
}

#[test]
fn parses_words_by_setting_type() {
    let origin = Origin::file(Level::User, "/c.toml");
    let value = |key: &str, words: &[&str]| {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        parse_value(&origin, key, &words).map_err(|problem| problem.cause)
    };
    assert_eq!(value("limits.cost", &["2.5"]), Ok(json!(2.5)));
    assert_eq!(value("retry.patience", &["30m"]), Ok(json!("30m")));
    assert_eq!(value("model", &["7"]), Ok(json!("7")));
    assert_eq!(value("sandbox.network", &["true"]), Ok(json!(true)));
    assert_eq!(value("fallback_models", &["a/b", "c/d"]), Ok(json!(["a/b", "c/d"])));
    assert_eq!(value("fallback_models", &["a/b"]), Ok(json!(["a/b"])));
    assert!(value("limits.cost", &["much"]).unwrap_err().contains("an amount in dollars"));
    assert!(value("modle", &["x"]).unwrap_err().contains("did you mean `model`?"));
    assert!(value("permissions.allow", &["x"]).unwrap_err().contains("cannot be set with this command"));
    let project = Origin::file(Level::Project, "/p/lariat.toml");
    assert!(parse_value(&project, "mode", &["auto".to_owned()]).is_err(), "only the user may set this");
}
