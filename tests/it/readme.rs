//! What the documentation shows is what the program does: pictures, tables and suites.
//! `UPDATE=1 cargo test readme` rewrites what is made from the code.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use mcprove::demo::AuthorizationFlaw;
use regex::Regex;

use crate::documents::{bare, documents, scene, split};
use crate::harness::{Scene, files, is_update, python, root};

/// A file, the name of a part of it, and what makes that part.
type Part = (&'static str, &'static str, fn() -> String);

/// Each stands between `<!-- made from the code: NAME -->` and `<!-- end -->`.
const PARTS: &[Part] = &[
    ("README.md", "commands", commands),
    ("README.md", "exit codes", exit_codes),
    ("docs/guides/ci.md", "job of github", || ci_job("yaml", "github.yml")),
    ("docs/guides/ci.md", "job of gitlab", || ci_job("yaml", "gitlab.yml")),
    ("docs/guides/ci.md", "job of azure", || ci_job("yaml", "azure.yml")),
    ("docs/guides/ci.md", "job of jenkins", || ci_job("groovy", "Jenkinsfile")),
    ("docs/guides/drift.md", "kinds of change", mcprove::drift::manual),
    ("docs/reference/fault-language.md", "reference", mcprove::fault::manual),
    ("docs/reference/fault-language.md", "types", mcprove::fault::types),
    ("docs/guides/oauth.md", "rules", mcprove::block::authorization_manual),
    ("docs/guides/proving.md", "a proof", proof),
    ("docs/guides/proving.md", "predictions", crate::holdout::summary),
    ("docs/guides/proving.md", "predictions by suite", crate::holdout::summary_by_suite),
    ("docs/guides/reports.md", "formats", formats),
    ("docs/guides/reports.md", "how runs end", how_runs_end),
    ("docs/reference/demo-server.md", "flaws", flaws),
    ("docs/reference/errors.md", "codes of failures", mcprove::event::manual),
    ("docs/reference/blocks.md", "reference", || mcprove::block::manual("blocks.md")),
    ("docs/reference/matchers.md", "reference", || mcprove::block::manual("matchers.md")),
    ("docs/reference/steps.md", "reference", || mcprove::block::manual("steps.md")),
    ("docs/reference/suite-file.md", "reference", || mcprove::block::manual("suite-file.md")),
];

/// What the terminal shows of runs that end in different ways, as the case tests recorded it.
fn how_runs_end() -> String {
    let outputs = ["run-green.yml", "run-red.yml", "run-loud.yml", "run-many.yml"];
    let output = |name: &str| {
        let file = root().join(format!("tests/snapshots/cases/last-lines/{name}.snap"));
        let text = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let (_, shown) = text.split_once("---\n$ ").unwrap();
        format!("\n```text\n$ {}\n```\n", shown.trim_end())
    };
    outputs.map(output).concat()
}

/// The flaws of the authorization of the demo server.
fn flaws() -> String {
    let rows = AuthorizationFlaw::ALL.iter().map(|flaw| format!("| `{}` | {} |\n", flaw.name(), flaw.wrong()));
    format!("\n| flaw | what is wrong |\n| --- | --- |\n{}", rows.collect::<String>())
}

#[test]
fn the_picture_of_a_terminal_shows_what_a_run_prints() {
    let scene = Scene::bare("readme/terminal");
    let mut make = python();
    make.arg(root().join("docs/pictures/make")).args(["terminal", "--out"]).arg(&scene.folder);
    let output = make.env("MCPROVE", env!("CARGO_BIN_EXE_mcprove")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let seen = fs::read_to_string(scene.folder.join("terminal.svg")).unwrap();
    let path = root().join("docs/pictures/terminal.svg");
    if is_update() {
        fs::write(&path, &seen).unwrap();
    }
    let shown = fs::read_to_string(path).unwrap();
    assert!(shown == seen, "docs/pictures/terminal.svg is out of date; run `UPDATE=1 cargo test readme`");
}

/// Behind `--` stands the command of a server, which would get the flag.
#[test]
fn flags_stand_before_the_dashes() {
    let flag = Regex::new(r"(?m)^\s*mcprove (?:audit|ci|compliance|fuzz|lint|snapshot)\b.* -- .*(--(?:against|allow|arguments|cases|fail-on|report|revision|seed))\b").unwrap();
    let mut pages = files("docs", "md");
    pages.push(root().join("README.md"));
    for page in pages {
        let text = fs::read_to_string(&page).unwrap();
        let misplaced: Vec<&str> = flag.find_iter(&text).map(|found| found.as_str().trim()).collect();
        assert!(misplaced.is_empty(), "{}: {misplaced:?}", page.display());
    }
}

#[test]
fn every_built_in_suite_is_named() {
    let text = fs::read_to_string(root().join("docs/guides/sharing.md")).unwrap();
    let line = text.lines().find(|line| line.starts_with("Built in are ")).unwrap();
    let table = fs::read_to_string(root().join("docs/guides/auditing.md")).unwrap();
    let missing: Vec<&str> = mcprove::suite::builtin_names()
        .filter(|name| !line.contains(&format!("`{}`", name.rsplit('/').next().unwrap())))
        .filter(|name| {
            !line.contains(&format!("`builtin:{name}`")) && !table.contains(&format!("| `builtin:{name}` |"))
        })
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn parts_made_from_the_code_are_up_to_date() {
    let mut stale = Vec::new();
    for (file, name, make) in PARTS {
        let path = root().join(file);
        let text = fs::read_to_string(&path).unwrap();
        let (before, found, after) = split(&text, name);
        let wanted = format!("\n{}\n", make().trim());
        if bare(found) == bare(&wanted) {
            continue;
        }
        if is_update() {
            fs::write(&path, format!("{before}{wanted}{after}")).unwrap();
        } else {
            stale.push(format!("{file} ({name})"));
        }
    }
    assert!(stale.is_empty(), "out of date: {}; run `UPDATE=1 cargo test readme`", stale.join(", "));
}

#[test]
fn faults_in_the_documentation_are_faults() {
    let page = fs::read_to_string(root().join("docs/reference/fault-language.md")).unwrap();
    let blocks = Regex::new(r"(?s)```yaml\n(.*?)```").unwrap();
    let faults: Vec<&str> = blocks.captures_iter(&page).map(|found| found.extract::<1>().1[0]).collect();
    assert!(faults.len() > 2);
    let scene = scene("readme/faults");
    for fault in &faults {
        scene.write("fault.yml", fault);
        let seen = scene.line("mcprove serve faulty --plan fault.yml");
        assert_eq!((seen.status, seen.stderr.as_str()), (0, ""), "{fault}");
    }
}

/// A proof as a terminal of 80 columns shows it, as far as to the second survivor.
fn proof() -> String {
    let scene = scene("readme/proof");
    for (file, text) in suites(&fs::read_to_string(root().join("docs/guides/proving.md")).unwrap()) {
        scene.write(&file, &text);
    }
    let command = "mcprove prove sums-proven.yml";
    let seen = scene.line(&format!("COLUMNS=80 {command}"));
    assert_eq!((seen.status, seen.stderr.as_str()), (0, ""));
    let parts: Vec<&str> = seen.stdout.split("\n~ ").collect();
    let shown = parts[..3].join("\n~ ");
    format!("```text\n$ {command}\n{shown}\n…\n```")
}

fn commands() -> String {
    let mut table = String::from("| command | what it does |\n| --- | --- |\n");
    for (command, help) in mcprove::cli::help().iter().skip(1) {
        writeln!(
            table,
            "| `{command}` | {} |",
            help.split("\n\n").next().unwrap().replace('\n', " ").trim_end_matches('.')
        )
        .unwrap();
    }
    table
}

fn exit_codes() -> String {
    let mut table = String::from("| code | meaning |\n| --- | --- |\n");
    for (exit, meaning) in mcprove::cli::Exit::TABLE {
        writeln!(table, "| {} | {meaning} |", exit as u8).unwrap();
    }
    table
}

/// A job as `mcprove init --ci` writes it, for the folder of the suites.
fn ci_job(language: &str, file: &str) -> String {
    let job = fs::read_to_string(root().join("src/init/ci_job").join(file)).unwrap();
    let job = job.replace("@REPOSITORY@", env!("CARGO_PKG_REPOSITORY")).replace("@VERSION@", env!("CARGO_PKG_VERSION"));
    format!("```{language}\n{job}```")
}

fn formats() -> String {
    let mut table = String::from("| format | what it is |\n| --- | --- |\n");
    for format in mcprove::report::FORMATS {
        writeln!(table, "| `{}` | {} |", format.name, format.about).unwrap();
    }
    table
}

/// Suites that fail on purpose; what they show is compared above.
const FAILING: &[&str] = &["sums.yml", "relying.yml"];

#[test]
fn suites_in_the_documentation_are_valid_and_pass() {
    let program = Path::new(env!("CARGO_BIN_EXE_mcprove")).parent().unwrap().display();
    let mut checked = 0;
    // The page about mistakes shows the lines that matter, not whole suites; the tutorial's commands run its suites.
    let is_left_out = |path: &Path| path.ends_with("errors.md") || path.ends_with("tutorial.md");
    for path in documents().into_iter().filter(|path| !is_left_out(path)) {
        let name = path.strip_prefix(root()).unwrap().to_string_lossy().replace(['/', '.'], "-");
        let scene = scene(&format!("readme/{name}"));
        let suites = suites(&fs::read_to_string(&path).unwrap());
        // All are written before any is checked: one may include another.
        for (file, text) in &suites {
            scene.write(file, text);
        }
        for (file, text) in &suites {
            let seen = scene.run(&format!("check {file}"));
            assert_eq!(seen.status, 0, "{}:\n{}{}", path.display(), seen.stdout, seen.stderr);
            checked += 1;
            if !FAILING.contains(&file.as_str()) && !text.contains("url: https:") {
                // Servers that are `mcprove` themselves are found there; what is recorded is written.
                let seen = scene.line(&format!("'PATH={program}' mcprove run {file} --update --yes"));
                assert_eq!(seen.status, 0, "{}:\n{}{}", path.display(), seen.stdout, seen.stderr);
            }
        }
    }
    assert!(checked > 5, "only {checked} suites were found in the documentation");
}

/// The fenced blocks that are whole suites, each with a file name: that of a first line such as `# users.yml`, or one
/// of its own.
fn suites(text: &str) -> Vec<(String, String)> {
    let fence = Regex::new(r"(?ms)^```yaml\n(.*?)^```$").unwrap();
    let name = Regex::new(r"^# ([\w.-]+\.yml)\n").unwrap();
    let blocks = fence.captures_iter(text).map(|block| block[1].to_owned());
    let whole = blocks.filter(|block| block.lines().find(|line| !line.starts_with('#')).is_some_and(is_suite));
    whole
        .enumerate()
        .map(|(at, block)| {
            let named = name.captures(&block).map(|named| named[1].to_owned());
            (named.unwrap_or_else(|| format!("suite-{at}.yml")), block)
        })
        .collect()
}

fn is_suite(line: &str) -> bool {
    line.starts_with("suite:")
}

#[test]
fn every_dependency_is_explained() {
    let manifests = [root().join("Cargo.toml")].into_iter().chain(files("crates", "toml"));
    let manifest: String = manifests.map(|path| fs::read_to_string(path).unwrap()).collect();
    let line = Regex::new(r"^([\w-]+) = ").unwrap();
    let mut section = "";
    let mut declared = BTreeSet::new();
    for text in manifest.lines() {
        match (text.starts_with('['), line.captures(text)) {
            (true, _) => section = text,
            // Packages of this repository have a path.
            (false, Some(found)) if section.ends_with("dependencies]") && !text.contains("{ path = ") => {
                declared.insert(found[1].to_owned());
            }
            _ => {}
        }
    }
    let page = fs::read_to_string(root().join("docs/dependencies.md")).unwrap();
    let row = Regex::new(r"(?m)^\| `([\w-]+)` \|").unwrap();
    let explained: BTreeSet<String> = row.captures_iter(&page).map(|found| found[1].to_owned()).collect();
    assert_eq!(explained, declared, "docs/dependencies.md has a line for each dependency");
}
