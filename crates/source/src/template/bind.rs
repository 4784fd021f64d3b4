//! Names in expressions and templates replaced by their values, so that they can be evaluated where nobody knows the names.

use serde_json::{Map, Value as Json};

use super::super::map_texts;
use super::{Names, fill_text, is_template, names_of, text_of};

/// The longest expression that is made.
const LONGEST: usize = 8 << 10;

/// An expression in which names are replaced by their values; `None` where that would be too long.
pub fn bind(expression: &str, names: &Names) -> Option<String> {
    let letters: Vec<char> = expression.chars().collect();
    let (mut bound, mut at, mut quote) = (String::new(), 0, None);
    while at < letters.len() && bound.len() <= LONGEST {
        let letter = letters[at];
        let is_word = |letter: &char| letter.is_alphanumeric() || *letter == '_';
        if let Some(open) = quote {
            bound.push(letter);
            if letter == '\\' {
                bound.extend(letters.get(at + 1));
                at += 1;
            } else if letter == open {
                quote = None;
            }
            at += 1;
        } else if is_word(&letter) {
            let end =
                letters[at..].iter().position(|letter| !is_word(letter)).map_or(letters.len(), |length| at + length);
            let word: String = letters[at..end].iter().collect();
            match names.get(&word).filter(|_| is_name(&bound, &letters[end..])) {
                Some(value) => bound.extend(["(", literal(value).as_str(), ")"]),
                None => bound += &word,
            }
            at = end;
        } else {
            quote = matches!(letter, '"' | '\'').then_some(letter);
            bound.push(letter);
            at += 1;
        }
    }
    (at >= letters.len() && bound.len() <= LONGEST).then_some(bound)
}

/// A value as a suite writes it, in which `is_open` names stay names, and every other one is replaced by its value;
/// `None` where a template cannot be filled in, or has a statement.
pub fn bind_templates(written: &Json, names: &Names, is_open: &mut dyn FnMut(&str) -> bool) -> Option<Json> {
    Some(match written {
        Json::String(text) => bind_template(text, names, is_open)?,
        Json::Array(items) => {
            items.iter().map(|item| bind_templates(item, names, is_open)).collect::<Option<Vec<_>>>()?.into()
        }
        Json::Object(members) => {
            let bound = members.iter().map(|(name, value)| {
                Some((text_of(&bind_template(name, names, is_open)?), bind_templates(value, names, is_open)?))
            });
            bound.collect::<Option<Map<_, _>>>()?.into()
        }
        Json::Null | Json::Bool(_) | Json::Number(_) => written.clone(),
    })
}

fn bind_template(text: &str, names: &Names, is_open: &mut dyn FnMut(&str) -> bool) -> Option<Json> {
    if !is_template(text) {
        return Some(text.into());
    }
    let (open, closed): (Vec<_>, Vec<_>) = names_of(text).into_iter().partition(|name| is_open(name));
    if open.is_empty() {
        return fill_text(text, names).ok().map(|value| map_texts(value, &literal_text));
    }
    let value = |name: String| names.get(&name).cloned().map(|value| (name, value));
    let known: Names = closed.into_iter().filter_map(value).collect();
    let (mut bound, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once("{{") {
        let length = expression_length(after)?;
        bound.extend([before, "{{", bind(&after[..length], &known)?.as_str(), "}}"]);
        rest = &after[length + 2..];
    }
    bound += rest;
    let has_statement = ["{%", "{#"].iter().any(|mark| text.contains(mark));
    // What cannot be parsed names nothing.
    (!has_statement && !names_of(&bound).is_empty()).then(|| bound.into())
}

/// The length of an expression that `}}` ends.
fn expression_length(text: &str) -> Option<usize> {
    let (mut quote, mut is_escaped) = (None, false);
    for (at, letter) in text.char_indices() {
        match quote {
            Some(_) if is_escaped => is_escaped = false,
            Some(_) if letter == '\\' => is_escaped = true,
            Some(open) if letter == open => quote = None,
            Some(_) => {}
            None if text[at..].starts_with("}}") => return Some(at),
            None => quote = matches!(letter, '"' | '\'').then_some(letter),
        }
    }
    None
}

/// A text that a suite does not take for a template.
pub fn literal_text(text: &str) -> String {
    if !is_template(text) {
        return text.to_owned();
    }
    let (mut whole, mut rest) = (String::new(), text);
    while let Some(at) = ["{{", "{%", "{#"].iter().filter_map(|mark| rest.find(mark)).min() {
        whole.extend([&rest[..at], "{{ '", &rest[at..at + 2], "' }}"]);
        rest = &rest[at + 2..];
    }
    whole + rest
}

/// Returns true if a word is the name of a value: not of a field, a filter, a test or an argument.
fn is_name(before: &str, after: &[char]) -> bool {
    let before = before.trim_end();
    let is_test = ["is", "is not"].iter().any(|word| {
        before
            .strip_suffix(word)
            .is_some_and(|rest| !rest.ends_with(|last: char| last.is_alphanumeric() || last == '_'))
    });
    let mut after = after.iter().skip_while(|letter| letter.is_whitespace());
    let is_argument = after.next() == Some(&'=') && after.next() != Some(&'=');
    !before.ends_with(['.', '|']) && !is_test && !is_argument
}

/// A value as expressions write it.
fn literal(value: &Json) -> String {
    match value {
        Json::Null => "none".to_owned(),
        Json::Bool(_) | Json::Number(_) | Json::String(_) => value.to_string(),
        Json::Array(items) => format!("[{}]", items.iter().map(literal).collect::<Vec<_>>().join(", ")),
        Json::Object(members) => {
            let members =
                members.iter().map(|(name, value)| format!("{}: {}", Json::from(name.as_str()), literal(value)));
            // Two braces in a row would end a template.
            format!("{{ {} }}", members.collect::<Vec<_>>().join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::template::{evaluate, fill_text};
    use serde_json::json;

    #[test]
    fn an_expression_means_the_same_with_values_in_place_of_names() {
        let names = json!({
            "label": "a \"b\" \\ 'c'\n", "user": {"name": "Ann", "none": null}, "upper": 1, "list": [1, true], "is_in": 2,
        });
        let names = names.as_object().unwrap().clone();
        for expression in [
            "label",
            "label|upper",
            "user.name ~ ' label ' ~ user['name']",
            "user.none is none and upper is number",
            "'label' in [label, 'label']",
            "list|first == upper and list == [1, true]",
            "[user]|map(attribute='name')|first",
            "is_in == 2",
            "{'upper': upper}.upper",
        ] {
            let bound = bind(expression, &names).unwrap();
            let known = evaluate(expression, &names).unwrap();
            assert_eq!(evaluate(&bound, &Names::new()).ok(), Some(known), "{expression}: {bound}");
        }
        assert_eq!(bind("label", &[("label".to_owned(), "x".repeat(LONGEST).into())].into_iter().collect()), None);
    }

    #[test]
    fn templates_keep_the_names_that_are_open() {
        let names = json!({"label": "a {{ 7 }} \"b\"", "user": {"name": {"first": "Ann"}}, "first": {"id": 7}, "n": 3});
        let names = names.as_object().unwrap().clone();
        for (written, expected) in [
            (json!({"equals": "{{ n }}", "at": "x"}), Some(json!({"equals": 3, "at": "x"}))),
            (json!("{{ label }}"), Some(json!("a {{ '{{' }} 7 }} \"b\""))),
            (json!("{{ first.id }}"), Some(json!("{{ first.id }}"))),
            (json!(["{{ first.id + n }}"]), Some(json!(["{{ first.id + (3) }}"]))),
            (json!("n-{{ n }}-{{ '}}' ~ first }}"), Some(json!("n-{{ (3) }}-{{ '}}' ~ first }}"))),
            (
                json!("{{ user.name == first }}"),
                Some(json!("{{ ({ \"name\": { \"first\": \"Ann\" } }).name == first }}")),
            ),
            (json!("{{ nobody }}"), None),
            (json!("{% if first %}x{% endif %}"), None),
            (json!("{{ first"), None),
        ] {
            let bound = bind_templates(&written, &names, &mut |name| name == "first");
            assert_eq!(bound, expected, "{written}");
            if let Some(text) = bound.as_ref().and_then(Json::as_str) {
                assert_eq!(fill_text(text, &names), fill_text(written.as_str().unwrap(), &names), "{written}");
            }
        }
    }

    #[test]
    fn a_literal_text_is_filled_in_as_it_was() {
        for (text, expected) in [
            ("plain", "plain"),
            ("a {{ 7*7 }} b", "a {{ '{{' }} 7*7 }} b"),
            ("{% x %}{# y", "{{ '{%' }} x %}{{ '{#' }} y"),
        ] {
            assert_eq!(literal_text(text), expected);
            assert_eq!(fill_text(expected, &Names::new()), Ok(text.into()));
        }
    }
}
