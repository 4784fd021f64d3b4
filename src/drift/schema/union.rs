//! Unions: which branches came, went, or changed.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::SchemaDirection;
use super::bounds::SchemaEffect;
use super::canonical::{NormalizeMode, canonical, says_nothing};
use super::walk::SchemaWalk;
use crate::drift::Versions;
use crate::schema::canonical_text;

/// The number of pairs of branches that are compared.
const MOST: usize = 64;

/// The branches of a schema that is nothing but a union.
pub(crate) struct Union {
    pub(crate) schemas: Vec<Value>,
    /// At most one branch may hold.
    is_strict: bool,
}

/// The branches of a schema that is nothing but a union; a schema without any is its own only branch.
pub(crate) fn branches(schema: &Value) -> Option<Union> {
    let fields = schema.as_object()?;
    let meaning: Vec<(&String, &Value)> = fields.iter().filter(|(key, _)| !says_nothing(key)).collect();
    match meaning.as_slice() {
        [(key, Value::Array(branches))] if ["anyOf", "oneOf"].contains(&key.as_str()) => {
            Some(Union { schemas: branches.clone(), is_strict: *key == "oneOf" })
        }
        all if all.iter().any(|(key, _)| ["anyOf", "oneOf"].contains(&key.as_str())) => None,
        all => {
            let only = all.iter().map(|(key, value)| ((*key).clone(), (*value).clone())).collect();
            Some(Union { schemas: vec![Value::Object(only)], is_strict: false })
        }
    }
}

impl SchemaWalk {
    /// Compares unions. Whoever keeps to exactly one of some alternatives keeps to any of them, so that `oneOf` may
    /// be read as `anyOf` where it is what has to be allowed; where it is what allows, it may not.
    pub(crate) fn alternatives(&mut self, was: &Union, is: &Union, pair: Versions<'_>, at: &str) {
        if !was.is_strict && !is.is_strict {
            return self.union(&was.schemas, &is.schemas, at);
        }
        let is_same = meanings(&was.schemas) == meanings(&is.schemas);
        let is_looser = match self.direction {
            SchemaDirection::Sent => !is.is_strict,
            SchemaDirection::Read => !was.is_strict,
        };
        let (effect, says) = match (was.is_strict, is.is_strict) {
            (true, true) if is_same => return,
            (true, false) if is_same => (SchemaEffect::Widened, "more than one of its alternatives may now match"),
            (false, true) if is_same => (SchemaEffect::Narrowed, "only one of its alternatives may now match"),
            _ if is_looser => {
                // An example of one branch may satisfy another branch as well.
                let was_quiet = std::mem::replace(&mut self.is_quiet, true);
                self.union(&was.schemas, &is.schemas, at);
                self.is_quiet = was_quiet;
                return;
            }
            _ => (SchemaEffect::Unclear, "its alternatives changed"),
        };
        self.report(effect, at, says, pair);
    }

    fn union(&mut self, was: &[Value], is: &[Value], at: &str) {
        let [mut old, mut new] = [was, is].map(|list| list.iter().map(Branch::new).collect::<Vec<_>>());
        take_pairs(&mut old, &mut new, |branch| Some(&branch.meaning));
        for (was, is) in take_pairs(&mut old, &mut new, |branch| branch.marks.as_ref()) {
            self.pair(was, is, at);
        }
        for (was, is) in take_pairs(&mut old, &mut new, |branch| branch.types.as_ref()) {
            self.pair(was, is, at);
        }
        let (one, other) = (json!({"anyOf": was}), json!({"anyOf": is}));
        let pair = Versions { old: &one, new: &other };
        if let ([was], [is]) = (old.as_slice(), new.as_slice()) {
            return self.pair(was.schema, is.schema, at);
        }
        let is_harmless = match self.direction {
            SchemaDirection::Sent => self.are_covered(&old, is),
            SchemaDirection::Read => self.are_covered(&new, was),
        };
        let others = || "its alternatives changed".to_owned();
        let (effect, says) = match (old.len(), new.len()) {
            (0, 0) => return,
            (0, come) => (SchemaEffect::Widened, count_alternatives(come, "was added", "were added")),
            (gone, 0) => (SchemaEffect::Narrowed, count_alternatives(gone, "was removed", "were removed")),
            _ => (SchemaEffect::Unclear, others()),
        };
        let (effect, says) = match self.direction {
            SchemaDirection::Sent if is_harmless && effect != SchemaEffect::Widened => {
                (SchemaEffect::Widened, others())
            }
            SchemaDirection::Read if is_harmless && effect != SchemaEffect::Narrowed => {
                (SchemaEffect::Narrowed, others())
            }
            SchemaDirection::Sent | SchemaDirection::Read => (effect, says),
        };
        self.report(effect, at, says, pair);
    }

    /// Each branch has become one of others without breaking callers.
    fn are_covered(&mut self, branches: &[Branch<'_>], others: &[Value]) -> bool {
        if self.is_probe() || branches.len() * others.len() > MOST {
            return false;
        }
        let mut is_covered = |branch: &Branch<'_>| match self.direction {
            SchemaDirection::Sent => others.iter().any(|other| !self.breaks(branch.schema, other)),
            SchemaDirection::Read => others.iter().any(|other| !self.breaks(other, branch.schema)),
        };
        branches.iter().all(&mut is_covered)
    }
}

fn meanings(branches: &[Value]) -> Vec<String> {
    let mut all: Vec<String> = branches.iter().map(meaning).collect();
    all.sort_unstable();
    all
}

fn meaning(branch: &Value) -> String {
    canonical_text(&canonical(branch, NormalizeMode::ValidationOnly))
}

fn count_alternatives(count: usize, one: &str, many: &str) -> String {
    if count == 1 { format!("1 alternative {one}") } else { format!("{count} alternatives {many}") }
}

/// A branch, with the marks that distinguish it.
struct Branch<'a> {
    schema: &'a Value,
    meaning: String,
    marks: Option<String>,
    types: Option<String>,
}

impl<'a> Branch<'a> {
    fn new(schema: &'a Value) -> Self {
        let types = schema.get("type").map(canonical_text);
        Self { schema, meaning: meaning(schema), marks: marks(schema), types }
    }
}

/// Takes out what has the same key on both sides and on neither side twice.
fn take_pairs<'a>(
    old: &mut Vec<Branch<'a>>,
    new: &mut Vec<Branch<'a>>,
    key: for<'b> fn(&'b Branch<'a>) -> Option<&'b String>,
) -> Vec<(&'a Value, &'a Value)> {
    let alone = |list: &[Branch<'a>]| {
        let mut known: BTreeMap<String, Vec<&'a Value>> = BTreeMap::new();
        for branch in list {
            if let Some(key) = key(branch) {
                known.entry(key.clone()).or_default().push(branch.schema);
            }
        }
        known.retain(|_, branches| branches.len() == 1);
        known
    };
    let (known, others) = (alone(old), alone(new));
    let taken: BTreeSet<String> = known.into_keys().filter(|key| others.contains_key(key)).collect();
    let in_order = old.iter().filter_map(|branch| Some((branch.schema, key(branch)?)));
    let pairs = in_order.filter(|(_, key)| taken.contains(*key));
    let pairs = pairs.filter_map(|(schema, key)| Some((schema, *others.get(key)?.first()?))).collect();
    for list in [&mut *old, new] {
        list.retain(|branch| key(branch).is_none_or(|key| !taken.contains(key)));
    }
    pairs
}

/// The properties of a branch that have one value only: they tell branches apart.
fn marks(branch: &Value) -> Option<String> {
    let properties = branch["properties"].as_object()?.iter();
    let fixed = properties.filter_map(|(name, schema)| {
        let values = schema["enum"].as_array()?;
        (values.len() == 1).then(|| json!([name, values]))
    });
    let fixed: BTreeSet<String> = fixed.map(|mark| canonical_text(&mark)).collect();
    (!fixed.is_empty()).then(|| fixed.into_iter().collect())
}
