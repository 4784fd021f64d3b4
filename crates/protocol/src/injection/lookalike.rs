//! Names as people see them.

/// The ways in which two names are alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameLikeness {
    /// They are the same.
    Equal,
    /// They differ in case or in the separators of their words.
    Spelling,
    /// They differ in letters that look the same.
    Letters,
}

/// Compares two names; `None` where a person can tell them apart.
pub fn likeness(one: &str, other: &str) -> Option<NameLikeness> {
    if one == other {
        return Some(NameLikeness::Equal);
    }
    let spelling = |name: &str| name.to_lowercase().replace(['-', '_', '.', ' '], "");
    if spelling(one) == spelling(other) {
        return Some(NameLikeness::Spelling);
    }
    (visual_form(one) == visual_form(other)).then_some(NameLikeness::Letters)
}

/// Letters of other scripts, and ASCII characters, that are drawn like an ASCII letter, by that letter: the part of the
/// confusables of Unicode TS 39 that can stand in names of tools.
const LIKE: [(char, &str); 26] = [
    ('a', "\u{430}\u{3b1}\u{251}"),
    ('b', "\u{42c}\u{13cf}"),
    ('c', "\u{441}\u{3f2}\u{1d04}"),
    ('d', "\u{501}"),
    ('e', "\u{435}\u{4bd}\u{212e}"),
    ('f', "\u{584}"),
    ('g', "\u{261}\u{581}"),
    ('h', "\u{4bb}\u{570}"),
    ('i', "\u{456}\u{3b9}\u{131}"),
    ('j', "\u{458}\u{3f3}"),
    ('k', "\u{43a}\u{3ba}"),
    ('l', "1I|\u{4cf}\u{2113}"),
    ('m', "\u{43c}\u{217f}"),
    ('n', "\u{578}"),
    ('o', "0\u{43e}\u{3bf}\u{585}"),
    ('p', "\u{440}\u{3c1}"),
    ('q', "\u{51b}"),
    ('r', "\u{433}"),
    ('s', "\u{455}"),
    ('t', "\u{442}\u{3c4}"),
    ('u', "\u{3c5}\u{57d}"),
    ('v', "\u{3bd}\u{475}"),
    ('w', "\u{51d}\u{461}"),
    ('x', "\u{445}\u{3c7}"),
    ('y', "\u{443}\u{3b3}"),
    ('z', "\u{1d22}"),
];

fn visual_form(name: &str) -> String {
    let letter = |c: char| {
        let full_width =
            char::from_u32(u32::from(c).wrapping_sub(0xfee0)).filter(|_| matches!(c, '\u{ff01}'..='\u{ff5e}'));
        let c = full_width.unwrap_or(c);
        let like = |c: char| LIKE.iter().find(|(_, others)| others.contains(c)).map(|(letter, _)| *letter);
        like(c).or_else(|| c.to_lowercase().next().and_then(|c| like(c).or(Some(c)))).unwrap_or(c)
    };
    super::invisible::without(name).chars().map(letter).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_compared_as_they_are_seen() {
        for (one, other, expected) in [
            ("get_user", "get_user", Some(NameLikeness::Equal)),
            ("get_user", "getUser", Some(NameLikeness::Spelling)),
            ("get_user", "g\u{435}t_user", Some(NameLikeness::Letters)),
            ("get_user", "get_us\u{200b}er", Some(NameLikeness::Letters)),
            ("delete_file", "de1ete_file", Some(NameLikeness::Letters)),
            ("get_user", "get_users", None),
            ("get_user", "set_user", None),
            ("\u{43f}\u{43e}\u{438}\u{441}\u{43a}", "search", None),
            ("list_v1", "list_v2", None),
        ] {
            assert_eq!(likeness(one, other), expected, "{one} {other}");
        }
    }
}
