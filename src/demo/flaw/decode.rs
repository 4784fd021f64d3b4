//! From located nodes to a flaw, with every mistake at once.
//!
//! The grammar speaks first, about keys and types; what it found wrong is read as empty here.

use std::collections::BTreeSet;

use super::change::MessageChange;
use super::condition::{AnsweredCondition, FlawCondition, Named, RequestCondition, TurnCondition};
use super::grammar::FLAW;
use super::message::FlawMessageKind;
use super::{Encoding, EventId, Flaw, FlawEdit, FlawedAnswers, Form, Hears, Whole};
use crate::fault::{MessagePath, PathConditions, PathReader, listed, lower_case};
use crate::redact::from_base64;
use crate::source::{Diagnostic, Node, Value, grammar, parse_duration, template};

/// The names that templates can use.
const NAMES: [&str; 13] = [
    "id",
    "method",
    "params",
    "message",
    "headers",
    "query",
    "verb",
    "count",
    "earlier",
    "answer",
    "status",
    "answer_headers",
    "event",
];

/// Reads a flaw.
pub(super) fn flaw(node: &Node, found: &mut Vec<Diagnostic>) -> Flaw {
    found.extend(grammar::check(node, &FLAW));
    let mut reader = FlawReader { found };
    if matches!(node.value, Value::List(_)) && node.items().is_empty() {
        reader.found.push(Diagnostic::error("empty-list", "a flaw without edits is none", node.span));
    }
    let one = matches!(node.value, Value::Map(_)).then_some(node);
    Flaw { edits: one.into_iter().chain(node.items()).map(|node| reader.edit(node)).collect() }
}

struct FlawReader<'a> {
    found: &'a mut Vec<Diagnostic>,
}

impl FlawReader<'_> {
    fn edit(&mut self, node: &Node) -> FlawEdit {
        if !node.entries().iter().any(|(key, _)| key.value != "on") {
            self.found.push(
                Diagnostic::error("missing-key", "the edit changes nothing", node.span)
                    .with_help("add `hears`, `answers`, `before`, `after` or `ends`".to_owned()),
            );
        }
        let on = node.get("on").map(|on| self.condition(on)).unwrap_or_default();
        if on.answer.is_some() || !on.sends.is_empty() {
            for (name, key) in ["hears", "ends"].iter().filter_map(|name| Some((name, node.get(name)?))) {
                let message = format!("`{name}` does nothing beside a condition on the answer, which comes later");
                self.found.push(
                    Diagnostic::error("useless-key", message, key.span)
                        .with_help("write it in an edit of its own, without `answer` and `sends`".to_owned()),
                );
            }
        }
        FlawEdit {
            on,
            hears: node.get("hears").map(|hears| self.hears(hears)).unwrap_or_default(),
            answers: node.get("answers").map(|answers| self.answers(answers)).unwrap_or_default(),
            before: self.templates(node.get("before")),
            after: self.templates(node.get("after")),
            ends: flag(node, "ends"),
        }
    }

    fn condition(&mut self, node: &Node) -> FlawCondition {
        let number = |key: &str| node.get(key).and_then(Node::whole);
        FlawCondition {
            asked: self.asked(node),
            unless: node.get("unless").map(|unless| self.asked(unless)),
            sends: texts_of(node.get("sends")),
            answer: node.get("answer").map(|answer| self.answered(answer)),
            turn: TurnCondition {
                nth: number("nth"),
                from: number("from"),
                of_server: word(node, "per") == Some("server"),
            },
        }
    }

    fn asked(&mut self, node: &Node) -> RequestCondition {
        RequestCondition {
            methods: texts_of(node.get("method")),
            kinds: listed(node.get("kind")).filter_map(Node::text).filter_map(FlawMessageKind::from_word).collect(),
            over_http: word(node, "over").map(|word| word == "http"),
            verbs: listed(node.get("verb")).filter_map(Node::text).map(str::to_ascii_uppercase).collect(),
            path: word(node, "path").map(str::to_owned),
            headers: self.named(node.get("header"), str::to_ascii_lowercase),
            no_headers: lower_case(node.get("no_header")),
            query: self.named(node.get("query"), str::to_owned),
            fields: self.fields(node),
        }
    }

    fn answered(&mut self, node: &Node) -> AnsweredCondition {
        AnsweredCondition {
            status: listed(node.get("status")).filter_map(|status| self.paths().status(status, 200)).collect(),
            headers: self.named(node.get("header"), str::to_ascii_lowercase),
            fields: self.fields(node),
        }
    }

    fn fields(&mut self, node: &Node) -> PathConditions {
        self.paths().conditions(node.get("with"), node.get("without"))
    }

    fn paths(&mut self) -> PathReader<'_> {
        PathReader { found: self.found }
    }

    fn named(&mut self, node: Option<&Node>, spell: fn(&str) -> String) -> Vec<Named> {
        let entries = node.map(Node::entries).unwrap_or_default().iter();
        let pairs = entries.map(|(name, value)| Named { name: spell(&name.value), wanted: self.paths().wanted(value) });
        let mut named: Vec<_> = pairs.collect();
        named.extend(listed(node).filter_map(Node::text).map(|name| Named { name: spell(name), wanted: None }));
        named
    }

    fn hears(&mut self, node: &Node) -> Hears {
        Hears { nothing: node.text() == Some("nothing"), change: self.change(node) }
    }

    fn answers(&mut self, node: &Node) -> FlawedAnswers {
        let form = Form {
            pretty: flag(node, "pretty"),
            encoding: word(node, "encoding").map(|word| match word {
                "utf-16" => Encoding::Utf16,
                _ => Encoding::Latin1,
            }),
            replace: texts(node.get("replace")),
        };
        FlawedAnswers {
            change: self.change(node),
            whole: self.whole(node),
            status: node.get("status").and_then(|status| self.paths().status(status, 200)),
            times: match node.text() {
                Some("nothing") => 0,
                _ if flag(node, "twice") => 2,
                _ => 1,
            },
            never: node.text() == Some("never"),
            form,
            delay: word(node, "delay").and_then(parse_duration).unwrap_or_default(),
            event_id: match node.get("event_id") {
                Some(id) => self.header(id).map_or(EventId::Absent, EventId::Is),
                None => EventId::AsItWas,
            },
            on_listening: node.get("also_on").is_some(),
        }
    }

    fn whole(&mut self, node: &Node) -> Option<Whole> {
        let keys = ["result", "error", "message", "text", "base64"];
        let mut wholes = node.entries().iter().filter(|(key, _)| keys.contains(&key.value.as_str()));
        let (key, value) = wholes.next()?;
        if let Some((second, _)) = wholes.next() {
            let message = format!("a changed answer has either `{}` or `{}`, not both", key.value, second.value);
            self.found.push(
                Diagnostic::error("two-ways", message, second.span).with_other(key.span, "the other one is here"),
            );
        }
        self.template(value);
        let node = value.clone();
        Some(match key.value.as_str() {
            "result" => Whole::Result(node),
            "error" => Whole::Error(node),
            "message" => Whole::Message(node),
            "base64" => Whole::Bytes(self.bytes(value)?),
            _ => Whole::Text(node),
        })
    }

    fn bytes(&mut self, node: &Node) -> Option<Vec<u8>> {
        let bytes = from_base64(node.text()?);
        if bytes.is_none() {
            self.found.push(
                Diagnostic::error("bad-bytes", "this is not base64", node.span)
                    .with_help("write groups of four letters, digits, `+` and `/`, with `=` at the end".to_owned()),
            );
        }
        bytes
    }

    fn change(&mut self, node: &Node) -> MessageChange {
        let headers = node.get("headers").map(Node::entries).unwrap_or_default().iter();
        MessageChange {
            set: self.values(node.get("set")),
            add: self.values(node.get("add")),
            remove: self.paths().places(node.get("remove")),
            headers: headers.map(|(name, value)| (name.value.to_ascii_lowercase(), self.header(value))).collect(),
        }
    }

    fn values(&mut self, node: Option<&Node>) -> Vec<(MessagePath, Node)> {
        node.map(|node| self.paths().pairs(node, |paths, node| FlawReader { found: paths.found }.template(node)))
            .unwrap_or_default()
    }

    /// The value of a header or an id; nothing takes it away.
    fn header(&mut self, node: &Node) -> Option<Node> {
        node.text()?;
        self.template(node)
    }

    fn templates(&mut self, node: Option<&Node>) -> Vec<Node> {
        node.map(Node::items).unwrap_or_default().iter().filter_map(|item| self.template(item)).collect()
    }

    /// A value whose templates are sound.
    fn template(&mut self, node: &Node) -> Option<Node> {
        let known: BTreeSet<String> = NAMES.iter().map(|name| (*name).to_owned()).collect();
        let mut found = Vec::new();
        template::check(node, &known, &mut found);
        for mistake in &mut found {
            if mistake.code == "unknown-name" {
                mistake.help = Some(format!("the names are `{}`", NAMES.join("`, `")));
            }
        }
        let is_sound = found.is_empty();
        self.found.append(&mut found);
        is_sound.then(|| node.clone())
    }
}

fn texts_of(node: Option<&Node>) -> Vec<String> {
    listed(node).filter_map(Node::text).map(str::to_owned).collect()
}

fn texts(node: Option<&Node>) -> Vec<(String, String)> {
    let entries = node.map(Node::entries).unwrap_or_default().iter();
    entries.filter_map(|(old, new)| Some((old.value.clone(), new.text()?.to_owned()))).collect()
}

fn word<'a>(node: &'a Node, key: &str) -> Option<&'a str> {
    node.get(key).and_then(Node::text)
}

fn flag(node: &Node, key: &str) -> bool {
    node.get(key).and_then(Node::flag).unwrap_or_default()
}
