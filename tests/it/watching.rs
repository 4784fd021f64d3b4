//! `mcprove run --watch`: suites and servers change, and what is affected runs again.

use std::fs;

use crate::harness::{Running, Scene, python};

/// The end of everything that a watch says before it waits.
const PROMPT: &str = "Ctrl-C quits\n";

const HEAD: &str = "suite: Watched\nserver: { builtin: demo }\ntests:\n";

/// A test that adds 2 and a number, and passes for 4.
fn sum(name: &str, number: u32) -> String {
    format!(
        "  - name: {name}\n    call: add\n    args: {{ a: 2, b: {number} }}\n    expect: [{{ at: result.structuredContent.sum, equals: 4 }}]\n"
    )
}

/// Starts a watch on `a.yml`, and waits until it waits.
fn watch(scene: &Scene, arguments: &str) -> (Running, String) {
    let mut running = scene.begin_joined(&format!("run {arguments} --watch"), &[]);
    let seen = running.until(PROMPT);
    (running, seen)
}

/// Ends an idle watch.
fn quit(scene: &Scene, running: Running, status: i32) {
    running.signal("INT");
    let seen = running.finish();
    assert_eq!(seen.status, status, "{}", seen.text());
    scene.assert_nothing_survives();
}

#[track_caller]
fn assert_says(seen: &str, words: &[&str]) {
    for word in words {
        assert!(seen.contains(word), "`{word}` is said in:\n{seen}");
    }
}

#[test]
fn a_change_of_a_suite_runs_what_changed() {
    let scene = Scene::bare("watching/suite");
    scene.write("a.yml", &[HEAD, &sum("one", 2), &sum("two", 2)].concat());
    let (mut running, seen) = watch(&scene, "a.yml");
    assert_says(&seen, &["2 cases: 2 passed", "watching 1 suite: "]);
    scene.write("a.yml", &[HEAD, &sum("one", 2), &sum("two", 3)].concat());
    assert_says(&running.until(PROMPT), &["`a.yml` changed: running the test `two` of `a.yml`", "1 case: 1 failed"]);
    scene.write("a.yml", &[HEAD, "# note\n", &sum("one", 2), &sum("two", 3)].concat());
    let seen = running.until(PROMPT);
    assert_says(&seen, &["`a.yml` changed: running `a.yml`", "1 case: 1 failed", "now everything that is affected"]);
    assert_says(&seen, &["2 cases: 1 passed, 1 failed"]);
    scene.write("a.yml", &[HEAD, "# note\n", &sum("one", 2), &sum("two", 2)].concat());
    assert_says(&running.until(PROMPT), &["the test `two`", "1 case: 1 passed"]);
    quit(&scene, running, 0);
}

#[test]
fn a_suite_with_a_mistake_is_shown_and_mended() {
    let scene = Scene::bare("watching/mistake");
    scene.write("a.yml", &[HEAD, &sum("one", 2)].concat());
    let (mut running, _) = watch(&scene, "a.yml");
    scene.write("a.yml", &[HEAD, &sum("one", 2).replace("call", "cal")].concat());
    assert_says(&running.until(PROMPT), &["error[unknown-key]", "a.yml:5", "nothing was run"]);
    fs::remove_file(scene.folder.join("a.yml")).unwrap();
    assert_says(&running.until(PROMPT), &["cannot read `a.yml`"]);
    scene.write("a.yml", &[HEAD, &sum("one", 2)].concat());
    assert_says(&running.until(PROMPT), &["1 case: 1 passed"]);
    quit(&scene, running, 0);
}

#[test]
fn files_that_a_suite_reads_are_watched_and_suites_may_come_and_go() {
    let scene = Scene::bare("watching/folder");
    fs::create_dir(scene.folder.join("suites")).unwrap();
    scene.write("_shared.yml", &["suite: Shared\ntests:\n", &sum("shared", 2)].concat());
    scene.write("suites/a.yml", "suite: A\nserver: { builtin: demo }\ninclude: [../_shared.yml]\ntests: []\n");
    let (mut running, _) = watch(&scene, "suites");
    scene.write("_shared.yml", &["suite: Shared\ntests:\n", &sum("shared", 3)].concat());
    assert_says(&running.until(PROMPT), &["`_shared.yml` changed: running `suites/a.yml`", "1 failed"]);
    fs::create_dir(scene.folder.join("suites/deep")).unwrap();
    scene.write("suites/deep/b.yml", &[HEAD, &sum("one", 2)].concat());
    assert_says(&running.until(PROMPT), &["`suites/deep/b.yml` changed", "1 case: 1 passed", "watching 2 suites"]);
    // What failed elsewhere is still known.
    scene.write("suites/deep/b.yml", &[HEAD, &sum("one", 3)].concat());
    assert_says(&running.until(PROMPT), &["1 case: 1 failed"]);
    fs::remove_file(scene.folder.join("suites/deep/b.yml")).unwrap();
    assert_says(&running.until(PROMPT), &["`suites/deep/b.yml` is gone", "watching 1 suite"]);
    quit(&scene, running, 1);
}

#[test]
fn a_change_of_a_source_starts_the_server_anew() {
    let scene = Scene::bare("watching/sources");
    fs::create_dir_all(scene.folder.join("tests")).unwrap();
    fs::create_dir_all(scene.folder.join("src/node_modules")).unwrap();
    let server = "server: { command: [sh, ../src/server.sh], env: { MCPROVE: '{{ env.MCPROVE }}' }, watch: ['../src/**/*.sh'] }\n";
    scene.write("tests/a.yml", &["suite: A\n", server, "tests:\n", &sum("one", 2)].concat());
    scene.write("src/server.sh", "exec \"$MCPROVE\" serve demo\n");
    let (mut running, seen) = watch(&scene, "tests/a.yml");
    assert_says(&seen, &["1 case: 1 passed", "watching 1 suite and 1 source: "]);
    scene.write("src/node_modules/other.sh", "exit 1\n");
    scene.write("src/notes.txt", "not a source\n");
    scene.write("src/server.sh", "exit 3\n");
    let seen = running.until(PROMPT);
    assert_says(&seen, &["`src/server.sh` changed: running `tests/a.yml` on a new server", "server.sh", "1 errored"]);
    scene.write("src/server.sh", "exec \"$MCPROVE\" serve demo # mended\n");
    assert_says(&running.until(PROMPT), &["on a new server", "1 case: 1 passed"]);
    quit(&scene, running, 0);
}

#[test]
fn a_file_that_every_run_changes_is_not_watched_for_ever() {
    let scene = Scene::bare("watching/log");
    let server = "server: { command: [sh, server.sh], env: { MCPROVE: '{{ env.MCPROVE }}' }, watch: ['*'] }\n";
    scene.write("a.yml", &["suite: A\n", server, "tests:\n", &sum("one", 2)].concat());
    scene.write("server.sh", "echo started >> log\nexec \"$MCPROVE\" serve demo\n");
    let (mut running, _) = watch(&scene, "a.yml");
    let mut seen = String::new();
    while !seen.contains("`log` changes with every run") {
        seen = running.until(PROMPT);
    }
    quit(&scene, running, 0);
    assert_eq!(fs::read_to_string(scene.folder.join("log")).unwrap().lines().count(), 3);
}

#[test]
fn sixty_suites_that_change_at_once_run_once() {
    let scene = Scene::bare("watching/sixty");
    let write = |number: u32| {
        for at in 0..60 {
            scene.write(&format!("s{at:02}.yml"), &[HEAD, &sum("one", 2), &sum("two", number)].concat());
        }
    };
    write(2);
    let (mut running, seen) = watch(&scene, ".");
    assert_says(&seen, &["120 cases: 120 passed"]);
    write(3);
    let seen = running.until(PROMPT);
    assert_says(&seen, &["60 files changed: running 60 suites", "60 cases: 60 failed"]);
    running.signal("INT");
    let rest = running.finish();
    assert_eq!((rest.stdout.as_str(), rest.status), ("", 1), "nothing runs again");
}

#[test]
fn ctrl_c_stops_a_rerun_and_then_quits() {
    let scene = Scene::bare("watching/interrupt");
    let server = "server: { command: [sh, server.sh], env: { MCPROVE: '{{ env.MCPROVE }}' }, watch: [server.sh] }\n";
    let options = "run_options: { start_timeout: 900s, timeout: 900s }\n";
    scene.write("a.yml", &["suite: A\n", server, options, "tests:\n", &sum("one", 2)].concat());
    scene.write("server.sh", "exec \"$MCPROVE\" serve demo\n");
    let (mut running, _) = watch(&scene, "a.yml");
    scene.write("server.sh", "echo up > started\nexec sleep 900\n");
    scene.wait_until("the server starts", || scene.folder.join("started").exists());
    running.signal("INT");
    assert_says(&running.until(PROMPT), &["on a new server", "stopping: teardown, then reports"]);
    scene.write("server.sh", "exec \"$MCPROVE\" serve demo\n");
    assert_says(&running.until(PROMPT), &["on a new server", "1 case: 1 passed"]);
    quit(&scene, running, 0);
}

#[test]
fn nothing_is_left_of_reruns() {
    let scene = Scene::bare("watching/left");
    let temporary = scene.folder.join("tmp");
    fs::create_dir(&temporary).unwrap();
    let suite = |number: u32| {
        let store = "  - name: folder\n    call: echo\n    args: { message: '{{ run.dir }}' }\n    expect: [{ is_error: false }]\n";
        [HEAD, store, &sum("one", number)].concat()
    };
    scene.write("a.yml", &suite(2));
    let variables = [("TMPDIR", temporary.to_str().unwrap())];
    let mut running = scene.begin_joined("run a.yml --watch --report json=report.json", &variables);
    running.until(PROMPT);
    for number in [3, 4, 5, 2] {
        scene.write("a.yml", &suite(number));
        running.until(PROMPT);
        let left = fs::read_dir(&temporary).unwrap().count();
        assert_eq!(left, 0, "after {number}");
        let report = fs::read_to_string(scene.folder.join("report.json")).unwrap();
        assert_eq!(report.contains("\"failed\": 1"), number != 2, "{report}");
    }
    quit(&scene, running, 0);
}

/// Types into a watch on a terminal of its own, and looks at the modes of that.
const TYPIST: &str = r#"
import fcntl, os, pty, subprocess, termios

terminal, keeper = pty.openpty()


def take_terminal():
    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


words = [os.environ["MCPROVE"], "run", "a.yml", "--watch", "--color", "never"]
child = subprocess.Popen(words, stdin=keeper, stdout=keeper, stderr=keeper, preexec_fn=take_terminal)
seen = b""


def until(words):
    global seen
    while words not in seen:
        seen += os.read(terminal, 65536)
    before, seen = seen.split(words, 1)
    return before


def is_raw():
    return not termios.tcgetattr(keeper)[3] & (termios.ICANON | termios.ECHO)


prompt = b"? help"
assert b"\x1b[2J" not in until(prompt) and is_raw()
for key, words in [(b"\n", b"2 cases"), (b"a", b"2 cases"), (b"f", b"1 case: 1 failed"), (b"?", b"type a filter")]:
    os.write(terminal, key)
    shown = until(prompt)
    assert words in shown and is_raw(), (key, shown)
    assert b"\x1b[3J" not in shown, "the scrollback stays"
os.write(terminal, b"t")
until(b"filter: ")
assert not is_raw()
os.write(terminal, b"name(one)\n")
shown = until(prompt)
assert b"1 case: 1 passed" in shown and is_raw(), shown
END
assert child.wait() == 0
assert not is_raw(), "the terminal is as it was"
"#;

#[test]
fn keys_are_read_and_the_terminal_is_given_back() {
    for (name, end) in [("q", "os.write(terminal, b'q')"), ("ctrl-c", "os.write(terminal, b'\\x03')")] {
        let scene = Scene::bare(&format!("watching/keys-{name}"));
        scene.write("a.yml", &[HEAD, &sum("one", 2), &sum("two", 3)].concat());
        let mut typist = python();
        typist.args(["-c", &TYPIST.replace("END", end)]).current_dir(&scene.folder);
        let output = typist.env("MCPROVE", env!("CARGO_BIN_EXE_mcprove")).env_remove("CI").output().unwrap();
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn what_does_not_go_with_a_watch_is_refused() {
    let scene = Scene::bare("watching/refused");
    scene.write("a.yml", &[HEAD, &sum("one", 2)].concat());
    for (line, reason) in [
        ("mcprove run a.yml --watch --prove", "`--prove` does not go with `--watch`"),
        ("mcprove run a.yml --watch --record r.ndjson", "`--record` does not go"),
        ("mcprove run a.yml --watch --threshold 10", "`--threshold` does not go"),
        ("mcprove run a.yml --watch --write-baseline b.yml", "`--write-baseline` does not go"),
        ("mcprove run a.yml --watch --update --yes", "`--update` does not go"),
        ("mcprove run a.yml --watch --keep", "`--keep` does not go"),
        ("mcprove run a.yml --watch --report junit=-", "`--report FORMAT=-` does not go"),
        ("CI=true mcprove run a.yml --watch", "`--watch` waits for changes"),
        ("mcprove run builtin:security --watch", "there is nothing to watch"),
    ] {
        let seen = scene.line(line);
        assert_eq!(seen.status, 2, "{}", seen.text());
        assert_says(&seen.stderr, &[reason]);
    }
    let missing = scene.line("mcprove run missing.yml --watch");
    assert_eq!(missing.status, 2, "{}", missing.text());
}
