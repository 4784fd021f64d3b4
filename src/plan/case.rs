//! Cases and their order.

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use super::block::Block;
use super::shared_names::SharedNames;
use super::snapshot::SnapshotScope;
use super::target::Target;
use super::{Check, Rounds, Selection, raw};
use crate::event::Reason;
use crate::fault::Fault;
use crate::source::template::Names;
use crate::source::{Sources, Span};
use crate::suite::{Answers, Fixture, Handshake, Recovery, Rule, Step, Suite, Test};
use crate::transport::Owner;

/// Everything that would run.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The suites in the order in which they run.
    pub suites: Vec<SuitePlan>,
    /// The selection of the user; it also applies to cases that are made later.
    pub selection: Selection,
    /// The texts that spans refer to.
    pub sources: Arc<Sources>,
    /// The plan of which this is one part of several.
    whole: Option<Box<Plan>>,
}

impl Plan {
    /// A plan of all of these suites' cases.
    pub(crate) fn new(suites: Vec<SuitePlan>, selection: Selection, sources: Arc<Sources>) -> Self {
        Self { suites, selection, sources, whole: None }
    }

    /// The part that the selection asks for, where several machines share the run; what templates become is divided later.
    pub(super) fn in_shard(self) -> Self {
        let Some(shard) = self.selection.shard.clone() else { return self };
        let suites = self.suites.iter().map(|planned| {
            // A case of a template has the same name in every part.
            planned.ids();
            let mut planned = planned.clone();
            let SuitePlan { suite, targets, cases, .. } = &mut planned;
            cases.retain(|case| case.is_divided() || shard.has_case(case, &suite.file, &targets[case.target].server));
            planned
        });
        let (suites, selection, sources) = (suites.collect(), self.selection.clone(), Arc::clone(&self.sources));
        let whole = Self { selection: Selection { shard: None, ..selection.clone() }, ..self };
        Self { suites, selection, sources, whole: Some(Box::new(whole)) }
    }

    /// The plan of the whole run, of which this may be a part.
    pub fn whole(&self) -> &Self {
        self.whole.as_deref().unwrap_or(self)
    }

    /// Every case in order.
    pub fn cases(&self) -> impl Iterator<Item = &Case> {
        self.suites.iter().flat_map(|suite| suite.cases.iter().map(AsRef::as_ref))
    }

    /// The same without the cases of which `is_out` is true.
    #[must_use]
    pub fn without_cases(mut self, is_out: impl Fn(&Case) -> bool) -> Self {
        for planned in &mut self.suites {
            planned.cases.retain(|case| !is_out(case));
        }
        self
    }

    /// The same with the cases of one kind of block only.
    #[must_use]
    pub fn only_block(mut self, key: &str) -> Self {
        for planned in &mut self.suites {
            let spans: BTreeSet<Span> = planned
                .blocks
                .iter()
                .filter(|block| block.key == key && block.test.is_none())
                .map(|block| block.span)
                .collect();
            planned.cases.retain(|case| case.name == key && spans.contains(&case.span));
        }
        self
    }
}

/// One suite of a plan.
#[derive(Debug, Clone)]
pub struct SuitePlan {
    /// The suite.
    pub suite: Arc<Suite>,
    /// Its blocks.
    pub blocks: Arc<[Block]>,
    /// Its servers, each once per revision.
    pub targets: Vec<Target>,
    /// Its cases in declared order, target by target.
    pub cases: Vec<Arc<Case>>,
    /// The places of its tests in order, with their numbers, once somebody asks.
    places: OnceLock<Vec<(Span, usize)>>,
    /// The ids of its cases, once somebody asks: those that are left out later included.
    ids: OnceLock<BTreeSet<String>>,
}

impl SuitePlan {
    /// The cases of a suite on its servers.
    pub(crate) fn new(suite: Arc<Suite>, blocks: Arc<[Block]>, targets: Vec<Target>, cases: Vec<Arc<Case>>) -> Self {
        Self { suite, blocks, targets, cases, places: OnceLock::new(), ids: OnceLock::new() }
    }

    /// The tests that are written at a place.
    pub(crate) fn tests_at(&self, place: Span) -> impl Iterator<Item = &Test> {
        let tests = &self.suite.tests;
        let places = self.places.get_or_init(|| {
            let mut places: Vec<(Span, usize)> = tests.iter().map(|test| test.span).zip(0..).collect();
            places.sort_unstable();
            places
        });
        let first = places.partition_point(|(span, _)| *span < place);
        places[first..].iter().take_while(move |(span, _)| *span == place).map(|(_, number)| &tests[*number])
    }

    /// The ids of its cases.
    pub(super) fn ids(&self) -> &BTreeSet<String> {
        self.ids.get_or_init(|| self.cases.iter().map(|case| case.id.clone()).collect())
    }

    /// The suite with its targets, for the files of its snapshots.
    pub fn snapshot_scope(&self) -> SnapshotScope<'_> {
        SnapshotScope { suite: &self.suite, targets: &self.targets }
    }

    /// `file@server/revision`, unique in a run: what handshakes and discovery belong to.
    pub fn target_id(&self, index: usize) -> String {
        let target = &self.targets[index];
        format!("{}@{}/{}", self.suite.file, target.server, target.protocol.as_str())
    }
}

/// One thing that can pass or fail.
#[derive(Debug, Clone)]
pub struct Case {
    /// `file::test name[row]@server/revision`, unique in a run.
    pub id: String,
    /// The test's name, or the generated case's.
    pub name: String,
    /// The row of a data-driven test.
    pub row: Option<String>,
    /// The target, as an index into the suite's targets.
    pub target: usize,
    /// Its position in its suite; within that, in what a template became.
    pub position: Vec<usize>,
    /// The place at which it is written.
    pub span: Span,
    /// The same as file, line and column.
    pub place: Place,
    /// Words to select it by.
    pub tags: Vec<String>,
    /// The probes that it belongs to.
    pub probes: SharedNames,
    /// The variants that it can judge.
    pub variants: SharedNames,
    /// The variants that its test names in `judges:`, although no expectation in it judges them.
    pub claims: SharedNames,
    /// Names that only this case has: its row, its loop variable.
    pub names: Names,
    /// Names that many cases share, since they can be large: what the server offers, and hints.
    pub offered: Arc<Names>,
    /// The files that it gets a copy of.
    pub fixture: Option<Arc<Fixture>>,
    /// The client's answers to requests of the server.
    pub answers: Arc<Answers>,
    /// True if it shares a session.
    pub session: SessionNeed,
    /// True if its session begins with a handshake.
    pub handshake: Handshake,
    /// The faults that strike its messages.
    pub inject: Arc<[Fault]>,
    /// The calls within which the server must recover from them.
    pub recovery: Option<Box<Recovery>>,
    /// The rule for which it stands.
    pub rule: Option<Arc<Rule>>,
    /// True if nobody wrote it: it follows from a block, and what it calls changes nothing that others look at.
    pub is_derived: bool,
    /// True if it begins before the other cases of blocks, where several run at a time: it takes a few calls, and others
    /// wait for its verdict or are long.
    pub is_early: bool,
    /// Why it is known to fail; it must.
    pub known: Option<String>,
    /// The number of times that it is tried again.
    pub retries: u32,
    /// The work of the case.
    pub body: Body,
}

impl Case {
    /// Returns true if every part of a run has it: it becomes cases of several parts, or looks at what others said.
    pub(super) fn is_divided(&self) -> bool {
        match &self.body {
            Body::Template(template) => match &**template {
                Template::Block(block) => block.settings.is_divisible(),
                Template::ForEach(_) | Template::Particular(_) => true,
            },
            Body::Scan(_) => true,
            Body::Script(_) | Body::Check(_) | Body::Skipped(_) | Body::Failed(_) => false,
        }
    }

    /// The owner of its messages.
    pub fn owner(&self) -> Owner {
        Owner::of_case(&self.id)
    }

    /// Returns true if it is about a variant: by what it does, or because its suite says so.
    pub fn is_about(&self, variant: &str) -> bool {
        self.variants.contains(variant) || self.claims.contains(variant)
    }

    /// The variants that a run of it judged in which so many exchanges of its own steps began.
    ///
    /// A case whose valid calls failed has judged nothing; a test that somebody wrote has judged what the steps judge
    /// that ran. Other cases are about one thing, and their failure is the verdict on it.
    pub fn judged_variants(&self, exchanges: usize) -> SharedNames {
        let Body::Script(script) = &self.body else { return self.variants.clone() };
        if script.steps.is_empty() {
            return self.variants.clone();
        }
        if exchanges == 0 {
            return SharedNames::default();
        }
        let is_written = !self.is_derived && self.rule.is_none() && script.rounds.is_none();
        let ran = steps_begun(&script.steps, exchanges);
        if !is_written || ran == script.steps.len() {
            return self.variants.clone();
        }
        raw::judged_variants(&script.steps[..ran]).intersection(&self.variants).cloned().collect()
    }

    /// Every name that it has beside those of the suite.
    pub fn all_names(&self) -> Names {
        let mut names = (*self.offered).clone();
        names.extend(self.names.clone());
        names
    }
}

/// The number of steps that made so many exchanges; those that run during another step make some of their own.
fn steps_begun(steps: &[Step], exchanges: usize) -> usize {
    let mut made = 0;
    let begun = steps.iter().take_while(|step| {
        let begins = made < exchanges;
        made += 1 + step.action.during().len();
        begins
    });
    begun.count()
}

/// A place as people name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The file as the user knows it.
    pub file: String,
    /// The line, counted from one.
    pub line: usize,
    /// The last line that the test covers.
    pub last_line: usize,
    /// The column, counted from one.
    pub column: usize,
}

/// The degree to which a case shares its session; what is greater shares less.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SessionNeed {
    /// It runs beside others on the target's session.
    Shared,
    /// It has a session for itself while it runs; one that earlier cases left intact will do.
    InTurn,
    /// It gets a server of its own.
    Own,
}

/// The work of a case.
#[derive(Debug, Clone)]
pub enum Body {
    /// It runs these steps.
    Script(Box<Script>),
    /// It runs a check that no steps can say.
    Check(Arc<dyn Check>),
    /// It looks for these in every frame of the target, once all other cases are over.
    Scan(Vec<String>),
    /// It does not run.
    Skipped(Box<Reason>),
    /// It becomes cases once the server's catalog is known.
    Template(Box<Template>),
    /// It fails without running: what it asks for is not there.
    Failed(Box<Mistake>),
}

impl Body {
    /// It does not run, for a reason.
    pub fn skipped(reason: Reason) -> Self {
        Self::Skipped(Box::new(reason))
    }

    /// It fails without running.
    pub fn failed(mistake: Mistake) -> Self {
        Self::Failed(Box::new(mistake))
    }
}

/// A mistake of the suite that only the server's catalog shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// A stable kebab-case name.
    pub code: &'static str,
    /// The mistake in one sentence.
    pub message: String,
    /// The cure.
    pub help: Option<String>,
    /// The place to quote.
    pub span: Span,
}

/// The steps of a case.
#[derive(Debug, Clone, Default)]
pub struct Script {
    /// Steps before.
    pub setup: Vec<Step>,
    /// Steps that must go well before the others say anything.
    pub preconditions: Vec<Step>,
    /// Calls that must be served before the verdict counts, and judged where they expect something; empty for tests
    /// written by hand.
    pub witness: Vec<Step>,
    /// Why the server must serve the witness, so that a refusal is a failure; `None` makes the case inconclusive.
    pub must_serve: Option<MustServe>,
    /// The steps that are judged.
    pub steps: Arc<[Step]>,
    /// Steps after, whatever happened.
    pub teardown: Vec<Step>,
    /// The generated values of the judged steps' rounds; `None` if they run once.
    pub rounds: Option<Arc<Rounds>>,
}

/// The reason why a call must be served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MustServe {
    /// The suite, or a flag, gives its arguments.
    Arguments,
    /// The tool takes none, so that there is no other call of it.
    NoArguments,
}

/// A template of cases, expanded once the catalog is known.
#[derive(Debug, Clone)]
pub enum Template {
    /// A test with `for_each`.
    ForEach(Arc<Test>),
    /// A test that says something only of servers that offer this or that.
    Particular(Arc<Test>),
    /// A block of the suite, or of a test.
    Block(Block),
}
