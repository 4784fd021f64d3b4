//! Lints, as the command line explains them.

use std::fmt::Write as _;

use serde_json::Value;

use super::rules::SUBJECTS;
use super::{Lint, LintLevel, lints};

/// All lints, a line each.
pub fn list() -> String {
    let width = lints().map(|lint| lint.id.len()).max().unwrap_or_default();
    let mut text = String::new();
    for (subject, lints) in SUBJECTS {
        let _ = writeln!(text, "{}{subject}", if text.is_empty() { "" } else { "\n" });
        for lint in *lints {
            let _ = writeln!(text, "  {:<width$}  {:<7}  {}", lint.id, lint.level.as_str(), lint.says);
        }
    }
    text
}

/// One lint, with everything there is to say.
pub fn explain(lint: &Lint) -> String {
    let mut text = format!("{}: {}\n\n", lint.id, lint.says);
    let of = lint.provider.map(|provider| format!(", and an error with `--provider {}`", provider.as_str()));
    let level = match lint.level {
        LintLevel::Error => "an error: the specification forbids it".to_owned(),
        LintLevel::Warning => format!("a warning{}", of.unwrap_or_default()),
        LintLevel::Advice => "advice, which never changes a verdict".to_owned(),
    };
    for (title, words) in [("it is", level.as_str()), ("why", lint.why), ("cure", lint.cure), ("see", lint.link)] {
        let _ = writeln!(text, "  {title:<5}  {words}");
    }
    let _ =
        writeln!(text, "\n  the examples say what is different about the tool at the top of docs/reference/lints.md");
    let (good, bad) = lint.examples();
    for (title, example) in [("good", good), ("bad", bad)] {
        let _ = writeln!(text, "\n  {title}:");
        let value: Value = serde_json::from_str(example).unwrap_or_default();
        for line in serde_json::to_string_pretty(&value).unwrap_or_default().lines() {
            let _ = writeln!(text, "    {line}");
        }
    }
    text
}
