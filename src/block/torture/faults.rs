//! The faults of concurrent writes, and the finding about each.

use super::TortureCheck;
use super::finding::{AS_MANY_AT_ONCE, SWAPPED_HELP, describe_tries, load, result_with};
use super::reproduction::{ReproducedLoad, reproduction};
use super::writes::WriteStudy;
use crate::check::{Confirmation, SeenOnce};
use crate::event::{CheckResult, Exchange, Finding, RequirementLevel};

/// A fault of concurrent writes, the worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum WriteFault {
    /// No read shows a confirmed write.
    Lost,
    /// An answer shows the text of another write, and not its own.
    Swapped,
    /// Two confirmed writes got the same identifier.
    RepeatedIdentifier,
    /// A confirmed write is shown more often than any write of the baseline.
    Doubled,
    /// A call of an idempotent tool that came twice at once is shown more often than one that came once, or twice one after
    /// the other.
    AppliedTwice,
    /// One read shows a confirmed write, and another one does not.
    Hidden,
    /// A session did not see its own write at once, and did later.
    Stale,
}

/// A fault as a round of concurrent writes shows it.
#[derive(Debug, Clone)]
pub(crate) struct SeenFault {
    pub(crate) fault: WriteFault,
    pub(crate) message: String,
    /// The expectation of the first of the writes.
    pub(crate) expected: String,
    /// The number of writes that it is about, and the number of all writes.
    pub(crate) affected: usize,
    pub(crate) of: usize,
    /// The calls that show it.
    pub(crate) calls: Vec<Exchange>,
}

/// The words of a finding that are the same for every tool.
struct FaultWords {
    code: &'static str,
    /// The name of the evidence that counts the writes, and what they are.
    count: &'static str,
    counted: &'static str,
    /// The observation at writes one after another.
    control: &'static str,
    help: &'static str,
}

const ATOMIC_STORE: &str =
    "read, change and write the store in one step that no other call interrupts: with a lock, a queue or a transaction";

impl WriteFault {
    /// The code of the finding.
    pub(crate) fn code(self) -> &'static str {
        self.words().code
    }

    fn words(self) -> FaultWords {
        match self {
            Self::Lost => FaultWords {
                code: "lost-update",
                count: "lost",
                counted: "confirmed writes",
                control: "as many writes one after another are all shown",
                help: ATOMIC_STORE,
            },
            Self::Hidden => FaultWords { code: "update-not-shown", ..Self::Lost.words() },
            Self::Swapped => FaultWords {
                code: "swapped-answer",
                count: "swapped",
                counted: "answers",
                control: "as many writes one after another all get their own answers",
                help: SWAPPED_HELP,
            },
            Self::RepeatedIdentifier => FaultWords {
                code: "repeated-identifier",
                count: "repeated ids",
                counted: "confirmed writes",
                control: "as many writes one after another all get identifiers of their own",
                help: "take the next identifier and note that it is taken in one step, or let the store give identifiers",
            },
            Self::Doubled => FaultWords {
                code: "doubled-write",
                count: "doubled",
                counted: "confirmed writes",
                control: "as many writes one after another are shown once each",
                help: ATOMIC_STORE,
            },
            Self::AppliedTwice => FaultWords {
                code: "duplicate-applied-twice",
                count: "applied twice",
                counted: "confirmed calls, each sent twice at once",
                control: "the same call once more after the first one was answered changes nothing",
                help: "look whether it is done already and do it in one step that no other call interrupts: with a lock, a \
                       unique key or a transaction",
            },
            Self::Stale => FaultWords {
                code: "stale-read",
                count: "stale",
                counted: "reads",
                control: "writes one after another are shown by a read at once",
                help: "confirm a write only when the reads of its session show it, or drop what is cached before",
            },
        }
    }

    /// It is no more than a doubt, however often it shows.
    fn is_doubt(self) -> bool {
        matches!(self, Self::Hidden | Self::Stale)
    }
}

impl SeenFault {
    /// The result, where `others` were seen in the same round, and `smallest` is the smallest number of concurrent writes
    /// that shows it.
    pub(crate) fn result(
        &self,
        study: &WriteStudy<'_>,
        others: &[Self],
        confirmation: Confirmation,
        smallest: usize,
    ) -> CheckResult {
        let code = self.fault.code();
        let mut found = self.finding(others, &load(study.clients));
        found = found.with_evidence("seed", study.settings.seed.to_string());
        let load = ReproducedLoad::of(study.clients, study.settings, smallest);
        let replay = reproduction(study.context, study.settings, Some(study.tool), code, TortureCheck::Calls, load);
        found.reproduction = Some(Box::new(replay));
        let place = describe_tries(AS_MANY_AT_ONCE, &confirmation, &self.load_text(smallest));
        result_with(confirmation.conclude(found, &place, SeenOnce::Warns), self.calls.clone())
    }

    /// The finding about a round with such a load.
    fn finding(&self, others: &[Self], load: &str) -> Finding {
        let words = self.fault.words();
        let count = format!("{} of {} {}, {load}", self.affected, self.of, words.counted);
        let mut found = Finding::new(words.code, self.message.clone())
            .with_evidence(words.count, count)
            .with_evidence("expected", self.expected.clone())
            .with_evidence("control", words.control);
        if !others.is_empty() {
            let others: Vec<&str> = others.iter().map(|other| other.fault.code()).collect();
            found = found.with_evidence("also seen", others.join(", "));
        }
        found.help = Some(words.help.to_owned());
        if self.fault.is_doubt() {
            found.level = RequirementLevel::Should;
        }
        found
    }

    fn load_text(&self, calls: usize) -> String {
        match (self.fault, calls) {
            (WriteFault::AppliedTwice, 1) => "one call is".to_owned(),
            (WriteFault::AppliedTwice, _) => format!("{calls} concurrent calls are"),
            (_, _) => format!("{calls} concurrent writes are"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use WriteFault::{AppliedTwice, Doubled, Hidden, Lost, RepeatedIdentifier, Stale, Swapped};

    const ALL: [WriteFault; 7] = [Lost, Swapped, RepeatedIdentifier, Doubled, AppliedTwice, Hidden, Stale];

    #[test]
    fn faults_are_ordered_with_doubts_last_and_have_codes_of_their_own() {
        assert!(ALL.is_sorted());
        assert_eq!(ALL.map(WriteFault::is_doubt), [false, false, false, false, false, true, true]);
        let codes: BTreeSet<&str> = ALL.into_iter().map(WriteFault::code).collect();
        assert_eq!(codes.len(), ALL.len());
    }

    #[test]
    fn each_fault_says_what_was_counted_what_is_right_and_what_to_do() {
        for fault in ALL {
            let FaultWords { count, counted, control, help, .. } = fault.words();
            assert!([count, counted, control, help].iter().all(|text| !text.is_empty()), "{fault:?}");
        }
    }

    fn seen(fault: WriteFault) -> SeenFault {
        let (message, expected) = ("it is wrong".to_owned(), "`zq1`".to_owned());
        SeenFault { fault, message, expected, affected: 2, of: 32, calls: Vec::new() }
    }

    #[test]
    fn a_finding_counts_the_writes_and_names_what_else_was_seen() {
        use RequirementLevel::{Must, Should};
        for (fault, others, level, name, count, also) in [
            (Lost, &[][..], Must, "lost", "2 of 32 confirmed writes, 16 at a time", None),
            (
                Lost,
                &[seen(Swapped), seen(Stale)],
                Must,
                "lost",
                "2 of 32 confirmed",
                Some("swapped-answer, stale-read"),
            ),
            (AppliedTwice, &[], Must, "applied twice", "2 of 32 confirmed calls, each sent twice at once", None),
            // A read may be of a cache.
            (Hidden, &[], Should, "lost", "2 of 32 confirmed writes", None),
            (Stale, &[], Should, "stale", "2 of 32 reads", None),
        ] {
            let found = seen(fault).finding(others, "16 at a time");
            let evidence = |name: &str| found.evidence.iter().find(|(known, _)| known == name).map(|(_, text)| &**text);
            assert_eq!((found.level, evidence("also seen")), (level, also), "{fault:?}");
            assert!(evidence(name).is_some_and(|text| text.starts_with(count)), "{:?}", found.evidence);
        }
    }

    #[test]
    fn the_smallest_load_is_told_in_writes_or_calls() {
        for (fault, calls, expected) in [
            (Lost, 2, "2 concurrent writes are"),
            (AppliedTwice, 1, "one call is"),
            (AppliedTwice, 4, "4 concurrent calls are"),
        ] {
            assert_eq!(seen(fault).load_text(calls), expected);
        }
    }
}
