//! Objects: members that are required, needed by others, optional, or listed nowhere.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::generate::shape::{Member, Members};

use super::Making;

impl Making<'_> {
    pub(super) fn object(&mut self, members: &Members) -> Map<String, Value> {
        let mut chosen: BTreeSet<&str> =
            members.known.iter().filter(|member| member.required).map(|member| member.name.as_str()).collect();
        follow(&mut chosen, members);
        self.choose_optional(&mut chosen, members);
        self.choose_extra(&mut chosen, members);
        fill(&mut chosen, members);
        let all: Vec<&Member> = members.known.iter().chain(&members.extra).collect();
        let taken = all.into_iter().filter(|member| chosen.contains(member.name.as_str()));
        taken.map(|member| (member.name.clone(), self.value(member.node))).collect()
    }

    fn choose_optional<'m>(&mut self, chosen: &mut BTreeSet<&'m str>, members: &'m Members) {
        if self.is_plain() || self.is_late() {
            return;
        }
        let percent = match self.draw.below(8) {
            0 => 0,
            1 | 2 => 100,
            3 => 20,
            _ => 50,
        };
        for member in members.known.iter().filter(|member| !member.required) {
            if self.draw.chance(percent) {
                Self::add(chosen, member, members);
            }
        }
    }

    fn choose_extra<'m>(&mut self, chosen: &mut BTreeSet<&'m str>, members: &'m Members) {
        // An object without any listed member is free-form, but at the top it is more often one that takes nothing.
        let open = members.open || (members.known.is_empty() && self.depth > 1);
        if !open
            || members.extra.is_empty()
            || self.is_plain()
            || self.is_late()
            || !self.draw.chance(if members.known.is_empty() { 75 } else { 25 })
        {
            return;
        }
        for _ in 0..self.draw.between(1, 3) {
            if let Some(member) = self.draw.pick(&members.extra) {
                Self::add(chosen, member, members);
            }
        }
    }

    /// Adds a member and what it needs, where there is room for them.
    fn add<'m>(chosen: &mut BTreeSet<&'m str>, member: &'m Member, members: &'m Members) {
        let mut more = chosen.clone();
        more.insert(&member.name);
        follow(&mut more, members);
        if members.max.is_none_or(|max| more.len() <= max) {
            *chosen = more;
        }
    }
}

/// Adds what the chosen members need.
fn follow<'m>(chosen: &mut BTreeSet<&'m str>, members: &'m Members) {
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

/// Adds members until there are enough.
fn fill<'m>(chosen: &mut BTreeSet<&'m str>, members: &'m Members) {
    for member in members.known.iter().chain(&members.extra) {
        if chosen.len() >= members.min {
            return;
        }
        chosen.insert(&member.name);
        follow(chosen, members);
    }
}
