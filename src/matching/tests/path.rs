//! Paths.

use serde_json::{Value as Json, json};

use super::super::ValuePath;

fn answer() -> Json {
    json!({"result": {
        "content": [{"type": "text", "text": "{\"id\": 7, \"tags\": [\"a\", \"b\"]}"}, {"type": "text", "text": "plain"}],
        "a.b": {"c d": 1},
        "items": [{"n": 1}, {"n": 2}],
    }})
}

#[track_caller]
fn finds(path: &str, expected: Json) {
    assert_eq!(ValuePath::parse(path).unwrap().find(&answer()).unwrap().into_owned(), expected, "{path}");
}

#[track_caller]
fn misses(path: &str, sentence: &str) {
    assert_eq!(ValuePath::parse(path).unwrap().find(&answer()).unwrap_err(), sentence, "{path}");
}

#[track_caller]
fn refuses(path: &str, sentence: &str) {
    assert_eq!(ValuePath::parse(path).unwrap_err(), sentence, "{path}");
}

#[test]
fn finds_values() {
    finds("result.content[0].type", json!("text"));
    finds("result.content[-1].text", json!("plain"));
    finds("result[\"a.b\"]['c d']", json!(1));
    finds("result.content[0].text.json().id", json!(7));
    finds("result.content[0].text.json().tags[-1]", json!("b"));
    finds("result.content[0].text.json()", json!({"id": 7, "tags": ["a", "b"]}));
    finds("$.result.items[0].n", json!(1));
    finds("$['result'][\"a.b\"]['c d']", json!(1));
    finds("$.result.items[*].n", json!([1, 2]));
    finds("$..n", json!([1, 2]));
    finds("$.result.items[?@.n > 1]", json!([{"n": 2}]));
    finds("$", answer());
}

#[test]
fn slips_are_told_from_what_is_absent() {
    let optional = json!({"result": {"items": [], "error": 1}});
    for (path, value, expected) in [
        ("result.items[0].secret", answer(), None),
        ("result.content[5]", answer(), None),
        ("result.itens[0].secret", answer(), Some("did you mean `items`?")),
        ("items[0].secret", answer(), Some("did you mean `result.items`?")),
        ("items", answer(), Some("did you mean `result.items`?")),
        ("result.item", answer(), None),
        ("result._meta.trace", answer(), None),
        ("error", optional.clone(), None),
        ("error.data", optional.clone(), None),
        ("result.x", json!({"error": {"code": 1}}), None),
        ("$.result.itens[*].secret", answer(), None),
    ] {
        let found = ValuePath::parse(path).unwrap().slip(&value);
        match expected {
            Some(end) => assert!(found.is_some_and(|reason| reason.ends_with(end)), "{path}"),
            None => assert_eq!(found, None, "{path}"),
        }
    }
}

#[test]
fn names_what_is_there_instead() {
    misses("reslt.x", "the answer has no field `reslt`; its only field is `result`; did you mean `result`?");
    misses(
        "content[0]",
        "the answer has no field `content`; its only field is `result`; did you mean `result.content`?",
    );
    misses(
        "result.content[0].txt",
        "`result.content[0]` has no field `txt`; its fields are `type`, `text`; did you mean `text`?",
    );
    misses("result.content[2]", "`result.content` has 2 elements, so there is no `[2]`");
    misses("result.content[-3]", "`result.content` has 2 elements, so there is no `[-3]`");
    misses(
        "result.content.text",
        "`result.content` is an array of 2 and has no field `text`; choose an element, such as `[0]`",
    );
    misses("result.content[1].text.x", "`result.content[1].text` is \"plain\" and has no field `x`");
    misses("result.items[0][0]", "`result.items[0]` is an object and has no element `[0]`; its fields are `n`");
    misses(
        "result.content[1].text.json()",
        "the text at `result.content[1].text` is not valid JSON: expected value at line 1 column 1; it begins with \"plain\"",
    );
    misses("result.items.json()", "`result.items` is an array, but `json()` needs a string");
    misses("$.result.items[0].m", "`result.items[0]` has no field `m`; its only field is `n`");
    misses(
        "$.result.items[*].m",
        "`$.result.items[*].m` matches nothing; the fields of `result` are `content`, `a.b`, `items`",
    );
}

#[test]
fn refuses_what_is_no_path() {
    let unexpected = |path: &str, c: char, at: usize| {
        format!(
            "the path `{path}` has an unexpected `{c}` at character {at}; names with special characters are quoted, as in `[\"a.b\"]`"
        )
    };
    refuses("", "the path is empty");
    refuses("a..b", &unexpected("a..b", '.', 3));
    refuses(".a", &unexpected(".a", '.', 1));
    refuses("a.", "the path `a.` ends with a dot");
    refuses("a[", "the path `a[` has a `[` that is not closed");
    refuses("a[x]", "`[x]` is neither a whole number nor a quoted name such as `[\"a.b\"]`");
    refuses("a[\"b]", "the path `a[\"b]` has a quoted name that is not closed");
    refuses("a[0]b", &unexpected("a[0]b", 'b', 5));
    refuses("a]", &unexpected("a]", ']', 2));
    refuses("items[*].n", "a path selects one value; to select several, use the JSONPath `$.items[*].n`");
    refuses("items[].n", "a path selects one value; to select several, use the JSONPath `$.items[*].n`");
    for unfinished in ["$['\\u", "$['\\uD", "$[\"\\ud", "$['\\uD83D\\uD", "$['\\uD83D"] {
        assert!(ValuePath::parse(unfinished).unwrap_err().contains("is not a valid JSONPath"), "{unfinished}");
    }
    finds("$['result'][\"a.b\"]['c\\u0020d']", json!(1));
    for (written, cure) in [
        ("$.result.content[0].text.json().sum", "`result.content[0].text.json().sum`"),
        ("$..text.json()", "`result.content[0].text.json().id`"),
    ] {
        let reason = ValuePath::parse(written).unwrap_err();
        assert!(reason.contains("without `$`") && reason.ends_with(cure), "{reason}");
    }
    assert!(ValuePath::parse("$.a[").unwrap_err().starts_with("`$.a[` is not a valid JSONPath: "));
}
