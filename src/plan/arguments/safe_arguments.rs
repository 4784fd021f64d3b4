//! Arguments generated from a schema and made safe to send: durations are short, and addresses are unroutable.
//!
//! Valid arguments stay valid, and invalid ones violate the same keywords as before: a value that has no safe
//! replacement within its schema stays as it is.

use std::collections::BTreeSet;

use serde_json::Value;

use super::addresses::{ends_like_host, is_host, unroutable, unroutable_repository};
use super::folder::{is_path, takes_folder};
use super::{amounts, durations};
use crate::generate::{Generator, InvalidValue, PLACEHOLDER, Rng};
use crate::schema::{Judge, UnusableSchema, put_at, token};
use crate::wire::Tool;

/// Generates arguments of one tool.
#[derive(Debug)]
pub struct SafeArguments {
    generator: Generator,
    schema: Value,
    /// Candidates for optional arguments that are always sent: the server's default may be a long time, or the address
    /// of a third party.
    default_overrides: Vec<(String, Vec<Value>)>,
    /// Members whose schema says that they are names of machines.
    hosts: BTreeSet<String>,
    /// The folder that the server was started with, for arguments that are paths and of which the schema shows none.
    folder: Option<String>,
    /// The tool says that it deals with other machines: any of its texts may name one.
    is_open_world: bool,
    amounts: Amounts,
    smallest: Value,
}

/// The amounts that generated calls ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Amounts {
    /// Small ones, however much the schema allows.
    Small,
    /// Any that the schema allows.
    Any,
}

/// A value that is to be replaced.
struct Replacement {
    /// JSON pointer; the member may be absent.
    at: String,
    /// Candidates in the order of preference.
    candidates: Vec<Value>,
}

impl SafeArguments {
    /// Makes a schema of arguments ready; `Err` says why nothing can be made from it.
    pub fn new(schema: &Value, folder: Option<String>) -> Result<Self, UnusableSchema> {
        Ok(Self::with_generator(schema, Generator::new(schema)?, folder))
    }

    /// The same with a generator of that schema.
    pub fn with_generator(schema: &Value, generator: Generator, folder: Option<String>) -> Self {
        let mut hosts = BTreeSet::new();
        hosts_of(schema, &mut hosts);
        let smallest = generator.smallest().clone();
        let (schema, default_overrides) = (schema.clone(), Vec::new());
        let (is_open_world, amounts) = (false, Amounts::Small);
        Self { generator, schema, default_overrides, hosts, folder, is_open_world, amounts, smallest }.prepare()
    }

    /// The same for a tool that may say that it deals with other machines.
    #[must_use]
    pub fn for_tool(self, tool: &Tool) -> Self {
        if tool.declares_open_world() { Self { is_open_world: true, ..self }.prepare() } else { self }
    }

    /// The same with such amounts.
    #[must_use]
    pub fn with_amounts(self, amounts: Amounts) -> Self {
        if amounts == self.amounts { self } else { Self { amounts, ..self }.prepare() }
    }

    /// Makes the values ready that follow from the settings.
    fn prepare(mut self) -> Self {
        let properties = self.schema["properties"].as_object().into_iter().flatten();
        let overrides =
            properties.filter_map(|(name, schema)| Some((name.clone(), self.override_default(name, schema)?)));
        self.default_overrides = overrides.collect();
        let smallest = self.generator.smallest().clone();
        let risky_values = self.risky_values_and_defaults(&smallest);
        let smallest = self.without_risky_values(smallest, risky_values);
        Self { smallest, ..self }
    }

    /// The same with other valid arguments as the smallest.
    #[must_use]
    pub fn with_smallest(self, smallest: Value) -> Self {
        Self { smallest, ..self }
    }

    /// The generator of values that the schema accepts.
    pub fn generator(&self) -> &Generator {
        &self.generator
    }

    /// Small valid arguments.
    pub fn smallest(&self) -> &Value {
        &self.smallest
    }

    /// The names of arguments that take texts of the caller's own: no paths, names of machines or durations.
    pub fn optional_texts(&self) -> impl Iterator<Item = String> + '_ {
        let properties = self.schema["properties"].as_object().into_iter().flatten();
        let is_free = |name: &str, schema: &Value| {
            let is_text = schema["type"] == "string" && schema.get("enum").is_none() && schema.get("const").is_none();
            let is_risky =
                is_path(name) || is_host(name) || self.hosts.contains(name) || durations::limit(name).is_some();
            is_text && !is_risky
        };
        properties.filter(move |(name, schema)| is_free(name, schema)).map(|(name, _)| name.clone())
    }

    /// Small valid arguments whose durations are not shortened; addresses are unroutable.
    pub fn without_time_limits(&self) -> Value {
        let value = self.generator.smallest().clone();
        let far = collect_replacements("", &value, &|name, value| self.unroutable(name, value));
        apply_replacements(value, far, |value| self.generator.is_valid(value))
    }

    /// Valid arguments at the edges, each once.
    pub fn boundaries(&self) -> Vec<Value> {
        let mut met = BTreeSet::new();
        let edges = self.generator.boundaries().into_iter().filter_map(|edge| self.sanitize(edge.value));
        edges.filter(|value| met.insert(value.to_string())).collect()
    }

    /// Valid arguments; the same choices give the same.
    pub fn random(&self, draw: &mut Rng) -> Value {
        self.sanitize(self.generator.random(draw)).unwrap_or_else(|| self.smallest.clone())
    }

    /// Returns true if a value has an address of another machine.
    pub fn reaches_out(&self, value: &Value) -> bool {
        !collect_replacements("", value, &|name, value| self.unroutable_texts(name, value)).is_empty()
    }

    /// A value of one argument, made safe to send.
    pub fn sanitize_argument(&self, name: &str, value: Value) -> Value {
        let whole = Value::Object([(name.to_owned(), value)].into_iter().collect());
        let risky_values = self.risky_values(&whole);
        apply_replacements(whole, risky_values, |_| true)[name].take()
    }

    /// Arguments that break exactly one keyword at one place, derived from valid ones. What those hold stays in them.
    pub fn violations(&self, base: &Value) -> Vec<InvalidValue> {
        let found = self.generator.violations(base);
        let Ok(judge) = Judge::of(&self.schema) else { return found };
        let safe = found.into_iter().map(|violation| self.sanitize_violation(&judge, base, violation));
        safe.filter(|violation| !self.reaches_further(&violation.value, base)).collect()
    }

    /// Returns true if a value has an address of another machine that another value has not at this place.
    fn reaches_further(&self, value: &Value, base: &Value) -> bool {
        let far = collect_replacements("", value, &|name, value| self.unroutable_texts(name, value));
        far.iter().any(|far| base.pointer(&far.at) != value.pointer(&far.at))
    }

    fn sanitize_violation(&self, judge: &Judge, base: &Value, violation: InvalidValue) -> InvalidValue {
        let mut risky_values = self.risky_values(&violation.value);
        risky_values.retain(|replacement| base.pointer(&replacement.at) != violation.value.pointer(&replacement.at));
        if risky_values.is_empty() {
            return violation;
        }
        let Some(known) = violated_keywords(judge, &violation.value) else { return violation };
        let is_as_wrong = |value: &Value| violated_keywords(judge, value).is_some_and(|faults| faults == known);
        InvalidValue { value: apply_replacements(violation.value, risky_values, is_as_wrong), ..violation }
    }

    /// Valid arguments, made safe to send; `None` if they would reach another machine all the same.
    pub fn sanitize(&self, value: Value) -> Option<Value> {
        let risky_values = self.risky_values_and_defaults(&value);
        if risky_values.is_empty() {
            return Some(value);
        }
        let safe = self.without_risky_values(value, risky_values);
        (!self.reaches_out(&safe)).then_some(safe)
    }

    /// Every value that may take long or reach a third party, and the places of defaults that may.
    fn risky_values_and_defaults(&self, value: &Value) -> Vec<Replacement> {
        let mut risky_values = self.risky_values(value);
        if let Some(members) = value.as_object() {
            let absent = self.default_overrides.iter().filter(|(name, _)| !members.contains_key(name));
            risky_values.extend(
                absent.map(|(name, candidates)| Replacement {
                    at: pointer_below(name, ""),
                    candidates: candidates.clone(),
                }),
            );
        }
        risky_values
    }

    /// Valid arguments with as many safe values as their schema takes.
    fn without_risky_values(&self, value: Value, risky_values: Vec<Replacement>) -> Value {
        self.without_far_members(apply_replacements(value, risky_values, |value| self.generator.is_valid(value)))
    }

    /// Arguments without the members that can only be addresses of other machines, where they stay valid.
    fn without_far_members(&self, mut value: Value) -> Value {
        let far = |(name, member): (&String, &Value)| {
            let is_far =
                !collect_replacements(name, member, &|name, value| self.unroutable_texts(name, value)).is_empty();
            is_far.then(|| name.clone())
        };
        let far: Vec<String> = value.as_object().into_iter().flatten().filter_map(far).collect();
        for name in far {
            let mut without = value.clone();
            if let Some(members) = without.as_object_mut() {
                members.shift_remove(&name);
            }
            if self.generator.is_valid(&without) {
                value = without;
            }
        }
        value
    }

    /// Candidates for an optional argument that is always sent; `None` if it may be left out.
    fn override_default(&self, name: &str, schema: &Value) -> Option<Vec<Value>> {
        let is_number = schema["type"] == "integer" || schema["type"] == "number";
        let candidates = if is_number && durations::limit(name).is_some() {
            durations::shortest(name)
        } else {
            self.unroutable(name, &schema["default"])
        };
        (!candidates.is_empty()).then_some(candidates)
    }

    /// Every value that may take long or reach a third party, with safe candidates.
    fn risky_values(&self, value: &Value) -> Vec<Replacement> {
        collect_replacements("", value, &|name, value| self.safe_candidates(name, value))
    }

    fn safe_candidates(&self, name: &str, value: &Value) -> Vec<Value> {
        let shorter = durations::shorten(name, value);
        let smaller = || if self.amounts == Amounts::Small { amounts::shrink(name, value) } else { Vec::new() };
        let candidates = if shorter.is_empty() { smaller() } else { shorter };
        if candidates.is_empty() { self.unroutable(name, value) } else { candidates }
    }

    fn unroutable(&self, name: &str, value: &Value) -> Vec<Value> {
        if *value == PLACEHOLDER && takes_folder(name) {
            return self.folder.iter().cloned().map(Value::from).collect();
        }
        self.unroutable_texts(name, value)
    }

    /// Replacements for a text that is an address of another machine.
    fn unroutable_texts(&self, name: &str, value: &Value) -> Vec<Value> {
        let Value::String(text) = value else { return Vec::new() };
        let is_named = || self.hosts.contains(name) || is_host(name) || self.is_open_world && ends_like_host(text);
        let mut texts = unroutable(text, is_named);
        if texts.is_empty() {
            texts = unroutable_repository(name, text, self.is_open_world);
        }
        texts.into_iter().map(Value::from).collect()
    }
}

/// The members of a schema, at any depth, whose format is the name of a machine.
fn hosts_of(schema: &Value, hosts: &mut BTreeSet<String>) {
    let is_host = |schema: &Value| schema["format"] == "hostname" || schema["format"] == "idn-hostname";
    match schema {
        Value::Object(members) => {
            let named = members.get("properties").and_then(Value::as_object).into_iter().flatten();
            hosts.extend(named.filter(|(_, own)| is_host(own) || is_host(&own["items"])).map(|(name, _)| name.clone()));
            members.values().for_each(|member| hosts_of(member, hosts));
        }
        Value::Array(items) => items.iter().for_each(|item| hosts_of(item, hosts)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The parts of a value for which there are better values; items have the name of their list.
fn collect_replacements(name: &str, value: &Value, better: &dyn Fn(&str, &Value) -> Vec<Value>) -> Vec<Replacement> {
    let inside = |step: &str, name: &str, value: &Value| {
        let found = collect_replacements(name, value, better).into_iter();
        found
            .map(|replacement| Replacement { at: pointer_below(step, &replacement.at), ..replacement })
            .collect::<Vec<_>>()
    };
    match value {
        Value::Object(members) => members.iter().flat_map(|(name, member)| inside(name, name, member)).collect(),
        Value::Array(items) => {
            items.iter().enumerate().flat_map(|(at, item)| inside(&at.to_string(), name, item)).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            let candidates = better(name, value);
            if candidates.is_empty() { Vec::new() } else { vec![Replacement { at: String::new(), candidates }] }
        }
    }
}

/// A value with as many replacements as it can take.
fn apply_replacements(value: Value, replacements: Vec<Replacement>, is_kept: impl Fn(&Value) -> bool) -> Value {
    if replacements.is_empty() {
        return value;
    }
    let mut whole = value.clone();
    for replacement in &replacements {
        if let Some(best) = replacement.candidates.first() {
            put_at(&mut whole, &replacement.at, best.clone());
        }
    }
    if is_kept(&whole) {
        return whole;
    }
    let mut kept = value;
    for Replacement { at, candidates } in replacements {
        let mut tries = candidates.into_iter().map(|new| {
            let mut tried = kept.clone();
            put_at(&mut tried, &at, new);
            tried
        });
        if let Some(tried) = tries.find(&is_kept) {
            kept = tried;
        }
    }
    kept
}

/// The place and keyword that a value violates; `None` if finding out takes too long.
fn violated_keywords(judge: &Judge, value: &Value) -> Option<BTreeSet<(String, String)>> {
    let errors = judge.errors(value)?;
    Some(errors.map(|error| (error.instance_path().to_string(), error.schema_path().to_string())).collect())
}

/// A pointer that begins with a member or item.
fn pointer_below(step: &str, at: &str) -> String {
    format!("/{}{at}", token(step))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn safe_arguments_of(properties: &Value, required: &Value) -> SafeArguments {
        SafeArguments::new(&json!({"type": "object", "properties": properties, "required": required}), None).unwrap()
    }

    #[test]
    fn generated_durations_are_short_and_addresses_unroutable() {
        let check = |properties: Value, expected: Value| {
            let names: Vec<&String> = properties.as_object().unwrap().keys().collect();
            assert_eq!(*safe_arguments_of(&properties, &json!(names)).smallest(), expected);
        };
        check(
            json!({
                "url": {"type": "string", "format": "uri"},
                "delay_seconds": {"type": "integer", "examples": [3600]},
            }),
            json!({"url": "https://127.0.0.1:9/", "delay_seconds": 1}),
        );
        check(json!({"delays": {"type": "array", "examples": [[60, 90]]}}), json!({"delays": [1, 1]}));
        check(json!({"peer": {"type": "string", "format": "hostname"}}), json!({"peer": "nowhere.invalid"}));
        check(json!({"peer": {"type": "string", "format": "ipv4"}}), json!({"peer": "127.0.0.1"}));
        check(
            json!({"webhook": {"type": "string", "default": "hooks.company.com/a"}}),
            json!({"webhook": "nowhere.invalid/a"}),
        );
    }

    #[test]
    fn values_without_safe_replacement_stay() {
        let only = json!({
            "url": {"enum": ["https://eu.company.com/"]},
            "wait": {"type": "integer", "minimum": 7, "examples": [60]},
            "seconds": {"type": "integer", "examples": [60]},
        });
        let safe_arguments = safe_arguments_of(&only, &json!(["url", "wait", "seconds"]));
        assert_eq!(*safe_arguments.smallest(), json!({"url": "https://eu.company.com/", "wait": 8, "seconds": 1}));
        let named = json!({"url": {"type": "string", "pattern": "^https://[a-z.]+/$", "examples": ["https://a.com/"]}});
        assert_eq!(*safe_arguments_of(&named, &json!(["url"])).smallest(), json!({"url": "https://nowhere.invalid/"}));
    }

    #[test]
    fn a_tool_that_deals_with_other_machines_gets_none_of_their_addresses() {
        let tool = |open_world: bool, properties: Value| {
            let schema = json!({"type": "object", "properties": properties});
            Tool::new(json!({"name": "get", "annotations": {"openWorldHint": open_world}, "inputSchema": schema}))
        };
        let properties = json!({
            "name": {"type": "string"},
            "remote": {"type": "string"},
            "registry": {"enum": ["https://registry.company.com", "https://mirror.company.com"]},
        });
        let given = json!({"name": "google.com", "remote": "a/b", "registry": "https://mirror.company.com"});
        for (is_open_world, expected) in [
            (true, json!({"name": "nowhere.invalid", "remote": "http://127.0.0.1:9/a/b"})),
            (false, json!({"name": "google.com", "remote": "http://127.0.0.1:9/a/b"})),
        ] {
            let tool = tool(is_open_world, properties.clone());
            let safe = SafeArguments::new(&tool.arguments_schema(), None).unwrap().for_tool(&tool);
            assert_eq!(safe.sanitize(given.clone()), Some(expected), "an optional address that is far is left out");
            let mut draw = Rng::new(7);
            let drawn = (0..50).map(|_| safe.random(&mut draw)).chain(safe.boundaries());
            assert!(drawn.into_iter().all(|value| !safe.reaches_out(&value)));
        }
        let safe = safe_arguments_of(&json!({"url": {"enum": ["https://eu.company.com/"]}}), &json!(["url"]));
        assert!(safe.reaches_out(safe.smallest()), "nothing else is valid, so the tool is not called");
        assert_eq!(safe.sanitize(safe.smallest().clone()), None);
        assert_eq!(safe.sanitize_argument("url", json!("https://a.com/x")), json!("https://127.0.0.1:9/x"));
    }

    #[test]
    fn amounts_are_small_unless_large_ones_are_asked_for() {
        let schema = json!({"type": "object", "properties": {"limit": {"type": "integer"}}, "required": ["limit"]});
        let most = |amounts: Amounts| {
            let safe = SafeArguments::new(&schema, None).unwrap().with_amounts(amounts);
            safe.boundaries().iter().filter_map(|value| value["limit"].as_i64()).max()
        };
        assert_eq!(most(Amounts::Small), Some(1000));
        assert!(most(Amounts::Any) > Some(1_000_000));
    }

    #[test]
    fn optional_durations_are_always_sent() {
        let safe_arguments = safe_arguments_of(
            &json!({"duration": {"type": "number", "default": 10}, "name": {"type": "string"}}),
            &json!([]),
        );
        assert_eq!(safe_arguments.sanitize(json!({"name": "a"})), Some(json!({"name": "a", "duration": 1})));
        assert_eq!(
            safe_arguments.sanitize(json!({"name": "a", "duration": 0})),
            Some(json!({"name": "a", "duration": 0}))
        );
    }

    #[test]
    fn default_addresses_are_overridden() {
        let safe_arguments = safe_arguments_of(
            &json!({"data": {"type": "string", "default": "https://raw.company.com/a"}, "word": {"default": "a"}}),
            &json!([]),
        );
        assert_eq!(safe_arguments.sanitize(json!({})), Some(json!({"data": "https://127.0.0.1:9/a"})));
    }

    #[test]
    fn durations_stay_without_time_limits() {
        let properties = json!({
            "url": {"type": "string", "format": "uri"},
            "delay_seconds": {"type": "integer", "examples": [60]},
        });
        let safe_arguments = safe_arguments_of(&properties, &json!(["url", "delay_seconds"]));
        assert_eq!(safe_arguments.without_time_limits(), json!({"url": "https://127.0.0.1:9/", "delay_seconds": 60}));
    }

    #[test]
    fn sanitized_violations_break_the_same_keywords() {
        let properties = json!({
            "count": {"type": "integer", "maximum": 5},
            "delay": {"type": "integer", "minimum": 0, "maximum": 3600, "examples": [600]},
            "url": {"type": "string", "format": "uri", "maxLength": 40},
        });
        let safe_arguments = safe_arguments_of(&properties, &json!(["count"]));
        let base = safe_arguments.smallest().clone();
        let found = safe_arguments.violations(&base);
        let risky_values = |violation: &&InvalidValue| {
            let delay = violation.value["delay"].as_f64().is_some_and(|delay| delay > 1.0);
            delay || violation.value["url"].as_str().is_some_and(|url| url.contains("example.com"))
        };
        let told: Vec<(&str, &Value)> =
            found.iter().filter(risky_values).map(|one| (one.at.as_str(), &one.value["delay"])).collect();
        assert_eq!(told, [("/delay", &json!(3601))]);
        assert!(found.iter().any(|one| one.at == "/url" && one.value["url"].is_string()));
        assert!(found.iter().all(|one| !safe_arguments.generator().is_valid(&one.value)));
    }

    #[test]
    fn arguments_of_a_suite_stay() {
        let properties = json!({"url": {"type": "string"}, "wait": {"type": "integer"}, "count": {"type": "integer"}});
        let safe_arguments = safe_arguments_of(&properties, &json!(["url", "wait", "count"]));
        let base = json!({"url": "https://staging.company.com/", "wait": 20, "count": 1});
        let found = safe_arguments.violations(&base);
        let wrong = found.iter().find(|one| one.at == "/count").unwrap();
        assert_eq!((&wrong.value["url"], &wrong.value["wait"]), (&base["url"], &base["wait"]));
    }
}
