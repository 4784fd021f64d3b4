//! Names of calls that violate a schema; they say what was sent.

use serde_json::Value as Json;

use super::as_text::is_readable;
use crate::generate::{Breach, InvalidValue};
use crate::schema::{below, name_of};

/// A value longer than this is told by its kind.
const SHOWN: usize = 24;

/// The violation of the arguments, to be read after the name of the tool; `base` are the valid ones.
pub(crate) fn title(violation: &InvalidValue, base: &Json) -> String {
    let place = place(&violation.at);
    let sent = violation.value.pointer(&violation.at).unwrap_or(&violation.value);
    match violation.breach {
        Breach::MissingRequired => match absent(base, &violation.value) {
            Some(name) => format!("without {name}"),
            None => breach_text(violation),
        },
        Breach::ExtraProperty | Breach::PropertyName => match absent(&violation.value, base) {
            Some(name) => format!("with {name} besides"),
            None => breach_text(violation),
        },
        Breach::WrongType if is_readable(violation) => format!("with {sent} as {place}"),
        Breach::WrongType | Breach::Null => format!("with {} as {place}", kind_of(sent)),
        Breach::WrongNesting => match sent {
            Json::Array(_) => format!("with a list around {place}"),
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Object(_) => {
                format!("with {} without its list as {place}", kind_of(sent))
            }
        },
        Breach::OutOfRange if violation.keyword.ends_with("inimum") => {
            format!("with {place} below its minimum{}", in_brackets(sent))
        }
        Breach::OutOfRange => format!("with {place} above its maximum{}", in_brackets(sent)),
        Breach::NotMultiple => format!("with {place} off its steps{}", in_brackets(sent)),
        Breach::Pattern => format!("with {place} against its pattern{}", in_brackets(sent)),
        Breach::Enum => format!("with {place} outside of its choices{}", in_brackets(sent)),
        Breach::TooLong => format!("with {place} too long{}", length(sent)),
        Breach::TooShort => format!("with {place} too short{}", length(sent)),
        Breach::TooMany => format!("with too much in {place}{}", length(sent)),
        Breach::TooFew => format!("with too little in {place}{}", length(sent)),
        Breach::NotUnique => format!("with something twice in {place}"),
        Breach::Contains | Breach::Forbidden | Breach::NoAlternative | Breach::SeveralAlternatives => {
            breach_text(violation)
        }
    }
}

fn breach_text(violation: &InvalidValue) -> String {
    format!("where {}", violation.says)
}

/// A place as paths of suites name it.
fn place(pointer: &str) -> String {
    let mut path = String::new();
    for step in pointer.split('/').skip(1) {
        let name = name_of(step);
        match name.parse::<usize>() {
            Ok(index) => path = format!("{path}[{index}]"),
            Err(_) if path.is_empty() => path = name,
            Err(_) => path = format!("{path}.{name}"),
        }
    }
    if path.is_empty() { "the arguments".to_owned() } else { format!("`{path}`") }
}

/// The first member that one value has and another lacks.
fn absent(has: &Json, lacks: &Json) -> Option<String> {
    first_absent(has, lacks, "").map(|pointer| place(&pointer))
}

fn first_absent(has: &Json, lacks: &Json, at: &str) -> Option<String> {
    match (has, lacks) {
        (Json::Object(has), Json::Object(lacks)) => has.iter().find_map(|(name, value)| {
            let at = below(at, name);
            match lacks.get(name) {
                Some(other) => first_absent(value, other, &at),
                None => Some(at),
            }
        }),
        (Json::Array(has), Json::Array(lacks)) => {
            let mut pairs = has.iter().zip(lacks).enumerate();
            pairs.find_map(|(index, (value, other))| first_absent(value, other, &format!("{at}/{index}")))
        }
        _ => None,
    }
}

fn in_brackets(sent: &Json) -> String {
    let text = sent.to_string();
    if text.chars().count() <= SHOWN { format!(" ({text})") } else { format!(" ({})", kind_of(sent)) }
}

fn length(sent: &Json) -> String {
    let counted = |count: usize, noun: &str| format!(" ({count} {noun}{})", if count == 1 { "" } else { "s" });
    match sent {
        Json::String(text) => counted(text.chars().count(), "character"),
        Json::Array(items) => counted(items.len(), "item"),
        Json::Object(fields) => counted(fields.len(), "member"),
        Json::Null | Json::Bool(_) | Json::Number(_) => String::new(),
    }
}

pub(crate) fn kind_of(value: &Json) -> &'static str {
    match value {
        Json::Number(_) => "a number",
        Json::String(_) => "text",
        Json::Bool(_) => "a boolean",
        Json::Array(_) => "a list",
        Json::Object(_) => "an object",
        Json::Null => "null",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn titles_say_what_was_sent() {
        let base = json!({"id": "u1", "limit": 5, "filter": {"from": 0, "tags": ["a"]}});
        let check = |breach, keyword: &str, at: &str, sent: Json, expected: &str| {
            let mut value = base.clone();
            match value.pointer_mut(at) {
                Some(place) => *place = sent,
                None => value[at.trim_start_matches('/')] = sent,
            }
            let (keyword, at) = (keyword.to_owned(), at.to_owned());
            let violation = InvalidValue { breach, keyword, at, says: "it is wrong".to_owned(), value };
            assert_eq!(title(&violation, &base), expected);
        };
        check(Breach::WrongType, "type", "/limit", json!("x"), "with text as `limit`");
        check(Breach::WrongType, "type", "/limit", json!("5"), "with \"5\" as `limit`");
        check(Breach::WrongType, "type", "", json!([]), "with a list as the arguments");
        check(Breach::Null, "type", "/filter/tags/0", Json::Null, "with null as `filter.tags[0]`");
        check(Breach::WrongNesting, "type", "/id", json!(["u1"]), "with a list around `id`");
        check(Breach::OutOfRange, "minimum", "/filter/from", json!(-1), "with `filter.from` below its minimum (-1)");
        check(Breach::OutOfRange, "exclusiveMaximum", "/limit", json!(9), "with `limit` above its maximum (9)");
        check(Breach::Enum, "enum", "/id", json!("u"), "with `id` outside of its choices (\"u\")");
        check(Breach::TooLong, "maxLength", "/id", json!("xxx"), "with `id` too long (3 characters)");
        check(Breach::TooFew, "minItems", "/filter/tags", json!([]), "with too little in `filter.tags` (0 items)");
        check(Breach::ExtraProperty, "additionalProperties", "/zebra", json!(1), "with `zebra` besides");
        check(Breach::Forbidden, "not", "/id", json!(1), "where it is wrong");
        let mut value = base.clone();
        value["filter"].as_object_mut().unwrap().shift_remove("from");
        let (at, says) = ("/filter".to_owned(), String::new());
        let missing = InvalidValue { breach: Breach::MissingRequired, keyword: "required".to_owned(), at, says, value };
        assert_eq!(title(&missing, &base), "without `filter.from`");
    }

    #[test]
    fn places_and_lengths_are_told_as_suites_write_them() {
        for (pointer, expected) in
            [("", "the arguments"), ("/id", "`id`"), ("/filter/tags/0", "`filter.tags[0]`"), ("/a~1b/c", "`a/b.c`")]
        {
            assert_eq!(place(pointer), expected);
        }
        for (sent, expected) in [
            (json!("x"), " (1 character)"),
            (json!("äö"), " (2 characters)"),
            (json!([1]), " (1 item)"),
            (json!({}), " (0 members)"),
            (json!(5), ""),
        ] {
            assert_eq!(length(&sent), expected);
        }
        let long = "x".repeat(SHOWN);
        // The quotes count too.
        assert_eq!(in_brackets(&json!(long)), " (text)");
        assert_eq!(in_brackets(&json!(long[2..])), format!(" (\"{}\")", &long[2..]));
    }
}
