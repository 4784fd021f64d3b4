//! Mistakes in templates and expressions that show without values.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use minijinja::ErrorKind;
use regex::Regex;

use super::super::grammar::Shape;
use super::super::settings::Setting;
use super::super::{Diagnostic, Located, MistakeKind, Node, Span, Value, did_you_mean, nearest};
use super::growth::without_constant_products;
use super::{Names, TemplateError, environment, fill_text, is_builtin, is_plain_path, is_template, whole_expression};

/// Every mistake in the templates below a node: syntax, and names that nothing in `known` provides.
pub fn check(node: &Node, known: &BTreeSet<String>, found: &mut Vec<Diagnostic>) {
    match &node.value {
        Value::Text(text) => check_text(text, node.span, known, found),
        Value::List(items) => {
            for item in items {
                check(item, known, found);
            }
        }
        Value::Map(entries) => {
            for (key, value) in entries {
                check_text(&key.value, key.span, known, found);
                check(value, known, found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Every mistake in one text.
pub fn check_text(text: &str, span: Span, known: &BTreeSet<String>, found: &mut Vec<Diagnostic>) {
    let is_known = |path: &str| path.split('.').next().is_some_and(|name| known.contains(name));
    let is_known_path = |path: &str| path.len() <= LONGEST && is_plain_path(path) && is_known(path);
    if !is_template(text) || whole_expression(text).is_some_and(is_known_path) {
        return;
    }
    let wrong = |problem: &str| Diagnostic::error("bad-template", format!("invalid template: {problem}"), span);
    if let Some(problem) = length_problem(text) {
        return found.push(wrong(problem));
    }
    let environment = environment();
    match environment.template_from_str(&without_constant_products(text, false)) {
        Err(error) => found.push(wrong(error.detail().unwrap_or("it cannot be parsed").trim_end_matches('.'))),
        Ok(template) => {
            let unknown: BTreeSet<String> = template.undeclared_variables(false).into_iter().collect();
            for name in unknown.iter().filter(|name| !known.contains(*name) && !is_builtin(environment, name)) {
                found.push(
                    Diagnostic::error("unknown-name", format!("there is no name `{name}`"), span)
                        .of_kind(MistakeKind::UnknownName)
                        .with_help(name_help(name, known)),
                );
            }
            let plain = LITERAL.replace_all(text, "");
            if let Some(problem) = INNER.find_iter(&plain).find_map(|part| unknown_filter(part.as_str())) {
                found.push(wrong(&problem));
            } else if unknown.iter().all(|name| is_builtin(environment, name))
                && let Err(TemplateError::GivenUp(reason)) = fill_text(text, &Names::new())
            {
                found.push(wrong(&reason));
            }
        }
    }
}

/// The number of bytes of an expression beside its texts: a chain of operators takes a piece of the stack for each.
const LONGEST: usize = 2000;

const TOO_LONG: &str = "an expression in it has more than 2000 bytes, not counting quoted texts";

/// The same for all expressions of a template: values can be nested as deep as there are statements.
const LONGEST_IN_ALL: usize = 10_000;

const TOO_LONG_IN_ALL: &str = "its expressions have more than 10,000 bytes, not counting quoted texts";

/// What makes a template too long to be parsed within the stack.
pub(crate) fn length_problem(text: &str) -> Option<&'static str> {
    if text.len() <= LONGEST {
        return None;
    }
    let plain = LITERAL.replace_all(text, "");
    let computed = || INNER.find_iter(&plain).map(|part| part.as_str());
    if computed().any(is_too_long) {
        return Some(TOO_LONG);
    }
    let is_over = text.len() > LONGEST_IN_ALL && computed().map(length).sum::<usize>() > LONGEST_IN_ALL;
    is_over.then_some(TOO_LONG_IN_ALL)
}

pub(crate) fn is_too_long(expression: &str) -> bool {
    expression.len() > LONGEST && length(expression) > LONGEST
}

/// The length of an expression beside its texts.
fn length(expression: &str) -> usize {
    QUOTED.replace_all(expression, "''").len()
}

/// Parts of a template that compute nothing: comments, and what is to be taken literally.
#[expect(clippy::unwrap_used, reason = "the pattern is constant")]
static LITERAL: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?s)\{#.*?#\}|\{%-?\s*raw\s*-?%\}.*?\{%-?\s*endraw\s*-?%\}").unwrap());

/// The expression of a template, also where its end is missing; braces in quotes end nothing.
#[expect(clippy::unwrap_used, reason = "the pattern is constant")]
static INNER: LazyLock<Regex> = LazyLock::new(|| {
    let inside = r#"(?:"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|.)*?"#;
    Regex::new(&format!(r"(?s)\{{\{{{inside}(?:\}}\}}|$)|\{{%{inside}(?:%\}}|$)")).unwrap()
});

/// The expressions and statements of a template, in order, with their braces.
pub fn parts(text: &str) -> Vec<&str> {
    INNER.find_iter(text).map(|part| part.as_str()).collect()
}

/// A text in quotes.
#[expect(clippy::unwrap_used, reason = "the pattern is constant")]
static QUOTED: LazyLock<Regex> = LazyLock::new(|| Regex::new(r#"(?s)"(\\.|[^"\\])*"|'(\\.|[^'\\])*'"#).unwrap());

/// The filters and tests of a value.
#[expect(clippy::unwrap_used, reason = "the pattern is constant")]
static APPLIED: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"(\||\bis\s+(?:not\s+)?)\s*([A-Za-z_]\w*)").unwrap());

/// Filters that a misspelt one may stand for; the engine does not list its own.
const COMMON_FILTERS: &[&str] = &[
    "abs",
    "bool",
    "count",
    "default",
    "dictsort",
    "first",
    "float",
    "format",
    "groupby",
    "int",
    "items",
    "join",
    "last",
    "length",
    "lines",
    "list",
    "lower",
    "map",
    "max",
    "min",
    "reject",
    "rejectattr",
    "replace",
    "reverse",
    "round",
    "select",
    "selectattr",
    "slice",
    "sort",
    "split",
    "string",
    "sum",
    "title",
    "tojson",
    "trim",
    "unique",
    "upper",
    "urlencode",
    "zip",
];

/// Which filter or test of an expression does not exist, which shows only where it is applied otherwise.
fn unknown_filter(expression: &str) -> Option<String> {
    if !expression.contains('|') && !expression.contains(" is ") {
        return None;
    }
    let bare = QUOTED.replace_all(expression, "''");
    let mut state = environment().empty_state();
    APPLIED.captures_iter(&bare).find_map(|applied| {
        let name = &applied[2];
        let (noun, kind, error) = match &applied[1] {
            "|" => ("filter", ErrorKind::UnknownFilter, state.apply_filter(name, &[]).err()),
            _ => ("test", ErrorKind::UnknownTest, state.perform_test(name, &[]).err()),
        };
        error.filter(|error| error.kind() == kind).map(|_| {
            let near = if noun == "filter" { nearest(name, COMMON_FILTERS.iter().copied()) } else { None };
            let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            format!("there is no {noun} `{name}`{near}")
        })
    })
}

fn name_help(name: &str, known: &BTreeSet<String>) -> String {
    match nearest(name, known.iter().map(String::as_str)) {
        Some(near) => format!("did you mean `{near}`?"),
        None => {
            format!("define it under `variables:`, `capture:` it in an earlier step, or read `{{{{ env.{name} }}}}`")
        }
    }
}

/// Why an expression cannot be read; `None` when it can.
pub fn expression_problem(expression: &str) -> Option<String> {
    if is_too_long(expression) {
        return Some(TOO_LONG.to_owned());
    }
    match environment().compile_expression(&without_constant_products(expression, true)) {
        Err(error) => Some(error.detail().unwrap_or("it cannot be parsed").to_owned()),
        Ok(_) => unknown_filter(expression),
    }
}

/// An expression that can be read.
#[derive(Debug, Clone)]
pub struct Expression(pub Located<String>);

impl Setting for Expression {
    const SHAPE: Shape = Shape::Text;

    fn decode(node: &Node, found: &mut Vec<Diagnostic>) -> Option<Self> {
        let expression = node.located_text()?;
        if let Some(reason) = expression_problem(&expression.value) {
            found.push(Diagnostic::error("bad-expression", format!("invalid expression: {reason}"), expression.span));
        }
        Some(Self(expression))
    }
}

/// Reports the names of an expression that nothing provides.
pub fn check_expression(text: &str, span: Span, known: &BTreeSet<String>, found: &mut Vec<Diagnostic>) {
    if is_too_long(text) {
        return;
    }
    let environment = environment();
    let text = without_constant_products(text, true);
    let Ok(compiled) = environment.compile_expression(&text) else { return };
    let unknown: BTreeSet<String> = compiled.undeclared_variables(false).into_iter().collect();
    for name in unknown.iter().filter(|name| !known.contains(*name) && !is_builtin(environment, name)) {
        found.push(
            Diagnostic::error("unknown-name", format!("there is no name `{name}`"), span)
                .of_kind(MistakeKind::UnknownName)
                .with_help(did_you_mean(name, known.iter().map(String::as_str))),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::{SourceFile, Sources};
    use super::super::{names_in, names_of};
    use super::*;

    #[test]
    fn unknown_filters_are_named() {
        let problem = |expression: &str| unknown_filter(expression);
        assert_eq!(problem("a | lenght").as_deref(), Some("there is no filter `lenght`; did you mean `length`?"));
        assert_eq!(problem("a | zzzz").as_deref(), Some("there is no filter `zzzz`"));
        assert_eq!(problem("a is oddd").as_deref(), Some("there is no test `oddd`"));
        for name in COMMON_FILTERS {
            assert_eq!(problem(&format!("a | {name}")), None);
        }
    }

    #[test]
    fn long_chains_are_refused() {
        for part in ["1 + ", "not ", "-", "("] {
            assert_eq!(expression_problem(&format!("{}1", part.repeat(100_000))).as_deref(), Some(TOO_LONG));
            let mut found = Vec::new();
            let mut sources = Sources::default();
            let source = sources.add(SourceFile::new("t", "x"));
            let span = Span { source, start: 0, end: 1 };
            check_text(&format!("{{{{ {}1 }}}}", part.repeat(100_000)), span, &BTreeSet::new(), &mut found);
            assert_eq!(found.len(), 1, "{part}");
        }
        let path = format!("{{{{ env{} }}}}", ".a".repeat(100_000));
        let mut found = Vec::new();
        let mut sources = Sources::default();
        let source = sources.add(SourceFile::new("t", "x"));
        check_text(&path, Span { source, start: 0, end: 1 }, &BTreeSet::from(["env".to_owned()]), &mut found);
        assert_eq!((found.len(), names_of(&path)), (1, BTreeSet::new()), "a path of names that are known");
        assert_eq!(expression_problem(&format!("{}1", "1 + ".repeat(499))), None);
        assert_eq!(expression_problem(&format!("name == '{}'", "x".repeat(100_000))), None);
    }

    #[test]
    fn only_what_is_computed_counts() {
        let mut sources = Sources::default();
        let source = sources.add(SourceFile::new("t", "x"));
        let check = |text: &str, is_good: bool| {
            let mut found = Vec::new();
            check_text(text, Span { source, start: 0, end: 1 }, &BTreeSet::from(["x".to_owned()]), &mut found);
            assert_eq!(found.is_empty(), is_good, "{text:.60}");
        };
        check("{{ x | nope }}", false);
        check("{% raw %}{{ x | nope }}{% endraw %} {# x | nope #} a | b is c {{ x }}", true);
        check(&format!("{{{{ '{}' }}}}", "y".repeat(100_000)), true);
        check("{{ 'a' * 1000 | length }}", true);
        check("{{ ('a' * 1000) | replace('a', 'b' * 1000) | replace('b', 'c' * 1000) }}", false);
        check(&"{% set y = [1] %}".repeat(400), true);
        check(&"{% set y = [1] %}".repeat(40_000), false);
        let chain = "1 + ".repeat(100_000);
        check(&format!("{{{{ '}}}}' + {chain}1 }}}}"), false);
        check(&format!("{{{{ {chain}"), false);
        check(&format!("{{% if {chain}"), false);
        assert!(names_in(&format!("{chain}x")).is_empty());
    }

    #[test]
    fn mistakes_are_found_without_values() {
        let mut sources = Sources::default();
        let source = sources.add(SourceFile::new("t", "x"));
        let span = Span { source, start: 0, end: 1 };
        let known = BTreeSet::from(["id".to_owned()]);
        let codes = |text: &str| {
            let mut found = Vec::new();
            check_text(text, span, &known, &mut found);
            found.iter().map(|diagnostic| diagnostic.code).collect::<Vec<_>>()
        };
        assert_eq!(codes("{{ id }} {{ range(3) }}"), Vec::<&str>::new());
        assert_eq!(codes("{{ idd }}"), ["unknown-name"]);
        assert_eq!(codes("{{ id"), ["bad-template"]);
    }
}
