//! SARIF 2.1.0, for code scanning: findings at the lines of the suite that expect something else.
//!
//! A rule is the code of a finding, or the variant that a surviving mutant imitates.
//! Known findings are listed as suppressed; cases that passed or were skipped are left out.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use crate::event::{CaseResult, Finding, FindingKind, MutantResult, Outcome, RequirementLevel, Severity};
use crate::source::{FNV, PathStyle, fnv, hash_text, visible};

use super::fold::Report;
use super::json_text::{self, Layout};
use super::wording::{self, SourceLocation};
use super::{Format, limit, proven};

pub(crate) const FORMAT: Format = Format {
    name: "sarif",
    about: "SARIF 2.1.0, for code scanning: findings at the lines of the suites",
    shows_passed: false,
    render: |report, _| json_text::write(&document(report), Layout::Indented) + "\n",
};

/// The path of a finding without a file; code scanning wants one.
const NO_FILE: &str = "no-file";
/// The most results that code scanning takes of a run:
/// <https://docs.github.com/en/code-security/code-scanning/integrating-with-code-scanning/sarif-support-for-code-scanning>.
const MOST_RESULTS: usize = 25_000;
/// The longest value in a message.
const VALUE: usize = 400;

fn document(report: &Report) -> Value {
    let mut rules = SarifRules::default();
    let mut fingerprints = Fingerprints::default();
    let mut results = Vec::new();
    for suite in report.suites() {
        for case in suite.sessions.iter().chain(suite.cases.iter().copied()) {
            results.extend(of_case(report, case, &mut rules, &mut fingerprints));
        }
    }
    if let Some(proof) = report.run_finished().and_then(|run| run.proof.as_deref()) {
        results.extend(proven::survivors(proof).into_iter().map(|mutant| survivor(report, mutant, &mut rules)));
    }
    let program = report.run_started().map_or("mcprove", |run| run.program.as_str());
    let version = program.strip_prefix("mcprove ").unwrap_or(program);
    let taxonomy = report.run_finished().and_then(|run| run.coverage.as_ref()).map(|found| &found.declared.taxonomy);
    let left_out = worst(&mut results);
    let successful = report.run_finished().is_some_and(|run| !run.interrupted) && report.totals().errored == 0;
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {"name": "mcprove", "version": version, "rules": rules.to_json()}},
            "invocations": [invocation(successful, left_out)],
            "columnKind": "unicodeCodePoints",
            "properties": {"taxonomy": taxonomy},
            "results": results,
        }],
    })
}

/// Keeps as many results as code scanning takes, the worst ones; returns how many are left out.
fn worst(results: &mut Vec<Value>) -> usize {
    let left_out = results.len().saturating_sub(MOST_RESULTS);
    if left_out > 0 {
        let levels = ["error", "warning", "note"];
        results
            .sort_by_key(|result| levels.iter().position(|level| result["level"] == **level).unwrap_or(levels.len()));
        results.truncate(MOST_RESULTS);
    }
    left_out
}

fn invocation(successful: bool, left_out: usize) -> Value {
    let mut invocation = json!({"executionSuccessful": successful});
    if left_out > 0 {
        let text = format!("{left_out} more results are left out, since code scanning takes {MOST_RESULTS}");
        invocation["toolExecutionNotifications"] = json!([{"level": "warning", "message": {"text": text}}]);
    }
    invocation
}

fn of_case(report: &Report, case: &CaseResult, rules: &mut SarifRules, fingerprints: &mut Fingerprints) -> Vec<Value> {
    match case.outcome {
        Outcome::Passed | Outcome::Skipped => return Vec::new(),
        Outcome::Failed | Outcome::Warned | Outcome::Errored | Outcome::Inconclusive => {}
    }
    if case.findings.is_empty() {
        let code = if case.outcome == Outcome::Inconclusive { "inconclusive" } else { "errored" };
        let reason = case.reason.as_ref().map(ToString::to_string).unwrap_or_default();
        return vec![result(report, case, &Finding::new(code, reason), rules, fingerprints)];
    }
    case.findings.iter().map(|finding| result(report, case, finding, rules, fingerprints)).collect()
}

fn result(
    report: &Report,
    case: &CaseResult,
    finding: &Finding,
    rules: &mut SarifRules,
    fingerprints: &mut Fingerprints,
) -> Value {
    let level = match (case.outcome, finding.level, finding.how_bad()) {
        (Outcome::Inconclusive, _, _) => "none",
        // Whatever fails a case is an error, however little harm it does.
        (Outcome::Failed, RequirementLevel::Must, _)
        | (_, RequirementLevel::Must, Severity::Medium | Severity::High | Severity::Critical) => "error",
        (_, RequirementLevel::Should, _) | (_, _, Severity::Low) => "warning",
    };
    let kind = if case.outcome == Outcome::Inconclusive { "open" } else { "fail" };
    let mut result = json!({
        "ruleId": rule_id(case, finding),
        "ruleIndex": rules.index(case, finding),
        "kind": kind,
        "level": level,
        "message": {"text": message(case, finding)},
        "locations": [location(&wording::place(report, case, Some(finding)), &case.case.id, &case.case.name)],
        "partialFingerprints": {"mcproveCase/v1": fingerprints.of(case, finding)},
        "properties": {
            "case": visible(&case.case.id),
            "server": visible(&case.case.server),
            "revision": if case.protocol_revision.is_empty() { &case.case.revision } else { &case.protocol_revision },
            "again": visible(&case.rerun_command),
        },
    });
    if case.outcome == Outcome::Failed {
        let identity = case.identity(finding);
        result["partialFingerprints"]["mcproveFinding/v1"] = identity.id.into();
        result["properties"]["kind"] = identity.kind.as_str().into();
        result["properties"]["severity"] = finding.how_bad().as_str().into();
    }
    if let (Some(reason), Some(result)) = (&finding.baseline_reason, result.as_object_mut()) {
        let suppression = json!({"kind": "external", "status": "accepted", "justification": visible(reason)});
        result.insert("suppressions".to_owned(), json!([suppression]));
    }
    result
}

/// A mutant that nobody noticed: nothing is wrong with the server, so it is no more than a note.
fn survivor(report: &Report, mutant: &MutantResult, rules: &mut SarifRules) -> Value {
    let file = wording::suite_of(report, mutant).unwrap_or_default();
    let mut text = format!("the mutant {} survived: {}", mutant.id, proven::could(mutant));
    if let Some(missing) = mutant.missing.first() {
        let _ = write!(text, "\nadd:\n{}", limit::cut_to(missing.yaml.trim_end(), VALUE * 4));
    }
    let rule = format!("Nothing in the suite notices this fault of a server: {}.", mutant.variant);
    let tools: Vec<String> = proven::survived_at(mutant).map(|at| visible(&at).into_owned()).collect();
    json!({
        "ruleId": mutant.variant,
        "ruleIndex": rules.place(&mutant.variant, || rule),
        "kind": "fail",
        "level": "note",
        "message": {"text": plain(&text)},
        "locations": [location(&SourceLocation { file, line: 1, column: None, end_column: None }, &mutant.id, &mutant.id)],
        "partialFingerprints": {"mcproveMutant/v1": hash_text(fnv(FNV, format!("{file}#{}", mutant.id).as_bytes()))},
        "properties": {"mutant": mutant.id, "leaf": mutant.leaf, "tools": tools},
    })
}

fn message(case: &CaseResult, finding: &Finding) -> String {
    let mut text = format!("{}: {}", wording::name(&case.case, false), finding.message);
    for (label, value) in
        [("at", &finding.path), ("expected", &finding.expected), ("actual", &finding.actual), ("help", &finding.help)]
    {
        if let Some(value) = value {
            let _ = write!(text, "\n{label}: {}", limit::cut_to(value, VALUE));
        }
    }
    plain(&text)
}

/// A message without links, which square brackets would be.
fn plain(text: &str) -> String {
    visible(text).replace('\\', "\\\\").replace('[', "\\[").replace(']', "\\]")
}

/// The place of something, or its name if it is written in no file.
fn location(place: &SourceLocation<'_>, id: &str, name: &str) -> Value {
    if place.file.is_empty() {
        return json!({
            "logicalLocations": [{"name": visible(name), "fullyQualifiedName": visible(id), "kind": "member"}],
            // Code scanning refuses results without a file and a line.
            "physicalLocation": {"artifactLocation": {"uri": NO_FILE}, "region": {"startLine": 1}},
            "message": {"text": "no file belongs to this result: the server was named on the command line"},
        });
    }
    let mut region = Map::new();
    region.insert("startLine".to_owned(), place.line.max(1).into());
    region.extend(place.column.map(|column| ("startColumn".to_owned(), column.max(1).into())));
    region.extend(place.end_column.map(|column| ("endColumn".to_owned(), column.into())));
    let artifact = artifact(place.file);
    json!({"physicalLocation": {"artifactLocation": artifact, "region": region}})
}

fn artifact(file: &str) -> Value {
    if let Some(uri) = PathStyle::HERE.file_uri(file) {
        return json!({"uri": uri});
    }
    let path = PathStyle::HERE.relative_uri(file.strip_prefix("./").unwrap_or(file));
    json!({"uri": path, "uriBaseId": "%SRCROOT%"})
}

/// The kind and severity of a finding.
struct SarifSeverity {
    kind: FindingKind,
    severity: Severity,
    /// It is about security: only such a rule may say how bad it is for that.
    is_of_security: bool,
}

impl SarifSeverity {
    fn of(case: &CaseResult, finding: &Finding) -> Self {
        let variants = &case.case.variants;
        let has_only = !variants.is_empty() && variants.iter().all(|variant| variant.starts_with("SECURITY-"));
        // A flow between servers is no variant of one server.
        let is_of_security = has_only || finding.code.info().is_of_security;
        Self { kind: case.kind_of(finding), severity: finding.how_bad(), is_of_security }
    }

    /// The order of severities, the worst last: a rule that is about security once stays so.
    fn rank(&self) -> impl Ord + use<> {
        (self.is_of_security, self.severity)
    }

    fn properties(&self) -> Value {
        let kind = self.kind.as_str();
        if self.is_of_security {
            return json!({"tags": [kind, "security"], "security-severity": score(self.severity)});
        }
        let problem = if self.severity == Severity::Low { "warning" } else { "error" };
        json!({"tags": [kind], "problem.severity": problem})
    }
}

/// The rules in the order in which they were met.
#[derive(Default)]
struct SarifRules {
    codes: Vec<ReportedRule>,
}

/// A rule with results in the document.
struct ReportedRule {
    id: String,
    help: String,
    link: Option<String>,
    /// The kind and severity of its worst finding; `None` if it is about no finding of a server.
    weight: Option<SarifSeverity>,
}

impl SarifRules {
    fn index(&mut self, case: &CaseResult, finding: &Finding) -> usize {
        let rule = case.case.rule.as_deref();
        let at = self.place(&rule_id(case, finding), || {
            rule.map_or_else(|| help(case, finding), |rule| format!("“{}”", rule.quote))
        });
        self.codes[at].link = rule.map(|rule| rule.link.clone());
        if case.outcome == Outcome::Failed {
            let (weight, new) = (&mut self.codes[at].weight, SarifSeverity::of(case, finding));
            if weight.as_ref().is_none_or(|known| known.rank() < new.rank()) {
                *weight = Some(new);
            }
        }
        at
    }

    fn place(&mut self, code: &str, help: impl FnOnce() -> String) -> usize {
        let known = self.codes.iter().position(|known| known.id == code);
        known.unwrap_or_else(|| {
            self.codes.push(ReportedRule { id: code.to_owned(), help: help(), link: None, weight: None });
            self.codes.len() - 1
        })
    }

    fn to_json(&self) -> Vec<Value> {
        let rule = |ReportedRule { id, help, link, weight }: &ReportedRule| {
            let text = json!({"text": help});
            let mut rule = json!({"id": id, "shortDescription": text, "fullDescription": text, "help": text});
            if let Some(link) = link {
                rule["helpUri"] = link.clone().into();
            }
            if let Some(weight) = weight {
                rule["properties"] = weight.properties();
            }
            rule
        };
        self.codes.iter().map(rule).collect()
    }
}

/// The number for a severity, from the middle of what code scanning takes for it.
fn score(severity: Severity) -> &'static str {
    match severity {
        Severity::Low => "2.0",
        Severity::Medium => "5.5",
        Severity::High => "8.0",
        Severity::Critical => "9.5",
    }
}

/// The rule of the specification that a case stands for, or the code of what was found.
fn rule_id(case: &CaseResult, finding: &Finding) -> String {
    let rule = case.case.rule.as_deref();
    rule.map_or_else(|| finding.code.to_string(), |rule| format!("{}/{}", rule.revision, rule.id))
}

/// The description of a code, in one sentence.
fn help(case: &CaseResult, finding: &Finding) -> String {
    let code = &finding.code;
    match (finding.class, case.outcome) {
        (Some(class), _) => format!("The conversation with the server broke: {class}."),
        (None, Outcome::Inconclusive) if case.findings.is_empty() => "The case ran and could not be judged.".to_owned(),
        (None, _) if case.findings.is_empty() => "The environment broke the case.".to_owned(),
        (None, _) if code.info().is_of_suite => {
            format!("The suite or its baseline is out of date: {}.", code.info().meaning)
        }
        (None, _) if finding.quote.is_none() || finding.level == RequirementLevel::Should => {
            format!("The server breaks a rule of the protocol: {code}.")
        }
        (None, _) => format!("The server does not answer as the suite expects: {code}."),
    }
}

/// Names of results that stay the same from run to run.
#[derive(Default)]
struct Fingerprints {
    used: BTreeMap<String, usize>,
}

impl Fingerprints {
    /// Made of the case without its revision, so that one fault seen in two revisions is one alert, and of the code.
    fn of(&mut self, case: &CaseResult, finding: &Finding) -> String {
        let id = case.case.id.rsplit_once('/').filter(|(_, revision)| !revision.contains('@'));
        let stable = id.map_or(case.case.id.as_str(), |(stable, _)| stable);
        let name = format!("{stable}#{}", finding.code);
        let key = format!("{}#{name}", case.case.id);
        let times = self.used.entry(key).or_default();
        *times += 1;
        format!("{}:{times}", hash_text(fnv(FNV, name.as_bytes())))
    }
}
