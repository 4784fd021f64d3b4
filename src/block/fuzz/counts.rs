//! The counts, and the sentence about them.

use std::fmt::Write as _;
use std::time::Duration;

use super::judge::Fate;
use crate::generate::BranchSet;
use crate::source::duration_text;

/// Counts of one case.
#[derive(Debug, Default)]
pub(crate) struct CallCounts {
    /// Calls of the tool.
    pub(crate) calls: u64,
    /// Calls of other tools.
    pub(crate) others: u64,
    pub(crate) served: u64,
    /// Valid calls that were turned down.
    pub(crate) refused: u64,
    /// Calls that break the schema.
    pub(crate) invalid: u64,
    pub(crate) invalid_refused: u64,
    pub(crate) invalid_served: u64,
    /// Answers of which it is not known whether they are what the tool declares.
    pub(crate) unjudged: u64,
    /// Calls without a usable answer.
    pub(crate) lost: u64,
    pub(crate) seen: BranchSet,
    /// The time for which calls were under way.
    pub(crate) spent: Duration,
    /// The calls that were sent, in order.
    pub(crate) hash: u64,
    /// Servers that were started again.
    pub(crate) restarts: u32,
    /// The time that calls take, of a slow tool for which there is less time.
    pub(crate) slow_call: Option<Duration>,
    /// The calls that there was no time for, of such a tool.
    pub(crate) not_made: u64,
}

/// From how many calls on a rate says something.
const TELLING: u64 = 1_000;

impl CallCounts {
    /// Calls of the tool that were answered so that it can be used.
    pub(crate) fn answer_count(&self) -> u64 {
        self.served + self.refused + self.invalid_refused
    }

    /// Takes note of what became of a call of the tool, which may break its schema.
    pub(crate) fn note_fate(&mut self, fate: Fate, is_invalid: bool) {
        match (fate, is_invalid) {
            (Fate::Served | Fate::Open, _) => {
                self.served += 1;
                self.invalid_served += u64::from(is_invalid);
            }
            (Fate::Refused, false) => self.refused += 1,
            (Fate::Refused, true) => self.invalid_refused += 1,
            (Fate::Unusable, _) => self.lost += 1,
        }
    }

    /// Takes note of the arguments of a call.
    pub(crate) fn note_sent(&mut self, tool: usize, arguments: &[u8]) {
        let spread = |hash: u64, byte: u64| (hash ^ byte).wrapping_mul(0x0100_0000_01b3).rotate_left(5);
        let mut hash = spread(self.hash, tool as u64);
        let mut chunks = arguments.chunks_exact(8);
        for chunk in &mut chunks {
            hash = spread(hash, chunk.iter().fold(0, |word, byte| word << 8 | u64::from(*byte)));
        }
        self.hash = chunks.remainder().iter().fold(hash, |hash, byte| spread(hash, u64::from(*byte)));
    }

    /// The tool serves every call that its schema forbids, as far as they were answered.
    pub(crate) fn serves_everything(&self) -> bool {
        self.invalid_served > 0 && self.invalid_refused == 0
    }

    /// The tool serves no call and refused valid ones.
    pub(crate) fn serves_nothing(&self) -> bool {
        self.served == 0 && self.refused > 0
    }

    /// The calls in words.
    pub(crate) fn text(&self, branches: usize) -> String {
        let taken = self.seen.count().min(branches);
        let mut parts = vec![format!(
            "{} covered {taken} of {}: {} served",
            count_with_noun(self.calls, "call"),
            count_with_noun(branches as u64, "schema branch"),
            self.served
        )];
        parts.extend(some(self.refused, "refused though valid"));
        if self.invalid > 0 {
            parts.push(format!("{} of {} invalid ones refused", self.invalid_refused, self.invalid));
        }
        parts.extend(some(self.unjudged, "with content that could not be judged by its schema"));
        parts.extend(some(self.lost, "without an answer"));
        if self.others > 0 {
            parts.push(format!("{} of other tools in between", count_with_noun(self.others, "call")));
        }
        let mut sentence = parts.join(", ");
        if self.restarts > 0 {
            let _ = write!(sentence, "; {}", count_with_noun(u64::from(self.restarts), "restart"));
        }
        if let Some(call) = self.slow_call.filter(|_| self.not_made > 0) {
            let _ =
                write!(sentence, "; {} not made, since most take {}", self.not_made, duration_text(to_tenths(call)));
        }
        sentence
    }

    /// The calls in a sentence, and what makes them again.
    pub(crate) fn sentence(&self, branches: usize, seed: u64) -> String {
        let mut sentence = format!("{}; seed {seed}, calls {:08x}", self.text(branches), self.hash >> 32);
        if self.calls >= TELLING {
            let _ = write!(sentence, "; {} in {}", self.rate(), duration_text(whole(self.spent)));
        }
        sentence
    }

    fn rate(&self) -> String {
        #[expect(clippy::cast_precision_loss, reason = "a rate is rounded anyway")]
        let rate = (self.calls + self.others) as f64 / self.spent.as_secs_f64().max(1e-6);
        if rate < 100.0 { format!("{rate:.1} calls/s") } else { format!("{rate:.0} calls/s") }
    }
}

fn to_tenths(duration: Duration) -> Duration {
    Duration::from_millis(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX) / 100 * 100)
}

fn whole(duration: Duration) -> Duration {
    if duration.as_secs() > 1 {
        Duration::from_secs(duration.as_secs())
    } else {
        Duration::from_millis(u64::from(duration.subsec_millis()) + 1000 * duration.as_secs())
    }
}

fn some(count: u64, what: &str) -> Option<String> {
    (count > 0).then(|| format!("{count} {what}"))
}

fn count_with_noun(count: u64, noun: &str) -> String {
    match (count, noun.ends_with("ch")) {
        (1, _) => format!("1 {noun}"),
        (_, true) => format!("{count} {noun}es"),
        (_, false) => format!("{count} {noun}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_validates_nothing_only_where_it_serves_what_it_forbids_and_more() {
        let none = CallCounts::default;
        for (what, counts, everything, nothing) in [
            ("no call", none(), false, false),
            ("all served", CallCounts { served: 9, invalid: 4, invalid_served: 4, ..none() }, true, false),
            ("one refused", CallCounts { served: 9, invalid: 4, invalid_refused: 1, ..none() }, false, false),
            ("none forbidden", CallCounts { served: 9, ..none() }, false, false),
            ("none served", CallCounts { refused: 9, invalid: 4, ..none() }, false, true),
            ("only forbidden ones refused", CallCounts { invalid: 4, invalid_refused: 4, ..none() }, false, false),
            ("some refused", CallCounts { served: 1, refused: 9, ..none() }, false, false),
        ] {
            assert_eq!((counts.serves_everything(), counts.serves_nothing()), (everything, nothing), "{what}");
        }
    }

    #[test]
    fn counts_in_words() {
        let none = CallCounts::default;
        let rows = [
            (CallCounts { calls: 1, served: 1, ..none() }, 1, "1 call covered 0 of 1 schema branch: 1 served"),
            (
                CallCounts { calls: 9, served: 3, refused: 2, invalid: 4, invalid_refused: 3, ..none() },
                2,
                "9 calls covered 0 of 2 schema branches: 3 served, 2 refused though valid, 3 of 4 invalid ones refused",
            ),
            (
                CallCounts { calls: 5, others: 1, lost: 1, unjudged: 2, restarts: 2, ..none() },
                1,
                "5 calls covered 0 of 1 schema branch: 0 served, 2 with content that could not be judged by its schema, \
                 1 without an answer, 1 call of other tools in between; 2 restarts",
            ),
            (
                CallCounts { calls: 9, served: 9, slow_call: Some(Duration::from_millis(1_042)), ..none() },
                1,
                "9 calls covered 0 of 1 schema branch: 9 served",
            ),
            (
                CallCounts {
                    calls: 9,
                    served: 9,
                    slow_call: Some(Duration::from_millis(1_042)),
                    not_made: 91,
                    ..none()
                },
                1,
                "9 calls covered 0 of 1 schema branch: 9 served; 91 not made, since most take 1 s",
            ),
        ];
        for (counts, branches, expected) in rows {
            assert_eq!(counts.text(branches), expected);
        }
    }

    #[test]
    fn a_rate_is_told_of_many_calls() {
        for (calls, expected) in [(999, false), (1_000, true)] {
            let counts = CallCounts { calls, spent: Duration::from_secs(2), ..CallCounts::default() };
            let sentence = counts.sentence(1, 7);
            assert_eq!(sentence.contains("500 calls/s in 2 s"), expected, "{sentence}");
            assert!(sentence.contains("; seed 7, calls "), "{sentence}");
        }
    }

    #[test]
    fn other_calls_have_another_hash() {
        let hash = |said: &[(usize, &str)]| {
            let mut counts = CallCounts::default();
            for (tool, arguments) in said {
                counts.note_sent(*tool, arguments.as_bytes());
            }
            counts.hash
        };
        let whole = hash(&[(0, "{\"id\":\"u1\"}"), (1, "{}")]);
        assert_eq!(hash(&[(0, "{\"id\":\"u1\"}"), (1, "{}")]), whole);
        for said in [
            &[(0, "{\"id\":\"u2\"}"), (1, "{}")][..],
            &[(1, "{}"), (0, "{\"id\":\"u1\"}")],
            &[(0, "{\"id\":\"u1\"}"), (0, "{}")],
        ] {
            assert_ne!(hash(said), whole, "{said:?}");
        }
    }

    #[test]
    fn a_tool_serves_everything_or_nothing_by_the_fates_of_its_calls() {
        use Fate::{Open, Refused, Served, Unusable};
        for (tool, fates, everything, nothing) in [
            ("looks at its schema", &[(Served, false), (Refused, true)][..], false, false),
            ("serves all", &[(Served, false), (Served, true)], true, false),
            ("serves what is forbidden, and refuses some", &[(Served, true), (Refused, true)], false, false),
            ("refuses all", &[(Refused, false), (Refused, true)], false, true),
            ("refuses what is valid", &[(Refused, false), (Served, true)], true, false),
            // Nobody knows what it makes of them.
            ("answers no forbidden call", &[(Served, false), (Unusable, true)], false, false),
            ("answers nothing", &[(Unusable, false)], false, false),
            ("starts tasks", &[(Open, false), (Open, true)], true, false),
        ] {
            let mut counts = CallCounts::default();
            for (fate, is_invalid) in fates {
                counts.note_fate(*fate, *is_invalid);
            }
            assert_eq!(
                (counts.serves_everything(), counts.serves_nothing()),
                (everything, nothing),
                "a tool that {tool}"
            );
            assert_eq!(counts.answer_count() + counts.lost, fates.len() as u64, "a tool that {tool}");
        }
    }
}
