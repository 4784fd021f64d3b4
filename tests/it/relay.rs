//! Relays between programs that nobody here wrote.
//!
//! The clients of the official SDKs see through a relay what they see without one, in both eras.

use crate::harness::{Scene, is_installed, root, snapshot};

#[test]
fn official_clients_notice_no_idle_relay_over_stdio() {
    clients_notice_no_relay("stdio");
}

#[test]
fn official_clients_notice_no_idle_relay_over_http_with_events() {
    clients_notice_no_relay("events");
}

#[test]
fn official_clients_notice_no_idle_relay_over_http_with_whole_answers() {
    clients_notice_no_relay("json");
}

fn clients_notice_no_relay(transport: &str) {
    if !is_installed() {
        return;
    }
    let scene = Scene::new(&format!("real/relays-{transport}"));
    let script = "exec \"$0/venv/bin/python\" \"$0/clients/through_relays.py\" . \"$1\"";
    let seen = scene.line(&format!("sh -c '{script}' '{}' {transport}", root().join("tests/real").display()));
    assert_eq!(seen.status, 0, "{}", seen.text());
    snapshot(&format!("relays-{transport}"), &seen.stdout);
    scene.assert_nothing_survives();
}
