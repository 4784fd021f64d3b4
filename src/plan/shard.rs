//! One part of a plan, where several machines share a run.
//!
//! The part of a case follows from the case alone: from its recorded time where there is one, else from a hash of its id.
//! So cases that are added or removed move no other, and no machine needs to know what another one does.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZero;

use super::case::{Case, Plan};
use super::order::key;
use super::{Filter, Selection};
use crate::event::{ShardInfo, ShardUnit};
use crate::source::{FNV, fnv, hash_text};
use crate::suite::builtin_name;

/// The part of a run that is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shard {
    number: ShardNumber,
    unit: ShardUnit,
    /// The parts of units whose time is known, counted from zero.
    placed: BTreeMap<String, u32>,
    /// A hash of the times from which those follow.
    times: Option<u64>,
}

/// The number of a part, and how many there are: `2/8`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShardNumber {
    number: NonZero<u32>,
    count: NonZero<u32>,
}

impl ShardNumber {
    /// Reads `2/8`.
    ///
    /// # Errors
    ///
    /// Fails with the reason where it is no such number, or there is no such part.
    pub fn parse(text: &str) -> Result<Self, String> {
        let numbers = text.split_once('/').map(|(number, count)| (number.parse::<u32>(), count.parse::<u32>()));
        let Some((Ok(number), Ok(count))) = numbers else {
            return Err("write a part and the number of parts, such as `2/8`".to_owned());
        };
        let (Some(number), Some(count)) = (NonZero::new(number), NonZero::new(count)) else {
            return Err("parts are counted from 1: the first of four is `1/4`".to_owned());
        };
        if number > count {
            let parts =
                if count.get() == 1 { "there is only 1 part".to_owned() } else { format!("there are {count} parts") };
            return Err(format!("{parts}, so the last is `{count}/{count}`"));
        }
        Ok(Self { number, count })
    }

    /// The part, counted from one.
    pub fn number(self) -> u32 {
        self.number.get()
    }

    /// How many parts there are.
    pub fn count(self) -> u32 {
        self.count.get()
    }
}

impl Shard {
    /// A part; `times` are the names and durations of recorded cases, in any unit of time.
    pub fn new(number: ShardNumber, unit: ShardUnit, times: Option<&BTreeMap<CaseUnit, u64>>) -> Self {
        let by_unit = times.map(|times| {
            let mut sums: BTreeMap<String, u64> = BTreeMap::new();
            for (case, time) in times {
                let sum = sums.entry(case.name(unit).to_owned()).or_default();
                *sum = sum.saturating_add(*time);
            }
            sums
        });
        let hash = by_unit.as_ref().map(|sums| {
            sums.iter().fold(FNV, |hash, (name, time)| fnv(fnv(fnv(hash, name.as_bytes()), &[0]), &time.to_le_bytes()))
        });
        let placed = by_unit.map(|sums| place(&sums, number.count)).unwrap_or_default();
        Self { number, unit, placed, times: hash }
    }

    /// Returns true if the unit of that name belongs to this part.
    fn has(&self, unit: &str) -> bool {
        let count = self.number.count.get();
        let by_hash = || u32::try_from(key(0, unit) % u64::from(count)).unwrap_or_default();
        self.placed.get(unit).copied().unwrap_or_else(by_hash) == self.number.number.get() - 1
    }

    /// Returns true if a case belongs to this part.
    pub(crate) fn has_case(&self, case: &Case, file: &str, server: &str) -> bool {
        let unit = CaseUnit { id: case.id.clone(), server: server.to_owned(), suite: file.to_owned() };
        self.has(unit.name(self.unit))
    }

    /// What a recording says of it.
    pub(crate) fn info(&self, plan: &Plan, flags: Vec<String>, baseline: Option<String>) -> ShardInfo {
        // Filters are told as what was selected, and what is built in follows from the version.
        let is_file = |name: &str| name != Filter::SOURCE && builtin_name(name).is_none();
        let sources = plan.sources.names().zip(plan.sources.texts()).filter(|(name, _)| is_file(name));
        let Selection { filters, lines, rows, .. } = &plan.selection;
        let lines = lines.iter().map(|line| format!("{}:{}", line.file, line.line));
        let filters = filters.iter().map(|filter| filter.text().to_owned());
        ShardInfo {
            number: self.number.number.get(),
            count: self.number.count.get(),
            unit: self.unit,
            times: self.times.map(hash_text),
            sources: sources.map(|(name, text)| (name.to_owned(), hash_text(fnv(FNV, text.as_bytes())))).collect(),
            selected: filters.chain(lines).chain(rows.iter().cloned()).collect(),
            flags,
            baseline,
        }
    }
}

/// A case, by every name under which it may belong to a part.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct CaseUnit {
    /// The id of the case.
    pub id: String,
    /// The name of its server.
    pub server: String,
    /// The file of its suite.
    pub suite: String,
}

impl CaseUnit {
    fn name(&self, unit: ShardUnit) -> &str {
        match unit {
            ShardUnit::Case => &self.id,
            ShardUnit::Server => &self.server,
            ShardUnit::Suite => &self.suite,
        }
    }
}

/// The part of each unit, so that the parts take about the same time: the longest first, each to the part that has the
/// least so far (Graham's longest processing time rule: at most 4/3 of the best).
fn place(times: &BTreeMap<String, u64>, count: NonZero<u32>) -> BTreeMap<String, u32> {
    let mut units: Vec<(&String, u64)> = times.iter().map(|(name, time)| (name, *time)).collect();
    units.sort_by_key(|(name, time)| (Reverse(*time), *name));
    // No more parts get anything than there are units.
    let used = count.get().min(u32::try_from(units.len()).unwrap_or(u32::MAX));
    let mut parts: BTreeSet<(u64, u32)> = (0..used).map(|part| (0, part)).collect();
    let mut placed = BTreeMap::new();
    for (name, time) in units {
        let Some((sum, part)) = parts.pop_first() else { break };
        placed.insert(name.clone(), part);
        // Cases that took no time at all would all go to one part.
        parts.insert((sum.saturating_add(time.max(1)), part));
    }
    placed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(text: &str, times: Option<&BTreeMap<CaseUnit, u64>>) -> Shard {
        Shard::new(ShardNumber::parse(text).unwrap(), ShardUnit::Case, times)
    }

    fn case(id: &str) -> CaseUnit {
        CaseUnit { id: id.to_owned(), server: "server".to_owned(), suite: "s.yml".to_owned() }
    }

    #[test]
    fn parts_are_counted_from_one() {
        for (text, expected) in [
            ("1/4", Ok(())),
            ("4/4", Ok(())),
            ("0/4", Err("parts are counted from 1: the first of four is `1/4`")),
            ("5/4", Err("there are 4 parts, so the last is `4/4`")),
            ("2/1", Err("there is only 1 part, so the last is `1/1`")),
            ("1/0", Err("parts are counted from 1: the first of four is `1/4`")),
            ("4", Err("write a part and the number of parts, such as `2/8`")),
            ("-1/4", Err("write a part and the number of parts, such as `2/8`")),
            ("1/4/2", Err("write a part and the number of parts, such as `2/8`")),
            ("1/99999999999", Err("write a part and the number of parts, such as `2/8`")),
        ] {
            let found = ShardNumber::parse(text);
            assert_eq!(found.as_ref().map(|_| ()).map_err(String::as_str), expected, "{text}");
        }
    }

    #[test]
    fn every_case_belongs_to_one_part_whatever_else_there_is() {
        let times = [(case("case 1"), 7), (case("case 2"), 3)].into();
        for times in [None, Some(&times)] {
            let mut sizes = [0; 4];
            for number in 0..4000 {
                let id = format!("case {number}");
                let owners: Vec<usize> =
                    (1..=4).filter(|number| part(&format!("{number}/4"), times).has(&id)).collect();
                assert_eq!(owners.len(), 1, "{id}");
                sizes[owners[0] - 1] += 1;
            }
            assert!(sizes.iter().all(|size| (900..1100).contains(size)), "{sizes:?}");
        }
    }

    #[test]
    fn known_times_make_parts_of_equal_length() {
        let of = |times: &[(&str, u64)]| -> BTreeMap<String, u64> {
            times.iter().map(|(name, time)| ((*name).to_owned(), *time)).collect()
        };
        for (times, count, expected) in [
            (&[("a", 9), ("b", 5), ("c", 4)][..], 2, &[("a", 0), ("b", 1), ("c", 1)][..]),
            (&[("a", 1), ("b", 1), ("c", 1)], 3, &[("a", 0), ("b", 1), ("c", 2)]),
            (&[("a", 0), ("b", 0)], 2, &[("a", 0), ("b", 1)]),
            (&[("a", u64::MAX), ("b", u64::MAX), ("c", 1)], 1, &[("a", 0), ("b", 0), ("c", 0)]),
            (&[], 3, &[]),
        ] {
            let placed = place(&of(times), NonZero::new(count).unwrap());
            let placed: Vec<(&str, u32)> = placed.iter().map(|(name, part)| (name.as_str(), *part)).collect();
            assert_eq!(placed, expected, "{times:?}");
        }
    }

    #[test]
    fn what_stays_together_is_in_one_part() {
        let (one, other) = (case("first"), CaseUnit { suite: "t.yml".to_owned(), ..case("second") });
        let times = [(one, 4), (other, 2)].into();
        for (unit, expected) in
            [(ShardUnit::Case, &["first"][..]), (ShardUnit::Server, &["server"]), (ShardUnit::Suite, &["s.yml"])]
        {
            let first = Shard::new(ShardNumber::parse("1/2").unwrap(), unit, Some(&times));
            let names = ["first", "second", "server", "s.yml", "t.yml"];
            let has: Vec<&str> =
                names.into_iter().filter(|name| first.placed.contains_key(*name) && first.has(name)).collect();
            assert_eq!(has, expected, "{unit:?}");
        }
    }
}
