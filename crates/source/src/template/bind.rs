//! Names in an expression replaced by their values, so that it can be evaluated where nobody knows the names.

use serde_json::Value as Json;

use super::Names;

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
            format!("{{{}}}", members.collect::<Vec<_>>().join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::template::evaluate;
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
}
