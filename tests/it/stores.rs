//! Copies of stores: gone after every run, however it ends, and there for who wants to look at them.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use crate::harness::Scene;

const SUITE: &str = "
suite: A store
server: { command: [python3, ../../servers/diary.py, data/entries.txt, MODE], store: data, protocol: 2025-11-25 }
run_options: { timeout: 600s, request_timeout: 600s, start_timeout: 600s }
tests:
  - name: writes
    call: write_entry
    args: { text: hello }
    expect: [{ text: { equals: the diary has ENTRIES entries } }]
";

/// A scene with a store of one entry, and a folder for temporary files.
fn scene(name: &str, mode: &str, entries: u32) -> Scene {
    let scene = Scene::new(&format!("stores/{name}"));
    fs::create_dir(scene.folder.join("data")).unwrap();
    fs::create_dir(scene.folder.join("temporary")).unwrap();
    scene.write("data/entries.txt", "Monday: rain\n");
    scene.write("suite.yml", &SUITE.replace("MODE", mode).replace("ENTRIES", &entries.to_string()));
    scene
}

/// What lies in the folder for temporary files.
fn left(scene: &Scene) -> Vec<PathBuf> {
    let entries = fs::read_dir(scene.folder.join("temporary")).unwrap();
    entries.map(|entry| entry.unwrap().path()).collect()
}

fn assert_store_is_untouched(scene: &Scene) {
    assert_eq!(fs::read_to_string(scene.folder.join("data/entries.txt")).unwrap(), "Monday: rain\n");
    assert_eq!(fs::read_dir(scene.folder.join("data")).unwrap().count(), 1);
}

#[test]
fn a_copy_stays_only_after_a_failure_and_only_if_asked_for() {
    for (name, entries, flag, status, stays) in [
        ("passes", 2, "", 0, false),
        ("passes-kept", 2, " --keep", 0, false),
        ("fails", 3, "", 1, false),
        ("fails-kept", 3, " --keep", 1, true),
    ] {
        let scene = scene(name, "free", entries);
        for _ in 0..2 {
            let seen = scene.line(&format!("TMPDIR=temporary mcprove run suite.yml{flag}"));
            assert_eq!(seen.status, status, "{}", seen.text());
            let left = left(&scene);
            assert_eq!(left.len(), usize::from(stays), "{left:?}");
            assert_store_is_untouched(&scene);
            for folder in left {
                assert!(seen.stderr.contains(folder.file_name().unwrap().to_str().unwrap()), "{}", seen.text());
                let copies = fs::read_dir(&folder).unwrap().map(|copy| copy.unwrap().path().join("data/entries.txt"));
                let written: Vec<String> = copies.map(|copy| fs::read_to_string(copy).unwrap()).collect();
                assert_eq!(written, ["Monday: rain\nhello\n"]);
                fs::remove_dir_all(folder).unwrap();
            }
        }
        scene.assert_nothing_survives();
    }
}

#[test]
fn nothing_is_left_of_a_run_that_is_stopped() {
    for (name, signals) in [("once", 1), ("twice", 2), ("often", 5)] {
        let scene = scene(name, "hangs", 2);
        let running = scene.begin_with("run suite.yml", &[("TMPDIR", "temporary")]);
        scene.wait_until("no copy is made", || !left(&scene).is_empty());
        let seen = if signals > 2 {
            running.signal_until_it_ends("INT")
        } else {
            (0..signals).for_each(|_| running.signal("INT"));
            running.finish()
        };
        assert_eq!(seen.status, 130, "{}", seen.text());
        assert_eq!(left(&scene), Vec::<PathBuf>::new(), "{name}");
        assert_store_is_untouched(&scene);
        scene.assert_nothing_survives();
    }
}

#[test]
fn a_store_that_cannot_be_copied_is_one_clear_error() {
    let full = "sh -c 'ulimit -f 0; TMPDIR=temporary exec \"$MCPROVE\" run suite.yml'";
    let line = "TMPDIR=temporary mcprove run suite.yml";
    for (name, target, line, expected) in [
        ("full", None, full, "File too large"),
        ("nowhere", None, "TMPDIR=none mcprove run suite.yml", "no folder can be made in"),
        ("outside", Some("/etc"), line, "the link `link` in it leads out of it, to `/etc`"),
        ("above", Some("../suite.yml"), line, "the link `link` in it leads out of it, to `../suite.yml`"),
        ("within", Some("entries.txt"), line, ""),
    ] {
        let scene = scene(name, "free", 2);
        if let Some(target) = target {
            symlink(target, scene.folder.join("data/link")).unwrap();
        }
        let seen = scene.line(line);
        assert_eq!(seen.status, if expected.is_empty() { 0 } else { 3 }, "{name}: {}", seen.text());
        let words: Vec<&str> = expected.split(' ').collect();
        assert!(words.iter().all(|word| seen.text().contains(word)), "{name}: {}", seen.text());
        assert_eq!(left(&scene), Vec::<PathBuf>::new(), "{name}");
    }
}

#[test]
fn without_a_folder_for_its_files_a_run_ends_with_one_clear_error() {
    for (name, suite) in [
        ("data", SUITE.replace("data/entries.txt", "'{{ run.dir }}/entries.txt'").replace("store: data, ", "")),
        ("words", SUITE.replace("text: hello", "text: '{{ run.dir }}'").replace("store: data, ", "")),
    ] {
        let scene = scene(&format!("no-folder-{name}"), "free", 2);
        scene.write("suite.yml", &suite.replace("MODE", "free").replace("ENTRIES", "2"));
        let seen = scene.line("TMPDIR=none mcprove run suite.yml");
        let text: Vec<&str> = seen.stdout.split_whitespace().collect();
        let text = text.join(" ");
        assert_eq!(seen.status, 3, "{name}: {text}");
        assert_eq!(text.matches("the folder of this run, `").count(), 1, "{name}: {text}");
        assert!(text.contains("help: set TMPDIR to a folder in which files may be made"), "{name}: {text}");
        assert_store_is_untouched(&scene);
    }
}

#[test]
fn pipes_are_not_copied() {
    let scene = scene("pipe", "free", 2);
    assert_eq!(scene.line("sh -c 'mkfifo data/pipe'").status, 0);
    let seen = scene.line("TMPDIR=temporary mcprove run suite.yml");
    assert_eq!(seen.status, 0, "{}", seen.text());
    scene.write(
        "suite.yml",
        &SUITE.replace("store: data,", "store: data/pipe,").replace("data/entries.txt", "data/pipe"),
    );
    let seen = scene.line("mcprove run suite.yml");
    assert_eq!(seen.status, 2, "{}", seen.text());
    assert!(seen.stderr.contains("the store `data/pipe` is a pipe, a socket or a device"), "{}", seen.text());
}
