//! What runs write: reports, recordings, transcripts, snapshots, colours.

use std::fs;

use mcprove::report::FORMATS;

use crate::harness::Scene;

#[test]
fn secrets_are_in_no_file() {
    let scene = Scene::copied("cases/secrets", "secrets");
    let reports = ["junit", "json", "ndjson", "text"].map(|name| format!("--report {name}=out/{name}"));
    let run = format!(
        "TOKEN=hunter2-is-secret mcprove run suite.yml --transcript out --record out/recording {}",
        reports.join(" ")
    );
    assert_eq!(scene.line(&run).status, 1);
    let written: Vec<String> = scene.line("list out").stdout.lines().map(|file| format!("show {file}")).collect();
    assert!(written.len() > reports.len(), "{written:?}");
    for line in &written {
        let text = scene.line(line).stdout;
        assert!(!text.is_empty() && !text.contains("hunter2") && !text.contains("aHVudGVyMi1pcy1"), "{line}: {text}");
    }
}

#[test]
fn a_folder_of_transcripts_tells_of_one_run() {
    let scene = Scene::copied("cases/transcript", "transcripts");
    let run = "run suite.yml --transcript frames";
    assert_eq!(scene.run(run).status, 0);
    let first = scene.line("list frames").stdout;
    let transcript = scene.line(&format!("show {}", first.lines().next().unwrap())).stdout;
    scene.write("frames/900-of-an-earlier-run.ndjson", &transcript);
    scene.write("frames/901-of-somebody.ndjson", "{\"frame\": 1}\n");
    scene.write("frames/notes.txt", "keep me");
    assert_eq!(scene.run(run).status, 0);
    let second = scene.line("list frames").stdout;
    let others: Vec<&str> = second.lines().filter(|name| !first.contains(name)).collect();
    assert_eq!(others, ["frames/901-of-somebody.ndjson", "frames/notes.txt"]);
}

#[test]
fn a_recording_becomes_the_same_report() {
    let scene = Scene::copied("cases/reports", "recording");
    scene.run("run suite.yml --report junit=live.xml --report json=live.json --report ndjson=events.ndjson");
    for (format, live) in [("junit", "live.xml"), ("json", "live.json"), ("ndjson", "events.ndjson")] {
        let again = scene.run(&format!("report events.ndjson --as {format}")).stdout;
        assert_eq!(again, scene.line(&format!("show {live}")).stdout, "{format}");
    }
}

/// Somebody who has nothing but the recording of a run gets every report, the same as the one that was made with it.
#[test]
fn a_recording_makes_every_report_elsewhere() {
    let (scene, elsewhere) = (Scene::copied("cases/reports", "recorded-here"), Scene::bare("recorded-elsewhere"));
    let formats: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
    let reports: Vec<String> = formats.iter().map(|name| format!("--report {name}=out/{name}")).collect();
    scene.run(&format!("run suite.yml --record run.recording {}", reports.join(" ")));
    fs::copy(scene.folder.join("run.recording"), elsewhere.folder.join("run.recording")).unwrap();
    for format in formats {
        let seen = elsewhere.run(&format!("report run.recording --as {format} --output {format}"));
        assert_eq!((seen.status, seen.stderr.as_str()), (0, ""), "{format}");
        let made = |scene: &Scene, file: String| fs::read_to_string(scene.folder.join(file)).unwrap();
        assert_eq!(made(&elsewhere, format.to_owned()), made(&scene, format!("out/{format}")), "{format}");
    }
}

#[test]
fn colours_are_where_they_are_asked_for() {
    let scene = Scene::copied("cases/failing", "colours");
    let has_colour = |line: &str| scene.line(line).stdout.contains('\u{1b}');
    assert!(has_colour("mcprove run suite.yml --color always"));
    assert!(has_colour("CLICOLOR_FORCE=1 mcprove run suite.yml"));
    assert!(!has_colour("mcprove run suite.yml"), "a pipe is no terminal");
    assert!(!has_colour("CLICOLOR_FORCE=1 NO_COLOR=1 mcprove run suite.yml"));
    assert!(!has_colour("CLICOLOR_FORCE=1 mcprove run suite.yml --color never"));
}

/// A link must not turn a recording into a way to write anywhere else.
#[test]
fn snapshots_stay_in_their_folder() {
    for link in ["snapshots", "snapshots/suite", "snapshots/suite/repeated.json"] {
        let scene = Scene::copied("cases/snapshots-secret", &format!("links-{}", link.len()));
        let outside = scene.folder.parent().unwrap().join("outside");
        fs::create_dir_all(outside.join("suite")).unwrap();
        let target = if link.ends_with("json") { outside.join("precious.json") } else { outside.clone() };
        fs::write(outside.join("precious.json"), "{}").unwrap();
        fs::create_dir_all(scene.folder.join(link).parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(target, scene.folder.join(link)).unwrap();
        let seen = scene.line("TOKEN=hunter2-is-secret mcprove run suite.yml --update --yes");
        assert_eq!(seen.status, 3, "{link}: {}", seen.text());
        assert!(seen.stderr.contains("a link leads out of the folder"), "{link}: {}", seen.text());
        assert_eq!(fs::read_to_string(outside.join("precious.json")).unwrap(), "{}", "{link}");
        assert_eq!(scene.line("list ../outside").stdout.lines().count(), 1, "{link}");
    }
}

/// Runs that overlap do not take what the others remember.
#[test]
fn runs_in_one_folder_remember_what_each_of_them_saw() {
    let scene = Scene::new("overlapping");
    let names: Vec<String> = (0..8).map(|number| format!("suite{number}.yml")).collect();
    for name in &names {
        let test = "{ name: fails, call: echo, args: { message: hello }, expect: [{ is_error: true }] }";
        scene.write(name, &format!("suite: One of several\nserver: {{ builtin: demo }}\ntests: [{test}]\n"));
    }
    let running: Vec<_> = names.iter().map(|name| scene.begin(&format!("run {name}"))).collect();
    for run in running {
        assert_eq!(run.finish().status, 1);
    }
    for name in &names {
        let seen = scene.run(&format!("run {name} --last-failed"));
        assert_eq!(seen.status, 1, "{name}: {}", seen.text());
    }
    let left = scene.line("list .mcprove").stdout;
    assert!(!left.contains("last-run.json."), "{left}");
}

/// A server that finds the folder could put links there, to the suite or to whatever its user may write.
#[test]
fn transcripts_follow_no_links() {
    let scene = Scene::copied("cases/transcript", "transcripts-links");
    let run = "run suite.yml --transcript frames";
    scene.run(run);
    let before = std::fs::read_to_string(scene.folder.join("suite.yml")).unwrap();
    for name in scene.line("list frames").stdout.lines() {
        std::fs::remove_file(scene.folder.join(name)).unwrap();
        std::os::unix::fs::symlink("../suite.yml", scene.folder.join(name)).unwrap();
    }
    let seen = scene.run(run);
    assert_eq!(std::fs::read_to_string(scene.folder.join("suite.yml")).unwrap(), before, "{}", seen.stderr);
    let names = scene.line("list frames").stdout;
    assert!(!names.is_empty(), "{}", seen.stderr);
    for name in names.lines() {
        assert!(std::fs::read_to_string(scene.folder.join(name)).unwrap().starts_with("{\"frame\":1"), "{name}");
    }
}

#[test]
fn a_report_that_goes_nowhere_is_no_success() {
    let scene = Scene::copied("cases/passing", "nowhere");
    let run = |to: &str| scene.line(&format!("sh -c 'exec \"$MCPROVE\" run suite.yml --report tap=- {to}'"));
    let seen = run(">&-");
    assert_eq!(seen.status, 3, "{}", seen.stderr);
    assert!(seen.stderr.contains("standard output is closed"), "{}", seen.stderr);
    assert_eq!(run(">/dev/null").status, 0, "somebody wants to hear nothing");
    assert_eq!(run("").status, 0);
}
