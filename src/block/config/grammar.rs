//! The keys of `config:`, and what they mean.

use std::sync::Arc;
use std::time::Duration;

use super::spellings::ValueKind;
use super::{
    CallClaim, ConfigSetting, ConfigSettings, HintSettings, LimitClaim, PageSizeSettings, SettingClaim, SettingStart,
    ValueClaim,
};
use crate::plan::CaseSource;
use crate::plan::generated::bare;
use crate::source::grammar::Shape;
use crate::source::settings::Setting;
use crate::source::{Diagnostic, Located, Node, Span, Value, settings};
use crate::suite::{Action, BlockReader, SkipReason, StartChanges, Step};

settings! {
    /// Hints of tools that must be true, and settings that must have the effect that they claim; `config: true` checks the
    /// hints.
    pub(crate) struct ConfigKeys as "config" {
        /// Calls tools with `readOnlyHint: true`, which must change nothing, and tools with `idempotentHint: true` twice, the
        /// second time without effect. A server whose start says that it is read-only, as with `--read-only` or
        /// `NOTES_READ_ONLY=true`, must change nothing.
        hints: Switched<HintSettings>,
        /// Asks tools with a parameter such as `limit` or `page_size` for few items, of which they must not return more.
        page_sizes: Switched<PageSizeSettings>,
        /// Settings, and what they claim.
        settings: Vec<SettingKeys> => shape(SETTINGS),
    }
}

/// Several settings, and what they claim.
pub(crate) const SETTINGS: Shape = Shape::NonEmpty(&Shape::List(&SettingKeys::SHAPE));

/// Settings that `false` switches off, and `true` takes with their defaults.
#[derive(Debug, Clone)]
struct Switched<T>(Option<T>);

impl<T: Setting> Setting for Switched<T> {
    const SHAPE: Shape = Shape::Either(&[Shape::Flag, T::SHAPE]);

    fn decode(node: &Node, found: &mut Vec<Diagnostic>) -> Option<Self> {
        Some(Self(if node.flag() == Some(false) { None } else { T::decode(node, found) }))
    }

    fn absent() -> Option<Self> {
        Some(Self(None))
    }
}

/// The key of claims that compare the server with and without the setting.
const WITH: &[&str] = &["with"];

const STEPS: Shape = Shape::NonEmpty(&Shape::List(&Step::SHAPE));

settings! {
    /// A setting of the server, and what it claims. The server is started without it and with it.
    pub(crate) struct SettingKeys as "a setting" {
        /// Its name in reports.
        name: Located<String> => required(),
        /// The arguments and environment variables that are added to the start of the server. Without `with`, the server has
        /// the setting already, and there is no server without it to compare with.
        with: Option<Located<AddedKeys>> => shape(Shape::NonEmpty(&AddedKeys::SHAPE)),
        /// The setting forbids all changes. Without `refuses`, the tools that may change data are found by their hints and
        /// names, and those are called that may be called.
        read_only: bool => shape(Shape::True) beside(WITH),
        /// Calls that are served without the setting and with it, before those that are refused.
        serves: Option<Vec<Step>> => shape(STEPS) beside(WITH),
        /// Calls that are served without the setting and refused with it, one after another.
        refuses: Option<Vec<Step>> => shape(STEPS) beside(WITH),
        /// Calls whose answers are as expected with the setting, and not without it; without `expect`, the answers differ.
        differs: Option<Vec<Step>> => shape(STEPS) beside(WITH),
        /// Values that are refused in every spelling.
        denies: Option<Node> => shape(DenyKeys::SHAPE),
        /// Values inside and outside of what may be accessed.
        scope: Option<Node> => shape(ScopeKeys::SHAPE),
        /// A number of calls that are served; further ones are refused.
        limit: Option<Node> => shape(LimitKeys::SHAPE),
        /// `false`: the value is invalid, and the server must exit with an error, or say on standard error what is wrong.
        starts: Option<bool> => beside(WITH),
        /// The time for each claim.
        time: Duration => default("60s"),
        /// The reason why it is not checked.
        skip: SkipReason,
    }
}

settings! {
    /// What is added to the start of a server.
    struct AddedKeys as "with" {
        /// Arguments behind those of the server's `command`.
        args: Vec<Node> => shape(Shape::NonEmpty(&Shape::List(&SCALAR))),
        /// Environment variables; one that the server has already gets this value.
        env: Vec<(Located<String>, Node)> => shape(Shape::NonEmpty(&Shape::Map(&SCALAR))),
    }
}

const SCALAR: Shape = Shape::Either(&[Shape::Text, Shape::Number, Shape::Flag]);

const VALUES: Shape = Shape::NonEmpty(&Shape::List(&Shape::Text));

const ARGS: Shape = Shape::NonEmpty(&Shape::Map(&Shape::Any));

settings! {
    /// Values that a call must not have, in any spelling that means the same.
    struct DenyKeys as "denies", at span {
        /// The tool.
        call: Node => required() shape(Shape::Text),
        /// Its arguments, with `{{ value }}` in the place of the value.
        args: Node => required() shape(ARGS),
        /// The values that are refused.
        values: Vec<Node> => required() shape(VALUES),
        /// Harmless values that are served.
        allows: Vec<Node> => required() shape(VALUES),
        /// The meaning of a value, which decides in which spellings it is tried: a `word` in any letter case, a `path` with
        /// steps that lead nowhere, a `domain` in any letter case or with a final dot, a `command` as shells read it.
        kind: ValueKind => default("word"),
    }
}

settings! {
    /// What a call may access, and what it may not.
    struct ScopeKeys as "scope", at span {
        /// The tool.
        call: Node => required() shape(Shape::Text),
        /// Its arguments, with `{{ value }}` in the place of the value.
        args: Node => required() shape(ARGS),
        /// Values that are served.
        inside: Vec<Node> => required() shape(VALUES),
        /// Values that are refused.
        outside: Vec<Node> => required() shape(VALUES),
        /// The meaning of a value: paths outside are also tried by way of folders inside, and domains also as neighbours of
        /// those inside, such as `example.com.invalid`.
        kind: ValueKind => default("word"),
    }
}

settings! {
    /// How many calls are served: with `per`, in that time, and otherwise at all.
    struct LimitKeys as "limit" {
        /// The tool.
        call: Node => required() shape(Shape::Text),
        /// Its arguments; `{{ number }}` counts the calls from 1.
        args: Option<Node> => shape(ARGS),
        /// The number of calls that are served.
        calls: usize => required() range(1, 1_000),
        /// The time in which so many calls are served; afterwards calls are served again.
        per: Option<Duration>,
    }
}

pub(crate) fn decode(node: &Node, reader: &mut dyn BlockReader) -> Option<Arc<dyn CaseSource>> {
    let found = reader.mistakes();
    let (hints, page_sizes, settings) = match &node.value {
        Value::Bool(true) => (HintSettings::decode(node, found), None, Vec::new()),
        Value::List(_) => (None, None, Vec::decode(node, found)?),
        Value::Map(_) => {
            let keys = ConfigKeys::decode(node, found)?;
            (keys.hints.0, keys.page_sizes.0, keys.settings)
        }
        Value::Null | Value::Bool(false) | Value::Number(_) | Value::Text(_) => return None,
    };
    // A list that is written has a setting, or a mistake that was reported.
    if hints.is_none() && page_sizes.is_none() && settings.is_empty() && node.get("settings").is_none() {
        let message = "nothing is checked, so nothing can fail".to_owned();
        let help = "write `hints: true`, `page_sizes: true` or `settings`, or leave `config` out";
        found.push(Diagnostic::error("missing-expectation", message, node.span).with_help(help.to_owned()));
    }
    Some(Arc::new(ConfigSettings {
        hints: hints.map(Arc::new),
        page_sizes: page_sizes.map(Arc::new),
        settings: settings.into_iter().map(|keys| Arc::new(setting(keys, found))).collect(),
    }))
}

/// The first key of a setting that claims something of a valid value.
fn claim(keys: &SettingKeys) -> Option<&'static str> {
    let are_written = [
        (keys.refuses.is_some(), "refuses"),
        (keys.differs.is_some(), "differs"),
        (keys.read_only, "read_only"),
        (keys.denies.is_some(), "denies"),
        (keys.scope.is_some(), "scope"),
        (keys.limit.is_some(), "limit"),
    ];
    are_written.into_iter().find(|(is_written, _)| *is_written).map(|(_, key)| key)
}

fn setting(keys: SettingKeys, found: &mut Vec<Diagnostic>) -> ConfigSetting {
    let name = keys.name.clone();
    let must_not_start = keys.starts == Some(false);
    let claimed = claim(&keys);
    let written = keys.serves.is_some().then_some("serves").or(claimed);
    if let Some(other) = written.filter(|_| must_not_start) {
        let message = format!("`starts: false` cannot be combined with `{other}`");
        let help = "write one setting with `starts: false`, and another one for what it does with a valid value";
        found.push(Diagnostic::error("misplaced-key", message, name.span).with_help(help.to_owned()));
    }
    if !must_not_start && claimed.is_none() {
        let message = format!("nothing is expected of the setting `{}`, so it cannot fail", name.value);
        let help = "add what it does: `refuses`, `differs`, `read_only`, `denies`, `scope`, `limit` or `starts: false`";
        found.push(Diagnostic::error("missing-expectation", message, name.span).with_help(help.to_owned()));
    }
    let calls = CallClaim {
        serves: steps("serves", keys.serves, found),
        refuses: steps("refuses", keys.refuses, found),
        differs: steps("differs", keys.differs, found),
        read_only: keys.read_only,
    };
    let judges_calls = calls.read_only || !(calls.refuses.is_empty() && calls.differs.is_empty());
    let claims = [
        judges_calls.then_some(SettingClaim::Calls(calls)),
        keys.denies.and_then(|node| denied_value(&node, found)).map(SettingClaim::Values),
        keys.scope.and_then(|node| scope(&node, found)).map(SettingClaim::Values),
        keys.limit.and_then(|node| limit(&node, found)).map(SettingClaim::Limit),
        must_not_start.then_some(SettingClaim::NoStart),
    ];
    ConfigSetting {
        span: name.span,
        name: name.value,
        skip: keys.skip.0,
        start: keys.with.map_or(SettingStart::Always, |with| {
            let AddedKeys { args, env } = with.value;
            let changes = StartChanges { args, env, must_not_start, ..StartChanges::default() };
            SettingStart::Added { changes, span: with.span }
        }),
        claims: claims.into_iter().flatten().collect(),
        time: keys.time,
    }
}

/// The steps under a key; those that do not ask for one answer are mistakes.
fn steps(key: &str, steps: Option<Vec<Step>>, found: &mut Vec<Diagnostic>) -> Vec<Step> {
    let steps = steps.unwrap_or_default();
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
        found.push(Diagnostic::error("misplaced-key", message, step.span).with_help(help.to_owned()));
    }
    steps
}

fn denied_value(node: &Node, found: &mut Vec<Diagnostic>) -> Option<ValueClaim> {
    let keys = DenyKeys::decode(node, found)?;
    check_template(&keys.args, keys.span, found);
    check_apart([("values", keys.values.as_slice()), ("allows", keys.allows.as_slice())], found);
    let step = call(keys.call, Some(keys.args));
    Some(ValueClaim { is_scope: false, step, kind: keys.kind, refused: keys.values, served: keys.allows })
}

fn scope(node: &Node, found: &mut Vec<Diagnostic>) -> Option<ValueClaim> {
    let keys = ScopeKeys::decode(node, found)?;
    check_template(&keys.args, keys.span, found);
    check_apart([("outside", keys.outside.as_slice()), ("inside", keys.inside.as_slice())], found);
    let step = call(keys.call, Some(keys.args));
    Some(ValueClaim { is_scope: true, step, kind: keys.kind, refused: keys.outside, served: keys.inside })
}

fn limit(node: &Node, found: &mut Vec<Diagnostic>) -> Option<LimitClaim> {
    let keys = LimitKeys::decode(node, found)?;
    Some(LimitClaim { step: call(keys.call, keys.args), calls: keys.calls, per: keys.per })
}

/// The call of a claim that is made with several values.
fn call(tool: Node, args: Option<Node>) -> Step {
    let span = tool.span;
    bare(Action::Call { tool, args }, span)
}

fn check_template(args: &Node, span: Span, found: &mut Vec<Diagnostic>) {
    if !args.to_json().to_string().contains("value") {
        let message = "the arguments do not have `{{ value }}`, so every call is the same".to_owned();
        let help = "write for example `args: { name: \"{{ value }}\" }`";
        found.push(Diagnostic::error("template-not-filled", message, span).with_help(help.to_owned()));
    }
}

/// Reports values that are both refused and served.
fn check_apart([(refused, denied), (served, allowed)]: [(&str, &[Node]); 2], found: &mut Vec<Diagnostic>) {
    for both in denied.iter().filter(|value| allowed.iter().any(|other| other.text() == value.text())) {
        let message = format!("`{}` is both under `{refused}` and under `{served}`", both.to_text());
        found.push(Diagnostic::error("duplicate-name", message, both.span));
    }
}

/// A setting without mistakes.
#[cfg(test)]
pub(crate) fn setting_of_test(text: &str) -> ConfigSetting {
    let mut found = Vec::new();
    let setting = setting(crate::check::tests::settings(text), &mut found);
    assert!(found.is_empty(), "{found:?}");
    setting
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::tests::node;

    /// The words of the claims of a setting, and the codes of its mistakes.
    fn read_setting(text: &str) -> (Vec<&'static str>, Vec<&'static str>) {
        let mut found = Vec::new();
        let keys = SettingKeys::decode(&node(text), &mut found).map(|keys| setting(keys, &mut found));
        let claims = keys.map(|setting| setting.claims.iter().map(SettingClaim::as_str).collect());
        (claims.unwrap_or_default(), found.iter().map(|found| found.code).collect())
    }

    #[test]
    fn a_setting_claims_what_is_written() {
        let with = |rest: &str| format!("{{ name: safe mode, with: {{ args: [--safe] }}, {rest} }}");
        let denies = "denies: { call: run, args: { line: \"{{ value }}\" }, values: [rm], allows: [ls] }";
        let scope = "scope: { call: read, args: { path: \"{{ value }}\" }, inside: [a], outside: [b] }";
        for (rest, claims) in [
            ("read_only: true", &["calls"][..]),
            ("refuses: [{ call: add }]", &["calls"]),
            ("differs: [{ call: get }], serves: [{ call: get }]", &["calls"]),
            (denies, &["denied values"]),
            (scope, &["scope"]),
            ("limit: { call: add, calls: 3 }", &["limit"]),
            ("starts: false", &["does not start"]),
            (
                &format!("read_only: true, {denies}, {scope}, limit: {{ call: add, calls: 3 }}"),
                &["calls", "denied values", "scope", "limit"],
            ),
        ] {
            let (claimed, mistakes) = read_setting(&with(rest));
            assert_eq!((claimed.as_slice(), mistakes.as_slice()), (claims, &[][..]), "{rest}");
        }
    }

    #[test]
    fn settings_that_cannot_fail_or_mean_two_things_are_mistakes() {
        let denies = |values: &str, allows: &str, args: &str| {
            format!("denies: {{ call: run, args: {args}, values: {values}, allows: {allows} }}")
        };
        let template = "{ line: \"{{ value }}\" }";
        for (rest, code) in [
            ("time: 5s".to_owned(), "missing-expectation"),
            ("serves: [{ call: get }]".to_owned(), "missing-expectation"),
            ("starts: true".to_owned(), "missing-expectation"),
            ("starts: false, serves: [{ call: get }]".to_owned(), "misplaced-key"),
            ("starts: false, read_only: true".to_owned(), "misplaced-key"),
            ("refuses: [{ call: add, capture: { id: $.id } }]".to_owned(), "misplaced-key"),
            (denies("[rm, ls]", "[ls]", template), "duplicate-name"),
            (denies("[rm]", "[ls]", "{ line: rm }"), "template-not-filled"),
        ] {
            let (_, mistakes) = read_setting(&format!("{{ name: safe mode, with: {{ args: [--safe] }}, {rest} }}"));
            assert_eq!(mistakes, [code], "{rest}");
        }
    }
}
