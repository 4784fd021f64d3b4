//! Templates in text: `{{ name }}`, strict about names that do not exist.
//!
//! A text that is one template and nothing else keeps the type of what it names; any other template becomes text.

mod bind;
mod check;
mod growth;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::LazyLock;

use minijinja::value::{Serde, ValueKind};
use minijinja::{Environment, Error, ErrorKind, UndefinedBehavior};
use regex::RegexBuilder;
use serde_json::{Map, Value as Json};

use super::{Node, Span, Value};

pub use self::bind::{bind, bind_templates, literal_text};
pub use self::check::{Expression, check, check_expression, check_text, expression_problem, parts};

/// The names that templates can use, with their values.
pub type Names = Map<String, Json>;

/// The code of the message about a template that cannot be filled in.
pub const UNFILLED: &str = "unfilled-template";

/// Why a template is given up that takes more than [`STEPS`].
const TOO_MANY_STEPS: &str = "it takes more than a million steps";

/// The number of bytes of a compiled regular expression.
const LARGEST_PATTERN: usize = 1 << 20;

/// The number of steps of a template.
const STEPS: u64 = 1_000_000;

/// A template that cannot be filled in, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unfilled {
    /// The text that holds it.
    pub span: Span,
    /// Why.
    pub reason: TemplateError,
}

/// Why a template or an expression has no value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TemplateError {
    /// There is nothing at this path.
    Missing(String),
    /// The environment has no variable of this name.
    NoVariable(String),
    /// Evaluation takes too many steps or makes too much, so that the value is unknown; holds the sentence.
    GivenUp(String),
    /// Any other mistake, as a sentence.
    Invalid(String),
}

impl fmt::Display for TemplateError {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(path) => write!(to, "`{path}` names nothing"),
            Self::NoVariable(name) => write!(to, "the environment has no variable `{name}`"),
            Self::GivenUp(sentence) | Self::Invalid(sentence) => to.write_str(sentence),
        }
    }
}

/// A text holds a template.
pub fn is_template(text: &str) -> bool {
    text.contains("{{") || text.contains("{%")
}

/// Any text below a node holds a template.
pub fn has_template(node: &Node) -> bool {
    match &node.value {
        Value::Text(text) => is_template(text),
        Value::List(items) => items.iter().any(has_template),
        Value::Map(entries) => entries.iter().any(|(key, node)| is_template(&key.value) || has_template(node)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// A node's value with every template filled in.
pub fn fill(node: &Node, names: &Names) -> Result<Node, Unfilled> {
    growth::begin();
    fill_all(node, names)
}

fn fill_all(node: &Node, names: &Names) -> Result<Node, Unfilled> {
    let filled = |text: &str, span| fill_more(text, names).map_err(|reason| Unfilled { span, reason });
    let value = match &node.value {
        Value::Text(text) if is_template(text) => from_json(&filled(text, node.span)?, node.span).value,
        Value::List(items) => Value::List(items.iter().map(|item| fill_all(item, names)).collect::<Result<_, _>>()?),
        Value::Map(entries) => Value::Map(
            entries
                .iter()
                .map(|(key, value)| {
                    let name = if is_template(&key.value) {
                        text_of(&filled(&key.value, key.span)?)
                    } else {
                        key.value.clone()
                    };
                    Ok((super::Located::new(name, key.span), fill_all(value, names)?))
                })
                .collect::<Result<_, Unfilled>>()?,
        ),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => return Ok(node.clone()),
    };
    Ok(Node { value, span: node.span })
}

/// A text with its templates filled in; keeps the type where the text is one template.
pub fn fill_text(text: &str, names: &Names) -> Result<Json, TemplateError> {
    growth::begin();
    if is_template(text) { fill_more(text, names) } else { Ok(text.into()) }
}

/// The same for a text with templates, in the room that is left.
fn fill_more(text: &str, names: &Names) -> Result<Json, TemplateError> {
    let environment = environment();
    if let Some(expression) = whole_expression(text) {
        return evaluate_in(environment, expression, names);
    }
    let compiled = growth::without_constant_products(text, false);
    let template = environment.template_from_str(&compiled).map_err(|error| problem(&error, text))?;
    let used = select_used(names, template.undeclared_variables(false), text);
    let root = Serde(&*used).into();
    growth::render(environment, &template, root, STEPS).map(Json::String).map_err(|error| {
        let missing = template.undeclared_variables(true).into_iter().find(|path| !leads_somewhere(path, names));
        match missing.filter(|_| error.kind() == ErrorKind::UndefinedError) {
            Some(path) => nothing_at(&path),
            None => problem(&error, text),
        }
    })
}

/// The value of an expression such as `result.count > 2`.
pub fn evaluate(expression: &str, names: &Names) -> Result<Json, TemplateError> {
    growth::begin();
    evaluate_in(environment(), expression, names)
}

/// Evaluates an expression to true or false; a missing last field is false, a field of something missing is a mistake.
pub fn holds(expression: &str, names: &Names) -> Result<bool, TemplateError> {
    static LENIENT: LazyLock<Environment<'static>> = LazyLock::new(|| environment_of(UndefinedBehavior::Lenient));
    growth::begin();
    let text = growth::without_constant_products(expression, true);
    let compiled = LENIENT.compile_expression(&text).map_err(|error| problem(&error, expression))?;
    let used = select_used(names, compiled.undeclared_variables(false), expression);
    growth::value(&LENIENT, &compiled, &text, Serde(&*used).into()).map(|value| value.is_true()).map_err(|_| {
        let broken = names_in(expression).into_iter().find(|path| is_broken(path, names));
        TemplateError::Invalid(match broken.as_deref().and_then(|path| path.rsplit_once('.')) {
            Some((parent, field)) => format!("`{expression}` uses `{field}` of `{parent}`, which does not exist"),
            None => format!("`{expression}` cannot be evaluated here"),
        })
    })
}

/// The names that an expression uses, each with its fields, such as `tool.name`; none where it cannot be parsed.
pub fn names_in(expression: &str) -> BTreeSet<String> {
    if check::is_too_long(expression) {
        return BTreeSet::new();
    }
    let environment = environment();
    let text = growth::without_constant_products(expression, true);
    let Ok(compiled) = environment.compile_expression(&text) else { return BTreeSet::new() };
    let used = compiled.undeclared_variables(true).into_iter();
    used.filter(|name| !is_builtin(environment, name)).collect()
}

/// The names that the templates in a text use; none where it cannot be parsed.
pub fn names_of(text: &str) -> BTreeSet<String> {
    if check::length_problem(text).is_some() {
        return BTreeSet::new();
    }
    let text = growth::without_constant_products(text, false);
    let template = environment().template_from_str(&text);
    template.map(|template| template.undeclared_variables(false).into_iter().collect()).unwrap_or_default()
}

/// The parent of a path's last field is missing.
fn is_broken(path: &str, names: &Names) -> bool {
    let Some((parent, _)) = path.rsplit_once('.') else { return false };
    let mut steps = parent.split('.');
    let first = steps.next().and_then(|name| names.get(name));
    first.and_then(|value| steps.try_fold(value, |value, step| value.get(step))).is_none()
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

/// The environment that compiles templates and expressions: making one takes longer than most of them.
fn environment() -> &'static Environment<'static> {
    static ENVIRONMENT: LazyLock<Environment<'static>> = LazyLock::new(|| environment_of(UndefinedBehavior::Strict));
    &ENVIRONMENT
}

fn environment_of(undefined: UndefinedBehavior) -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(undefined);
    environment.set_fuel(Some(STEPS));
    environment.add_test("matching", is_matching);
    growth::limit(&mut environment);
    environment
}

/// A regular expression finds a match in a text: `name is matching("^get_")`.
fn is_matching(text: &str, pattern: &str) -> Result<bool, Error> {
    let wrong = |error: &regex::Error| Error::new(ErrorKind::InvalidOperation, error.to_string());
    let compiled = RegexBuilder::new(pattern).size_limit(LARGEST_PATTERN).build().map_err(|error| wrong(&error))?;
    Ok(compiled.is_match(text))
}

fn is_builtin(environment: &Environment<'_>, name: &str) -> bool {
    environment.globals().any(|(global, _)| global == name)
}

fn whole_expression(text: &str) -> Option<&str> {
    let inner = text.trim().strip_prefix("{{")?.strip_suffix("}}")?;
    (!inner.contains("{{") && !inner.contains("}}")).then_some(inner.trim())
}

/// The names that a template uses: what a server offers can be large, and most templates do not look at it.
fn select_used<'a>(names: &'a Names, wanted: impl IntoIterator<Item = String>, text: &str) -> Cow<'a, Names> {
    // A name within brackets is not found.
    if text.contains('[') {
        return Cow::Borrowed(names);
    }
    let wanted: BTreeSet<String> = wanted.into_iter().collect();
    if names.keys().all(|name| wanted.contains(name)) {
        return Cow::Borrowed(names);
    }
    let value = |name: String| names.get(&name).cloned().map(|value| (name, value));
    Cow::Owned(wanted.into_iter().filter_map(value).collect())
}

/// An expression is names with dots between them, such as `offer.call.name`.
fn is_plain_path(expression: &str) -> bool {
    expression.split('.').all(|name| {
        let mut letters = name.chars();
        letters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
            && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
    })
}

/// The value that a plain path leads to; `None` for any other expression.
fn at_path<'a>(expression: &str, names: &'a Names) -> Option<&'a Json> {
    if !is_plain_path(expression) {
        return None;
    }
    let mut steps = expression.split('.');
    let first = names.get(steps.next()?)?;
    steps.try_fold(first, |value, step| value.as_object()?.get(step))
}

fn evaluate_in(environment: &Environment<'_>, expression: &str, names: &Names) -> Result<Json, TemplateError> {
    let wrong = |error| problem(&error, expression);
    if let Some(value) = at_path(expression, names) {
        growth::take_json(value).map_err(wrong)?;
        return Ok(value.clone());
    }
    let text = growth::without_constant_products(expression, true);
    let compiled = environment.compile_expression(&text).map_err(wrong)?;
    let used = select_used(names, compiled.undeclared_variables(false), expression);
    let value = growth::value(environment, &compiled, &text, Serde(&*used).into()).map_err(wrong)?;
    if value.kind() == ValueKind::Undefined {
        return Err(nothing_at(expression));
    }
    growth::take_value(&value).map_err(wrong)?;
    serde_json::to_value(&value)
        .map_err(|error| TemplateError::Invalid(format!("`{expression}` cannot be written as JSON: {error}")))
}

fn leads_somewhere(path: &str, names: &Names) -> bool {
    is_builtin(environment(), path) || at_path(path, names).is_some()
}

fn nothing_at(path: &str) -> TemplateError {
    match path.strip_prefix("env.") {
        Some(name) => TemplateError::NoVariable(name.to_owned()),
        None => TemplateError::Missing(path.to_owned()),
    }
}

fn problem(error: &minijinja::Error, text: &str) -> TemplateError {
    let sentence = |why: &str| format!("`{}` cannot be filled in: {}", text.trim(), why.trim_end_matches('.'));
    match error.detail() {
        _ if error.kind() == ErrorKind::OutOfFuel => TemplateError::GivenUp(sentence(TOO_MANY_STEPS)),
        Some(growth::TOO_LARGE) => TemplateError::GivenUp(sentence(growth::TOO_LARGE)),
        Some(detail) => TemplateError::Invalid(sentence(detail)),
        None => TemplateError::Invalid(sentence(&error.kind().to_string())),
    }
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
        check("{{ id is matching('^u[0-9]+$') }}", json!(true));
        check("{{ id is matching('^v') }}", json!(false));
        assert!(fill_text("{{ id is matching('(') }}", &names()).is_err());
        assert!(fill_text("{{ nope }}", &names()).unwrap_err().to_string().contains("nope"));
        assert!(fill_text("{{ id.nope.more }}", &names()).is_err());
    }

    #[test]
    fn what_is_not_there_can_be_compared_and_not_entered() {
        let names = json!({"tool": {"name": "x", "annotations": {}}}).as_object().cloned().unwrap();
        let check = |expression: &str, expected: Option<bool>| {
            assert_eq!(holds(expression, &names).ok(), expected, "{expression}");
        };
        check("tool.annotations.readOnlyHint", Some(false));
        check("tool.annotations.readOnlyHint == true", Some(false));
        check("tool.annotations.taskSupport != 'required'", Some(true));
        check("tool.annotations.readOnlyHint is not defined", Some(true));
        check("tool.execution.taskSupport == 'required'", None);
    }
}
