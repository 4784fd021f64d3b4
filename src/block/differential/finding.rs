//! Changes as findings, and as a sentence.

use serde_json::Value;

use super::IgnoredChange;
use crate::drift::{ChangeLevel, ServerChange};
use crate::event::{self, Finding, Reason, Severity};
use crate::source::nearest;

/// The most changes that a sentence names.
const NAMED: usize = 3;

/// A change that fails a case.
pub(crate) fn finding(change: &ServerChange, file: &str) -> Finding {
    let meant = format!("if it is meant, record the server again, or add it to `ignore:`; it is recorded in `{file}`");
    let help = change.help.as_ref().map_or(meant.clone(), |help| format!("{help} {meant}"));
    let text = |value: &Option<Value>| value.as_ref().map(ToString::to_string);
    let example = change.example.as_ref().map(ToString::to_string).unwrap_or_default();
    Finding {
        path: Some(change.at.clone()),
        expected: text(&change.before),
        actual: text(&change.after),
        help: Some(help),
        severity: Some(match change.level {
            ChangeLevel::Breaking => Severity::High,
            ChangeLevel::Compatible | ChangeLevel::Cosmetic => Severity::Low,
        }),
        ..Finding::new(change.what, format!("{} change: {}", change.level.as_str(), change.says))
    }
    .with_evidence("counter-example", example)
}

/// An entry of `ignore:` that matches no change.
pub(crate) fn needless(ignored: &IgnoredChange, changes: &[ServerChange]) -> Finding {
    let parts = [("at", ignored.place()), ("what", ignored.what.as_deref())];
    let said = parts.iter().filter_map(|(key, value)| Some(format!("{key}: {}", (*value)?)));
    let says = format!("`{{ {} }}` is ignored and matches no change", said.collect::<Vec<_>>().join(", "));
    let near = ignored.place().and_then(|at| nearest(at, changes.iter().map(|change| change.at.as_str())));
    let help = near.map_or("take it out of `ignore`".to_owned(), |near| format!("did you mean `{near}`?"));
    // Which entry it is tells two of them apart.
    let path = ignored.place().or(ignored.what.as_deref()).map(str::to_owned);
    Finding { help: Some(help), level: event::RequirementLevel::Should, path, ..Finding::new("needless-ignore", says) }
}

/// The changes that fail nothing; `None` if there are none.
pub(crate) fn summary(mild: &[ServerChange], meant: &[ServerChange]) -> Option<Reason> {
    let all = mild.len() + meant.len();
    if all == 0 {
        return None;
    }
    let ignored = meant.iter().map(|change| format!("`{}`, ignored: {}", change.at, change.says));
    let told = mild.iter().map(|change| format!("`{}`, {}: {}", change.at, change.level.as_str(), change.says));
    let mut named: Vec<String> = told.chain(ignored).take(NAMED).collect();
    if all > NAMED {
        named.push(format!("and {} more", all - NAMED));
    }
    Some(Reason::Changed(named.join("; ")))
}
