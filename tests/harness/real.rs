//! Whether the servers of others are there, and which test may use one.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::fs::File;
use std::path::Path;
use std::process::Command;

use super::root;

const NOT_INSTALLED: &str = "the real servers are not installed: run `tests/real/install`";

const NO_BROWSER: &str = "Chromium, its driver or axe-core is not installed: run `apt-get install chromium chromium-driver` \
                          and `tests/real/install`, or set `MCPROVE_SKIP_REAL=1` to go without";

/// Fails where the servers are missing, unless the environment says that this is known.
pub(crate) fn is_installed() -> bool {
    let missing = ["node_modules", "venv", "scratch"]
        .iter()
        .any(|folder| !root().join("tests/real").join(folder).join(".stamp").exists());
    if !missing {
        return true;
    }
    assert!(super::env::is_set("MCPROVE_SKIP_REAL"), "{NOT_INSTALLED}, or set `MCPROVE_SKIP_REAL=1` to go without");
    tell(&format!("skipped, as MCPROVE_SKIP_REAL says: {NOT_INSTALLED}"));
    false
}

/// Fails where there is no browser, unless the environment says that this is known.
pub(crate) fn has_browser() -> bool {
    let answers = |program: &str| Command::new(program).arg("--version").output().is_ok();
    let has_axe = root().join("tests/real/node_modules/axe-core").exists();
    let is_there = has_axe && answers("chromium") && answers("chromedriver");
    assert!(is_there || super::env::is_set("MCPROVE_SKIP_REAL"), "{NO_BROWSER}");
    is_there
}

/// Waits until no other test, in this process or another, uses the files that a server works on; they are free again
/// when the file is dropped.
pub(crate) fn alone_with(server: &str) -> File {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("real-{server}.lock"));
    let file = File::create(path).unwrap();
    file.lock().unwrap();
    file
}

/// Not with `eprintln!`, which the test runner swallows: nobody shall take this for a pass.
pub(crate) fn tell(sentence: &str) {
    let _ = std::io::Write::write_all(&mut std::io::stderr(), format!("{sentence}\n").as_bytes());
}
