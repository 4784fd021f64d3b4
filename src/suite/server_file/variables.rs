//! `${…}` in a client's configuration: what each client puts in its place, as a template.

use std::path::Path;

use super::{Inputs, Surroundings};
use crate::source::{Diagnostic, Node, Span, visible_line};
use crate::transport::environment::HOME;

/// Turns a text of a client's configuration into one of a suite: what a client fills in becomes a template, and what a
/// suite would fill in stays as it is written.
pub(crate) fn template_text(
    written: &str,
    span: Span,
    around: &Surroundings<'_>,
    inputs: &mut Inputs,
    found: &mut Vec<Diagnostic>,
) -> String {
    let mut template = String::new();
    let mut rest = written;
    while let Some((before, after)) = rest.split_once("${") {
        let Some((variable, behind)) = after.split_once('}') else { break };
        template += &literal(before);
        if let Some(filled) = variable_template(variable, around, inputs) {
            template += &filled;
        } else {
            let message = format!("`${{{}}}` is a variable that only its client knows", visible_line(variable));
            let help = "write `${env:NAME}`, `${input:id}`, `${workspaceFolder}` or the value".to_owned();
            found.push(Diagnostic::error("unknown-variable", message, span).with_help(help));
        }
        rest = behind;
    }
    template + &literal(rest)
}

/// A text that no template engine changes.
pub(crate) fn literal(written: &str) -> String {
    let mut text = String::new();
    let mut letters = written.chars().peekable();
    while let Some(letter) = letters.next() {
        match letters.peek() {
            Some(next @ ('{' | '%' | '#')) if letter == '{' => {
                text.extend(["{{ '", &format!("{letter}{next}"), "' }}"]);
                letters.next();
            }
            _ => text.push(letter),
        }
    }
    text
}

/// A template for a variable of the environment, with a value for when it is not set.
pub(crate) fn variable(name: &str, default: Option<&str>) -> String {
    match default {
        Some(default) => format!("{{{{ env.{name} | default({}) }}}}", serde_json::Value::from(default)),
        None => format!("{{{{ env.{name} }}}}"),
    }
}

/// The variable of the environment that stands for an input: `INPUT_API_KEY` for `api-key`.
pub(crate) fn input_variable(id: &str) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
    format!("INPUT_{}", id.chars().map(letter).collect::<String>())
}

/// The template for what a client puts in place of `${written}`; `None` for what only the client knows.
fn variable_template(written: &str, around: &Surroundings<'_>, inputs: &mut Inputs) -> Option<String> {
    if let Some(id) = written.strip_prefix("input:") {
        let name = input_variable(id);
        let declared = around.declared.iter().find(|input| input.get("id").and_then(Node::text) == Some(id));
        let about = |key: &str| declared.and_then(|input| input.get(key)).and_then(Node::text);
        let description = about("description").map(|text| format!(": {}", visible_line(text))).unwrap_or_default();
        inputs.insert(name.clone(), format!("a client would ask for the input `{}`{description}", visible_line(id)));
        return Some(variable(&name, about("default")));
    }
    let named = |name: &str, default| is_name(name).then(|| variable(name, default));
    if let Some(name) = written.strip_prefix("env:") {
        return named(name, None);
    }
    match written {
        "workspaceFolder" => Some(literal(&absolute(around.folder))),
        "workspaceFolderBasename" => {
            let folder = absolute(around.folder);
            Path::new(&folder).file_name().map(|name| literal(&name.to_string_lossy()))
        }
        "userHome" => Some(variable(HOME, None)),
        "pathSeparator" | "/" => Some(std::path::MAIN_SEPARATOR.to_string()),
        _ => match written.split_once(":-") {
            Some((name, default)) => named(name, Some(default)),
            None => named(written, None),
        },
    }
}

/// A folder as a program finds it, wherever it starts.
fn absolute(folder: &Path) -> String {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned()).display().to_string()
}

fn is_name(name: &str) -> bool {
    let is_first = |c: char| c.is_ascii_alphabetic() || c == '_';
    name.starts_with(is_first) && name.chars().all(|c| is_first(c) || c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::template::{Names, fill_text};
    use crate::source::{SourceFile, Sources, parse_jsonc};

    #[test]
    fn a_client_s_variables_become_templates() {
        let declared = r#"[{"id": "api-key", "description": "Your key"}, {"id": "level", "default": "info"}]"#;
        let mut sources = Sources::default();
        let source = sources.add(SourceFile::new("mcp.json", declared));
        let declared = parse_jsonc(&sources, source).unwrap();
        let span = declared.span;
        for (written, expected) in [
            ("plain", Ok("plain")),
            ("Bearer ${env:TOKEN}", Ok("Bearer t0k")),
            ("${TOKEN}", Ok("t0k")),
            ("${GONE:-http://a}", Ok("http://a")),
            ("${TOKEN:-x}", Ok("t0k")),
            ("${input:api-key}!", Ok("k3y!")),
            ("${input:level}", Ok("info")),
            ("${workspaceFolder}/a", Ok("/srv/project/a")),
            ("${workspaceFolderBasename}", Ok("project")),
            ("{{ env.TOKEN }} {% if %} {# no #}", Ok("{{ env.TOKEN }} {% if %} {# no #}")),
            ("a ${unclosed", Ok("a ${unclosed")),
            ("${command:pick}", Err("`${command:pick}` is a variable that only its client knows")),
        ] {
            let around = Surroundings {
                folder: Path::new("/srv/project"),
                files: &|_: &Path| Ok(String::new()),
                declared: declared.items(),
            };
            let (mut inputs, mut found) = (Inputs::new(), Vec::new());
            let template = template_text(written, span, &around, &mut inputs, &mut found);
            let env = serde_json::json!({"TOKEN": "t0k", "INPUT_API_KEY": "k3y"});
            let names = Names::from_iter([("env".to_owned(), env)]);
            let seen = match found.first() {
                Some(mistake) => Err(mistake.message.clone()),
                None => Ok(fill_text(&template, &names).unwrap().as_str().unwrap().to_owned()),
            };
            assert_eq!(seen, expected.map(str::to_owned).map_err(str::to_owned), "{written}: {template}");
            if written.contains("api-key") {
                assert_eq!(inputs["INPUT_API_KEY"], "a client would ask for the input `api-key`: Your key");
            }
        }
    }
}
