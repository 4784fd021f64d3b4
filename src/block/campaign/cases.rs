//! A case for each tool and each kind of fault that fits it.

use std::sync::Arc;

use super::Campaign;
use super::check::{CampaignCheck, CampaignFaults, is_process};
use super::effect::ToolNature;
use super::fault_kind::FaultKind;
use super::subject::CampaignSubject;
use crate::event::Reason;
use crate::plan::planner::Planner;
use crate::plan::{Body, Case, Mistake};
use crate::suite::ToolSelection;
use crate::wire::{Catalog, Tool};

/// The variants that cases of a nature judge.
pub(crate) const JUDGES: [&str; 3] = ["CONFIG-IDEMPOTENT-HINT", "CONFIG-READONLY-HINT", "STATE-LOST-UPDATE"];

/// The faults that reads must withstand, as a control: nothing may change.
const AT_READS: [FaultKind; 2] = [FaultKind::LostResponse, FaultKind::DuplicateRequest];

/// Why there is nothing to strike.
const NOTHING_TO_STRIKE: &str = "no tool of the server changes data, so no fault can harm any";

/// The number of sets of faults that are tried together at each tool.
const SETS: usize = 4;

pub(crate) fn cases(planner: &Planner<'_>, template: &Case, campaign: &Arc<Campaign>, catalog: &Catalog) -> Vec<Case> {
    let mut cases = planner.unknown_tools(template, &campaign.tools, catalog);
    let selected: Vec<&Tool> = catalog.tools.iter().filter(|tool| campaign.tools.selects(&tool.name)).collect();
    if !selected.is_empty() && selected.iter().all(|tool| tool.only_reads()) {
        let body = match campaign.tools {
            // A server without such tools is no mistake of a suite that names none.
            ToolSelection::All => Body::skipped(Reason::NotApplicable(NOTHING_TO_STRIKE.to_owned())),
            ToolSelection::Named(_) => Body::failed(nothing_to_strike(campaign)),
        };
        cases.push(planner.case(&template.name, None, campaign.span, body));
        return cases;
    }
    let mut plan = CampaignPlan { planner, template, campaign, cases, writes: 0 };
    for tool in selected.iter().filter(|tool| !tool.only_reads()) {
        plan.tool(tool, catalog);
    }
    // Reads are the control: where nothing may be written, they would pass for a verdict.
    if plan.writes > 0 {
        for tool in selected.iter().filter(|tool| tool.only_reads()) {
            plan.tool(tool, catalog);
        }
    }
    plan.cases
}

fn nothing_to_strike(campaign: &Campaign) -> Mistake {
    Mistake {
        code: "nothing-to-strike",
        message: "a campaign needs a tool that may change data, and all tools that were selected only read".to_owned(),
        help: Some("select other `tools`; faults at reads can be tested with `inject`".to_owned()),
        span: campaign.span,
    }
}

/// The cases so far.
struct CampaignPlan<'a> {
    planner: &'a Planner<'a>,
    template: &'a Case,
    campaign: &'a Arc<Campaign>,
    cases: Vec<Case>,
    /// The number of them that strike a tool that may change data.
    writes: usize,
}

impl CampaignPlan<'_> {
    fn tool(&mut self, tool: &Tool, catalog: &Catalog) {
        let subject = match self.planner.left_out(tool) {
            Some(reason) => Err(reason),
            None => CampaignSubject::of(self.planner, catalog, tool),
        };
        let subject = match subject {
            Ok(subject) => Arc::new(subject),
            Err(reason) => {
                self.cases.push(self.case(&tool.name, Body::skipped(reason)));
                return;
            }
        };
        if subject.nature != ToolNature::Reads && !self.is_process() && !self.campaign.has_all_faults {
            for kind in self.campaign.faults.iter().filter(|kind| kind.needs_process()) {
                let why = format!("`{}` needs a server with a `command`, whose process it strikes", kind.as_str());
                let name = format!("{}, {}", tool.name, kind.as_str());
                self.cases.push(self.case(&name, Body::skipped(Reason::NotApplicable(why))));
            }
        }
        for faults in faults_for(self.campaign, subject.nature, self.is_process()) {
            self.writes += usize::from(subject.nature != ToolNature::Reads);
            let name = format!("{}, {}", tool.name, faults.text());
            let check = CampaignCheck {
                campaign: Arc::clone(self.campaign),
                subject: Arc::clone(&subject),
                faults,
                order: self.cases.len(),
            };
            let mut case = self.case(&name, Body::Check(Arc::new(check)));
            case.variants.extend(judged_variants(subject.nature).map(str::to_owned));
            self.cases.push(case);
        }
    }

    fn case(&self, name: &str, body: Body) -> Case {
        let mut case = self.planner.case(&format!("{}: {name}", self.template.name), None, self.campaign.span, body);
        case.probes.extend(self.template.probes.iter().cloned());
        case
    }

    fn is_process(&self) -> bool {
        is_process(self.planner.suite, &self.planner.target.server)
    }
}

/// The faults for a tool of that nature: each that fits, and sets of them where calls may be repeated.
fn faults_for(campaign: &Campaign, nature: ToolNature, is_process: bool) -> Vec<CampaignFaults> {
    let chosen =
        |kind: &FaultKind| campaign.faults.contains(kind) && kind.fits(nature) && (is_process || !kind.needs_process());
    if nature == ToolNature::Reads {
        let kinds: Vec<FaultKind> = AT_READS.into_iter().filter(chosen).collect();
        return if kinds.is_empty() { Vec::new() } else { vec![CampaignFaults::InTurn(kinds)] };
    }
    let fitting: Vec<FaultKind> = FaultKind::ALL.into_iter().filter(chosen).collect();
    let mut faults: Vec<CampaignFaults> = fitting.iter().map(|kind| CampaignFaults::One(*kind)).collect();
    if nature.may_be_repeated() && campaign.together > 1 && !fitting.is_empty() {
        faults.push(CampaignFaults::Drawn { from: fitting, times: SETS });
    }
    faults
}

/// The variants that the cases of a tool judge.
fn judged_variants(nature: ToolNature) -> impl Iterator<Item = &'static str> {
    let judged = match nature {
        ToolNature::Reads => &JUDGES[1..2],
        ToolNature::Idempotent => &[JUDGES[0], JUDGES[2]][..],
        ToolNature::Plain => &JUDGES[2..],
    };
    judged.iter().copied()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::block::tests::{check_lines, planned};
    use crate::source::{SourceFile, Sources, parse};

    fn campaign(settings: &str) -> Campaign {
        let mut sources = Sources::default();
        let source = sources.add(SourceFile::new("suite.yml", settings));
        super::super::read_campaign(&parse(&sources, source).unwrap(), &mut Vec::new()).unwrap()
    }

    #[test]
    fn faults_fit_the_hints_of_tools_and_their_server() {
        use ToolNature::{Idempotent, Plain, Reads};
        let all = "{ seed: 1 }";
        for (settings, nature, is_process, expected) in [
            (all, Reads, true, &["only reads"][..]),
            (all, Plain, false, &["lost_response", "lost_request", "late_answer", "error", "garbage"]),
            ("{ faults: [kill, pause] }", Plain, true, &["kill", "pause"]),
            ("{ faults: [kill, pause] }", Plain, false, &[]),
            ("{ faults: [duplicate_request] }", Plain, true, &[]),
            ("{ faults: [duplicate_request] }", Idempotent, true, &["duplicate_request", "together"]),
            ("{ faults: [error], together: 1 }", Idempotent, true, &["error"]),
            ("{ faults: [garbage] }", Reads, true, &[]),
        ] {
            let faults = faults_for(&campaign(settings), nature, is_process);
            let names: Vec<&str> = faults.iter().map(CampaignFaults::text).collect();
            assert_eq!(names, expected, "{settings} {nature:?} {is_process}");
        }
    }

    #[test]
    fn cases_judge_the_hints_of_their_tool() {
        let judged = |nature| judged_variants(nature).collect::<Vec<_>>();
        assert_eq!(judged(ToolNature::Reads), ["CONFIG-READONLY-HINT"]);
        assert_eq!(judged(ToolNature::Idempotent), ["CONFIG-IDEMPOTENT-HINT", "STATE-LOST-UPDATE"]);
        assert_eq!(judged(ToolNature::Plain), ["STATE-LOST-UPDATE"]);
    }

    #[test]
    fn a_campaign_strikes_what_may_change_data_and_tries_reads_beside_it() {
        let schema = json!({"type": "object"});
        let tool = |name: &str, hints: Value| json!({"name": name, "inputSchema": schema, "annotations": hints});
        let (reads, adds) =
            (tool("get_user", json!({})), tool("add_user", json!({"readOnlyHint": false, "destructiveHint": false})));
        let deletes = tool("delete_user", json!({}));
        let process = "server: { command: [node, server.js] }";
        for (server, block, tools, expected) in [
            (
                process,
                "{ faults: [kill, lost_response] }",
                json!([reads, adds]),
                &[
                    "campaign: add_user, lost_response: check",
                    "campaign: add_user, kill: check",
                    "campaign: get_user, only reads: check",
                ][..],
            ),
            (
                "server: { url: \"http://localhost:8000/mcp\" }",
                "{ faults: [kill, error] }",
                json!([adds]),
                &[
                    "campaign: add_user, kill: skipped, `kill` needs a server with a `command`",
                    "campaign: add_user, error: check",
                ],
            ),
            // A control without anything to strike would pass for a verdict.
            (
                process,
                "{ tools: [get_user], faults: [error] }",
                json!([reads]),
                &["campaign: nothing-to-strike, a campaign needs a tool"],
            ),
            (
                process,
                "{ faults: [error] }",
                json!([reads]),
                &["campaign: skipped, no tool of the server changes data, so no fault can harm any"],
            ),
            (process, "{ faults: [lost_response] }", json!([deletes, reads]), &["campaign: delete_user: skipped"]),
            (
                process,
                "{ tools: [add_usr], faults: [error] }",
                json!([adds]),
                &["campaign / add_usr: unknown-tool, the server lists no tool `add_usr`"],
            ),
        ] {
            let lines =
                planned(&format!("{{ suite: s, allow: [add_user], {server}, campaign: {block} }}"), &[], &tools);
            check_lines(&format!("{server} {block}"), &lines, expected);
        }
    }

    #[test]
    fn the_call_of_a_test_is_struck_where_none_can_be_made_up() {
        let hints = json!({"readOnlyHint": false, "destructiveHint": false});
        // No value of `key` is valid.
        let schema = json!({"type": "object", "properties": {"key": false}, "required": ["key"]});
        let tools = json!([
            {"name": "add_user", "annotations": hints, "inputSchema": schema},
            {"name": "get_user", "inputSchema": {"type": "object"}},
        ]);
        let (struck, skipped) = ("campaign: add_user, error: check", "campaign: add_user: skipped");
        for (test, expected) in [
            ("call: get_user, expect: [{ is_error: false }]", skipped),
            ("call: add_user, args: { key: k }, expect: [{ is_error: true }]", skipped),
            ("call: add_user, args: { key: k }, expect: [{ is_error: false }]", struck),
            // Faults of the test itself are left out.
            (
                "inject: [{ type: error, on: { tools: get_user } }], steps: [{ call: add_user, args: { key: k }, expect: \
                 [{ is_error: false }] }]",
                struck,
            ),
            // A test of another server says nothing.
            ("server: b, call: add_user, args: { key: k }, expect: [{ is_error: false }]", skipped),
        ] {
            let servers = "servers: { a: { command: [a] }, b: { command: [b] } }";
            let suite = format!(
                "{{ suite: s, allow: [add_user], {servers}, tests: [{{ name: t, {test} }}], campaign: {{ faults: [error] }} }}"
            );
            let lines = planned(&suite, &[], &tools);
            assert!(lines[0].starts_with(expected), "{test}: {lines:?}");
        }
    }
}
