//! Counts of instructions, which hold on a busy machine as on an idle one, beside the figures that were kept.
//!
//! `benches/instructions.json` has them for the profile `dist`, which is what `--profile dist` measures; `UPDATE=1` writes
//! them anew.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

const FILE: &str = "benches/instructions.json";

/// Counts each of these command lines of the program, and prints how the counts have changed.
pub(crate) fn count(commands: &[(&str, Vec<String>)], scratch: &Path) {
    let text = fs::read_to_string(FILE).unwrap();
    let mut kept: BTreeMap<String, BTreeMap<String, u64>> = serde_json::from_str(&text).unwrap();
    let program = super::program();
    let profile = if program.to_string_lossy().contains("/dist/") { "dist" } else { "release" };
    let known = kept.remove(profile).unwrap_or_default();
    let mut seen = BTreeMap::new();
    for (name, arguments) in commands {
        let Some(count) = instructions(arguments, scratch) else {
            return println!("instructions are not counted: valgrind is not installed");
        };
        let change = known
            .get(*name)
            .map_or("new".to_owned(), |known| format!("{:+.1} %", (count as f64 / *known as f64 - 1.0) * 100.0));
        println!("{name:32} {:10.1} million instructions, {change}", count as f64 / 1e6);
        seen.insert((*name).to_owned(), count);
    }
    if super::is_set("UPDATE") {
        kept.insert(profile.to_owned(), seen);
        fs::write(FILE, serde_json::to_string_pretty(&kept).unwrap() + "\n").unwrap();
    }
}

/// How many instructions the program itself needs; what it starts is not counted.
fn instructions(arguments: &[String], scratch: &Path) -> Option<u64> {
    let counted = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(super::program())
        .args(arguments)
        .current_dir(scratch)
        .stdout(Stdio::null())
        .output()
        .ok()?;
    let told = String::from_utf8_lossy(&counted.stderr).into_owned();
    told.lines().find_map(|line| line.split_once("Collected : ")?.1.trim().parse().ok())
}
