//! Builds the members of object shapes.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::generate::make;
use crate::generate::rng::Rng;
use crate::schema::{MergedRules, SchemaId, SchemaRules, TypeSet};

use super::{Graph, MemberRule, MemberRules};

/// Names that no schema lists, for objects that take any.
const NAMES: [&str; 8] = ["extra", "other", "x-1", "a b", "ключ", "0", "$ref", "🙂"];

/// The number of members that a schema can require without naming them.
pub(crate) const MOST_NAMELESS: usize = 1_000;

/// The number of bytes of all names of one pattern together.
const LONGEST_NAMES: usize = 1 << 20;

impl Graph {
    pub(crate) fn members(&mut self, flat: &[SchemaId], plain: &MergedRules) -> MemberRules {
        let rules: Vec<_> = flat.iter().map(|id| self.schemas.rules(*id).clone()).collect();
        let required: BTreeSet<&str> = rules.iter().flat_map(|rules| &rules.required).map(String::as_str).collect();
        let dependent: Vec<(String, Vec<String>)> = rules.iter().flat_map(|rules| rules.dependent.clone()).collect();
        let mut known: Vec<MemberRule> = Vec::new();
        for name in listed_names(rules.iter().map(|rules| &**rules)) {
            let required = required.contains(name.as_str());
            if known.iter().any(|member| member.name == name) {
                continue;
            }
            if let Some(member) = self.member(flat, name, required) {
                known.push(member);
            }
        }
        let open = rules.iter().any(|rules| says_open(rules));
        let extra = self.extra(flat, plain, &known);
        let (min, max) = (plain.min_properties, plain.max_properties);
        MemberRules { known, extra, open, min, max, dependent, size: super::ENDLESS }
    }

    /// A member with a name; `None` where the name is forbidden and not required.
    fn member(&mut self, flat: &[SchemaId], name: String, required: bool) -> Option<MemberRule> {
        let mut ids = self.schemas.member_ids(flat, &name);
        if !self.takes_name(flat, &name) {
            if !required {
                return None;
            }
            let at = "propertyNames".to_owned();
            ids.push(self.schemas.add(SchemaRules { at, never: true, ..SchemaRules::default() }));
        }
        let node = self.node_of(ids);
        Some(MemberRule { name, node, required })
    }

    fn takes_name(&self, flat: &[SchemaId], name: &str) -> bool {
        let mut judges = flat.iter().filter_map(|id| self.schemas.rules(*id).names).peekable();
        if judges.peek().is_none() {
            return true;
        }
        let name = Value::String(name.to_owned());
        judges.all(|judge| self.schemas.fits(judge, &name))
    }

    /// Members that the schema does not list, but allows.
    fn extra(&mut self, flat: &[SchemaId], plain: &MergedRules, known: &[MemberRule]) -> Vec<MemberRule> {
        let room = plain.max_properties.unwrap_or(usize::MAX);
        let wanted = plain.min_properties.saturating_sub(known.len()).min(MOST_NAMELESS) + NAMES.len();
        let mut members: Vec<MemberRule> = Vec::new();
        for name in self.names(flat, wanted).into_iter().take(wanted.saturating_mul(2)) {
            if members.len() >= wanted.min(room) {
                break;
            }
            let taken = known.iter().chain(&members).any(|member| member.name == name);
            if taken || !self.takes_name(flat, &name) {
                continue;
            }
            let ids = self.schemas.member_ids(flat, &name);
            if MergedRules::of(&self.schemas, &self.schemas.without_choices(&ids)).is_ok() {
                let node = self.node_of(ids);
                members.push(MemberRule { name, node, required: false });
            }
        }
        members
    }

    /// Names that may be allowed, those that patterns ask for first.
    fn names(&mut self, flat: &[SchemaId], wanted: usize) -> Vec<String> {
        let mut rng = Rng::new(flat.len() as u64);
        let rules: Vec<_> = flat.iter().map(|id| self.schemas.rules(*id).clone()).collect();
        let mut names = Vec::new();
        for (pattern, _) in rules.iter().flat_map(|rules| &rules.pattern_properties) {
            if let Some(pattern) = self.schemas.pattern(pattern) {
                names.extend(not_too_long((0..wanted).filter_map(|_| pattern.candidate(&mut rng, 0))));
            }
        }
        let judges: Vec<SchemaId> = rules.iter().filter_map(|rules| rules.names).collect();
        if !judges.is_empty() {
            names.extend(self.judged_names(judges, wanted, &mut rng));
        }
        names.extend(NAMES.map(ToOwned::to_owned));
        if wanted > NAMES.len() {
            names.extend((1..=wanted).map(|at| format!("extra{at}")));
        }
        names
    }

    /// Names that `propertyNames` takes.
    fn judged_names(&mut self, mut judges: Vec<SchemaId>, wanted: usize, rng: &mut Rng) -> Vec<String> {
        judges.push(self.schemas.add(SchemaRules::of_kinds("", TypeSet::TEXT)));
        let Ok(combinations) = self.combinations(&judges) else { return Vec::new() };
        let plains = combinations.iter().filter_map(|flat| MergedRules::of(&self.schemas, flat).ok());
        let mut names = Vec::new();
        for plain in plains {
            if let Some(values) = &plain.values {
                names.extend(values.iter().filter_map(Value::as_str).map(ToOwned::to_owned));
            } else {
                names.extend(not_too_long((0..wanted * 2).map(|_| make::text(&plain, rng, self.limits))));
            }
        }
        names
    }
}

/// Names up to a length that all of them have together.
fn not_too_long(names: impl Iterator<Item = String>) -> impl Iterator<Item = String> {
    names.scan(LONGEST_NAMES, |left, name| {
        *left = left.checked_sub(name.len())?;
        Some(name)
    })
}

/// Names that a shape's subschemas list.
fn listed_names<'a>(rules: impl Iterator<Item = &'a SchemaRules> + Clone) -> Vec<String> {
    let properties = rules.clone().flat_map(|rules| rules.properties.keys());
    let required = rules.clone().flat_map(|rules| &rules.required);
    let dependent = rules.flat_map(|rules| rules.dependent.iter().flat_map(|(_, names)| names));
    let mut seen = BTreeSet::new();
    properties.chain(required).chain(dependent).filter(|name| seen.insert(name.as_str())).cloned().collect()
}

fn says_open(rules: &SchemaRules) -> bool {
    rules.additional.is_some()
        || rules.unevaluated_properties.is_some()
        || rules.names.is_some()
        || !rules.pattern_properties.is_empty()
        || rules.min_properties.is_some()
}
