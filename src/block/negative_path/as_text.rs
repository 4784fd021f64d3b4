//! Numbers and booleans as text, as language models write them: a server may read them all the same.

use std::collections::BTreeSet;

use serde_json::Value as Json;

use crate::generate::{Breach, Generator, InvalidValue};

/// Arguments in which one that is a number or a boolean is written as text, derived from those of wrong types.
pub(crate) fn with_text(found: &[InvalidValue], base: &Json, generator: &Generator) -> Vec<InvalidValue> {
    let mut places = BTreeSet::new();
    let is_typed = |violation: &&InvalidValue| {
        let is_argument = violation.at.matches('/').count() == 1;
        is_argument && matches!(violation.breach, Breach::WrongType | Breach::NoAlternative)
    };
    let of = |wrong: &InvalidValue| {
        let with = |value: Json| {
            let mut whole = wrong.value.clone();
            *whole.pointer_mut(&wrong.at)? = value;
            Some(whole)
        };
        let own = base.pointer(&wrong.at).filter(|value| value.is_number() || value.is_boolean());
        let tried = own.cloned().into_iter().chain([1.into(), 10.into(), 100.into(), true.into()]);
        let right =
            tried.into_iter().find(|value| with(value.clone()).is_some_and(|whole| generator.is_valid(&whole)))?;
        let text = right.to_string();
        let value = with(text.clone().into()).filter(|whole| !generator.is_valid(whole))?;
        let (keyword, at) = ("type".to_owned(), wrong.at.clone());
        Some(InvalidValue { breach: Breach::WrongType, keyword, says: format!("`{text}` is text"), at, value })
    };
    found.iter().filter(is_typed).filter(|violation| places.insert(&violation.at)).filter_map(of).collect()
}

/// A text stands for a number or a boolean, and servers that read texts find one in it.
pub(crate) fn is_readable(violation: &InvalidValue) -> bool {
    let sent = violation.value.pointer(&violation.at).and_then(Json::as_str);
    violation.breach == Breach::WrongType
        && sent.is_some_and(|text| text.parse::<f64>().is_ok() || ["true", "false"].contains(&text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::arguments::SafeArguments;
    use serde_json::json;

    #[test]
    fn a_number_as_text_is_wrong_where_the_schema_wants_a_number() {
        for (schema, base, expected) in [
            (json!({"type": "integer"}), json!(5), Some(json!("5"))),
            (json!({"type": "boolean"}), json!(false), Some(json!("false"))),
            // Without a value of its own, one that fits is written.
            (json!({"type": "integer", "minimum": 50}), Json::Null, Some(json!("100"))),
            (json!({"type": ["integer", "string"]}), json!(5), None),
            (json!({"type": "string"}), json!("a"), None),
        ] {
            let schema = json!({"type": "object", "properties": {"n": schema}});
            let safe = SafeArguments::new(&schema, None).unwrap();
            let base = if base.is_null() { json!({}) } else { json!({"n": base}) };
            let found = safe.violations(&base);
            let texts = with_text(&found, &base, safe.generator());
            assert_eq!(texts.first().map(|violation| violation.value["n"].clone()), expected, "{schema}");
            assert!(texts.iter().all(is_readable));
        }
    }

    #[test]
    fn texts_in_which_servers_find_a_value_are_advice() {
        let check = |breach, sent: Json, expected: bool| {
            let (keyword, at, says) = ("type".to_owned(), "/n".to_owned(), String::new());
            let violation = InvalidValue { breach, keyword, at, says, value: json!({"n": sent}) };
            assert_eq!(is_readable(&violation), expected, "{breach:?} {sent}");
        };
        check(Breach::WrongType, json!("5"), true);
        check(Breach::WrongType, json!("-1.5e3"), true);
        check(Breach::WrongType, json!("false"), true);
        check(Breach::WrongType, json!("no"), false);
        check(Breach::WrongType, json!(["5"]), false);
        // A number that is out of its range is so as a text, too.
        check(Breach::OutOfRange, json!("5"), false);
    }
}
