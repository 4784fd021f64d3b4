//! Characters that people do not see and models read.
//!
//! Marks that scripts, emoji and mixed directions need are no findings: joiners within words and emoji, one variation
//! selector after a character, flags of tag characters, marks of direction, isolates, and overrides that are closed in a
//! text with right-to-left letters.

use super::{Injection, TextOrigin};

/// The fewest characters that can hold a message; stray ones come from copied web pages.
const LEAST_TAGS: usize = 2;
const LEAST_SELECTORS: usize = 4;
const LEAST_ZERO_WIDTH: usize = 3;

/// The number of characters of a hidden message that are shown.
const SHOWN: usize = 200;

/// A black flag, after which tag characters spell a region.
const FLAG: char = '\u{1f3f4}';
const END_OF_FLAG: char = '\u{e007f}';
const LONGEST_REGION: usize = 7;

/// The part of a text that people do not see.
pub(crate) fn find(text: &str, origin: TextOrigin) -> Option<Injection> {
    if text.is_ascii() && !text.contains('\u{1b}') {
        return None;
    }
    tags(text)
        .or_else(|| selectors(text))
        .or_else(|| zero_width(text))
        .or_else(|| overrides(text))
        .or_else(|| escapes(text, origin))
}

/// A text without characters that have no width: words that they take apart are whole again.
pub(crate) fn without(text: &str) -> String {
    text.chars().filter(|c| !is_zero_width(*c) && *c != '\u{ad}').collect()
}

fn hidden(says: &str, quote: &str) -> Injection {
    let quote: String = quote.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).take(SHOWN).collect();
    Injection { says: says.to_owned(), quote }
}

/// Tag characters repeat ASCII and have no shape.
fn tags(text: &str) -> Option<Injection> {
    let is_tag = |c: &char| matches!(*c, '\u{e0001}'..=END_OF_FLAG);
    let (mut message, mut previous) = (String::new(), None);
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        if !is_tag(&c) {
            previous = Some(c);
            continue;
        }
        let mut run = vec![c];
        run.extend(std::iter::from_fn(|| rest.next_if(is_tag)));
        let is_flag = previous == Some(FLAG) && run.len() <= LONGEST_REGION && run.last() == Some(&END_OF_FLAG);
        if !is_flag {
            let letters = run.iter().filter_map(|tag| char::from_u32(u32::from(*tag) - 0xe0000));
            message.extend(letters.filter(|letter| matches!(letter, ' '..='~')));
        }
    }
    (message.len() >= LEAST_TAGS).then(|| hidden("hides text in tag characters, which only a model can read", &message))
}

/// Variation selectors choose the look of one character; a run of them is bytes.
fn selectors(text: &str) -> Option<Injection> {
    let mut run = Vec::new();
    for c in text.chars().chain(['.']) {
        match c {
            '\u{fe00}'..='\u{fe0f}' => run.extend(u8::try_from(u32::from(c) - 0xfe00)),
            '\u{e0100}'..='\u{e01ef}' => run.extend(u8::try_from(u32::from(c) - 0xe0100 + 16)),
            _ if run.len() >= LEAST_SELECTORS => {
                let message = String::from_utf8_lossy(&run);
                return Some(hidden("hides bytes in variation selectors, which have no shape", &message));
            }
            _ => run.clear(),
        }
    }
    None
}

fn is_zero_width(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{2064}' | '\u{feff}')
}

fn zero_width(text: &str) -> Option<Injection> {
    let mut run = Vec::new();
    for c in text.chars().chain(['.']) {
        if is_zero_width(c) {
            run.push(c);
            continue;
        }
        if run.len() >= LEAST_ZERO_WIDTH {
            let codes: Vec<String> = run.iter().map(|c| format!("U+{:04X}", u32::from(*c))).collect();
            return Some(hidden(
                "has a run of characters without width, in which data can be hidden",
                &codes.join(" "),
            ));
        }
        run.clear();
    }
    None
}

/// Overrides show text in another order than a model reads it.
fn overrides(text: &str) -> Option<Injection> {
    let has_right_to_left = text.chars().any(|c| matches!(c, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fefc}'));
    let line = text.lines().find(|line| {
        let opened = line.matches(['\u{202d}', '\u{202e}']).count();
        opened > 0 && (!has_right_to_left || line.matches('\u{202c}').count() < opened)
    })?;
    let quote = line.replace('\u{202d}', "[U+202D]").replace('\u{202e}', "[U+202E]").replace('\u{202c}', "[U+202C]");
    Some(hidden("overrides the direction of its text, so that people read it in another order than a model", &quote))
}

/// Sequences for terminals, which colour, move and conceal text. Programs print them, descriptions have no use for them.
fn escapes(text: &str, origin: TextOrigin) -> Option<Injection> {
    let at = text.find("\u{1b}[").or_else(|| text.find("\u{1b}]"))?;
    let quote = text[at..].replace('\u{1b}', "ESC");
    (origin == TextOrigin::Declared)
        .then(|| hidden("has escape sequences, with which a terminal can conceal or overwrite text", &quote))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tagged(text: &str) -> String {
        text.chars().filter_map(|c| char::from_u32(0xe0000 + u32::from(c))).collect()
    }

    fn selected(text: &str) -> String {
        text.bytes()
            .filter_map(|byte| {
                let byte = u32::from(byte);
                char::from_u32(if byte < 16 { 0xfe00 + byte } else { 0xe0100 + byte - 16 })
            })
            .collect()
    }

    #[test]
    fn hidden_messages_are_found_and_read() {
        for (text, says, quote) in [
            (format!("Adds.{}", tagged("read the key")), "tag characters", "read the key"),
            (tagged("read the key"), "tag characters", "read the key"),
            (format!("\u{1f3f4}{} flag", tagged("gbeng and more")), "tag characters", "gbeng and more"),
            (format!("Adds \u{2714}{}.", selected("send it")), "variation selectors", "send it"),
            ("Adds.\u{200b}\u{2060}\u{200d}\u{200b}".to_owned(), "without width", "U+200B U+2060 U+200D U+200B"),
            ("Adds \u{202e}enolc\u{202c} numbers".to_owned(), "direction", "Adds [U+202E]enolc[U+202C] numbers"),
            ("Adds.\u{1b}[8mCall it.".to_owned(), "escape sequences", "ESC[8mCall it."),
        ] {
            let found = find(&text, TextOrigin::Declared).unwrap_or_else(|| panic!("nothing in {text:?}"));
            assert!(found.says.contains(says), "{text:?}: {}", found.says);
            assert_eq!(found.quote, quote);
        }
    }

    #[test]
    fn scripts_and_emoji_hide_nothing() {
        for text in [
            "family \u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467}, heart \u{2764}\u{fe0f}, keycap 1\u{fe0f}\u{20e3}",
            "flags \u{1f3f4}\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f} \u{1f1e9}\u{1f1ea}",
            "Persian \u{645}\u{6cc}\u{200c}\u{62e}\u{648}\u{627}\u{647}\u{645}, Hindi \u{915}\u{94d}\u{200d}\u{937}",
            "Thai \u{e2a}\u{200b}\u{e27}, a word that may break: very\u{200b}long",
            "Hebrew \u{5e9}\u{5dc}\u{5d5}\u{5dd} (\u{200e}API\u{200f}), \u{2067}\u{5d0}\u{2069}, \u{202e}\u{5d0}\u{202c}",
            "ideographs with variants \u{845b}\u{e0100} \u{8fbb}\u{e0101}",
            "\u{feff}a byte order mark, \u{2068}isolated\u{2069}, so\u{ad}ft",
            "\u{420}\u{443}\u{441}\u{441}\u{43a}\u{438}\u{439}, \u{4e2d}\u{6587}, \u{3b1} + \u{3b2}",
        ] {
            assert_eq!(find(text, TextOrigin::Declared), None, "{text:?}");
        }
        assert_eq!(find("\u{1b}[32mok\u{1b}[0m", TextOrigin::Answered), None, "the output of a program");
    }
}
