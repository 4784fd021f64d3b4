//! Judges a round of concurrent writes: which faults it shows, compared with writes one after another.

use std::collections::{BTreeMap, BTreeSet};

use super::clients::{Delivery, Followed, KeptReply, NumberedAnswer};
use super::faults::{SeenFault, WriteFault};
use super::finding::{swapped_expectation, swapped_message};
use super::reads::{Read, ReadBack, missing_everywhere};
use super::writes::{WriteBaseline, WriteStudy};
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
    /// Whether a fault is among those that it shows.
    pub(crate) fn shows(&self, fault: WriteFault) -> bool {
        self.faults.iter().any(|seen| seen.fault == fault)
    }
}

/// A round, and what there was before it.
pub(crate) struct JudgedRound<'a> {
    pub(crate) study: &'a WriteStudy<'a>,
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
        let checked = [self.missing(), self.swapped(), self.repeated_identifier(), self.doubled(), self.stale()];
        let mut seen: Vec<SeenFault> = checked.into_iter().flatten().collect();
        seen.sort_by_key(|seen| seen.fault);
        seen
    }

    fn write(&self, number: u64) -> Option<&NumberedAnswer> {
        self.writes.iter().copied().find(|write| write.number == number)
    }

    /// A write, and a read by its place among the reads.
    fn write_and_read(&self, write: &NumberedAnswer, at: usize) -> Vec<Exchange> {
        std::iter::once(write.exchange(self.study.tool)).chain(self.backs[at].call.clone()).collect()
    }

    fn canary(&self, number: u64) -> String {
        self.study.canaries.of(number)
    }

    /// Confirmed writes that some read does not show, or none.
    fn missing(&self) -> Option<SeenFault> {
        let tool = self.study.tool;
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
    fn swapped(&self) -> Option<SeenFault> {
        let tool = self.study.tool;
        let served: Vec<&NumberedAnswer> = self.answered.iter().filter(|answer| answer.is_served()).collect();
        let foreign = |answer: &NumberedAnswer| {
            let shown = self.study.canaries.calls_in(answer.text());
            shown.first().copied().filter(|_| !shown.contains(&answer.number))
        };
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
        let tool = self.study.tool;
        let mut by_identifier: BTreeMap<String, Vec<&NumberedAnswer>> = BTreeMap::new();
        for write in self.writes.iter().copied().filter(|_| self.baseline.identifies) {
            by_identifier.entry(self.study.identifier(write)?).or_default().push(write);
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
    fn doubled(&self) -> Option<SeenFault> {
        let tool = self.study.tool;
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
        let tool = self.study.tool;
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
