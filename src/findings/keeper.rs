//! Watches a run and keeps what it takes to see its findings again.

use std::collections::{BTreeMap, BTreeSet};

use super::calls::{CAPTURED_SECRET, SentCalls, SessionCalls, shorten};
use super::sequence::{KnownSequence, leaks, of_session, reproduction};
use super::{FORMAT, FindingPlace, ServerStart, Stored};
use crate::event::{
    CaseInfo, CaseResult, Code, EXIT, Event, Finding, FindingIdentity, FindingKind, IsolationReport, Outcome,
    Reproduction, RequirementLevel, SessionJudged,
};
use crate::plan::Plan;
use crate::redact::Redactor;
use crate::runner::SessionFrames;
use crate::transport::Owner;

/// The number of findings of a run that are kept.
const MOST: usize = 200;

/// The number of sessions of a case that are remembered while it runs.
const MOST_SESSIONS: usize = 20;

/// The findings that a run leaves behind.
#[derive(Debug, Default)]
pub struct KeptFinding {
    /// Its findings, without secrets.
    pub findings: Vec<Stored>,
    /// The number of others, with the reason why they are not kept; only reasons that hold.
    pub left_out: Vec<(usize, String)>,
}

/// Somebody who keeps the findings of a run.
#[derive(Debug, Default)]
pub struct Keeper {
    /// The plan, which says how servers are started.
    plan: Option<Plan>,
    /// The starts of the servers that failed; by suite file and server.
    starts: BTreeMap<(String, String), ServerStart>,
    now_unix_ms: u64,
    /// The sessions of cases that are under way.
    running: BTreeMap<String, Vec<SessionCalls>>,
    /// Failed cases whose session is not over, or was never seen.
    pending: Vec<CaseResult>,
    /// Findings outside of cases in sessions that are not over.
    judged: Vec<SessionJudged>,
    kept: BTreeMap<String, Stored>,
    /// The names of what is not kept since there are too many.
    surplus: BTreeSet<String>,
    /// The names of what is not kept since nobody wrote down how its server is started.
    startless: BTreeSet<String>,
    /// By case, the names of what was kept of it.
    by_case: BTreeMap<String, Vec<String>>,
}

impl Keeper {
    /// Somebody for the runs of a plan.
    pub fn new(plan: &Plan, now_unix_ms: u64) -> Self {
        Self { plan: Some(plan.clone()), now_unix_ms, ..Self::default() }
    }

    /// Hears what happens, without secrets.
    pub fn event(&mut self, event: &Event) {
        match event {
            Event::CaseStarted(started) => drop(self.running.insert(started.id.clone(), Vec::new())),
            Event::CaseFinished(result) => {
                let sessions = self.running.remove(&result.case.id);
                if result.outcome != Outcome::Failed || result.is_known() || sessions.is_none() && is_mistake(result) {
                    return;
                }
                let sessions = sessions.unwrap_or_default();
                match (sessions.is_empty(), self.pending.len() < MOST) {
                    (true, true) => self.pending.push((**result).clone()),
                    (true, false) => {
                        self.surplus.extend(failing_findings(result).into_iter().map(|(_, found)| found.id));
                    }
                    (false, _) => self.case(result, &sessions),
                }
            }
            Event::SessionJudged(judged) => self.judged.push(judged.clone()),
            Event::RunFinished(finished) => self.isolation(finished.isolation.as_ref()),
            Event::RunStarted(_) | Event::ServerReady(_) | Event::ToolsChosen(_) | Event::SessionTraced(_) => {}
        }
    }

    /// Hears what travelled, secrets included.
    pub fn session(&mut self, session: &SessionFrames, redactor: &Redactor) {
        let is_this = |judged: &SessionJudged| {
            judged.file == session.file && judged.server == session.server && judged.revision == session.revision
        };
        let (own, others): (Vec<_>, Vec<_>) = std::mem::take(&mut self.judged).into_iter().partition(is_this);
        self.judged = others;
        if let Some(case) = &session.case {
            let sessions = self.running.get_mut(case).filter(|sessions| sessions.len() < MOST_SESSIONS);
            if sessions.is_none() && own.is_empty() {
                return;
            }
            let said = SentCalls::of(session, redactor).seen_from(Some(case));
            for judged in own {
                self.session_judged(&judged, Some(&said));
            }
            if let Some(sessions) = self.running.get_mut(case).filter(|sessions| sessions.len() < MOST_SESSIONS) {
                sessions.push(said);
            }
            return;
        }
        let is_here = |result: &CaseResult| session.owners.contains_key(&Owner::of_case(&result.case.id));
        let (here, elsewhere) = std::mem::take(&mut self.pending).into_iter().partition(is_here);
        self.pending = elsewhere;
        let here: Vec<CaseResult> = here;
        if here.is_empty() && own.is_empty() {
            return;
        }
        let sent = SentCalls::of(session, redactor);
        for result in here {
            self.case(&result, &[sent.seen_from(Some(&result.case.id))]);
        }
        for judged in own {
            self.session_judged(&judged, Some(&sent.seen_from(None)));
        }
    }

    /// The findings that were kept, without secrets, and the number of those that were not.
    pub fn finish(mut self, redactor: &Redactor) -> KeptFinding {
        for result in std::mem::take(&mut self.pending) {
            self.case(&result, &[]);
        }
        for judged in std::mem::take(&mut self.judged) {
            self.session_judged(&judged, None);
        }
        let surplus = self.surplus.iter().filter(|id| !self.kept.contains_key(*id)).count();
        let left_out = [
            (surplus, format!("a run keeps {MOST} at most")),
            (self.startless.len(), "the suite does not say how their server is started".to_owned()),
        ];
        let left_out = left_out.into_iter().filter(|(count, _)| *count > 0).collect();
        let findings = self.kept.into_values().map(|stored| without_secrets(stored, redactor)).collect();
        KeptFinding { findings, left_out }
    }

    fn case(&mut self, result: &CaseResult, sessions: &[SessionCalls]) {
        for (finding, identity) in failing_findings(result) {
            let mut sequence = reproduction(result, finding, identity.kind, sessions);
            let mut kind = identity.kind;
            if let Ok(KnownSequence { reproduction, .. }) = &mut sequence {
                if kind == FindingKind::PropertyFailure && leaks(reproduction) {
                    kind = FindingKind::StateLeak;
                }
                reproduction.kind = kind;
            }
            let identity = FindingIdentity { kind, ..identity };
            self.keep(result, finding, identity, sequence, sessions.last());
        }
    }

    /// The start of a case's server. Reading it takes as long as reading the suite, and most runs never need it.
    fn start(&mut self, case: &CaseInfo) -> Option<ServerStart> {
        let is_of = |file: &str, server: &str| server == case.server && case.id.starts_with(&format!("{file}::"));
        if let Some((_, start)) = self.starts.iter().find(|((file, server), _)| is_of(file, server)) {
            return Some(start.clone());
        }
        let plan = self.plan.as_ref()?;
        let targets =
            plan.suites.iter().flat_map(|planned| (0..planned.targets.len()).map(move |target| (planned, target)));
        let (planned, target) =
            { targets }.rfind(|(planned, target)| is_of(&planned.suite.file, &planned.targets[*target].server))?;
        let start = ServerStart::of(plan, planned, target)?;
        self.starts.insert((planned.suite.file.clone(), case.server.clone()), start.clone());
        Some(start)
    }

    fn keep(
        &mut self,
        result: &CaseResult,
        finding: &Finding,
        identity: FindingIdentity,
        sequence: Result<KnownSequence, String>,
        said: Option<&SessionCalls>,
    ) {
        let Some(start) = self.start(&result.case) else {
            self.startless.insert(identity.id);
            return;
        };
        if self.kept.len() >= MOST && !self.kept.contains_key(&identity.id) {
            self.surplus.insert(identity.id);
            return;
        }
        let class = identity.class();
        let (reproduction, original, unplayable) = match sequence {
            Ok(KnownSequence { reproduction, original }) => (Some(reproduction), original, None),
            Err(why) => (None, None, Some(why)),
        };
        let mut evidence = finding.evidence.clone();
        let exit = said.and_then(|said| said.exit.clone()).filter(|_| identity.kind == FindingKind::Crash);
        if let Some(exit) = exit.filter(|_| finding.exit().is_none()) {
            evidence.push((EXIT.to_owned(), exit));
        }
        for (name, value) in [("at", &finding.path), ("expected", &finding.expected), ("actual", &finding.actual)] {
            evidence.extend(value.as_ref().map(|value| (name.to_owned(), value.clone())));
        }
        let severity = finding.severity.unwrap_or_else(|| identity.kind.severity());
        let spoken =
            [&result.protocol_revision, &result.case.revision].into_iter().find(|revision| !revision.is_empty());
        let stored = Stored {
            format: FORMAT,
            id: identity.id.clone(),
            class,
            kind: identity.kind,
            severity,
            title: title(result, finding),
            tool: identity.tool,
            signature: identity.signature,
            place: FindingPlace::of(&result.case),
            revision: spoken.cloned().unwrap_or_default(),
            start,
            reproduction,
            unplayable,
            minimised: false,
            original,
            evidence,
            frames: said.map(|said| said.frames.clone()).unwrap_or_default(),
            again: result.rerun_command.clone(),
            times: 1,
            first_unix_ms: self.now_unix_ms,
            last_unix_ms: self.now_unix_ms,
        };
        self.by_case.entry(result.case.id.clone()).or_default().push(stored.id.clone());
        if self.kept.get(&stored.id).is_none_or(|known| length(&stored) < length(known)) {
            self.kept.insert(stored.id.clone(), stored);
        }
    }

    fn session_judged(&mut self, judged: &SessionJudged, said: Option<&SessionCalls>) {
        for finding in judged.findings.iter().filter(|finding| finding.baseline_reason.is_none()) {
            let identity = judged.identity(finding);
            let sequence = of_session(identity.kind, finding, said);
            let sequence = sequence.map(|reproduction| KnownSequence { reproduction, original: None });
            self.keep(&beside(judged), finding, identity, sequence, said);
        }
    }

    /// A case that fails after others, and passes alone, shows what they left behind.
    fn isolation(&mut self, isolation: Option<&IsolationReport>) {
        for row in isolation.into_iter().flat_map(|isolation| &isolation.differing) {
            if row.shared != Outcome::Failed || row.isolated != Outcome::Passed {
                continue;
            }
            for id in self.by_case.get(&row.id).into_iter().flatten() {
                let Some(stored) = self.kept.get_mut(id).filter(|stored| stored.kind == FindingKind::PropertyFailure)
                else {
                    continue;
                };
                stored.class =
                    stored.class.replacen(FindingKind::PropertyFailure.as_str(), FindingKind::StateLeak.as_str(), 1);
                (stored.kind, stored.severity) = (FindingKind::StateLeak, FindingKind::StateLeak.severity());
                if let Some(reproduction) = &mut stored.reproduction {
                    reproduction.kind = FindingKind::StateLeak;
                }
            }
        }
    }
}

/// A case that never began failed for a mistake in the suite: no request was sent.
fn is_mistake(result: &CaseResult) -> bool {
    let is_of_suite = |finding: &Finding| {
        finding.class.is_none() && finding.reproduction.is_none() && finding.code != Code::NOT_ISOLATED
    };
    result.exchanges.is_empty() && result.frames.is_empty() && result.findings.iter().all(is_of_suite)
}

/// The findings that fail a case; none for a case without a server, such as an unmatched entry of a baseline.
fn failing_findings(result: &CaseResult) -> Vec<(&Finding, FindingIdentity)> {
    let (mut kinds, mut told) = (BTreeSet::new(), Vec::new());
    for finding in result.findings.iter().filter(|_| !result.case.server.is_empty()) {
        let identity = result.identity(finding);
        // A missing recording is no fault of the server.
        let is_of_server = !finding.code.info().is_of_suite;
        let is_new = is_of_server && finding.level == RequirementLevel::Must && finding.baseline_reason.is_none();
        // Later failures of one kind in a case follow from the first; checks report each finding once.
        if is_new && (kinds.insert(identity.kind) || finding.reproduction.is_some()) {
            told.push((finding, identity));
        }
    }
    told
}

/// The failure in one line: the broken rule, if there is one.
fn title(result: &CaseResult, finding: &Finding) -> String {
    let said = || finding.message.lines().next().unwrap_or_default().to_owned();
    result.case.rule.as_ref().map_or_else(said, |rule| {
        let name = result.case.name.strip_prefix(&rule.id).unwrap_or(&result.case.name);
        format!("rule {} is broken: {}", rule.id, name.trim_start())
    })
}

fn length(stored: &Stored) -> usize {
    stored.reproduction.as_ref().map_or(usize::MAX, Reproduction::calls)
}

/// A case for what belongs to none.
fn beside(judged: &SessionJudged) -> CaseResult {
    let again = format!("mcprove run {}", shell_words::quote(&judged.file));
    CaseResult {
        protocol_revision: judged.revision.clone(),
        ..CaseResult::beside(judged.info(), Outcome::Failed, again)
    }
}

fn without_secrets(mut stored: Stored, redactor: &Redactor) -> Stored {
    stored.start = stored.start.without_secrets(redactor);
    stored.frames = stored.frames.into_iter().map(|frame| shorten(redactor.value(frame))).collect();
    let mut sequences = stored.sequences();
    for sequence in &mut sequences {
        sequence.change_texts(&|text| redactor.still_restorable(text));
    }
    let is_captured =
        |sequence: &Reproduction| serde_json::to_value(sequence).is_ok_and(|value| redactor.holds_captured(&value));
    if sequences.iter().any(is_captured) {
        sequences.clear();
        stored.unplayable = Some(CAPTURED_SECRET.to_owned());
    }
    let mut sequences = sequences.into_iter();
    stored.reproduction = sequences.next();
    stored.original = sequences.next().map(|whole| whole.sessions);
    let place = &mut stored.place;
    for text in [
        &mut place.case,
        &mut stored.title,
        &mut stored.tool,
        &mut stored.class,
        &mut stored.signature,
        &mut stored.again,
    ] {
        *text = redactor.text(text);
    }
    for (_, text) in &mut stored.evidence {
        *text = redactor.text(text);
    }
    stored
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, json};

    use super::*;
    use crate::event::{ReproductionCall, ReproductionCheck};

    /// The end of a failed case at a server, with a finding that can be played.
    fn failed(name: &str, server: &str) -> Event {
        let session = SessionJudged {
            file: "s.yml".to_owned(),
            line: 1,
            suite: "S".to_owned(),
            server: server.to_owned(),
            revision: String::new(),
            from_command_line: false,
            findings: Vec::new(),
        };
        let call = ReproductionCall::new(name, json!(null));
        let tool = Some(name.to_owned());
        let found = Reproduction {
            kind: FindingKind::Crash,
            tool,
            sessions: vec![vec![call]],
            check: ReproductionCheck::Ends,
            doubt: None,
        };
        let found = Finding { reproduction: Some(Box::new(found)), ..Finding::new("process-exited", "it ended") };
        let mut result = CaseResult { findings: vec![found], ..beside(&session) };
        result.case.id = format!("s.yml::{name}@{server}/auto");
        Event::CaseFinished(Box::new(result))
    }

    #[test]
    fn what_is_not_kept_is_counted() {
        let start = ServerStart {
            suite: "S".to_owned(),
            name: "known".to_owned(),
            folder: ".".into(),
            server: json!({"command": ["server"]}),
            variables: Map::new(),
            answers: Map::new(),
            timeouts_ms: BTreeMap::new(),
        };
        for (known, unknown, left_out) in [(MOST, 0, vec![]), (MOST + 3, 0, vec![3]), (1, 2, vec![2])] {
            let starts = [(("s.yml".to_owned(), "known".to_owned()), start.clone())].into();
            let mut keeper = Keeper { starts, ..Keeper::default() };
            let servers = std::iter::repeat_n("known", known).chain(std::iter::repeat_n("unknown", unknown));
            servers.enumerate().for_each(|(at, server)| keeper.event(&failed(&format!("tool {at}"), server)));
            let kept = keeper.finish(&Redactor::default());
            let counts: Vec<usize> = kept.left_out.iter().map(|(count, _)| *count).collect();
            assert_eq!((kept.findings.len(), counts), (known.min(MOST), left_out));
        }
    }
}
