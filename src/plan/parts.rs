//! Whether numbered parts, each of which somebody wrote to a file, are all parts of something, and each of them once.

use std::collections::{BTreeMap, BTreeSet};

/// The most parts that a sentence names.
const MOST_NAMES: usize = 8;

/// A part in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PartFile<'a> {
    /// The name of the file.
    pub(crate) name: &'a str,
    /// The number of the part, counted from one.
    pub(crate) number: u32,
    /// How many parts there are.
    pub(crate) count: u32,
}

impl PartFile<'_> {
    /// Returns true if there is such a part.
    pub(crate) fn is_possible(&self) -> bool {
        (1..=self.count).contains(&self.number)
    }

    /// The number as sentences say it: `3 of 8`.
    pub(crate) fn spelled(&self) -> String {
        format!("{} of {}", self.number, self.count)
    }
}

/// A sentence for each part that is there more than once.
pub(crate) fn repeated(parts: &[PartFile<'_>]) -> Vec<String> {
    let mut known: BTreeMap<u32, &str> = BTreeMap::new();
    let mut sentences = Vec::new();
    for part in parts {
        let Some(first) = known.insert(part.number, part.name) else { continue };
        sentences.push(if first == part.name {
            format!("`{first}` is named twice")
        } else {
            format!("`{first}` and `{}` are both part {}", part.name, part.spelled())
        });
    }
    sentences
}

/// A sentence that names the parts that are missing; `None` where none is.
pub(crate) fn missing(parts: &[PartFile<'_>]) -> Option<String> {
    let count = parts.first()?.count;
    let there: BTreeSet<u32> = parts.iter().map(|part| part.number).collect();
    // A file may claim any number of parts.
    let absent = (1..=count).filter(|number| !there.contains(number));
    let mut numbers: Vec<String> = absent.take(MOST_NAMES).map(|number| number.to_string()).collect();
    let total = usize::try_from(count).unwrap_or(usize::MAX).saturating_sub(there.len());
    let last = numbers.pop()?;
    let more = total.saturating_sub(numbers.len() + 1);
    let said = match (numbers.is_empty(), more) {
        (true, 0) => format!("part {last} of {count} is"),
        (false, 0) => format!("parts {} and {last} of {count} are", numbers.join(", ")),
        (true, _) => format!("part {last} and {more} more of {count} are"),
        (false, _) => format!("parts {}, {last} and {more} more of {count} are", numbers.join(", ")),
    };
    Some(format!("{said} missing"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_is_there_once() {
        let twice = "`a` and `c` are both part 1 of 3".to_owned();
        for (parts, expected_repeated, expected_missing) in [
            (&[("a", 1, 1)][..], Vec::new(), None),
            (&[("a", 1, 2), ("b", 2, 2)], Vec::new(), None),
            (&[("a", 1, 3), ("b", 2, 3), ("c", 1, 3)], vec![twice], Some("part 3 of 3 is missing")),
            (
                &[("a", 2, 4), ("a", 2, 4)],
                vec!["`a` is named twice".to_owned()],
                Some("parts 1, 3 and 4 of 4 are missing"),
            ),
            (
                &[("a", 1, u32::MAX)],
                Vec::new(),
                Some("parts 2, 3, 4, 5, 6, 7, 8, 9 and 4294967286 more of 4294967295 are missing"),
            ),
            (&[], Vec::new(), None),
        ] {
            let parts: Vec<_> =
                parts.iter().map(|(name, number, count)| PartFile { name, number: *number, count: *count }).collect();
            assert_eq!(repeated(&parts), expected_repeated, "{parts:?}");
            assert_eq!(missing(&parts).as_deref(), expected_missing, "{parts:?}");
        }
    }
}
