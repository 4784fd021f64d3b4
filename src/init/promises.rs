//! What the first run of a suite showed of a server, so that the suite asks for it from then on.
//!
//! The specification only recommends it, or leaves it to servers, so without the run it would be a warning.

use serde_json::{Value, json};

use crate::event::Outcome;

/// The attacks, and the time for those of one kind on one tool: a server that hangs is given time to come back, twice.
const PACKS: [&str; 5] = ["exhaustion", "injection", "path-traversal", "secrets", "ssrf"];
const ATTACK_TIME: &str = "3m";

/// The checks of slow calls that a server may pass: the word of the suite, and the name of the case.
const SLOW_CALLS: [(&str, &str); 3] = [
    ("cancellation", "timeouts: cancellation"),
    ("other_calls", "timeouts: other calls"),
    ("shutdown", "timeouts: shutdown"),
];

/// The beginning of the names of cases that give a server addresses of its own machine.
const ADDRESSES: &str = "security: addresses of this machine: ";

/// What a server did without having to.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Promises {
    slow_calls: Vec<&'static str>,
    /// It fetched nothing from its own machine.
    forbids_loopback: bool,
}

impl Promises {
    /// What a run showed, whose cases had these names and outcomes.
    pub(crate) fn of(cases: &[(String, Outcome)]) -> Self {
        let passed = |name: &str| cases.iter().any(|(case, outcome)| case == name && *outcome == Outcome::Passed);
        let mut fetches = cases.iter().filter(|(case, _)| case.starts_with(ADDRESSES)).map(|(_, outcome)| *outcome);
        let is_clean = |outcome| matches!(outcome, Outcome::Passed | Outcome::Skipped);
        Self {
            slow_calls: SLOW_CALLS.iter().filter(|(_, case)| passed(case)).map(|(word, _)| *word).collect(),
            forbids_loopback: fetches.clone().any(|outcome| outcome == Outcome::Passed) && fetches.all(is_clean),
        }
    }

    /// The attacks; those that can end a server, or make it ask others, only on one that is `started` for the suite.
    pub(crate) fn security(&self, started: bool) -> Value {
        if !started {
            return json!({});
        }
        let mut settings = json!({"packs": PACKS, "time": ATTACK_TIME});
        if self.forbids_loopback {
            settings["forbid_loopback"] = true.into();
        }
        settings
    }

    pub(crate) fn timeouts(&self) -> Value {
        if self.slow_calls.is_empty() { json!({}) } else { json!({"fails": self.slow_calls}) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_runs_for_others_gets_no_attack_that_may_end_it() {
        let promises = Promises { forbids_loopback: true, ..Promises::default() };
        assert_eq!(promises.security(false), json!({}));
        assert_eq!(promises.security(true)["forbid_loopback"], true);
        assert!(Promises::default().security(true).get("forbid_loopback").is_none());
    }

    #[test]
    fn only_what_passed_is_asked_for() {
        use Outcome::{Inconclusive, Passed, Skipped, Warned};
        let [cancellation, other_calls, shutdown] = SLOW_CALLS.map(|(_, case)| case);
        let (fetch, resources) = (&format!("{ADDRESSES}fetch"), &format!("{ADDRESSES}resources"));
        for (cases, slow_calls, forbids_loopback) in [
            (&[][..], &[][..], false),
            (&[(cancellation, Passed), (other_calls, Warned)], &["cancellation"], false),
            (&[(shutdown, Passed), (cancellation, Passed)], &["cancellation", "shutdown"], false),
            (&[(cancellation, Skipped), (other_calls, Inconclusive)], &[], false),
            (&[(fetch, Passed), (resources, Skipped)], &[], true),
            (&[(fetch, Passed), (resources, Warned)], &[], false),
            (&[(fetch, Skipped)], &[], false),
        ] {
            let cases: Vec<(String, Outcome)> =
                cases.iter().map(|(case, outcome)| ((*case).to_owned(), *outcome)).collect();
            let expected = Promises { slow_calls: slow_calls.to_vec(), forbids_loopback };
            assert_eq!(Promises::of(&cases), expected, "{cases:?}");
        }
    }
}
