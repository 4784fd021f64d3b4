//! The cases of a campaign: one fault at a call of a tool, or several at calls in a row, whose smallest set is found.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::Campaign;
use super::clean::CleanStates;
use super::effect::{EffectCount, ExpectedEffect, ToolNature};
use super::fault_kind::FaultKind;
use super::log::{CampaignRow, CampaignVerdict};
use super::reproduction_test;
use super::subject::CampaignSubject;
use super::trial::{CampaignTrial, StruckEnd, StruckRun};
use crate::check::evidence::finding_with_help;
use crate::check::{CheckEnd, Confirmation};
use crate::event::{CheckResult, Finding, Outcome, Reason, Severity};
use crate::generate::Rng;
use crate::plan::{BoxFuture, Check, CheckContext};
use crate::reproduce::SlowDdmin;
use crate::source::duration_text;
use crate::suite::{ServerKind, Suite};

/// The number of characters of a value that are shown.
const SHOWN: usize = 200;

/// A tool, and the faults that strike calls of it.
#[derive(Debug)]
pub(crate) struct CampaignCheck {
    pub(crate) campaign: Arc<Campaign>,
    pub(crate) subject: Arc<CampaignSubject>,
    pub(crate) faults: CampaignFaults,
    /// The place of the case in the campaign.
    pub(crate) order: usize,
}

/// The faults of a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CampaignFaults {
    /// One call is struck.
    One(FaultKind),
    /// Calls in a row are struck, by each of these in turn.
    InTurn(Vec<FaultKind>),
    /// Calls in a row are struck, by faults drawn from these, so often.
    Drawn { from: Vec<FaultKind>, times: usize },
}

impl CampaignFaults {
    /// The words in the name of a case.
    pub(crate) fn text(&self) -> &'static str {
        match self {
            Self::One(kind) => kind.as_str(),
            Self::InTurn(_) => "only reads",
            Self::Drawn { .. } => "together",
        }
    }

    /// One of them kills the server.
    fn kill(&self) -> bool {
        match self {
            Self::One(kind) => kind.kills(),
            Self::InTurn(kinds) | Self::Drawn { from: kinds, .. } => kinds.iter().any(|kind| kind.kills()),
        }
    }

    /// Those that kill no server; `None` where none is left.
    fn without_kills(&self) -> Option<Self> {
        let left =
            |kinds: &[FaultKind]| -> Vec<FaultKind> { kinds.iter().copied().filter(|kind| !kind.kills()).collect() };
        let left = match self {
            Self::One(kind) => return (!kind.kills()).then(|| self.clone()),
            Self::InTurn(kinds) => Self::InTurn(left(kinds)),
            Self::Drawn { from, times } => Self::Drawn { from: left(from), times: *times },
        };
        let (Self::InTurn(kinds) | Self::Drawn { from: kinds, .. }) = &left else { return Some(left) };
        (!kinds.is_empty()).then_some(left)
    }

    /// Those that say something about a server whose data outlives it, or does not, or of which nobody can tell.
    fn fit_for(&self, outlives: Result<bool, CheckEnd>, tool: &str) -> Result<Self, CheckEnd> {
        if let Ok(true) = outlives {
            return Ok(self.clone());
        }
        if let Some(left) = self.without_kills() {
            return Ok(left);
        }
        outlives?;
        Err(CheckEnd::not_applicable(format!(
            "what `{tool}` writes ends with its server, so nothing can be expected of it after a kill; say `durable: true` \
             if it has to outlive the server"
        )))
    }

    /// So many sets of them in words, each of `together` faults where they are drawn.
    fn sets_text(&self, sets: usize, together: usize) -> String {
        match self {
            Self::One(kind) => format!("`{}`", kind.as_str()),
            Self::InTurn(kinds) => list(kinds),
            Self::Drawn { .. } => format!("{sets} sets of {together} faults"),
        }
    }

    /// The sets of faults to try.
    fn sets(&self, campaign: &Campaign, tool: &str) -> Vec<Vec<FaultKind>> {
        match self {
            Self::One(kind) => vec![vec![*kind]],
            Self::InTurn(kinds) => vec![kinds.clone()],
            Self::Drawn { from, times } => {
                let mut rng = Rng::new(campaign.seed).fork(tool);
                let mut draw = || (0..campaign.together).map(|_| from[rng.below(from.len())]).collect();
                (0..*times).map(|_| draw()).collect()
            }
        }
    }
}

impl Check for CampaignCheck {
    fn run<'a>(&'a self, context: CheckContext<'a>) -> BoxFuture<'a, CheckResult> {
        Box::pin(async move {
            // Processes may have one store.
            let turn = self.campaign.log.turn(&context.suite.file, context.server_name);
            let _turn = if is_process(context.suite, context.server_name) { Some(turn.lock().await) } else { None };
            let mut trial = CampaignTrial::new(&context, &self.campaign, &self.subject);
            let mut tried = CampaignTried::default();
            let verdict = self.judge(&mut trial, &mut tried).await;
            let result = trial.run.into_result(verdict);
            self.campaign.log.add(CampaignRow {
                file: context.suite.file.clone(),
                server: context.server_name.to_owned(),
                revision: result.protocol_revision.clone(),
                order: self.order,
                tool: self.subject.tool.clone(),
                fault: self.faults.text().to_owned(),
                verdict: CampaignVerdict::of(&result),
                effect: tried.effect,
                recovered: tried.recovered,
                test: tried.test.map(|test| test_of_server(test, &context)),
            });
            result
        })
    }

    fn may_damage_store(&self) -> bool {
        true
    }
}

/// A test without secrets, and with the name of its server where the suite has several.
fn test_of_server(test: Value, context: &CheckContext<'_>) -> Value {
    let mut test = context.machine.neutral(test);
    if context.suite.servers.len() > 1 {
        let name = test["name"].as_str().unwrap_or_default();
        test["name"] = format!("{name}, at {}", context.server_name).into();
        test["server"] = context.server_name.into();
    }
    test
}

/// The row of a case in the table.
#[derive(Debug, Default)]
struct CampaignTried {
    effect: Option<EffectCount>,
    recovered: Vec<Duration>,
    test: Option<Value>,
}

impl CampaignTried {
    fn note(&mut self, end: &StruckEnd) {
        self.effect = None;
        if let StruckEnd::Read(run) = end {
            self.effect = Some(run.count);
            self.recovered.extend(run.recovered);
        }
    }
}

/// Faults that have broken the server, and its end.
struct BrokenBy {
    set: Vec<FaultKind>,
    end: StruckEnd,
}

impl CampaignCheck {
    async fn judge(&self, trial: &mut CampaignTrial<'_>, tried: &mut CampaignTried) -> Result<CheckResult, CheckEnd> {
        let clean = trial.clean().await?;
        let sets = self.usable(trial, clean).await?.sets(&self.campaign, &self.subject.tool);
        let count = sets.len();
        for set in sets {
            let end = trial.strike(&set, clean).await?;
            tried.note(&end);
            if end.is_broken() {
                return self.report_broken(trial, tried, clean, BrokenBy { set, end }).await;
            }
        }
        let note = match tried.recovered.iter().max() {
            Some(slowest) => format!(
                "{} after {}, answered again after {}",
                effect_text(self.subject.nature, tried.effect),
                self.faults.sets_text(count, self.campaign.together),
                duration_text(*slowest)
            ),
            None => format!(
                "{} after {}",
                effect_text(self.subject.nature, tried.effect),
                self.faults.sets_text(count, self.campaign.together)
            ),
        };
        Ok(CheckResult { reason: Some(Reason::Measured(note)), ..CheckResult::new(Outcome::Passed) })
    }

    /// The faults that say something about this server: after a kill, nothing can be expected of data that ends with it.
    async fn usable(&self, trial: &mut CampaignTrial<'_>, clean: &CleanStates) -> Result<CampaignFaults, CheckEnd> {
        if !self.faults.kill() {
            return Ok(self.faults.clone());
        }
        let outlives = trial.outlives_server(clean).await;
        self.faults.fit_for(outlives, &self.subject.tool)
    }

    /// The smallest set that still breaks the server, tried once more, as a finding and as a test.
    async fn report_broken(
        &self,
        trial: &mut CampaignTrial<'_>,
        tried: &mut CampaignTried,
        clean: &CleanStates,
        BrokenBy { set, end: first }: BrokenBy,
    ) -> Result<CheckResult, CheckEnd> {
        let drawn = set.len();
        let (set, mut end) = match first {
            // It cannot be tried again.
            StruckEnd::Silent(silent) if silent.is_final => (set, StruckEnd::Silent(silent)),
            StruckEnd::Read(_) | StruckEnd::Silent(_) => self.confirm(trial, tried, clean, set).await?,
        };
        let mut found = match &end {
            StruckEnd::Read(run) => self.finding(trial, clean, &set, run),
            StruckEnd::Silent(silent) => silent.found.clone(),
        };
        if drawn > set.len() {
            found = found.with_evidence("smallest set", format!("{} of {drawn} faults", set.len()));
        }
        found.severity = Some(Severity::High);
        tried.test = reproduction_test::build(trial, clean, &set, &end);
        let exchanges = match &mut end {
            StruckEnd::Read(run) => std::mem::take(&mut run.exchanges),
            StruckEnd::Silent(silent) => std::mem::take(&mut silent.exchanges),
        };
        let exchange = exchanges.len().checked_sub(1);
        Ok(CheckResult {
            exchanges,
            ..CheckResult::with_findings(Outcome::Failed, vec![Finding { exchange, ..found }])
        })
    }

    /// The smallest set of faults that breaks the server, tried once more beside calls without faults.
    async fn confirm(
        &self,
        trial: &mut CampaignTrial<'_>,
        tried: &mut CampaignTried,
        clean: &CleanStates,
        set: Vec<FaultKind>,
    ) -> Result<(Vec<FaultKind>, StruckEnd), CheckEnd> {
        let set = smallest(trial, clean, set).await?;
        if let (CampaignFaults::Drawn { .. }, [kind]) = (&self.faults, set.as_slice()) {
            let why = format!("`{}` alone is enough to break it, and has a case of its own", kind.as_str());
            return Err(CheckEnd::inconclusive(why));
        }
        let end = trial.strike(&set, clean).await?;
        tried.note(&end);
        if !Confirmation::of_try(Ok(end.is_broken())).is_seen_again() {
            let why = format!("{} broke the server once, and did not when it was tried again", list(&set));
            return Err(CheckEnd::inconclusive(why));
        }
        for is_last in [false, true] {
            let control = trial.clean_run().await?;
            if clean.is_confirmed_by(&control) {
                break;
            }
            // Data that outlives the server may still have the damage in it, which the first call undoes.
            if is_last || !end.is_of_changes() {
                let why = format!("calls of `{}` without faults do not show the same each time", self.subject.tool);
                return Err(CheckEnd::inconclusive(why));
            }
        }
        Ok((set, end))
    }

    fn finding(&self, trial: &CampaignTrial<'_>, clean: &CleanStates, set: &[FaultKind], run: &StruckRun) -> Finding {
        let wrong = WrongEffect {
            tool: &self.subject.tool,
            nature: self.subject.nature,
            faults: list(set),
            is_repeated: trial.is_repeated(set),
            is_confirmed: run.is_confirmed,
            expected: run.expected,
            count: run.count,
        };
        if run.is_sound {
            return wrong.not_recovered().with_evidence("injected", run.strikes.join("\n"));
        }
        let mut found = wrong.finding().with_evidence("injected", run.strikes.join("\n"));
        if let Some(difference) = run.compared.differences(&run.state, run.expected).into_iter().next() {
            found = found
                .with_evidence("place", difference.place())
                .with_evidence("without faults", difference.expected.text(SHOWN))
                .with_evidence("with faults", difference.actual_text(SHOWN));
        }
        if run.compared.is_of_changes() {
            let compared = "changes since the beginning of the session, because data outlives the server";
            found = found.with_evidence("compared", compared);
        }
        if self.subject.nature == ToolNature::Idempotent && clean.repeats {
            found = found.with_evidence("control", "the same call twice changes the state twice without faults, too");
        }
        found.with_evidence("seed", self.campaign.seed.to_string())
    }
}

/// An effect that shows more or less often than it may.
struct WrongEffect<'a> {
    tool: &'a str,
    nature: ToolNature,
    /// The faults, in words.
    faults: String,
    /// The client made the call once more after the faults.
    is_repeated: bool,
    /// The server had answered the call with a success before it was killed.
    is_confirmed: bool,
    expected: ExpectedEffect,
    count: EffectCount,
}

impl WrongEffect<'_> {
    fn not_recovered(&self) -> Finding {
        let Self { tool, faults, .. } = self;
        finding_with_help(
            "not-recovered",
            format!("after {faults} `{tool}` is not answered any more, although the faults have ended"),
            "the server goes on failing after the fault: look at what it waits for",
        )
    }

    fn finding(&self) -> Finding {
        let Self { tool, faults, count, .. } = self;
        let once_more = if self.is_repeated { " and the same call once more" } else { "" };
        match (self.expected, count) {
            (ExpectedEffect::Never, _) => finding_with_help(
                "read-only-tool-writes",
                format!("`{tool}` only reads, but {faults}{once_more} changed what reading shows"),
                "say `readOnlyHint: false`, or change nothing: clients repeat reads without asking",
            ),
            (_, EffectCount::Times(0)) => {
                let confirmed = if self.is_confirmed { ", although the server had confirmed the call" } else { "" };
                finding_with_help(
                    "effect-lost",
                    format!("the effect of `{tool}` is missing after {faults}{once_more}{confirmed}"),
                    "confirm a call once its effect is in the store, and do not take it for done before",
                )
            }
            (_, EffectCount::Times(times)) if *times > 1 => {
                let is_there = format!("is there {} after {faults}{once_more}", count.text());
                let message = if self.nature == ToolNature::Idempotent {
                    format!("`{tool}` says `idempotentHint: true`, but its effect {is_there}")
                } else {
                    format!("the effect of `{tool}` {is_there}")
                };
                let help = "recognise a repeated call, by a key in its arguments or by what is there already, or say \
                            `idempotentHint: false`: clients repeat calls after a lost answer";
                finding_with_help("effect-repeated", message, help)
            }
            (_, EffectCount::Times(_) | EffectCount::Other) => finding_with_help(
                "effect-torn",
                format!(
                    "after {faults}{once_more} the state is neither that before a call of `{tool}` nor that after one"
                ),
                "make all changes of a call in one step, such as a transaction, and undo those of a call that ends early",
            ),
        }
    }
}

/// The effect of the calls of a case that holds, in words.
fn effect_text(nature: ToolNature, effect: Option<EffectCount>) -> String {
    match effect {
        Some(EffectCount::Times(0)) if nature != ToolNature::Reads => "the effect is not there".to_owned(),
        Some(effect) if nature != ToolNature::Reads => format!("the effect is there {}", effect.text()),
        Some(_) | None => "nothing has changed".to_owned(),
    }
}

/// The smallest set of faults in which one of that set breaks the server.
async fn smallest(
    trial: &mut CampaignTrial<'_>,
    clean: &CleanStates,
    set: Vec<FaultKind>,
) -> Result<Vec<FaultKind>, CheckEnd> {
    let mut search = SlowDdmin::new(set);
    while let Some(rest) = search.next_part() {
        search.answer(if rest.is_empty() { false } else { trial.strike(&rest, clean).await?.is_broken() });
    }
    Ok(search.smallest())
}

/// Faults in words: the same ones in a row are counted.
fn list(kinds: &[FaultKind]) -> String {
    let runs = kinds.chunk_by(|one, other| one == other).map(|run| match run {
        [one] => format!("`{}`", one.as_str()),
        [one, ..] => format!("{} × `{}`", run.len(), one.as_str()),
        [] => String::new(),
    });
    let names: Vec<String> = runs.collect();
    match names.as_slice() {
        [] => "no fault".to_owned(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// The server is a process that is started here.
pub(crate) fn is_process(suite: &Suite, server: &str) -> bool {
    suite.servers.get(server).is_some_and(|server| match &server.kind {
        ServerKind::Command(_) => true,
        ServerKind::Url(http) => http.command.is_some(),
        ServerKind::Builtin(_) => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::tests::read_suite;
    use crate::check::tests::settings;
    use crate::source::Sources;

    #[test]
    fn wrong_effects_are_reported_by_their_number() {
        use EffectCount::{Other, Times};
        use ExpectedEffect::{AtMostOnce, Never, Once};
        use ToolNature::{Idempotent, Plain, Reads};
        for (nature, expected, count, code, says) in [
            (Reads, Never, Times(0), "read-only-tool-writes", "`add` only reads, but `kill` changed"),
            (
                Plain,
                Once,
                Times(0),
                "effect-lost",
                "is missing after `kill`, although the server had confirmed the call",
            ),
            (Plain, AtMostOnce, Times(2), "effect-repeated", "the effect of `add` is there twice after `kill`"),
            (
                Idempotent,
                Once,
                Times(3),
                "effect-repeated",
                "`add` says `idempotentHint: true`, but its effect is there 3 times",
            ),
            (Plain, Once, Other, "effect-torn", "neither that before a call of `add` nor that after one"),
            (Plain, Never, Other, "read-only-tool-writes", "changed what reading shows"),
        ] {
            let (is_repeated, is_confirmed, faults) = (false, true, "`kill`".to_owned());
            let wrong = WrongEffect { tool: "add", nature, faults, is_repeated, is_confirmed, expected, count };
            let found = wrong.finding();
            assert!(found.code.as_str() == code && found.message.contains(says), "{} {}", found.code, found.message);
            assert_eq!(wrong.not_recovered().code.as_str(), "not-recovered");
        }
    }

    #[test]
    fn effects_that_hold_are_put_in_words() {
        for (nature, effect, expected) in [
            (ToolNature::Plain, Some(EffectCount::Times(0)), "the effect is not there"),
            (ToolNature::Plain, Some(EffectCount::Times(1)), "the effect is there once"),
            (ToolNature::Idempotent, Some(EffectCount::Times(1)), "the effect is there once"),
            (ToolNature::Reads, Some(EffectCount::Times(0)), "nothing has changed"),
            (ToolNature::Plain, None, "nothing has changed"),
        ] {
            assert_eq!(effect_text(nature, effect), expected);
        }
    }

    #[test]
    fn faults_in_a_row_are_counted() {
        use FaultKind::{Error, Kill};
        for (kinds, expected) in [
            (&[][..], "no fault"),
            (&[Kill], "`kill`"),
            (&[Kill, Kill], "2 × `kill`"),
            (&[Error, Kill, Kill, Error], "`error`, 2 × `kill` and `error`"),
        ] {
            assert_eq!(list(kinds), expected);
        }
    }

    #[test]
    fn kills_are_left_out_where_data_ends_with_the_server() {
        use FaultKind::{Error, Kill, KillAtWork};
        let drawn = |from: &[FaultKind]| CampaignFaults::Drawn { from: from.to_vec(), times: 4 };
        for (faults, has_kills, without) in [
            (CampaignFaults::One(Error), false, Some(CampaignFaults::One(Error))),
            (CampaignFaults::One(Kill), true, None),
            (CampaignFaults::InTurn(vec![Kill, Error]), true, Some(CampaignFaults::InTurn(vec![Error]))),
            (CampaignFaults::InTurn(vec![KillAtWork]), true, None),
            (drawn(&[Error, Kill]), true, Some(drawn(&[Error]))),
            (drawn(&[Kill]), true, None),
        ] {
            assert_eq!((faults.kill(), faults.without_kills()), (has_kills, without), "{faults:?}");
        }
    }

    #[test]
    fn kills_say_something_only_where_data_is_known_to_outlive_the_server() {
        use FaultKind::{Error, Kill};
        let unclear = || Err(CheckEnd::inconclusive("the server begins elsewhere"));
        let (both, error) = (CampaignFaults::InTurn(vec![Kill, Error]), CampaignFaults::InTurn(vec![Error]));
        let one = CampaignFaults::One(Kill);
        for (faults, outlives, expected) in [
            (&one, Ok(true), Ok(&one)),
            (&one, Ok(false), Err((Outcome::Skipped, "what `add` writes ends with its server"))),
            (&one, unclear(), Err((Outcome::Inconclusive, "the server begins elsewhere"))),
            (&both, Ok(true), Ok(&both)),
            (&both, Ok(false), Ok(&error)),
            (&both, unclear(), Ok(&error)),
        ] {
            let text = format!("{faults:?} {outlives:?}");
            let actual = faults.fit_for(outlives, "add").map_err(|end| (end.sentence(), end.into_result().outcome));
            match (actual, expected) {
                (Ok(actual), Ok(expected)) => assert_eq!(actual, *expected, "{text}"),
                (Err((sentence, actual)), Err((outcome, says))) => {
                    assert!(actual == outcome && sentence.contains(says), "{text}: {sentence}");
                }
                (actual, _) => panic!("{text}: {actual:?}"),
            }
        }
    }

    #[test]
    fn sets_are_drawn_by_the_seed_and_the_tool() {
        let campaign = |seed: u64| settings::<Campaign>(&format!("{{ seed: {seed}, together: 5 }}"));
        let drawn = CampaignFaults::Drawn { from: FaultKind::ALL.to_vec(), times: 4 };
        let sets = drawn.sets(&campaign(1), "add");
        assert!(sets.len() == 4 && sets.iter().all(|set| set.len() == 5), "{sets:?}");
        assert_eq!(sets, drawn.sets(&campaign(1), "add"));
        assert_ne!(sets, drawn.sets(&campaign(2), "add"));
        // Another tool is struck in another way.
        assert_ne!(sets, drawn.sets(&campaign(1), "remove"));
        let in_turn = CampaignFaults::InTurn(vec![FaultKind::Error, FaultKind::Kill]);
        assert_eq!(in_turn.sets(&campaign(1), "add"), [[FaultKind::Error, FaultKind::Kill]]);
        for (faults, expected) in [
            (drawn, "4 sets of 5 faults"),
            (in_turn, "`error` and `kill`"),
            (CampaignFaults::One(FaultKind::Kill), "`kill`"),
        ] {
            assert_eq!(faults.sets_text(4, 5), expected);
        }
    }

    #[test]
    fn a_finding_says_what_the_client_did_and_was_told() {
        let wrong = |is_repeated, is_confirmed, count| WrongEffect {
            tool: "add",
            nature: ToolNature::Idempotent,
            faults: "`kill`".to_owned(),
            is_repeated,
            is_confirmed,
            expected: ExpectedEffect::Once,
            count,
        };
        for (is_repeated, is_confirmed, count, message) in [
            (false, false, EffectCount::Times(0), "the effect of `add` is missing after `kill`"),
            (
                true,
                false,
                EffectCount::Times(0),
                "the effect of `add` is missing after `kill` and the same call once more",
            ),
            (
                false,
                true,
                EffectCount::Times(0),
                "the effect of `add` is missing after `kill`, although the server had confirmed the call",
            ),
            (
                true,
                false,
                EffectCount::Times(2),
                "`add` says `idempotentHint: true`, but its effect is there twice after `kill` and the same call once more",
            ),
            (
                false,
                false,
                EffectCount::Other,
                "after `kill` the state is neither that before a call of `add` nor that after one",
            ),
        ] {
            assert_eq!(wrong(is_repeated, is_confirmed, count).finding().message, message);
        }
    }

    #[test]
    fn processes_are_those_that_a_suite_starts() {
        for (server, expected) in [
            ("{ command: [node, server.js] }", true),
            ("{ url: \"http://localhost:8000/mcp\" }", false),
            ("{ url: \"http://localhost:8000/mcp\", command: [node, server.js] }", true),
        ] {
            let suite = format!("{{ suite: s, server: {server}, campaign: true }}");
            let read = read_suite(&suite, &[], &mut Sources::default()).unwrap();
            assert_eq!(is_process(&read.suite, "server"), expected, "{server}");
            assert!(!is_process(&read.suite, "another"), "{server}");
        }
    }
}
