//! Runs in a row leave nothing behind; `benches/leaks` is the same with a thousand.
#![cfg(target_os = "linux")]

use std::process::Command;

use crate::harness::root;

#[test]
fn twenty_runs_leave_nothing_behind() {
    let mut script = Command::new(root().join("benches/leaks"));
    let output = script.arg("20").env("MCPROVE", env!("CARGO_BIN_EXE_mcprove")).output().unwrap();
    let seen = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{seen}{}", String::from_utf8_lossy(&output.stderr));
    let verdict = "20 runs (18 to their end, 2 stopped half-way) left 0 processes, 0 sockets, 0 temporary files\n";
    assert_eq!(seen, verdict);
}
