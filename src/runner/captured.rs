//! The values that the setup of a suite captures in the sessions of a check. Each server may draw its own: a check fills its
//! arguments once, and the values of other sessions become those of the one that gets them.

use std::collections::{BTreeMap, BTreeSet};

use parking_lot::Mutex;
use serde_json::Value;

use crate::source::template::Names;
use crate::suite::Step;

/// The fewest characters of a text that names one thing: shorter ones come by chance.
const SHORTEST: usize = 4;

/// The fewest digits of such a number: years, ports and amounts have fewer.
const SHORTEST_NUMBER: usize = 6;

/// The captured values that were met.
#[derive(Debug, Default)]
pub(crate) struct CapturedValues(Mutex<MetValues>);

#[derive(Debug, Default)]
struct MetValues {
    /// By name, the JSON of those that name one thing.
    distinct: BTreeMap<String, BTreeSet<String>>,
    /// By name, the JSON of those that are too short.
    short: BTreeMap<String, BTreeSet<String>>,
}

impl CapturedValues {
    /// Takes note of what a setup captured, and returns the values of this session by the JSON of those of others.
    pub(crate) fn note(&self, setup: &[Step], names: &Names) -> BTreeMap<String, Value> {
        let mut met = self.0.lock();
        let mut own_values = BTreeMap::new();
        for capture in setup.iter().flat_map(|step| &step.capture) {
            let name = &capture.name.value;
            let Some(own) = names.get(name).filter(|value| value.is_string() || value.is_number()) else { continue };
            let written = own.to_string();
            let fewest = if own.is_number() { SHORTEST_NUMBER } else { SHORTEST };
            if written.trim_matches('"').chars().count() < fewest {
                met.short.entry(name.clone()).or_default().insert(written);
                continue;
            }
            let known = met.distinct.entry(name.clone()).or_default();
            own_values
                .extend(known.iter().filter(|other| **other != written).map(|other| (other.clone(), own.clone())));
            known.insert(written);
        }
        own_values
    }

    /// The names of values that differ from server to server, and cannot take the place of each other.
    pub(crate) fn unsendable(&self) -> Vec<String> {
        let met = self.0.lock();
        met.short.iter().filter(|(_, values)| values.len() > 1).map(|(name, _)| name.clone()).collect()
    }
}

/// What helps where a call is refused since it has such a value; `None` where there is none.
pub(crate) fn help_for_unsendable(names: &[String]) -> Option<String> {
    let (name, each) = match names {
        [] => return None,
        [one] => (format!("`{one}`"), "is"),
        [first, rest @ ..] => (format!("`{first}` and {} more", rest.len()), "are"),
    };
    Some(format!(
        "that hold on every server: {name}, which the suite's setup captures, {each} another value on each server, and too \
         short to be exchanged safely; a text needs {SHORTEST} characters or more, a number {SHORTEST_NUMBER} digits"
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::source::Sources;

    /// Notes what setups capture as `id`, and returns the values of the last session, and the names that cannot be sent.
    fn noted(values: &[Value]) -> (Value, Vec<String>) {
        let setup = setup();
        let captured = CapturedValues::default();
        let mut last = BTreeMap::new();
        for value in values {
            last = captured.note(&setup, &Names::from_iter([("id".to_owned(), value.clone())]));
        }
        (json!(last), captured.unsendable())
    }

    fn setup() -> Vec<Step> {
        let text =
            "suite: s\nserver: { builtin: demo }\nsetup: [{ call: a, capture: { id: result.id } }]\ntorture: true\n";
        let mut sources = Sources::default();
        let files = |_: &std::path::Path| Ok(text.to_owned());
        let loaded = crate::block::load(std::path::Path::new("s.yml"), &files, &mut sources, &mut Vec::new());
        loaded.unwrap().suite.setup
    }

    #[test]
    fn values_of_other_servers_become_those_of_a_session() {
        for (values, expected, unsendable) in [
            (vec![json!("abcd")], json!({}), false),
            (vec![json!("abcd"), json!("efgh")], json!({"\"abcd\"": "efgh"}), false),
            (
                vec![json!(100_000), json!(200_000), json!(300_000)],
                json!({"100000": 300_000, "200000": 300_000}),
                false,
            ),
            (vec![json!(1000), json!(2000)], json!({}), true),
            (vec![json!("ab"), json!("ab")], json!({}), false),
            (vec![json!("ab"), json!("cd")], json!({}), true),
            (vec![json!(7), json!(8)], json!({}), true),
            (vec![json!([1000]), json!([2000])], json!({}), false),
        ] {
            let expected = (expected, if unsendable { vec!["id".to_owned()] } else { Vec::new() });
            assert_eq!(noted(&values), expected, "{values:?}");
        }
    }
}
