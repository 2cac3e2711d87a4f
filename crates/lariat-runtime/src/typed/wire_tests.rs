use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::super::answer_schema::schema_of;
use super::{to_enforceable, wrap_in_field};

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct Order {
    /// How many.
    #[schemars(range(min = 1, max = 9))]
    count: u8,
    #[serde(default)]
    urgent: bool,
    to: Option<String>,
    when: Delivery,
    format: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(dead_code, reason = "only its schema is used")]
enum Delivery {
    Now,
    In { hours: f64 },
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct Node {
    children: Vec<Node>,
}

#[test]
fn type_becomes_a_schema_that_every_provider_enforces() {
    let sent = to_enforceable(schema_of::<Order>());
    assert_eq!(sent["required"], json!(["count", "format", "to", "urgent", "when"]));
    assert_eq!(sent["additionalProperties"], false);
    let count = &sent["properties"]["count"];
    assert_eq!(count["description"], "How many. (not negative, minimum: 1, maximum: 9)");
    assert_eq!((count.get("minimum"), count.get("format")), (None, None));
    assert_eq!(sent["properties"]["urgent"], json!({"type": "boolean", "description": "(default: false)"}));
    assert_eq!(sent["properties"]["to"]["type"], json!(["string", "null"]));
    // A property may have the name of a keyword.
    assert_eq!(sent["properties"]["format"]["type"], "string");
    let when = &sent["$defs"]["Delivery"];
    assert_eq!(when.get("oneOf"), None);
    let hours = &when["anyOf"][1]["properties"]["in"];
    assert_eq!((&hours["additionalProperties"], &hours["required"]), (&json!(false), &json!(["hours"])));
}

#[test]
fn every_object_of_an_enforceable_schema_is_closed_and_requires_all_properties() {
    fn check(schema: &Value) {
        match schema {
            Value::Object(fields) => {
                if let Some(Value::Object(properties)) = fields.get("properties") {
                    assert_eq!(fields["additionalProperties"], false, "{schema}");
                    assert_eq!(fields["required"].as_array().unwrap().len(), properties.len(), "{schema}");
                }
                fields.values().for_each(check);
            }
            Value::Array(items) => items.iter().for_each(check),
            _ => {}
        }
    }
    check(&to_enforceable(schema_of::<Order>()));
    check(&to_enforceable(wrap_in_field("answer", schema_of::<Vec<Order>>())));
}

#[test]
fn definitions_and_root_references_stay_valid_inside_a_field() {
    let whole = wrap_in_field("answer", schema_of::<Vec<Node>>());
    let answer = json!({"answer": [{"children": [{"children": []}]}]});
    assert!(jsonschema::is_valid(&whole, &answer));
    assert!(!jsonschema::is_valid(&whole, &json!({"answer": [{"children": [{}]}]})));
    let looped = wrap_in_field("answer", json!({"type": "array", "items": {"$ref": "#"}}));
    assert!(jsonschema::is_valid(&looped, &json!({"answer": [[], [[]]]})));
    assert!(!jsonschema::is_valid(&looped, &json!({"answer": [{"answer": []}]})));
}
