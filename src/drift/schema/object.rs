//! Properties: which came, went, or became required.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use serde_json::{Map, Value, json};

use super::bounds::SchemaEffect;
use super::canonical::{NormalizeMode, canonical};
use super::merge::merge;
use super::simplify::settle;
use super::walk::SchemaWalk;
use super::{SchemaDirection, ServerChange};
use crate::drift::{ChangeLevel, Versions};
use crate::generate;
use crate::schema::{Formats, Judge, canonical_text, compile, refuses, satisfies};

/// The part of a schema about properties.
struct ObjectSchema<'a> {
    schema: &'a Value,
    named: &'a Map<String, Value>,
    patterns: &'a Map<String, Value>,
    required: BTreeSet<&'a str>,
}

static NONE: LazyLock<Map<String, Value>> = LazyLock::new(Map::new);

impl<'a> ObjectSchema<'a> {
    fn new(schema: &'a Value) -> Self {
        let map = |key: &str| schema[key].as_object().unwrap_or(&NONE);
        Self { schema, named: map("properties"), patterns: map("patternProperties"), required: required_names(schema) }
    }

    fn is_closed(&self) -> bool {
        self.schema.get("additionalProperties") == Some(&Value::Bool(false))
    }

    /// The schema of properties that are neither named nor matched by a pattern.
    fn others(&self) -> Option<&'a Value> {
        self.schema.get("additionalProperties")
    }

    /// All that is said about a property by its name and by the patterns that match it; `None` where that is nothing.
    fn rule_for(&self, name: &str, matching: &[&str]) -> Option<Value> {
        let patterns = matching.iter().filter_map(|pattern| self.patterns.get(*pattern));
        self.named.get(name).into_iter().chain(patterns).cloned().reduce(merge).map(settle)
    }
}

/// Old and new, with the patterns of both.
struct Pair<'a> {
    was: ObjectSchema<'a>,
    is: ObjectSchema<'a>,
    patterns: BTreeMap<&'a str, Option<Judge>>,
    /// New properties by what they mean; made when it is asked for.
    twins: OnceCell<BTreeMap<String, Vec<&'a str>>>,
}

impl<'a> Pair<'a> {
    fn new(old: &'a Value, new: &'a Value) -> Self {
        let (was, is) = (ObjectSchema::new(old), ObjectSchema::new(new));
        let names = was.patterns.keys().chain(is.patterns.keys());
        let patterns = names.map(|pattern| (pattern.as_str(), matcher(pattern))).collect();
        Self { was, is, patterns, twins: OnceCell::new() }
    }

    /// The patterns that match a name, or may.
    fn matching(&self, name: &str) -> Vec<&'a str> {
        let name = Value::from(name);
        let matches = |judge: &Option<Judge>| judge.as_ref().and_then(|judge| judge.is_valid(&name)).unwrap_or(true);
        self.patterns.iter().filter(|(_, judge)| matches(judge)).map(|(pattern, _)| *pattern).collect()
    }

    /// The only new property that means the same as one that is gone.
    fn renamed_to(&self, gone: &Value) -> Option<&'a str> {
        let twins = self.twins.get_or_init(|| {
            let mut twins: BTreeMap<String, Vec<&str>> = BTreeMap::new();
            for (name, schema) in self.is.named.iter().filter(|(name, _)| !self.was.named.contains_key(*name)) {
                twins.entry(normalized_text(schema)).or_default().push(name);
            }
            twins
        });
        match twins.get(&normalized_text(gone))?.as_slice() {
            [twin] => Some(twin),
            _ => None,
        }
    }
}

fn matcher(pattern: &str) -> Option<Judge> {
    let schema = json!({"pattern": pattern});
    Judge::new(compile(&schema, Formats::Ignored).ok()?, &schema).ok()
}

impl SchemaWalk {
    pub(crate) fn object(&mut self, old: &Value, new: &Value, at: &str) {
        let pair = Pair::new(old, new);
        let (was, is) = (&pair.was, &pair.is);
        for (name, schema) in was.named {
            let Some(other) = is.named.get(name) else {
                self.compare_removed(name, &pair, at);
                continue;
            };
            self.compare_required(name, &pair, at);
            let place = format!("{at}/{name}");
            let mut matching = pair.matching(name);
            matching.retain(|pattern| was.patterns.get(*pattern) != is.patterns.get(*pattern));
            match (was.rule_for(name, &matching), is.rule_for(name, &matching)) {
                (Some(was), Some(is)) if !matching.is_empty() => self.pair(&was, &is, &place),
                _ => self.pair(schema, other, &place),
            }
        }
        for name in is.named.keys().filter(|name| !was.named.contains_key(*name)) {
            self.compare_added(name, &pair, at);
        }
        let names = was.required.union(&is.required);
        for name in names.filter(|name| !was.named.contains_key(**name) && !is.named.contains_key(**name)) {
            self.compare_required(name, &pair, at);
        }
        self.others(old, new, at);
        self.patterns(&pair, at);
        self.dependent(old, new, at);
    }

    fn compare_removed(&mut self, name: &str, pair: &Pair<'_>, at: &str) {
        if self.is_full(ChangeLevel::Breaking) {
            return;
        }
        let schema = &pair.was.named[name];
        let help = pair.renamed_to(schema).map(|twin| format!("renamed to `{twin}`?"));
        let is_closed = pair.is.is_closed();
        let says = match self.direction {
            SchemaDirection::Sent if is_closed => format!("`{name}` was removed: calls that send it are refused"),
            SchemaDirection::Sent => format!("`{name}` was removed: callers that send it are silently ignored"),
            SchemaDirection::Read => format!("`{name}` was removed: clients that read it may find nothing"),
        };
        let change = ServerChange::breaking("property-removed", format!("{at}/{name}"), says);
        let change = change.with_values(Some(schema), None).with_help(help);
        let (old, new) = (pair.was.schema, pair.is.schema);
        let shows = is_closed && self.direction == SchemaDirection::Sent && self.affords([old, new]);
        let example = shows.then(|| with(name, schema, old)).flatten().filter(|value| refuses(new, value));
        self.push(ServerChange { example, ..change });
    }

    /// That a property may have values now that others could not have where its name was not known is said on its
    /// own; that it may not have any value is not, where nothing was said about it.
    fn compare_added(&mut self, name: &str, pair: &Pair<'_>, at: &str) {
        let (old, new) = (pair.was.schema, pair.is.schema);
        let is_required = pair.is.required.contains(name);
        let (level, says) = match self.direction {
            SchemaDirection::Sent if is_required && !pair.was.required.contains(name) => {
                (ChangeLevel::Breaking, format!("`{name}` was added and is required: calls without it are refused"))
            }
            SchemaDirection::Sent => (ChangeLevel::Compatible, format!("`{name}` was added and is optional")),
            SchemaDirection::Read => (ChangeLevel::Compatible, format!("`{name}` was added")),
        };
        let place = format!("{at}/{name}");
        let change = ServerChange::new(level, "property-added", &place, says);
        let shows = level == ChangeLevel::Breaking && !self.is_full(level) && self.affords([old, new]);
        let example = shows.then(|| generate::valid(old)).flatten();
        let example = example.filter(|value| refuses(new, value));
        self.push(ServerChange { example, ..change.with_values(None, new["properties"].get(name)) });
        let matching = pair.matching(name);
        let was = pair.was.rule_for(name, &matching).or_else(|| pair.was.others().cloned());
        if let (Some(was), Some(is)) = (was, pair.is.rule_for(name, &matching))
            && was != false
        {
            self.pair(&was, &is, &place);
        }
    }

    fn compare_required(&mut self, name: &str, pair: &Pair<'_>, at: &str) {
        let (was, is) = (pair.was.required.contains(name), pair.is.required.contains(name));
        let effect = if is { SchemaEffect::Narrowed } else { SchemaEffect::Widened };
        if was == is || self.is_full(self.level(effect)) {
            return;
        }
        let says = match (is, self.direction) {
            (true, SchemaDirection::Sent) => format!("`{name}` is now required: calls without it are refused"),
            (true, SchemaDirection::Read) => format!("`{name}` is now always present"),
            (false, SchemaDirection::Sent) => format!("`{name}` is now optional"),
            (false, SchemaDirection::Read) => format!("`{name}` may now be missing"),
        };
        let mut alone = pair.was.schema.clone();
        let mut names: Vec<&str> = pair.was.required.iter().copied().filter(|other| *other != name).collect();
        names.extend(is.then_some(name));
        alone["required"] = json!(names);
        if let Some(change) =
            self.report(effect, &format!("{at}/{name}"), says, Versions { old: pair.was.schema, new: &alone })
        {
            change.what = "required-changed";
            (change.before, change.after) = (Some(was.into()), Some(is.into()));
        }
    }

    /// Compares `additionalProperties`; that answers may have more properties is not reported to readers.
    fn others(&mut self, old: &Value, new: &Value, at: &str) {
        let anything = json!({});
        let [was, is] = [old, new].map(|schema| schema.get("additionalProperties").unwrap_or(&anything));
        if was == is {
            return;
        }
        let closed = json!(false);
        if *was != closed && *is != closed {
            return self.pair(was, is, &format!("{at}/*"));
        }
        let opens = *was == closed;
        let says =
            if opens { "additional properties are now allowed" } else { "additional properties are no longer allowed" };
        let (level, what) = match (self.direction, opens) {
            (SchemaDirection::Sent, false) => (ChangeLevel::Breaking, "schema-narrowed"),
            (_, true) => (ChangeLevel::Compatible, "schema-widened"),
            (SchemaDirection::Read, false) => (ChangeLevel::Compatible, "schema-narrowed"),
        };
        let change = ServerChange::new(level, what, format!("{at}/*"), says);
        self.push(change.with_values(old.get("additionalProperties"), new.get("additionalProperties")));
    }

    /// The names of a pattern without a counterpart are names of others.
    fn patterns(&mut self, pair: &Pair<'_>, at: &str) {
        let anything = json!({});
        for pattern in pair.patterns.keys() {
            let place = format!("{at}/{pattern}");
            let others = |side: &ObjectSchema<'_>| side.others().unwrap_or(&anything).clone();
            match (pair.was.patterns.get(*pattern), pair.is.patterns.get(*pattern)) {
                (Some(was), Some(is)) => self.pair(was, is, &place),
                (Some(was), None) => {
                    self.pair(was, &others(&pair.is), &place);
                    if self.direction == SchemaDirection::Read {
                        self.overlaps(was, &pair.is, &place);
                    }
                }
                (None, Some(is)) if pair.was.is_closed() => {
                    let says = "names that match this pattern are now allowed";
                    let change = ServerChange::compatible("schema-widened", &place, says);
                    self.push(change.with_values(Some(&json!(false)), Some(is)));
                    if self.direction == SchemaDirection::Sent {
                        self.overlaps(is, &pair.was, &place);
                    }
                }
                (None, Some(is)) => {
                    self.pair(&others(&pair.was), is, &place);
                    if self.direction == SchemaDirection::Sent {
                        self.overlaps(is, &pair.was, &place);
                    }
                }
                (None, None) => {}
            }
        }
    }

    /// Names that match a pattern may match another one as well: there, what one of them said came to hold beside the
    /// other, or holds no longer.
    fn overlaps(&mut self, schema: &Value, beside: &ObjectSchema<'_>, at: &str) {
        let breaks = beside.patterns.values().any(|other| match self.direction {
            SchemaDirection::Sent => self.breaks(other, schema),
            SchemaDirection::Read => self.breaks(schema, other),
        });
        if breaks {
            self.report(
                SchemaEffect::Unclear,
                at,
                "names that match it may also match another pattern",
                Versions { old: schema, new: schema },
            );
        }
    }

    fn dependent(&mut self, old: &Value, new: &Value, at: &str) {
        let pairs = |schema: &Value| -> BTreeSet<(String, String)> {
            let all = schema["dependentRequired"].as_object().into_iter().flatten();
            let each = |(name, needed): (&String, &Value)| {
                let needed = needed.as_array().cloned().unwrap_or_default();
                needed.iter().filter_map(|other| Some((name.clone(), other.as_str()?.to_owned()))).collect::<Vec<_>>()
            };
            all.flat_map(each).collect()
        };
        let (was, is) = (pairs(old), pairs(new));
        let effect = match (is.is_subset(&was), was.is_subset(&is)) {
            (true, true) => return,
            (true, false) => SchemaEffect::Widened,
            (false, true) => SchemaEffect::Narrowed,
            (false, false) => SchemaEffect::Unclear,
        };
        self.keyword(effect, "dependentRequired", at, Versions { old, new });
    }
}

fn required_names(schema: &Value) -> BTreeSet<&str> {
    schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// The normalized schema as text.
fn normalized_text(schema: &Value) -> String {
    canonical_text(&canonical(schema, NormalizeMode::ValidationOnly))
}

/// A value of a schema in which a property is given.
fn with(name: &str, property: &Value, schema: &Value) -> Option<Value> {
    let mut whole = generate::valid(schema)?;
    whole[name] = generate::valid(property)?;
    Some(whole).filter(|whole| satisfies(schema, whole))
}
