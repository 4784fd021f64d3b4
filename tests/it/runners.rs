//! The plugins for pytest and Vitest, as those who keep their test runner see them.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use crate::harness::{Scene, is_installed, path, root};

const SUITE: &str = r#"suite: Users
server: { command: [mcprove, serve, demo] }
tests:
  - name: two and three
    tags: [smoke]
    call: add
    args: { a: 2, b: 3 }
    expect: [{ at: result.structuredContent.sum, equals: 5 }]
  - name: sums
    rows: [{ a: 1, b: 1, sum: 2 }, { a: 2, b: 2, sum: 5 }]
    call: add
    args: { a: "{{ a }}", b: "{{ b }}" }
    expect: [{ at: result.structuredContent.sum, equals: "{{ sum }}" }]
  - name: pictures (all of them)
    skip: waits for issue 17
    call: add
    expect: [{ is_error: false }]
output_schema: { tools: [add, echo] }
"#;

/// One case is flaky, one known, and one cannot be judged.
const DOUBTS: &str = r"suite: Doubts
servers:
  demo: { builtin: demo, protocol: 2025-11-25 }
  slow: { command: [python3, SERVER, fails-once] }
run_options: { parallel: 1, retries: 1 }
tests:
  - name: words come back in the end
    server: slow
    call: echo
    args: { text: hello }
    expect: [{ is_error: false }]
  - name: a sum that is wrong
    server: demo
    call: add
    args: { a: 1, b: 1 }
    expect: [{ at: result.structuredContent.sum, equals: 3 }]
  - name: a call that is over
    server: demo
    call: add
    args: { a: 1, b: 1 }
    cancel: { after: 20s }
    expect: [{ at: answered, equals: false }]
";

/// A shell notes the start of its server, which does not get the variable `CALLS`.
const SLOW: &str = r#"suite: Slow
server: { command: [sh, -c, "echo serve >>CALLED; exec mcprove serve demo"] }
run_options: { timeout: 600s, request_timeout: 600s }
tests:
  - name: takes long
    call: export_users
    args: { format: csv, delay_ms: 10000 }
    expect: [{ is_error: false }]
"#;

const CONFIG: &str = "import mcprove from 'vitest-mcprove';\n\
                      export default { plugins: [mcprove(JSON.parse(process.env.OPTIONS ?? '{}'))] };\n";

#[derive(Clone, Copy)]
enum Runner {
    Pytest,
    Vitest,
}

impl Runner {
    const ALL: [Self; 2] = [Self::Pytest, Self::Vitest];

    fn name(self) -> &'static str {
        match self {
            Self::Pytest => "pytest",
            Self::Vitest => "vitest",
        }
    }

    /// A project with its plugin, a suite, and a program that notes how it was called.
    fn project(self, name: &str) -> Scene {
        let scene = Scene::bare(&format!("runners-{}-{name}", self.name()));
        for folder in ["bin", "tests", "node_modules/vitest-mcprove"] {
            fs::create_dir_all(scene.folder.join(folder)).unwrap();
        }
        for package in ["vitest", "vite"] {
            let installed = root().join("tests/real/node_modules").join(package);
            symlink(installed, scene.folder.join("node_modules").join(package)).unwrap();
        }
        for file in ["package.json", "index.js", "runtime.js"] {
            let copy = scene.folder.join("node_modules/vitest-mcprove").join(file);
            fs::copy(root().join("packaging/vitest").join(file), copy).unwrap();
        }
        scene.write("package.json", r#"{ "type": "module" }"#);
        scene.write("vitest.config.js", CONFIG);
        scene.write("pytest.ini", "[pytest]\n");
        scene.write("tests/users.mcprove.yml", SUITE);
        program(&scene, concat!("exec '", env!("CARGO_BIN_EXE_mcprove"), "' \"$@\""));
        scene
    }

    /// The command of a run with these arguments, with variables in front of it.
    fn command(self, scene: &Scene, arguments: &str) -> String {
        let path = path().to_string_lossy().into_owned();
        let here = scene.folder.display();
        match self {
            Self::Pytest => format!(
                "PATH='{here}/bin:{path}' PYTHONDONTWRITEBYTECODE=1 PYTHONPATH='{}/packaging/pytest' COLUMNS=200 \
                 python3 -m pytest -p pytest_mcprove -p no:cacheprovider --no-header --color=no {arguments}",
                root().display()
            ),
            Self::Vitest => format!(
                "PATH='{here}/bin:{path}' NO_COLOR=1 VITEST_SKIP_INSTALL_CHECKS=1 \
                 node node_modules/vitest/vitest.mjs run --no-cache --reporter=verbose {arguments}"
            ),
        }
    }

    /// The arguments with which a run shows every test.
    fn verbose(self) -> &'static str {
        match self {
            Self::Pytest => "-v -ra",
            Self::Vitest => "",
        }
    }

    /// What a run with these arguments shows, and its exit code.
    fn run(self, scene: &Scene, arguments: &str) -> String {
        self.run_with(scene, "", arguments)
    }

    fn run_with(self, scene: &Scene, variables: &str, arguments: &str) -> String {
        let command = format!("{variables} {} 2>&1", self.command(scene, arguments));
        scene.line(&format!("sh -c {}", shell_words::quote(&command))).text()
    }
}

fn program(scene: &Scene, script: &str) {
    scene.write("bin/mcprove", &format!("#!/bin/sh\necho \"$*\" >>\"${{CALLS:-/dev/null}}\"\n{script}\n"));
    fs::set_permissions(scene.folder.join("bin/mcprove"), fs::Permissions::from_mode(0o755)).unwrap();
}

/// Asserts that all of these words are shown, and none of those.
fn assert_shows(shown: &str, words: &[&str], absent: &[&str]) {
    let missing: Vec<&&str> = words.iter().filter(|word| !shown.contains(**word)).collect();
    let wrong: Vec<&&str> = absent.iter().filter(|word| shown.contains(**word)).collect();
    assert!(missing.is_empty() && wrong.is_empty(), "without {missing:?}, with {wrong:?}:\n{shown}");
}

/// The runs that were asked for since the last look.
fn runs(scene: &Scene) -> Vec<String> {
    let text = fs::read_to_string(scene.folder.join("calls")).unwrap_or_default();
    let _ = fs::remove_file(scene.folder.join("calls"));
    text.lines().filter(|line| line.starts_with("run")).map(str::to_owned).collect()
}

/// The text of mcprove about the case that fails.
const FAILURE: [&str; 4] = [
    "✗ sums [a=2,b=2,sum=5]",
    "error[equals]: `result.structuredContent.sum` is 4, not 5",
    "│     expect: [{ at: result.structuredContent.sum, equals: \"{{ sum }}\" }]",
    "again  mcprove run tests/users.mcprove.yml:9 --row 'a=2,b=2,sum=5'",
];

#[test]
fn every_case_is_a_test() {
    if !is_installed() {
        return;
    }
    for runner in Runner::ALL {
        let scene = runner.project("cases");
        let shown = runner.run(&scene, runner.verbose());
        let own: &[&str] = match runner {
            Runner::Pytest => &[
                "tests/users.mcprove.yml::two and three PASSED",
                "tests/users.mcprove.yml::sums[a=1,b=1,sum=2] PASSED",
                "tests/users.mcprove.yml::sums[a=2,b=2,sum=5] FAILED",
                "SKIPPED [1] tests/users.mcprove.yml:14: waits for issue 17",
                "tests/users.mcprove.yml::output_schema PASSED",
                "1 failed, 3 passed, 1 skipped",
            ],
            Runner::Vitest => &[
                "✓ tests/users.mcprove.yml:4:1 > two and three",
                "✓ tests/users.mcprove.yml:9:1 > sums [a=1,b=1,sum=2]",
                "× tests/users.mcprove.yml:9:8 > sums [a=2,b=2,sum=5]",
                "[waits for issue 17]",
                "✓ tests/users.mcprove.yml:18:1 > output_schema",
                "1 failed | 3 passed | 1 skipped",
            ],
        };
        assert_shows(
            &shown,
            &[&FAILURE[..], own, &["--- exit 1"]].concat(),
            &["Traceback", "runtime.js", "pytest_mcprove.py"],
        );
    }
}

/// One process runs the selected cases, and no others.
#[test]
fn selected_cases_run() {
    if !is_installed() {
        return;
    }
    let smoke = "id(/^(?:tests.users.mcprove.yml..two and three.server.auto)$/)";
    let pictures = "id(/^(?:tests.users.mcprove.yml..pictures .all of them..server.auto)$/)";
    for (runner, selections) in [
        (
            Runner::Pytest,
            [("-k smoke", smoke, "1 passed, 4 deselected"), ("-k pictures", pictures, "1 skipped, 4 deselected")],
        ),
        (Runner::Vitest, [("-t three", smoke, "1 passed | 4 skipped"), ("-t pictures", pictures, "5 skipped")]),
    ] {
        let scene = runner.project("selected");
        for (selection, filter, counts) in selections {
            let shown = runner.run_with(&scene, "CALLS=calls", selection);
            assert_shows(&shown, &[counts, "--- exit 0"], &[]);
            let runs = runs(&scene);
            assert!(runs.len() == 1 && runs[0].contains(filter), "{runs:?} without {filter}");
        }
        let one = match runner {
            Runner::Pytest => "'tests/users.mcprove.yml::sums'",
            Runner::Vitest => "tests/users.mcprove.yml:9",
        };
        assert_shows(&runner.run(&scene, one), &["1 failed", "1 passed"], &["2 passed"]);
        let group = if matches!(runner, Runner::Pytest) { "-k output_schema" } else { "-t output_schema" };
        assert_shows(&runner.run(&scene, group), &["1 passed"], &["failed"]);
    }
}

/// Neither a missing program, a mistake in the suite, a program that breaks, nor a missed threshold is a pass.
#[test]
fn trouble_is_told() {
    if !is_installed() {
        return;
    }
    for runner in Runner::ALL {
        let scene = runner.project("trouble");
        let run = |program: &str, args: &str| match runner {
            Runner::Pytest => runner.run(&scene, &format!("{program} -o mcprove_args='{args}'")),
            Runner::Vitest => {
                let args: Vec<String> = args.split_whitespace().map(str::to_owned).collect();
                let program = program.split_whitespace().nth(1);
                let options = serde_json::json!({ "args": args, "program": program }).to_string();
                runner.run_with(&scene, &format!("OPTIONS='{options}'"), "")
            }
        };
        let missing = run("--mcprove no-such-program", "");
        assert_shows(
            &missing,
            &["error: the program `no-such-program` was not found", "help: install it"],
            &["--- exit 0"],
        );
        scene.write("tests/users.mcprove.yml", &SUITE.replace("equals: 5", "equal: 5"));
        let mistake = ["error[unknown-key]: an expectation has no key `equal`", "tests/users.mcprove.yml:8:50"];
        assert_shows(&run("", ""), &mistake, &["--- exit 0"]);
        scene.write("tests/users.mcprove.yml", &SUITE.replace("sum: 5", "sum: 4"));
        let missed = ["`mcprove run` ended with 6", "below the threshold of 99%"];
        assert_shows(&run("", "--threshold 99"), &missed, &["--- exit 0"]);
        assert_shows(&run("", "--threshold 1"), &["--- exit 0"], &["ended with"]);
        let broken = concat!(
            "[ \"$1\" != run ] || { echo 'it broke'; exit 70; }; exec '",
            env!("CARGO_BIN_EXE_mcprove"),
            "' \"$@\""
        );
        program(&scene, broken);
        let told = ["`mcprove run` ended with 70", "it broke", "its output is shown at the first"];
        assert_shows(&run("", ""), &told, &["passed", "--- exit 0"]);
    }
}

/// What could not be judged and what is known do not look passed, and what is flaky says so.
#[test]
fn doubts_are_shown() {
    if !is_installed() {
        return;
    }
    for runner in Runner::ALL {
        let scene = runner.project("doubts");
        let server = root().join("tests/servers/hostile.py").display().to_string();
        scene.write("tests/users.mcprove.yml", &DOUBTS.replace("SERVER", &server));
        scene.write("known.yml", "- { case: '*::a sum that is wrong*', reason: issue 12 }\n");
        let shown = match runner {
            Runner::Pytest => runner.run(&scene, "-v -ra -o mcprove_args='--baseline known.yml'"),
            Runner::Vitest => runner.run_with(&scene, r#"OPTIONS='{"args":["--baseline","known.yml"]}'"#, ""),
        };
        let counts = match runner {
            Runner::Pytest => "1 passed, 1 skipped, 1 xfailed, 1 warning",
            Runner::Vitest => "1 passed | 2 skipped",
        };
        let words = [
            "not judged: `tools/call add` was answered before it was cancelled",
            "known failure: issue 12",
            "flaky: attempt 2 passed; before: the call of `echo` reported an error",
            counts,
        ];
        assert_shows(&shown, &words, &[" failed,"]);
    }
}

/// Workers share the run of a suite.
#[test]
fn workers_run_each_suite_once() {
    if !is_installed() {
        return;
    }
    for (runner, workers) in [(Runner::Pytest, "-n 3"), (Runner::Vitest, "--maxWorkers=3")] {
        let scene = runner.project("workers");
        scene.write("tests/more.mcprove.yml", &SUITE.replace("sum: 5", "sum: 4"));
        let shown = runner.run_with(&scene, "CALLS=calls", workers);
        assert_shows(&shown, &FAILURE, &[]);
        let runs = runs(&scene);
        assert_eq!(runs.len(), 2, "{runs:?}\n{shown}");
    }
}

/// Nothing goes on where somebody ends the runner.
#[test]
fn an_interrupted_runner_ends_mcprove() {
    if !is_installed() {
        return;
    }
    for runner in Runner::ALL {
        let in_workers = match runner {
            Runner::Pytest => "-n 2",
            Runner::Vitest => "--pool=threads",
        };
        for (arguments, signal) in [("", "INT"), ("", "TERM"), (in_workers, "INT"), (in_workers, "TERM")] {
            if matches!((runner, arguments, signal), (Runner::Pytest, "-n 2", "TERM")) {
                // The process that knows the workers dies at once, and each of them ends some seconds later.
                continue;
            }
            let scene = runner.project("interrupted");
            let calls = scene.folder.join("calls").display().to_string();
            scene.write("tests/users.mcprove.yml", &SLOW.replace("CALLED", &calls));
            let running = scene.begin_line(&format!("CALLS=calls {}", runner.command(&scene, arguments)));
            let is_called =
                || fs::read_to_string(scene.folder.join("calls")).is_ok_and(|calls| calls.contains("\nserve"));
            scene.wait_until("the server is started", is_called);
            running.signal(signal);
            let seen = running.finish();
            assert_ne!(seen.status, 0, "{}", seen.text());
            scene.assert_nothing_survives();
        }
    }
}

/// The plugins have the version of the program, which one place says.
#[test]
fn the_versions_are_those_of_the_program() {
    for (file, key) in [("pytest/pyproject.toml", "version = "), ("vitest/package.json", "\"version\": ")] {
        let text = fs::read_to_string(root().join("packaging").join(file)).unwrap();
        let version = format!("{key}\"{}\"", env!("CARGO_PKG_VERSION"));
        assert!(text.contains(&version), "packaging/{file} does not have {version}");
    }
}
