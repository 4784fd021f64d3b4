//! Findings are kept, shown, played again, made small and compared, and hold no secret.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::fmt::Write as _;
use std::fs;

use serde_json::Value;

use crate::harness::{Scene, root};

const KINDS: [&str; 6] = ["crash", "hang", "property-failure", "protocol-error", "schema-violation", "state-leak"];

/// What is kept in the folder for state of a scene.
fn kept(scene: &Scene) -> Vec<Value> {
    let text = scene.run("findings list --json").stdout;
    serde_json::from_str(&text).unwrap()
}

/// A scene with a suite for one of the example servers.
fn scene(name: &str, server: &str, tests: &str) -> Scene {
    let scene = Scene::bare(name);
    let server = root().join("examples/servers").join(server);
    let command = serde_json::json!(["python3", server]);
    scene.write("suite.yml", &format!("suite: {name}\nserver: {{ command: {command} }}\ntests:\n{tests}"));
    scene
}

/// A scene with a server that ends where an argument of the tool `t` has a name that `bad.txt` holds; `*` is every call.
fn breakable(name: &str) -> Scene {
    let scene = Scene::bare(name);
    let server = "import json, os, sys\nsys.dont_write_bytecode = True\nbad = open('bad.txt').read()\nfor line in sys.stdin:\n    m = json.loads(line)\n    \
                  r = {'protocolVersion': '2025-11-25', 'capabilities': {'tools': {}}, 'serverInfo': {'name': 's', 'version': '1'}}\n    \
                  if m['method'] == 'tools/list':\n        r = {'tools': [{'name': 't', 'inputSchema': {'type': 'object'}}]}\n    \
                  if m['method'] == 'tools/call':\n        \
                  if bad == '*' or bad in m['params']['arguments']:\n            os._exit(1)\n        r = {'content': []}\n    \
                  if 'id' in m:\n        print(json.dumps({'jsonrpc': '2.0', 'id': m['id'], 'result': r}), flush=True)\n";
    scene.write("server.py", server);
    let call = |argument: &str| {
        format!("      - call: t\n        args: {{ {argument}: x }}\n        expect: [{{ is_error: false }}]\n")
    };
    let suite = format!(
        "suite: S\nserver: {{ command: [python3, server.py], protocol: 2025-11-25 }}\ntests:\n  - name: calls\n    steps:\n{}{}",
        call("a"),
        call("b")
    );
    scene.write("suite.yml", &suite);
    scene
}

/// Runs the suite of a scene against its server that breaks there, and makes what it finds small.
fn broken_and_small(scene: &Scene, bad: &str) -> String {
    scene.write("bad.txt", bad);
    let seen = scene.run("run suite.yml");
    assert_eq!(seen.status, 1, "{}", seen.text());
    assert!(seen.stderr.contains("1 finding kept"), "{}", seen.text());
    let id = kept(scene)[0]["id"].as_str().unwrap().to_owned();
    let small = scene.run(&format!("findings minimise {id}"));
    assert_eq!(small.status, 0, "{}", small.text());
    id
}

#[test]
fn what_breaks_elsewhere_is_kept_anew() {
    let scene = breakable("findings-elsewhere");
    let id = broken_and_small(&scene, "a");
    scene.write("bad.txt", "b");
    assert_eq!(scene.run("run suite.yml").status, 1);
    let found = kept(&scene);
    assert_eq!((found.len(), &found[0]["minimised"], &found[0]["times"]), (1, &Value::Bool(false), &2.into()));
    let shown = scene.run(&format!("findings show {id}"));
    assert!(shown.stdout.contains(r#"t {"b":"x"}"#), "{}", shown.text());
    let played = scene.run(&format!("findings replay {id} --times 1"));
    assert_eq!(played.status, 1, "{}", played.text());
}

#[test]
fn nothing_is_gone_that_the_last_run_met() {
    let scene = breakable("findings-not-gone");
    let id = broken_and_small(&scene, "*");
    assert_eq!(kept(&scene)[0]["reproduction"]["sessions"][0][0]["params"]["arguments"], serde_json::json!({}));
    let again = scene.run("run suite.yml");
    assert_eq!((again.status, &kept(&scene)[0]["minimised"]), (1, &Value::Bool(true)), "{}", again.text());
    scene.write("bad.txt", "a");
    assert_eq!(scene.run("run suite.yml").status, 1);
    let played = scene.run(&format!("findings replay {id} --times 1"));
    assert_eq!(played.status, 1, "{}", played.text());
    assert!(
        played.stdout.contains("with the requests of the last run, but not in its shorter form"),
        "{}",
        played.text()
    );
    let small = scene.run(&format!("findings minimise {id}"));
    assert_eq!(small.status, 0, "{}", small.text());
    assert!(small.stderr.contains("1 call, arguments from 9 to 8 characters, in "), "{}", small.text());
    let played = scene.run(&format!("findings replay {id} --times 1"));
    assert!(played.status == 1 && !played.stdout.contains("shorter form"), "{}", played.text());
    scene.write("bad.txt", "c");
    let small = scene.run(&format!("findings minimise {id}"));
    assert_eq!(small.status, 4, "{}", small.text());
    assert!(small.stderr.contains("does not show any more, so there is nothing to minimise"), "{}", small.text());
}

#[test]
fn where_nothing_may_write_only_findings_of_readers_are_played() {
    let scene = breakable("findings-read-only");
    let id = broken_and_small(&scene, "*");
    for command in ["replay --all", "prune", &format!("minimise {id}")] {
        let seen = scene.run(&format!("findings {command} --read-only"));
        assert!(seen.stderr.contains("is not replayed: `t` may change data"), "{}", seen.text());
        assert_eq!(seen.status, if command == "prune" { 0 } else { 3 }, "{}", seen.text());
    }
    assert_eq!(kept(&scene).len(), 1, "nothing is dropped that was not played");
    let server = std::fs::read_to_string(scene.folder.join("server.py")).unwrap();
    scene.write("server.py", &server.replace("'name': 't', ", "'name': 't', 'annotations': {'readOnlyHint': True}, "));
    let seen = scene.run("findings replay --all --read-only");
    assert_eq!(seen.status, 1, "{}", seen.text());
}

#[test]
fn mistakes_of_a_suite_are_no_findings_and_what_still_shows_is_not_pruned() {
    let tests = "  - { name: t, call: show_basket, expect: [{ is_error: true }] }\n  - { name: s, call: show_basket, snapshot: true }\nnegative_path: { tools: [no_such_tool] }\n";
    let scene = scene("findings-mistakes", "fifth-call/server.py", tests);
    let seen = scene.run("run suite.yml");
    assert!(seen.stdout.contains("error[snapshot-missing]"), "{}", seen.text());
    assert!(seen.stdout.contains("no_such_tool") && seen.stderr.contains("1 finding kept"), "{}", seen.text());
    let pruned = scene.run("findings prune --times 1");
    assert_eq!((pruned.status, kept(&scene).len()), (0, 1), "{}", pruned.text());
    assert!(pruned.stderr.contains("deleted 0 of 1 kept findings"), "{}", pruned.text());
}

#[test]
fn what_is_too_much_is_counted() {
    let mut tests = String::new();
    for at in 0..205 {
        let _ = writeln!(tests, "  - {{ name: t{at}, call: show_basket, expect: [{{ is_error: true }}] }}");
    }
    let scene = scene("findings-too-many", "fifth-call/server.py", &tests);
    let seen = scene.run("run suite.yml");
    assert!(seen.stderr.contains("200 findings kept: mcprove findings list"), "{}", seen.stderr);
    assert!(seen.stderr.contains("5 more are not kept: a run keeps 200 at most"), "{}", seen.stderr);
}

#[test]
fn six_kinds_are_kept_played_and_made_small() {
    let scene = Scene::bare("findings-six");
    let suite = root().join("examples/six-bugs.yml");
    let seen = scene.run(&format!("run {} --state-dir .mcprove", suite.display()));
    assert_eq!(seen.status, 1, "{}", seen.text());
    assert!(seen.stderr.contains("6 findings kept: mcprove findings list"), "{}", seen.text());
    let found = kept(&scene);
    let mut kinds: Vec<&str> = found.iter().map(|stored| stored["kind"].as_str().unwrap()).collect();
    kinds.sort_unstable();
    assert_eq!(kinds, KINDS);
    let played = scene.run("findings replay --all --times 2");
    assert_eq!((played.status, played.stdout.matches("reproduced 2 of 2").count()), (1, 6), "{}", played.text());
    for stored in &found {
        let id = stored["id"].as_str().unwrap();
        let small = scene.run(&format!("findings minimise {}", &id[..6]));
        assert_eq!(small.status, 0, "{}", small.text());
        let shown = scene.run(&format!("findings show {id} --yaml")).stdout;
        assert!(shown.contains("- name: ") && shown.contains("expect:"), "{shown}");
    }
    let tools: Vec<String> = kept(&scene).iter().map(|stored| stored["class"].to_string()).collect();
    let before: Vec<String> = found.iter().map(|stored| stored["class"].to_string()).collect();
    assert_eq!(tools, before);
    assert!(kept(&scene).iter().all(|stored| stored["minimised"] == true));
    mended(&scene);
    let gone = scene.run("findings replay --all --times 1");
    assert_eq!((gone.status, gone.stdout.matches("gone").count()), (0, 6), "{}", gone.text());
    let pruned = scene.run("findings prune --times 1");
    assert_eq!((pruned.status, kept(&scene).len()), (0, 0), "{}", pruned.text());
    assert!(pruned.stderr.contains("deleted 6 of 6 kept findings"), "{}", pruned.text());
    scene.assert_nothing_survives();
}

/// Lets the findings of a scene speak to the server without its bugs.
fn mended(scene: &Scene) {
    for stored in kept(scene) {
        let mut stored = stored;
        let words = stored["start"]["server"]["command"].as_array_mut().unwrap();
        words.push("--fixed".into());
        let name = format!(".mcprove/findings/{}.json", stored["id"].as_str().unwrap());
        scene.write(&name, &stored.to_string());
    }
}

#[test]
fn five_calls_stay_five_and_become_a_test() {
    let mut tests = String::from(
        "  - name: a full basket\n    steps:\n      - call: add_item\n        args: { item: lost }\n      - call: checkout\n",
    );
    for at in 0..5 {
        let _ =
            write!(tests, "      - call: add_item\n        args: {{ item: thing {at} }}\n      - call: show_basket\n");
    }
    tests += "        expect: [{ is_error: false }]\n";
    let scene = scene("findings-five", "fifth-call/server.py", &tests);
    assert_eq!(scene.run("run suite.yml").status, 1);
    let [stored] = &kept(&scene)[..] else { panic!("one finding") };
    assert_eq!(stored["kind"], "crash");
    let id = stored["id"].as_str().unwrap();
    let small = scene.run(&format!("findings minimise {id}"));
    assert_eq!(small.status, 0, "{}", small.text());
    assert_eq!(small.stdout.matches("call: add_item").count(), 5, "{}", small.text());
    assert!(small.stderr.contains("11 calls to 5, arguments from "), "{}", small.text());
    let test = scene.run(&format!("findings show {id} --yaml")).stdout;
    let head = scene.line("show suite.yml").stdout;
    let head: Vec<&str> = head.lines().take(3).collect();
    scene.write("regression.yml", &format!("{}\n{test}", head.join("\n")));
    let again = scene.run("run regression.yml --no-findings");
    assert_eq!(again.status, 1, "{}", again.text());
    assert!(again.stdout.contains("the server ended"), "{}", again.text());
    assert!(scene.run(&format!("findings show {id}")).stdout.contains("requests (5 calls, minimal)"));
}

#[test]
fn secrets_are_in_no_finding_and_come_back() {
    let scene = Scene::bare("findings-secret");
    let server = "import json, os, sys\nsys.dont_write_bytecode = True\nfor line in sys.stdin:\n    m = json.loads(line)\n    \
                  r = {'protocolVersion': '2025-11-25', 'capabilities': {'tools': {}}, 'serverInfo': {'name': 's', 'version': '1'}}\n    \
                  if m['method'] == 'tools/list':\n        r = {'tools': [{'name': 'login', 'inputSchema': {'type': 'object'}}]}\n    \
                  if m['method'] == 'tools/call':\n        given = m['params']['arguments'].get('key')\n        \
                  print('got', given, os.environ['KEY'], file=sys.stderr, flush=True)\n        \
                  if given == os.environ['KEY']:\n            os._exit(7)\n        r = {'content': []}\n    \
                  if 'id' in m:\n        print(json.dumps({'jsonrpc': '2.0', 'id': m['id'], 'result': r}), flush=True)\n";
    scene.write("server.py", server);
    let suite = "suite: Secret\nserver: { command: [python3, server.py], env: { KEY: \"{{ env.API_KEY }}\" }, protocol: 2025-11-25 }\n\
                 tests:\n  - name: login\n    call: login\n    args: { key: \"{{ env.API_KEY }}\" }\n    expect: [{ is_error: false }]\n";
    scene.write("suite.yml", suite);
    let seen = scene.line("API_KEY=hunter2-is-secret mcprove run suite.yml");
    assert_eq!(seen.status, 1, "{}", seen.text());
    let file = scene.line("list .mcprove/findings").stdout;
    let text = scene.line(&format!("show {}", file.trim())).stdout;
    assert!(
        text.contains("MCPROVE_SECRET_API_KEY") && !text.contains("hunter2") && !text.contains("aHVudGVyMi1pcy1"),
        "{text}"
    );
    let replay = "mcprove findings replay --all --times 1";
    for (given, status) in [
        ("API_KEY=hunter2-is-secret", 1),
        ("MCPROVE_SECRET_API_KEY=hunter2-is-secret", 1),
        ("API_KEY=hunter2-is-secret MCPROVE_SECRET_API_KEY=hunter2-is-secret", 1),
        ("API_KEY=hunter2-is-secret MCPROVE_SECRET_API_KEY=another-one", 0),
    ] {
        let played = scene.line(&format!("{given} {replay}"));
        assert_eq!(played.status, status, "{}", played.text());
        assert!(!format!("{}{}", played.stdout, played.stderr).contains("hunter2"));
    }
    let missing = scene.line(replay);
    assert!(missing.stderr.contains("`MCPROVE_SECRET_API_KEY` is not set"), "{}", missing.text());
}

#[test]
fn a_server_at_an_address_is_played_as_long_as_it_is_there() {
    let scene = Scene::bare("findings-address");
    let served = scene.serve("faulty --fault TOOL-CRASH");
    let suite = "suite: Far\nserver: { url: \"URL\" }\ntests:\n  - name: get\n    call: get_user\n    args: { other: long }\n    expect: [{ is_error: true }]\n";
    scene.write("suite.yml", &suite.replace("URL", &served.url));
    assert_eq!(scene.run("run suite.yml").status, 1);
    let stored = kept(&scene).remove(0);
    let again = |command: &str| {
        let served = scene.serve("faulty --fault TOOL-CRASH");
        let mut stored = stored.clone();
        stored["start"]["server"]["url"] = served.url.clone().into();
        let id = stored["id"].as_str().unwrap();
        scene.write(&format!(".mcprove/findings/{id}.json"), &stored.to_string());
        scene.run(&format!("findings {command} {id}"))
    };
    let played = again("replay --times 3");
    let says = "reproduced 1 of 1: the server ended before it answered `tools/call` (nothing listens at its address any more); \
                after that nothing listens at";
    assert!(played.status == 1 && played.stdout.contains(says), "{}", played.text());
    let none = scene.run("findings replay --all");
    assert_eq!(none.status, 3, "{}", none.text());
    let small = again("minimise");
    assert!(
        small.status == 0 && small.stderr.contains("the search ended early, since the server is gone"),
        "{}",
        small.text()
    );
    assert_eq!(kept(&scene)[0]["minimised"], false);
}

#[test]
fn severities_decide_where_they_are_asked_to() {
    let tests =
        "  - name: wrong\n    call: show_basket\n    expect: [{ at: result.structuredContent.items, equals: [x] }]\n";
    let scene = scene("findings-severity", "fifth-call/server.py", tests);
    for (flags, status) in [("", 1), (" --fail-on medium", 1), (" --fail-on high", 0), (" --fail-on critical", 0)] {
        let seen = scene.run(&format!("run suite.yml{flags}"));
        assert_eq!(seen.status, status, "{}", seen.text());
        assert!(seen.stdout.contains("1 failed"), "{}", seen.text());
    }
    assert_eq!(kept(&scene)[0]["times"], 4);
    assert_eq!(scene.run("run suite.yml --fail-on worst").status, 2);
}

#[test]
fn what_cannot_be_kept_is_one_warning() {
    let tests =
        "  - name: wrong\n    call: show_basket\n    expect: [{ at: result.structuredContent.items, equals: [x] }]\n";
    let scene = scene("findings-unwritable", "fifth-call/server.py", tests);
    scene.write("taken", "");
    let seen = scene.run("run suite.yml --state-dir taken");
    assert_eq!((seen.status, seen.stderr.matches("warning").count()), (1, 1), "{}", seen.text());
    assert_eq!(scene.run("findings list").status, 0);
    assert_eq!(scene.run("findings show 123").status, 4);
}

#[test]
fn runs_are_compared() {
    let test = |name: &str| {
        format!(
            "  - name: {name}\n    call: show_basket\n    expect: [{{ at: result.structuredContent.items, equals: [x] }}]\n"
        )
    };
    let scene = scene("findings-diff", "fifth-call/server.py", &(test("one") + &test("two")));
    scene.run("run suite.yml --state-dir before --filter name(one)");
    scene.run("run suite.yml --state-dir after --filter name(two)");
    let worse = scene.run("findings diff before after --fail-on-regression");
    assert_eq!(worse.status, 1, "{}", worse.text());
    assert!(worse.stdout.contains("new: 1") && worse.stdout.contains("fixed: 1"), "{}", worse.text());
    assert_eq!(scene.run("findings diff before after").status, 0);
    let same = scene.run("findings diff before before --fail-on-regression");
    assert!(same.status == 0 && same.stdout.contains("still there: 1"), "{}", same.text());
    let exported = scene.run("findings list --json --state-dir after").stdout;
    scene.write("after.json", &exported);
    assert_eq!(scene.run("findings diff before after.json --fail-on-regression").status, 1);
}

#[test]
fn ci_needs_no_suite_and_fails_whoever_serves_nothing() {
    let scene = Scene::bare("findings-ci");
    fs::create_dir_all(scene.folder.join("bad")).unwrap();
    let server = root().join("examples/servers/fifth-call/server.py");
    let seen = scene.run(&format!("ci --fail-on high --scratch -- python3 {}", server.display()));
    assert_eq!(seen.status, 1, "{}", seen.text());
    assert!(seen.stderr.contains("failures by severity: "), "{}", seen.text());
    assert!(kept(&scene).iter().any(|stored| stored["kind"] == "crash"), "{}", seen.text());
    let none = scene.run("ci -- false");
    assert_ne!(none.status, 0, "{}", none.text());
}

#[test]
fn folders_may_hold_what_is_no_finding() {
    let test =
        "  - name: one\n    call: show_basket\n    expect: [{ at: result.structuredContent.items, equals: [x] }]\n";
    let scene = scene("findings-folder", "fifth-call/server.py", test);
    // A pack's variables are part of how the server is started, whatever characters they hold.
    let suite = fs::read_to_string(scene.folder.join("suite.yml")).unwrap();
    scene.write("suite.yml", &format!("{suite}variables: {{ odd: \"\\uffff\\u202e\" }}\n"));
    assert_eq!(scene.run("run suite.yml").status, 1);
    scene.write(".mcprove/findings/0000.json", "{");
    fs::create_dir(scene.folder.join(".mcprove/findings/1111.json")).unwrap();
    let listed = scene.run("findings list");
    assert!(listed.status == 0 && listed.stdout.contains("show_basket"), "{}", listed.text());
    assert_eq!(listed.stderr.matches("it is left out").count(), 2, "{}", listed.text());
    let played = scene.run("findings replay --all --times 1");
    assert!(played.status == 1 && played.stdout.contains("reproduced 1 of 1"), "{}", played.text());
    // What cannot be read could be what makes a run worse.
    assert_eq!(scene.run("findings diff .mcprove .mcprove").status, 3);
}

#[test]
fn a_run_that_found_nothing_can_be_compared() {
    let test = |name: &str, items: &str| {
        format!(
            "  - {{ name: {name}, call: show_basket, expect: [{{ at: result.structuredContent.items, equals: {items} }}] }}\n"
        )
    };
    let scene = scene("findings-clean", "fifth-call/server.py", &(test("good", "[]") + &test("bad", "[x]")));
    assert_eq!(scene.run("run suite.yml --state-dir before --filter name(good)").status, 0);
    assert_eq!(scene.run("run suite.yml --state-dir after").status, 1);
    let worse = scene.run("findings diff before after --fail-on-regression");
    assert!(worse.status == 1 && worse.stdout.contains("new: 1"), "{}", worse.text());
    let better = scene.run("findings diff after before --fail-on-regression");
    assert!(better.status == 0 && better.stdout.contains("fixed: 1"), "{}", better.text());
}
