//! The part of JSON schema that the schemas of this crate use, and nothing more of it.
//!
//! A provider may enforce a schema or only be told of it, and a deserializer forgives what a schema does not: a
//! list for an object, for one. So every answer is held against the schema itself first.

use serde_json::{Map, Value};

/// Whether a value is of a schema, which may use `type`, `properties`, `required`, `additionalProperties:
/// false`, `items` and `anyOf`.
pub(crate) fn allows(schema: &Value, value: &Value) -> bool {
    if let Some(choices) = schema.get("anyOf").and_then(Value::as_array) {
        return choices.iter().any(|choice| allows(choice, value));
    }
    match (schema.get("type").and_then(Value::as_str), value) {
        (Some("object"), Value::Object(fields)) => allows_fields(schema, fields),
        (Some("array"), Value::Array(items)) => {
            let of_items = &schema["items"];
            items.iter().all(|item| allows(of_items, item))
        }
        (Some("string"), Value::String(_))
        | (Some("number"), Value::Number(_))
        | (Some("boolean"), Value::Bool(_))
        | (Some("null"), Value::Null) => true,
        (Some("integer"), Value::Number(number)) => number.is_i64() || number.is_u64(),
        _ => false,
    }
}

fn allows_fields(schema: &Value, fields: &Map<String, Value>) -> bool {
    let required = schema.get("required").and_then(Value::as_array);
    let is_there = |key: &Value| key.as_str().is_some_and(|key| fields.contains_key(key));
    let of_field = |key: &str| schema.get("properties")?.get(key);
    required.is_none_or(|keys| keys.iter().all(is_there))
        && fields
            .iter()
            .all(|(key, value)| of_field(key).is_some_and(|schema| allows(schema, value)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_a_schema_says_is_of_it() {
        let schema = json!({
            "type": "object",
            "properties": {
                "n": { "type": "integer" },
                "list": { "type": "array", "items": { "type": "string" } },
                "maybe": { "anyOf": [{ "type": "boolean" }, { "type": "null" }] },
            },
            "required": ["n", "list"],
            "additionalProperties": false,
        });
        for good in [
            json!({ "n": 1, "list": [] }),
            json!({ "n": -1, "list": ["a", "b"], "maybe": null }),
            json!({ "n": u64::MAX, "list": ["a"], "maybe": true }),
        ] {
            assert!(allows(&schema, &good), "{good}");
        }
        for bad in [
            json!(null),
            json!([1, [], null]),
            json!({ "n": 1 }),
            json!({ "n": 1.5, "list": [] }),
            json!({ "n": "1", "list": [] }),
            json!({ "n": 1, "list": {} }),
            json!({ "n": 1, "list": [1] }),
            json!({ "n": 1, "list": [], "maybe": 1 }),
            json!({ "n": 1, "list": [], "more": 1 }),
        ] {
            assert!(!allows(&schema, &bad), "{bad}");
        }
        assert!(!allows(&json!({ "type": "date" }), &json!("x")));
    }
}
