//! Suites that grow: what is added passes, catches more, and leaves what was there as it was.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::fs;

use serde_json::Value;

use crate::harness::Scene;

const SUITE: &str = "\
# Mine.
suite: Sums
server: { builtin: demo }
tests:
  - name: two and two # the first
    call: add
    args: { a: 2, b: 2 }
    expect: [{ is_error: false }] # it works
";

fn text(scene: &Scene) -> String {
    fs::read_to_string(scene.folder.join("suite.yml")).unwrap()
}

/// The share of variants that the suite proves.
fn proven(scene: &Scene) -> f64 {
    let seen = scene.run("prove suite.yml --report json=proof.json");
    assert_eq!(seen.status, 0, "{}", seen.text());
    let report: Value = serde_json::from_str(&fs::read_to_string(scene.folder.join("proof.json")).unwrap()).unwrap();
    report["proof"]["proven"]["percent"].as_f64().unwrap()
}

#[test]
fn a_suite_grows_beside_what_is_there() {
    let scene = Scene::bare("grow");
    scene.write("suite.yml", SUITE);
    let before = proven(&scene);
    let shown = scene.run("grow suite.yml --dry-run --tools add");
    assert_eq!((shown.status, text(&scene).as_str()), (0, SUITE), "{}", shown.text());
    assert!(shown.stdout.contains("\n+      - "), "{}", shown.text());
    let seen = scene.run("grow suite.yml");
    assert_eq!(seen.status, 0, "{}", seen.text());
    let grown = text(&scene);
    for kept in ["# Mine.\n", "- name: two and two # the first\n", "{ is_error: false }"] {
        assert!(grown.contains(kept), "{grown}");
    }
    assert!(grown.contains("call: get_user") && grown.contains("sum: 4"), "{grown}");
    assert!(!grown.contains("call: delete_user"), "nobody allowed it\n{grown}");
    let after = proven(&scene);
    assert!(after > before, "{before} {after}\n{grown}");
    for _ in 0..3 {
        let again = scene.run("run suite.yml --shuffle=7");
        assert_eq!(again.status, 0, "{}", again.text());
    }
}

#[test]
fn a_suite_begins_with_nothing_and_ends_where_it_is_enough() {
    let scene = Scene::bare("grow-empty");
    scene.write("suite.yml", "suite: Sums\nserver: { builtin: demo }\ntests: []\n");
    let seen = scene.run("grow suite.yml --until 1");
    assert_eq!(seen.status, 0, "{}", seen.text());
    assert!(seen.stdout.contains("nothing proven before"), "{}", seen.text());
    assert!(proven(&scene) >= 1.0);
}

#[test]
fn what_somebody_writes_meanwhile_is_kept() {
    let scene = Scene::bare("grow-changed");
    let file = scene.folder.join("suite.yml");
    let program = env!("CARGO_BIN_EXE_mcprove");
    let start = format!("echo '# later' >> '{}'; exec '{program}' serve demo", file.display());
    scene.write("suite.yml", &SUITE.replace("{ builtin: demo }", &format!("{{ command: [sh, -c, {start:?}] }}")));
    let seen = scene.run("grow suite.yml --tools add");
    assert_eq!(seen.status, 3, "{}", seen.text());
    assert!(seen.text().contains("was changed while it grew"), "{}", seen.text());
    let left = text(&scene);
    assert!(left.ends_with("# later\n") && !left.contains("sum: 4"), "{left}");
}

#[test]
fn what_cannot_grow_stays_as_it_is() {
    let scene = Scene::bare("grow-not");
    let red = SUITE.replace("is_error: false", "is_error: true");
    for (suite, status, said) in [
        (red.as_str(), 1, "nothing was added: `two and two` does not pass"),
        ("suite: Sums\nserver: { builtin: demo }\ntests: [\n", 2, "error"),
        (
            "suite: Sums\nserver: { command: [mcprove-no-such-program] }\ntests: [{ name: a, list: tools, expect: [] }]\n",
            3,
            "nothing was added",
        ),
    ] {
        scene.write("suite.yml", suite);
        let seen = scene.run("grow suite.yml");
        assert_eq!((seen.status, text(&scene).as_str()), (status, suite), "{}", seen.text());
        assert!(seen.stderr.contains(said), "{}", seen.text());
    }
    scene.write("suite.yml", SUITE);
    let file = scene.folder.join("suite.yml");
    let mut permissions = fs::metadata(&file).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(&file, permissions).unwrap();
    let seen = scene.run("grow suite.yml");
    assert_eq!((seen.status, text(&scene).as_str()), (2, SUITE), "{}", seen.text());
    assert!(seen.stderr.contains("`suite.yml` is read-only"), "{}", seen.text());
    assert_eq!(scene.run("grow missing.yml").status, 2);
}
