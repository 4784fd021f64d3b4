//! Tools that by their names belong together: one creates what the other lists.

use crate::source::words;

/// A tool that by its name lists what another one creates.
pub(crate) fn lists_what_is_created(list: &str, tool: &str) -> bool {
    let (list, tool) = (words(list), words(tool));
    let begins = |name: &[String], verbs: &[&str]| name.first().is_some_and(|verb| verbs.contains(&verb.as_str()));
    if !begins(&list, &["list", "get"]) || !begins(&tool, &["add", "append", "create", "insert", "save"]) {
        return false;
    }
    let (Some((noun, before)), Some((single, others))) = (list[1..].split_last(), tool[1..].split_last()) else {
        return false;
    };
    let is_same = |word: &String, other: &String| word == other || is_plural(word, other) || is_plural(other, word);
    let have_same = before.len() == others.len() && before.iter().zip(others).all(|(word, other)| is_same(word, other));
    // One status or address is shown, and what is added may be another one.
    let are_many = noun == single && noun.ends_with('s') && !["ss", "us", "is"].iter().any(|end| noun.ends_with(end));
    have_same && (are_many || is_plural(noun, single))
}

/// A word is the plural of a noun.
fn is_plural(word: &str, noun: &str) -> bool {
    word.strip_prefix(noun).is_some_and(|end| ["s", "es"].contains(&end))
        || noun.strip_suffix('y').is_some_and(|stem| word.strip_prefix(stem) == Some("ies"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_known_by_their_names() {
        for (list, tool, expected) in [
            ("list_notes", "add_note", true),
            ("getNotes", "createNote", true),
            ("list_notes", "create_user", false),
            ("get_note", "add_note", false),
            ("list_notes", "send_note", false),
            ("list", "add", false),
            ("list_categories", "add_category", true),
            ("list_addresses", "add_address", true),
            ("list_caches", "add_cache", true),
            ("get_notes", "add_notes", true),
            // One is shown, and what is added may be another one.
            ("get_status", "add_status", false),
            ("get_address", "add_address", false),
            ("list_user_notes", "add_note", false),
            ("list_users_notes", "add_user_note", true),
        ] {
            assert_eq!(lists_what_is_created(list, tool), expected, "{list} {tool}");
        }
    }
}
