//! Reports that cannot be written, since the disk is full or a file may not grow: said, and no pass.
#![cfg(target_os = "linux")]

use crate::harness::{Scene, snapshot};

const SUITE: &str = "
suite: Passes
server: { command: ['{{ env.MCPROVE }}', serve, demo] }
run_options: { parallel: 1 }
tests: [{ name: passes, call: echo, args: { message: hello }, expect: [{ is_error: false }] }]
";

/// A name, and a command line that has too little room.
const LINES: &[(&str, &str)] = &[
    ("text", "mcprove run suite.yml --report text=/dev/full"),
    ("junit", "mcprove run suite.yml --report junit=/dev/full --report json=report.json"),
    ("json", "mcprove run suite.yml --report json=/dev/full"),
    ("ndjson", "mcprove run suite.yml --report ndjson=/dev/full"),
    ("output", "sh -c 'exec \"$MCPROVE\" run suite.yml > /dev/full'"),
    ("report-on-output", "sh -c 'exec \"$MCPROVE\" run suite.yml --report json=- > /dev/full'"),
    (
        "no-file-may-grow",
        "sh -c 'ulimit -f 0; exec \"$MCPROVE\" run suite.yml --report junit=junit.xml --transcript frames'",
    ),
];

#[test]
fn a_full_disk_is_told() {
    let mut shown = String::new();
    for (name, line) in LINES {
        let scene = Scene::new(&format!("full-disk/{name}"));
        scene.write("suite.yml", SUITE);
        let seen = scene.line(line);
        assert_eq!(seen.status, 3, "{}", seen.text());
        shown.push_str(&[seen.text(), scene.line("list .").stdout, "\n".to_owned()].concat());
        scene.assert_nothing_survives();
    }
    snapshot("full-disk", &shown);
}
