//! Texts wherever they stand in a value, and the beginnings of long ones.

use serde::Serialize;
use serde_json::Value;

use super::{is_hidden, replace_command_brackets};

/// The value with every text in it changed, names of members included.
pub fn map_texts(value: Value, change: &dyn Fn(&str) -> String) -> Value {
    match value {
        Value::String(text) => change(&text).into(),
        Value::Array(items) => items.into_iter().map(|item| map_texts(item, change)).collect(),
        Value::Object(members) => {
            Value::Object(members.into_iter().map(|(name, value)| (change(&name), map_texts(value, change))).collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value,
    }
}

/// The text with another path in the place of a path, also where that begins a longer one or stands within a URI. A name
/// that only begins or ends like the path is another one.
pub fn replace_path(text: &str, path: &str, with: &str) -> String {
    let is_name = |c: char| c.is_alphanumeric() || "-_.".contains(c);
    let mut pieces = text.split(path);
    let mut whole = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let is_other = whole.ends_with(|c| is_name(c) || c == '~') || piece.starts_with(is_name);
        whole.push_str(if is_other { path } else { with });
        whole.push_str(piece);
    }
    whole
}

/// JSON over several lines in which everything that cannot be seen is an escape, so that people can review it and YAML
/// can read it.
pub fn legible_json(value: &impl Serialize) -> String {
    let mut text = String::new();
    let pretty = serde_json::to_string_pretty(value).unwrap_or_default();
    // Only texts hold commands of CI services, too.
    for c in replace_command_brackets(&pretty, "\\u005b").chars() {
        if c == '\n' || !is_hidden(c) {
            text.push(c);
        } else {
            // Only texts hold such characters, so that they can be escaped where they stand.
            text.extend(c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")));
        }
    }
    text
}

/// A text with the line ends of another one: those of Windows, where that has no others.
pub fn with_line_ends_of(model: &str, text: &str) -> String {
    let ends = model.matches('\n').count();
    let is_of_windows = ends > 0 && model.matches("\r\n").count() == ends;
    if is_of_windows { text.replace("\r\n", "\n").replace('\n', "\r\n") } else { text.to_owned() }
}

/// A text, or its beginning of so many characters and how many bytes it has in all.
pub fn beginning(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}… ({} bytes in all)", &text[..end], text.len()),
        None => text.to_owned(),
    }
}

/// A text, or its beginning of so many characters and an ellipsis.
pub fn shorten(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The words of a name in any of the usual spellings, in lower case.
pub fn words(name: &str) -> Vec<String> {
    let letters: Vec<char> = name.chars().collect();
    let mut words = vec![String::new()];
    for (at, letter) in letters.iter().enumerate() {
        let begins = !letter.is_alphanumeric() || (letter.is_uppercase() && begins_word(&letters, at));
        if begins && words.last().is_some_and(|word| !word.is_empty()) {
            words.push(String::new());
        }
        if let (true, Some(word)) = (letter.is_alphanumeric(), words.last_mut()) {
            word.extend(letter.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// A capital letter is the first of a word: after a small one, or as the last of several before a small one.
fn begins_word(letters: &[char], at: usize) -> bool {
    let is_small = |at: usize| letters.get(at).is_some_and(|letter| letter.is_lowercase());
    let after_capital = at.checked_sub(1).is_some_and(|before| letters[before].is_uppercase());
    // In `userIDs` the last letter stands for several of them.
    let is_plural = letters.get(at + 1) == Some(&'s') && !is_small(at + 2);
    !after_capital || (is_small(at + 1) && !is_plural)
}

/// Nouns that end like a plural and are none.
const SINGULARS: [&str; 10] =
    ["alias", "analysis", "bus", "canvas", "gas", "lens", "news", "series", "status", "virus"];

/// Plurals that follow no rule.
const IRREGULAR_PLURALS: [(&str, &str); 6] = [
    ("caches", "cache"),
    ("children", "child"),
    ("cookies", "cookie"),
    ("indices", "index"),
    ("movies", "movie"),
    ("people", "person"),
];

/// A noun in lower case without the ending of the English plural, for comparing the names of tools and members.
pub fn singular(word: &str) -> String {
    let ends_in_hiss = |stem: &&str| stem.len() > 1 && ["ss", "sh", "ch", "x"].iter().any(|hiss| stem.ends_with(hiss));
    let is_listed = |stem: &&str| SINGULARS.contains(stem);
    if let Some((_, single)) = IRREGULAR_PLURALS.iter().find(|(plural, _)| *plural == word) {
        return (*single).to_owned();
    }
    if is_listed(&word) || word.ends_with("ss") {
        return word.to_owned();
    }
    if let Some(stem) = word.strip_suffix("ies").filter(|stem| stem.len() > 1) {
        return format!("{stem}y");
    }
    let after_hiss = word.strip_suffix("es").filter(|stem| ends_in_hiss(stem) || is_listed(stem));
    let usual = word.strip_suffix('s').filter(|stem| stem.len() > 1);
    after_hiss.or(usual).unwrap_or(word).to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn line_ends_are_those_of_the_model() {
        for (model, text, expected) in [
            ("a\r\nb\r\n", "a\r\nc\nb\r\n", "a\r\nc\r\nb\r\n"),
            ("a\nb\n", "a\nc\n", "a\nc\n"),
            // A file with both stays as it is.
            ("a\r\nb\n", "a\r\nc\nb\n", "a\r\nc\nb\n"),
            ("a", "a\nb\n", "a\nb\n"),
        ] {
            assert_eq!(with_line_ends_of(model, text), expected, "{model:?}");
        }
    }

    #[test]
    fn texts_change_and_nothing_else_does() {
        let value = json!({"a": ["b", 1, null, {"c": true}]});
        assert_eq!(map_texts(value, &str::to_uppercase), json!({"A": ["B", 1, null, {"C": true}]}));
    }

    #[test]
    fn a_path_is_replaced_whole() {
        for (text, expected) in [
            ("/srv/data", "/c"),
            ("in `/srv/data/a.txt`, not in /srv/database", "in `/c/a.txt`, not in /srv/database"),
            ("/srv/data:/srv/data/b", "/c:/c/b"),
            ("file:///srv/data/a.txt", "file:///c/a.txt"),
            ("--root=/srv/data", "--root=/c"),
            ("/srv/data.bak", "/srv/data.bak"),
            ("/home/srv/data", "/home/srv/data"),
            ("../../srv/data", "../../srv/data"),
            ("srv/data", "srv/data"),
        ] {
            assert_eq!(replace_path(text, "/srv/data", "/c"), expected);
        }
    }

    #[test]
    fn a_noun_and_its_plural_have_one_singular() {
        for (plural, noun) in [
            ("users", "user"),
            ("ids", "id"),
            ("apis", "api"),
            ("menus", "menu"),
            ("cases", "case"),
            ("databases", "database"),
            ("sizes", "size"),
            ("branches", "branch"),
            ("boxes", "box"),
            ("indexes", "index"),
            ("hashes", "hash"),
            ("classes", "class"),
            ("addresses", "address"),
            ("statuses", "status"),
            ("aliases", "alias"),
            ("entries", "entry"),
            ("ties", "tie"),
            ("caches", "cache"),
            ("cookies", "cookie"),
            ("indices", "index"),
            ("people", "person"),
        ] {
            assert_eq!(singular(plural), noun, "{plural}");
            assert_eq!(singular(noun), noun);
        }
        for word in ["", "s", "is", "as", "us", "series", "status", "analysis", "data"] {
            assert_eq!(singular(word), word);
        }
    }

    #[test]
    fn what_is_hidden_is_escaped() {
        let value = json!({"a": "b\u{202e}c\u{ffff}\u{e0041} ä\n"});
        let text = legible_json(&value);
        assert_eq!(text, "{\n  \"a\": \"b\\u202ec\\uffff\\udb40\\udc41 ä\\n\"\n}");
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
    }

    #[test]
    fn only_what_is_cut_says_how_long_it_was() {
        assert_eq!(beginning("äöü", 3), "äöü");
        assert_eq!(beginning("äöü", 2), "äö… (6 bytes in all)");
    }

    #[test]
    fn names_have_words() {
        let check = |name: &str, expected: &[&str]| assert_eq!(words(name), expected);
        check("delayMs", &["delay", "ms"]);
        check("user_id", &["user", "id"]);
        check("HTTPTimeout-2", &["http", "timeout", "2"]);
        check("DROP_TABLE", &["drop", "table"]);
        check("DeleteURL", &["delete", "url"]);
        check("userIDs.list", &["user", "ids", "list"]);
        check("page2Size", &["page2", "size"]);
        check("über-Größe", &["über", "größe"]);
        check("", &[]);
    }
}
