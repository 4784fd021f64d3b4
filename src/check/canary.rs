//! Texts that appear nowhere else, so that a server that shows one got it from the call that sent it.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::ops::Range;

use serde_json::Value;

use crate::generate::Rng;
use crate::redact::Redactor;
use crate::source::beginning;

/// Makes canaries, and finds them. Each is a prefix and a number, so that it tells which call it was sent with; the prefix
/// tells the owner.
#[derive(Debug, Clone)]
pub(crate) struct Canaries {
    /// The part before the number of the run; equal to the prefix if runs are not numbered.
    stem: String,
    prefix: String,
    /// The number of hexadecimal digits.
    digits: usize,
    next: u64,
}

impl Canaries {
    /// Canaries that no other run has: a server that keeps data may still have those of earlier runs, and a server that
    /// others test at the same time has theirs.
    pub(crate) fn random() -> Self {
        Self::with_prefix(format!("kw{:08x}q", RandomState::new().hash_one(0) & 0xffff_ffff), 3)
    }

    /// Canaries of a repeatable run, for very many calls.
    pub(crate) fn of_seed(seed: u64) -> Self {
        Self { next: 0, ..Self::with_prefix(format!("zq{:08x}v", (seed ^ (seed >> 32)) & 0xffff_ffff), 8) }
    }

    /// Canaries of a repeatable run for one tool.
    pub(crate) fn of_tool(seed: u64, tool: &str) -> Self {
        let stem = format!("zq{:07x}r", Rng::new(seed).fork(tool).bits() & 0xfff_ffff);
        Self { prefix: prefix_of_run(&stem, 0), ..Self::with_prefix(stem, 6) }
    }

    fn with_prefix(prefix: String, digits: usize) -> Self {
        Self { stem: prefix.clone(), prefix, digits, next: 1 }
    }

    /// Those of a later run than any that is in texts of the server.
    pub(crate) fn unlike<'a>(self, texts: impl Iterator<Item = &'a str>) -> Self {
        let run_in = |rest: &str| u64::from_str_radix(rest.get(..RUN_DIGITS)?, 16).ok();
        let of_text = |text: &'a str| {
            let stem = &self.stem;
            text.match_indices(stem).filter_map(move |(at, _)| run_in(&text[at + stem.len()..])).collect::<Vec<_>>()
        };
        let run = texts.flat_map(of_text).max().map_or(0, |run| run + 1);
        Self { prefix: prefix_of_run(&self.stem, run), ..self }
    }

    /// The next canary.
    pub(crate) fn make(&mut self) -> String {
        let number = self.take(1).start;
        self.of(number)
    }

    /// The numbers of the next canaries.
    pub(crate) fn take(&mut self, count: usize) -> Range<u64> {
        let begin = self.next;
        self.next += count as u64;
        begin..self.next
    }

    /// The canary with a number.
    pub(crate) fn of(&self, number: u64) -> String {
        let Self { prefix, digits, .. } = self;
        format!("{prefix}{:0digits$x}", number & (u64::MAX >> (64 - 4 * digits)))
    }

    /// The number of characters of a canary.
    pub(crate) fn length(&self) -> usize {
        self.prefix.len() + self.digits
    }

    /// The beginning of all canaries, too short to be taken for one: a search for it finds them, and an answer that only
    /// repeats it shows none.
    pub(crate) fn beginning(&self) -> &str {
        &self.prefix[..self.prefix.len() - 1]
    }

    /// True if a text has a canary of any call.
    pub(crate) fn is_in(&self, text: &str) -> bool {
        text.contains(&self.prefix)
    }

    /// The canaries in a text, whatever case it has them in, each once.
    pub(crate) fn find(&self, text: &str) -> Vec<String> {
        self.calls_in(&text.to_lowercase()).into_iter().map(|number| self.of(number)).collect()
    }

    /// The numbers of the canaries in a text, in order, each once.
    pub(crate) fn calls_in(&self, text: &str) -> Vec<u64> {
        self.counted_in(text).into_keys().collect()
    }

    /// The first canary of another call in a text without the own one: the text belongs to that call.
    pub(crate) fn foreign_in(&self, text: &str, own: u64) -> Option<u64> {
        let shown = self.calls_in(text);
        shown.first().copied().filter(|_| !shown.contains(&own))
    }

    /// The first canary in a text that is not whole.
    pub(crate) fn torn_in(&self, text: &str) -> Option<String> {
        let ends = text.match_indices(&self.stem).map(|(at, _)| &text[at..]);
        let torn = ends.filter_map(|text| {
            let end = text.find(|letter: char| !letter.is_ascii_alphanumeric()).unwrap_or(text.len());
            (end < self.length()).then(|| text[..end].to_owned())
        });
        torn.min_by_key(String::len)
    }

    /// The numbers of the canaries in a text, and how often each is there.
    pub(crate) fn counted_in(&self, text: &str) -> BTreeMap<u64, usize> {
        let mut counted = BTreeMap::new();
        for (at, _) in text.match_indices(&self.prefix) {
            let digits = text.get(at + self.prefix.len()..at + self.length());
            if let Some(number) = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok()) {
                *counted.entry(number).or_default() += 1;
            }
        }
        counted
    }
}

/// The number of digits that number a run.
const RUN_DIGITS: usize = 4;

fn prefix_of_run(stem: &str, run: u64) -> String {
    format!("{stem}{run:0RUN_DIGITS$x}v")
}

/// The number of characters that are shown on both sides of a canary.
const AROUND: usize = 30;

/// The place and the form in which a canary arrived.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct CanaryArrival {
    /// The path of the text that has it.
    pub(crate) path: String,
    /// The form, as the end of "the marker arrived".
    pub(crate) form: &'static str,
    /// The text around it.
    pub(crate) quote: String,
}

/// Looks for one canary in all spellings that redaction knows: base64, hexadecimal digits, escapes of JSON, HTML and URLs.
pub(crate) struct CanarySearch {
    canary: String,
    spellings: Redactor,
}

impl CanarySearch {
    pub(crate) fn new(canary: &str) -> Self {
        Self { canary: canary.to_owned(), spellings: Redactor::new([canary.to_owned()]) }
    }

    pub(crate) fn is_in(&self, text: &str) -> bool {
        self.spellings.is_in(text)
    }

    /// The first text of a value, names of members included, that has the whole canary; a part of it is none.
    pub(crate) fn find(&self, value: &Value, path: &str) -> Option<CanaryArrival> {
        match value {
            Value::String(text) => self.find_in_text(text, path),
            Value::Array(items) => {
                items.iter().enumerate().find_map(|(at, item)| self.find(item, &format!("{path}[{at}]")))
            }
            Value::Object(members) => members.iter().find_map(|(name, member)| {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                self.find_in_text(name, &path).or_else(|| self.find(member, &path))
            }),
            Value::Null | Value::Bool(_) | Value::Number(_) => None,
        }
    }

    fn find_in_text(&self, text: &str, path: &str) -> Option<CanaryArrival> {
        let arrival = |form, quote| Some(CanaryArrival { path: path.to_owned(), form, quote });
        if let Some(at) = text.find(&self.canary) {
            return arrival("in clear", self.quote(text, at));
        }
        if self.is_in(text) { arrival("in another encoding", beginning(text, 2 * AROUND)) } else { None }
    }

    fn quote(&self, text: &str, at: usize) -> String {
        let before: Vec<char> = text[..at].chars().rev().take(AROUND).collect();
        let after = text[at + self.canary.len()..].chars().take(AROUND);
        before.into_iter().rev().chain(self.canary.chars()).chain(after).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_canary_names_its_call_and_its_owner() {
        for (canaries, stranger) in [
            (Canaries::random(), Canaries::random()),
            (Canaries::of_seed(7), Canaries::of_seed(8)),
            (Canaries::of_tool(7, "add"), Canaries::of_tool(7, "sub")),
        ] {
            let (one, other) = (canaries.of(18), canaries.of(3));
            let repeated = format!("a{one}b {other} {one}");
            for (text, calls) in [
                (repeated.as_str(), vec![3, 18]),
                (&one[..one.len() - 1], vec![]),
                (canaries.beginning(), vec![]),
                (stranger.of(3).as_str(), vec![]),
                ("nothing", vec![]),
            ] {
                assert_eq!(canaries.calls_in(text), calls, "{text}");
            }
            assert_eq!(canaries.counted_in(&repeated)[&18], 2);
            assert_eq!(canaries.find(&one.to_uppercase()), [one.as_str()]);
            assert_eq!(one.len(), canaries.length());
            assert!(canaries.is_in(&repeated) && !canaries.is_in(&stranger.of(18)));
        }
    }

    #[test]
    fn a_canary_that_is_cut_off_is_torn() {
        let canaries = Canaries::of_tool(7, "add");
        let [whole, other] = [3, 18].map(|number| canaries.of(number));
        let torn = &whole[..whole.len() - 4];
        for (text, expected) in [
            (format!("[\"{whole}\", \"{torn}\"]"), Some(torn)),
            (format!("{other}\n{torn}"), Some(torn)),
            (format!("{whole} {other}"), None),
            // A name with more behind it, and another tool's.
            (format!("{whole}x"), None),
            (Canaries::of_tool(7, "sub").of(3)[..17].to_owned(), None),
            (String::new(), None),
        ] {
            assert_eq!(canaries.torn_in(&text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn a_text_with_a_foreign_canary_alone_belongs_to_that_call() {
        let canaries = Canaries::of_seed(7);
        let [own, other, third] = [3, 18, 5].map(|number| canaries.of(number));
        for (text, expected) in [
            (format!("a {other}"), Some(18)),
            (format!("a {other} {third}"), Some(5)),
            (format!("a {own}"), None),
            // A list shows all.
            (format!("a {other} {own}"), None),
            ("nothing".to_owned(), None),
        ] {
            assert_eq!(canaries.foreign_in(&text, 3), expected, "{text}");
        }
    }

    #[test]
    fn a_later_run_has_canaries_of_its_own() {
        let mut first = Canaries::of_tool(7, "add");
        let left = format!("kept: {}", first.make());
        let mut second = first.clone().unlike(std::iter::once(left.as_str()));
        assert_eq!(second.calls_in(&left), [0; 0]);
        let both = format!("{left} {}", second.make());
        assert_eq!(first.unlike(std::iter::once(both.as_str())).calls_in(&both), [0; 0]);
    }

    #[test]
    fn the_whole_canary_arrives_in_any_form() {
        let canary = "kw00c0ffeeq001";
        let escaped = "%6B%77%30%30%63%30%66%66%65%65%71%30%30%31".to_owned();
        for (text, form) in [
            (format!("&lt;b&gt;{canary}"), Some("in clear")),
            (format!("{{\"page\": \"\\\"{canary}\\\"\"}}"), Some("in clear")),
            (escaped, Some("in another encoding")),
            // `<p>kw00c0ffeeq001</p>`
            ("data:text/html;base64,PHA+a3cwMGMwZmZlZXEwMDE8L3A+".to_owned(), Some("in another encoding")),
            (canary[..13].to_owned(), None),
            (format!("a {} page", &canary[4..]), None),
            ("nothing of the kind, 100%".to_owned(), None),
        ] {
            let found = CanarySearch::new(canary).find(&json!({"arguments": {"name": text}}), "");
            assert_eq!(found.as_ref().map(|found| found.form), form, "{text}");
            assert!(found.is_none_or(|found| found.path == "arguments.name"));
        }
    }
}
