//! Documents that other programs obey: what they show of the rich recording, read back, and what no server can make
//! them do.

use insta::assert_snapshot;
use serde_json::Value;

use crate::event::{CaseResult, Event, Finding, Outcome, Reason, RequirementLevel};
use crate::source::{SourceFile, Sources, Style, parse};

use super::super::{Report, render};
use super::fixture::{failed, passed};
use super::rich;

/// Texts that a server sends to be obeyed by whoever shows them.
pub(crate) const COMMANDS: [&str; 10] = [
    "x\n::error::owned",
    "x\r\n  ::set-output name=a::b",
    "::add-mask::x\n##[error]owned ##[group]",
    "%0A::error::owned,file=a:b%25",
    "```\n# owned\n````\n~~~\n``````",
    "</details><img src=x onerror=alert(1)> ![x](http://x) [a](javascript:b)",
    "@everyone #1 | cell | `code` \\` \\",
    "x # SKIP owned\nok 1 - forged\n  ...\n1..0\nBail out!",
    "--- \n...\n\": [a](1) {0}",
    "",
];

/// A run in which every text of a server is one of these.
pub(crate) fn hostile() -> Report {
    let mut results: Vec<CaseResult> = COMMANDS
        .iter()
        .enumerate()
        .map(|(at, text)| {
            let found = Finding {
                path: Some((*text).into()),
                expected: Some((*text).into()),
                actual: Some((*text).into()),
                help: Some((*text).into()),
                baseline_reason: (at % 3 == 2).then(|| (*text).to_owned()),
                ..Finding::new("equals", *text)
            };
            failed(passed(at + 1, text, Some(text)), vec![found.with_evidence("stderr", *text)])
        })
        .collect();
    results.extend(COMMANDS.iter().map(|text| CaseResult {
        outcome: Outcome::Skipped,
        reason: Some(Reason::SkippedBySuite((*text).into())),
        ..passed(40, text, None)
    }));
    let events: Vec<Event> = results.into_iter().map(|result| Event::CaseFinished(Box::new(result))).collect();
    Report::of(&events)
}

fn of(name: &str, report: &Report) -> String {
    render(name, report, &Style::PLAIN).unwrap()
}

#[test]
fn annotations() {
    assert_snapshot!("github", of("github", &rich()));
    assert_eq!(of("github", &Report::of(&[])), "");
}

#[test]
fn no_server_gives_orders_to_a_runner() {
    let text = of("github", &hostile());
    check_commands(&text);
    assert!(
        text.contains("title= [%250A%3A%3Aerror") || text.contains("%250A%3A%3Aerror%3A%3Aowned%2Cfile="),
        "{text}"
    );
    // The log of a job is read in the same way.
    for name in ["text", "tap", "markdown"] {
        for width in [30, 40, 66, 100] {
            let text = render(name, &hostile(), &Style::new(crate::source::Color::Never, width)).unwrap();
            let ordered = text.lines().find(|line| line.trim_start().starts_with("::") || line.contains("##["));
            assert!(ordered.is_none(), "{name}: {ordered:?}");
        }
    }
}

/// Every line is a command of ours, with the properties that it should have.
pub(crate) fn check_commands(text: &str) {
    for line in text.lines() {
        assert!(["::error ", "::warning ", "::notice "].iter().any(|start| line.starts_with(start)), "{line}");
        let (properties, _) = line[2..].split_once("::").unwrap();
        assert!(properties.split_once(' ').unwrap().1.split(',').all(|one| one.matches('=').count() >= 1), "{line}");
        assert!(!line.contains("##["), "{line}");
    }
}

#[test]
fn summaries() {
    assert_snapshot!("markdown", of("markdown", &rich()));
}

#[test]
fn nothing_breaks_out_of_a_summary() {
    check_markup(&of("markdown", &hostile()));
}

/// Whatever others wrote stands in code.
pub(crate) fn check_markup(text: &str) {
    let mut fence = None;
    for line in text.lines() {
        let run = line.chars().take_while(|c| *c == '`').count();
        match fence {
            None if run >= 3 && (line.ends_with("text") || line.ends_with("yaml")) => fence = Some(run),
            Some(open) if run >= open && line.trim_end().len() == run => fence = None,
            Some(_) => {}
            None => {
                let bare = without_code(line);
                assert!(!bare.contains(['@', '[', '~']), "{line}");
                assert!(
                    !bare.contains('<') || bare.starts_with("<details>") || bare.starts_with("</details>"),
                    "{line}"
                );
                assert!(
                    !line.starts_with('#') || line.starts_with("## ❌ mcprove") || line.starts_with("### "),
                    "{line}"
                );
            }
        }
    }
    assert_eq!(fence, None, "{text}");
}

/// A line without its spans of code, found as `CommonMark` does.
fn without_code(line: &str) -> String {
    let (mut bare, mut rest) = (String::new(), line);
    while let Some(start) = rest.find('`') {
        bare += &rest[..start];
        let run = rest[start..].chars().take_while(|c| *c == '`').count();
        let inside = &rest[start + run..];
        let mut from = 0;
        let end = loop {
            let at = from + inside[from..].find('`').expect("every span of code ends on its line");
            let length = inside[at..].chars().take_while(|c| *c == '`').count();
            if length == run {
                break at + length;
            }
            from = at + length;
        };
        rest = &inside[end..];
    }
    bare + rest
}

#[test]
fn summaries_stay_below_a_mebibyte() {
    let text = "0123456789 ".repeat(2000);
    let of_its_own = |number: usize| {
        let found = Finding::new("equals", format!("reason {number} {text}")).with_evidence("stderr", text.as_str());
        Event::CaseFinished(Box::new(failed(passed(number, &format!("case {number}"), None), vec![found; 5])))
    };
    let events: Vec<Event> = (1..2000).map(of_its_own).collect();
    let summary = of("markdown", &Report::of(&events));
    assert!(summary.len() < 1 << 20, "{}", summary.len());
    assert!(summary.contains("1899 cases more"), "{}", &summary[summary.len() - 300..]);
}

#[test]
fn test_points() {
    let text = of("tap", &rich());
    assert_snapshot!("tap", text);
    assert_eq!(points(&text), rich().totals().cases() + 1, "every case and one session");
    let hostile = hostile();
    assert_eq!(points(&of("tap", &hostile)), hostile.totals().cases());
}

/// Reads TAP strictly and returns the number of test points.
pub(crate) fn points(text: &str) -> usize {
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("TAP version 14"));
    let plan: usize = lines.next().and_then(|plan| plan.strip_prefix("1..")).unwrap().parse().unwrap();
    let mut count = 0;
    while let Some(line) = lines.next() {
        if line == "  ---" {
            let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "  ...").collect();
            let mut sources = Sources::default();
            let id = sources.add(SourceFile::new("block.yml", block.join("\n")));
            let node = parse(&sources, id).unwrap();
            assert!(node.get("severity").is_some() && node.get("line").is_some(), "{block:?}");
            continue;
        }
        if line.starts_with("Bail out! ") || line.starts_with("# ") {
            continue;
        }
        count += 1;
        let rest =
            line.strip_prefix("not ok ").or_else(|| line.strip_prefix("ok ")).unwrap_or_else(|| panic!("{line}"));
        let description = rest.strip_prefix(&format!("{count} - ")).unwrap_or_else(|| panic!("{line}"));
        let directives = description.replace("\\\\", "").replace("\\#", "").matches('#').count();
        assert_eq!(directives, usize::from(line.contains(" # SKIP ") || line.contains(" # TODO ")), "{line}");
    }
    assert_eq!(count, plan);
    count
}

#[test]
fn results_for_code_scanning() {
    let text = of("sarif", &rich());
    assert_snapshot!("sarif", text);
    check_sarif(&serde_json::from_str(&text).unwrap());
    check_sarif(&serde_json::from_str(&of("sarif", &hostile())).unwrap());
    check_sarif(&serde_json::from_str(&of("sarif", &Report::default())).unwrap());
}

#[test]
fn only_what_is_about_security_weighs_so() {
    let found = |code: &'static str, variants: &[&str]| {
        let mut case = failed(passed(1, code, None), vec![Finding::new(code, "it is wrong")]);
        case.case.variants = variants.iter().map(|variant| (*variant).to_owned()).collect();
        Event::CaseFinished(Box::new(case))
    };
    let events = [
        found("path-escape", &["SECURITY-PATH-ESCAPE"]),
        found("equals", &["TOOL-WRONG-RESULT"]),
        found("mixed", &["SECURITY-SSRF", "TOOL-WRONG-RESULT"]),
        found("plain", &[]),
    ];
    let document: Value = serde_json::from_str(&of("sarif", &Report::of(&events))).unwrap();
    let rules = document["runs"][0]["tool"]["driver"]["rules"].as_array().unwrap();
    let weighed: Vec<&str> = rules
        .iter()
        .filter(|rule| rule["properties"].get("security-severity").is_some())
        .map(|rule| rule["id"].as_str().unwrap())
        .collect();
    assert_eq!(weighed, ["path-escape"]);
    let others = rules.iter().filter(|rule| rule["id"] != "path-escape");
    assert!({ others }.all(|rule| rule["properties"]["problem.severity"] == "error"), "{rules:?}");
}

#[test]
fn code_scanning_refuses_no_run_for_its_size() {
    let doubt = Finding { level: RequirementLevel::Should, ..Finding::new("doubt", "it is odd") };
    let found = std::iter::repeat_n(doubt, 25_000).chain([Finding::new("equals", "it is wrong")]);
    let case = failed(passed(1, "all of it", None), found.collect());
    let document: Value =
        serde_json::from_str(&of("sarif", &Report::of(&[Event::CaseFinished(Box::new(case))]))).unwrap();
    let run = &document["runs"][0];
    assert_eq!(run["results"].as_array().map(Vec::len), Some(25_000));
    assert_eq!(run["results"][0]["ruleId"], "equals", "the worst ones are kept");
    let told = run["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"].as_str().unwrap();
    assert!(told.starts_with("1 more results"), "{told}");
}

/// The requirements of the specification for the properties that are written (section 3 of SARIF 2.1.0), and those of
/// code scanning beyond it.
pub(crate) fn check_sarif(document: &Value) {
    assert_eq!((document["version"].as_str(), document["runs"].as_array().map(Vec::len)), (Some("2.1.0"), Some(1)));
    let run = &document["runs"][0];
    assert_eq!(run["tool"]["driver"]["name"], "mcprove");
    assert!(run["invocations"][0]["executionSuccessful"].is_boolean());
    let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
    let is_told = |rule: &Value| {
        ["shortDescription", "fullDescription", "help"].iter().all(|text| rule[text]["text"].is_string())
    };
    assert!(rules.iter().all(|rule| rule["id"].is_string() && is_told(rule)));
    for result in run["results"].as_array().unwrap() {
        let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
        assert_eq!(rules[index]["id"], result["ruleId"]);
        assert!(["none", "note", "warning", "error"].contains(&result["level"].as_str().unwrap()));
        // Only what failed may have another level than none.
        assert_eq!(result["kind"] == "fail", result["level"] != "none");
        assert!(result["message"]["text"].is_string());
        let place = &result["locations"][0]["physicalLocation"];
        let uri = place["artifactLocation"]["uri"].as_str().unwrap();
        assert!(!uri.is_empty() && uri.is_ascii() && !uri.contains([' ', '\\']), "{uri}");
        let region = &place["region"];
        let (start, end) = (region["startColumn"].as_u64(), region["endColumn"].as_u64());
        assert!(region["startLine"].as_u64() >= Some(1) && start.is_none_or(|start| start >= 1));
        assert!(end.is_none_or(|end| Some(end) > start), "{region}");
        assert!(result["partialFingerprints"].as_object().unwrap().values().all(Value::is_string));
        for suppression in result["suppressions"].as_array().into_iter().flatten() {
            assert_eq!(
                (suppression["kind"].as_str(), suppression["status"].as_str()),
                (Some("external"), Some("accepted"))
            );
        }
    }
}

#[test]
fn known_failures_are_marked_in_every_document() {
    let report = rich();
    let json: Value = serde_json::from_str(&of("json", &report)).unwrap();
    assert_eq!(json["totals"]["known"], 1);
    for (name, words) in [
        ("text", "1 known: issue 17: the server forgets users"),
        ("junit", "known failure: issue 17: the server forgets users"),
        ("tap", "# TODO known failure: issue 17: the server forgets users"),
        ("github", "::notice title=mcprove::1 case failed as the baseline expects"),
        ("markdown", "- 1: ` issue 17: the server forgets users `"),
        ("sarif", "\"justification\": \"issue 17: the server forgets users\""),
        ("ndjson", "\"baseline_reason\":\"issue 17: the server forgets users\""),
    ] {
        assert!(of(name, &report).contains(words), "{name}");
    }
}

#[test]
fn thresholds_are_in_recordings() {
    for name in ["text", "markdown"] {
        let text = of(name, &rich());
        assert!(text.contains("threshold 40") && text.contains("threshold 62.5"), "{text}");
    }
}
