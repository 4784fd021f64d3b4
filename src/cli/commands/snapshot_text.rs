//! Snapshots and changes of servers as text.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use serde::Serialize;

use crate::drift::{ChangeLevel, Recorded, ServerChange, ServerSnapshot};
use crate::source::{shorten, visible_line};

/// The changes of one server.
#[derive(Serialize)]
pub(crate) struct ChangeText<'a> {
    /// The server.
    pub(crate) name: &'a str,
    /// The revision that was asked for.
    pub(crate) protocol: &'a str,
    /// The changes.
    pub(crate) changes: Vec<ServerChange>,
}

/// The longest value that is shown, in characters.
const LONGEST: usize = 70;

/// More changes of one kind than this are told as a few and a number.
const MANY: usize = 6;

/// The number of them that are shown.
const FEW: usize = 3;

/// The servers in a snapshot.
pub(crate) fn of_recording(snapshot: &ServerSnapshot, notes: &[String], file: &Path) -> String {
    let mut text = String::new();
    for recorded in &snapshot.servers {
        let Recorded { tools, resources, resource_templates, prompts, answers, .. } = recorded;
        let counts = [
            (tools.len(), "tool"),
            (resources.len(), "resource"),
            (resource_templates.len(), "template"),
            (prompts.len(), "prompt"),
            (answers.len(), "answer"),
        ];
        let counts = counts.into_iter().filter(|(count, _)| *count > 0).map(|(count, noun)| count_of(count, noun));
        let counts: Vec<String> = counts.collect();
        let counts = if counts.is_empty() { "nothing to call".to_owned() } else { counts.join(", ") };
        let _ = writeln!(text, "{} in {}: {counts}", visible_line(&recorded.name), recorded.server.revision);
    }
    for note in notes {
        let _ = writeln!(text, "  {}", visible_line(note));
    }
    let _ = write!(text, "recorded in `{}`", file.display());
    text
}

/// The changes, the worst first, and their number.
pub(crate) fn of_changes(told: &[ChangeText<'_>]) -> String {
    let mut text = String::new();
    for ChangeText { name, protocol, changes } in told {
        if told.len() > 1 {
            let _ = writeln!(text, "{}, {protocol}", visible_line(name));
        }
        for level in ChangeLevel::ALL.into_iter().rev() {
            text += &of_level(&changes.iter().filter(|change| change.level == level).collect::<Vec<_>>());
        }
    }
    let all = || told.iter().flat_map(|told| &told.changes);
    let counts = ChangeLevel::ALL.map(|level| (all().filter(|change| change.level == level).count(), level.as_str()));
    let counts =
        counts.into_iter().rev().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}"));
    let counts: Vec<String> = counts.collect();
    let _ = match counts.len() {
        0 => writeln!(text, "nothing has changed"),
        _ => writeln!(text, "{}", counts.join(", ")),
    };
    text
}

/// The changes of one level; of many that say the same of different things, a few and how many more there are.
fn of_level(changes: &[&ServerChange]) -> String {
    // Names stand between backticks.
    let alike = |change: &ServerChange| (change.what, change.says.split('`').step_by(2).collect::<Vec<_>>().concat());
    let mut found: BTreeMap<_, usize> = BTreeMap::new();
    for change in changes {
        *found.entry(alike(change)).or_default() += 1;
    }
    let mut text = String::new();
    let mut told: BTreeMap<_, usize> = BTreeMap::new();
    for change in changes {
        let (found, told) = (found[&alike(change)], told.entry(alike(change)).or_default());
        *told += 1;
        if found <= MANY || *told <= FEW {
            text += &of_change(change);
        }
        if found > MANY && *told == FEW {
            let _ = writeln!(text, "            and {} more like it; `--format json` lists all of them", found - FEW);
        }
    }
    text
}

fn of_change(change: &ServerChange) -> String {
    let (level, at, says) = (change.level.as_str(), visible_line(&change.at), visible_line(&change.says));
    let mut text = format!("{level:<11} {at}\n            {says}\n");
    let example = change.example.as_ref().map(|value| ("for example", value.to_string()));
    let help = change.help.as_ref().map(|help| ("perhaps", help.clone()));
    let is_in_words = change.what == "description-changed";
    let values = [("was", &change.before), ("is", &change.after)].into_iter().filter(|_| is_in_words);
    let values = values.filter_map(|(name, value)| Some((name, value.as_ref()?.to_string())));
    for (name, value) in values.chain(example).chain(help) {
        let _ = writeln!(text, "            {name} {}", shorten(&visible_line(&value), LONGEST));
    }
    text
}

fn count_of(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}
