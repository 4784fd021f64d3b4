//! The steps of the GitHub action, run in a shell with the variables that runners set.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use mcprove::source::{SourceFile, Sources, parse};
use serde_json::Value;

use crate::harness::{Scene, Seen, root, snapshot};

/// What an expression of the action is worth in a test, by its text.
type Values<'a> = &'a [(&'a str, &'a str)];

fn action() -> Value {
    let mut sources = Sources::default();
    let text = fs::read_to_string(root().join("action.yml")).unwrap();
    let source = sources.add(SourceFile::new("action.yml", &text));
    parse(&sources, source).unwrap().to_json()
}

/// A job of one runner: its files, `mcprove` on the path, and `gh` that answers with what files hold.
fn runner(name: &str) -> Scene {
    let scene = Scene::bare(name);
    for folder in ["bin", "temp", "suites"] {
        fs::create_dir_all(scene.folder.join(folder)).unwrap();
    }
    for file in ["output", "path", "summary"] {
        scene.write(file, "");
    }
    script(&scene, "bin/mcprove", concat!("exec '", env!("CARGO_BIN_EXE_mcprove"), "' \"$@\""));
    // The answer of each kind of question; what is written is kept.
    script(
        &scene,
        "bin/gh",
        r#"printf '%s' "$*" | tr -s '\n ' ' ' | sed "s|$PWD|.|; s|@.*/comment.md|@comment.md|" >>asked
echo >>asked
[ ! -e refused ] || exit 1
case "$*" in
  'api user '*) echo '{}'; exit 1 ;;
  *"actions/artifacts "*) cat artifact ;;
  */zip*) cat before.zip ;;
  *--method*) for word; do case $word in body=@*) cat "${word#body=@}" >comment ;; esac; done ;;
  *--paginate*) cat comments ;;
esac"#,
    );
    scene
}

fn script(scene: &Scene, name: &str, text: &str) {
    scene.write(name, &format!("#!/bin/sh\n{text}\n"));
    fs::set_permissions(scene.folder.join(name), fs::Permissions::from_mode(0o755)).unwrap();
}

/// Runs the script of a step; its variables are those of the action, in which expressions have these values.
fn step(scene: &Scene, name: &str, values: Values<'_>) -> Seen {
    let action = action();
    let steps = action["runs"]["steps"].as_array().unwrap();
    let step = steps.iter().find(|step| step["name"] == name).unwrap();
    assert_eq!(step["shell"], "bash");
    let here = scene.folder.display();
    let mut line = format!("PATH={here}/bin:{} ", crate::harness::path().to_string_lossy());
    for (variable, value) in [("GITHUB_ACTION_PATH", root().display().to_string())].into_iter().chain(
        [("OUTPUT", "output"), ("PATH", "path"), ("STEP_SUMMARY", "summary")]
            .map(|(variable, file)| (variable, format!("{here}/{file}"))),
    ) {
        let prefix = if variable.starts_with("GITHUB") { "" } else { "GITHUB_" };
        let _ = write!(line, "{prefix}{variable}={} ", shell_words::quote(&value));
    }
    let _ = write!(line, "RUNNER_TEMP={here}/temp GITHUB_REPOSITORY=own/server ");
    for (variable, value) in step["env"].as_object().into_iter().flatten() {
        let expression = value.as_str().unwrap().trim_start_matches("${{ ").trim_end_matches(" }}");
        let known = values.iter().find(|(name, _)| *name == expression);
        let (_, value) = known.unwrap_or_else(|| panic!("{name}: `{expression}` has no value"));
        let _ = write!(line, "{variable}={} ", shell_words::quote(value));
    }
    let run = step["run"].as_str().unwrap();
    assert!(!run.contains("${{"), "a text from outside would be a script: {run}");
    let script = format!("exec bash --noprofile --norc -eo pipefail -c {}", shell_words::quote(run));
    let mut seen = scene.line(&format!("{line}sh -c {}", shell_words::quote(&script)));
    name.clone_into(&mut seen.line);
    seen
}

fn outputs(scene: &Scene) -> String {
    let text = fs::read_to_string(scene.folder.join("output")).unwrap();
    text.replace(&scene.folder.display().to_string(), "[SCENE]")
}

fn suite(sum: u32) -> String {
    format!(
        "suite: sums\nserver: {{ command: [mcprove, serve, demo] }}\ntests:\n  - {{ name: two and three, call: add, args: \
         {{ a: 2, b: 3 }}, expect: [{{ at: result.structuredContent.sum, equals: {sum} }}] }}\n"
    )
}

fn run(scene: &Scene, command: &str, arguments: &str) -> Seen {
    let values = [("inputs.command", command), ("inputs.arguments", arguments), ("inputs.out", "reports")];
    step(scene, "Run mcprove", &values)
}

fn verdict(scene: &Scene) -> i32 {
    let outputs = outputs(scene);
    let code = outputs.lines().find_map(|line| line.strip_prefix("exit-code=")).unwrap();
    step(scene, "Verdict", &[("steps.run.outputs.exit-code", code)]).status
}

#[test]
fn a_green_and_a_red_run_are_told() {
    for (name, sum, code) in [("action-green", 5, 0), ("action-red", 6, 1)] {
        let scene = runner(name);
        scene.write("suites/sums.yml", &suite(sum));
        let seen = run(&scene, "run", "suites/ --filter 'two and three'");
        assert_eq!(seen.status, 0, "{}", seen.text());
        assert_eq!(verdict(&scene), code);
        // What is covered is told at length in a file; every new probe changes it.
        let (before, coverage) =
            seen.text().split_once("\n  family ").map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
        let mut text = before
            + coverage
                .rsplit_once("taxonomy ")
                .and_then(|(_, after)| after.split_once('\n'))
                .map_or("", |(_, after)| after);
        let summary = fs::read_to_string(scene.folder.join("summary")).unwrap();
        let _ = write!(text, "== outputs\n{}== reports\n{}", outputs(&scene), scene.line("list reports").stdout);
        snapshot(name, &text);
        assert!(summary.contains("1 case"), "{summary}");
    }
}

/// Servers stand after `--`, reports before it.
#[test]
fn a_server_may_be_given() {
    let scene = runner("action-server");
    scene.write("suites/sums.yml", &suite(5).replace("mcprove, serve, demo", "\"false\""));
    let seen = run(&scene, "run", "suites/ -- mcprove serve demo");
    assert_eq!((seen.status, verdict(&scene)), (0, 0), "{}", seen.text());
    assert!(scene.folder.join("reports/report.html").is_file());
}

#[test]
fn mistakes_are_told_and_fail_the_job() {
    let scene = runner("action-mistakes");
    let mut text = run(&scene, "run", "suites/ 'not closed").text();
    let seen = run(&scene, "run", "nowhere/");
    assert_eq!(verdict(&scene), 2);
    text += &seen.text();
    for version in ["latest", "1.0;ls", "../1"] {
        text += &step(&scene, "Find the version", &[("inputs.version", version)]).text();
    }
    snapshot("action-mistakes", &text);
}

#[test]
fn the_version_is_that_of_the_action() {
    let scene = runner("action-version");
    assert_eq!(step(&scene, "Find the version", &[("inputs.version", "")]).status, 0);
    assert_eq!(outputs(&scene), format!("version={0}\nfolder=[SCENE]/temp/mcprove-{0}\n", env!("CARGO_PKG_VERSION")));
}

/// What the cache had is not downloaded again, and the steps after it find the program.
#[test]
fn a_cached_program_is_used() {
    let scene = runner("action-cached");
    let bin = scene.folder.join("bin").display().to_string();
    let values = [("steps.version.outputs.version", "9.9.9"), ("steps.version.outputs.folder", bin.as_str())];
    let seen = step(&scene, "Install mcprove", &values);
    assert_eq!(seen.status, 0, "{}", seen.text());
    assert_eq!(fs::read_to_string(scene.folder.join("path")).unwrap(), format!("{bin}\n"));
}

/// What an earlier step left in the folder is not told again.
#[test]
fn a_run_that_does_nothing_leaves_no_reports() {
    let scene = runner("action-twice");
    scene.write("suites/sums.yml", &suite(6));
    run(&scene, "run", "suites/");
    let again = run(&scene, "run", "nowhere/");
    assert_eq!(again.stdout, "", "{}", again.text());
    assert_eq!(scene.line("list reports").stdout, "");
}

/// A pull request is compared with the newest run of the default branch, and has one comment, which changes.
#[test]
fn pull_requests_are_compared_with_the_default_branch() {
    let scene = runner("action-compare");
    scene.write("suites/sums.yml", &suite(5));
    scene.write("artifact", "");
    scene.write("comments", "");
    run(&scene, "run", "suites/");
    let reports = scene.folder.join("reports").display().to_string();
    let mut text = String::new();
    let mut compare = |is_elsewhere: &str| {
        let values = [
            ("inputs.token", "t"),
            ("steps.run.outputs.reports", reports.as_str()),
            ("inputs.name", "mcprove"),
            ("github.event.repository.default_branch", "main"),
            ("github.event.number", "7"),
            ("github.event.pull_request.head.repo.full_name != github.repository", is_elsewhere),
        ];
        let seen = step(&scene, "Compare with the default branch", &values);
        assert_eq!(seen.status, 0, "{}", seen.text());
        let _ = writeln!(text, "{}", seen.text());
    };
    compare("false");
    let zip = "cd reports && python3 -m zipfile -c ../before.zip recording.ndjson && echo 2026-01-01 41 >../artifact";
    assert_eq!(scene.line(&format!("sh -c {}", shell_words::quote(zip))).status, 0);
    scene.write("suites/sums.yml", &suite(6));
    run(&scene, "run", "suites/");
    compare("true");
    compare("false");
    scene.write("comments", "99\n");
    compare("false");
    // A token that may do nothing keeps no job from its verdict.
    scene.write("refused", "");
    compare("false");
    let _ = write!(text, "== asked\n{}", scene.line("show asked").stdout);
    let _ = write!(text, "== comment\n{}", scene.line("show comment").stdout);
    snapshot("action-compare", &text);
}
