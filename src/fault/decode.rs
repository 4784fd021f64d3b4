//! From located nodes to faults, with every mistake at once.
//!
//! The grammar speaks first, about keys and types; what it found wrong is read as empty here and not complained about
//! again.

use super::Fault;
use super::condition::{Chance, Match, MatchTurn, MessageCondition, RelatedExchange};
use super::draw::greatest_burst_share;
use super::effect::{Copies, FaultEffect, Jitter};
use super::exchange::ServerEnd;
use super::grammar::{EFFECT, PLAN, PLANS};
use super::path_reader::{PathReader, items_of, lower_case};
use super::preset::decode_named;
use super::request_fault::{ConnectionFault, RequestFault};
use super::words::{
    AnswerSource, Arrival, BurstUnit, CountScope, IdEdit, LateReply, PageFault, PlainEffect, SchemaBreach, SearchScope,
    Side, ToolKind, ValueEdit,
};
use super::written::Written;
use crate::path::DottedPath;
use crate::source::grammar::Shape;
use crate::source::settings::Setting;
use crate::source::{
    Diagnostic, Node, SourceId, Sources, Value, did_you_mean, grammar, nearest, parse, parse_duration,
};
use crate::transport::Bandwidth;

/// The methods of the protocol; a method that looks like one and is none is a slip.
const METHODS: [&str; 29] = [
    "initialize",
    "ping",
    "server/discover",
    "tools/list",
    "tools/call",
    "resources/list",
    "resources/read",
    "resources/templates/list",
    "resources/subscribe",
    "resources/unsubscribe",
    "subscriptions/listen",
    "prompts/list",
    "prompts/get",
    "completion/complete",
    "logging/setLevel",
    "tasks/list",
    "tasks/get",
    "tasks/result",
    "tasks/update",
    "tasks/cancel",
    "notifications/initialized",
    "notifications/cancelled",
    "notifications/progress",
    "notifications/message",
    "notifications/tools/list_changed",
    "notifications/prompts/list_changed",
    "notifications/resources/list_changed",
    "notifications/resources/updated",
    "notifications/roots/list_changed",
];

/// The keys that change something.
pub(crate) const CHANGES: [&str; 6] = ["hears", "answers", "before", "after", "process", "unread"];

/// Reads a plan: a file that holds the faults of one server and nothing else.
pub fn load(sources: &Sources, source: SourceId) -> Result<Vec<Fault>, Vec<Diagnostic>> {
    let node = parse(sources, source).map_err(|mistake| vec![mistake])?;
    let mut found = Vec::new();
    let faults = decode_all(&node, &mut found);
    if found.is_empty() { Ok(faults) } else { Err(found) }
}

/// Reads the faults of one server, their shape included; what is wrong is added to `found`.
pub fn decode_all(node: &Node, found: &mut Vec<Diagnostic>) -> Vec<Fault> {
    if node.get("faults").is_some() {
        found.extend(grammar::check(node, &Shape::Object(&PLAN)));
        let seed = node.setting("seed").unwrap_or_default();
        let faults = node.get("faults").map(|faults| decode_items(faults, found)).unwrap_or_default();
        return faults.into_iter().map(|fault| fault.with_draws(seed, "")).collect();
    }
    found.extend(grammar::check(node, &PLANS));
    decode_items(node, found)
}

fn decode_items(node: &Node, found: &mut Vec<Diagnostic>) -> Vec<Fault> {
    if matches!(node.value, Value::List(_)) && node.items().is_empty() {
        found.push(Diagnostic::error("empty-list", "no faults are listed", node.span));
    }
    let one = matches!(node.value, Value::Map(_)).then_some(node);
    let mut faults = Vec::new();
    for (number, node) in one.into_iter().chain(node.items()).enumerate() {
        let name =
            node.setting("name").or_else(|| node.setting("type")).unwrap_or_else(|| format!("number {}", number + 1));
        let named = decode_named(&name, node, found);
        if let Some(what) = named.iter().find_map(Fault::suite_only) {
            let message = format!("`{what}` is for tests of a suite, which start the server themselves");
            let help = "write the fault under `inject` of a test, or use `answers: torn` or `answers: { end: … }`";
            let place = node.get("type").unwrap_or(node).span;
            found.push(Diagnostic::error("useless-key", message, place).with_help(help.to_owned()));
        }
        faults.extend(named);
    }
    faults
}

pub(crate) const NOTHING: &str = "the fault changes nothing";
const ADD: &str = "add `answers`, `hears`, `before`, `after`, `process` or `unread`";

/// Reads the fault whose keys a mapping has beside its own; `None` where it has none of them, or mistakes.
pub fn decode(name: &str, node: &Node, found: &mut Vec<Diagnostic>) -> Option<Fault> {
    let changes = CHANGES.iter().any(|key| node.get(key).is_some());
    if let Some(on) = node.get("on").filter(|_| !changes) {
        found.push(Diagnostic::error("missing-key", NOTHING, on.span).with_help(ADD.to_owned()));
    }
    let mut reader = FaultReader { name, found };
    let on = node.get("on").map(|on| reader.condition(on)).unwrap_or_default();
    if !changes {
        return None;
    }
    let answers = node.get("answers").map(|answers| reader.answers(answers)).unwrap_or_default();
    if on.depends_on_answer() || !on.sends.is_empty() {
        for (key, hears) in ["hears", "process", "unread"].iter().filter_map(|key| Some((key, node.get(key)?))) {
            let message = format!("`{key}` does nothing beside a condition on the answer, which comes later");
            reader.found.push(
                Diagnostic::error("useless-key", message, hears.span).with_help(
                    "write it in a fault of its own, without conditions on the answer and `sends`".to_owned(),
                ),
            );
        }
    }
    Some(Fault {
        name: name.to_owned(),
        on,
        hears: node.get("hears").map(|hears| reader.request_fault(hears)).unwrap_or_default(),
        connection: reader.connection(node),
        answers,
        before: reader.written_items(node.get("before")),
        after: reader.written_items(node.get("after")),
        recalls: mentions_earlier(node),
        seed: 0,
    })
}

/// A template may name `earlier`.
fn mentions_earlier(node: &Node) -> bool {
    match &node.value {
        Value::Text(text) => text.contains("earlier"),
        Value::List(items) => items.iter().any(mentions_earlier),
        Value::Map(entries) => {
            entries.iter().any(|(key, node)| key.value.contains("earlier") || mentions_earlier(node))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Reads a condition; draws are keyed with `name`.
pub fn decode_match(name: &str, node: &Node, found: &mut Vec<Diagnostic>) -> Match {
    FaultReader { name, found }.condition(node)
}

struct FaultReader<'a> {
    name: &'a str,
    found: &'a mut Vec<Diagnostic>,
}

impl FaultReader<'_> {
    fn condition(&mut self, node: &Node) -> Match {
        Match {
            message: self.message(node),
            unless: node.get("unless").map(|unless| self.message(unless)),
            sends: several(node, "sends"),
            by: node.setting("by"),
            answered: several(node, "answered"),
            answer: self.paths().conditions(node.get("has"), node.get("lacks")),
            status: items_of(node.get("status")).filter_map(|node| self.paths().status(node, 100)).collect(),
            arguments: several(node, "arguments"),
            asks: several(node, "asks"),
            tool: several(node, "tool"),
            declares: self.paths().conditions(node.get("declares"), None),
            declared: node.setting("declared"),
            occurrence: node.setting("occurrence"),
            after: self.elsewhere(node.get("after")),
            unless_after: self.elsewhere(node.get("unless_after")),
            before: self.elsewhere(node.get("before")),
            chance: node.get("share").and_then(|share| self.chance(share)).map(|chance| self.burst(chance, node)),
            turn: MatchTurn {
                nth: node.setting("nth"),
                from: node.setting("from"),
                of_server: node.setting("per") == Some(CountScope::Server),
            },
        }
    }

    fn message(&mut self, node: &Node) -> MessageCondition {
        MessageCondition {
            methods: self.methods(node.get("method")),
            tools: several(node, "tools"),
            kinds: several(node, "kind"),
            over: node.setting("over"),
            fields: self.paths().conditions(node.get("with"), node.get("without")),
            verbs: items_of(node.get("verb")).filter_map(Node::text).map(str::to_ascii_uppercase).collect(),
            path: node.setting("path"),
            headers: self.paths().names(node.get("header"), str::to_ascii_lowercase),
            no_headers: lower_case(node.get("no_header")),
            query: self.paths().names(node.get("query"), str::to_owned),
        }
    }

    fn request_fault(&mut self, node: &Node) -> RequestFault {
        RequestFault {
            arrival: node.text().and_then(Arrival::parse),
            set: node.get("set").map(|set| self.written_pairs(set)).unwrap_or_default(),
            add: node.get("add").map(|add| self.written_pairs(add)).unwrap_or_default(),
            remove: self.paths().places(node.get("remove")),
            headers: node.get("headers").map(|headers| self.headers(headers)).unwrap_or_default(),
            bandwidth: node.setting("bandwidth").and_then(Bandwidth::new),
            times: node.setting("times"),
        }
    }

    fn connection(&mut self, node: &Node) -> ConnectionFault {
        let process = node.get("process");
        if let Some(empty) = process.filter(|process| process.entries().is_empty()) {
            self.found.push(
                Diagnostic::error("missing-key", NOTHING, empty.span).with_help("add `kill` or `pause`".to_owned()),
            );
        }
        ConnectionFault {
            kill: process.and_then(|process| process.setting("kill")),
            pause: process.and_then(|process| process.setting("pause")),
            unread: node.setting("unread"),
        }
    }

    fn read_written(&mut self, node: &Node) -> Option<Written> {
        Written::decode(node, self.found)
    }

    fn written_pairs(&mut self, node: &Node) -> Vec<(DottedPath, Written)> {
        self.paths().pairs(node, |paths, node| Written::decode(node, paths.found))
    }

    fn written_items(&mut self, node: Option<&Node>) -> Vec<Written> {
        node.map(Node::items).unwrap_or_default().iter().filter_map(|item| self.read_written(item)).collect()
    }

    fn headers(&mut self, node: &Node) -> Vec<(String, Option<Written>)> {
        let entries = node.entries().iter();
        entries.map(|(name, value)| (name.value.to_ascii_lowercase(), self.header(value))).collect()
    }

    /// The value of a header or an id; nothing takes it away.
    fn header(&mut self, node: &Node) -> Option<Written> {
        node.text()?;
        self.read_written(node)
    }

    fn methods(&mut self, node: Option<&Node>) -> Vec<String> {
        let mut methods = Vec::new();
        for name in items_of(node).filter_map(Node::located_text) {
            let is_known = METHODS.contains(&name.value.as_str()) || name.value.contains('*');
            if !is_known && nearest(&name.value, METHODS).is_some() {
                self.found.push(
                    Diagnostic::error("unknown-name", format!("there is no method `{}`", name.value), name.span)
                        .with_help(did_you_mean(&name.value, METHODS)),
                );
            }
            methods.push(name.value);
        }
        methods
    }

    fn elsewhere(&mut self, node: Option<&Node>) -> Option<Box<RelatedExchange>> {
        let node = node?;
        let within = node.setting("within").unwrap_or(SearchScope::Session);
        let same = self.paths().places(node.get("same"));
        Some(Box::new(RelatedExchange { within, is: self.condition(node.get("is")?), same }))
    }

    fn chance(&mut self, node: &Node) -> Option<Chance> {
        let Value::Number(number) = &node.value else { return None };
        let share = number.as_f64().unwrap_or(f64::NAN);
        if !(0.0..=1.0).contains(&share) {
            self.found.push(
                Diagnostic::error("bad-number", format!("`{number}` is no share"), node.span)
                    .with_help("a share lies between 0 and 1; `0.2` is every fifth".to_owned()),
            );
        }
        let (fault, server) = (self.name.to_owned(), String::new());
        Some(Chance { share, burst: None, burst_of: BurstUnit::Calls, fault, server, seed: 0 })
    }

    /// The chance with the length of its bursts.
    fn burst(&mut self, chance: Chance, node: &Node) -> Chance {
        let Some(burst) = node.get("burst") else { return chance };
        let Value::Number(number) = &burst.value else { return chance };
        let length = number.as_f64().unwrap_or(f64::NAN);
        self.found.extend(
            burst_mistake(chance.share, length)
                .map(|(message, help)| Diagnostic::error("bad-number", message, burst.span).with_help(help)),
        );
        let burst_of = node.setting("burst_of").unwrap_or(BurstUnit::Calls);
        Chance { burst: Some(length), burst_of, ..chance }
    }

    fn paths(&mut self) -> PathReader<'_> {
        PathReader { found: self.found }
    }

    /// A word, an object of changes, or a list of both.
    fn answers(&mut self, node: &Node) -> Vec<FaultEffect> {
        if let Value::List(items) = &node.value {
            if items.is_empty() {
                self.found.push(Diagnostic::error("empty-list", NOTHING, node.span).with_help(ADD.to_owned()));
            }
            return items.iter().flat_map(|item| self.changes(item)).collect();
        }
        self.changes(node)
    }

    fn changes(&mut self, node: &Node) -> Vec<FaultEffect> {
        if let Some(word) = node.text() {
            return PlainEffect::parse(word).map(FaultEffect::Plain).into_iter().collect();
        }
        if matches!(node.value, Value::Map(_)) && node.entries().is_empty() {
            self.found.push(Diagnostic::error("missing-key", NOTHING, node.span).with_help(ADD.to_owned()));
        }
        let wholes = ["result", "error", "failure", "message", "text"];
        let mut wholes = node.entries().iter().filter(|(key, _)| wholes.contains(&key.value.as_str()));
        if let (Some((first, _)), Some((second, _))) = (wholes.next(), wholes.next()) {
            let message = format!("a changed answer has either `{}` or `{}`, not both", first.value, second.value);
            self.found.push(
                Diagnostic::error("two-ways", message, second.span).with_other(first.span, "the other one is here"),
            );
        }
        let keys = EFFECT.keys.iter().flat_map(|keys| keys.iter());
        keys.filter_map(|key| Some((key.name, node.get(key.name)?)))
            .collect::<Vec<_>>()
            .into_iter()
            .filter_map(|(name, value)| self.effect(name, value))
            .collect()
    }

    fn effect(&mut self, name: &str, value: &Node) -> Option<FaultEffect> {
        if let Some(edit) = ValueEdit::parse(name) {
            return Some(FaultEffect::Edit(edit, self.paths().places(Some(value))));
        }
        Some(match name {
            "set" => FaultEffect::Set(self.written_pairs(value)),
            "append" => FaultEffect::Append(self.paths().pairs(value, |_, node| node.text().map(str::to_owned))),
            "plant" => FaultEffect::Plant(self.paths().pairs(value, |_, node| node.text().map(str::to_owned))),
            "add" => FaultEffect::Add(self.written_pairs(value)),
            "pad" => FaultEffect::Pad(self.paths().pairs(value, |paths, node| {
                let length = node.whole()?;
                if length > LONGEST_PADDED {
                    let message = format!("a text is filled up to {LONGEST_PADDED} bytes at most, not {length}");
                    let help = format!("write {LONGEST_PADDED} or less, which is the longest message that is read");
                    paths.found.push(Diagnostic::error("bad-number", message, node.span).with_help(help));
                }
                Some(length.min(LONGEST_PADDED))
            })),
            "rename" => FaultEffect::Rename(self.paths().pairs(value, |_, node| node.text().map(str::to_owned))),
            "clone" => FaultEffect::Clone(self.copies(value)?),
            "mark" => {
                let hint = |node: &Node| node.text().and_then(ToolKind::parse);
                let entries = value.entries().iter();
                FaultEffect::Mark(entries.filter_map(|(name, kind)| Some((name.value.clone(), hint(kind)?))).collect())
            }
            "headers" => FaultEffect::Headers(self.headers(value)),
            "event_id" => FaultEffect::EventId(self.header(value)),
            "also_on" => FaultEffect::AlsoOnListening,
            "replace" => {
                let entries = value.entries().iter();
                FaultEffect::Replace(
                    entries.filter_map(|(old, new)| Some((old.value.clone(), new.text()?.to_owned()))).collect(),
                )
            }
            _ => return self.whole(name, value),
        })
    }

    /// Effects on whole messages and on what carries them.
    fn whole(&mut self, name: &str, value: &Node) -> Option<FaultEffect> {
        let text = value.text();
        Some(match name {
            "misshape" => FaultEffect::Misshape(SchemaBreach::parse(text?)?, Vec::new()),
            "give" => FaultEffect::Give(AnswerSource::parse(text?)?),
            "mix" => FaultEffect::Mix(AnswerSource::parse(text?)?),
            "page" => FaultEffect::Page(PageFault::parse(text?)?),
            "result" => FaultEffect::Result(self.read_written(value)?),
            "error" => FaultEffect::Error(self.read_written(value)?),
            "message" => FaultEffect::Message(self.read_written(value)?),
            "text" => FaultEffect::Text(self.read_written(value)?),
            "failure" => FaultEffect::Failure(text?.to_owned()),
            "delay" => FaultEffect::Delay(parse_duration(text?)?),
            "bandwidth" => FaultEffect::Bandwidth(value.whole().and_then(Bandwidth::new)?),
            "jitter" => FaultEffect::Jitter(Jitter::new(parse_duration(text?)?, self.name)),
            "slow" => FaultEffect::Slow(parse_duration(text?)?),
            "stderr" => FaultEffect::Stderr(text?.to_owned()),
            "reid" => FaultEffect::Reid(IdEdit::parse(text?)?),
            "swallow" => FaultEffect::Swallow(text?.to_owned()),
            "repeat" => FaultEffect::Repeat {
                method: value.setting("method")?,
                side: value.setting("side").unwrap_or(Side::Before),
            },
            "late" => FaultEffect::Late(LateReply::parse(text?)?),
            "status" => FaultEffect::Status(self.paths().status(value, 100)?),
            "end" => FaultEffect::End(self.end(value)?),
            _ => return None,
        })
    }

    fn end(&mut self, node: &Node) -> Option<ServerEnd> {
        let number = |key: &str| node.setting::<u64>(key).and_then(|number| i32::try_from(number).ok());
        match (number("status"), number("signal")) {
            (None, None) => Some(ServerEnd::Closed),
            (Some(status), None) => Some(ServerEnd::Status(status)),
            (None, Some(signal)) => Some(ServerEnd::Signal(signal)),
            (Some(_), Some(_)) => {
                self.found.push(Diagnostic::error("two-ways", "a server ends with a status or by a signal", node.span));
                None
            }
        }
    }

    fn copies(&mut self, node: &Node) -> Option<Copies> {
        let list = self.paths().place(node.get("list")?)?;
        let with =
            node.get("with").map(|with| self.paths().pairs(with, |_, node| Some(node.to_json()))).unwrap_or_default();
        let times: u64 = node.setting("times").unwrap_or(1);
        let most = 10_000;
        if let Some(times) = node.get("times").filter(|_| !(1..=most).contains(&times)) {
            self.found.push(Diagnostic::error("bad-number", format!("write 1 to {most} copies"), times.span));
        }
        Some(Copies { list, with, times: u32::try_from(times.min(most)).unwrap_or(1) })
    }
}

/// Why there are no bursts of that length with that share, and what to do; `None` where there are.
pub(crate) fn burst_mistake(share: f64, length: f64) -> Option<(String, String)> {
    if !(1.0..=1_000_000.0).contains(&length) {
        let message = format!("`{length}` is no length of bursts");
        return Some((message, "write a number from 1 to 1000000".to_owned()));
    }
    let most = greatest_burst_share(length);
    (share > most && share < 1.0).then(|| {
        let message = format!("bursts of {length} cannot strike a share of {share}");
        (message, format!("write a share of at most {most:.3}, or 1, or longer bursts"))
    })
}

/// The longest text that `pad` makes, in bytes: 64 MiB, the longest message that a session reads.
const LONGEST_PADDED: u64 = 64 << 20;

/// The values of a key, which may be one or a list.
fn several<T: Setting>(node: &Node, key: &str) -> Vec<T> {
    node.setting(key).unwrap_or_default()
}
