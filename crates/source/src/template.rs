//! Templates in text: `{{ name }}`, strict about names that do not exist.
//!
//! A text that is one template and nothing else keeps the type of what it names; any other template becomes text.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::LazyLock;

use minijinja::value::{Serde, ValueKind};
use minijinja::{Environment, ErrorKind, UndefinedBehavior};
use regex::Regex;
use serde_json::{Map, Value as Json};

use super::{Diagnostic, Node, Span, Value, nearest};

/// The names that templates can use, with their values.
pub type Names = Map<String, Json>;

/// What is said behind a name, in backticks, for which there is no value.
pub const ABSENT: &str = " names nothing";

/// The code of what is said of a template that cannot be filled in.
pub const UNFILLED: &str = "unfilled-template";

/// A template that cannot be filled in, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unfilled {
    /// The text that holds it.
    pub span: Span,
    /// A sentence.
    pub reason: String,
}

impl From<Unfilled> for String {
    fn from(unfilled: Unfilled) -> Self {
        unfilled.reason
    }
}

/// Whether a text holds a template.
pub fn is_template(text: &str) -> bool {
    text.contains("{{") || text.contains("{%")
}

/// Whether any text below a node holds a template.
pub fn has_template(node: &Node) -> bool {
    match &node.value {
        Value::Text(text) => is_template(text),
        Value::List(items) => items.iter().any(has_template),
        Value::Map(entries) => entries.iter().any(|(key, node)| is_template(&key.value) || has_template(node)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

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
    if !is_template(text) || whole_expression(text).is_some_and(|path| is_plain_path(path) && is_known(path)) {
        return;
    }
    let environment = environment();
    match environment.template_from_str(text) {
        Err(error) => {
            let reason = error.detail().unwrap_or("it cannot be read").trim_end_matches('.').to_owned();
            found.push(Diagnostic::error("bad-template", format!("the template is wrong: {reason}"), span));
        }
        Ok(template) => {
            let unknown: BTreeSet<String> = template.undeclared_variables(false).into_iter().collect();
            for name in unknown.iter().filter(|name| !known.contains(*name) && !is_builtin(environment, name)) {
                found.push(
                    Diagnostic::error("unknown-name", format!("nothing provides the name `{name}`"), span)
                        .with_help(name_help(name, known)),
                );
            }
            if let Some(problem) = INNER.find_iter(text).find_map(|part| unknown_filter(part.as_str())) {
                found.push(Diagnostic::error("bad-template", format!("the template is wrong: {problem}"), span));
            }
        }
    }
}

/// What a template computes.
#[expect(clippy::unwrap_used, reason = "the pattern is constant")]
static INNER: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"(?s)\{\{.*?\}\}|\{%.*?%\}").unwrap());

/// A text in quotes.
#[expect(clippy::unwrap_used, reason = "the pattern is constant")]
static QUOTED: LazyLock<Regex> = LazyLock::new(|| Regex::new(r#"(?s)"(\\.|[^"\\])*"|'(\\.|[^'\\])*'"#).unwrap());

/// What a value goes through.
#[expect(clippy::unwrap_used, reason = "the pattern is constant")]
static APPLIED: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"(\||\bis\s+(?:not\s+)?)\s*([A-Za-z_]\w*)").unwrap());

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
        error.filter(|error| error.kind() == kind).map(|_| format!("there is no {noun} `{name}`"))
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

/// A node's value with every template filled in.
pub fn fill(node: &Node, names: &Names) -> Result<Node, Unfilled> {
    let filled = |text: &str, span| fill_text(text, names).map_err(|reason| Unfilled { span, reason });
    let value = match &node.value {
        Value::Text(text) if is_template(text) => from_json(&filled(text, node.span)?, node.span).value,
        Value::List(items) => Value::List(items.iter().map(|item| fill(item, names)).collect::<Result<_, _>>()?),
        Value::Map(entries) => Value::Map(
            entries
                .iter()
                .map(|(key, value)| {
                    let name = if is_template(&key.value) {
                        text_of(&filled(&key.value, key.span)?)
                    } else {
                        key.value.clone()
                    };
                    Ok((super::Located::new(name, key.span), fill(value, names)?))
                })
                .collect::<Result<_, Unfilled>>()?,
        ),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => return Ok(node.clone()),
    };
    Ok(Node { value, span: node.span })
}

/// A text with its templates filled in; keeps the type where the text is one template.
pub fn fill_text(text: &str, names: &Names) -> Result<Json, String> {
    if !is_template(text) {
        return Ok(text.into());
    }
    let environment = environment();
    if let Some(expression) = whole_expression(text) {
        return evaluate_in(environment, expression, names);
    }
    let template = environment.template_from_str(text).map_err(|error| sentence(&error, text))?;
    let used = used(names, template.undeclared_variables(false), text);
    template.render(Serde(&*used)).map(Json::String).map_err(|error| {
        let missing = template.undeclared_variables(true).into_iter().find(|path| !leads_somewhere(path, names));
        match missing.filter(|_| error.kind() == ErrorKind::UndefinedError) {
            Some(path) => nothing_at(&path),
            None => sentence(&error, text),
        }
    })
}

/// The value of an expression such as `result.count > 2`.
pub fn evaluate(expression: &str, names: &Names) -> Result<Json, String> {
    evaluate_in(environment(), expression, names)
}

/// Whether an expression holds; a last field that is not there is false, a field of something that is not there is a
/// mistake.
pub fn holds(expression: &str, names: &Names) -> Result<bool, String> {
    static LENIENT: LazyLock<Environment<'static>> = LazyLock::new(|| strict(UndefinedBehavior::SemiStrict));
    let compiled = LENIENT.compile_expression(expression).map_err(|error| sentence(&error, expression))?;
    let used = used(names, compiled.undeclared_variables(false), expression);
    compiled.eval(Serde(&*used)).map(|value| value.is_true()).map_err(|_| {
        let broken = names_in(expression).into_iter().find(|path| is_broken(path, names));
        match broken.as_deref().and_then(|path| path.rsplit_once('.')) {
            Some((parent, field)) => format!("`{expression}` asks for `{field}` of `{parent}`, which is not there"),
            None => format!("`{expression}` cannot be evaluated here"),
        }
    })
}

/// The names that an expression uses, each with its fields, such as `tool.name`; none where it cannot be read.
pub fn names_in(expression: &str) -> BTreeSet<String> {
    let environment = environment();
    let Ok(compiled) = environment.compile_expression(expression) else { return BTreeSet::new() };
    let used = compiled.undeclared_variables(true).into_iter();
    used.filter(|name| !is_builtin(environment, name)).collect()
}

/// The names that the templates in a text use; none where it cannot be read.
pub fn names_of(text: &str) -> BTreeSet<String> {
    let template = environment().template_from_str(text);
    template.map(|template| template.undeclared_variables(false).into_iter().collect()).unwrap_or_default()
}

/// Whether what a path's last field would be a field of is not there.
fn is_broken(path: &str, names: &Names) -> bool {
    let Some((parent, _)) = path.rsplit_once('.') else { return false };
    let mut steps = parent.split('.');
    let first = steps.next().and_then(|name| names.get(name));
    first.and_then(|value| steps.try_fold(value, |value, step| value.get(step))).is_none()
}

/// Reports the names of an expression that nothing provides.
pub fn check_expression(text: &str, span: Span, known: &BTreeSet<String>, found: &mut Vec<Diagnostic>) {
    let environment = environment();
    let Ok(compiled) = environment.compile_expression(text) else { return };
    let unknown: BTreeSet<String> = compiled.undeclared_variables(false).into_iter().collect();
    for name in unknown.iter().filter(|name| !known.contains(*name) && !is_builtin(environment, name)) {
        found.push(
            Diagnostic::error("unknown-name", format!("nothing provides the name `{name}`"), span)
                .with_help(super::did_you_mean(name, known.iter().map(String::as_str))),
        );
    }
}

/// Why an expression cannot be read; `None` when it can.
pub fn expression_problem(expression: &str) -> Option<String> {
    match environment().compile_expression(expression) {
        Err(error) => Some(error.detail().unwrap_or("it cannot be read").to_owned()),
        Ok(_) => unknown_filter(expression),
    }
}

/// The text of a value as templates show it.
pub fn text_of(value: &Json) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// A node made from a value, all of it at one place.
pub fn from_json(json: &Json, span: Span) -> Node {
    let value = match json {
        Json::Null => Value::Null,
        Json::Bool(flag) => Value::Bool(*flag),
        Json::Number(number) => Value::Number(number.clone()),
        Json::String(text) => Value::Text(text.clone()),
        Json::Array(items) => Value::List(items.iter().map(|item| from_json(item, span)).collect()),
        Json::Object(fields) => Value::Map(
            fields.iter().map(|(key, item)| (super::Located::new(key.clone(), span), from_json(item, span))).collect(),
        ),
    };
    Node { value, span }
}

/// What templates and expressions are compiled in: making one takes longer than most of them.
fn environment() -> &'static Environment<'static> {
    static ENVIRONMENT: LazyLock<Environment<'static>> = LazyLock::new(|| strict(UndefinedBehavior::Strict));
    &ENVIRONMENT
}

fn strict(undefined: UndefinedBehavior) -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(undefined);
    environment.set_fuel(Some(1_000_000));
    environment
}

fn is_builtin(environment: &Environment<'_>, name: &str) -> bool {
    environment.globals().any(|(global, _)| global == name)
}

fn whole_expression(text: &str) -> Option<&str> {
    let inner = text.trim().strip_prefix("{{")?.strip_suffix("}}")?;
    (!inner.contains("{{") && !inner.contains("}}")).then_some(inner.trim())
}

/// The names that a template uses: what a server offers can be large, and most templates do not look at it.
fn used<'a>(names: &'a Names, wanted: impl IntoIterator<Item = String>, text: &str) -> Cow<'a, Names> {
    // What stands within brackets is not found.
    if text.contains('[') {
        return Cow::Borrowed(names);
    }
    let value = |name: String| names.get(&name).cloned().map(|value| (name, value));
    let used = wanted.into_iter().filter_map(value).collect();
    Cow::Owned(used)
}

/// Whether an expression is names with dots between them, such as `offer.call.name`.
fn is_plain_path(expression: &str) -> bool {
    expression.split('.').all(|name| {
        let mut letters = name.chars();
        letters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
            && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
    })
}

/// The value that a plain path leads to; `None` for any other expression.
fn at_path(expression: &str, names: &Names) -> Option<Json> {
    if !is_plain_path(expression) {
        return None;
    }
    let mut steps = expression.split('.');
    let first = names.get(steps.next()?)?;
    steps.try_fold(first, |value, step| value.as_object()?.get(step)).cloned()
}

fn evaluate_in(environment: &Environment<'_>, expression: &str, names: &Names) -> Result<Json, String> {
    if let Some(value) = at_path(expression, names) {
        return Ok(value);
    }
    let compiled = environment.compile_expression(expression).map_err(|error| sentence(&error, expression))?;
    let used = used(names, compiled.undeclared_variables(false), expression);
    let value = compiled.eval(Serde(&*used)).map_err(|error| sentence(&error, expression))?;
    if value.kind() == ValueKind::Undefined {
        return Err(nothing_at(expression));
    }
    serde_json::to_value(&value).map_err(|error| format!("`{expression}` has no JSON value: {error}"))
}

fn leads_somewhere(path: &str, names: &Names) -> bool {
    is_builtin(environment(), path) || at_path(path, names).is_some()
}

fn nothing_at(path: &str) -> String {
    match path.strip_prefix("env.") {
        Some(name) => format!("the environment has no variable `{name}`"),
        None => format!("`{path}`{ABSENT}"),
    }
}

fn sentence(error: &minijinja::Error, text: &str) -> String {
    let detail = error.detail().map_or_else(|| error.kind().to_string(), str::to_owned);
    format!("`{}` cannot be filled in: {}", text.trim(), detail.trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn names() -> Names {
        json!({"id": "u1", "n": 3, "list": [1, 2]}).as_object().cloned().unwrap()
    }

    #[test]
    fn a_lone_template_keeps_the_type() {
        let check = |text: &str, expected: Json| assert_eq!(fill_text(text, &names()), Ok(expected));
        check("{{ n }}", json!(3));
        check("{{ list }}", json!([1, 2]));
        check("n={{ n }}", json!("n=3"));
        check("{{ id }}{{ n }}", json!("u13"));
        check("{{ n + 1 }}", json!(4));
        check("plain", json!("plain"));
        assert!(fill_text("{{ nope }}", &names()).unwrap_err().contains("nope"));
        assert!(fill_text("{{ id.nope.more }}", &names()).is_err());
    }

    #[test]
    fn mistakes_are_found_without_values() {
        let mut sources = super::super::Sources::default();
        let source = sources.add(super::super::SourceFile::new("t", "x"));
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
