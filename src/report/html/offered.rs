//! Which tools a run is about: those that its servers offer, the ones that a case is about, and those that nobody called.

use std::collections::BTreeSet;

use serde_json::{Deserializer, Value};

use crate::event::{CaseResult, Exchange, Finding, Outcome, Phase, Reason, RefusedCall, SubjectKind};
use crate::report::fold::Report;

use super::NumberedCase;

/// The name that generated checks call to see that it is refused; no server offers it.
const UNKNOWN_TOOL: &str = "mcprove_no_such_tool";
/// The beginning of a name whose rest is that of a tool.
const NAMED_AFTER_TOOLS: [&str; 3] = ["fuzz: ", "output_schema: ", "valid call / "];
/// The block whose cases are about every tool, and fail for some.
const SCHEMA_LINT: &str = "schema-lint";

/// The tools of the servers of a run, as far as its events name them.
#[derive(Debug, Default)]
pub(super) struct OfferedTools {
    /// Those that a server lists.
    listed: BTreeSet<String>,
    /// Those that are not listed in any event, and were called.
    called: BTreeSet<String>,
    /// No tool is missing in the list.
    is_whole: bool,
}

/// Tools that no case called.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct UncalledTools<'a> {
    pub(super) names: Vec<&'a str>,
    /// The number of all tools, where it is known.
    pub(super) of: Option<usize>,
}

impl OfferedTools {
    pub(super) fn of(report: &Report, cases: &[NumberedCase<'_>]) -> Self {
        let mut tools = Self::default();
        let exchanges = || cases.iter().flat_map(|numbered| &numbered.case.exchanges);
        let is_list = |exchange: &&Exchange| exchange.title == "tools/list" && !exchange.received.is_empty();
        let answers: BTreeSet<(&str, &str)> =
            exchanges().filter(is_list).map(|one| (one.sent.as_str(), one.received.as_str())).collect();
        for (sent, received) in answers {
            let page = ToolPage::of(received);
            tools.is_whole |= page.is_only && !sent.contains("cursor");
            tools.listed.extend(page.names);
        }
        for chosen in report.tools_chosen() {
            tools.listed.extend(chosen.left_alone.iter().chain(&chosen.writing).cloned());
        }
        let proof = report.run_finished().and_then(|run| run.proof.as_deref());
        let proven = proof.into_iter().flat_map(|proof| &proof.table);
        let proven = proven.filter(|row| row.subject.kind == SubjectKind::Tool).map(|row| row.subject.name.clone());
        let listed = tools.listed.len();
        tools.listed.extend(proven);
        tools.is_whole |= tools.listed.len() > listed;
        for used in report.run_finished().into_iter().flat_map(|run| &run.tools) {
            tools.listed.extend(used.called.iter().chain(&used.uncalled).cloned());
            tools.is_whole = true;
        }
        // A list is that of one server.
        let servers: BTreeSet<&str> = report.servers().map(|ready| ready.server.as_str()).collect();
        tools.is_whole &= servers.len() <= 1;
        for tool in exchanges().filter_map(|one| one.tool.as_deref()) {
            if tools.may_offer(tool) && !tools.listed.contains(tool) {
                tools.called.insert(tool.to_owned());
            }
        }
        tools
    }

    /// The tools that a server lists, in order.
    pub(super) fn listed(&self) -> impl Iterator<Item = &str> {
        self.listed.iter().map(String::as_str)
    }

    /// Returns true unless it is known that no server offers the tool.
    fn may_offer(&self, tool: &str) -> bool {
        self.listed.contains(tool) || (!self.is_whole && tool != UNKNOWN_TOOL)
    }

    fn knows(&self, tool: &str) -> bool {
        self.listed.contains(tool) || self.called.contains(tool)
    }

    /// The tools that a case is about: of a generated case the one in its name, else those that its own steps call, and
    /// where these call none, the one for which it was not run, or those of its preconditions.
    pub(super) fn subjects<'a>(&self, case: &'a CaseResult) -> BTreeSet<&'a str> {
        if let Some(tool) = self.tool_in_name(case) {
            return BTreeSet::from([tool]);
        }
        let found = self.linted(case);
        if !found.is_empty() {
            return found;
        }
        let own = self.called_in(case, Some(Phase::Steps));
        if !own.is_empty() {
            return own;
        }
        if let Some(tool) = case.reason.as_ref().and_then(tool_in_reason).filter(|tool| self.knows(tool)) {
            return BTreeSet::from([tool]);
        }
        self.called_in(case, None)
    }

    /// The tool that the name of a generated case begins or ends with, or that its row is.
    fn tool_in_name<'a>(&self, case: &'a CaseResult) -> Option<&'a str> {
        let info = &case.case;
        if info.probes.is_empty() {
            return None;
        }
        if let Some(tool) = NAMED_AFTER_TOOLS.iter().find_map(|beginning| info.name.strip_prefix(beginning)) {
            return Some(tool);
        }
        let without_rule = info.rule.as_ref().and_then(|rule| info.name.strip_prefix(rule.id.as_str()));
        let name = without_rule.unwrap_or(&info.name).trim();
        let rest = name.split_once(" / ").or_else(|| name.split_once(": ")).map_or(name, |(_, rest)| rest);
        let first_word = rest.split([' ', ',', '`']).find(|word| !word.is_empty());
        let last_part = name.rsplit_once(": ").map(|(_, last)| last);
        let named = [info.row.as_deref(), last_part, first_word];
        named.into_iter().flatten().find(|tool| self.knows(tool))
    }

    /// The tools that the findings of a lint name.
    fn linted<'a>(&self, case: &'a CaseResult) -> BTreeSet<&'a str> {
        if !is_lint(case) {
            return BTreeSet::new();
        }
        let texts = |finding: &'a Finding| {
            let evidence = finding.evidence.iter().flat_map(|(_, text)| text.lines());
            evidence.chain(finding.path.as_deref()).chain([finding.message.as_str()])
        };
        let first_word = |text: &'a str| text.split([' ', '`']).find(|word| !word.is_empty());
        case.findings.iter().flat_map(texts).filter_map(first_word).filter(|word| self.knows(word)).collect()
    }

    fn called_in<'a>(&self, case: &'a CaseResult, phase: Option<Phase>) -> BTreeSet<&'a str> {
        let exchanges = case.exchanges.iter().filter(|one| phase.is_none_or(|phase| one.phase == phase));
        exchanges.filter_map(|one| one.tool.as_deref()).filter(|tool| self.may_offer(tool)).collect()
    }

    /// The listed tools that no case called. Of some cases not all requests are kept, so those that a case is about count
    /// as called; a lint calls none.
    pub(super) fn uncalled(&self, report: &Report, cases: &[NumberedCase<'_>]) -> UncalledTools<'_> {
        let exchanges = cases.iter().flat_map(|numbered| &numbered.case.exchanges);
        let spans = report.traces().flat_map(|session| &session.spans);
        let run = cases.iter().map(|numbered| numbered.case);
        let run = run.filter(|case| case.outcome != Outcome::Skipped && !is_lint(case));
        let traced: BTreeSet<&str> = spans.map(|span| span.title.as_str()).collect();
        let used = report.run_finished().into_iter().flat_map(|run| &run.tools);
        let called: BTreeSet<&str> = exchanges
            .filter_map(|one| one.tool.as_deref())
            .chain(run.flat_map(|case| self.subjects(case)))
            .chain(used.flat_map(|used| &used.called).map(String::as_str))
            .collect();
        let is_called = |tool: &&str| called.contains(tool) || traced.contains(format!("tools/call {tool}").as_str());
        let names = self.listed().filter(|tool| !is_called(tool)).collect();
        UncalledTools { names, of: self.is_whole.then_some(self.listed.len()) }
    }
}

/// Returns true for a case that looks at schemas only.
fn is_lint(case: &CaseResult) -> bool {
    case.case.probes.first().is_some_and(|probe| probe == SCHEMA_LINT)
}

/// The tool for which a case was not run or not judged.
fn tool_in_reason(reason: &Reason) -> Option<&str> {
    if let Reason::ToolNotAllowed(text) | Reason::ReadOnly(text) | Reason::NotApplicable(text) = reason {
        return text.split('`').nth(1);
    }
    if let Reason::ValidCallRefused(RefusedCall { call, .. }) | Reason::ValidCallUnanswered(call) = reason {
        return call.strip_prefix("tools/call ");
    }
    None
}

/// The tools in an answer to `tools/list`.
#[derive(Debug, Default, PartialEq, Eq)]
struct ToolPage {
    names: Vec<String>,
    /// The answer is whole, and no further page follows.
    is_only: bool,
}

impl ToolPage {
    /// Reads an answer, which may have been cut.
    fn of(answer: &str) -> Self {
        let name = |tool: &Value| tool["name"].as_str().map(str::to_owned);
        if let Ok(whole) = serde_json::from_str::<Value>(answer) {
            let result = whole.get("result").unwrap_or(&whole);
            let tools = result["tools"].as_array();
            let names = tools.into_iter().flatten().filter_map(name).collect();
            return Self { names, is_only: tools.is_some() && result["nextCursor"].is_null() };
        }
        let Some((_, mut rest)) = answer.split_once("\"tools\":[") else { return Self::default() };
        let mut names = Vec::new();
        loop {
            let mut tools = Deserializer::from_str(rest).into_iter::<Value>();
            let Some(Ok(tool)) = tools.next() else { return Self { names, is_only: false } };
            names.extend(name(&tool));
            rest = rest[tools.byte_offset()..].trim_start_matches(',');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{CallPurpose, CaseInfo, Event};
    use crate::report::tests::fixture::exchange;

    fn tools(names: &[&str], is_whole: bool) -> OfferedTools {
        OfferedTools { listed: names.iter().map(|name| (*name).to_owned()).collect(), is_whole, ..Default::default() }
    }

    /// A case that calls these tools; generated cases have a probe.
    fn case(name: &str, probe: &str, called: &[&str], reason: Option<Reason>) -> CaseResult {
        let base = CaseResult::of_test(name, if reason.is_some() { Outcome::Skipped } else { Outcome::Passed });
        let probes = Some(probe.to_owned()).filter(|probe| !probe.is_empty()).into_iter().collect();
        let exchanges = called.iter().map(|tool| exchange(tool, "{}", "{}")).collect();
        CaseResult { case: CaseInfo { probes, ..base.case.clone() }, reason, exchanges, ..base }
    }

    #[test]
    fn a_case_is_about_the_tools_that_it_names_or_calls() {
        let offered = tools(&["get_user", "add", "create_user"], true);
        let refused = || {
            let (answer, help) = ("no".to_owned(), "with `--arguments 'add={…}'`".to_owned());
            Reason::ValidCallRefused(RefusedCall {
                call: "tools/call add".to_owned(),
                answer,
                help,
                purpose: CallPurpose::Check,
            })
        };
        let not_allowed = || Reason::ToolNotAllowed("`create_user` may change data".to_owned());
        for (name, probe, called, reason, expected) in [
            ("two and two", "", &["add"][..], None, &["add"][..]),
            ("add get_user", "", &[], None, &[]),
            ("add get_user", "", &[], Some(not_allowed()), &["create_user"]),
            ("fuzz: get_user", "fuzz", &["add"], None, &["get_user"]),
            ("fuzz: get_user", "fuzz", &[], None, &["get_user"]),
            ("fuzz: unlisted", "fuzz", &[], None, &["unlisted"]),
            ("output_schema: add", "output-schema", &[], None, &["add"]),
            ("negative_path / get_user without `id`", "negative-path", &["add"], None, &["get_user"]),
            ("negative_path / unknown tool", "negative-path", &["mcprove_no_such_tool"], None, &[]),
            ("negative_path / unknown tool", "negative-path", &[], Some(refused()), &["add"]),
            ("security: ways out of the folder: add", "security", &[], None, &["add"]),
            ("get_user returns no secret", "security", &["get_user"], None, &["get_user"]),
            ("state: sessions", "test-isolation", &[], Some(not_allowed()), &["create_user"]),
            ("schema_lint: no-name", "schema-lint", &[], None, &[]),
        ] {
            let case = case(name, probe, called, reason);
            assert_eq!(offered.subjects(&case).into_iter().collect::<Vec<_>>(), expected, "{name}");
        }
    }

    #[test]
    fn a_lint_is_about_the_tools_that_it_finds() {
        let finding = Finding::new("undescribed-parameters", "no parameter is described: 2 tools");
        let found = finding.with_evidence("found", "add inputSchema: `a`\nget_user inputSchema: `id`\nand 1 more");
        let lint = CaseResult { findings: vec![found], ..case("schema_lint: x", "schema-lint", &[], None) };
        let offered = tools(&["get_user", "add", "create_user"], true);
        assert_eq!(offered.subjects(&lint), BTreeSet::from(["add", "get_user"]));
    }

    #[test]
    fn a_name_that_no_server_offers_is_no_tool() {
        for (is_whole, called, expected) in [
            (true, "add", &["add"][..]),
            (true, "ghost", &[]),
            (false, "ghost", &["ghost"]),
            (false, UNKNOWN_TOOL, &[]),
        ] {
            let found = tools(&["add"], is_whole).called_in(&case("case", "", &[called], None), None).len();
            assert_eq!(found, expected.len(), "{is_whole} {called}");
        }
    }

    #[test]
    fn tools_are_read_from_whole_and_cut_answers() {
        for (answer, names, is_only) in [
            (r#"{"tools":[{"name":"a"},{"name":"b"}]}"#, &["a", "b"][..], true),
            (r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a"}]}}"#, &["a"], true),
            (r#"{"tools":[{"name":"a"}],"nextCursor":"2"}"#, &["a"], false),
            (r#"{"tools":[{"name":"a"},{"name":"b"},{"name":"c… (99 bytes in all)"#, &["a", "b"], false),
            (r#"{"error":{"code":-32601}}"#, &[], false),
            ("no JSON", &[], false),
        ] {
            let expected = ToolPage { names: names.iter().map(|name| (*name).to_owned()).collect(), is_only };
            assert_eq!(ToolPage::of(answer), expected, "{answer}");
        }
    }

    #[test]
    fn tools_that_no_case_called_are_named() {
        let mut lists = case("tools are listed", "", &["a"], None);
        let list = r#"{"tools":[{"name":"a"},{"name":"b"},{"name":"c"}]}"#;
        lists.exchanges.push(Exchange { title: "tools/list".to_owned(), tool: None, ..exchange("", "", list) });
        let fuzzed = case("fuzz: c", "fuzz", &[], None);
        let finding = Finding::new("undescribed-parameters", "`b` has parameters without descriptions");
        let linted = CaseResult { findings: vec![finding], ..case("schema_lint: x", "schema-lint", &[], None) };
        let report = Report::of(&[lists, fuzzed, linted].map(|case| Event::CaseFinished(Box::new(case))));
        let suites = report.suites();
        let cases = super::super::number_cases(&suites);
        let offered = OfferedTools::of(&report, &cases);
        assert_eq!(offered.uncalled(&report, &cases), UncalledTools { names: vec!["b"], of: Some(3) });
    }
}
