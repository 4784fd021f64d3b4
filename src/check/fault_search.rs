//! A fault that one round of a check has shown is looked for again: with all of what may cause it, then with ever less.

use super::{CheckEnd, CheckLimits, Confirmation};

/// Says how much of the cause to try next, and what the tries have shown; who looks tries it.
#[derive(Debug)]
pub(crate) struct FaultSearch {
    limits: CheckLimits,
    /// The number of tries with so much of it.
    tries: usize,
    tried: usize,
    /// The amount of it that is tried; `None` once nothing more is to be learned.
    amount: Option<usize>,
    /// The least that has shown the fault.
    smallest: usize,
    /// Less is not tried.
    least: usize,
    tries_with_less: usize,
    /// The outcome of the tries with all of it.
    confirmation: Option<Confirmation>,
}

impl FaultSearch {
    /// So many tries at most with so much of the cause.
    pub(crate) fn new(limits: &CheckLimits, tries: usize, amount: usize) -> Self {
        Self {
            limits: limits.clone(),
            tries,
            tried: 0,
            amount: Some(amount),
            smallest: amount,
            least: amount,
            tries_with_less: 0,
            confirmation: None,
        }
    }

    /// If it is seen again, looks for it with half as much, and so on down to `least`.
    pub(crate) fn down_to(self, least: usize, tries_with_less: usize) -> Self {
        Self { least, tries_with_less, ..self }
    }

    /// The amount of the cause to try now; `None` at the end of the search, or of the check.
    pub(crate) fn next(&self) -> Option<usize> {
        self.amount.filter(|_| !self.limits.is_over())
    }

    /// Takes note of a try: the fault showed or not, or the check ended.
    pub(crate) fn note(&mut self, shows: Result<bool, CheckEnd>) {
        let Some(amount) = self.amount else { return };
        self.tried += 1;
        match shows {
            Ok(false) if self.tried < self.tries => {}
            Ok(true) => {
                self.confirmation.get_or_insert(Confirmation::of(1, self.tried));
                self.smallest = amount;
                self.amount = Some((amount / 2).max(self.least)).filter(|less| *less < amount);
                (self.tries, self.tried) = (self.tries_with_less, 0);
            }
            not_shown => {
                let outcome = not_shown.map_or_else(Confirmation::NotJudged, |_| Confirmation::of(0, self.tried));
                self.confirmation.get_or_insert(outcome);
                self.amount = None;
            }
        }
    }

    /// The outcome, and the smallest amount that shows the fault.
    pub(crate) fn finish(self) -> (Confirmation, usize) {
        let ended = || Confirmation::NotJudged(self.limits.out_of_time());
        (self.confirmation.unwrap_or_else(ended), self.smallest)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// The amounts that are tried of 16, with tries that show the fault (`+`), do not (`-`), or end the check (`!`); and
    /// the outcome.
    fn search(mut search: FaultSearch, shows: &str) -> String {
        let mut tried = Vec::new();
        for shows in shows.chars() {
            let Some(amount) = search.next() else { break };
            tried.push(amount);
            search.note(if shows == '!' { Err(CheckEnd::inconclusive("it is gone")) } else { Ok(shows == '+') });
        }
        assert_eq!(search.next(), None, "{shows}");
        let (confirmation, smallest) = search.finish();
        format!("{tried:?}: {}, {smallest}", confirmation.sentence("again"))
    }

    #[test]
    fn what_is_seen_again_is_looked_for_with_less() {
        let limits = CheckLimits::none();
        for (shows, expected) in [
            ("+++++", "[16, 8, 4, 3]: once more, again, 3"),
            ("--++--", "[16, 16, 16, 8, 4, 4]: 1 of 3 times (flaky), again, 8"),
            ("+-+--", "[16, 8, 8, 4, 4]: once more, again, 8"),
            ("+!", "[16, 8]: once more, again, 16"),
            ("---", "[16, 16, 16]: 0 of 3 times, again, 16"),
            ("-!", "[16, 16]: not tried again: it is gone, 16"),
        ] {
            assert_eq!(search(FaultSearch::new(&limits, 3, 16).down_to(3, 2), shows), expected, "{shows}");
        }
        assert_eq!(search(FaultSearch::new(&limits, 3, 16), "-+"), "[16, 16]: 1 of 2 times (flaky), again, 16");
    }

    #[test]
    fn a_search_ends_with_the_time_of_the_check() {
        let over = CheckLimits::new(Duration::ZERO, "raise `time`");
        let outcome = search(FaultSearch::new(&over, 3, 16), "+");
        assert!(outcome.starts_with("[]: not tried again: the time of"), "{outcome}");
    }
}
