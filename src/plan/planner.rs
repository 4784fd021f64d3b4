//! One target's cases, one test or block at a time.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use super::arguments::{ConfigSource, NotCallable, only_as_task};
use super::block::Block;
use super::case::{Body, Case, Mistake, Place, Script, SessionNeed, Template};
use super::generated::{OUTPUT_SCHEMA_JUDGES, output_schema};
use super::shared_names::SharedNames;
use super::target::Target;
use super::{raw, snapshot};
use crate::event::Reason;
use crate::matching::LONGEST_WAIT;
use crate::source::template::{Names, fill_text, is_template, text_of};
use crate::source::{Located, Node, Sources, Span, did_you_mean};
use crate::suite::{
    Action, Answers, Awaited, Carrier, Handshake, NeededVariable, RestartPolicy, Row, ServerKind, Step, Suite, Test,
    ToolSelection, is_builtin,
};
use crate::wire::{Catalog, Tool};

/// Makes the cases of one target; also used to make cases once the catalog is known.
#[derive(Clone, Copy)]
pub struct Planner<'a> {
    pub(crate) suite: &'a Arc<Suite>,
    pub(crate) blocks: &'a [Block],
    pub(crate) target: &'a Target,
    pub(crate) index: usize,
    pub(crate) sources: &'a Sources,
    pub(crate) has_only: bool,
}

impl Planner<'_> {
    /// The cases of a test.
    pub(crate) fn test(&self, test: &Test) -> Vec<Case> {
        let shared = || Arc::new(test.clone());
        match (&test.extras.for_each, test.extras.rows.as_slice()) {
            (Some(_), _) => {
                vec![self.test_case(test, None, Body::Template(Box::new(Template::ForEach(shared()))))]
            }
            (None, rows) if test.extras.property.is_some() || rows.is_empty() && test.is_particular() => {
                vec![self.test_case(test, None, Body::Template(Box::new(Template::Particular(shared()))))]
            }
            (None, []) => vec![self.test_case(test, None, script(test))],
            (None, rows) => rows.iter().map(|row| self.test_case(test, Some(row), script(test))).collect(),
        }
    }

    pub(crate) fn test_case(&self, test: &Test, row: Option<&Row>, body: Body) -> Case {
        let names = row.map(|row| row.values.clone()).unwrap_or_default();
        let raw = &test.name.value;
        let name = if is_template(raw) {
            fill_text(raw, &names).map_or_else(|_| raw.clone(), |name| text_of(&name))
        } else {
            raw.clone()
        };
        let row = row.map(|row| row.name.clone());
        let mut case = self.case(&name, row, test.span, self.body_of(test, body));
        case.place.line = self.sources.place(test.name.span).1;
        case.tags.clone_from(&test.tags);
        case.names = names;
        case.fixture.clone_from(&test.extras.fixture);
        case.rule.clone_from(&test.extras.rule);
        case.handshake = test.extras.handshake;
        case.retries = test.extras.retries.unwrap_or(self.suite.options.retries);
        if let Some(answers) = &test.extras.answers {
            case.answers = Arc::clone(answers);
            case.session = SessionNeed::Own;
        }
        let is_apart = test.extras.handshake == Handshake::Skip;
        if is_apart || all_steps(test).any(|step| raw::needs_own_session(step) || hears_others(step)) {
            // The rules are known to stand for themselves; what somebody's own test leaves behind is not.
            let may_follow =
                test.extras.rule.is_some() && !all_steps(test).any(|step| matches!(step.action, Action::Restart));
            case.session = case.session.max(if may_follow { SessionNeed::InTurn } else { SessionNeed::Own });
        }
        if let Body::Script(script) = &mut case.body {
            snapshot::place(script, self.suite, self.target, test, case.row.as_deref());
        }
        case.variants.extend(judged_variants(test));
        case.variants.extend(self.bounds_a_call(test).then(|| "TIMEOUT-HANG".to_owned()));
        case.variants.extend(self.bounds_a_start(test).then(|| "TIMEOUT-STARTUP-HANG".to_owned()));
        case.probes.extend(test.extras.probes.iter().map(|probe| (*probe).to_owned()));
        if !case.variants.is_empty() && all_steps(test).any(|step| step.cancel.is_some()) {
            case.probes.insert("fault-recovery".to_owned());
        }
        let calls =
            |step: &Step| matches!(step.action, Action::Call { .. }) && !step.is_answered_by(&test.extras.inject);
        if test.extras.output_schema.is_some() && test.steps.iter().any(calls) {
            case.probes.insert("output-schema".to_owned());
            case.variants.extend(OUTPUT_SCHEMA_JUDGES.map(str::to_owned));
        }
        if !test.extras.inject.is_empty() {
            let judges = !case.variants.is_empty() || test.extras.recovery.is_some();
            case.probes.extend(judges.then(|| "fault-recovery".to_owned()));
            case.session = SessionNeed::Own;
            case.inject = Arc::clone(&test.extras.inject);
            case.recovery = test.extras.recovery.map(Box::new);
        }
        self.take_judges(test, &mut case);
        case
    }

    /// The variants that the cases of a test can judge.
    pub(crate) fn judged_by(&self, test: &Test) -> SharedNames {
        self.test_case(test, None, Body::skipped(Reason::NothingExpanded)).variants
    }

    /// The kind of transport to the server; `None` if that is not known.
    pub(crate) fn carrier(&self) -> Option<Carrier> {
        let server = self.suite.servers.get(&self.target.server)?;
        Some(if let ServerKind::Url(_) = server.kind { Carrier::Http } else { Carrier::Stdio })
    }

    /// Returns true if a test gives a call a time of its own, and so says when it hangs; built-in tests only keep calls
    /// short.
    fn bounds_a_call(&self, test: &Test) -> bool {
        let is_bounded = |step: &Step| {
            let is_call = matches!(step.action, Action::Call { .. });
            is_call && step.timeout.is_some_and(is_waited_for) && step.awaits == Awaited::Answer
        };
        !is_builtin(self.sources.file(test.span.source)) && test.steps.iter().any(is_bounded)
    }

    /// Returns true if a test starts a server of its own, in a suite that says how long a start may take.
    fn bounds_a_start(&self, test: &Test) -> bool {
        let is_bounded = self.suite.options.start_timeout.is_some_and(is_waited_for)
            && !is_builtin(self.sources.file(test.span.source));
        let restarts = || all_steps(test).any(|step| matches!(step.action, Action::Restart));
        is_bounded && restarts()
    }

    /// Counts `judges:` of a built-in test as fact, since its definition says so, and that of any other as a claim.
    fn take_judges(&self, test: &Test, case: &mut Case) {
        let judges = test.extras.judges.iter().map(|variant| variant.value.clone());
        if judges.len() > 0 && is_builtin(self.sources.file(test.span.source)) {
            case.variants.extend(judges);
        } else {
            case.claims = judges.filter(|variant| !case.variants.contains(variant)).collect();
        }
    }

    fn body_of(&self, test: &Test, body: Body) -> Body {
        if let Some(reason) = &test.extras.skip {
            return Body::skipped(Reason::SkippedBySuite(reason.clone()));
        }
        if let Some(reason) = self.passed_over().filter(|_| test.extras.only.is_none()) {
            return Body::skipped(reason);
        }
        if let Some(reason) = self.unset_variable(&test.extras.needed_variables) {
            return Body::skipped(reason);
        }
        let unfit = self.unfit(all_steps(test)).or_else(|| self.unfit_for_faults(test));
        match unfit.or_else(|| self.reason_against_all()) {
            Some(reason) => Body::skipped(reason),
            None => body,
        }
    }

    /// Why nothing runs that is not marked `only`.
    pub(crate) fn passed_over(&self) -> Option<Reason> {
        self.has_only.then(|| Reason::SkippedBySuite("another test is marked `only`".to_owned()))
    }

    /// Why no case of the suite can run: it or its server needs a variable that is not set, or its setup cannot run, without
    /// which a server is not what the cases take it for.
    pub(crate) fn reason_against_all(&self) -> Option<Reason> {
        let of_server = self.suite.servers.get(&self.target.server).map_or(&[][..], |server| &server.needs);
        let unset = self.unset_variable(&self.suite.needs).or_else(|| self.unset_variable(of_server));
        unset.or_else(|| self.unfit(self.suite.setup.iter().chain(&self.suite.teardown)))
    }

    fn unset_variable(&self, needed: &[NeededVariable]) -> Option<Reason> {
        NeededVariable::unmet(needed, self.suite.environment.as_deref()?).map(Reason::NotGiven)
    }

    /// Why steps cannot run on the target's server.
    fn unfit<'a>(&self, mut steps: impl Iterator<Item = &'a Step>) -> Option<Reason> {
        let server = self.suite.servers.get(&self.target.server)?;
        steps.find_map(|step| raw::unfit(step, server)).map(Reason::NotApplicable)
    }

    /// Why the faults of a test cannot strike the target's server.
    fn unfit_for_faults(&self, test: &Test) -> Option<Reason> {
        let server = self.suite.servers.get(&self.target.server)?;
        let is_elsewhere = matches!(&server.kind, ServerKind::Url(http) if http.command.is_none());
        let fault = test.extras.inject.iter().find(|fault| is_elsewhere && fault.needs_process())?;
        let name = fault.name();
        Some(Reason::NotApplicable(format!(
            "the fault `{name}` needs a server with a `command`, whose process it stops"
        )))
    }

    /// A case with a name and a place and the target's defaults.
    pub(crate) fn case(&self, name: &str, row: Option<String>, span: Span, body: Body) -> Case {
        let (file, line, column) = self.sources.place(span);
        let last = self.sources.file(span.source).position((span.end as usize).saturating_sub(1)).0;
        let mut probes = SharedNames::default();
        let is_per_test = self.suite.options.restart_policy == RestartPolicy::PerTest;
        if is_per_test && !matches!(body, Body::Skipped(_)) {
            probes.insert("test-isolation".to_owned());
        }
        // Cases that share a session would take one another's turns.
        let is_alone = is_per_test || takes_turns(&self.suite.answers);
        let session = if is_alone { SessionNeed::Own } else { SessionNeed::Shared };
        Case {
            id: self.id(name, row.as_deref()),
            name: name.to_owned(),
            row,
            target: self.index,
            position: Vec::new(),
            span,
            place: Place { file: file.to_owned(), line, last_line: last.max(line), column },
            tags: Vec::new(),
            probes,
            variants: SharedNames::default(),
            claims: SharedNames::default(),
            names: Names::new(),
            offered: Arc::default(),
            fixture: None,
            answers: Arc::clone(&self.suite.answers),
            session,
            handshake: Handshake::Perform,
            inject: Arc::default(),
            recovery: None,
            rule: None,
            is_derived: false,
            is_early: false,
            known: None,
            retries: self.suite.options.retries,
            body,
        }
    }

    /// Why generated calls leave a tool out; `None` where it may be called.
    pub(crate) fn left_out(&self, tool: &Tool) -> Option<Reason> {
        if tool.is_task_only() {
            return Some(Reason::NotApplicable(only_as_task(tool)));
        }
        self.hazard(tool)
    }

    /// Why a tool must not be called.
    pub(crate) fn hazard(&self, tool: &Tool) -> Option<Reason> {
        let hazard = self.suite.hazard(&self.target.server, tool)?;
        Some(NotCallable::Hazard(hazard).skip_reason(&tool.name, ConfigSource::of(self.suite)))
    }

    /// A failed case for every name and pattern of a selection that no tool of the server answers to.
    pub(crate) fn unknown_tools(&self, template: &Case, tools: &ToolSelection, catalog: &Catalog) -> Vec<Case> {
        let offered: Vec<&str> = catalog.tools.iter().map(|tool| tool.name.as_str()).collect();
        tools
            .idle(&offered)
            .map(|name| {
                let body = Body::failed(unknown_tool(name, &offered));
                let mut case = self.case(&format!("{} / {}", template.name, name.value), None, name.span, body);
                case.tags.clone_from(&template.tags);
                case.place.clone_from(&template.place);
                case.probes.clone_from(&template.probes);
                case
            })
            .collect()
    }

    /// Numbers cases whose id another case has already, so that a report, a filter and `--last-failed` mean one case;
    /// `is_known` tells of ids beside those that are `taken`.
    pub(crate) fn number(&self, cases: &mut [Case], taken: &mut BTreeSet<String>, is_known: &dyn Fn(&str) -> bool) {
        for case in cases {
            let (name, row) = (case.name.clone(), case.row.clone());
            for number in 2.. {
                if !is_known(&case.id) && taken.insert(case.id.clone()) {
                    break;
                }
                match &row {
                    Some(row) => case.row = Some(format!("{row}#{number}")),
                    None => case.name = format!("{name}#{number}"),
                }
                case.id = self.id(&case.name, case.row.as_deref());
            }
        }
    }

    pub(crate) fn id(&self, name: &str, row: Option<&str>) -> String {
        let row = row.map(|row| format!("[{row}]")).unwrap_or_default();
        format!("{}::{name}{row}@{}/{}", self.suite.file, self.target.server, self.target.protocol.as_str())
    }
}

pub(crate) fn unknown_tool(name: &Located<String>, offered: &[&str]) -> Mistake {
    let is_pattern = name.value.contains(['*', '?', '[', '{']);
    let message = if is_pattern {
        format!("no tool that the server offers matches `{}`", name.value)
    } else {
        format!("the server lists no tool `{}`", name.value)
    };
    let help = did_you_mean(&name.value, offered.iter().copied());
    Mistake { code: "unknown-tool", message, help, span: name.span }
}

/// A wait that ends while somebody still waits for it.
fn is_waited_for(time: Duration) -> bool {
    time <= LONGEST_WAIT
}

/// The variants that a test judges with its steps, but for what they expect of answers that its own faults may make.
fn judged_variants(test: &Test) -> BTreeSet<String> {
    if test.extras.inject.is_empty() {
        return raw::judged_variants(&test.steps);
    }
    let without_own = |step: &Step| {
        if step.is_answered_by(&test.extras.inject) {
            Step { expect: Vec::new(), snapshot: None, ..step.clone() }
        } else {
            step.clone()
        }
    };
    raw::judged_variants(&test.steps.iter().map(without_own).collect::<Vec<_>>())
}

/// The steps of a test, with those that run during others.
fn all_steps(test: &Test) -> impl Iterator<Item = &Step> {
    test.extras
        .setup
        .iter()
        .chain(&test.extras.preconditions)
        .chain(&*test.steps)
        .chain(&test.extras.verify)
        .chain(&test.extras.teardown)
        .flat_map(with_inner)
}

fn with_inner(step: &Step) -> Vec<&Step> {
    std::iter::once(step).chain(step.action.during().iter().flat_map(with_inner)).collect()
}

/// Returns true if several answers are given in turn.
fn takes_turns(answers: &Answers) -> bool {
    [&answers.sampling, &answers.elicitation].into_iter().flatten().any(|node| node.items().len() > 1)
}

/// Returns true if a step looks at notifications that, on a shared session, may be those of other cases. Progress that
/// was asked for has a token of its own.
fn hears_others(step: &Step) -> bool {
    step.expect.iter().any(|item| looks_at_notifications(item.node(), step.progress))
}

fn looks_at_notifications(item: &Node, has_progress: bool) -> bool {
    item.entries().iter().any(|(key, value)| match key.value.as_str() {
        "notifications" => !has_progress || value.get("method").and_then(Node::text) != Some("notifications/progress"),
        "assert" => value.text().is_some_and(|expression| expression.contains("notifications")),
        "not" => looks_at_notifications(value, has_progress),
        "all" | "any" => value.items().iter().any(|item| looks_at_notifications(item, has_progress)),
        _ => false,
    })
}

pub(crate) fn script(test: &Test) -> Body {
    if !test.extras.scans.is_empty() {
        return Body::Scan(test.extras.scans.iter().map(|code| code.value.clone()).collect());
    }
    Body::Script(Box::new(script_of(test)))
}

/// A test's own steps; `output_schema: true` becomes an expectation of every call.
pub(crate) fn script_of(test: &Test) -> Script {
    let extras = &test.extras;
    let mut steps = Arc::clone(&test.steps);
    if !extras.verify.is_empty() {
        steps = steps.iter().chain(&extras.verify).cloned().collect();
    }
    if let Some(span) = extras.output_schema {
        let calls = Arc::make_mut(&mut steps).iter_mut().filter(|step| matches!(step.action, Action::Call { .. }));
        calls.for_each(|step| step.expect.push(output_schema(span)));
    }
    Script {
        setup: extras.setup.clone(),
        preconditions: extras.preconditions.clone(),
        steps,
        teardown: extras.teardown.clone(),
        ..Script::default()
    }
}
