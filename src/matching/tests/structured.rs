//! Texts beside structured content.

use serde_json::{Value as Json, json};

use super::{Step, check};

/// Texts that hold JSON say what the structured content says; one is enough, and numbers are equal by value.
#[test]
fn text_and_structured_content() {
    let check = |texts: &[&str], expected: &str| {
        let content: Vec<Json> = texts.iter().map(|text| json!({"type": "text", "text": text})).collect();
        let told = json!({"name": "Ann", "age": 3, "tags": [{"a": 1}, {"a": 2}], "note": "[\"as it is\"]"});
        let step = Step::result(json!({"content": content, "structuredContent": told}));
        check("output_schema: true", &step, expected);
    };
    let diverges = "text-divergence [output_schema] clients without support for structured content read the text";
    check(&[], "");
    check(&["Ann is 3"], "");
    check(&["3"], "");
    check(&[r#"{"note": "[\"as it is\"]", "tags": [{"a": 1}, {"a": 2}], "age": 3.0, "name": "Ann"}"#], "");
    check(&[r#"[{"a": 1}, {"a": 2}]"#], "");
    check(&[r#"{"a": 1}"#, r#"{"a": 2}"#], "");
    check(&[r#"{"a": 1}"#, r#"{"a": 3}"#], diverges);
    check(&[r#"{"name": "Ann"}"#], diverges);
    check(&["[\"as it is\"]"], "");
    check(&[r#"{"name": "Bob", "age": 3}"#], diverges);
    check(&[r#"["Ann", 3]"#], diverges);
    check(
        &[r#"{"name": "Bob"}"#, r#"{"name": "Ann", "age": 3, "tags": [{"a": 1}, {"a": 2}], "note": "[\"as it is\"]"}"#],
        "",
    );
}

/// SDKs write a value that they wrapped in an object without the object.
#[test]
fn structured_content_as_text() {
    let check = |texts: &[&str], expected: &str| {
        let content: Vec<Json> = texts.iter().map(|text| json!({"type": "text", "text": text})).collect();
        let step = Step::result(json!({"content": content, "structuredContent": {"result": ["red wine", 3]}}));
        check("structured_text: true", &step, expected);
    };
    check(&[r#"{"result": ["red wine", 3.0]}"#], "");
    check(&["here it is", r#"["red wine", 3]"#], "");
    check(&["red wine", "3"], "");
    check(&["it is done"], "structured-text [structured_text] this text is not JSON");
    check(&["it is done", r#"{"result": []}"#], "structured-text [structured_text] this text holds other JSON");
    check(&[], "structured-text [structured_text] there is no text");
    super::check("structured_text: true", &Step::error(-1, "x"), "structured-text [structured_text] found no success");
}
