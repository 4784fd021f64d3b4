//! Pairs of recordings, and what differs.

use std::time::Duration;

use serde_json::{Value, json};

use super::*;
use crate::drift::ChangeLevel;
use crate::event::{Finding, Outcome, RequirementLevel, SessionJudged};
use crate::fault::{ClientMessage, MessageExchange, ReplyContent, ServerReply};
use crate::prove::{RecordedCase, TargetRecording};
use crate::transport::Owner;

fn exchange(owner: Owner, method: &str, params: Value, result: Value, millis: u64) -> MessageExchange {
    let sent = ClientMessage::Message { id: Some(json!(1)), method: method.to_owned(), params };
    let mut answer = json!({"jsonrpc": "2.0", "id": 1});
    answer["result"] = result;
    let reply =
        ServerReply { after: Duration::from_millis(millis), content: ReplyContent::Message(answer), http: None };
    MessageExchange { owner, session: 0, occurrence: 0, sent, replies: vec![reply] }
}

/// The answers of the tool `say`, each as structured content, with the time that it took.
fn answers(told: &[(Value, u64)]) -> Vec<MessageExchange> {
    let call = |(told, millis): &(Value, u64)| {
        let params = json!({"name": "say", "arguments": {"a": 1}});
        exchange(Owner::of_case("c"), "tools/call", params, json!({"structuredContent": told}), *millis)
    };
    told.iter().map(call).collect()
}

fn lists(tools: &[&str]) -> Vec<MessageExchange> {
    let tools: Vec<Value> = tools.iter().map(|name| json!({"name": name, "inputSchema": {"type": "object"}})).collect();
    let capabilities = json!({"capabilities": {"tools": {}, "prompts": {}}, "serverInfo": {"name": "s"}});
    vec![
        exchange(Owner::Session, "initialize", json!({}), capabilities, 1),
        exchange(Owner::Session, "tools/list", json!({}), json!({"tools": tools}), 1),
    ]
}

fn run(exchanges: Vec<MessageExchange>) -> ComparedRun {
    let target = TargetRecording {
        file: "a.yml".to_owned(),
        server: "s".to_owned(),
        revision: "2025-11-25".to_owned(),
        exchanges,
        ..TargetRecording::default()
    };
    let recording = RunRecording { targets: [("a.yml@s/auto".to_owned(), target)].into(), ..RunRecording::default() };
    ComparedRun { recording, protocol: Vec::new() }
}

/// A run in which that server broke rules.
fn breaking(server: &str, rules: &[(&'static str, RequirementLevel)]) -> ComparedRun {
    let judged = SessionJudged {
        file: "a.yml".to_owned(),
        line: 1,
        suite: "s".to_owned(),
        from_command_line: false,
        server: server.to_owned(),
        revision: "2025-11-25".to_owned(),
        findings: Vec::new(),
    };
    let finding =
        |(code, level): &(&'static str, RequirementLevel)| Finding { level: *level, ..Finding::new(*code, "wrong") };
    let findings = rules.iter().map(finding).collect();
    let protocol = vec![CaseResult { findings, ..CaseResult::beside(judged.info(), Outcome::Failed, String::new()) }];
    ComparedRun { protocol, ..run(vec![]) }
}

#[test]
fn broken_rules_are_compared() {
    use RequirementLevel::{Must, Should};
    let whole = || breaking("s", &[("stray-output", Must)]);
    for (before, after, expected) in [
        (whole(), whole(), vec![]),
        (run(vec![]), whole(), vec!["breaking rule-broken protocol/s/stray-output"]),
        (whole(), run(vec![]), vec!["compatible rule-kept protocol/s/stray-output"]),
        // Once for each rule, however often it was broken.
        (run(vec![]), breaking("s", &[("a", Should), ("a", Should)]), vec!["compatible rule-broken protocol/s/a"]),
        // Nobody knows what a server did before it was asked.
        (run(vec![]), breaking("another", &[("a", Must)]), vec![]),
    ] {
        assert_eq!(lines(&compare_runs(&before, &after)), expected);
    }
}

fn changes(before: Vec<MessageExchange>, after: Vec<MessageExchange>) -> Vec<String> {
    lines(&compare_runs(&run(before), &run(after)))
}

fn lines(diff: &RunDiff) -> Vec<String> {
    let line = |change: &ServerChange| format!("{} {} {}", change.level.as_str(), change.what, change.at);
    diff.changes().map(line).collect()
}

#[test]
fn servers_are_compared() {
    let prompts = || exchange(Owner::Session, "prompts/list", json!({}), json!({"prompts": [{"name": "p"}]}), 1);
    let with_prompts = || [lists(&["say"]), vec![prompts()]].concat();
    for (before, after, expected) in [
        (lists(&["say", "go"]), lists(&["say"]), vec!["breaking tool-removed tools/go"]),
        (lists(&["say"]), lists(&["say", "go"]), vec!["compatible tool-added tools/go"]),
        // A run that did not ask says nothing of prompts.
        (with_prompts(), lists(&["say"]), vec![]),
        (with_prompts(), with_prompts(), vec![]),
        (
            answers(&[(json!({"n": 1}), 1)]),
            answers(&[(json!({"n": 2}), 1)]),
            vec!["compatible answer-changed-value answers/say/structuredContent/n"],
        ),
        (
            answers(&[(json!({"n": 1}), 1)]),
            answers(&[(json!({}), 1)]),
            vec!["breaking answer-changed-shape answers/say/structuredContent/n"],
        ),
        // What differs within one of the runs is no difference between them.
        (
            answers(&[(json!({"n": 1}), 1), (json!({"n": 5}), 1), (json!({"n": 0}), 1)]),
            answers(&[(json!({"n": 2}), 1)]),
            vec![],
        ),
        (answers(&[(json!({"n": 1}), 1)]), vec![], vec![]),
    ] {
        assert_eq!(changes(before, after), expected);
    }
}

#[test]
fn a_case_that_passed_must_not_fail() {
    use Outcome::{Errored, Failed, Inconclusive, Passed, Skipped, Warned};
    let case = |outcome| RecordedCase { id: "c".to_owned(), outcome, attempts: 1 };
    for (before, after, expected) in [
        (Some(Passed), Some(Passed), None),
        (Some(Passed), Some(Failed), Some((ChangeLevel::Breaking, "passed, and now failed"))),
        (Some(Warned), Some(Errored), Some((ChangeLevel::Breaking, "warned, and now errored"))),
        (Some(Passed), Some(Inconclusive), Some((ChangeLevel::Compatible, "passed, and now inconclusive"))),
        (Some(Failed), Some(Passed), Some((ChangeLevel::Compatible, "failed, and now passed"))),
        (Some(Skipped), Some(Failed), Some((ChangeLevel::Compatible, "skipped, and now failed"))),
        (Some(Passed), None, Some((ChangeLevel::Compatible, "passed, and now not run"))),
        (None, Some(Failed), Some((ChangeLevel::Compatible, "new, and failed"))),
    ] {
        let cases = |outcome: Option<Outcome>| outcome.map(case).into_iter().collect::<Vec<_>>();
        let found = verdict::compare(&cases(before), &cases(after));
        let told = found.first().map(|change| (change.level, change.says.as_str()));
        assert_eq!(told, expected, "{before:?} {after:?}");
    }
}

#[test]
fn latencies_are_medians() {
    let took = |times: &[u64]| run(answers(&times.iter().map(|millis| (json!({}), *millis)).collect::<Vec<_>>()));
    for (before, after, expected) in [
        (vec![2, 1, 900, 2, 2], vec![2, 2, 2, 2, 2], (2, 2, false)),
        (vec![10, 10, 11, 10, 10], vec![1, 35, 30, 31, 32], (10, 31, true)),
        (vec![30; 5], vec![10; 9], (30, 10, true)),
        (vec![100; 5], vec![190; 5], (100, 190, false)),
        (vec![1; 5], vec![9; 5], (1, 9, false)),
        // The middle halves overlap: some calls of both runs took long.
        (vec![10, 10, 10, 80, 80], vec![70, 70, 70, 70, 70], (10, 70, false)),
        // Few calls say nothing.
        (vec![1, 1, 1, 1], vec![99, 99, 99, 99, 99], (1, 99, false)),
    ] {
        let compared = compare_runs(&took(&before), &took(&after)).latencies;
        let [found] = &compared[..] else { panic!("{compared:?}") };
        assert_eq!((found.before.as_millis(), found.after.as_millis(), found.notable), expected);
    }
}
