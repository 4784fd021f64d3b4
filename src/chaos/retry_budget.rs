//! A budget of retries: while many attempts fail, calls are not made again, since retries would add to the load.

/// The throttle of gRPC, with the figures of its example (proposal A6, "Retry throttling"): a failed attempt takes a
/// token, a good one gives a tenth of a token back, and calls are made again while more than half of the tokens are left.
#[derive(Debug)]
pub(crate) struct RetryBudget {
    /// Tenths of a token.
    tenths: u32,
}

/// The tokens at the start, which are the most, in tenths.
const FULL: u32 = 100;
/// The cost of a failed attempt, in tenths.
const COST: u32 = 10;

impl Default for RetryBudget {
    fn default() -> Self {
        Self { tenths: FULL }
    }
}

impl RetryBudget {
    /// A failed call may be made again.
    pub(crate) fn allows_retry(&self) -> bool {
        self.tenths * 2 > FULL
    }

    pub(crate) fn note(&mut self, is_good: bool) {
        self.tenths = if is_good { (self.tenths + 1).min(FULL) } else { self.tenths.saturating_sub(COST) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_spent_and_earned_again() {
        let mut budget = RetryBudget::default();
        let spent = (0..20).take_while(|_| {
            let allows = budget.allows_retry();
            budget.note(false);
            allows
        });
        assert_eq!(spent.count(), 5);
        let earned = (0..200).take_while(|_| {
            budget.note(true);
            !budget.allows_retry()
        });
        assert_eq!(earned.count(), 10);
    }
}
