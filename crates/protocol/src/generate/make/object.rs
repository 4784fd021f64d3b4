//! Objects: members that are required, needed by others, optional, or listed nowhere.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::generate::shape::{MemberRule, MemberRules};

use super::ValueBuilder;

impl ValueBuilder<'_> {
    pub(crate) fn object(&mut self, members: &MemberRules) -> Map<String, Value> {
        let mut chosen: BTreeSet<&str> =
            members.known.iter().filter(|member| member.required).map(|member| member.name.as_str()).collect();
        follow(&mut chosen, members);
        self.choose_optional(&mut chosen, members);
        self.choose_extra(&mut chosen, members);
        self.fill(&mut chosen, members);
        let all: Vec<&MemberRule> = members.known.iter().chain(&members.extra).collect();
        let taken = all.into_iter().filter(|member| chosen.contains(member.name.as_str()));
        taken.map(|member| (member.name.clone(), self.value(member.node))).collect()
    }

    fn choose_optional<'m>(&mut self, chosen: &mut BTreeSet<&'m str>, members: &'m MemberRules) {
        if self.is_plain() || self.is_late() {
            return;
        }
        let percent = match self.rng.below(8) {
            0 => 0,
            1 | 2 => 100,
            3 => 20,
            _ => 50,
        };
        for member in members.known.iter().filter(|member| !member.required) {
            if self.rng.chance(percent) {
                self.add(chosen, member, members);
            }
        }
    }

    fn choose_extra<'m>(&mut self, chosen: &mut BTreeSet<&'m str>, members: &'m MemberRules) {
        // An object without any listed member is free-form, but at the top it is more often one that takes nothing.
        let open = members.open || (members.known.is_empty() && self.depth > 1);
        if !open
            || members.extra.is_empty()
            || self.is_plain()
            || self.is_late()
            || !self.rng.chance(if members.known.is_empty() { 75 } else { 25 })
        {
            return;
        }
        for _ in 0..self.rng.between(1, 3) {
            if let Some(member) = self.rng.pick(&members.extra) {
                self.add(chosen, member, members);
            }
        }
    }

    /// Adds a member and what it needs, where there is room for them.
    fn add<'m>(&mut self, chosen: &mut BTreeSet<&'m str>, member: &'m MemberRule, members: &'m MemberRules) {
        if chosen.contains(member.name.as_str()) {
            return;
        }
        let mut more = BTreeSet::from([member.name.as_str()]);
        follow(&mut more, members);
        more.retain(|name| !chosen.contains(name));
        let all = members.known.iter().chain(&members.extra).filter(|member| more.contains(member.name.as_str()));
        let size = all.map(|member| self.graph.node(member.node).size).fold(0, u64::saturating_add);
        if members.max.is_none_or(|max| chosen.len() + more.len() <= max) && self.take_room(size) {
            chosen.extend(more);
        }
    }

    /// Adds members until there are enough, in the order of the schema as long as there is room, then small ones.
    fn fill<'m>(&mut self, chosen: &mut BTreeSet<&'m str>, members: &'m MemberRules) {
        let all = || members.known.iter().chain(&members.extra);
        let mut smallest: Vec<&MemberRule> = all().collect();
        smallest.sort_by_key(|member| self.graph.node(member.node).size);
        for (at, member) in all().chain(smallest).enumerate() {
            if chosen.len() >= members.min {
                return;
            }
            let in_order = at < members.known.len() + members.extra.len();
            if !in_order || self.take_room(self.graph.node(member.node).size) {
                chosen.insert(&member.name);
                follow(chosen, members);
            }
        }
    }
}

/// Adds what the chosen members need.
fn follow<'m>(chosen: &mut BTreeSet<&'m str>, members: &'m MemberRules) {
    if members.dependent.is_empty() {
        return;
    }
    let mut before = usize::MAX;
    while before != chosen.len() {
        before = chosen.len();
        for (name, needed) in &members.dependent {
            if chosen.contains(name.as_str()) {
                chosen.extend(needed.iter().map(String::as_str));
            }
        }
    }
}

/// An object with a member more.
pub(crate) fn with(members: &Map<String, Value>, name: &str, value: Value) -> Value {
    let mut members = members.clone();
    members.insert(name.to_owned(), value);
    Value::Object(members)
}
