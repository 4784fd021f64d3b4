//! What a log is told of a run while it lasts.

use crate::harness::Scene;

#[test]
fn a_log_is_told_how_far_a_run_is_with_the_cases_of_blocks_counted() {
    let scene = Scene::bare("progress");
    let suite = r"
suite: Takes a while
server: { command: ['{{ env.MCPROVE }}', serve, demo] }
run_options: { parallel: 1 }
tests:
  - name: is wrong
    call: echo
    args: { message: hello }
    expect: [{ text: { equals: bye } }]
negative_path: { tools: [echo] }
";
    let slow = "\nsuite: Slow\nserver: { command: ['{{ env.MCPROVE }}', serve, demo] }\ntests:\n  - name: takes long\n    call: export_users\n    args: { format: csv, delay_ms: 7000 }\n    expect: [{ is_error: false }]\n";
    scene.write("a.yml", suite);
    scene.write("b.yml", slow);
    let seen = scene.run("run a.yml b.yml");
    let all = seen.stdout.lines().find_map(|line| line.strip_prefix("✗ ")?.strip_suffix("s").map(str::to_owned));
    let all = all.unwrap_or_default();
    let all = all.split(' ').next().unwrap_or_default();
    let progress = &seen.progress;
    assert!(progress.contains("… ✗ a.yml:6 is wrong: equals: "), "{progress}");
    assert!(progress.contains("… ✗ a.yml: "), "{progress}");
    assert!(progress.contains(&format!(" of {all} cases done, 1 failed; running: takes long")), "{all} {progress}");
    let quiet = scene.run("run a.yml b.yml --quiet");
    assert_eq!(quiet.progress, "");
}

#[test]
fn a_log_is_told_what_a_snapshot_waits_for() {
    let scene = Scene::bare("progress-snapshot");
    scene.write("slow.sh", &format!("sleep 6; exec '{}' serve demo\n", env!("CARGO_BIN_EXE_mcprove")));
    let seen = scene.run("snapshot --no-answers -- sh slow.sh");
    assert!(seen.progress.contains("… 5 s: listing what `server` offers"), "{} {}", seen.progress, seen.stderr);
    assert_eq!(seen.status, 0);
}

#[test]
fn the_time_of_a_case_is_without_the_start_of_its_server() {
    let scene = Scene::bare("slow-start");
    scene.write("slow.sh", &format!("sleep 3; exec '{}' serve demo\n", env!("CARGO_BIN_EXE_mcprove")));
    for policy in ["per_suite", "per_test"] {
        let suite = format!(
            "suite: Slow to start\nserver: {{ command: [sh, slow.sh] }}\nrun_options: {{ restart_policy: {policy} }}\ntests:\n  \
             - {{ name: t, call: echo, args: {{ message: hello }}, expect: [{{ is_error: false }}] }}\n"
        );
        scene.write("suite.yml", &suite);
        let report = scene.run("run suite.yml --report json=-").stdout;
        let report: serde_json::Value = serde_json::from_str(&report).unwrap_or_default();
        let took = report["suites"][0]["cases"][0]["duration_us"].as_u64();
        let ready = report["servers"][0]["ready_us"].as_u64();
        // Both are measured by the program, so that a busy machine changes neither order.
        assert!(took.is_some() && ready.is_some() && took < ready, "{policy}: {took:?} {ready:?}");
    }
}
