//! From located nodes to faults, with every mistake at once.
//!
//! The grammar speaks first, about keys and types; what it found wrong is read as empty here and not complained about
//! again.

use super::condition::{Chance, Match, RelatedExchange};
use super::effect::{Copies, FaultEffect};
use super::exchange::ServerEnd;
use super::path_reader::{PathReader, listed, lower_case};
use super::words::{
    AnswerCondition, AnswerSource, ArgumentFit, Carrier, ExchangeOwner, IdEdit, LateReply, Occurrence, PlainEffect,
    SchemaBreach, SearchScope, SentAs, Side, ToolKind, ValueEdit,
};
use super::{Fault, FaultTiming};
use crate::source::{Diagnostic, Node, Value, did_you_mean, nearest, parse_duration};

/// The methods of the protocol; a method that looks like one and is none is a slip.
const METHODS: [&str; 24] = [
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

/// Reads the fault whose keys a mapping has beside its own; `None` where it has none of them, or mistakes.
pub fn decode(name: &str, node: &Node, found: &mut Vec<Diagnostic>) -> Option<Fault> {
    let does = node.get("does");
    if does.is_none() {
        for key in ["on", "when"].iter().filter_map(|key| node.get(key)) {
            found.push(
                Diagnostic::error("missing-key", "nothing says what happens there", key.span)
                    .with_help("`does`: what is done to what comes, such as `does: [drop]`".to_owned()),
            );
        }
    }
    let mut reader = FaultReader { name, found };
    let on = node.get("on").map(|on| reader.condition(on)).unwrap_or_default();
    let does = does?;
    if matches!(does.value, Value::List(_)) && does.items().is_empty() {
        reader.found.push(Diagnostic::error("empty-list", "a fault that does nothing is none", does.span));
    }
    let timing = match node.get("when").and_then(Node::text) {
        Some("before") => FaultTiming::Before,
        Some("instead") => FaultTiming::Instead,
        _ => FaultTiming::After,
    };
    let effects = does.items().iter().filter_map(|item| reader.effect(item)).collect();
    Some(Fault { on, timing, does: effects })
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
            methods: self.methods(node.get("method")),
            sent: words(node, "sent", SentAs::from_word),
            by: word(node, "by", ExchangeOwner::from_word),
            over: word(node, "over", Carrier::from_word),
            answered: words(node, "answered", AnswerCondition::from_word),
            answer: self.paths().conditions(node.get("has"), node.get("lacks")),
            params: self.paths().conditions(node.get("with"), node.get("without")),
            arguments: words(node, "arguments", ArgumentFit::from_word),
            tool: words(node, "tool", ToolKind::from_word),
            declares: self.paths().conditions(node.get("declares"), None),
            declared: node.get("declared").and_then(Node::flag),
            status: listed(node.get("status")).filter_map(|node| self.paths().status(node, 100)).collect(),
            headers: lower_case(node.get("header")),
            no_headers: lower_case(node.get("no_header")),
            occurrence: word(node, "occurrence", Occurrence::from_word),
            after: self.elsewhere(node.get("after")),
            unless_after: self.elsewhere(node.get("unless_after")),
            before: self.elsewhere(node.get("before")),
            chance: node.get("share").and_then(|share| self.chance(share)),
        }
    }

    fn methods(&mut self, node: Option<&Node>) -> Vec<String> {
        let mut methods = Vec::new();
        for name in listed(node).filter_map(Node::located_text) {
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
        let within = word(node, "within", SearchScope::from_word).unwrap_or(SearchScope::Session);
        Some(Box::new(RelatedExchange { within, is: self.condition(node.get("is")?) }))
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
        Some(Chance { share, fault: self.name.to_owned(), server: String::new(), seed: 0 })
    }

    fn paths(&mut self) -> PathReader<'_> {
        PathReader { found: self.found }
    }

    fn effect(&mut self, node: &Node) -> Option<FaultEffect> {
        if let Some(word) = node.text() {
            return PlainEffect::from_word(word).map(FaultEffect::Plain);
        }
        let entries = node.entries();
        let Some((name, value)) = entries.first() else {
            self.found.extend(
                matches!(node.value, Value::Map(_))
                    .then(|| Diagnostic::error("missing-key", "the effect does nothing", node.span)),
            );
            return None;
        };
        if let Some((second, _)) = entries.get(1) {
            let message = format!("one effect has one key, and `{}` is the second", second.value);
            self.found.push(
                Diagnostic::error("two-ways", message, second.span)
                    .with_help("begin each effect with `- ` of its own; they follow one another".to_owned()),
            );
        }
        self.named(&name.value, value)
    }

    fn named(&mut self, name: &str, value: &Node) -> Option<FaultEffect> {
        if let Some(edit) = ValueEdit::from_word(name) {
            return Some(FaultEffect::Edit(edit, self.paths().places(Some(value))));
        }
        Some(match name {
            "set" => FaultEffect::Set(self.paths().pairs(value, |_, node| Some(node.to_json()))),
            "append" => FaultEffect::Append(self.paths().pairs(value, |_, node| node.text().map(str::to_owned))),
            "add" => FaultEffect::Add(self.paths().pairs(value, |_, node| Some(node.to_json()))),
            "pad" => FaultEffect::Pad(self.paths().pairs(value, |_, node| node.whole())),
            "rename" => FaultEffect::Rename(self.paths().pairs(value, |_, node| node.text().map(str::to_owned))),
            "echo" => FaultEffect::Echo(self.paths().pairs(value, PathReader::place)),
            "clone" => FaultEffect::Clone(self.copies(value)?),
            "mark" => {
                let hint = |node: &Node| node.text().and_then(ToolKind::from_word);
                let entries = value.entries().iter();
                FaultEffect::Mark(entries.filter_map(|(name, kind)| Some((name.value.clone(), hint(kind)?))).collect())
            }
            "header" => {
                let entries = value.entries().iter();
                let pair = |(name, value): &(crate::source::Located<String>, Node)| {
                    (name.value.to_ascii_lowercase(), value.text().map(str::to_owned))
                };
                FaultEffect::Header(entries.map(pair).collect())
            }
            _ => return self.whole(name, value),
        })
    }

    /// Effects on whole messages and on what carries them.
    fn whole(&mut self, name: &str, value: &Node) -> Option<FaultEffect> {
        let text = value.text();
        let side = || word(value, "side", Side::from_word).unwrap_or(Side::Before);
        let inner = |key: &str| value.get(key).and_then(Node::text).map(str::to_owned);
        Some(match name {
            "misshape" => FaultEffect::Misshape(text.and_then(SchemaBreach::from_word)?),
            "give" => FaultEffect::Give(text.and_then(AnswerSource::from_word)?),
            "mix" => FaultEffect::Mix(text.and_then(AnswerSource::from_word)?),
            "error" => FaultEffect::Error { code: self.code(value.get("code")?)?, message: inner("message")? },
            "failure" => FaultEffect::Failure(text?.to_owned()),
            "delay" => FaultEffect::Delay(parse_duration(text?)?),
            "slow" => FaultEffect::Slow(parse_duration(text?)?),
            "noise" => FaultEffect::Noise(inner("text")?, side()),
            "stderr" => FaultEffect::Stderr(text?.to_owned()),
            "garbage" => FaultEffect::Garbage(text?.as_bytes().to_vec()),
            "reid" => FaultEffect::Reid(text.and_then(IdEdit::from_word)?),
            "notify" => {
                let params = value.get("params").map_or_else(|| serde_json::json!({}), Node::to_json);
                FaultEffect::Notify { method: inner("method")?, params, side: side() }
            }
            "swallow" => FaultEffect::Swallow(text?.to_owned()),
            "repeat" => FaultEffect::Repeat { method: inner("method")?, side: side() },
            "late" => FaultEffect::Late(text.and_then(LateReply::from_word)?),
            "status" => FaultEffect::Status(self.paths().status(value, 100)?),
            "end" => FaultEffect::End(self.end(value)?),
            _ => return None,
        })
    }

    fn code(&mut self, node: &Node) -> Option<i64> {
        let Value::Number(number) = &node.value else { return None };
        if number.as_i64().is_none() {
            self.found.push(Diagnostic::error("bad-number", "a code is a whole number", node.span));
        }
        number.as_i64()
    }

    fn end(&mut self, node: &Node) -> Option<ServerEnd> {
        let number = |key: &str| node.get(key).and_then(Node::whole).and_then(|number| i32::try_from(number).ok());
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
        let times = node.get("times").and_then(Node::whole).unwrap_or(1);
        let most = 10_000;
        if let Some(times) = node.get("times").filter(|_| !(1..=most).contains(&times)) {
            self.found.push(Diagnostic::error("bad-number", format!("write 1 to {most} copies"), times.span));
        }
        Some(Copies { list, with, times: u32::try_from(times.min(most)).unwrap_or(1) })
    }
}

fn word<T>(node: &Node, key: &str, read: fn(&str) -> Option<T>) -> Option<T> {
    node.get(key).and_then(Node::text).and_then(read)
}

fn words<T>(node: &Node, key: &str, read: fn(&str) -> Option<T>) -> Vec<T> {
    listed(node.get(key)).filter_map(Node::text).filter_map(read).collect()
}
