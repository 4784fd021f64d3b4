//! `docs/reference/rules.md`, made from the rule books that are part of the program.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;

use mcprove::block::compliance::built_in_rules;
use mcprove::source::{Node, SourceFile, Sources, parse};
use mcprove::suite::{Carrier, Rule, RuleLevel, Test, TestNeed};

const UNCHECKED: &str = include_str!("../../../suites/compliance/unchecked.yml");

/// The rules of a revision: those whose newest revision it is.
fn of_book<'a>(tests: &'a [Arc<Test>], revision: &str) -> Vec<(&'a Test, &'a Rule)> {
    let ruled = tests.iter().filter_map(|test| Some((test.as_ref(), test.extras.rule.as_deref()?)));
    ruled.filter(|(_, rule)| rule.revisions.last().is_some_and(|newest| newest.as_str() == revision)).collect()
}

/// Rules of the specification that no test stands for, with the reason.
struct Unchecked {
    revision: String,
    id: String,
    says: String,
    reason: String,
}

fn unchecked() -> Vec<Unchecked> {
    let mut sources = Sources::default();
    let id = sources.add(SourceFile::new("unchecked", UNCHECKED));
    let root = parse(&sources, id).ok();
    let listed = root.as_ref().and_then(|root| root.get("unchecked")).map(Node::items).unwrap_or_default();
    let text = |node: &Node, key: &str| node.get(key).and_then(Node::text).unwrap_or_default().to_owned();
    let one = |node: &Node| Unchecked {
        revision: text(node, "revision"),
        id: text(node, "id"),
        says: text(node, "says"),
        reason: text(node, "reason"),
    };
    listed.iter().map(one).collect()
}

/// The page in Markdown: every rule, and those without a check.
pub(crate) fn page() -> String {
    let mut sources = Sources::default();
    let tests = built_in_rules(&mut sources).unwrap_or_default();
    let mut text = "# Rules of the specification\n\n".to_owned();
    text += "This page is made from the rule books under `suites/compliance/`.\n";
    text += "`mcprove compliance --explain ID` explains why a rule matters, how a good server answers and how it is checked; [Compliance](../guides/compliance.md) says how to use them.\n\n";
    text += "Each rule quotes the sentence that demands it; `…` stands for omitted words.\n";
    text += "The sentences are those of the [Model Context Protocol specification](https://github.com/modelcontextprotocol/modelcontextprotocol), copyright its contributors, licensed under Apache-2.0 and in part MIT, as its [licence](https://github.com/modelcontextprotocol/modelcontextprotocol/blob/main/LICENSE) says; where the link leads elsewhere, of [JSON-RPC 2.0](https://www.jsonrpc.org/specification), copyright the JSON-RPC Working Group, of [MCP Apps](https://github.com/modelcontextprotocol/ext-apps) and [Skills](https://github.com/modelcontextprotocol/ext-skills), copyright and licensed as the specification is, and of RFCs, copyright the IETF Trust and their authors.\n";
    text += "Where a SHOULD rests on a sentence without that word, `--explain` says why it is only advice.\n";
    let books: BTreeSet<&str> = tests
        .iter()
        .filter_map(|test| test.extras.rule.as_ref()?.revisions.last())
        .map(|revision| revision.as_str())
        .collect();
    for revision in books {
        text += &book(&tests, revision);
    }
    text
}

fn book(tests: &[Arc<Test>], revision: &str) -> String {
    let rules = of_book(tests, revision);
    let missing: Vec<Unchecked> = unchecked().into_iter().filter(|one| one.revision == revision).collect();
    let must: BTreeSet<&str> =
        rules.iter().filter(|(_, rule)| rule.level == RuleLevel::Must).map(|(_, rule)| rule.id.as_str()).collect();
    let should = rules.iter().filter(|(_, rule)| rule.level == RuleLevel::Should).count();
    let plural = |count: usize, word: &str| format!("{count} {word}{}", if count == 1 { "" } else { "s" });
    let mut text = format!("\n## {revision}\n\n");
    let _ = writeln!(
        text,
        "Checked are {} of {}, and {}.\n",
        must.len(),
        plural(must.len() + missing.len(), "testable MUST"),
        plural(should, "SHOULD")
    );
    text += "| id | level | section | over | revisions | rule | needs | sentence |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n";
    for (test, rule) in &rules {
        let level = if rule.level == RuleLevel::Must { "MUST" } else { "SHOULD" };
        let over = rule.over.map_or("both", Carrier::as_str);
        let revisions: Vec<&str> = rule.revisions.iter().map(|revision| revision.as_str()).collect();
        let _ = writeln!(
            text,
            "| {} | {level} | {} | {over} | {} | {} | {} | “{}” |",
            rule.id,
            section(rule),
            revisions.join(", "),
            cell(&test.name.value),
            cell(&needs(test)),
            cell(&rule.quote)
        );
    }
    if !missing.is_empty() {
        text += "\nNot checked:\n\n| id | a correct server | why not |\n| --- | --- | --- |\n";
        for one in missing {
            let _ = writeln!(text, "| {} | {} | {} |", one.id, cell(&one.says), cell(&one.reason));
        }
    }
    text
}

/// The section, with a link to where the sentence stands.
fn section(rule: &Rule) -> String {
    let link = rule.link();
    match &rule.source {
        None => format!("[{}]({link})", rule.section),
        Some(source) => format!("{}, [{}]({link})", rule.section, source.trim_start_matches("https://")),
    }
}

fn needs(test: &Test) -> String {
    let named = test.extras.needs.iter().filter_map(|need| match need {
        TestNeed::Hint(name) => Some(format!("the hint `{name}`")),
        TestNeed::Capability(path) => Some(format!("`{path}`")),
        TestNeed::NoCapability(path) => Some(format!("no `{path}`")),
        TestNeed::Over(_) | TestNeed::Assert { .. } => None,
    });
    named.collect::<Vec<_>>().join(", ")
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}
