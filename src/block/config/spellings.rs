//! Other spellings of a value, by what kind of value it is.
//!
//! Some mean the same whatever the server does with them: a word in other letter case where letter case does not matter,
//! a path with steps that lead nowhere, a host name with a final dot. All others mean the same for some servers only.

use std::path::{Component, Path, PathBuf};

use crate::source::choice;

choice! {
    /// The meaning of a value.
    pub(crate) enum ValueKind {
        Word = "word",
        Path = "path",
        Domain = "domain",
        Command = "command",
    }
}

/// The meaning of a spelling, compared with that of the value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Meaning {
    Same,
    /// The same for some servers.
    Unknown,
}

/// A spelling of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DeniedSpelling {
    pub(crate) text: String,
    /// The value.
    pub(crate) of: String,
    /// The difference, in words.
    pub(crate) how: &'static str,
    pub(crate) meaning: Meaning,
    /// Values of this kind are written so; other spellings are tried with every kind.
    pub(crate) is_of_kind: bool,
}

impl DeniedSpelling {
    /// It is the value as it is written.
    pub(crate) fn is_plain(&self) -> bool {
        self.text == self.of
    }
}

/// The spellings of a value that is denied, the value itself first.
pub(crate) fn of_denied(kind: ValueKind, value: &str) -> Vec<DeniedSpelling> {
    use Meaning::{Same, Unknown};
    let mut spellings = Spellings::of(value);
    match kind {
        ValueKind::Word => cases(&mut spellings, value),
        ValueKind::Domain => {
            cases(&mut spellings, value);
            spellings.add(format!("{value}."), "with a final dot", Same);
        }
        ValueKind::Path => {
            let (above, name) = value.rsplit_once('/').map_or(("", value), |(above, name)| (above, name));
            let above = if value.contains('/') { format!("{above}/") } else { String::new() };
            spellings.add(format!("{above}./{name}"), "with `./`", Same);
            if !above.is_empty() {
                spellings.add(format!("{above}/{name}"), "with `//`", Same);
            }
            let folder = above.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
            // Servers and shells read `~` only at the beginning.
            if !["", ".", "..", "~"].contains(&folder) {
                spellings.add(format!("{above}../{folder}/{name}"), "by way of the folder above", Same);
            }
            spellings.add(value.replace('/', "\\"), "with backslashes", Unknown);
        }
        ValueKind::Command => {
            let (program, rest) =
                value.split_once(' ').map_or((value, String::new()), |(program, rest)| (program, format!(" {rest}")));
            let first = program.chars().next().map_or(1, char::len_utf8);
            let (head, tail) = program.split_at(first.min(program.len()));
            if !program.contains('/') {
                spellings.add(format!("/bin/{program}{rest}"), "with its path", Unknown);
                spellings.add(format!("/usr/bin/{program}{rest}"), "with its path", Unknown);
            }
            spellings.add(format!("\"{program}\"{rest}"), "in quotes", Unknown);
            spellings.add(format!("{head}''{tail}{rest}"), "with empty quotes inside", Unknown);
            spellings.add(format!("\\{program}{rest}"), "with a backslash", Unknown);
            spellings.add(format!("$(echo {program}){rest}"), "by substitution", Unknown);
            spellings.add(format!("`echo {program}`{rest}"), "by substitution", Unknown);
            spellings.add(format!("true;{value}"), "behind another command", Unknown);
            spellings.add(format!("true\n{value}"), "behind a line break", Unknown);
            spellings.add(program.to_uppercase() + &rest, "in upper case", Unknown);
        }
    }
    let of_kind = spellings.list.len();
    everywhere(&mut spellings, value);
    spellings.list[of_kind..].iter_mut().for_each(|spelling| spelling.is_of_kind = false);
    spellings.list
}

/// Values outside of a scope, the given one first: it by way of what is inside, and neighbours of what is inside.
pub(crate) fn of_outside(kind: ValueKind, value: &str, inside: &[&str]) -> Vec<DeniedSpelling> {
    let mut spellings = of_denied(kind, value);
    for within in inside {
        match kind {
            ValueKind::Path => {
                let way = through(within, value).map(|text| DeniedSpelling {
                    text,
                    of: value.to_owned(),
                    how: "by way of a folder inside",
                    meaning: Meaning::Same,
                    is_of_kind: true,
                });
                spellings.extend(way);
            }
            ValueKind::Domain => {
                for (text, how) in [
                    (format!("{within}.invalid"), "a domain that begins like one inside"),
                    (format!("not{within}"), "a domain that ends like one inside"),
                ] {
                    // The scope may have it, too.
                    if inside.contains(&text.as_str()) {
                        continue;
                    }
                    let (of, meaning) = (text.clone(), Meaning::Same);
                    spellings.push(DeniedSpelling { text, of, how, meaning, is_of_kind: true });
                }
            }
            ValueKind::Word | ValueKind::Command => {}
        }
    }
    spellings
}

/// A path that leads through the folder of one path to another one.
fn through(within: &str, outside: &str) -> Option<String> {
    let folder = Path::new(within).parent().filter(|folder| !folder.as_os_str().is_empty())?;
    let target = Path::new(outside);
    if folder.is_absolute() != target.is_absolute() || has_parent(folder) || target.is_absolute() && has_parent(target)
    {
        return None;
    }
    let names = |path: &Path| -> Vec<String> {
        let parts = path.components().filter(|part| matches!(part, Component::Normal(_)));
        parts.map(|part| part.as_os_str().to_string_lossy().into_owned()).collect()
    };
    let (from, to) = (names(folder), names(target));
    if has_parent(target) {
        let back = std::iter::repeat_n("..", from.len());
        return Some(back.fold(folder.to_owned(), |way, up| way.join(up)).join(target).to_string_lossy().into_owned());
    }
    let shared = from.iter().zip(&to).take_while(|(one, other)| one == other).count();
    let mut way = PathBuf::from(folder);
    way.extend(std::iter::repeat_n("..", from.len() - shared));
    way.extend(&to[shared..]);
    Some(way.to_string_lossy().into_owned())
}

fn has_parent(path: &Path) -> bool {
    path.components().any(|part| part == Component::ParentDir)
}

fn cases(spellings: &mut Spellings, value: &str) {
    let lowercase = value.to_lowercase();
    // Some letters have no other case that leads back, such as that of `ß`.
    let meaning = |other: &str| if other.to_lowercase() == lowercase { Meaning::Same } else { Meaning::Unknown };
    for (text, how) in [(lowercase.clone(), "in lower case"), (value.to_uppercase(), "in upper case")] {
        let meaning = meaning(&text);
        spellings.add(text, how, meaning);
    }
    let mixed = value.chars().enumerate().map(|(at, letter)| if at % 2 == 0 { upper(letter) } else { lower(letter) });
    spellings.add(mixed.collect(), "in mixed case", Meaning::Same);
}

/// Spellings that servers may bring into one form, whatever the value is.
fn everywhere(spellings: &mut Spellings, value: &str) {
    spellings.add(format!(" {value}"), "behind a space", Meaning::Unknown);
    spellings.add(format!("{value} "), "before a space", Meaning::Unknown);
    spellings.add(format!("{value}\n"), "before a line break", Meaning::Unknown);
    spellings.add(format!("{value}\t"), "before a tab", Meaning::Unknown);
    spellings.add(value.chars().map(full_width).collect(), "in full-width letters", Meaning::Unknown);
    let encoded: Vec<String> = value.bytes().map(|byte| format!("%{byte:02X}")).collect();
    spellings.add(encoded.concat(), "URL-encoded", Meaning::Unknown);
    let soft: String = value.chars().flat_map(|letter| [letter, '\u{200b}']).collect();
    spellings.add(soft.trim_end_matches('\u{200b}').to_owned(), "with invisible spaces", Meaning::Unknown);
}

/// The form of a character that NFKC makes the character itself.
fn full_width(letter: char) -> char {
    if letter.is_ascii_graphic() { char::from_u32(u32::from(letter) + 0xfee0).unwrap_or(letter) } else { letter }
}

fn upper(letter: char) -> char {
    letter.to_ascii_uppercase()
}

fn lower(letter: char) -> char {
    letter.to_ascii_lowercase()
}

/// Spellings of one value, each once.
struct Spellings {
    of: String,
    list: Vec<DeniedSpelling>,
}

impl Spellings {
    fn of(value: &str) -> Self {
        let mut spellings = Self { of: value.to_owned(), list: Vec::new() };
        spellings.add(value.to_owned(), "as it is written", Meaning::Same);
        spellings
    }

    fn add(&mut self, text: String, how: &'static str, meaning: Meaning) {
        if self.list.iter().all(|known| known.text != text) {
            self.list.push(DeniedSpelling { text, of: self.of.clone(), how, meaning, is_of_kind: true });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same(kind: ValueKind, value: &str) -> Vec<String> {
        let spellings = of_denied(kind, value).into_iter();
        spellings.filter(|spelling| spelling.meaning == Meaning::Same).map(|spelling| spelling.text).collect()
    }

    #[test]
    fn what_surely_means_the_same() {
        assert_eq!(same(ValueKind::Word, "root"), ["root", "ROOT", "RoOt"]);
        assert_eq!(same(ValueKind::Domain, "evil.org"), ["evil.org", "EVIL.ORG", "EvIl.oRg", "evil.org."]);
        assert_eq!(
            same(ValueKind::Path, "/etc/passwd"),
            ["/etc/passwd", "/etc/./passwd", "/etc//passwd", "/etc/../etc/passwd"]
        );
        assert_eq!(same(ValueKind::Path, "secret.txt"), ["secret.txt", "./secret.txt"]);
        // Whether a shell reads it, only the server shows.
        assert_eq!(same(ValueKind::Command, "rm -r"), ["rm -r"]);
    }

    #[test]
    fn outside_by_way_of_inside() {
        assert_eq!(through("/data/docs/a.txt", "/data/key").as_deref(), Some("/data/docs/../key"));
        assert_eq!(through("docs/a.txt", "docs-old/a.txt").as_deref(), Some("docs/../docs-old/a.txt"));
        assert_eq!(through("docs/a.txt", "../key").as_deref(), Some("docs/../../key"));
        assert_eq!(through("a.txt", "b.txt"), None);
        assert_eq!(through("/data/docs/a.txt", "key"), None);
        let texts: Vec<String> = of_outside(ValueKind::Domain, "b.org", &["a.org"])
            .into_iter()
            .filter(|spelling| spelling.meaning == Meaning::Same)
            .map(|spelling| spelling.text)
            .collect();
        assert_eq!(texts, ["b.org", "B.ORG", "B.OrG", "b.org.", "a.org.invalid", "nota.org"]);
    }

    #[test]
    fn full_width_letters_are_those_of_nfkc() {
        assert_eq!("rm-1".chars().map(full_width).collect::<String>(), "ｒｍ－１");
    }

    #[test]
    fn spellings_that_may_mean_something_else_are_not_the_same() {
        let word = same(ValueKind::Word, "straße");
        assert_eq!(word, ["straße", "StRaße"], "`STRASSE` is another word");
        for (path, expected) in [
            ("~/.ssh/key", &["~/.ssh/key", "~/.ssh/./key", "~/.ssh//key", "~/.ssh/../.ssh/key"][..]),
            ("~/key", &["~/key", "~/./key", "~//key"]),
            ("../key", &["../key", ".././key", "..//key"]),
            ("./key", &["./key", "././key", ".//key"]),
            ("docs/", &["docs/", "docs/./", "docs//", "docs/../docs/"]),
        ] {
            assert_eq!(same(ValueKind::Path, path), expected, "{path}");
        }
    }

    #[test]
    fn every_kind_of_value_has_spellings_of_its_own_and_those_of_all() {
        for (kind, value, expected) in [
            (
                ValueKind::Command,
                "rm -r",
                &["/bin/rm -r", "\"rm\" -r", "r''m -r", "\\rm -r", "$(echo rm) -r", "RM -r"][..],
            ),
            (ValueKind::Command, "/bin/rm", &["\"/bin/rm\"", "true;/bin/rm"]),
            (ValueKind::Path, "a/b", &["a\\b", " a/b", "%61%2F%62"]),
            (ValueKind::Word, "root", &["root ", "root\n", "ｒｏｏｔ", "%72%6F%6F%74", "r\u{200b}o\u{200b}o\u{200b}t"]),
        ] {
            let spellings = of_denied(kind, value);
            for text in expected {
                assert!(spellings.iter().any(|spelling| spelling.text == *text), "{value}: {text}");
            }
            let plain = spellings.iter().filter(|spelling| spelling.is_plain()).count();
            assert_eq!(plain, 1, "{value}");
        }
        let has_path = of_denied(ValueKind::Command, "/bin/rm").iter().any(|spelling| spelling.how == "with its path");
        assert!(!has_path, "a path has one already");
    }

    #[test]
    fn neighbours_of_a_domain_are_outside_unless_they_are_inside_themselves() {
        for (inside, expected) in [
            (&["a.org"][..], &["a.org.invalid", "nota.org"][..]),
            (&["a.org", "b.org"], &["a.org.invalid", "nota.org", "b.org.invalid", "notb.org"]),
            (&["a.org", "nota.org"], &["a.org.invalid", "nota.org.invalid", "notnota.org"]),
            (&["a.org", "a.org.invalid"], &["nota.org", "a.org.invalid.invalid", "nota.org.invalid"]),
            (&[], &[]),
        ] {
            let all = of_outside(ValueKind::Domain, "c.org", inside);
            let neighbours: Vec<&str> =
                all.iter().filter(|spelling| spelling.of != "c.org").map(|spelling| spelling.text.as_str()).collect();
            assert_eq!(neighbours, expected, "{inside:?}");
            assert!(all.iter().all(|spelling| spelling.of == "c.org" || spelling.is_plain()));
        }
    }

    #[test]
    fn a_scope_of_words_or_commands_has_no_neighbours() {
        for kind in [ValueKind::Word, ValueKind::Command] {
            assert_eq!(of_outside(kind, "drop", &["list", "get"]), of_denied(kind, "drop"), "{kind:?}");
        }
    }
}
