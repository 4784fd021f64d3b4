//! Changes as findings, and as a sentence.

use serde_json::Value;

use super::{IgnoredChange, Other};
use crate::drift::{ChangeLevel, ServerChange};
use crate::event::{self, Finding, Reason, Severity};
use crate::source::nearest;

/// The most changes that a sentence names.
const NAMED: usize = 3;

/// A change that fails a case.
pub(crate) fn finding(change: &ServerChange, other: &Other) -> Finding {
    let (meant, since) = match other {
        Other::Recorded { file, .. } => {
            let cure = "if it is meant, record the server again, or add it to `ignore:`; it is recorded in";
            (format!("{cure} `{file}`"), String::new())
        }
        Other::InRevision(revision) => ("if it is meant, add it to `ignore:`".to_owned(), format!(" from {revision}")),
    };
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
        ..Finding::new(change.what, format!("{} change{since}: {}", change.level.as_str(), change.says))
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use std::sync::Arc;

    use super::*;
    use crate::check::tests::settings;
    use crate::drift::ServerSnapshot;
    use crate::wire::Revision;

    fn change(level: ChangeLevel, at: &str, says: &str) -> ServerChange {
        ServerChange {
            level,
            what: "tool-changed",
            at: at.to_owned(),
            before: Some(json!(1)),
            after: None,
            says: says.to_owned(),
            help: None,
            example: None,
        }
    }

    fn recorded() -> Other {
        let snapshot = Arc::new(ServerSnapshot { format: 1, servers: Vec::new() });
        Other::Recorded { file: "recorded.json".to_owned(), snapshot }
    }

    #[test]
    fn a_difference_of_revisions_names_the_other_one() {
        let change = change(ChangeLevel::Compatible, "tools/add", "it is new");
        let found = finding(&change, &Other::InRevision(Revision::V2025_11_25));
        assert_eq!(found.message, "compatible change from 2025-11-25: it is new");
        assert_eq!(found.help.as_deref(), Some("if it is meant, add it to `ignore:`"));
    }

    #[test]
    fn a_finding_is_as_bad_as_its_change() {
        for (level, severity, message) in [
            (ChangeLevel::Breaking, Severity::High, "breaking change: it is gone"),
            (ChangeLevel::Compatible, Severity::Low, "compatible change: it is gone"),
            (ChangeLevel::Cosmetic, Severity::Low, "cosmetic change: it is gone"),
        ] {
            let found = finding(&change(level, "tools/add", "it is gone"), &recorded());
            assert_eq!((found.severity, found.message.as_str()), (Some(severity), message));
            assert_eq!((found.expected.as_deref(), found.actual), (Some("1"), None));
            let help = found.help.unwrap_or_default();
            assert!(
                help.starts_with("if it is meant, record the server again") && help.contains("`recorded.json`"),
                "{help}"
            );
        }
        let told = ServerChange {
            help: Some("keep the old name, too;".to_owned()),
            example: Some(json!({"a": 1})),
            ..change(ChangeLevel::Breaking, "tools/add", "it is gone")
        };
        let found = finding(&told, &recorded());
        assert!(found.help.is_some_and(|help| help.starts_with("keep the old name, too; if it is meant")));
        assert_eq!(found.evidence, [("counter-example".to_owned(), "{\"a\":1}".to_owned())]);
    }

    #[test]
    fn an_entry_that_ignores_nothing_is_corrected_or_taken_out() {
        let changes = [change(ChangeLevel::Breaking, "tools/add/input/limit", "it is narrower")];
        for (entry, says, help) in [
            (
                "{ at: tools/add/input/limits, reason: r }",
                "`{ at: tools/add/input/limits }` is ignored and matches no change",
                "did you mean `tools/add/input/limit`?",
            ),
            ("{ at: prompts/x, reason: r }", "`{ at: prompts/x }` is ignored", "take it out of `ignore`"),
            ("{ what: tool-added, reason: r }", "`{ what: tool-added }` is ignored", "take it out of `ignore`"),
            (
                "{ at: zzz, what: tool-added, reason: r }",
                "`{ at: zzz, what: tool-added }` is ignored",
                "take it out of `ignore`",
            ),
        ] {
            let found = needless(&settings(entry), &changes);
            assert!(found.message.starts_with(says), "{}", found.message);
            assert_eq!((found.help.as_deref(), found.level), (Some(help), event::RequirementLevel::Should));
        }
    }

    #[test]
    fn changes_that_fail_nothing_are_named_up_to_three() {
        let mild = |count: usize| vec![change(ChangeLevel::Cosmetic, "tools/a", "it is reworded"); count];
        let meant = |count: usize| vec![change(ChangeLevel::Breaking, "tools/b", "it is gone"); count];
        let (told, ignored) = ("`tools/a`, cosmetic: it is reworded", "`tools/b`, ignored: it is gone");
        for (mild, meant, expected) in [
            (mild(0), meant(0), None),
            (mild(1), meant(0), Some(told.to_owned())),
            (mild(1), meant(1), Some(format!("{told}; {ignored}"))),
            (mild(3), meant(0), Some(format!("{told}; {told}; {told}"))),
            (mild(2), meant(3), Some(format!("{told}; {told}; {ignored}; and 2 more"))),
        ] {
            let reason = summary(&mild, &meant);
            assert_eq!(reason.is_some(), expected.is_some());
            let text = reason.map(|reason| reason.to_string()).unwrap_or_default();
            assert!(text.contains(&expected.unwrap_or_default()), "{text}");
        }
    }
}
