//! Arguments that a tool's schema forbids: which of them are worth a call, and how they are written.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value as Json;

use super::as_text::{is_readable, with_text};
use super::title::title;
use super::{NegativeCheck, NegativePath};
use crate::generate::{Breach, Generator, InvalidValue};
use crate::plan::arguments::SafeArguments;
use crate::schema::name_of;
use crate::source::template::{from_json, is_template};
use crate::source::{Located, Node, Value};
use crate::wire::Tool;

/// A call of a tool that must be refused.
pub(crate) struct Forbidden {
    /// The violation, to be read after the tool's name.
    pub(crate) title: String,
    pub(crate) args: Node,
    pub(crate) breach: Breach,
    /// It only should be refused: clients write `null` for what they leave out, and models write numbers and
    /// booleans as text.
    pub(crate) is_advice: bool,
}

/// The calls that are made, and how many more there would be.
pub(crate) struct Derived {
    pub(crate) calls: Vec<Forbidden>,
    pub(crate) left_out: usize,
}

/// Calls with arguments that the tool's schema forbids, derived from valid ones; `Err` says why there are none.
pub(crate) fn derive(tool: &Tool, args: &Node, negative: &NegativePath) -> Result<Derived, String> {
    let safe_arguments = SafeArguments::new(&tool.arguments_schema(), None)
        .map_err(|reason| format!("no wrong arguments for `{}` could be made from its schema: {reason}", tool.name))?
        .for_tool(tool);
    let basis = Basis::of(args, &safe_arguments);
    let mut found = safe_arguments.violations(&basis.value);
    found.extend(with_text(&found, &basis.value, safe_arguments.generator()));
    let wanted = found.into_iter().filter(|found| {
        // Arguments that are no object are no business of the tool: they are parameters that break the protocol.
        negative.checks.contains(&check_of(found.breach)) && found.value.is_object()
    });
    let distinct = distinct(wanted.filter(|found| !basis.is_mistaken_for_template(&found.value)).collect());
    let count = distinct.len();
    let calls: Vec<Forbidden> = spread_over_breaches(distinct, negative.cases)
        .into_iter()
        .map(|violation| Forbidden {
            title: title(&violation, &basis.value),
            args: basis.to_node(&violation.value),
            breach: violation.breach,
            is_advice: is_readable(&violation) || is_optional_null(&violation, safe_arguments.generator()),
        })
        .collect();
    Ok(Derived { left_out: count - calls.len(), calls })
}

/// The check of `checks:` that asks for a breach.
pub(crate) fn check_of(breach: Breach) -> NegativeCheck {
    match breach {
        Breach::MissingRequired => NegativeCheck::MissingRequired,
        Breach::WrongType | Breach::Null | Breach::WrongNesting => NegativeCheck::WrongType,
        Breach::ExtraProperty | Breach::PropertyName => NegativeCheck::ExtraProperty,
        Breach::OutOfRange
        | Breach::NotMultiple
        | Breach::Pattern
        | Breach::Enum
        | Breach::TooLong
        | Breach::TooShort
        | Breach::TooMany
        | Breach::TooFew
        | Breach::NotUnique
        | Breach::Contains
        | Breach::Forbidden
        | Breach::NoAlternative
        | Breach::SeveralAlternatives => NegativeCheck::OutOfRange,
    }
}

/// One call for each way of breaking a place by a keyword; the most telling value stands for its like.
fn distinct(found: Vec<InvalidValue>) -> Vec<InvalidValue> {
    let mut best: Vec<InvalidValue> = Vec::new();
    for violation in found {
        let is_like = |known: &&mut InvalidValue| {
            (known.breach, &known.at, &known.keyword) == (violation.breach, &violation.at, &violation.keyword)
                // Several members are required, or may be too many, at one place.
                && (known.breach != Breach::MissingRequired || known.value == violation.value)
                && is_readable(known) == is_readable(&violation)
                && is_below_zero(known) == is_below_zero(&violation)
        };
        match best.iter_mut().find(is_like) {
            Some(_) => {}
            None => best.push(violation),
        }
    }
    best
}

fn is_below_zero(violation: &InvalidValue) -> bool {
    let sent = violation.value.pointer(&violation.at).and_then(Json::as_f64);
    violation.breach == Breach::OutOfRange && sent.is_some_and(|number| number < 0.0)
}

/// At most `limit` values, of every kind of breach in turn, in the order in which they were found.
fn spread_over_breaches(found: Vec<InvalidValue>, limit: usize) -> Vec<InvalidValue> {
    let mut of_breach: BTreeMap<Breach, usize> = BTreeMap::new();
    let mut ranked: Vec<(usize, usize)> = Vec::new();
    for (at, violation) in found.iter().enumerate() {
        let rank = of_breach.entry(violation.breach).or_default();
        ranked.push((*rank, at));
        *rank += 1;
    }
    ranked.sort_unstable();
    let kept: BTreeSet<usize> = ranked.into_iter().take(limit).map(|(_, at)| at).collect();
    found.into_iter().enumerate().filter(|(at, _)| kept.contains(at)).map(|(_, violation)| violation).collect()
}

/// The violation writes `null` for a member that could have been left out.
fn is_optional_null(violation: &InvalidValue, generator: &Generator) -> bool {
    let Some((parent, name)) = violation.at.rsplit_once('/').filter(|_| violation.breach == Breach::Null) else {
        return false;
    };
    let mut without = violation.value.clone();
    let Some(fields) = without.pointer_mut(parent).and_then(Json::as_object_mut) else { return false };
    fields.shift_remove(&name_of(name));
    generator.is_valid(&without)
}

/// Valid arguments, as a value and as they are written: templates are filled in when the call is made.
struct Basis<'a> {
    value: Json,
    /// `None` where what is written could not be made to fit the schema before it is filled in.
    args: Option<&'a Node>,
    written: &'a Node,
}

impl<'a> Basis<'a> {
    /// Templates stand for values that nobody knows yet; the first stand-in that fits is taken for all of them.
    fn of(args: &'a Node, safe_arguments: &SafeArguments) -> Self {
        let smallest = safe_arguments.smallest();
        let stand_ins = [None, Some(Json::from(1)), Some(Json::from(true)), Some(Json::from("text"))];
        let tried = stand_ins.iter().map(|stand_in| fill_templates(args, stand_in.as_ref(), None));
        let fits = tried
            .chain([fill_templates(args, None, Some(smallest))])
            .find(|value| safe_arguments.generator().is_valid(value));
        let args_fit = fits.is_some();
        Self { value: fits.unwrap_or_else(|| smallest.clone()), args: args_fit.then_some(args), written: args }
    }

    /// A value as a node, in which everything that is as in the basis stays as it is written.
    fn to_node(&self, value: &Json) -> Node {
        node_with_originals(value, self.args.map(|args| (&self.value, args)), self.written)
    }

    /// A value holds a text that looks like a template and is none.
    fn is_mistaken_for_template(&self, value: &Json) -> bool {
        let mut known = Vec::new();
        texts(&self.value, &mut known);
        let mut found = Vec::new();
        texts(value, &mut found);
        found.into_iter().any(|text| is_template(text) && !known.contains(&text))
    }
}

/// Arguments with a stand-in for every template, or with what another value has in its place.
fn fill_templates(node: &Node, stand_in: Option<&Json>, other: Option<&Json>) -> Json {
    match &node.value {
        Value::Text(text) if is_template(text) => other.or(stand_in).cloned().unwrap_or_else(|| text.clone().into()),
        Value::Map(entries) => entries
            .iter()
            .map(|(key, item)| {
                (key.value.clone(), fill_templates(item, stand_in, other.and_then(|other| other.get(&key.value))))
            })
            .collect::<serde_json::Map<_, _>>()
            .into(),
        Value::List(items) => {
            let of = |(at, item): (usize, &Node)| fill_templates(item, stand_in, other.and_then(|other| other.get(at)));
            Json::Array(items.iter().enumerate().map(of).collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => node.to_json(),
    }
}

fn node_with_originals(value: &Json, basis: Option<(&Json, &Node)>, at: &Node) -> Node {
    if let Some((_, node)) = basis.filter(|(known, _)| *known == value) {
        return node.clone();
    }
    match value {
        Json::Object(fields) => {
            let of = |name: &String| basis.and_then(|(known, node)| Some((known.get(name)?, node.get(name)?)));
            let entries = fields
                .iter()
                .map(|(name, item)| (Located::new(name.clone(), at.span), node_with_originals(item, of(name), at)));
            Node { value: Value::Map(entries.collect()), span: at.span }
        }
        Json::Array(items) => {
            let of = |index: usize| basis.and_then(|(known, node)| Some((known.get(index)?, node.items().get(index)?)));
            let items = items.iter().enumerate().map(|(index, item)| node_with_originals(item, of(index), at));
            Node { value: Value::List(items.collect()), span: at.span }
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => from_json(value, at.span),
    }
}

fn texts<'a>(value: &'a Json, found: &mut Vec<&'a str>) {
    match value {
        Json::String(text) => found.push(text),
        Json::Array(items) => items.iter().for_each(|item| texts(item, found)),
        Json::Object(fields) => fields.values().for_each(|item| texts(item, found)),
        Json::Null | Json::Bool(_) | Json::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::tests::{node, settings as settings_of};
    use serde_json::json;

    /// The titles of the calls that are made, those of advice in brackets, and how many are left out.
    fn derived(settings: &str, schema: &Json, args: &str) -> (Vec<String>, usize) {
        let tool = Tool::new(json!({"name": "get", "inputSchema": schema}));
        let mut negative: NegativePath = settings_of(settings);
        if negative.checks.is_empty() {
            negative.checks = NegativeCheck::ALL.into();
        }
        let derived = derive(&tool, &node(args), &negative).unwrap_or_else(|why| panic!("{why}"));
        let title = |call: &Forbidden| if call.is_advice { format!("({})", call.title) } else { call.title.clone() };
        (derived.calls.iter().map(title).collect(), derived.left_out)
    }

    #[test]
    fn calls_break_the_schema_in_every_way_that_is_asked_for() {
        let schema = json!({
            "type": "object",
            "properties": {"id": {"type": "string"}, "limit": {"type": "integer", "minimum": 1, "maximum": 9}},
            "required": ["id"],
            "additionalProperties": false,
        });
        for (checks, expected) in [
            ("missing_required", vec!["without `id`"]),
            ("out_of_range", vec!["with `limit` below its minimum (0)", "with `limit` above its maximum (10)"]),
        ] {
            let (titles, left_out) = derived(&format!("{{ checks: [{checks}] }}"), &schema, "{ id: u1, limit: 5 }");
            assert!(expected.iter().all(|title| titles.contains(&(*title).to_owned())), "{checks}: {titles:?}");
            assert_eq!(left_out, 0);
        }
        let (extra, _) = derived("{ checks: [extra_property] }", &schema, "{ id: u1 }");
        assert!(extra.iter().all(|title| title.ends_with(" besides")), "{extra:?}");
        let (types, _) = derived("{ checks: [wrong_type] }", &schema, "{ id: u1, limit: 5 }");
        // Models write numbers as text, and clients `null` for what they leave out: a server should refuse those only.
        assert!(types.contains(&"(with \"5\" as `limit`)".to_owned()), "{types:?}");
        assert!(types.contains(&"(with null as `limit`)".to_owned()), "{types:?}");
        assert!(types.contains(&"with null as `id`".to_owned()), "{types:?}");
    }

    #[test]
    fn a_schema_that_allows_everything_forbids_nothing() {
        let (titles, _) = derived("{ cases: 24 }", &json!({"type": "object"}), "{}");
        assert_eq!(titles, [""; 0]);
    }

    #[test]
    fn few_cases_are_of_every_kind() {
        let text = json!({"type": "string", "minLength": 2, "maxLength": 4});
        let schema = json!({"type": "object", "properties": {"a": text, "b": text}, "required": ["a", "b"]});
        let (all, none) = derived("{ cases: 100 }", &schema, "{ a: xx, b: xx }");
        let (some, left_out) = derived("{ cases: 3 }", &schema, "{ a: xx, b: xx }");
        assert_eq!((none, left_out, some.len()), (0, all.len() - 3, 3));
        let kinds: BTreeSet<&str> = some.iter().map(|title| title.split('`').next().unwrap_or_default()).collect();
        assert_eq!(kinds.len(), 3, "{some:?}");
    }

    #[test]
    fn everything_but_the_violation_stays_as_it_is_written() {
        let schema = json!({"type": "object", "properties": {"id": {"type": "string"}, "n": {"type": "integer"}}});
        let tool = Tool::new(json!({"name": "get", "inputSchema": schema}));
        let negative = NegativePath { checks: [NegativeCheck::WrongType].into(), ..settings_of("{ cases: 24 }") };
        let derived =
            derive(&tool, &node("{ id: '{{ user }}', n: 1 }"), &negative).unwrap_or_else(|why| panic!("{why}"));
        let broken_n = derived.calls.iter().find(|call| call.args.get("n").is_some_and(|n| n.whole() != Some(1)));
        let args = broken_n.map(|call| call.args.to_json()).unwrap_or_default();
        assert_eq!(args["id"], "{{ user }}", "the template is filled in when the call is made");
    }
}
