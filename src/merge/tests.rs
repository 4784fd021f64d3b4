//! Recordings that are the parts of one run, and those that are not.

use super::*;
use crate::event::{Finding, Outcome, RunEnd, ServerReady, ShardUnit};
use crate::transport::TransportKind;

fn shard(number: u32, count: u32) -> ShardInfo {
    ShardInfo {
        number,
        count,
        unit: ShardUnit::Case,
        times: None,
        sources: [("s.yml".to_owned(), "1".to_owned())].into(),
        selected: Vec::new(),
        flags: Vec::new(),
        baseline: None,
    }
}

fn started(shard: Option<ShardInfo>) -> RunStarted {
    RunStarted {
        format: 1,
        program: "mcprove 0.1.0".to_owned(),
        started_unix_ms: 5000,
        suites: Vec::new(),
        paths: None,
        planned: 2,
        seed: Some(7),
        shard: shard.map(Box::new),
        parts: None,
    }
}

fn finished() -> RunFinished {
    RunFinished {
        duration_us: 10,
        interrupted: false,
        ended_by: None,
        not_run: 0,
        coverage: None,
        stale_snapshots: Vec::new(),
        isolation: None,
        sections: Vec::new(),
        starts: ServerStarts::default(),
        proof: None,
        unjudged: Vec::new(),
        tools: Vec::new(),
        fails_on_flaky: false,
        servers: Vec::new(),
        shard: Some(Box::default()),
    }
}

fn recorded(name: &str, started: RunStarted, results: Vec<CaseResult>, finished: RunFinished) -> RecordedPart {
    let results = results.into_iter().map(|result| Event::CaseFinished(Box::new(result)));
    let events = std::iter::once(Event::RunStarted(started)).chain(results);
    let events = events.chain([Event::RunFinished(Box::new(finished))]).collect();
    RecordedPart { name: name.to_owned(), events }
}

fn part(number: u32, count: u32) -> RecordedPart {
    recorded(&format!("{number}.ndjson"), started(Some(shard(number, count))), Vec::new(), finished())
}

fn of(name: &str, shard: ShardInfo) -> RecordedPart {
    recorded(name, started(Some(shard)), Vec::new(), finished())
}

#[test]
fn recordings_make_a_run_only_if_they_are_all_of_its_parts() {
    let whole = recorded("whole", started(None), Vec::new(), finished());
    let mut cut = part(2, 2);
    cut.events.pop();
    let newer = RunStarted { program: "mcprove 0.2.0".to_owned(), ..started(Some(shard(2, 2))) };
    let texts = ShardInfo { sources: [("s.yml".to_owned(), "2".to_owned())].into(), ..shard(2, 2) };
    let more = ShardInfo { sources: [("t.yml".to_owned(), "2".to_owned())].into(), ..shard(2, 2) };
    let by_suite = ShardInfo { unit: ShardUnit::Suite, ..shard(2, 2) };
    let by_time = ShardInfo { times: Some("1".to_owned()), ..shard(2, 2) };
    let filtered = ShardInfo { selected: vec!["a".to_owned()], ..shard(2, 2) };
    let again = ShardInfo { flags: vec!["--repeat 3".to_owned()], ..shard(2, 2) };
    let known = ShardInfo { baseline: Some("1".to_owned()), ..shard(2, 2) };
    let different = "`1.ndjson` and `2.ndjson` are parts of different runs: ";
    for (parts, expected) in [
        (vec![part(1, 2), part(2, 2)], vec![]),
        (vec![part(2, 2), part(1, 2)], vec![]),
        (vec![part(1, 1)], vec![]),
        (vec![], vec!["there is no recording to merge".to_owned()]),
        (vec![whole, part(1, 1)], vec!["`whole` is the recording of a whole run, not of a part of one".to_owned()]),
        (vec![part(1, 2), cut], vec!["`2.ndjson` ends before its run does: part 2 of 2 was cut off".to_owned()]),
        (
            vec![part(1, 2), of("odd", shard(3, 2)), of("none", shard(0, 2))],
            vec![
                "`odd` says that it is part 3 of 2, which there is not".to_owned(),
                "`none` says that it is part 0 of 2, which there is not".to_owned(),
            ],
        ),
        (vec![part(1, 2)], vec!["part 2 of 2 is missing".to_owned()]),
        (vec![part(2, 4)], vec!["parts 1, 3 and 4 of 4 are missing".to_owned()]),
        (vec![part(1, 99)], vec!["parts 2, 3, 4, 5, 6, 7, 8, 9 and 90 more of 99 are missing".to_owned()]),
        (vec![part(1, 2), part(1, 2), part(2, 2)], vec!["`1.ndjson` is named twice".to_owned()]),
        (vec![part(1, 1), of("copy", shard(1, 1))], vec!["`1.ndjson` and `copy` are both part 1 of 1".to_owned()]),
        (vec![part(1, 3), part(2, 2)], vec![format!("{different}one has 3 parts, the other 2")]),
        (
            vec![part(1, 2), recorded("2.ndjson", newer, Vec::new(), finished())],
            vec![format!("{different}one was made by mcprove 0.1.0, the other by mcprove 0.2.0")],
        ),
        (vec![part(1, 2), of("2.ndjson", texts)], vec![format!("{different}`s.yml` is not the same in both")]),
        (vec![part(1, 2), of("2.ndjson", more)], vec![format!("{different}`s.yml` is not the same in both")]),
        (
            vec![part(1, 2), of("2.ndjson", again)],
            vec![format!("{different}one ran with `--repeat 3`, the other without such a flag")],
        ),
        (vec![part(1, 2), of("2.ndjson", by_suite)], vec![format!("{different}`--shard-by` is not the same in both")]),
        (
            vec![part(1, 2), of("2.ndjson", by_time)],
            vec![format!("{different}their parts follow from different times")],
        ),
        (vec![part(1, 2), of("2.ndjson", filtered)], vec![format!("{different}they select different cases")]),
        (vec![part(1, 2), of("2.ndjson", known)], vec![format!("{different}they were given different baselines")]),
    ] {
        let names: Vec<String> = parts.iter().map(|part| part.name.clone()).collect();
        let found = merge(parts).err().unwrap_or_default();
        let found: Vec<String> = found.into_iter().map(|mistake| mistake.message).collect();
        assert_eq!(found, expected, "{names:?}");
    }
}

#[test]
fn parts_of_one_run_ask_the_same_build_of_a_server() {
    let of = |number, implementation: Option<&str>| {
        let ready = ServerReady {
            file: "s.yml".to_owned(),
            server: "server".to_owned(),
            transport: TransportKind::Stdio,
            revision: "2025-11-25".to_owned(),
            implementation: implementation.map(str::to_owned),
            ready_us: 0,
        };
        let mut part = part(number, 2);
        part.events.insert(1, Event::ServerReady(ready));
        part
    };
    for (one, other, expected) in [
        (Some("shop 1"), Some("shop 1"), None),
        (None, None, None),
        (Some("shop 1"), Some("shop 2"), Some("`server` says that it is shop 1 in one, and shop 2 in the other")),
        (None, Some("shop 2"), Some("`server` says that it is nameless in one, and shop 2 in the other")),
    ] {
        let found = merge(vec![of(1, one), of(2, other)]).err().unwrap_or_default();
        let found: Vec<&str> = found.iter().map(|mistake| mistake.message.as_str()).collect();
        let differ = "`1.ndjson` and `2.ndjson` are parts of different runs: ";
        assert_eq!(found.first().and_then(|found| found.strip_prefix(differ)), expected, "{found:?}");
    }
    let alone = merge(vec![of(1, Some("shop 1")), part(2, 2)]);
    assert!(alone.is_ok(), "a part without a case starts no server: {alone:?}");
}

#[test]
fn a_case_that_several_parts_have_ends_as_badly_as_anywhere() {
    use Outcome::{Errored, Failed, Inconclusive, Passed, Skipped, Warned};
    let found = |message: &str| Finding::new("equals", message);
    let result = |outcome, messages: &[&str]| CaseResult {
        findings: messages.iter().map(|message| found(message)).collect(),
        ..CaseResult::of_test("a", outcome)
    };
    for (one, other, expected) in [
        (result(Skipped, &[]), result(Passed, &[]), result(Passed, &[])),
        (result(Passed, &[]), result(Inconclusive, &[]), result(Passed, &[])),
        (result(Passed, &[]), result(Warned, &["w"]), result(Warned, &["w"])),
        (result(Failed, &["f"]), result(Errored, &["e"]), result(Failed, &["f"])),
        (result(Failed, &["f"]), result(Failed, &["g", "f"]), result(Failed, &["f", "g"])),
    ] {
        for (first, second) in [(&one, &other), (&other, &one)] {
            let parts = [(1, first), (2, second)].map(|(number, result)| {
                recorded("part", started(Some(shard(number, 2))), vec![result.clone()], finished())
            });
            let merged = merge(parts.to_vec()).unwrap();
            let mut results = merged.events.iter().filter_map(|event| {
                let Event::CaseFinished(result) = event else { return None };
                let mut result = (**result).clone();
                result.findings.sort_by(|a, b| a.message.cmp(&b.message));
                Some(result)
            });
            assert_eq!((results.next(), results.next()), (Some(expected.clone()), None), "{first:?} {second:?}");
        }
    }
}

#[test]
fn a_run_lasts_as_long_as_its_longest_part() {
    let later = RunStarted { started_unix_ms: 6000, planned: 3, seed: Some(8), ..started(Some(shard(2, 2))) };
    let ended_by = Some(RunEnd::OutOfTime);
    let longer = RunFinished { duration_us: 30, interrupted: true, ended_by, not_run: 2, ..finished() };
    let merged = merge(vec![recorded("2", later, Vec::new(), longer), part(1, 2)]).unwrap();
    let Some(Event::RunStarted(begun)) = merged.events.first() else { panic!("{:?}", merged.events) };
    let whole = RunStarted { planned: 5, seed: None, parts: Some(2), shard: None, ..started(None) };
    assert_eq!(*begun, whole);
    let RunFinished { duration_us, interrupted, not_run, .. } = merged.finished;
    assert_eq!((duration_us, interrupted, merged.finished.ended_by, not_run), (30, true, ended_by, 2));
}

#[test]
fn a_tool_that_one_part_called_is_called() {
    let tools = |called: &[&str], uncalled: &[&str]| {
        let [called, uncalled] = [called, uncalled].map(|names| names.iter().map(ToString::to_string).collect());
        ToolUse { file: "s.yml".to_owned(), server: "server".to_owned(), called, uncalled }
    };
    let mut known = vec![tools(&["b"], &["a", "c"])];
    add_tools(&mut known, tools(&["a"], &["b", "c"]));
    assert_eq!(known, [tools(&["a", "b"], &["c"])]);
}
