//! From located nodes to faults, with every mistake at once.
//!
//! The grammar speaks first, about keys and types; what it found wrong is read as empty here and not complained about
//! again.

use super::condition::{Chance, Elsewhere, Match, Wanted};
use super::effect::{Copies, Edit, Effect};
use super::exchange::Ended;
use super::place::Place;
use super::words::{
    Answered, Arguments, Breach, Carrier, Late, Occurrence, Owner, Plain, Reid, Sent, Side, Source, ToolKind, Within,
};
use super::{Fault, Moment};
use crate::source::{Diagnostic, Node, Span, Value, did_you_mean, nearest, parse_duration};

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
    let mut reader = Reader { name, found };
    let on = node.get("on").map_or_else(Match::anything, |on| reader.condition(on));
    let does = does?;
    if matches!(does.value, Value::List(_)) && does.items().is_empty() {
        reader.found.push(Diagnostic::error("empty-list", "a fault that does nothing is none", does.span));
    }
    let moment = match node.get("when").and_then(Node::text) {
        Some("before") => Moment::Before,
        Some("instead") => Moment::Instead,
        _ => Moment::After,
    };
    let effects = does.items().iter().filter_map(|item| reader.effect(item)).collect();
    Some(Fault { on, moment, does: effects })
}

/// Reads a condition; draws are keyed with `name`.
pub fn decode_match(name: &str, node: &Node, found: &mut Vec<Diagnostic>) -> Match {
    Reader { name, found }.condition(node)
}

struct Reader<'a> {
    name: &'a str,
    found: &'a mut Vec<Diagnostic>,
}

impl Reader<'_> {
    fn condition(&mut self, node: &Node) -> Match {
        Match {
            methods: self.methods(node.get("method")),
            sent: words(node, "sent", Sent::from_word),
            by: word(node, "by", Owner::from_word).unwrap_or(Owner::Any),
            over: word(node, "over", Carrier::from_word),
            answered: words(node, "answered", Answered::from_word),
            has: self.wanted(node.get("has")),
            lacks: self.places(node.get("lacks")),
            with: self.wanted(node.get("with")),
            without: self.places(node.get("without")),
            arguments: words(node, "arguments", Arguments::from_word),
            tool: words(node, "tool", ToolKind::from_word),
            declares: self.wanted(node.get("declares")),
            declared: node.get("declared").and_then(Node::flag),
            status: listed(node.get("status")).filter_map(|node| self.status(node)).collect(),
            headers: names(node, "header"),
            no_headers: names(node, "no_header"),
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

    fn elsewhere(&mut self, node: Option<&Node>) -> Option<Box<Elsewhere>> {
        let node = node?;
        let within = word(node, "within", Within::from_word).unwrap_or(Within::Session);
        Some(Box::new(Elsewhere { within, is: self.condition(node.get("is")?) }))
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

    fn status(&mut self, node: &Node) -> Option<u16> {
        let status = u16::try_from(node.whole()?).ok().filter(|status| (100..600).contains(status));
        if status.is_none() {
            self.found.push(Diagnostic::error("bad-number", "invalid HTTP status", node.span));
        }
        status
    }

    fn effect(&mut self, node: &Node) -> Option<Effect> {
        if let Some(word) = node.text() {
            return Plain::from_word(word).map(Effect::Plain);
        }
        let entries = node.entries();
        let Some((name, value)) = entries.first() else {
            self.found.extend(
                matches!(node.value, Value::Map(_))
                    .then(|| Diagnostic::error("missing-action", "an effect that does nothing is none", node.span)),
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

    fn named(&mut self, name: &str, value: &Node) -> Option<Effect> {
        let edit = match name {
            "remove" => Some(Edit::Remove),
            "null" => Some(Edit::Null),
            "retype" => Some(Edit::Retype),
            "change" => Some(Edit::Change),
            "cut" => Some(Edit::Cut),
            "empty" => Some(Edit::Empty),
            "wrap" => Some(Edit::Wrap),
            "reverse" => Some(Edit::Reverse),
            "double" => Some(Edit::Double),
            "ascii" => Some(Edit::Ascii),
            _ => None,
        };
        if let Some(edit) = edit {
            return Some(Effect::Edit(edit, self.places(Some(value))));
        }
        Some(match name {
            "set" => Effect::Set(self.pairs(value, |_, node| Some(node.to_json()))),
            "append" => Effect::Append(self.pairs(value, |_, node| node.text().map(str::to_owned))),
            "add" => Effect::Add(self.pairs(value, |_, node| Some(node.to_json()))),
            "pad" => Effect::Pad(self.pairs(value, |_, node| node.whole())),
            "rename" => Effect::Rename(self.pairs(value, |_, node| node.text().map(str::to_owned))),
            "echo" => Effect::Echo(self.pairs(value, Self::place)),
            "clone" => Effect::Clone(self.copies(value)?),
            "mark" => {
                let hint = |node: &Node| node.text().and_then(ToolKind::from_word);
                let entries = value.entries().iter();
                Effect::Mark(entries.filter_map(|(name, kind)| Some((name.value.clone(), hint(kind)?))).collect())
            }
            "header" => {
                let entries = value.entries().iter();
                let pair = |(name, value): &(crate::source::Located<String>, Node)| {
                    (name.value.to_ascii_lowercase(), value.text().map(str::to_owned))
                };
                Effect::Header(entries.map(pair).collect())
            }
            _ => return self.whole(name, value),
        })
    }

    /// Effects on whole messages and on what carries them.
    fn whole(&mut self, name: &str, value: &Node) -> Option<Effect> {
        let text = value.text();
        let side = || word(value, "side", Side::from_word).unwrap_or(Side::Before);
        let inner = |key: &str| value.get(key).and_then(Node::text).map(str::to_owned);
        Some(match name {
            "misshape" => Effect::Misshape(text.and_then(Breach::from_word)?),
            "give" => Effect::Give(text.and_then(Source::from_word)?),
            "mix" => Effect::Mix(text.and_then(Source::from_word)?),
            "error" => Effect::Error { code: self.code(value.get("code")?)?, message: inner("message")? },
            "failure" => Effect::Failure(text?.to_owned()),
            "delay" => Effect::Delay(parse_duration(text?)?),
            "noise" => Effect::Noise(inner("text")?, side()),
            "stderr" => Effect::Stderr(text?.to_owned()),
            "garbage" => Effect::Garbage(text?.as_bytes().to_vec()),
            "reid" => Effect::Reid(text.and_then(Reid::from_word)?),
            "notify" => {
                let params = value.get("params").map_or_else(|| serde_json::json!({}), Node::to_json);
                Effect::Notify { method: inner("method")?, params, side: side() }
            }
            "swallow" => Effect::Swallow(text?.to_owned()),
            "repeat" => Effect::Repeat { method: inner("method")?, side: side() },
            "late" => Effect::Late(text.and_then(Late::from_word)?),
            "status" => Effect::Status(self.status(value)?),
            "end" => Effect::End(self.end(value)?),
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

    fn end(&mut self, node: &Node) -> Option<Ended> {
        let number = |key: &str| node.get(key).and_then(Node::whole).and_then(|number| i32::try_from(number).ok());
        match (number("status"), number("signal")) {
            (None, None) => Some(Ended::Closed),
            (Some(status), None) => Some(Ended::Status(status)),
            (None, Some(signal)) => Some(Ended::Signal(signal)),
            (Some(_), Some(_)) => {
                self.found.push(Diagnostic::error("two-ways", "a server ends with a status or by a signal", node.span));
                None
            }
        }
    }

    fn copies(&mut self, node: &Node) -> Option<Copies> {
        let list = self.place(node.get("list")?)?;
        let with = node.get("with").map(|with| self.pairs(with, |_, node| Some(node.to_json()))).unwrap_or_default();
        let times = node.get("times").and_then(Node::whole).unwrap_or(1);
        let most = 10_000;
        if let Some(times) = node.get("times").filter(|_| !(1..=most).contains(&times)) {
            self.found.push(Diagnostic::error("bad-number", format!("write 1 to {most} copies"), times.span));
        }
        Some(Copies { list, with, times: u32::try_from(times.min(most)).unwrap_or(1) })
    }

    fn wanted(&mut self, node: Option<&Node>) -> Vec<Wanted> {
        if let Some(node) = node.filter(|node| matches!(node.value, Value::Map(_))) {
            let pairs = self.pairs(node, |_, value| Some(value.to_json()));
            return pairs.into_iter().map(|(place, value)| Wanted { place, value: Some(value) }).collect();
        }
        self.places(node).into_iter().map(|place| Wanted { place, value: None }).collect()
    }

    fn places(&mut self, node: Option<&Node>) -> Vec<Place> {
        listed(node).filter_map(|node| self.place(node)).collect()
    }

    fn place(&mut self, node: &Node) -> Option<Place> {
        self.path(node.text()?, node.span)
    }

    fn path(&mut self, text: &str, span: Span) -> Option<Place> {
        Place::parse(text).map_err(|reason| self.found.push(Diagnostic::error("bad-path", reason, span))).ok()
    }

    fn pairs<T>(&mut self, node: &Node, read: impl Fn(&mut Self, &Node) -> Option<T>) -> Vec<(Place, T)> {
        let mut pairs = Vec::new();
        for (name, value) in node.entries() {
            let place = self.path(&name.value, name.span);
            if let (Some(place), Some(value)) = (place, read(self, value)) {
                pairs.push((place, value));
            }
        }
        pairs
    }
}

/// One item, or those of a list.
fn listed(node: Option<&Node>) -> impl Iterator<Item = &Node> {
    let one = node.filter(|node| !matches!(node.value, Value::List(_)));
    one.into_iter().chain(node.map(Node::items).unwrap_or_default())
}

fn word<T>(node: &Node, key: &str, read: fn(&str) -> Option<T>) -> Option<T> {
    node.get(key).and_then(Node::text).and_then(read)
}

/// Names of headers, as they are compared.
fn names(node: &Node, key: &str) -> Vec<String> {
    listed(node.get(key)).filter_map(Node::text).map(str::to_ascii_lowercase).collect()
}

fn words<T>(node: &Node, key: &str, read: fn(&str) -> Option<T>) -> Vec<T> {
    listed(node.get(key)).filter_map(Node::text).filter_map(read).collect()
}
