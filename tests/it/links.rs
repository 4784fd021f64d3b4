//! Links that a server puts in the place of files and folders of its tester while it runs lead nowhere.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::harness::Scene;

const RUN: &str = "run suite.yml --report junit=out/report.xml --report json=out/report.json --report ndjson=out/events.ndjson \
                   --transcript frames --write-baseline out/known.yml --record out/recording.ndjson";

const PLAN: &str = "faults:\n  - { name: broken, type: failure, tools: [read_note] }\n";

/// What the server replaces at its first call.
const PATTERNS: [&str; 8] =
    ["out", "out/*", "frames", "frames/*", ".mcprove", ".mcprove/*", ".mcprove/findings", ".mcprove/findings/*"];

fn suite(scene: &Scene, pattern: &str) {
    let suite = format!(
        "suite: Swapped\nserver: {{ command: [python3, ../../servers/swapping.py, ../victim, '{pattern}'] }}\ntests:\n\
         - name: reads\n    call: read_note\n    args: {{ path: today.md }}\n    expect: [{{ is_error: true }}]\n\
         - name: ends\n    call: read_note\n    args: {{ path: crash }}\n    expect: [{{ is_error: false }}]\n"
    );
    scene.write("suite.yml", &suite.replace("\n- ", "\n  - "));
}

/// Every file and folder below a folder, with its content.
fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let entries = walkdir::WalkDir::new(folder).into_iter().map(|entry| entry.unwrap().into_path());
    entries.map(|path| (path.clone(), fs::read(path).unwrap_or_default())).collect()
}

#[test]
fn links_that_appear_during_a_run_lead_nowhere() {
    for (number, pattern) in PATTERNS.into_iter().enumerate() {
        let scene = Scene::copied("cases/security-probes", &format!("links-{number}"));
        let victim = scene.folder.parent().unwrap().join("victim");
        suite(&scene, "nothing");
        let first = scene.run(RUN);
        assert_eq!(first.status, 1, "{}", first.text());
        fs::remove_file(scene.folder.join("out/known.yml")).unwrap();
        // The names of what a run writes, so that each link leads to a file.
        fs::create_dir_all(victim.join("findings")).unwrap();
        for (path, _) in contents(&scene.folder).into_iter().filter(|(path, _)| path.is_file()) {
            fs::write(victim.join(path.file_name().unwrap()), "mine").unwrap();
            fs::write(victim.join("findings").join(path.file_name().unwrap()), "mine").unwrap();
        }
        let before = contents(&victim);
        suite(&scene, pattern);
        let seen = scene.run(RUN);
        assert_eq!(contents(&victim), before, "{pattern}: {}", seen.text());
        scene.assert_nothing_survives();
    }
}

#[test]
fn only_their_owner_reads_findings() {
    let scene = Scene::copied("cases/security-probes", "links-modes");
    suite(&scene, "nothing");
    scene.run("run suite.yml");
    let findings: Vec<PathBuf> =
        contents(&scene.folder.join(".mcprove/findings")).into_keys().filter(|path| path.is_file()).collect();
    assert!(!findings.is_empty());
    for path in findings {
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600, "{}", path.display());
    }
}

#[test]
fn a_report_that_cannot_be_written_whole_leaves_the_old_one() {
    let scene = Scene::copied("cases/security-probes", "links-torn");
    suite(&scene, "nothing");
    fs::create_dir(scene.folder.join("out")).unwrap();
    scene.write("out/report.json", "old");
    let seen = scene.line("sh -c 'ulimit -f 1; exec \"$MCPROVE\" run suite.yml --report json=out/report.json'");
    assert!(seen.stderr.contains("failed to write `out/report.json`"), "{}", seen.text());
    assert_eq!(contents(&scene.folder.join("out")).into_values().collect::<Vec<_>>(), [&b""[..], b"old"]);
}

#[test]
fn the_events_of_a_relay_do_not_overwrite_its_plan() {
    let scene = Scene::copied("cases/security-probes", "links-plan");
    scene.write("plan.yml", PLAN);
    let server = "python3 ../../servers/swapping.py victim nothing";
    let seen = scene.run(&format!("relay stdio --plan plan.yml --events ./plan.yml -- {server}"));
    assert_eq!(seen.status, 2, "{}", seen.text());
    assert!(seen.stderr.contains("is an input of this run and would be overwritten"), "{}", seen.text());
    assert_eq!(fs::read_to_string(scene.folder.join("plan.yml")).unwrap(), PLAN);
}

#[test]
fn standard_output_may_be_named() {
    let scene = Scene::copied("cases/security-probes", "links-output");
    suite(&scene, "nothing");
    let seen = scene.run("run suite.yml --report junit=/dev/stdout");
    assert!(seen.stdout.contains("<testsuites"), "{}", seen.text());
}

#[test]
fn a_relay_writes_no_events_over_its_plan() {
    let scene = Scene::bare("links/plan");
    scene.write("plan", PLAN);
    std::os::unix::fs::symlink("plan", scene.folder.join("link")).unwrap();
    fs::hard_link(scene.folder.join("plan"), scene.folder.join("hard")).unwrap();
    for events in ["plan", "./plan", "link", "hard"] {
        let seen = scene.run(&format!("relay stdio --plan plan --events {events} -- true"));
        assert_eq!(seen.status, 2, "{}", seen.text());
        assert!(seen.stderr.contains("is an input of this run and would be overwritten"), "{}", seen.text());
        assert_eq!(fs::read_to_string(scene.folder.join("plan")).unwrap(), PLAN);
    }
}
