//! The checked-in schemas are those of the types.

use std::path::PathBuf;

/// Set this variable to write the schemas instead of comparing them.
const WRITE: &str = "LARIAT_BLESS";

#[test]
fn checked_in_schemas_match_the_types() {
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/api");
    let write = std::env::var_os(WRITE).is_some();
    let mut expected = Vec::new();
    for (name, schema) in lariat_api::schema::all() {
        let file = format!("{name}.schema.json");
        let text = serde_json::to_string_pretty(&schema).unwrap() + "\n";
        if write {
            std::fs::create_dir_all(&directory).unwrap();
            std::fs::write(directory.join(&file), text).unwrap();
        } else {
            let stored = std::fs::read_to_string(directory.join(&file)).unwrap_or_default();
            assert!(
                stored == text,
                "docs/api/{file} is stale; run `{WRITE}=1 cargo test -p lariat-api --test api`"
            );
        }
        expected.push(file);
    }
    let mut found: Vec<String> = std::fs::read_dir(&directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".json"))
        .collect();
    found.sort();
    expected.sort();
    assert_eq!(found, expected);
}
