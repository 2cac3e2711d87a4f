use serde::Deserialize;
use serde_json::json;

use super::*;

const EDIT: &[Field] = &[
    Field::required("old_string", ArgumentKind::Text, "The text to replace."),
    Field::required("new_string", ArgumentKind::Text, "The new text."),
];
const FIELDS: &[Field] = &[
    Field::required("path", ArgumentKind::Text, "The file."),
    Field::optional("limit", ArgumentKind::Number(1, 2000), "Number of lines."),
    Field::optional("mode", ArgumentKind::Word(&["files", "lines"]), "What to show."),
    Field::optional("all", ArgumentKind::Switch, "Search everywhere."),
    Field::optional("edits", ArgumentKind::List(&ArgumentKind::Object(EDIT), 1, 3), "Changes."),
];

#[derive(Debug, Default, Deserialize, PartialEq)]
struct SentArguments {
    path: String,
    limit: Option<u32>,
}

fn mistakes(sent: Value) -> String {
    match read::<SentArguments>(FIELDS, sent) {
        Err(ToolError::InvalidArgs(text)) => text.replace("Invalid arguments:\n", ""),
        other => panic!("{other:?}"),
    }
}

#[test]
fn reads_valid_arguments() {
    let sent = json!({ "path": "a", "limit": 7, "mode": "files", "all": false });
    assert_eq!(
        read::<SentArguments>(FIELDS, sent).unwrap(),
        SentArguments { path: "a".into(), limit: Some(7) }
    );
    let sent = json!({ "path": "a", "limit": null });
    assert_eq!(read::<SentArguments>(FIELDS, sent).unwrap(), SentArguments { path: "a".into(), limit: None });
}

#[test]
fn reports_every_invalid_argument() {
    assert_eq!(mistakes(json!({})), "- `path` is missing (a string)");
    assert_eq!(mistakes(json!(null)), "- `path` is missing (a string)");
    assert_eq!(mistakes(json!([1])), "- the arguments must be an object, not a list");
    assert_eq!(
        mistakes(json!({ "path": 3, "limit": 0, "mode": "words" })),
        "- `path` must be a string, not 3\n- `limit` must be an integer from 1 to 2000, not 0\n\
         - `mode` must be one of `files`, `lines`, not \"words\""
    );
    assert_eq!(
        mistakes(json!({ "path": "a", "edits": [{ "old_string": "x" }] })),
        "- `edits[0].new_string` is missing (a string)"
    );
    assert_eq!(
        mistakes(json!({ "path": "a", "edits": [] })),
        "- `edits` must be a list of 1 to 3 items, not a list of 0 items"
    );
}

#[test]
fn unknown_argument_error_suggests_the_nearest_name() {
    assert_eq!(
        mistakes(json!({ "path": "a", "Limits": 3 })),
        "- unknown argument `Limits`; did you mean `limit`?"
    );
    assert_eq!(
        mistakes(json!({ "path": "a", "zzzzzz": 3 })),
        "- unknown argument `zzzzzz`; known arguments: `path`, `limit`, `mode`, `all`, `edits`"
    );
    assert_eq!(
        mistakes(
            json!({ "path": "a", "edits": [{ "oldString": "x", "old_string": "x", "new_string": "" }] })
        ),
        "- unknown argument `edits[0].oldString`; did you mean `old_string`?"
    );
}

#[test]
fn schema_matches_the_table() {
    let schema = schema(FIELDS);
    assert_eq!(schema["required"], json!(["path"]));
    assert_eq!(schema["properties"]["limit"]["maximum"], 2000);
    assert_eq!(schema["properties"]["edits"]["items"]["required"], json!(["old_string", "new_string"]));
    assert_eq!(schema["additionalProperties"], false);
}
