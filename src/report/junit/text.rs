//! Texts that are valid in XML whatever a server said.
//!
//! `XmlString` drops escape sequences, tabs and control characters in silence; spelled out before, there are none.

use std::path::{Component, Path};

use quick_junit::XmlString;

use crate::source;

use super::super::limit;

/// Text of an attribute, on one line.
pub(crate) fn attribute(text: &str) -> XmlString {
    XmlString::new(source::visible_line(&limit::cut(text)))
}

/// Text of an element.
pub(crate) fn element(text: &str) -> XmlString {
    XmlString::new(source::visible(text))
}

/// The same document, in which the log of a CI service finds no command: `::` at the start of a line, and `##vso[`.
pub(crate) fn without_commands(document: &str) -> String {
    let line = |line: &str| match line.trim_start().strip_prefix("::") {
        Some(rest) => format!("{}&#58;:{rest}", &line[..line.len() - rest.len() - 2]),
        None => line.to_owned(),
    };
    let lines = document.split('\n').map(line).collect::<Vec<_>>().join("\n");
    source::replace_command_brackets(&lines, "&#91;").into_owned()
}

/// `examples/users.yml` becomes `examples.users`.
pub(crate) fn classname(file: &str) -> String {
    let path = Path::new(file).with_extension("");
    let parts: Vec<String> = path
        .components()
        .filter_map(|part| if let Component::Normal(name) = part { name.to_str() } else { None })
        .map(|name| name.replace('.', "_"))
        .collect();
    if parts.is_empty() { "suite".to_owned() } else { parts.join(".") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn class_names_are_never_empty() {
        for (file, name) in [
            ("examples/users.yml", "examples.users"),
            ("./a/../b.v2.yaml", "a.b_v2"),
            ("/abs/x.yml", "abs.x"),
            ("builtin:compliance", "builtin:compliance"),
            ("..", "suite"),
            ("", "suite"),
        ] {
            assert_eq!(classname(file), name, "{file}");
        }
    }

    #[test]
    fn a_document_is_no_command() {
        let check = |text: &str, expected: &str| assert_eq!(without_commands(text), expected);
        check("<a>\n  ::error::b ##vso[error]::\n</a>", "<a>\n  &#58;:error::b ##vso&#91;error]::\n</a>");
    }

    #[test]
    fn nothing_is_dropped() {
        for c in (0..=0x1_1000).filter_map(char::from_u32).filter(|c| *c != '\t') {
            let spelled =
                if source::is_hidden(c) && c != '\n' { c.escape_unicode().to_string() } else { c.to_string() };
            assert_eq!(&*element(&format!("<{c}>")), format!("<{spelled}>"));
        }
    }
}
