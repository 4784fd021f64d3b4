//! Secrets that a server tells in every form are in nothing that mcprove writes.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::fs;
use std::process::Command;

use crate::harness::{Scene, root};

/// The mode of the servers that do.
pub(super) const MODE: &str = "tells-secrets";

/// Differs in every encoding from what it is, and may stand in a header.
const SECRET: &str = "hunter2-s3cr&t/\"quo+ted\"%";

#[test]
fn secrets_over_stdio() {
    check("stdio", "env: { TOKEN: '{{ env.TOKEN }}' }, command: [python3, ../../servers/hostile.py, tells-secrets]");
}

#[test]
fn secrets_over_http() {
    for revision in ["2025-11-25", "2026-07-28"] {
        let headers = "headers: { Authorization: 'Bearer {{ env.TOKEN }}' }";
        let command = "command: [python3, ../../servers/hostile_http.py, tells-secrets, --port, '{{ port }}']";
        let url = "url: 'http://127.0.0.1:{{ port }}/mcp'";
        check(&format!("http-{revision}"), &format!("{headers}, {command}, {url}, protocol: {revision}"));
    }
}

#[test]
fn secrets_in_a_command_that_is_not_there() {
    check("command", "command: ['{{ env.TOKEN }}', --token, '{{ env.TOKEN }}']");
}

/// Runs a suite that fails in every way against a server that tells secrets, and looks at all that is written.
fn check(name: &str, server: &str) {
    let scene = Scene::new(&format!("secrets/{name}"));
    let suite = fs::read_to_string(root().join("tests/hostile/secrets.yml")).unwrap();
    scene.write("suite.yml", &suite.replace("SERVER", server));
    let formats = mcprove::report::FORMATS.iter().map(|format| format.name);
    let reports: Vec<String> = formats.map(|format| format!("--report {format}=out/{format}")).collect();
    let variables = format!("TOKEN={}", shell_words::quote(SECRET));
    let seen = scene.line(&format!("{variables} mcprove run suite.yml --transcript frames {}", reports.join(" ")));
    scene.assert_nothing_survives();
    scene.write("stdout", &seen.stdout);
    scene.write("stderr", &seen.stderr);
    assert_ne!(seen.status, 0, "{}", seen.text());
    assert!(seen.stdout.contains("[redacted]"), "nothing was to be hidden: {}", seen.text());
    let finder = root().join("tests/hostile/find_secret.py");
    let found = Command::new("python3").arg(finder).arg(&scene.folder).arg(SECRET).output().unwrap();
    let told = String::from_utf8_lossy(&found.stdout).into_owned() + &String::from_utf8_lossy(&found.stderr);
    assert!(told.is_empty(), "{told}");
}
