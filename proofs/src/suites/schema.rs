//! Runs the required tests of JSON-Schema-Test-Suite through the check of answers.
//!
//! A draft is selected as in the product: by the `$schema` of the schema. Two kinds of schemas are not for answers: `true` and `false`, which
//! are wrapped in an object of the same meaning, and those that refer to documents of the suite's own server, which must be
//! refused with the address in the error, because nothing is fetched for a schema.

use std::path::Path;

use lariat_runtime::typed::AnswerSchema;
use serde_json::{Value, json};

/// The server of the suite, which no test here starts.
const SERVER: &str = "http://localhost:1234/";

/// A draft whose required tests are run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Draft {
    /// The directory of its tests.
    pub directory: &'static str,
    /// Its `$schema`.
    dialect: &'static str,
}

/// The drafts that matter: the default, and what most published schemas use.
pub const DRAFTS: [Draft; 2] = [
    Draft { directory: "draft2020-12", dialect: "https://json-schema.org/draft/2020-12/schema" },
    Draft { directory: "draft7", dialect: "http://json-schema.org/draft-07/schema#" },
];

/// What the check made of the tests of a draft.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Tests with the demanded verdict.
    pub passed: usize,
    /// Tests whose schema was refused, because it needs a document of the suite's server.
    pub refused: usize,
    /// Tests with another verdict, or whose schema was refused for another reason.
    pub faults: Vec<String>,
}

impl Draft {
    /// Runs the required tests: the files in the directory of the draft, without `optional`.
    ///
    /// # Errors
    /// If a file cannot be read, or is not in the format of the suite.
    pub fn run(self, suite: &Path) -> Result<Tally, String> {
        let mut tally = Tally::default();
        for path in super::files(&suite.join(self.directory))? {
            let groups: Vec<Value> = serde_json::from_slice(&super::read(&path)?)
                .map_err(|error| format!("{}: {error}", path.display()))?;
            for group in &groups {
                self.check(&super::name(&path), group, &mut tally);
            }
        }
        Ok(tally)
    }

    /// Runs the tests of one schema.
    fn check(self, file: &str, group: &Value, tally: &mut Tally) {
        let (schema, tests) = (&group["schema"], group["tests"].as_array().map_or(&[][..], Vec::as_slice));
        let title = format!("{file}: {}", group["description"].as_str().unwrap_or_default());
        let answer = match AnswerSchema::from_value(self.as_answer(schema)) {
            Ok(answer) => answer,
            Err(error) if is_right_to_refuse(schema, &error.to_string()) => {
                tally.refused += tests.len();
                return;
            }
            Err(error) => {
                tally.faults.extend(tests.iter().map(|_| format!("{title}: {error}")));
                return;
            }
        };
        for test in tests {
            let read = answer.read(&test["data"].to_string());
            if Value::Bool(read.is_ok()) == test["valid"] {
                tally.passed += 1;
            } else {
                let data = &test["data"];
                tally.faults.push(format!("{title}: {}: {data}: {read:?}", test["description"]));
            }
        }
    }

    /// The schema as an embedding program would give it: an object that names its draft.
    fn as_answer(self, schema: &Value) -> Value {
        let mut schema = if schema.is_object() { schema.clone() } else { json!({"allOf": [schema]}) };
        if let Some(fields) = schema.as_object_mut() {
            fields.entry("$schema").or_insert_with(|| self.dialect.into());
        }
        schema
    }
}

/// Whether a schema needs a document of the suite's server, and the error says which and what to do.
fn is_right_to_refuse(schema: &Value, error: &str) -> bool {
    schema.to_string().contains(SERVER) && error.contains(SERVER) && error.contains("hint: ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(draft: Draft, schema: &Value, data: &Value, valid: bool) -> Tally {
        let group = json!({
            "description": "d", "schema": schema, "tests": [{"description": "t", "data": data, "valid": valid}]
        });
        let mut tally = Tally::default();
        draft.check("file.json", &group, &mut tally);
        tally
    }

    #[test]
    fn the_same_schema_is_checked_by_both_drafts() {
        // In draft 7, what stands beside `$ref` is ignored.
        let schema =
            json!({"$ref": "#/definitions/a", "maxLength": 1, "definitions": {"a": {"type": "string"}}});
        let passed = Tally { passed: 1, ..Tally::default() };
        assert_eq!(tally(DRAFTS[0], &schema, &json!("ab"), false), passed);
        assert_eq!(tally(DRAFTS[1], &schema, &json!("ab"), true), passed);
        assert_eq!(tally(DRAFTS[1], &json!(false), &json!(1), false), passed);
    }

    #[test]
    fn wrong_verdict_and_unexpected_refusal_are_faults() {
        assert_eq!(tally(DRAFTS[0], &json!({"type": "string"}), &json!(1), true).faults.len(), 1);
        assert_eq!(tally(DRAFTS[0], &json!({"type": 1}), &json!(1), true).faults.len(), 1);
        let remote = json!({"$ref": "http://localhost:1234/integer.json"});
        assert_eq!(tally(DRAFTS[0], &remote, &json!(1), true), Tally { refused: 1, ..Tally::default() });
        let other = json!({"$ref": "http://localhost:9/integer.json"});
        assert_eq!(tally(DRAFTS[0], &other, &json!(1), true).faults.len(), 1);
    }
}
