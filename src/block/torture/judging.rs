//! Judges a round of concurrent writes: which faults it shows, compared with writes one after another.

use std::collections::{BTreeMap, BTreeSet};

use super::clients::{Delivery, Followed, KeptReply, NumberedAnswer};
use super::faults::{SeenFault, WriteFault};
use super::finding::{swapped_expectation, swapped_message};
use super::identifiers::identifier_of_write;
use super::reads::{Read, ReadBack, missing_everywhere};
use super::writes::WriteBaseline;
use crate::check::canary::Canaries;
use crate::check::evidence::exchange;
use crate::event::Exchange;

/// A round of concurrent writes, judged.
pub(crate) struct WrittenRound {
    pub(crate) confirmed: usize,
    /// The worst first.
    pub(crate) faults: Vec<SeenFault>,
    /// A confirmed write, and a read after it.
    pub(crate) calls: Vec<Exchange>,
}

impl WrittenRound {
    /// A fault is among those that it shows.
    pub(crate) fn shows(&self, fault: WriteFault) -> bool {
        self.faults.iter().any(|seen| seen.fault == fault)
    }
}

/// A round, and what there was before it.
pub(crate) struct JudgedRound<'a> {
    pub(crate) tool: &'a str,
    pub(crate) canaries: &'a Canaries,
    pub(crate) baseline: &'a WriteBaseline,
    pub(crate) delivery: Delivery,
    pub(crate) answered: &'a [NumberedAnswer],
    /// The confirmed ones.
    pub(crate) writes: &'a [&'a NumberedAnswer],
    /// By read.
    pub(crate) backs: &'a [ReadBack],
}

impl JudgedRound<'_> {
    /// Everything that is wrong, the worst first.
    pub(crate) fn faults(&self) -> Vec<SeenFault> {
        let checked =
            [self.missing(), self.find_swapped(), self.repeated_identifier(), self.find_doubled(), self.stale()];
        let mut seen: Vec<SeenFault> = checked.into_iter().flatten().collect();
        seen.sort_by_key(|seen| seen.fault);
        seen
    }

    fn write(&self, number: u64) -> Option<&NumberedAnswer> {
        self.writes.iter().copied().find(|write| write.number == number)
    }

    /// A write, and a read by its place among the reads.
    fn write_and_read(&self, write: &NumberedAnswer, at: usize) -> Vec<Exchange> {
        std::iter::once(write.exchange(self.tool)).chain(self.backs[at].call.clone()).collect()
    }

    fn canary(&self, number: u64) -> String {
        self.canaries.of(number)
    }

    /// Confirmed writes that some read does not show, or none.
    fn missing(&self) -> Option<SeenFault> {
        let tool = self.tool;
        let missing: Vec<BTreeSet<u64>> = self.backs.iter().map(ReadBack::missing).collect();
        let at = missing.iter().position(|missing| !missing.is_empty())?;
        let lost = missing_everywhere(self.backs);
        let numbers = if lost.is_empty() { &missing[at] } else { &lost };
        let first = self.write(*numbers.first()?)?;
        let hidden_from = self.baseline.reads[at].name();
        let (fault, message) = if lost.is_empty() {
            let shows = |(_, back): &(&Read, &ReadBack)| back.shown.contains_key(&first.number);
            let shown_by: Vec<&str> =
                self.baseline.reads.iter().zip(self.backs).filter(shows).map(|(read, _)| read.name()).collect();
            let message = format!(
                "`{hidden_from}` does not show concurrent writes that `{tool}` confirmed, and `{}` does",
                shown_by.join("`, `")
            );
            (WriteFault::Hidden, message)
        } else {
            (WriteFault::Lost, format!("`{tool}` confirmed concurrent writes that are lost afterwards"))
        };
        Some(SeenFault {
            fault,
            message,
            expected: format!("`{}` in `{hidden_from}`", self.canary(first.number)),
            affected: numbers.len(),
            of: self.backs[at].looked_for.len(),
            calls: self.write_and_read(first, at),
        })
    }

    /// Answers that show the text of another call and not their own, where all of the baseline show their own.
    fn find_swapped(&self) -> Option<SeenFault> {
        let tool = self.tool;
        let served: Vec<&NumberedAnswer> = self.answered.iter().filter(|answer| answer.is_served()).collect();
        let foreign = |answer: &NumberedAnswer| self.canaries.foreign_in(answer.text(), answer.number);
        let swapped: Vec<(&NumberedAnswer, u64)> =
            { served.iter() }.filter_map(|answer| Some((*answer, foreign(answer)?))).collect();
        let (first, shows) = swapped.first().copied().filter(|_| self.baseline.repeats_text)?;
        Some(SeenFault {
            fault: WriteFault::Swapped,
            message: swapped_message(tool),
            expected: swapped_expectation(&self.canary(first.number), &self.canary(shows)),
            affected: swapped.len(),
            of: served.len(),
            calls: vec![first.exchange(tool)],
        })
    }

    /// Confirmed writes with the same identifier, where all of the baseline differ.
    fn repeated_identifier(&self) -> Option<SeenFault> {
        let tool = self.tool;
        let mut by_identifier: BTreeMap<String, Vec<&NumberedAnswer>> = BTreeMap::new();
        for write in self.writes.iter().copied().filter(|_| self.baseline.identifies) {
            by_identifier.entry(identifier_of_write(write, tool, self.canaries)?).or_default().push(write);
        }
        by_identifier.retain(|_, writes| writes.len() > 1);
        let (identifier, writes) = by_identifier.first_key_value()?;
        Some(SeenFault {
            fault: WriteFault::RepeatedIdentifier,
            message: format!("`{tool}` gave two concurrent writes the same identifier"),
            expected: format!("an identifier of its own for each write, and not `{identifier}` for {}", writes.len()),
            affected: by_identifier.values().map(Vec::len).sum(),
            of: self.writes.len(),
            calls: writes.iter().take(2).map(|write| write.exchange(tool)).collect(),
        })
    }

    /// Confirmed writes that a read shows twice as often as all writes of the baseline, or more.
    fn find_doubled(&self) -> Option<SeenFault> {
        let tool = self.tool;
        self.baseline.times.iter().zip(self.backs).enumerate().find_map(|(at, (times, back))| {
            let times = (*times)?;
            let mut doubled = back.shown.clone();
            doubled.retain(|_, shown| *shown > times && shown.is_multiple_of(times));
            let (number, shown) = doubled.first_key_value()?;
            let (fault, message) = match self.delivery {
                Delivery::Once => (
                    WriteFault::Doubled,
                    format!("`{tool}` confirmed a concurrent write once, and it is stored more than once"),
                ),
                Delivery::Twice => (
                    WriteFault::AppliedTwice,
                    format!(
                        "`{tool}` declares `idempotentHint: true`, but applies the same call twice when it is sent twice \
                         at once"
                    ),
                ),
                Delivery::PostedTwice => (
                    WriteFault::AppliedTwice,
                    format!(
                        "`{tool}` declares `idempotentHint: true`, but applies the same request twice when the same bytes \
                         are posted twice at once"
                    ),
                ),
            };
            Some(SeenFault {
                fault,
                message,
                expected: format!(
                    "`{}` once in `{}`, and not {} times",
                    self.canary(*number),
                    self.baseline.reads[at].name(),
                    shown / times
                ),
                affected: doubled.len(),
                of: back.looked_for.len(),
                calls: self.write_and_read(self.write(*number)?, at),
            })
        })
    }

    /// Reads that followed a write in its session and did not show it.
    fn stale(&self) -> Option<SeenFault> {
        let read = self.baseline.at_once.as_ref()?;
        let tool = self.tool;
        let stale: Vec<(&NumberedAnswer, &KeptReply)> = { self.writes.iter().copied() }
            .filter_map(|write| match write.followed.as_ref()? {
                Followed::Own => None,
                Followed::Else(reply) => Some((write, reply)),
            })
            .collect();
        let (write, reply) = stale.first().copied()?;
        Some(SeenFault {
            fault: WriteFault::Stale,
            message: format!(
                "`{}` does not show a write that `{tool}` has just confirmed in the same session",
                read.name()
            ),
            expected: format!("`{}` at once; it was shown later", self.canary(write.number)),
            affected: stale.len(),
            of: self.writes.iter().filter(|write| write.followed.is_some()).count(),
            calls: vec![write.exchange(tool), exchange(&read.title(), &reply.whole())],
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use WriteFault::{AppliedTwice, Doubled, Hidden, Lost, RepeatedIdentifier, Stale, Swapped};

    /// A round of a tool that answers with an id and the text of the call.
    struct Round {
        delivery: Delivery,
        /// The number of the call, and the number of the text and the id in its answer.
        answers: Vec<(u64, u64, u64)>,
        /// By read: how often each write is shown.
        shown: Vec<Vec<(u64, usize)>>,
        /// Writes that their session did not see at once.
        stale: Vec<u64>,
        baseline: WriteBaseline,
    }

    impl Round {
        /// Three writes that are all right, and two reads that show them.
        fn right() -> Self {
            let shown = vec![(1, 1), (2, 1), (3, 1)];
            Self {
                delivery: Delivery::Once,
                answers: vec![(1, 1, 1), (2, 2, 2), (3, 3, 3)],
                shown: vec![shown.clone(), shown],
                stale: Vec::new(),
                baseline: WriteBaseline::of_test(&["list", "get"], &[Some(1), Some(1)]),
            }
        }

        fn judge(&self) -> Vec<SeenFault> {
            let canaries = Canaries::of_seed(7);
            let answered: Vec<NumberedAnswer> = { self.answers.iter() }
                .map(|(number, text, id)| {
                    let record = json!({"id": id, "name": canaries.of(*text)});
                    let mut answer = answer(*number, &record);
                    let stale = Followed::Else(answer.reply.clone());
                    answer.followed = Some(if self.stale.contains(number) { stale } else { Followed::Own });
                    answer
                })
                .collect();
            let writes: Vec<&NumberedAnswer> = answered.iter().collect();
            let numbers: Vec<u64> = self.answers.iter().map(|(number, ..)| *number).collect();
            let backs: Vec<ReadBack> = self.shown.iter().map(|shown| ReadBack::of_test(&numbers, shown)).collect();
            let (tool, canaries, baseline, delivery) = ("add", &canaries, &self.baseline, self.delivery);
            let round =
                JudgedRound { tool, canaries, baseline, delivery, answered: &answered, writes: &writes, backs: &backs };
            round.faults()
        }
    }

    fn answer(number: u64, record: &Value) -> NumberedAnswer {
        NumberedAnswer::of_test(number, &json!({"result": {"content": [], "structuredContent": record}}))
    }

    fn check(round: &Round, expected: &[(WriteFault, usize)]) {
        let seen: Vec<(WriteFault, usize)> = round.judge().iter().map(|seen| (seen.fault, seen.affected)).collect();
        assert_eq!(seen, expected);
    }

    #[test]
    fn writes_that_reads_do_not_show_are_lost_or_hidden() {
        let shown = |list: &[(u64, usize)], get: &[(u64, usize)]| Round {
            shown: vec![list.to_vec(), get.to_vec()],
            ..Round::right()
        };
        check(&Round::right(), &[]);
        check(&shown(&[(1, 1)], &[(1, 1)]), &[(Lost, 2)]);
        check(&shown(&[], &[]), &[(Lost, 3)]);
        check(&shown(&[(1, 1), (3, 1)], &[(1, 1), (2, 1), (3, 1)]), &[(Hidden, 1)]);
        // Each read lacks another one.
        check(&shown(&[(1, 1), (2, 1)], &[(2, 1), (3, 1)]), &[(Hidden, 1)]);
        check(&shown(&[(1, 1)], &[(1, 1), (2, 1)]), &[(Lost, 1)]);
    }

    #[test]
    fn a_lost_write_is_named_with_the_read_that_lacks_it() {
        let shown = vec![vec![(1, 1), (3, 1)], vec![(1, 1), (2, 1), (3, 1)]];
        let hidden = Round { shown, ..Round::right() }.judge().remove(0);
        let expected = "`list` does not show concurrent writes that `add` confirmed, and `get` does";
        assert_eq!(hidden.message, expected);
        assert_eq!((hidden.expected, hidden.of), (format!("`{}` in `list`", Canaries::of_seed(7).of(2)), 3));
    }

    #[test]
    fn answers_are_swapped_only_where_they_always_showed_their_own_text() {
        let swapped = vec![(1, 2, 1), (2, 1, 2), (3, 3, 3)];
        check(&Round { answers: swapped.clone(), ..Round::right() }, &[(Swapped, 2)]);
        let mut without_texts = Round { answers: swapped, ..Round::right() };
        without_texts.baseline.repeats_text = false;
        check(&without_texts, &[]);
    }

    #[test]
    fn identifiers_are_repeated_only_where_they_always_differed() {
        let same = vec![(1, 1, 7), (2, 2, 7), (3, 3, 7)];
        check(&Round { answers: same.clone(), ..Round::right() }, &[(RepeatedIdentifier, 3)]);
        let mut without_identifiers = Round { answers: same, ..Round::right() };
        without_identifiers.baseline.identifies = false;
        check(&without_identifiers, &[]);
    }

    #[test]
    fn a_write_is_doubled_where_all_others_are_shown_less_often() {
        let list = |shown: &[(u64, usize)], times: Option<usize>, delivery: Delivery| Round {
            shown: vec![shown.to_vec()],
            baseline: WriteBaseline::of_test(&["list"], &[times]),
            delivery,
            ..Round::right()
        };
        let twice = [(1, 2), (2, 1), (3, 1)];
        check(&list(&twice, Some(1), Delivery::Once), &[(Doubled, 1)]);
        check(&list(&twice, Some(1), Delivery::Twice), &[(AppliedTwice, 1)]);
        check(&list(&twice, Some(1), Delivery::PostedTwice), &[(AppliedTwice, 1)]);
        check(&list(&[(1, 4), (2, 2), (3, 2)], Some(2), Delivery::Once), &[(Doubled, 1)]);
        // A text that is shown in a list and in a log need not be two records.
        check(&list(&[(1, 3), (2, 2), (3, 2)], Some(2), Delivery::Once), &[]);
        check(&list(&twice, Some(2), Delivery::Once), &[]);
        check(&list(&twice, None, Delivery::Once), &[]);
    }

    #[test]
    fn reads_are_stale_only_where_one_showed_writes_at_once() {
        let mut stale = Round { stale: vec![2], ..Round::right() };
        check(&stale, &[]);
        stale.baseline.at_once = Some(Read::Resource("notes://all".to_owned()));
        check(&stale, &[(Stale, 1)]);
    }

    #[test]
    fn the_worst_fault_comes_first() {
        let answers = vec![(1, 1, 7), (2, 3, 7), (3, 3, 3)];
        let shown = vec![vec![(1, 1), (3, 2)], vec![(1, 1), (3, 2)]];
        let round = Round { answers, shown, ..Round::right() };
        check(&round, &[(Lost, 1), (Swapped, 1), (RepeatedIdentifier, 2), (Doubled, 1)]);
        let faults = round.judge();
        let judged = WrittenRound { confirmed: 3, faults, calls: Vec::new() };
        assert!(judged.shows(Lost) && judged.shows(Doubled) && !judged.shows(Stale));
    }
}
