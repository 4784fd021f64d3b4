//! Seen again or not: the weight of a fault that one round of a check has shown.

use super::CheckEnd;
use crate::event::{Doubt, Finding, RequirementLevel};

/// The outcome of further tries to see a fault again, which begin anew: on a fresh server, or in new sessions.
#[derive(Debug, Clone)]
pub(crate) enum Confirmation {
    /// Every further try showed it.
    Confirmed { tried: usize },
    /// Some of them did.
    Flaky { shown: usize, tried: usize },
    /// None of them did.
    NotSeenAgain { tried: usize },
    /// There was no further try, since the check ended.
    NotJudged(CheckEnd),
    /// The control shows the same without that which is accused, as this sentence says; so the server is not accused.
    ControlFailed(String),
}

/// The conclusion from a fault that is not seen again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SeenOnce {
    /// It is a warning.
    Warns,
    /// Nothing follows, for this reason.
    ProvesNothing(String),
}

impl Confirmation {
    /// The outcome of so many tries; without any the check had no way to try again.
    pub(crate) fn of(shown: usize, tried: usize) -> Self {
        match shown {
            0 if tried == 0 => Self::NotJudged(CheckEnd::inconclusive("nothing is known that could be tried")),
            0 => Self::NotSeenAgain { tried },
            shown if shown < tried => Self::Flaky { shown, tried },
            _ => Self::Confirmed { tried },
        }
    }

    /// The outcome of one further try.
    pub(crate) fn of_try(shows: Result<bool, CheckEnd>) -> Self {
        shows.map_or_else(Self::NotJudged, |shows| Self::of(usize::from(shows), 1))
    }

    pub(crate) fn is_seen_again(&self) -> bool {
        matches!(self, Self::Confirmed { .. } | Self::Flaky { .. })
    }

    /// The level of a finding of this level: a warning, unless it was seen again.
    pub(crate) fn level(&self, level: RequirementLevel) -> RequirementLevel {
        if self.is_seen_again() { level } else { RequirementLevel::Should }
    }

    /// The outcome in words; `place` says where or how it was tried, as in `in new sessions`.
    pub(crate) fn sentence(&self, place: &str) -> String {
        match self {
            Self::Confirmed { tried: 1 } => format!("once more, {place}"),
            Self::Confirmed { tried } => format!("{tried} of {tried} times, {place}"),
            Self::Flaky { shown, tried } => format!("{shown} of {tried} times (flaky), {place}"),
            Self::NotSeenAgain { tried: 1 } => format!("not {place}"),
            Self::NotSeenAgain { tried } => format!("0 of {tried} times, {place}"),
            Self::NotJudged(end) => format!("not tried again: {}", end.sentence()),
            Self::ControlFailed(why) => format!("not tried again: {why}"),
        }
    }

    /// A finding with this level, this evidence, and the doubt of a replay that shows nothing. The level is that of the
    /// finding if it was seen again, and otherwise a warning.
    pub(crate) fn weigh(&self, mut found: Finding, place: &str) -> Finding {
        let level = self.level(found.level);
        let note = if level == found.level { "" } else { ", so it is a warning" };
        found.level = level;
        if let (Self::NotSeenAgain { .. }, Some(reproduction)) = (self, &mut found.reproduction) {
            reproduction.doubt.get_or_insert(Doubt::NeverAgain);
        }
        let evidence = ("reproduced".to_owned(), self.sentence(place) + note);
        // Nobody should take a fault for certain that is not.
        found.evidence.insert(found.evidence.len().min(Finding::SHOWN_EVIDENCE - 1), evidence);
        found
    }

    /// The end of a check with this finding.
    pub(crate) fn conclude(self, found: Finding, place: &str, once: SeenOnce) -> CheckEnd {
        match (self, once) {
            (Self::ControlFailed(why), _) | (Self::NotSeenAgain { .. }, SeenOnce::ProvesNothing(why)) => {
                CheckEnd::inconclusive(why)
            }
            (Self::NotJudged(end), SeenOnce::ProvesNothing(_)) => end,
            (seen, _) => CheckEnd::failed(seen.weigh(found, place)),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::event::{FindingKind, Outcome, Reproduction, ReproductionCheck};

    const PLACE: &str = "in new sessions";

    fn found() -> Finding {
        let (kind, check) = (FindingKind::StateLeak, ReproductionCheck::Holds("kw1".to_owned()));
        let reproduction = Reproduction { kind, tool: None, sessions: Vec::new(), check, doubt: None };
        Finding { reproduction: Some(Box::new(reproduction)), ..Finding::new("state-leak", "it leaks") }
    }

    fn late() -> CheckEnd {
        CheckEnd::inconclusive("the time of 5 s ended")
    }

    #[test]
    fn tries_are_counted() {
        for (shown, tried, expected) in [
            (1, 1, "once more, in new sessions"),
            (3, 3, "3 of 3 times, in new sessions"),
            (1, 3, "1 of 3 times (flaky), in new sessions"),
            (0, 1, "not in new sessions"),
            (0, 3, "0 of 3 times, in new sessions"),
            (0, 0, "not tried again: nothing is known that could be tried"),
        ] {
            assert_eq!(Confirmation::of(shown, tried).sentence(PLACE), expected);
        }
        let sentence = Confirmation::of_try(Err(late())).sentence(PLACE);
        assert_eq!(sentence, "not tried again: the time of 5 s ended");
    }

    #[test]
    fn only_faults_that_are_seen_again_keep_their_level() {
        use RequirementLevel::{Must, Should};
        for (confirmation, given, level, doubt, evidence) in [
            (Confirmation::of(1, 1), Must, Must, None, "once more, in new sessions"),
            (Confirmation::of(1, 2), Must, Must, None, "1 of 2 times (flaky), in new sessions"),
            (Confirmation::of(1, 1), Should, Should, None, "once more, in new sessions"),
            (Confirmation::of(0, 1), Must, Should, Some(Doubt::NeverAgain), "not in new sessions, so it is a warning"),
            (Confirmation::of(0, 1), Should, Should, Some(Doubt::NeverAgain), "not in new sessions"),
            (
                Confirmation::NotJudged(late()),
                Must,
                Should,
                None,
                "not tried again: the time of 5 s ended, so it is a warning",
            ),
        ] {
            let weighed = confirmation.weigh(Finding { level: given, ..found() }, PLACE);
            let reproduction = weighed.reproduction.unwrap();
            assert_eq!((weighed.level, reproduction.doubt), (level, doubt), "{confirmation:?}");
            assert_eq!(json!(weighed.evidence), json!([["reproduced", evidence]]));
        }
    }

    #[test]
    fn reports_show_the_outcome_however_much_evidence_there_is() {
        for (given, at) in [(0, 0), (2, 2), (3, 3), (7, 3)] {
            let found = (0..given).fold(found(), |found, number| found.with_evidence("size", number.to_string()));
            let weighed = Confirmation::of(1, 1).weigh(found, PLACE);
            assert_eq!(weighed.evidence.iter().position(|(name, _)| name == "reproduced"), Some(at), "{given}");
            assert_eq!(weighed.evidence.len(), given + 1);
        }
    }

    #[test]
    fn a_check_ends_with_a_finding_only_if_it_proves_something() {
        let nothing = || SeenOnce::ProvesNothing("it was seen once".to_owned());
        let control = || Confirmation::ControlFailed("the control differs".to_owned());
        for (confirmation, once, outcome, reason) in [
            (Confirmation::of(1, 1), SeenOnce::Warns, Outcome::Failed, None),
            (Confirmation::of(1, 1), nothing(), Outcome::Failed, None),
            (Confirmation::of(1, 3), nothing(), Outcome::Failed, None),
            (Confirmation::of(0, 1), SeenOnce::Warns, Outcome::Warned, None),
            (Confirmation::of(0, 1), nothing(), Outcome::Inconclusive, Some("it was seen once")),
            (Confirmation::NotJudged(late()), SeenOnce::Warns, Outcome::Warned, None),
            (Confirmation::NotJudged(late()), nothing(), Outcome::Inconclusive, Some("the time of 5 s ended")),
            (control(), SeenOnce::Warns, Outcome::Inconclusive, Some("the control differs")),
            (control(), nothing(), Outcome::Inconclusive, Some("the control differs")),
        ] {
            let text = format!("{confirmation:?} {once:?}");
            let result = confirmation.conclude(found(), PLACE, once).into_result();
            assert_eq!(result.outcome, outcome, "{text}");
            assert_eq!(result.reason.map(|reason| reason.to_string()).as_deref(), reason, "{text}");
        }
    }
}
