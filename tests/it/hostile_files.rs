//! Files that somebody else wrote: whatever is in them, no stream of the program holds what a terminal or the log of a CI
//! service would obey.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::fs;

use serde_json::{Value, json};

use crate::harness::{Scene, Seen};

/// Escapes of terminals, commands of CI services, and a change of direction.
const EVIL: &str = "e\u{1b}]0;evil\u{7}\n::error::evil\n  ::error::evil\n\u{9b}2J##vso[task.x]\u{202e}";

#[track_caller]
fn assert_harmless(seen: &Seen) {
    for text in [&seen.stdout, &seen.stderr] {
        let obeyed = text.chars().find(|c| c.is_control() && *c != '\n' || *c == '\u{202e}');
        assert_eq!(obeyed, None, "{}", seen.text());
        assert!(!text.contains("##vso["), "{}", seen.text());
        assert!(text.lines().all(|line| !line.trim_start().starts_with("::")), "{}", seen.text());
    }
}

/// Every place of a value.
fn pointers(value: &Value, at: &str, found: &mut Vec<String>) {
    found.push(at.to_owned());
    match value {
        Value::Array(items) => {
            for (number, item) in items.iter().enumerate() {
                pointers(item, &format!("{at}/{number}"), found);
            }
        }
        Value::Object(members) => members.iter().for_each(|(name, member)| {
            pointers(member, &format!("{at}/{}", name.replace('~', "~0").replace('/', "~1")), found);
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The value with something hostile in each of these places in turn: as a text, and as the name of a member.
fn spoilt(value: &Value, every: usize) -> Vec<Value> {
    let mut places = Vec::new();
    pointers(value, "", &mut places);
    let with = |place: &String, evil: Value| {
        let mut spoilt = value.clone();
        *spoilt.pointer_mut(place).unwrap() = evil;
        spoilt
    };
    let places = places.iter().step_by(every);
    places.flat_map(|place| [with(place, EVIL.into()), with(place, json!({EVIL: EVIL}))]).collect()
}

/// Runs commands on a file with each of these contents.
#[track_caller]
fn check(scene: &Scene, file: &str, contents: impl IntoIterator<Item = String>, commands: &[&str]) {
    for content in contents.into_iter().chain([EVIL.to_owned()]) {
        scene.write(file, &content);
        for command in commands {
            assert_harmless(&scene.run(command));
        }
    }
}

fn lines(scene: &Scene, file: &str) -> Vec<String> {
    fs::read_to_string(scene.folder.join(file)).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn no_file_speaks_to_a_terminal_or_a_log() {
    let scene = Scene::copied("cases/secret-fields", "hostile-files");
    scene.run("run suite.yml --record recording --report ndjson=events");
    scene.run("snapshot --revision 2025-11-25 --output recorded.json -- python3 server.py");
    let finding = "733506782735d427";
    let kept = format!(".mcprove/findings/{finding}.json");
    let value: Value = serde_json::from_str(&lines(&scene, &kept).join("\n")).unwrap();
    let [list, show, diff] =
        ["findings list".to_owned(), format!("findings show {finding}"), "findings diff .mcprove .mcprove".to_owned()];
    check(&scene, &kept, spoilt(&value, 7).iter().map(Value::to_string), &[&list, &show, &diff]);
    fs::remove_file(scene.folder.join(&kept)).unwrap();

    let recorded: Value = serde_json::from_str(&lines(&scene, "recorded.json").join("\n")).unwrap();
    let against = "snapshot --revision 2025-11-25 --against spoilt.json -- python3 server.py";
    check(&scene, "spoilt.json", spoilt(&recorded, 17).iter().map(Value::to_string), &[against]);

    let reports =
        ["text", "github", "tap", "markdown", "junit"].map(|format| format!("report spoilt --format {format}"));
    let reports: Vec<&str> = reports.iter().map(String::as_str).collect();
    let recordings = ["prove --recording spoilt", "report spoilt", "mock spoilt", "diff recording spoilt"];
    for (file, commands) in [("events", reports.as_slice()), ("recording", &recordings)] {
        let whole = lines(&scene, file);
        for at in [0, whole.len() / 2, whole.len() - 1] {
            let line: Value = serde_json::from_str(&whole[at]).unwrap();
            let with = |line: Value| {
                let mut spoilt = whole.clone();
                spoilt[at] = line.to_string();
                spoilt.join("\n") + "\n"
            };
            // Nothing behind the first line of a recording is read if it was changed.
            let every = if file == "recording" && at > 0 { 97 } else { 7 };
            check(&scene, "spoilt", spoilt(&line, every).into_iter().map(with), commands);
        }
    }

    let suite = json!({
        "suite": "S",
        "server": {"builtin": "demo"},
        "variables": {"a": "b"},
        "tests": [{"name": "a", "call": "echo", "args": {"message": "x"}, "expect": [{"at": "result.a", "equals": 1}]}],
    });
    let commands = ["check spoilt.yml", "plan spoilt.yml", "fault-coverage spoilt.yml"];
    check(&scene, "spoilt.yml", spoilt(&suite, 1).iter().map(Value::to_string), &commands);
    let faults = json!({"faults": [{"on": {"tool": "login"}, "answers": {"delay": "1s"}}]});
    let relay = "relay stdio --plan spoilt.yml -- python3 -c pass";
    check(&scene, "spoilt.yml", spoilt(&faults, 1).iter().map(Value::to_string), &[relay]);
    check(
        &scene,
        "spoilt.yml",
        [],
        &["run suite.yml --baseline spoilt.yml", "fault-coverage suite.yml --registry spoilt.yml"],
    );
}
