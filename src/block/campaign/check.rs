//! The cases of a campaign: one fault at a call of a tool, or several at calls in a row, whose smallest set is found.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::Campaign;
use super::clean::{CleanStates, EffectCount, ExpectedEffect};
use super::fault_kind::FaultKind;
use super::log::{CampaignRow, CampaignVerdict};
use super::subject::{CampaignSubject, ToolNature};
use super::trial::{CampaignTrial, StruckEnd, StruckRun, TrialEnd};
use super::written;
use crate::event::{CheckResult, Finding, Outcome, Reason, Severity};
use crate::generate::Rng;
use crate::plan::{BoxFuture, Check, CheckContext};
use crate::reproduce::{ddmin, next_question};
use crate::source::duration_text;
use crate::suite::{Suite, Target};

/// How much of a value is shown, in characters.
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

    /// Whether one of them kills the server.
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
            let result = trial.result(verdict);
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
                test: tried.test.map(|test| on_server(test, &context)),
            });
            result
        })
    }
}

/// A test without secrets, and with the name of its server where the suite has several.
fn on_server(test: Value, context: &CheckContext<'_>) -> Value {
    let mut test = (context.neutral)(test);
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

/// Faults that have broken the server, and how it ended.
struct BrokenBy {
    set: Vec<FaultKind>,
    end: StruckEnd,
}

impl CampaignCheck {
    async fn judge(&self, trial: &mut CampaignTrial<'_>, tried: &mut CampaignTried) -> Result<CheckResult, TrialEnd> {
        let clean = trial.clean().await?;
        let sets = self.usable(trial, clean).await?.sets(&self.campaign, &self.subject.tool);
        let count = sets.len();
        for set in sets {
            let end = trial.strike(&set, clean).await?;
            tried.note(&end);
            if end.is_broken() {
                return self.broken(trial, tried, clean, BrokenBy { set, end }).await;
            }
        }
        let note = match tried.recovered.iter().max() {
            Some(slowest) => format!(
                "{} after {}, answered again after {}",
                self.told(tried),
                self.struck(count),
                duration_text(*slowest)
            ),
            None => format!("{} after {}", self.told(tried), self.struck(count)),
        };
        Ok(CheckResult { reason: Some(Reason::Measured(note)), ..CheckResult::new(Outcome::Passed) })
    }

    /// The faults that say something about this server: after a kill, nothing can be expected of data that ends with it.
    async fn usable(&self, trial: &mut CampaignTrial<'_>, clean: &CleanStates) -> Result<CampaignFaults, TrialEnd> {
        if !self.faults.kill() {
            return Ok(self.faults.clone());
        }
        let outlives = trial.outlives_server(clean).await;
        if let Ok(true) = outlives {
            return Ok(self.faults.clone());
        }
        if let Some(left) = self.faults.without_kills() {
            return Ok(left);
        }
        outlives?;
        Err(TrialEnd::Because(Reason::NotApplicable(format!(
            "what `{}` writes ends with its server, so nothing can be expected of it after a kill; say `durable: true` if \
             it has to outlive the server",
            self.subject.tool
        ))))
    }

    fn told(&self, tried: &CampaignTried) -> String {
        match tried.effect {
            Some(effect) if self.subject.nature != ToolNature::Reads => {
                format!("the effect is there {}", effect.text())
            }
            _ => "nothing has changed".to_owned(),
        }
        .replace("there none", "not there")
    }

    fn struck(&self, sets: usize) -> String {
        match &self.faults {
            CampaignFaults::One(kind) => format!("`{}`", kind.as_str()),
            CampaignFaults::InTurn(kinds) => list(kinds),
            CampaignFaults::Drawn { .. } => format!("{sets} sets of {} faults", self.campaign.together),
        }
    }

    /// The smallest set that still breaks the server, tried once more, as a finding and as a test.
    async fn broken(
        &self,
        trial: &mut CampaignTrial<'_>,
        tried: &mut CampaignTried,
        clean: &CleanStates,
        BrokenBy { set, end: first }: BrokenBy,
    ) -> Result<CheckResult, TrialEnd> {
        let drawn = set.len();
        let (set, mut end) = match first {
            // It cannot be tried again.
            StruckEnd::Silent(silent) if silent.is_final => (set, StruckEnd::Silent(silent)),
            StruckEnd::Read(_) | StruckEnd::Silent(_) => self.confirmed(trial, tried, clean, set).await?,
        };
        let mut found = match &end {
            StruckEnd::Read(run) => self.finding(trial, clean, &set, run),
            StruckEnd::Silent(silent) => silent.found.clone(),
        };
        if drawn > set.len() {
            found = found.with_evidence("smallest set", format!("{} of {drawn} faults", set.len()));
        }
        found.severity = Some(Severity::High);
        tried.test = written::test(trial, clean, &set, &end);
        let exchanges = match &mut end {
            StruckEnd::Read(run) => std::mem::take(&mut run.exchanges),
            StruckEnd::Silent(silent) => std::mem::take(&mut silent.exchanges),
        };
        let exchange = exchanges.len().checked_sub(1);
        Ok(CheckResult { exchanges, ..CheckResult::found(Outcome::Failed, vec![Finding { exchange, ..found }]) })
    }

    /// The smallest set of faults that breaks the server, tried once more beside calls without faults.
    async fn confirmed(
        &self,
        trial: &mut CampaignTrial<'_>,
        tried: &mut CampaignTried,
        clean: &CleanStates,
        set: Vec<FaultKind>,
    ) -> Result<(Vec<FaultKind>, StruckEnd), TrialEnd> {
        let set = smallest(trial, clean, set).await?;
        if let (CampaignFaults::Drawn { .. }, [kind]) = (&self.faults, set.as_slice()) {
            let why = format!("`{}` alone is enough to break it, and has a case of its own", kind.as_str());
            return Err(TrialEnd::Inconclusive(why));
        }
        let end = trial.strike(&set, clean).await?;
        tried.note(&end);
        if !end.is_broken() {
            let why = format!("{} broke the server once, and did not when it was tried again", list(&set));
            return Err(TrialEnd::Inconclusive(why));
        }
        for is_last in [false, true] {
            let control = trial.clean_run().await?;
            if clean.is_confirmed_by(&control) {
                break;
            }
            // Data that outlives the server may still have the damage in it, which the first call undoes.
            if is_last || !end.is_of_changes() {
                let why = format!("calls of `{}` without faults do not show the same each time", self.subject.tool);
                return Err(TrialEnd::Inconclusive(why));
            }
        }
        Ok((set, end))
    }

    fn finding(&self, trial: &CampaignTrial<'_>, clean: &CleanStates, set: &[FaultKind], run: &StruckRun) -> Finding {
        let (tool, faults) = (&self.subject.tool, list(set));
        if run.is_sound {
            let message = format!("after {faults} `{tool}` is not answered any more, although the faults have ended");
            let help = "the server goes on failing after the fault: look at what it waits for";
            return explained("not-recovered", message, help).with_evidence("injected", run.strikes.join("\n"));
        }
        let once_more = if trial.is_repeated(set) { " and the same call once more" } else { "" };
        let confirmed = if run.is_confirmed { ", although the server had confirmed the call" } else { "" };
        let (code, message, help) = match (run.expected, run.count) {
            (ExpectedEffect::Never, _) => (
                "read-only-tool-writes",
                format!("`{tool}` only reads, but {faults}{once_more} changed what reading shows"),
                "say `readOnlyHint: false`, or change nothing: clients repeat reads without asking",
            ),
            (_, EffectCount::Times(0)) => (
                "effect-lost",
                format!("the effect of `{tool}` is missing after {faults}{once_more}{confirmed}"),
                "confirm a call once its effect is in the store, and do not take it for done before",
            ),
            (_, EffectCount::Times(times)) if times > 1 => (
                "effect-repeated",
                if self.subject.nature == ToolNature::Idempotent {
                    format!(
                        "`{tool}` says `idempotentHint: true`, but its effect is there {} after {faults}{once_more}",
                        run.count.text()
                    )
                } else {
                    format!("the effect of `{tool}` is there {} after {faults}{once_more}", run.count.text())
                },
                "recognise a repeated call, by a key in its arguments or by what is there already, or say \
                 `idempotentHint: false`: clients repeat calls after a lost answer",
            ),
            (_, EffectCount::Times(_) | EffectCount::Other) => (
                "effect-torn",
                format!(
                    "after {faults}{once_more} the state is neither that before a call of `{tool}` nor that after one"
                ),
                "make all changes of a call in one step, such as a transaction, and undo those of a call that ends early",
            ),
        };
        let mut found = explained(code, message, help).with_evidence("injected", run.strikes.join("\n"));
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

/// The smallest set of faults in which one of that set breaks the server.
async fn smallest(
    trial: &mut CampaignTrial<'_>,
    clean: &CleanStates,
    set: Vec<FaultKind>,
) -> Result<Vec<FaultKind>, TrialEnd> {
    let mut answers: Vec<bool> = Vec::new();
    loop {
        let next = next_question::<[FaultKind]>(&answers, |ask| drop(ddmin(set.clone(), &mut |rest| ask(rest))));
        let Some(rest) = next else { break };
        let breaks = if rest.is_empty() { false } else { trial.strike(&rest, clean).await?.is_broken() };
        answers.push(breaks);
    }
    let mut known = answers.into_iter();
    Ok(ddmin(set, &mut |_| known.next().unwrap_or(false)))
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

/// Whether the server is a process that is started here.
pub(crate) fn is_process(suite: &Suite, server: &str) -> bool {
    suite.servers.get(server).is_some_and(|server| match &server.target {
        Target::Command(_) => true,
        Target::Url(http) => http.command.is_some(),
        Target::Builtin(_) => false,
    })
}

pub(crate) fn explained(code: &'static str, message: String, help: &str) -> Finding {
    Finding { help: Some(help.to_owned()), ..Finding::new(code, message) }
}
