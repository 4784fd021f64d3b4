//! Parts of secrets: where somebody cut a text who did not know what it holds, or changed it.

use std::ops::Range;

use super::{MASK, TELLING, mask};

/// A text has this part. Most texts are shorter than most forms of secrets, and no search has to be prepared for them.
pub(crate) fn holds(text: &str, part: &str) -> bool {
    part.len() <= text.len() && text.contains(part)
}

/// Masks where a text breaks off in the middle of a secret: whoever cut it did not know.
pub(crate) fn without_beginnings(text: String, beginnings: &[(usize, String)]) -> String {
    let is_there = |(telling, form): &&(usize, String)| holds(&text, &form[..*telling]);
    let forms: Vec<_> = beginnings.iter().filter(is_there).collect();
    if forms.is_empty() {
        return text;
    }
    let mut masked = String::with_capacity(text.len());
    let (mut rest, mut buffer) = (text.as_str(), [0; 4]);
    while let Some(next) = rest.chars().next() {
        // The form that goes on for longest is the one that was cut.
        let length = forms.iter().filter_map(|(telling, form)| beginning(rest, *telling, form)).max();
        let kept = next.encode_utf8(&mut buffer);
        masked.push_str(if length.is_some() { MASK } else { kept });
        rest = &rest[length.unwrap_or(next.len_utf8())..];
    }
    masked
}

/// Masks where a text or a word begins in the middle of a secret, and where most of one stands in a word.
pub(crate) fn without_endings(text: String, endings: &[(usize, String)]) -> String {
    let mut places: Vec<Range<usize>> = Vec::new();
    for (place, form) in endings.iter().filter(|(place, form)| holds(&text, &form[*place..])) {
        let (earlier, telling) = form.split_at(*place);
        for (at, _) in text.match_indices(telling) {
            let before = text[..at].chars().rev().zip(earlier.chars().rev());
            let more: usize = before.take_while(|(a, b)| a == b).map(|(c, _)| c.len_utf8()).sum();
            let begin = at - more;
            let ahead = &text[..begin];
            let begins_word = ahead.chars().next_back().is_none_or(|c| !c.is_alphanumeric());
            let part = &text[begin..at + telling.len()];
            // The end of a sentence may well be in another one: `so secret` in `echo secret`.
            let (least, of) = if part.contains(char::is_whitespace) { (3, 4) } else { (1, 2) };
            let is_most = of * part.len() >= least * form.len();
            if begins_word || is_most || follows_mask(ahead) {
                places.push(begin..at + telling.len());
            }
        }
    }
    places.sort_by_key(|place| (place.start, std::cmp::Reverse(place.end)));
    places.dedup_by(|later, earlier| later.start < earlier.end);
    mask(text, &places)
}

/// A text ends with a mask and at most one more character, as where a secret was changed in one place.
fn follows_mask(text: &str) -> bool {
    let mut shorter = text.chars();
    shorter.next_back();
    text.ends_with(MASK) || shorter.as_str().ends_with(MASK)
}

/// The length of the shortest beginning of a form that says too much.
pub(crate) fn telling(form: &str) -> Option<usize> {
    let length = (form.chars().count() / 3).max(TELLING);
    form.char_indices().nth(length).map(|(end, _)| end)
}

/// The begin of the shortest end of a form that reveals too much.
pub(crate) fn telling_end(secret: &str) -> Option<usize> {
    let count = secret.chars().count();
    let at = count.checked_sub((count / 3).max(TELLING)).filter(|at| *at > 0)?;
    secret.char_indices().nth(at).map(|(at, _)| at)
}

/// The length of the beginning of a form with which a text begins, where that reveals too much.
fn beginning(text: &str, telling: usize, form: &str) -> Option<usize> {
    text.strip_prefix(&form[..telling])?;
    Some(text.chars().zip(form.chars()).take_while(|(a, b)| a == b).map(|(c, _)| c.len_utf8()).sum())
}
