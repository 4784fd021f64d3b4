//! Relays between programs that nobody here wrote.

use crate::harness::{Scene, is_installed, root, snapshot};

/// The clients of the official SDKs see through a relay what they see without one, over stdio and HTTP, with whole
/// answers and with events, in both eras.
#[test]
fn official_clients_notice_no_idle_relay() {
    if !is_installed() {
        return;
    }
    let scene = Scene::new("real/relays");
    let real = root().join("tests/real");
    let line = format!("sh -c 'exec \"$0/venv/bin/python\" \"$0/clients/through_relays.py\" .' '{}'", real.display());
    let seen = scene.line(&line);
    assert_eq!(seen.status, 0, "{}", seen.text());
    snapshot("relays-real", &seen.stdout);
    scene.assert_nothing_survives();
}
