//! The rule books that are part of the program, for whoever wants the rules without a suite.

use std::io;
use std::path::Path;
use std::sync::Arc;

use crate::block::load;
use crate::source::{Diagnostic, Sources};
use crate::suite::{Files, Test};

/// The suite that has all of them.
const WHOLE: &str = r#"{"suite": "rules", "server": {"builtin": "demo"}, "compliance": {}}"#;

struct One;

impl Files for One {
    fn read(&self, _: &Path) -> io::Result<String> {
        Ok(WHOLE.to_owned())
    }
}

/// Every test that is part of the program and stands for a rule; `Err` holds the mistakes in the rule books.
pub fn built_in_rules(sources: &mut Sources) -> Result<Vec<Arc<Test>>, Vec<Diagnostic>> {
    rules_of(Path::new("rules"), &One, sources)
}

/// The tests of a suite's `compliance:` block.
pub fn rules_of(path: &Path, files: &dyn Files, sources: &mut Sources) -> Result<Vec<Arc<Test>>, Vec<Diagnostic>> {
    let loaded = load(path, files, sources, &mut Vec::new())?;
    Ok(loaded.blocks.iter().flat_map(|block| block.settings.tests()).cloned().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::{Node, SourceFile, Value, parse};
    use crate::suite::rule_books;

    const META: &str = "io.modelcontextprotocol/";

    /// A server that demands what clients should send is judged by the rule about it, and by no other.
    #[test]
    fn probes_say_who_asks() {
        let mut unnamed = Vec::new();
        for (name, text) in rule_books() {
            let mut sources = Sources::default();
            let id = sources.add(SourceFile::new(*name, *text));
            let Ok(book) = parse(&sources, id) else { panic!("`{name}` is no YAML") };
            for test in book.get("tests").map(Node::items).unwrap_or_default() {
                let rule = test.get("rule").and_then(|rule| rule.get("id")).and_then(Node::text).unwrap_or_default();
                if lacks_client_info(test) {
                    unnamed.push(rule.to_owned());
                }
            }
        }
        assert_eq!(unnamed, ["B22"]);
    }

    fn lacks_client_info(node: &Node) -> bool {
        let has = |name: &str| node.get(&format!("{META}{name}")).is_some();
        let is_unnamed = (has("protocolVersion") || has("clientCapabilities")) && !has("clientInfo");
        is_unnamed
            || match &node.value {
                Value::List(items) => items.iter().any(lacks_client_info),
                Value::Map(entries) => entries.iter().any(|(_, value)| lacks_client_info(value)),
                Value::Text(text) => {
                    text.contains("Capabilities\"") && !text.contains("clientInfo") && text.contains("_meta\":")
                }
                Value::Null | Value::Bool(_) | Value::Number(_) => false,
            }
    }
}
