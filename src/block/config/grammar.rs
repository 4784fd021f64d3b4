//! The keys of `config:`, and what they mean.

use std::sync::Arc;

use super::spellings::ValueKind;
use super::{
    CallClaim, ConfigSetting, ConfigSettings, HintSettings, LimitClaim, PageSizeSettings, SettingClaim, ValueClaim,
};
use crate::plan::CaseSource;
use crate::source::grammar::{Object, Shape, key, required};
use crate::source::settings::Setting;
use crate::source::{Diagnostic, Node, Value};
use crate::suite::grammar::STEP;
use crate::suite::{Action, AddedSettings, BlockReader, Step, duration, skip_reason, steps, texts};

pub(crate) static KEYS: Object = Object {
    name: "config",
    doc: "Hints of tools that must be true, and settings that must have the effect that they claim; `config: true` checks \
          the hints.",
    keys: &[&[
        key(
            "hints",
            Shape::Either(&[Shape::Flag, HintSettings::SHAPE]),
            "Calls tools with `readOnlyHint: true`, which must change nothing, and tools with `idempotentHint: true` twice, \
             the second time without effect.",
        ),
        key(
            "page_sizes",
            Shape::Either(&[Shape::Flag, PageSizeSettings::SHAPE]),
            "Asks tools with a parameter such as `limit` or `page_size` for few items, of which they must not return more.",
        ),
        key("settings", Shape::NonEmpty(&Shape::List(&Shape::Object(&SETTING))), "Settings, and what they claim."),
    ]],
};

/// The key of claims that compare the server with and without the setting.
const WITH: &[&str] = &["with"];

const STEPS: Shape = Shape::NonEmpty(&Shape::List(&Shape::Object(&STEP)));

pub(crate) static SETTING: Object = Object {
    name: "a setting",
    doc: "A setting of the server, and what it claims. The server is started without it and with it.",
    keys: &[&[
        required("name", Shape::Text, "Its name in reports."),
        key(
            "with",
            Shape::NonEmpty(&Shape::Object(&ADDED)),
            "The arguments and environment variables that are added to the start of the server. Without `with`, the server \
             has the setting already, and there is no server without it to compare with.",
        ),
        key(
            "read_only",
            Shape::True,
            "The setting forbids all changes. Without `refuses`, the tools that may change data are found by their hints \
             and names, and those are called that may be called.",
        )
        .beside(WITH),
        key("serves", STEPS, "Calls that are served without the setting and with it, before those that are refused.")
            .beside(WITH),
        key("refuses", STEPS, "Calls that are served without the setting and refused with it, one after another.")
            .beside(WITH),
        key(
            "differs",
            STEPS,
            "Calls whose answers are as expected with the setting, and not without it; without `expect`, the answers \
             differ.",
        )
        .beside(WITH),
        key("denies", Shape::Object(&DENIES), "Values that are refused in every spelling."),
        key("scope", Shape::Object(&SCOPE), "Values inside and outside of what may be accessed."),
        key("limit", Shape::Object(&LIMIT), "A number of calls that are served; further ones are refused."),
        key(
            "starts",
            Shape::Flag,
            "`false`: the value is invalid, and the server must exit with an error, or say on standard error what is wrong.",
        )
        .beside(WITH),
        key("time", Shape::Timeout, "The time for each claim.").default("60s"),
        key("skip", Shape::Either(&[Shape::Text, Shape::Flag]), "The reason why it is not checked."),
    ]],
};

static ADDED: Object = Object {
    name: "with",
    doc: "What is added to the start of a server.",
    keys: &[&[
        key("args", Shape::NonEmpty(&Shape::List(&SCALAR)), "Arguments behind those of the server's `command`."),
        key(
            "env",
            Shape::NonEmpty(&Shape::Map(&SCALAR)),
            "Environment variables; one that the server has already gets this value.",
        ),
    ]],
};

static SCALAR: Shape = Shape::Either(&[Shape::Text, Shape::Number, Shape::Flag]);

const VALUES: Shape = Shape::NonEmpty(&Shape::List(&Shape::Text));

const ARGS: Shape = Shape::NonEmpty(&Shape::Map(&Shape::Any));

static DENIES: Object = Object {
    name: "denies",
    doc: "Values that a call must not have, in any spelling that means the same.",
    keys: &[&[
        required("call", Shape::Text, "The tool."),
        required("args", ARGS, "Its arguments, with `{{ value }}` in the place of the value."),
        required("values", VALUES, "The values that are refused."),
        required("allows", VALUES, "Harmless values that are served."),
        key(
            "kind",
            Shape::Choice(ValueKind::WORDS),
            "The meaning of a value, which decides in which spellings it is tried: a `word` in any letter case, a `path` with \
             steps that lead nowhere, a `domain` in any letter case or with a final dot, a `command` as shells read it.",
        )
        .default("word"),
    ]],
};

static SCOPE: Object = Object {
    name: "scope",
    doc: "What a call may access, and what it may not.",
    keys: &[&[
        required("call", Shape::Text, "The tool."),
        required("args", ARGS, "Its arguments, with `{{ value }}` in the place of the value."),
        required("inside", VALUES, "Values that are served."),
        required("outside", VALUES, "Values that are refused."),
        key(
            "kind",
            Shape::Choice(ValueKind::WORDS),
            "The meaning of a value: paths outside are also tried by way of folders inside, and domains also as neighbours of \
             those inside, such as `example.com.invalid`.",
        )
        .default("word"),
    ]],
};

static LIMIT: Object = Object {
    name: "limit",
    doc: "How many calls are served: with `per`, in that time, and otherwise at all.",
    keys: &[&[
        required("call", Shape::Text, "The tool."),
        key("args", ARGS, "Its arguments; `{{ number }}` counts the calls from 1."),
        required("calls", Shape::Range(1, 1_000), "The number of calls that are served."),
        key("per", Shape::Timeout, "The time in which so many calls are served; afterwards calls are served again."),
    ]],
};

pub(crate) fn read(node: &Node, reader: &mut dyn BlockReader) -> Option<Arc<dyn CaseSource>> {
    let chosen = |key: &str| node.get(key).filter(|chosen| chosen.flag() != Some(false));
    let (hints, page_sizes, settings) = match &node.value {
        Value::Bool(true) => (Some(node), None, None),
        Value::List(_) => (None, None, Some(node)),
        Value::Map(_) => (chosen("hints"), chosen("page_sizes"), node.get("settings")),
        Value::Null | Value::Bool(false) | Value::Number(_) | Value::Text(_) => return None,
    };
    if hints.is_none() && page_sizes.is_none() && settings.is_none() {
        let message = "nothing is checked, so nothing can fail".to_owned();
        let help = "write `hints: true`, `page_sizes: true` or `settings`, or leave `config` out";
        reader.report(Diagnostic::error("missing-expectation", message, node.span).with_help(help.to_owned()));
    }
    let settings = settings.map(Node::items).unwrap_or_default();
    Some(Arc::new(ConfigSettings {
        hints: hints.and_then(HintSettings::read).map(Arc::new),
        page_sizes: page_sizes.and_then(PageSizeSettings::read).map(Arc::new),
        settings: settings.iter().filter_map(|node| read_setting(node, reader)).map(Arc::new).collect(),
    }))
}

fn read_setting(node: &Node, reader: &mut dyn BlockReader) -> Option<ConfigSetting> {
    let name = node.get("name")?.located_text()?;
    let mut claims = Vec::new();
    let calls = CallClaim {
        serves: read_steps(node, "serves", reader),
        refuses: read_steps(node, "refuses", reader),
        differs: read_steps(node, "differs", reader),
        read_only: node.get("read_only").and_then(Node::flag) == Some(true),
    };
    if calls.read_only || !(calls.refuses.is_empty() && calls.differs.is_empty()) {
        claims.push(SettingClaim::Calls(calls));
    }
    claims.extend(node.get("denies").and_then(|node| read_values(node, reader, false)).map(SettingClaim::Values));
    claims.extend(node.get("scope").and_then(|node| read_values(node, reader, true)).map(SettingClaim::Values));
    claims.extend(node.get("limit").and_then(|node| read_limit(node, reader)).map(SettingClaim::Limit));
    let must_not_start = node.get("starts").and_then(Node::flag) == Some(false);
    if must_not_start {
        claims.push(SettingClaim::NoStart);
    }
    let has_mistake = ["refuses", "differs", "denies", "scope", "limit"].iter().any(|key| node.get(key).is_some());
    if claims.is_empty() && !has_mistake {
        let message = format!("nothing is expected of the setting `{}`, so it cannot fail", name.value);
        let help = "add what it does: `refuses`, `differs`, `read_only`, `denies`, `scope`, `limit` or `starts: false`";
        reader.report(Diagnostic::error("missing-expectation", message, name.span).with_help(help.to_owned()));
    }
    let others = ["serves", "refuses", "differs", "read_only", "denies", "scope", "limit"];
    let other = others.iter().find(|key| node.get(key).is_some());
    if let Some(other) = other.filter(|_| must_not_start && claims.len() > 1) {
        let message = format!("`starts: false` cannot be combined with `{other}`");
        let help = "write one setting with `starts: false`, and another one for what it does with a valid value";
        reader.report(Diagnostic::error("misplaced-key", message, name.span).with_help(help.to_owned()));
    }
    Some(ConfigSetting {
        span: name.span,
        name: name.value,
        skip: skip_reason(node.get("skip")),
        with: node.get("with").map(|with| read_added(with, must_not_start)),
        with_span: node.get("with").map(|with| with.span),
        claims,
        time: SETTING.duration(node, "time").unwrap_or_default(),
    })
}

fn read_added(node: &Node, must_not_start: bool) -> AddedSettings {
    AddedSettings {
        args: node.get("args").map(Node::items).unwrap_or_default().to_vec(),
        env: node.get("env").map(Node::entries).unwrap_or_default().to_vec(),
        must_not_start,
    }
}

/// Steps that ask for one answer; all others are mistakes here.
fn read_steps(node: &Node, key: &str, reader: &mut dyn BlockReader) -> Vec<Step> {
    let steps = steps(node.get(key), reader.found());
    let asks = |step: &Step| {
        let has_answer = matches!(
            step.action,
            Action::Call { .. }
                | Action::Read { .. }
                | Action::Prompt { .. }
                | Action::Complete { .. }
                | Action::List(_)
                | Action::Request { .. }
        );
        has_answer && step.cancel.is_none() && step.snapshot.is_none() && step.capture.is_empty()
    };
    for step in steps.iter().filter(|step| !asks(step)) {
        let message = format!("a step under `{key}` makes one request, and keeps nothing of its answer");
        let help = "write for example `{ call: create_user, args: { name: Ann } }`, without `capture`, `snapshot` and `cancel`";
        reader.report(Diagnostic::error("misplaced-key", message, step.span).with_help(help.to_owned()));
    }
    steps
}

fn read_values(node: &Node, reader: &mut dyn BlockReader, is_scope: bool) -> Option<ValueClaim> {
    let step = read_call(node, reader)?;
    let kind = if is_scope { SCOPE.value(node, "kind") } else { DENIES.value(node, "kind") };
    let (refused, served) = if is_scope { ("outside", "inside") } else { ("values", "allows") };
    if !node.get("args")?.to_json().to_string().contains("value") {
        let message = "the arguments do not have `{{ value }}`, so every call is the same".to_owned();
        let help = "write for example `args: { name: \"{{ value }}\" }`";
        reader.report(Diagnostic::error("template-not-filled", message, node.span).with_help(help.to_owned()));
    }
    let (denied, allowed) = (texts(node.get(refused)), texts(node.get(served)));
    for both in denied.iter().filter(|value| allowed.iter().any(|other| other.value == value.value)) {
        let message = format!("`{}` is both under `{refused}` and under `{served}`", both.value);
        reader.report(Diagnostic::error("duplicate-name", message, both.span));
    }
    Some(ValueClaim {
        is_scope,
        step,
        kind: kind.as_ref().and_then(Node::text).and_then(ValueKind::from_word)?,
        refused: node.get(refused).map(Node::items).unwrap_or_default().to_vec(),
        served: node.get(served).map(Node::items).unwrap_or_default().to_vec(),
    })
}

fn read_limit(node: &Node, reader: &mut dyn BlockReader) -> Option<LimitClaim> {
    let calls = node.get("calls")?.whole()?;
    Some(LimitClaim { step: read_call(node, reader)?, calls: usize::try_from(calls).ok()?, per: duration(node, "per") })
}

/// The call of a claim that is made with several values.
fn read_call(node: &Node, reader: &mut dyn BlockReader) -> Option<Step> {
    let list = Node { value: Value::List(vec![node.clone()]), ..node.clone() };
    steps(Some(&list), reader.found()).into_iter().next()
}
