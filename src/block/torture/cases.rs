//! One case for every tool that may be called, and one that kills the server.

use std::sync::Arc;

use super::answers::AnswersCheck;
use super::durability::DurabilityCheck;
use super::half_closed::HalfClosedCheck;
use super::lists::ListsCheck;
use super::slow_reader::SlowReaderCheck;
use super::updates::UpdatesCheck;
use super::{Torture, TortureCheck, WritePair};
use crate::event::Reason;
use crate::plan::planner::Planner;
use crate::plan::{Body, Case, Check};
use crate::source::Located;
use crate::suite::ToolSelection;
use crate::wire::{Catalog, Tool};

/// The variants that concurrent calls judge.
pub(crate) const JUDGES: [&str; 2] = [LOST_UPDATE, MISROUTED];

const LOST_UPDATE: &str = "STATE-LOST-UPDATE";
const MISROUTED: &str = "TOOL-RESULT-MISROUTED";

pub(crate) fn cases(planner: &Planner<'_>, template: &Case, settings: &Arc<Torture>, catalog: &Catalog) -> Vec<Case> {
    let mut cases = planner.unknown_tools(template, &settings.tools, catalog);
    let in_pairs = settings.pairs.iter().flat_map(names);
    cases.extend(planner.unknown_tools(template, &ToolSelection::of_names(in_pairs), catalog));
    let selected = catalog.tools.iter().filter(|tool| settings.tools.selects(&tool.name));
    let selected = selected.filter(|_| settings.checks.contains(&TortureCheck::Calls));
    cases.extend(selected.map(|tool| {
        let may_write = may_write(settings, tool);
        let body = body(planner, settings, tool, may_write, catalog);
        let name = format!("{}: {}", template.name, tool.name);
        let mut case = planner.case(&name, None, settings.span, body);
        case.variants.insert(if may_write { LOST_UPDATE } else { MISROUTED }.to_owned());
        case
    }));
    cases.extend(durability(planner, template, settings, catalog));
    cases.extend(connections(planner, template, settings, catalog));
    cases
}

/// The cases about connections and lists, whatever the tools mean.
fn connections(planner: &Planner<'_>, template: &Case, settings: &Arc<Torture>, catalog: &Catalog) -> Vec<Case> {
    let called = |writes: bool| -> Vec<String> {
        let selected = catalog.tools.iter().filter(|tool| settings.tools.selects(&tool.name));
        let called = selected
            .filter(|tool| may_write(settings, tool) == writes && refusal(planner, settings, tool, catalog).is_none());
        called.map(|tool| tool.name.clone()).collect()
    };
    let case = |check: TortureCheck, body: Arc<dyn Check>| {
        let name = format!("{}: {}", template.name, check.as_str().replace('_', " "));
        settings.checks.contains(&check).then(|| planner.case(&name, None, settings.span, Body::Check(body)))
    };
    let settings = || Arc::clone(settings);
    [
        case(TortureCheck::SlowReader, Arc::new(SlowReaderCheck { settings: settings(), tools: called(false) })),
        case(
            TortureCheck::HalfClosed,
            Arc::new(HalfClosedCheck { settings: settings(), reading: called(false), writing: called(true) }),
        ),
        case(TortureCheck::Lists, Arc::new(ListsCheck { settings: settings() })),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The case that kills the server, where it is a process of ours and a tool may write.
fn durability(planner: &Planner<'_>, template: &Case, settings: &Arc<Torture>, catalog: &Catalog) -> Option<Case> {
    let server = planner.suite.servers.get(&planner.target.server)?;
    let selected = catalog.tools.iter().filter(|tool| settings.tools.selects(&tool.name));
    let writing =
        selected.filter(|tool| may_write(settings, tool) && refusal(planner, settings, tool, catalog).is_none());
    let tools: Vec<String> = writing.map(|tool| tool.name.clone()).collect();
    if tools.is_empty() || !settings.checks.contains(&TortureCheck::Durability) || !server.is_started() {
        return None;
    }
    let body = if server.scratch {
        Body::Check(Arc::new(DurabilityCheck { settings: Arc::clone(settings), tools }))
    } else {
        let why = "killing the server may damage its data; say with `scratch: true` that it may be lost, or name the \
                   other `checks`";
        Body::skipped(Reason::NotGiven(why.to_owned()))
    };
    let mut case = planner.case(&format!("{}: durability", template.name), None, settings.span, body);
    case.variants.insert(LOST_UPDATE.to_owned());
    Some(case)
}

fn may_write(settings: &Torture, tool: &Tool) -> bool {
    settings.pair(&tool.name).is_some() || !tool.only_reads()
}

/// Why a tool, or a read that it is paired with, is not called.
fn refusal(planner: &Planner<'_>, settings: &Torture, tool: &Tool, catalog: &Catalog) -> Option<Reason> {
    let reads = settings.pair(&tool.name).map(|pair| &pair.read);
    let paired = reads.into_iter().flatten().filter_map(|read| catalog.tool(&read.value));
    std::iter::once(tool).chain(paired).find_map(|tool| planner.left_out(tool))
}

fn names(pair: &WritePair) -> impl Iterator<Item = Located<String>> {
    std::iter::once(&pair.write).chain(&pair.read).cloned()
}

fn body(planner: &Planner<'_>, settings: &Arc<Torture>, tool: &Tool, may_write: bool, catalog: &Catalog) -> Body {
    if let Some(reason) = refusal(planner, settings, tool, catalog) {
        return Body::skipped(reason);
    }
    let (settings, tool) = (Arc::clone(settings), tool.name.clone());
    let check: Arc<dyn Check> =
        if may_write { Arc::new(UpdatesCheck { settings, tool }) } else { Arc::new(AnswersCheck { settings, tool }) };
    Body::Check(check)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::block::tests::{check_lines, planned};

    #[test]
    fn a_tool_may_write_unless_it_only_reads_or_a_pair_says_so() {
        let settings = Torture::of_test("pairs: [{ write: lookup, read: list }]");
        for (name, annotations, expected) in [
            ("add_note", json!({}), true),
            ("add_note", json!({"readOnlyHint": true}), false),
            ("echo", json!({"readOnlyHint": true}), false),
            ("echo", json!({"readOnlyHint": false}), true),
            // A pair knows better than a hint.
            ("lookup", json!({"readOnlyHint": true}), true),
        ] {
            let tool = Tool::new(json!({"name": name, "annotations": annotations, "inputSchema": {"type": "object"}}));
            assert_eq!(may_write(&settings, &tool), expected, "{name} {annotations}");
        }
    }

    #[test]
    fn each_tool_has_a_case_and_the_server_those_that_are_about_no_tool() {
        let (adds, reads) = (json!({"readOnlyHint": false, "destructiveHint": false}), json!({"readOnlyHint": true}));
        let schema = json!({"type": "object", "properties": {"text": {"type": "string"}}});
        let tool = |name: &str, hints: &Value| json!({"name": name, "annotations": hints, "inputSchema": schema});
        let both = json!([tool("add_note", &adds), tool("list_notes", &reads)]);
        let destroys = tool("drop_notes", &json!({"readOnlyHint": false, "destructiveHint": true}));
        let process = "servers: { a: { command: [a] } }";
        let scratch = "servers: { a: { command: [a], scratch: true } }";
        let allowed = "allow: [add_note], servers: { a: { command: [a] } }";
        let address = "allow: [add_note], servers: { a: { url: \"http://127.0.0.1:1/mcp\" } }";
        let add = "torture: add_note: check";
        let (list, durability) = ("torture: list_notes: check", "torture: durability: check");
        let others = ["torture: slow reader: check", "torture: half closed: check", "torture: lists: check"];
        let [slow, half, lists] = others;
        for (server, settings, tools, expected) in [
            (scratch, "true", &both, &[add, list, durability, slow, half, lists][..]),
            // What may be changed is for the suite to say, and so is what may be lost.
            (process, "true", &both, &["torture: add_note: skipped", list, slow, half, lists]),
            (allowed, "true", &both, &[add, list, "torture: durability: skipped", slow, half, lists]),
            // A server behind an address is not killed.
            (address, "true", &both, &[add, list, slow, half, lists]),
            (scratch, "{ tools: [add_note] }", &both, &[add, durability]),
            (scratch, "{ tools: [list_notes] }", &both, &[list]),
            (scratch, "{ checks: [calls] }", &both, &[add, list]),
            (scratch, "{ checks: [lists] }", &both, &[lists]),
            (scratch, "{ tools: [list_notes], checks: [durability] }", &both, &[]),
            (allowed, "{ checks: [calls, durability] }", &json!([destroys]), &["torture: drop_notes: skipped"]),
            (scratch, "{ checks: [calls] }", &json!([]), &[]),
            (scratch, "{ tools: [ad_note], checks: [calls] }", &both, &["torture / ad_note: unknown-tool"]),
            (
                scratch,
                "{ checks: [calls], pairs: [{ write: add_note, read: list_note }] }",
                &both,
                &["torture / list_note: unknown-tool", add, list],
            ),
        ] {
            let lines = planned(&format!("{{ suite: s, {server}, torture: {settings} }}"), &[], tools);
            check_lines(&format!("{server} {settings}"), &lines, expected);
        }
    }

    #[test]
    fn a_pair_with_a_read_that_may_not_be_called_is_left_out() {
        let settings = "{ checks: [calls], pairs: [{ write: add_note, read: pop_note }] }";
        let tool = |name: &str, only_reads: bool| json!({"name": name, "annotations": {"readOnlyHint": only_reads}, "inputSchema": {"type": "object"}});
        for (what, only_reads, allow, expected) in [
            ("a read that writes", false, "[add_note]", "torture: add_note: skipped, `pop_note`"),
            ("a read that writes and is allowed", false, "[add_note, pop_note]", "torture: add_note: check"),
            ("a read that only reads", true, "[add_note]", "torture: add_note: check"),
            ("a write that is not allowed", true, "[pop_note]", "torture: add_note: skipped, `add_note`"),
        ] {
            let tools = json!([tool("add_note", false), tool("pop_note", only_reads)]);
            let suite =
                format!("{{ suite: s, allow: {allow}, servers: {{ a: {{ command: [a] }} }}, torture: {settings} }}");
            check_lines(what, &planned(&suite, &[], &tools)[..1], &[expected]);
        }
    }
}
