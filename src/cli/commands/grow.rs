//! `mcprove grow`: adds tests and expectations to a suite until it catches no more faults.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use clap::Args;
use serde_json::{Map, Value};

use super::grow_draft::{Growth, grown, without_empty_tests};
use super::grow_servers::{EndedRun, GrowServers, ObservedServer, is_valid};
use super::parsing::duration;
use crate::cli::console::Console;
use crate::cli::exit::Exit;
use crate::cli::written_files::shown_difference;
use crate::coverage::parse_threshold;
use crate::event::{Outcome, Proof, SubjectKind, Verdict};
use crate::files::FilePlace;
use crate::init::{Promises, SuitePage, UntestedReason, UsedOffers};
use crate::plan::Plan;
use crate::report::{MutantCounts, sink};
use crate::source::file::{WRITTEN, read_text};
use crate::source::{LineSide, difference, duration_text, shorten, visible_line};
use crate::suite::{Action, Step, Suite, is_named, why_unreadable};
use crate::wire::Tool;

/// The runs that every addition must pass.
const RUNS: usize = 5;

/// The additions at a time where an end is given.
const FEW: usize = 5;

/// The most characters of a refusal, and the most names of tools in a line.
const LONGEST_REFUSAL: usize = 120;
const MOST_NAMES: usize = 12;

/// Adds tests and expectations to a suite until it catches no more faults.
///
/// Runs and proves the suite, adds what kills the most survivors, and keeps what passes five runs against the real
/// server; calls tools that no test calls, as `mcprove init` does. Nothing that is there is changed or weakened.
#[derive(Debug, Args)]
pub(crate) struct GrowArgs {
    /// The suite.
    #[arg(value_name = "SUITE")]
    suite: FilePlace,
    /// Writes nothing, and shows the lines that would be added.
    #[arg(long)]
    dry_run: bool,
    /// Begins nothing more after this time, such as `2m`.
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    budget: Option<Duration>,
    /// Adds only what is about these tools, by name or pattern; may be given several times.
    #[arg(long, value_name = "TOOL")]
    tools: Vec<String>,
    /// Stops as soon as this percentage of variants is proven.
    #[arg(long, value_name = "PERCENT", value_parser = parse_threshold)]
    until: Option<f64>,
}

/// A suite that grows.
struct Growing<'a> {
    args: &'a GrowArgs,
    servers: GrowServers<'a>,
    console: &'a Console,
    begun: Instant,
    /// Its text, with everything that was added so far.
    text: String,
    /// What it catches; `None` while it has no case.
    proof: Option<Proof>,
    /// What was added so far.
    added: Added,
    /// The additions that are not tried again.
    rejected: BTreeSet<String>,
}

/// The figures of everything that was added.
#[derive(Debug, Clone, Copy, Default)]
struct Added {
    tests: usize,
    expectations: usize,
    unstable: usize,
}

/// A text that passed every run.
struct Settled {
    text: String,
    plan: Plan,
    run: EndedRun,
    added: Added,
}

pub(crate) fn grow(args: &GrowArgs, console: &Console) -> Result<Exit, Exit> {
    let text = read_suite(args, console)?;
    let servers = GrowServers::new(console);
    let begun_text = if is_valid(&args.suite, &text) { None } else { begun_suite(args, &text) };
    let plan = servers.plan(&args.suite, begun_text.as_ref().unwrap_or(&text))?;
    let (added, rejected) = (Added::default(), BTreeSet::new());
    let begun = Instant::now();
    let mut growing = Growing { args, servers, console, begun, text: text.clone(), proof: None, added, rejected };
    if begun_text.is_none() {
        growing.prove_as_it_is(&plan)?;
    }
    let before = growing.proof.clone();
    let observed = growing.servers.observe(plan.clone())?;
    let calls = first_tests(&plan, &observed);
    growing.grow_in_rounds(calls, &observed)?;
    if args.dry_run {
        console.part(&shown_difference(&text, &growing.text))?;
    }
    console.part(&growing.result(before.as_ref(), &text))?;
    console.part(&growing.needs(&observed))?;
    Ok(Exit::Passed)
}

/// The text of the suite, which is one that can be written.
fn read_suite(args: &GrowArgs, console: &Console) -> Result<String, Exit> {
    let shown = args.suite.display();
    let text = read_text(&args.suite, WRITTEN).map_err(|error| {
        let message = format!("cannot read the suite `{shown}`: {}", why_unreadable(&error));
        console.fail(Exit::Usage, message, Some("`mcprove init` writes a suite for a server that has none"))
    })?;
    let is_read_only = std::fs::metadata(&*args.suite).is_ok_and(|about| about.permissions().readonly());
    if is_read_only && !args.dry_run {
        let help = "make it writable, or add `--dry-run` to see what would be added";
        return Err(console.fail(Exit::Usage, format!("`{shown}` is read-only"), Some(help)));
    }
    Ok(text)
}

/// A suite that has neither a test nor a block yet, with a block that calls nothing: without a case, there would be no
/// server to ask. `None` where that is not all that it lacks.
fn begun_suite(args: &GrowArgs, text: &str) -> Option<String> {
    let begun = format!("{}\nschema_lint: {{}}\n", without_empty_tests(text));
    is_valid(&args.suite, &begun).then_some(begun)
}

impl Growing<'_> {
    /// Proves what the suite catches before anything is added; a suite that fails cannot grow.
    fn prove_as_it_is(&mut self, plan: &Plan) -> Result<(), Exit> {
        let run = self.servers.run(plan, "running the suite as it is")?;
        if let Some(red) = run.red.first() {
            let exit = if red.outcome == Outcome::Errored { Exit::Environment } else { Exit::Findings };
            let message = format!("nothing was added: `{}` does not pass: {}", visible_line(&red.name), red.message);
            let help = "make the suite pass first, so that what is added is right; `mcprove run` shows all failures";
            return Err(self.console.fail(exit, message, Some(help)));
        }
        if run.summary.failed > 0 {
            let help = Some("`mcprove run` shows it");
            return Err(self.console.fail(Exit::Findings, "nothing was added: the suite does not pass", help));
        }
        self.proof = Some(self.servers.prove(plan, run.recording)?);
        Ok(())
    }

    /// Adds what gains most, round after round, until nothing is gained.
    fn grow_in_rounds(&mut self, calls: Vec<Growth>, observed: &[ObservedServer]) -> Result<(), Exit> {
        let mut calls = calls;
        while !self.is_enough() {
            let mut wanted: Vec<Growth> = std::mem::take(&mut calls);
            wanted.extend(self.missing());
            wanted.retain(|growth| self.is_asked_for(growth));
            for growth in &mut wanted {
                growth.writes = may_write(growth, observed);
            }
            if self.args.until.is_some() && self.proof.is_some() {
                wanted.truncate(FEW);
            }
            let Some(settled) = self.settle(wanted)? else { return Ok(()) };
            let proof = self.servers.prove(&settled.plan, settled.run.recording)?;
            if noticed(Some(&proof)) <= noticed(self.proof.as_ref()) {
                return Ok(());
            }
            if !self.args.dry_run {
                self.write(&settled.text)?;
            }
            self.console.note(&round_sentence(&settled.added, self.proof.as_ref(), &proof));
            self.added.tests += settled.added.tests;
            self.added.expectations += settled.added.expectations;
            (self.text, self.proof) = (settled.text, Some(proof));
        }
        Ok(())
    }

    /// Writes the file as a whole, unless somebody else did meanwhile: a suite takes minutes to grow.
    fn write(&self, text: &str) -> Result<(), Exit> {
        let file = &self.args.suite;
        if read_text(file, WRITTEN).ok().as_deref() != Some(self.text.as_str()) {
            let message = format!("`{}` was changed while it grew, so nothing more is written", file.display());
            let help = "run `mcprove grow` again; it begins with the file as it is now";
            return Err(self.console.fail(Exit::Environment, message, Some(help)));
        }
        sink::write(file, text).map_err(|error| self.console.fail(Exit::Environment, error, None))
    }

    /// The time that the user gave is over.
    fn is_late(&self) -> bool {
        self.args.budget.is_some_and(|budget| self.begun.elapsed() >= budget)
    }

    /// Neither the time nor the wish of the user leaves room for more.
    fn is_enough(&self) -> bool {
        let percent = self.proof.as_ref().map_or(0.0, |proof| proof.proven.percent);
        self.is_late() || self.args.until.is_some_and(|until| self.proof.is_some() && percent >= until)
    }

    /// What the proof found missing, the addition that gains most first.
    fn missing(&self) -> Vec<Growth> {
        let additions = self.proof.iter().flat_map(|proof| &proof.additions).filter(|addition| addition.lasts);
        additions.filter_map(Growth::of_addition).collect()
    }

    fn is_asked_for(&self, growth: &Growth) -> bool {
        let is_of_tools = || {
            let tool = growth.tool.as_deref();
            tool.is_some_and(|tool| self.args.tools.iter().any(|pattern| is_named(pattern, tool)))
        };
        !self.rejected.contains(&growth.key()) && (self.args.tools.is_empty() || is_of_tools())
    }

    /// Adds what passes every run; `None` where nothing is left of it, or no time.
    fn settle(&mut self, mut wanted: Vec<Growth>) -> Result<Option<Settled>, Exit> {
        self.drop_invalid(&mut wanted);
        'draft: while !wanted.is_empty() {
            let draft = grown(&self.text, &wanted);
            if !draft.unplaced.is_empty() {
                self.reject(&mut wanted, &draft.unplaced.iter().copied().collect());
                continue;
            }
            let Ok(plan) = self.servers.plan(&self.args.suite, &draft.text) else { return Ok(None) };
            let mut first = None;
            for number in 1..=RUNS {
                if self.is_enough() {
                    return Ok(None);
                }
                let additions = if wanted.len() == 1 { "addition" } else { "additions" };
                let what = format!("run {number} of {RUNS} with {} {additions}", wanted.len());
                let run = self.servers.run(&plan, &what)?;
                if !run.red.is_empty() || run.summary.failed > 0 {
                    let unstable = blamed(&run, &draft.of_test, &wanted);
                    self.added.unstable += unstable.len();
                    self.reject(&mut wanted, &unstable);
                    continue 'draft;
                }
                first.get_or_insert(run);
            }
            let added = Added {
                tests: draft.new_tests,
                expectations: wanted.iter().filter(|growth| growth.at.is_some()).count(),
                unstable: 0,
            };
            return Ok(first.map(|run| Settled { text: draft.text, plan, run, added }));
        }
        Ok(None)
    }

    /// Drops what would not be read as a suite.
    fn drop_invalid(&mut self, wanted: &mut Vec<Growth>) {
        let draft = |growth: &Growth| grown(&self.text, std::slice::from_ref(growth)).text;
        if is_valid(&self.args.suite, &grown(&self.text, wanted).text) {
            return;
        }
        let is_bad = |growth: &Growth| !is_valid(&self.args.suite, &draft(growth));
        let bad = wanted.iter().enumerate().filter(|(_, growth)| is_bad(growth)).map(|(at, _)| at).collect();
        self.reject(wanted, &bad);
    }

    fn reject(&mut self, wanted: &mut Vec<Growth>, which: &BTreeSet<usize>) {
        let mut at = 0;
        wanted.retain(|growth| {
            let is_kept = !which.contains(&at);
            at += 1;
            if !is_kept {
                self.rejected.insert(growth.key());
            }
            is_kept
        });
    }

    /// The figures before and after, in some lines.
    fn result(&self, before: Option<&Proof>, old: &str) -> String {
        let Added { tests, expectations, unstable } = self.added;
        let lines = changed_lines(old, &self.text);
        let would = if self.args.dry_run { "would be added" } else { "added" };
        let (before, after) = (figures(before), figures(self.proof.as_ref()));
        let left_out = if unstable > 0 {
            let additions = count(unstable, "addition");
            format!("  {additions} left out, since the server did not answer the same in {RUNS} runs\n")
        } else {
            String::new()
        };
        let mut text = format!(
            "{}: {before} before, {after} after\n  {} and {} {would}, {} in {}\n{left_out}",
            self.args.suite.display(),
            count(tests, "test"),
            count(expectations, "expectation"),
            count(lines, "line"),
            duration_text(self.begun.elapsed()),
        );
        if self.is_late() {
            text += "  the time of `--budget` was over; a longer one may add more\n";
        }
        if tests + expectations > 0 {
            text += "  what was added is what the server answered: confirm that it is right before you keep it\n";
        }
        text
    }

    /// What only a person can add.
    fn needs(&self, observed: &[ObservedServer]) -> String {
        let mut lines: Vec<String> = observed.iter().flat_map(untested).collect();
        if let Some(proof) = &self.proof {
            lines.extend(uncalled(proof));
            let known = proof.mutants.iter().filter(|mutant| mutant.verdict == Verdict::Survived);
            let left = known.filter(|mutant| mutant.missing.is_empty()).count();
            if left > 0 {
                lines.push(format!(
                    "no test is known for {}; `mcprove prove {}` shows what they change",
                    count(left, "kind of survivor"),
                    shell_words::quote(&self.args.suite.display().to_string())
                ));
            }
        }
        if lines.is_empty() {
            return String::new();
        }
        let lines: Vec<String> = lines.iter().map(|line| format!("- {}\n", visible_line(line))).collect();
        format!("what is left takes a person:\n{}", lines.concat())
    }
}

/// The additions that a red run speaks against: the expectations that did not hold, or everything in their tests. Where
/// other tests fail, those that change data are to blame, and then all that are new.
fn blamed(run: &EndedRun, of_test: &BTreeMap<String, Vec<usize>>, wanted: &[Growth]) -> BTreeSet<usize> {
    let mut blamed = BTreeSet::new();
    for red in &run.red {
        let Some(members) = of_test.get(&red.name) else { continue };
        let is_broken = |at: &&usize| wanted[**at].expected().iter().any(|item| red.broken.contains(item));
        let broken: Vec<usize> = members.iter().filter(is_broken).copied().collect();
        blamed.extend(if broken.is_empty() { members.clone() } else { broken });
    }
    if blamed.is_empty() {
        blamed = (0..wanted.len()).filter(|at| wanted[*at].writes).collect();
    }
    if blamed.is_empty() {
        blamed = (0..wanted.len()).filter(|at| wanted[*at].at.is_none()).collect();
    }
    if blamed.is_empty() { (0..wanted.len()).collect() } else { blamed }
}

/// The number of changes that turned a case red.
fn noticed(proof: Option<&Proof>) -> usize {
    proof.map_or(0, |proof| proof.table.iter().map(|fault| fault.killed).sum())
}

/// The tests of everything that no test uses.
fn first_tests(plan: &Plan, observed: &[ObservedServer]) -> Vec<Growth> {
    let Some(suite) = plan.suites.first().map(|planned| &planned.suite) else { return Vec::new() };
    let used = used_offers(suite);
    let mut growths = Vec::new();
    for ObservedServer { name, catalog, seen } in observed {
        let (server, calls) = (&Value::Null, &Map::new());
        let page = SuitePage { name, server, calls, catalog, seen, promises: Promises::default() };
        for (tool, mut test) in page.tests_of_unused(&used) {
            if suite.servers.len() > 1 {
                test["server"] = name.as_str().into();
            }
            growths.extend(Growth::of_test(tool, &test));
        }
    }
    growths
}

/// Everything that the steps of tests ask for.
fn used_offers(suite: &Suite) -> UsedOffers {
    let mut used = UsedOffers::default();
    let steps = suite.tests.iter().flat_map(|test| test.steps.iter()).map(|step: &Step| &step.action);
    for action in steps {
        if let Action::Call { tool, .. } = action {
            used.tools.insert(tool.to_text());
        } else if let Action::Read { uri } = action {
            used.resources.insert(uri.to_text());
        } else if let Action::Prompt { name, .. } = action {
            used.prompts.insert(name.to_text());
        }
    }
    used
}

/// A test of its own calls tools that may change data.
fn may_write(growth: &Growth, observed: &[ObservedServer]) -> bool {
    let tools = || observed.iter().flat_map(|server| &server.catalog.tools);
    let writes = |name: &str| tools().any(|tool: &Tool| tool.name == name && !tool.only_reads());
    growth.at.is_none() && growth.calls().into_iter().any(writes)
}

/// The tools of a server that no test could be made for, by reason.
fn untested(server: &ObservedServer) -> Vec<String> {
    let mut reasons: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for (tool, reason) in &server.seen.untested {
        let words = match reason {
            UntestedReason::Hazard => {
                "may change or destroy data; name them under `allow:`, or mark the server with `scratch: true`"
                    .to_owned()
            }
            UntestedReason::TaskOnly => "served as a task only".to_owned(),
            UntestedReason::Refused(words) => {
                format!("refused all that was tried; give `arguments:` ({})", shorten(words, LONGEST_REFUSAL))
            }
            UntestedReason::Lacking(words) => {
                format!("need what this machine lacks ({})", shorten(words, LONGEST_REFUSAL))
            }
            UntestedReason::Limited(words) => {
                format!("limit how often they are called ({})", shorten(words, LONGEST_REFUSAL))
            }
            UntestedReason::Secret => "take a secret; write a test with `{{ env.NAME }}` in its place".to_owned(),
            UntestedReason::TooLong => "answer more than can be expected".to_owned(),
            UntestedReason::Silent => "did not answer".to_owned(),
        };
        reasons.entry(words).or_default().push(tool);
    }
    reasons.into_iter().map(|(words, tools)| format!("{}: {words}", names(&tools))).collect()
}

/// The tools, prompts and resources that are still used by no case.
fn uncalled(proof: &Proof) -> Vec<String> {
    let kinds =
        [(SubjectKind::Prompt, "prompts that no test gets"), (SubjectKind::Resource, "resources that no test reads")];
    let line = |(kind, words): (SubjectKind, &str)| {
        let unused = proof.table.iter().filter(|one| one.subject.kind == kind && one.verdict == Verdict::NotCalled);
        let found: BTreeSet<&str> = unused.map(|one| one.subject.name.as_str()).collect();
        let found: Vec<&str> = found.into_iter().collect();
        (!found.is_empty()).then(|| format!("{words}: {}", names(&found)))
    };
    kinds.into_iter().filter_map(line).collect()
}

fn names(names: &[&str]) -> String {
    let shown = names.iter().take(MOST_NAMES).copied().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(MOST_NAMES) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// `13% of variants proven (4/30), 70 survivors`.
fn figures(proof: Option<&Proof>) -> String {
    let Some(proof) = proof else { return "nothing proven".to_owned() };
    let survived = MutantCounts::of(&proof.mutants).survived;
    let (percent, variants) = (proof.proven.percent, &proof.proven.variants);
    format!("{percent:.0}% of variants proven ({variants}) and {}", count(survived, "survivor"))
}

fn round_sentence(added: &Added, before: Option<&Proof>, after: &Proof) -> String {
    let percent = |proof: Option<&Proof>| proof.map_or(0.0, |proof| proof.proven.percent);
    format!(
        "{} and {} more: {:.0}% → {:.0}% of variants proven",
        count(added.tests, "test"),
        count(added.expectations, "expectation"),
        percent(before),
        percent(Some(after))
    )
}

fn count(count: usize, noun: &str) -> String {
    let noun = if count == 1 { noun.to_owned() } else { noun.replacen("kind", "kinds", 1) };
    let end = if count == 1 || noun.starts_with("kinds") { "" } else { "s" };
    format!("{count} {noun}{end}")
}

/// The number of lines that are new or changed.
fn changed_lines(before: &str, after: &str) -> usize {
    let (before, after): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let lines = difference(&before, &after, 0).concat();
    lines.iter().filter(|(side, _)| *side == LineSide::After).count()
}
