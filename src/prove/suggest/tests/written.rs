//! The whole suite: it includes what was proven, and can be loaded.

use super::super::{MissingSuite, missing_suites};
use super::*;
use crate::event::{Control, MutantResult, Proof, Verdict};

const USERS: &str = "suite: Users
servers: { users: { builtin: demo } }
run_options: { restart_policy: per_test, parallel: 2, timeout: 1500ms }
tests:
  - { name: \"get_user id=u1: name\", call: get_user, args: { id: u1 }, expect: [] }
";

/// A proof with survivors and their suggested tests.
pub(crate) fn proof(survivors: Vec<(&str, Missing)>) -> Proof {
    let mutants = survivors.into_iter().map(|(id, missing)| MutantResult {
        id: id.to_owned(),
        meaning: "the answer is another".to_owned(),
        variant: "TOOL-WRONG-RESULT".to_owned(),
        leaf: "FAULT-TOOL-RESULT-PROPAGATION".to_owned(),
        verdict: Verdict::Survived,
        live: false,
        only_on_stderr: false,
        reason: None,
        change: Vec::new(),
        mutants: Vec::new(),
        missing: vec![missing],
    });
    Proof {
        control: Control { cases: 1, green: 1, left_out: Vec::new() },
        live: None,
        mutants: mutants.collect(),
        additions: Vec::new(),
        table: Vec::new(),
        left_out: Vec::new(),
        proven: crate::coverage::score_declared(Registry::builtin(), &crate::coverage::Planned::default()),
        suites: Vec::new(),
        gates: Vec::new(),
        duration_us: 1,
    }
}

fn suggest(file: &str, yaml: &str) -> Missing {
    Missing {
        tool: Some("get_user".to_owned()),
        field: String::new(),
        file: file.to_owned(),
        server: "users".to_owned(),
        could: "it could".to_owned(),
        yaml: yaml.to_owned(),
    }
}

fn with(about: &str, item: &str) -> String {
    format!(
        "- name: \"get_user id=u1: {about}\"\n  call: get_user\n  args: {{ id: u1 }}\n  expect: [{{ is_error: false }}, {item}]\n"
    )
}

fn survivors(file: &str) -> Vec<(&'static str, Missing)> {
    let other =
        Missing { tool: None, ..suggest(file, "- { name: all, list: tools, expect: [{ tools: { count: 9 } }] }\n") };
    vec![
        ("wrong-name", suggest(file, &with("name", "{ at: result.structuredContent.name, equals: Ann }"))),
        ("listed", other),
        ("slow", suggest(file, &with("the time it takes", "{ latency: { under: 1s } }"))),
        ("wrong-name-again", suggest(file, &with("name", "{ at: result.structuredContent.name, equals: Ann }"))),
        ("hang", suggest(file, "run_options: { start_timeout: 10s }\n")),
        (
            "alone",
            suggest(
                file,
                "# mind this\n- { name: \"get_user id=u1\", call: get_user, args: { id: u2 }, expect: [{ is_error: true }] }\n",
            ),
        ),
    ]
}

#[test]
fn one_suite_is_completed_by_one() {
    let plan = planned(&[("suites/users.yml", USERS)], &["suites/users.yml"]);
    let proof = proof(survivors("suites/users.yml"));
    let written = missing_suites(&proof, &plan, Path::new("missing.yml"), Path::new("/"));
    let [MissingSuite { path, text }] = written.as_slice() else { panic!("{written:?}") };
    assert_eq!(path, Path::new("missing.yml"));
    insta::assert_snapshot!(text);
    let files = [("suites/users.yml", USERS), ("missing.yml", text)];
    let both = read(&files, "missing.yml", &mut Sources::default());
    let names: Vec<&str> = both.suite.tests.iter().map(|test| test.name.value.as_str()).collect();
    assert_eq!(names, ["get_user id=u1: name", "get_user id=u1", "get_user id=u1 (2)", "all"]);
    assert_eq!(both.suite.options.start_timeout, Some(Duration::from_secs(10)));
    assert_eq!(both.suite.options.timeout, Some(Duration::from_millis(1500)));
}

#[test]
fn several_suites_are_completed_by_several() {
    let suites = ["a/users.yml", "b/users.yml", "rest.yml"];
    let plan = planned(&suites.map(|name| (name, USERS)), &suites);
    let suggestions = [survivors("a/users.yml"), survivors("b/users.yml")].concat();
    let written = missing_suites(&proof(suggestions), &plan, Path::new("out/missing.yml"), Path::new("/"));
    let paths: Vec<String> = written.iter().map(|suite| suite.path.display().to_string()).collect();
    assert_eq!(paths, ["out/missing-users.yml", "out/missing-users-2.yml"]);
    for (suite, included) in written.iter().zip(["a/users.yml", "b/users.yml"]) {
        let name = suite.path.display().to_string();
        assert!(suite.text.contains(&format!("include: [../{included}]")), "{}", suite.text);
        read(&[(included, USERS), (&name, &suite.text)], &name, &mut Sources::default());
    }
    assert_eq!(missing_suites(&proof(Vec::new()), &plan, Path::new("x.yml"), Path::new("/")), []);
}
