//! Calls made again with their arguments as models write them.

use serde_json::{Map, Value};

use super::host::AgentHost;
use super::run::AgentCall;
use crate::event::Finding;
use crate::source::words;
use crate::suite::Suite;

/// The most calls that are made again.
const MOST_CALLS: usize = 10;

/// The name of a field that no tool has.
const EXTRA: &str = "reason_for_the_call";

/// The form in which it is sent; a tool may do something with fields that it does not declare.
const WITH_EXTRA: &str = "one more field";

/// A call that was made again.
#[derive(Debug)]
pub(crate) struct LooseCall {
    pub(crate) tool: String,
    /// The arguments in words: `numbers as text`.
    pub(crate) form: &'static str,
    pub(crate) arguments: Value,
    pub(crate) answer: String,
    pub(crate) verdict: LooseVerdict,
}

/// The server's reaction to loose arguments.
#[derive(Debug)]
pub(crate) enum LooseVerdict {
    /// It serves them alike, or says what is wrong.
    Understood,
    /// It answers something else than before.
    Misunderstood,
    /// It refuses them without a reason.
    Unexplained,
    /// It gives no answer.
    Unanswered(Box<Finding>),
}

/// Arguments in a form in which models write them.
struct LooseForm {
    name: &'static str,
    arguments: Map<String, Value>,
    /// The arguments that differ.
    changed: Vec<String>,
}

/// Makes the calls of a run that were served again, in each form that differs.
pub(crate) async fn call_again(host: &mut AgentHost<'_>, calls: &[AgentCall], suite: &Suite) -> Vec<LooseCall> {
    let mut made: Vec<(&str, &str, &Value)> = Vec::new();
    let mut again = Vec::new();
    for call in calls {
        let Some((server, tool)) = call.reached_tool().filter(|_| !call.result.is_error && !call.is_struck) else {
            continue;
        };
        let Some(arguments) = call.arguments.as_object() else { continue };
        if made.contains(&(server, tool, &call.arguments)) || made.len() >= MOST_CALLS {
            continue;
        }
        made.push((server, tool, &call.arguments));
        let Some(listed) = host.listed.iter().find(|one| one.server == server && one.tool.name == tool).cloned() else {
            continue;
        };
        if suite.hazard(server, &listed.tool).is_some() {
            continue;
        }
        // The control: the same call once more, since other calls may have come between.
        let control = host.call(server, tool, arguments.clone()).await.result;
        for LooseForm { name, arguments, changed } in forms(arguments, listed.tool.input_schema()) {
            let answer = host.call(server, tool, arguments.clone()).await;
            let earlier = EarlierAnswers { first: &call.served_text, control: &control.text };
            let verdict = match answer.failure {
                Some(found) => LooseVerdict::Unanswered(Box::new(found)),
                None => earlier.judge(&answer.result.text, answer.result.is_error, &changed),
            };
            let (arguments, answer) = (Value::Object(arguments), answer.result.text);
            again.push(LooseCall { tool: tool.to_owned(), form: name, arguments, answer, verdict });
        }
    }
    again
}

/// The texts with which a call was served with the arguments of the run.
struct EarlierAnswers<'a> {
    /// In the run.
    first: &'a str,
    /// Once more.
    control: &'a str,
}

impl EarlierAnswers<'_> {
    /// Judges the answer to the same call with loose arguments, of which these were changed.
    fn judge(&self, text: &str, is_error: bool, changed: &[String]) -> LooseVerdict {
        match is_error {
            true if explains(text, changed) => LooseVerdict::Understood,
            true => LooseVerdict::Unexplained,
            // A tool that answers otherwise each time shows nothing.
            false if text == self.control || self.control != self.first => LooseVerdict::Understood,
            false => LooseVerdict::Misunderstood,
        }
    }
}

/// The arguments in each form that differs from them.
fn forms(arguments: &Map<String, Value>, schema: &Value) -> Vec<LooseForm> {
    let rewritten = |name, types: &[&str]| {
        let mut form = LooseForm { name, arguments: arguments.clone(), changed: Vec::new() };
        for (key, value) in &mut form.arguments {
            let declared = schema["properties"][key]["type"].as_str();
            // A text that the schema allows as well is another value.
            if !value.is_string() && declared.is_some_and(|declared| types.contains(&declared)) {
                *value = value.to_string().into();
                form.changed.push(key.clone());
            }
        }
        form
    };
    let added = |name, keys: Vec<String>, value: Value| {
        let mut arguments = arguments.clone();
        arguments.extend(keys.iter().map(|key| (key.clone(), value.clone())));
        LooseForm { name, arguments, changed: keys }
    };
    let known = schema["properties"].as_object().into_iter().flat_map(|known| known.keys().cloned());
    let left_out = known.filter(|name| !arguments.contains_key(name)).collect();
    let all = [
        rewritten("numbers and booleans as text", &["number", "integer", "boolean"]),
        rewritten("values as JSON text", &["object", "array"]),
        added("`null` for what is left out", left_out, Value::Null),
        added(WITH_EXTRA, vec![EXTRA.to_owned()], "as the user asked".into()),
    ];
    all.into_iter().filter(|form| !form.changed.is_empty()).collect()
}

/// A refusal explains itself if it names an argument, or the type that it should have.
fn explains(text: &str, changed: &[String]) -> bool {
    const TYPES: [&str; 8] = ["number", "integer", "string", "boolean", "object", "array", "type", "expected"];
    let said = words(text);
    // A name of few letters is a word of its own in other sentences.
    let is_named = |name: &String| match name.chars().count() {
        0..3 => ["`", "'", "\""].iter().any(|quote| text.contains(&format!("{quote}{name}{quote}"))),
        _ => text.contains(name.as_str()),
    };
    changed.iter().any(is_named) || TYPES.iter().any(|kind| said.iter().any(|word| word == kind))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_server_understands_loose_arguments_or_says_what_is_wrong() {
        let changed = ["limit".to_owned(), "id".to_owned()];
        let (served, other, refused) = (("3 users", false), ("5 users", false), ("limit must be a number", true));
        for (answer, control, first, expected) in [
            (served, "3 users", "3 users", "Understood"),
            (refused, "3 users", "3 users", "Understood"),
            (("`id` is wrong", true), "3 users", "3 users", "Understood"),
            (("invalid type", true), "3 users", "3 users", "Understood"),
            (("internal error", true), "3 users", "3 users", "Unexplained"),
            // `id` in `did` names no argument.
            (("the call did not work", true), "3 users", "3 users", "Unexplained"),
            (other, "3 users", "3 users", "Misunderstood"),
            // The same call answers something else each time, as a clock does.
            (other, "4 users", "3 users", "Understood"),
        ] {
            let (text, is_error) = answer;
            let verdict = EarlierAnswers { first, control }.judge(text, is_error, &changed);
            assert_eq!(format!("{verdict:?}"), expected, "{answer:?} {control} {first}");
        }
    }

    #[test]
    fn arguments_are_written_as_models_write_them() {
        let schema = json!({ "properties": {
            "limit": { "type": "integer" }, "all": { "type": "boolean" }, "ids": { "type": "array" },
            "name": { "type": "string" }, "any": { "type": ["integer", "string"] }, "page": { "type": "integer" },
        } });
        let arguments = json!({ "limit": 3, "all": true, "ids": ["u1"], "name": "Ann", "any": 5 });
        let forms = forms(arguments.as_object().unwrap(), &schema);
        let of =
            |name: &str| forms.iter().find(|form| form.name == name).map(|form| Value::from(form.arguments.clone()));
        let text = of("numbers and booleans as text").unwrap();
        assert_eq!((&text["limit"], &text["all"], &text["ids"]), (&json!("3"), &json!("true"), &json!(["u1"])));
        assert_eq!(text["any"], 5, "a text is a value of its own there");
        assert_eq!(of("values as JSON text").unwrap()["ids"], "[\"u1\"]");
        assert_eq!(of("`null` for what is left out").unwrap()["page"], Value::Null);
        assert!(of(WITH_EXTRA).unwrap()[EXTRA].is_string());
    }

    #[test]
    fn a_form_that_changes_nothing_is_left_out() {
        let schema = json!({ "properties": { "name": { "type": "string" } } });
        let forms = forms(json!({ "name": "Ann" }).as_object().unwrap(), &schema);
        assert_eq!(forms.iter().map(|form| form.name).collect::<Vec<_>>(), [WITH_EXTRA]);
    }
}
