//! Keys of a step that its action has no use for: they would be read and do nothing.

use crate::source::{Diagnostic, Node};

/// What each action does something with.
const USES: [(&str, &[&str]); 12] = [
    ("call", &["args", "expect", "capture", "snapshot", "timeout", "progress", "cancel"]),
    ("read", &["expect", "capture", "snapshot", "timeout", "progress", "cancel"]),
    ("prompt", &["args", "expect", "capture", "snapshot", "timeout", "progress", "cancel"]),
    ("complete", &["expect", "capture", "snapshot", "timeout", "progress", "cancel"]),
    ("list", &["expect", "capture", "snapshot"]),
    ("request", &["params", "expect", "capture", "snapshot", "timeout", "progress", "cancel"]),
    ("notify", &["params"]),
    ("wait", &[]),
    ("alive", &["timeout"]),
    ("restart", &[]),
    ("send", &["expect", "capture", "timeout"]),
    ("http", &["expect", "capture", "timeout"]),
];

/// The keys that stand beside an action and belong to some actions only.
const BESIDE: [&str; 8] = ["args", "params", "expect", "capture", "snapshot", "timeout", "progress", "cancel"];

/// Reports every key of a step that its action has no use for; `expect: []` may always say that nothing is expected.
pub(super) fn keys(node: &Node, action: &str, found: &mut Vec<Diagnostic>) {
    let used = USES.iter().find(|(known, _)| *known == action).map_or(&[][..], |(_, used)| used);
    for (key, value) in node.entries() {
        let name = key.value.as_str();
        let says_nothing = name == "expect" && value.items().is_empty();
        if BESIDE.contains(&name) && !used.contains(&name) && !says_nothing {
            let message = format!("`{name}` does nothing beside `{action}`");
            let users = USES.iter().filter(|(_, used)| used.contains(&name)).map(|(user, _)| format!("`{user}`"));
            let help = format!("it belongs to {}", users.collect::<Vec<_>>().join(", "));
            found.push(Diagnostic::error("misplaced-key", message, key.span).with_help(help));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::{SourceFile, Sources, parse};

    #[test]
    fn what_does_nothing_is_told() {
        let check = |text: &str, action: &str, expected: &[&str]| {
            let mut sources = Sources::default();
            let id = sources.add(SourceFile::new("step.yml", text));
            let mut found = Vec::new();
            keys(&parse(&sources, id).unwrap(), action, &mut found);
            let messages: Vec<&str> = found.iter().map(|one| one.message.as_str()).collect();
            assert_eq!(messages, expected, "{text}");
        };
        check("{ name: n, wait: 1s, expect: [] }", "wait", &[]);
        check("{ wait: 1s, expect: [{ is_error: false }] }", "wait", &["`expect` does nothing beside `wait`"]);
        check("{ call: a, params: {}, args: {} }", "call", &["`params` does nothing beside `call`"]);
        check("{ list: tools, timeout: 1s }", "list", &["`timeout` does nothing beside `list`"]);
        check("{ http: {}, cancel: {} }", "http", &["`cancel` does nothing beside `http`"]);
    }
}
