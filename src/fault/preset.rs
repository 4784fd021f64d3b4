//! Faults with a name of their own: `type: lost_response` instead of the lines that make it.

use std::sync::LazyLock;
use std::time::Duration;

use super::condition::Chance;
use super::decode::{CHANGES, NOTHING, burst_mistake, decode, decode_match};
use super::effect::{FaultEffect, Jitter};
use super::grammar::BANDWIDTH;
use super::path_reader::items_of;
use super::words::{BurstUnit, ValueEdit};
use super::{FAULT, Fault};
use crate::path::DottedPath;
use crate::source::grammar::{Key, Object, Shape, key, required};
use crate::source::{Diagnostic, Located, Node, SourceFile, Sources, Value, parse, parse_duration};
use crate::transport::Bandwidth;

/// A type of faults.
struct Preset {
    name: String,
    /// Its effect, in a few words.
    doc: String,
    /// The fault that it stands for.
    yaml: String,
}

static PRESETS: LazyLock<Vec<Preset>> = LazyLock::new(|| {
    let node = parse_constant(include_str!("presets.yml"));
    let text = |node: &Node, key: &str| node.get(key).and_then(Node::text).unwrap_or_default().to_owned();
    let preset = |(name, node): &(Located<String>, Node)| Preset {
        name: name.value.clone(),
        doc: text(node, "doc"),
        yaml: text(node, "fault"),
    };
    node.entries().iter().map(preset).collect()
});

const PRESET_NAMES: &[&str] = &[
    "latency",
    "lost_request",
    "lost_response",
    "duplicate_request",
    "duplicate_response",
    "error",
    "failure",
    "unavailable",
    "partial_result",
    "schema_drift",
    "retry_storm",
    "garbage",
    "truncated",
    "torn",
    "drop_tool",
    "registry_inconsistency",
    "error_injection",
    "burst_error",
    "server_degradation",
    "bandwidth",
    "reset",
    "crash",
    "kill",
    "kill_at_work",
    "pause",
    "slow_reader",
    "cancelled",
    "slow_writer",
    "truncated_request",
    "torn_request",
];

/// A fault with a name, as suites list them.
pub static NAMED: Object = Object {
    name: "a named fault",
    doc: "One thing that goes wrong between the client and its server, by a type or in the [language of faults](fault-language.md).",
    keys: &[&[required("name", Shape::Text, "The name by which `inject` means it.")], TYPED, FAULT],
};

/// A fault where it is injected, without a name.
pub static UNNAMED: Object = Object {
    name: "an injected fault",
    doc: "A fault of one test, by a type or in the [language of faults](fault-language.md).",
    keys: &[TYPED, FAULT],
};

pub(crate) static TYPED: &[Key] = &[
    key(
        "type",
        Shape::Choice(PRESET_NAMES),
        "A type of faults, instead of `hears`, `answers`, `before`, `after`, `process` and `unread`.",
    ),
    key(
        "tools",
        Shape::Either(&[Shape::Text, Shape::NonEmpty(&Shape::List(&Shape::Text))]),
        "The tools whose calls it strikes; `*` stands for any letters.",
    ),
    key("share", Shape::Number, "The share of those calls that it strikes, from 0 to 1.").beside(&["type"]),
    key("burst", Shape::Number, "How many calls it strikes in a row, on average.").beside(&["share", "type"]),
    key("added", Shape::Duration, "The delay that the type `latency` adds.").beside(&["type"]),
    key("jitter", Shape::Duration, "The delay that the type `latency` adds at most beyond `added`.").beside(&["type"]),
    key("bandwidth", BANDWIDTH, "The bytes a second of the type `bandwidth`.").beside(&["type"]),
    key(
        "direction",
        Shape::Choice(&["to_server", "to_client"]),
        "The only direction in which the type `bandwidth` limits them.",
    )
    .beside(&["type"]),
    key(
        "times",
        Shape::Range(2, 1000),
        "How many times the server hears of the call with the type `retry_storm`; 5 by default.",
    )
    .beside(&["type"]),
    // The words of mcp-chaos.
    key("added_ms", Shape::Number, "As `added`, in milliseconds.").beside(&["type"]).without(&["added"]),
    key("jitter_ms", Shape::Number, "As `jitter`, in milliseconds.").beside(&["type"]).without(&["jitter"]),
    key("probability", Shape::Number, "As `share`.").beside(&["type"]).without(&["share"]),
    key("rate", Shape::Number, "As `share`.").beside(&["type"]).without(&["share", "probability"]),
    key("burst_len", Shape::Number, "As `burst`.").beside(&["type"]).without(&["burst"]),
    key("episode_rate", Shape::Number, "As `share`.").beside(&["type"]).without(&["share", "rate"]),
    key("episode_len", Shape::Number, "As `burst`, and counts the tasks that clients name instead of calls.")
        .beside(&["type"])
        .without(&["burst", "burst_len"]),
];

/// The types with what they do, as a table in Markdown.
pub fn types() -> String {
    let rows = PRESETS.iter().map(|preset| format!("| `{}` | {} | `{}` |\n", preset.name, preset.doc, preset.yaml));
    format!("| type | what happens | written out |\n| --- | --- | --- |\n{}", rows.collect::<String>())
}

/// Reads a fault of [`NAMED`] or [`UNNAMED`], whose shape was checked; some types are several faults of one name. What is
/// wrong is added to `found`.
pub fn decode_named(name: &str, node: &Node, found: &mut Vec<Diagnostic>) -> Vec<Fault> {
    let written = CHANGES.iter().find_map(|key| node.get(key));
    let Some(kind) = node.get("type") else {
        if node.entries().iter().all(|(key, _)| key.value == "name" || key.value == "tools") {
            found.push(Diagnostic::error("missing-key", NOTHING, node.span).with_help(
                "add a `type`, or one of `answers`, `hears`, `before`, `after`, `process` and `unread`".to_owned(),
            ));
            return Vec::new();
        }
        let Some(mut fault) = decode(name, node, found) else { return Vec::new() };
        fault.strike_only(&tools(node));
        return vec![fault];
    };
    if let Some(written) = written {
        let message = "a fault has a type, or says what happens, not both";
        found.push(Diagnostic::error("two-ways", message, written.span).with_other(kind.span, "the type is here"));
    }
    let Some(preset) = PRESETS.iter().find(|preset| Some(preset.name.as_str()) == kind.text()) else {
        return Vec::new();
    };
    let mut fault = preset.fault(name);
    if let Some(on) = node.get("on") {
        // Episodes and shares of a type stay, unless `on` has its own.
        let chance = fault.on.chance.take();
        fault.on = decode_match(name, on, found);
        fault.on.chance = fault.on.chance.or(chance);
    }
    let tools = tools(node);
    fault.strike_only(&tools);
    fault.draw(name, node, found);
    fault.add_delay(name, node, found);
    fault.limit(node, found);
    fault.repeat(node, found);
    let unlisted = (preset.name == "drop_tool").then(|| unlist_tools(name, &tools));
    [Some(fault), unlisted].into_iter().flatten().collect()
}

/// The patterns of tools that a fault is about.
fn tools(node: &Node) -> Vec<String> {
    items_of(node.get("tools")).filter_map(Node::text).map(str::to_owned).collect()
}

/// The fault that tools are not listed.
fn unlist_tools(name: &str, tools: &[String]) -> Fault {
    let mut fault = preset_of(name, "{ on: { method: tools/list }, answers: { remove: 'result.tools[*]' } }");
    let places = tools.iter().filter(|tool| !tool.contains('*')).map(|tool| format!("result.tools[name={tool}]"));
    let places: Vec<_> = places.filter_map(|place| DottedPath::parse(&place).ok()).collect();
    if !tools.is_empty() {
        fault.answers = vec![FaultEffect::Edit(ValueEdit::Remove, places)];
    }
    fault
}

/// A fault that is written here, and is sound.
fn preset_of(name: &str, yaml: &str) -> Fault {
    let mut found = Vec::new();
    let fault = decode(name, &parse_constant(yaml), &mut found).filter(|_| found.is_empty());
    fault.unwrap_or_else(|| panic!("{yaml}: {found:?}"))
}

fn parse_constant(yaml: &str) -> Node {
    let mut sources = Sources::default();
    let source = sources.add(SourceFile::new("<type of faults>", yaml));
    parse(&sources, source).unwrap_or_else(|mistake| panic!("{yaml}: {mistake:?}"))
}

impl Preset {
    fn fault(&self, name: &str) -> Fault {
        let mut fault = preset_of(name, &self.yaml);
        // Handshakes and lists are not what a suite is about.
        fault.on.message.methods = vec!["tools/call".to_owned()];
        fault
    }
}

impl Fault {
    /// Narrows the fault to calls of some tools.
    fn strike_only(&mut self, tools: &[String]) {
        if !tools.is_empty() {
            self.on.message.tools = tools.to_vec();
        }
    }

    /// Takes over the share and the bursts that stand beside a type.
    fn draw(&mut self, name: &str, node: &Node, found: &mut Vec<Diagnostic>) {
        let share = ["share", "probability", "rate", "episode_rate"].iter().find_map(|key| node.get(key));
        let burst = ["burst", "burst_len", "episode_len"].iter().find_map(|key| node.get(key));
        let number = |node: Option<&Node>| node.and_then(number);
        let old = self.on.chance.take();
        let (old_share, old_burst) = old.as_ref().map_or((None, None), |old| (Some(old.share), old.burst));
        let counts_tasks = node.get("episode_len").is_some();
        let burst_of = if counts_tasks { BurstUnit::Tasks } else { old.map_or(BurstUnit::Calls, |old| old.burst_of) };
        let Some(drawn) = number(share).or(old_share) else { return };
        let length = number(burst).or(old_burst);
        if let Some(wrong) = share.filter(|_| !(0.0..=1.0).contains(&drawn)) {
            found.push(
                Diagnostic::error("bad-number", format!("`{drawn}` is no share"), wrong.span)
                    .with_help("a share lies between 0 and 1; `0.2` is every fifth".to_owned()),
            );
        } else if let (Some(length), Some(place)) = (length, burst.or(share)) {
            let mistake = burst_mistake(drawn, length);
            found.extend(
                mistake.map(|(message, help)| Diagnostic::error("bad-number", message, place.span).with_help(help)),
            );
        }
        let (fault, server) = (name.to_owned(), String::new());
        self.on.chance = Some(Chance { share: drawn, burst: length, burst_of, fault, server, seed: 0 });
    }

    /// Takes over the bandwidth and the direction that stand beside a type.
    fn limit(&mut self, node: &Node, found: &mut Vec<Diagnostic>) {
        if self.hears.bandwidth.is_none() {
            let given = ["bandwidth", "direction"].iter().filter_map(|key| Some((key, node.get(key)?)));
            found.extend(given.map(|(key, given)| {
                let message = format!("`{key}` is for `type: bandwidth`, and this type limits nothing");
                Diagnostic::error("useless-key", message, given.span)
            }));
            return;
        }
        if let Some(bandwidth) = node.get("bandwidth").and_then(Node::whole).and_then(Bandwidth::new) {
            self.hears.bandwidth = Some(bandwidth);
            self.answers = vec![FaultEffect::Bandwidth(bandwidth)];
        }
        match node.get("direction").and_then(Node::text) {
            Some("to_server") => self.answers.clear(),
            Some("to_client") => self.hears.bandwidth = None,
            Some(_) | None => {}
        }
    }

    /// Takes over the number of times that stands beside a type.
    fn repeat(&mut self, node: &Node, found: &mut Vec<Diagnostic>) {
        let Some(times) = node.get("times") else { return };
        if self.hears.times.is_none() {
            let message = "`times` is for `type: retry_storm`, and this type repeats nothing";
            found.push(Diagnostic::error("useless-key", message, times.span));
        } else if let Some(number) = times.whole().and_then(|number| u32::try_from(number).ok()) {
            self.hears.times = Some(number);
        }
    }

    /// Takes over the delay and the jitter that stand beside a type.
    fn add_delay(&mut self, name: &str, node: &Node, found: &mut Vec<Diagnostic>) {
        let is_delay = |effect: &FaultEffect| matches!(effect, FaultEffect::Delay(_));
        for (key, in_ms) in [("added", "added_ms"), ("jitter", "jitter_ms")] {
            let Some(given) = node.get(key).or(node.get(in_ms)) else { continue };
            if !self.answers.iter().any(is_delay) {
                let message = format!("`{key}` is a delay of `type: latency`, and this type has none");
                found.push(Diagnostic::error("useless-key", message, given.span));
                continue;
            }
            let by = match number(given) {
                Some(ms) if (0.0..=86_400_000.0).contains(&ms) => Some(Duration::from_secs_f64(ms / 1000.0)),
                Some(ms) => {
                    let help = "write milliseconds from 0 to 86400000".to_owned();
                    found.push(
                        Diagnostic::error("bad-number", format!("`{ms}` is no delay"), given.span).with_help(help),
                    );
                    None
                }
                None => given.text().and_then(parse_duration),
            };
            let Some(by) = by else { continue };
            if key == "jitter" {
                self.answers.push(FaultEffect::Jitter(Jitter::new(by, name)));
            } else {
                self.answers.retain(|effect| !is_delay(effect));
                self.answers.insert(0, FaultEffect::Delay(by));
            }
        }
    }
}

fn number(node: &Node) -> Option<f64> {
    if let Value::Number(number) = &node.value { number.as_f64() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_is_a_fault() {
        assert_eq!(PRESETS.iter().map(|preset| preset.name.as_str()).collect::<Vec<_>>(), PRESET_NAMES);
        for preset in PRESETS.iter() {
            assert_eq!(preset.fault("fault").name(), "fault");
        }
    }
}
