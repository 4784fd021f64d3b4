//! Lints of annotations.

use serde_json::Value;

use super::super::{Lint, LintRule};
use super::{ADVICE, ANNOTATIONS, WARNING};
use crate::source::words;
use crate::wire::Tool;

pub(crate) static LINTS: &[Lint] = &[
    Lint {
        id: "readonly-and-destructive",
        says: "a tool is annotated as read-only and as destructive",
        why: "clients call read-only tools without asking, and `destructiveHint` applies only to other tools",
        cure: "remove the wrong one",
        link: ANNOTATIONS,
        good: r#"{"annotations": {"readOnlyHint": false, "destructiveHint": true}}"#,
        bad: r#"{"annotations": {"readOnlyHint": true, "destructiveHint": true}}"#,
        rule: LintRule::Tool(|tool| {
            let is_both = hint(tool, "readOnlyHint") == Some(true) && hint(tool, "destructiveHint") == Some(true);
            is_both.then(|| ("annotations".to_owned(), "`readOnlyHint` and `destructiveHint` are both true".to_owned()))
        }),
        ..WARNING
    },
    Lint {
        id: "readonly-by-name",
        says: "a tool is annotated as read-only, and its name says that it is destructive",
        why: "clients call read-only tools without asking",
        cure: "set `readOnlyHint` to false, or rename the tool",
        link: ANNOTATIONS,
        good: r#"{"name": "delete_note", "annotations": {"readOnlyHint": false, "destructiveHint": true}}"#,
        bad: r#"{"name": "delete_note", "annotations": {"readOnlyHint": true}}"#,
        rule: LintRule::Tool(|tool| {
            let said = words(&tool.name);
            let verb = said.first().filter(|verb| DESTROYS.contains(&verb.as_str()))?;
            (hint(tool, "readOnlyHint") == Some(true)).then(|| {
                ("annotations.readOnlyHint".to_owned(), format!("`readOnlyHint` is true, and the name says `{verb}`"))
            })
        }),
        ..WARNING
    },
    Lint {
        id: "no-hints",
        says: "a tool does not say whether it changes anything",
        why: "clients have to assume that it is destructive, and ask their users before every call",
        cure: "annotate it with `readOnlyHint`, and with `destructiveHint` where it changes something",
        link: ANNOTATIONS,
        good: r#"{"annotations": {"readOnlyHint": true}}"#,
        bad: r#"{"annotations": null}"#,
        rule: LintRule::Tool(|tool| {
            let is_said = ["readOnlyHint", "destructiveHint"].iter().any(|name| hint(tool, name).is_some());
            let is_odd = !matches!(tool.raw["annotations"], Value::Null | Value::Object(_));
            (!is_said && !is_odd)
                .then(|| ("annotations".to_owned(), "it has neither `readOnlyHint` nor `destructiveHint`".to_owned()))
        }),
        ..ADVICE
    },
];

/// Verbs with which the name of a tool begins that leaves less than there was.
const DESTROYS: &[&str] =
    &["delete", "remove", "destroy", "erase", "purge", "wipe", "overwrite", "write", "uninstall", "truncate", "kill"];

fn hint(tool: &Tool, name: &str) -> Option<bool> {
    tool.raw["annotations"][name].as_bool()
}
