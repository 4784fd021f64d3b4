//! Values that a description names as examples, for schemas that have no keyword for it: `(e.g. 'Europe/London')`.

use serde_json::Value;

/// Words that introduce an example.
const LEADS: [&str; 6] = ["e.g.", "eg.", "for example", "for instance", "such as", "example:"];

/// Forms of dates and times that stand for themselves in descriptions, with a value of each.
const FORMS: [(&str, &str); 6] = [
    ("YYYY-MM-DDTHH:MM:SSZ", "2024-01-31T12:30:00Z"),
    ("YYYY-MM-DDTHH:MM:SS", "2024-01-31T12:30:00"),
    ("YYYY-MM-DD HH:MM:SS", "2024-01-31 12:30:00"),
    ("YYYY-MM-DD", "2024-01-31"),
    ("HH:MM:SS", "12:30:00"),
    ("HH:MM", "12:30"),
];

/// Characters of an example at most: what is longer is prose.
const LONGEST: usize = 80;

/// Texts that a description gives as examples: what stands in quotes after words that announce one, a single word there
/// without quotes, and a date or time in the form that it names.
pub(crate) fn examples(description: &str) -> Vec<Value> {
    let announced = LEADS.iter().filter_map(|lead| {
        let at = description.to_ascii_lowercase().find(lead)?;
        let rest = description[at + lead.len()..].trim_start_matches([' ', ',', ':']);
        quoted_text(rest).or_else(|| bare(rest))
    });
    let form = FORMS.iter().find(|(form, _)| description.contains(form)).map(|(_, value)| *value);
    announced.take(1).chain(form).map(Value::from).collect()
}

/// The quoted text at the beginning.
fn quoted_text(text: &str) -> Option<&str> {
    let end = match text.chars().next()? {
        '“' => '”',
        '‘' => '’',
        quote @ ('"' | '\'' | '`') => quote,
        _ => return None,
    };
    let inside = &text[text.chars().next()?.len_utf8()..];
    let found = &inside[..inside.find(end)?];
    (!found.is_empty() && found.len() <= LONGEST).then_some(found)
}

/// A word at the beginning that prose would not have there: with a digit or a sign within, or alone up to what closes it.
fn bare(text: &str) -> Option<&str> {
    let end = text.find([' ', ',', ';', ')', ']', '\n']).unwrap_or(text.len());
    let word = text[..end].trim_end_matches(['.', ':']);
    let is_value = |c: char| c.is_ascii_digit() || "/_-.:@\\".contains(c);
    let stands_alone = text[end..].starts_with([')', ']']) || text[end..].is_empty();
    let is_marked = word.chars().any(is_value);
    let is_word = word.starts_with(|c: char| c.is_alphanumeric() || "/.@~".contains(c));
    (is_word && word.len() <= LONGEST && (is_marked || stands_alone)).then_some(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptions_name_examples() {
        let check = |description: &str, expected: &[&str]| {
            assert_eq!(examples(description), expected.iter().map(|text| Value::from(*text)).collect::<Vec<_>>());
        };
        check("IANA name (e.g., 'America/New_York', 'Europe/London'). Use 'UTC' otherwise.", &["America/New_York"]);
        check("Time in 24-hour format (HH:MM)", &["12:30"]);
        check("A day as YYYY-MM-DD, for example 2025-03-01", &["2025-03-01", "2024-01-31"]);
        check("Package name, such as `left-pad`", &["left-pad"]);
        check("Country code (e.g. DE)", &["DE"]);
        check("The chain to ask. Example: “mainnet”", &["mainnet"]);
        check("owner/name, e.g. octo/repo.", &["octo/repo"]);
    }

    #[test]
    fn prose_is_no_example() {
        for description in [
            "What to look for",
            "Anything that helps, for example the name of the person",
            "Use it for tasks such as planning and writing",
            "Whether it's here, e.g. 'unfinished",
            "e.g.",
            "such as ",
            "e.g. ''",
        ] {
            assert_eq!(examples(description), Vec::<Value>::new(), "{description}");
        }
    }
}
