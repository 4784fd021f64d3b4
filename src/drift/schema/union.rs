//! Unions: which branches came, went, or changed.

use serde_json::{Value, json};

use super::bounds::Effect;
use super::canonical::{Keep, canonical, says_nothing};
use super::walk::Walk;

/// The branches of a schema that is nothing but a union; a schema without any is its own only branch.
pub(super) fn branches(schema: &Value) -> Option<Vec<Value>> {
    let fields = schema.as_object()?;
    let meaning: Vec<(&String, &Value)> = fields.iter().filter(|(key, _)| !says_nothing(key)).collect();
    match meaning.as_slice() {
        [(key, Value::Array(branches))] if ["anyOf", "oneOf"].contains(&key.as_str()) => Some(branches.clone()),
        all if all.iter().any(|(key, _)| ["anyOf", "oneOf"].contains(&key.as_str())) => None,
        _ => Some(vec![schema.clone()]),
    }
}

impl Walk {
    pub(super) fn union(&mut self, was: &[Value], is: &[Value], at: &str) {
        let [mut old, mut new] = [was, is].map(|list| list.iter().collect::<Vec<_>>());
        take_pairs(&mut old, &mut new, &|branch| Some(canonical(branch, Keep::Meaning)));
        for (was, is) in take_pairs(&mut old, &mut new, &|branch| marks(branch)) {
            self.pair(was, is, at);
        }
        for (was, is) in take_pairs(&mut old, &mut new, &|branch| branch.get("type").cloned()) {
            self.pair(was, is, at);
        }
        let (one, other) = (json!({"anyOf": was}), json!({"anyOf": is}));
        match (old.as_slice(), new.as_slice()) {
            ([], []) => {}
            ([was], [is]) => self.pair(was, is, at),
            (gone, []) => self.told(Effect::Narrowed, at, counted(gone.len(), "is gone", "are gone"), (&one, &other)),
            ([], come) => self.told(Effect::Widened, at, counted(come.len(), "is new", "are new"), (&one, &other)),
            _ => self.told(Effect::Unclear, at, "its alternatives are others", (&one, &other)),
        }
    }
}

fn counted(count: usize, one: &str, many: &str) -> String {
    if count == 1 { format!("1 alternative {one}") } else { format!("{count} alternatives {many}") }
}

/// Takes out what has the same key on both sides and on neither side twice.
fn take_pairs<'a>(
    old: &mut Vec<&'a Value>,
    new: &mut Vec<&'a Value>,
    key: &dyn Fn(&Value) -> Option<Value>,
) -> Vec<(&'a Value, &'a Value)> {
    let mut pairs = Vec::new();
    let is_alone =
        |list: &[&Value], wanted: &Value| list.iter().filter(|one| key(one).as_ref() == Some(wanted)).count() == 1;
    for branch in old.clone() {
        let Some(wanted) = key(branch) else { continue };
        if is_alone(old, &wanted) && is_alone(new, &wanted) {
            let at = new.iter().position(|one| key(one).as_ref() == Some(&wanted));
            pairs.extend(at.map(|at| (branch, new.remove(at))));
            old.retain(|one| key(one).as_ref() != Some(&wanted));
        }
    }
    pairs
}

/// The properties of a branch that have one value only: they tell branches apart.
fn marks(branch: &Value) -> Option<Value> {
    let properties = branch["properties"].as_object()?.iter();
    let fixed = properties.filter_map(|(name, schema)| {
        let values = schema["enum"].as_array()?;
        (values.len() == 1).then(|| json!([name, values]))
    });
    let fixed: Vec<Value> = fixed.collect();
    (!fixed.is_empty()).then(|| Value::Array(fixed))
}
