//! Calls that a setting refuses, serves or changes, each made without the setting, too.

use std::iter::once;
use std::time::Duration;

use serde_json::{Value, json};

use super::CallClaim;
use super::setting_sessions::{SettingAnswer, SettingSessions};
use super::switches::{SwitchedCall, switched_calls};
use crate::check::CheckEnd;
use crate::check::answer_data::shows_anything;
use crate::check::shown_state::{CLOCK, ShownChange, ShownState, StateView, result_of};
use crate::event::{Finding, RequirementLevel};
use crate::generate::Rng;
use crate::plan::CheckContext;
use crate::plan::arguments::{ConfigSource, safe_arguments, server_folder, valid_arguments};
use crate::plan::generated::{bare, text_node};
use crate::session::Session;
use crate::source::template::{Names, from_json};
use crate::suite::{Action, Step};
use crate::wire::Tool;

/// The number of arguments that are drawn in the search for a call that changes something, and of those that are sent.
const DRAWS: u64 = 24;
const MOST_DRAWN: usize = 4;

/// The largest of them, in bytes of JSON.
const LARGEST: usize = 2048;

/// The longest text that is read as a refusal, in bytes.
const LONGEST_REFUSAL: usize = 400;

/// Words of refusals, in lower case.
const REFUSING: [&str; 12] = [
    "read-only",
    "read only",
    "readonly",
    "not allowed",
    "not permitted",
    "permission denied",
    "access denied",
    "forbidden",
    "is disabled",
    "are disabled",
    "refused",
    "cannot ",
];

pub(crate) async fn judge(sessions: &mut SettingSessions<'_>, claim: &CallClaim) -> Result<String, CheckEnd> {
    let writers = if claim.read_only && claim.refuses.is_empty() { writers(sessions)? } else { Vec::new() };
    let mut witnessed = call_without_setting(sessions, claim, &writers).await?;
    let session = sessions.with().await?;
    let findings = call_with_setting(sessions, claim, &mut witnessed, &session).await?;
    if findings.is_empty() {
        sessions.end(session).await?;
        return Ok(note(&witnessed));
    }
    Err(sessions.fail(session, findings).await)
}

/// The calls of a tool that may change data, of which nobody wrote one: the first that changes something is taken.
struct Writer {
    calls: Vec<Step>,
}

/// The observations at the server without the setting.
#[derive(Default)]
struct Witnessed {
    /// Calls that it served, and that the setting must refuse.
    refuses: Vec<Step>,
    /// Nobody wrote them: what a tool may change is known from its hints and name only, so that it must refuse a
    /// call only if that changes something.
    are_found: bool,
    /// Tools that served such a call with the setting, without any change that can be seen.
    unchanged: Vec<String>,
    /// The tools whose calls it refused, too; nothing follows for them.
    unproven: Vec<String>,
    /// Its answers to calls that the setting must change.
    differs: Vec<AnswerBefore>,
    /// The number of refused calls that were repeated with another boolean or choice.
    switched: usize,
}

/// The answer to a call without the setting.
struct AnswerBefore {
    answer: SettingAnswer,
    /// The whole answer came again, times and versions included.
    is_steady: bool,
}

/// Makes the calls without the setting, where they must be served.
async fn call_without_setting(
    sessions: &mut SettingSessions<'_>,
    claim: &CallClaim,
    writers: &[Writer],
) -> Result<Witnessed, CheckEnd> {
    let names = Names::new();
    let mut witnessed = Witnessed { are_found: !writers.is_empty(), ..Witnessed::default() };
    let Some(session) = sessions.without().await? else { return Ok(witnessed) };
    for step in &claim.serves {
        let answer = sessions.ask(&session, step, &names).await?;
        if !answer.is_served {
            return Err(sessions.refused_without(&answer));
        }
    }
    for step in &claim.differs {
        let answer = sessions.ask(&session, step, &names).await?;
        let mut is_steady = true;
        if step.expect.is_empty() {
            let again = sessions.ask(&session, step, &names).await?;
            is_steady = again.message.get("result") == answer.message.get("result");
            if result_of(&again.message) != result_of(&answer.message) {
                let call = sessions.call_text(&answer);
                return Err(CheckEnd::inconclusive(format!(
                    "{call} has two different answers without the setting, so a difference would prove nothing; say with \
                     `expect` what the setting changes"
                )));
            }
        } else if answer.unmet.is_empty() {
            let message = format!("{} is answered as expected without the setting, too", sessions.call_text(&answer));
            return Err(CheckEnd::inconclusive(format!("{message}, so the expectation says nothing of the setting")));
        }
        witnessed.differs.push(AnswerBefore { answer, is_steady });
    }
    for step in &claim.refuses {
        let answer = sessions.ask(&session, step, &names).await?;
        if RefusalAnswer::of(&answer) != RefusalAnswer::Served {
            return Err(sessions.refused_without(&answer));
        }
        witnessed.refuses.push(step.clone());
    }
    let mut last_refusal = None;
    for writer in writers {
        // Calls that nobody wrote may fail for many reasons.
        match call_that_changes(sessions, writer, &session).await? {
            Ok(step) => witnessed.refuses.push(step),
            Err(refusal) => {
                witnessed.unproven.extend(writer.calls.first().map(name_of));
                last_refusal = Some(refusal);
            }
        }
    }
    sessions.end(session).await?;
    match last_refusal {
        Some(answer) if witnessed.refuses.is_empty() => Err(sessions.refused_without(&answer)),
        _ => Ok(witnessed),
    }
}

/// The first call of a tool after which the server shows something else, or the first that it serves; `Err` has the last
/// refusal where it serves none.
async fn call_that_changes(
    sessions: &mut SettingSessions<'_>,
    writer: &Writer,
    session: &Session,
) -> Result<Result<Step, SettingAnswer>, CheckEnd> {
    let view = StateView::of_tools(sessions.run.context, sessions.run.limits.clone(), &|_| true);
    let before = view.observe_stable(session, Duration::ZERO).await;
    let mut served: Option<&Step> = None;
    let mut refusal = None;
    for step in &writer.calls {
        let answer = sessions.ask(session, step, &Names::new()).await?;
        if RefusalAnswer::of(&answer) != RefusalAnswer::Served {
            refusal = Some(answer);
        } else if writer.calls.len() == 1 || before.first_change(&view.observe(session).await).is_some() {
            return Ok(Ok(step.clone()));
        } else {
            served = served.or(Some(step));
        }
    }
    match (served, refusal) {
        (None, Some(refusal)) => Ok(Err(refusal)),
        (served, _) => Ok(Ok(served.unwrap_or(&writer.calls[0]).clone())),
    }
}

/// Makes the same calls with the setting; returns what is wrong.
async fn call_with_setting(
    sessions: &mut SettingSessions<'_>,
    claim: &CallClaim,
    witnessed: &mut Witnessed,
    session: &Session,
) -> Result<Vec<Finding>, CheckEnd> {
    let names = Names::new();
    let setting = sessions.setting_text();
    let mut found = Vec::new();
    for step in &claim.serves {
        let answer = sessions.ask(session, step, &names).await?;
        if !answer.is_served && !only_reads(sessions, step) {
            return Err(sessions.refused_with(&answer));
        }
        if !answer.is_served {
            let call = sessions.call_text(&answer);
            let message = format!("started with {setting}, the server refuses {call}, which it must serve");
            found.push(sessions.finding("setting-refuses", message, &answer));
        }
        found.extend(answer.unmet.into_iter().map(|found| found.with_evidence("started with", &*setting)));
    }
    for (step, before) in claim.differs.iter().zip(&witnessed.differs) {
        let answer = sessions.ask(session, step, &names).await?;
        let effect = SettingEffect::between(&before.answer.message, &answer.message, before.is_steady);
        let call = sessions.call_text(&answer);
        match effect {
            _ if !step.expect.is_empty() => {}
            SettingEffect::Differs => {}
            SettingEffect::DiffersInTimes => {
                return Err(CheckEnd::inconclusive(format!(
                    "with {setting} and without it, the answers of {call} differ in times or versions alone, which may change \
                     by themselves; write under `expect` what the call answers with the setting"
                )));
            }
            SettingEffect::Empty => {
                return Err(CheckEnd::inconclusive(format!(
                    "with {setting} and without it, the answer of {call} is empty, so nothing can be compared; let one of the \
                     two have something to show, or write under `expect` what the call answers with the setting"
                )));
            }
            SettingEffect::Same => {
                let message = format!("{setting} has no effect: {call} has the same answer without it");
                found.push(sessions.finding("setting-without-effect", message, &answer));
            }
        }
        found.extend(answer.unmet.into_iter().map(|found| found.with_evidence("started with", &*setting)));
    }
    if !witnessed.refuses.is_empty() {
        found.extend(refused_calls(sessions, claim, witnessed, session).await?);
    }
    if found.is_empty() && !witnessed.refuses.is_empty() && witnessed.unchanged.len() == witnessed.refuses.len() {
        let tools = witnessed.unchanged.join(", ");
        return Err(CheckEnd::inconclusive(format!(
            "with the setting, calls that may change data are served, and nothing that the server shows has changed: \
             {tools}; name calls that must be refused under `refuses`"
        )));
    }
    Ok(found)
}

/// The effect of a setting on the answer to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SettingEffect {
    Differs,
    /// Only times and versions differ, which were the same twice without the setting.
    DiffersInTimes,
    /// There is none, and nothing that could show one.
    Empty,
    Same,
}

impl SettingEffect {
    /// Compares the answers without the setting and with it.
    fn between(without: &Value, with: &Value, is_steady: bool) -> Self {
        let compared = result_of(with);
        if result_of(without) != compared {
            Self::Differs
        } else if is_steady && without.get("result") != with.get("result") {
            Self::DiffersInTimes
        } else if shows_anything(&compared) {
            Self::Same
        } else {
            Self::Empty
        }
    }
}

/// Makes the calls that must be refused, each also with every boolean and choice of its tool turned; returns the findings.
async fn refused_calls(
    sessions: &mut SettingSessions<'_>,
    claim: &CallClaim,
    witnessed: &mut Witnessed,
    session: &Session,
) -> Result<Vec<Finding>, CheckEnd> {
    let mut found = Vec::new();
    let view = StateView::of_tools(sessions.run.context, sessions.run.limits.clone(), &|_| true);
    let mut state = view.observe_stable(session, Duration::ZERO).await;
    for step in witnessed.refuses.clone() {
        let tried = TriedCall { step: &step, must_refuse: !witnessed.are_found, session, view: &view };
        match tried.judge(sessions, &mut state).await? {
            (RefusalVerdict::ServedUnchanged, ..) => witnessed.unchanged.push(name_of(&step)),
            (RefusalVerdict::Refused, answer, _) => found.extend(answer.unmet),
            (RefusalVerdict::RefusedAsSuccess, answer, _) => found.push(unflagged_finding(sessions, &answer)),
            (RefusalVerdict::Served, answer, change) => {
                found.push(served_finding(sessions, &answer, change));
                continue;
            }
            (RefusalVerdict::RefusedButDone, answer, change) => found.push(done_finding(sessions, &answer, change)),
        }
        for (switch, step) in switched_steps(sessions, &step) {
            witnessed.switched += 1;
            let tried = TriedCall { step: &step, must_refuse: false, session, view: &view };
            match tried.judge(sessions, &mut state).await? {
                (RefusalVerdict::ServedUnchanged | RefusalVerdict::Refused | RefusalVerdict::RefusedAsSuccess, ..) => {}
                (RefusalVerdict::Served, answer, change) => {
                    found.push(lifted_finding(sessions, claim, &switch, &answer, change));
                    break;
                }
                (RefusalVerdict::RefusedButDone, answer, change) => {
                    found.push(done_finding(sessions, &answer, change));
                    break;
                }
            }
        }
    }
    Ok(found)
}

/// A call that is made with the setting, and the state before it.
struct TriedCall<'c> {
    step: &'c Step,
    /// Somebody wrote that it must be refused, whatever it does.
    must_refuse: bool,
    session: &'c Session,
    view: &'c StateView<'c>,
}

impl TriedCall<'_> {
    async fn judge(
        &self,
        sessions: &mut SettingSessions<'_>,
        state: &mut ShownState,
    ) -> Result<(RefusalVerdict, SettingAnswer, Option<ShownChange>), CheckEnd> {
        let answer = sessions.ask(self.session, self.step, &Names::new()).await?;
        let heard = RefusalAnswer::of(&answer);
        let is_looked_at = !(heard == RefusalAnswer::Served && self.must_refuse);
        let change = if is_looked_at { change_since(self.view, self.session, state).await } else { None };
        if change.is_some() {
            *state = self.view.observe_stable(self.session, Duration::ZERO).await;
        }
        let seen = SeenRefusal { answer: heard, must_refuse: self.must_refuse, has_changed: change.is_some() };
        Ok((seen.judge(), answer, change))
    }
}

/// The same call with every boolean and choice turned, each with the argument that is another one.
fn switched_steps(sessions: &SettingSessions<'_>, step: &Step) -> Vec<(String, Step)> {
    let context = sessions.run.context;
    let Some((tool, args)) = step.action.as_call() else { return Vec::new() };
    let listed = tool.text().and_then(|name| context.catalog.tool(name));
    let filled = args.map_or_else(|| Some(json!({})), |args| context.fill(args));
    let (Some(listed), Some(filled)) = (listed, filled) else { return Vec::new() };
    let switched = switched_calls(&listed.arguments_schema(), &filled).into_iter();
    let of_call = |call: SwitchedCall| {
        let args = Some(from_json(&call.arguments, step.span));
        (call.switch, bare(Action::Call { tool: tool.clone(), args }, step.span))
    };
    switched.map(of_call).collect()
}

/// The verdict on a call that a setting must refuse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RefusalVerdict {
    Refused,
    /// It was refused in words, in a result that says it was served.
    RefusedAsSuccess,
    /// It was refused, and something has changed all the same.
    RefusedButDone,
    Served,
    /// It was served and may rightly be, since it changed nothing and nobody wrote that it must be refused.
    ServedUnchanged,
}

/// The answer to a call that a setting must refuse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RefusalAnswer {
    Refused,
    /// A result that is no error, whose text says that the call was refused.
    RefusedInWords,
    Served,
}

impl RefusalAnswer {
    fn of(answer: &SettingAnswer) -> Self {
        match answer.is_served {
            false => Self::Refused,
            true if says_refusal(&answer.message["result"]) => Self::RefusedInWords,
            true => Self::Served,
        }
    }
}

/// The outcome of a call that a setting must refuse.
#[derive(Debug, Clone, Copy)]
struct SeenRefusal {
    answer: RefusalAnswer,
    /// Somebody wrote that the call must be refused, whatever it does.
    must_refuse: bool,
    /// The state has changed since.
    has_changed: bool,
}

impl SeenRefusal {
    fn judge(self) -> RefusalVerdict {
        match (self.answer, self.has_changed) {
            (RefusalAnswer::Refused, true) => RefusalVerdict::RefusedButDone,
            (RefusalAnswer::Refused, false) => RefusalVerdict::Refused,
            (RefusalAnswer::RefusedInWords, false) => RefusalVerdict::RefusedAsSuccess,
            (RefusalAnswer::Served, false) if !self.must_refuse => RefusalVerdict::ServedUnchanged,
            // What it says does not count if it was done.
            (RefusalAnswer::RefusedInWords | RefusalAnswer::Served, _) => RefusalVerdict::Served,
        }
    }
}

/// The result of a call is one short text that refuses it: nothing that a tool returns when it did what it was asked for.
fn says_refusal(result: &Value) -> bool {
    let blocks = result["content"].as_array().map(Vec::as_slice).unwrap_or_default();
    let [block] = blocks else { return false };
    let text = block["text"].as_str().filter(|text| text.len() <= LONGEST_REFUSAL).unwrap_or_default().to_lowercase();
    REFUSING.iter().any(|words| text.contains(words))
}

/// A call that was refused in words only, which is a refusal all the same.
fn unflagged_finding(sessions: &SettingSessions<'_>, answer: &SettingAnswer) -> Finding {
    let (setting, call) = (sessions.setting_text(), sessions.call_text(answer));
    let message = format!("started with {setting}, the server refuses {call} in words, without `isError: true`");
    let help = "set `isError: true`, so that callers, and the models behind them, see that the call failed".to_owned();
    let found = sessions.finding("error-as-success", message, answer);
    Finding { level: RequirementLevel::Should, help: Some(help), ..found }
}

/// A call that was served although it must be refused.
fn served_finding(sessions: &SettingSessions<'_>, answer: &SettingAnswer, change: Option<ShownChange>) -> Finding {
    let (setting, call) = (sessions.setting_text(), sessions.call_text(answer));
    let forbidden = if sessions.is_claimed() { "which it must refuse" } else { "and it changes data" };
    let message = format!("started with {setting}, the server serves {call}, {forbidden}");
    let (level, help) = if sessions.is_claimed() {
        (RequirementLevel::Must, "refuse the call with `isError: true`, and change nothing")
    } else {
        // The words may be about another part of the server, and the change about the session alone.
        (
            RequirementLevel::Should,
            "if no call may change anything, say so under `settings` with `read_only: true`, and this fails",
        )
    };
    let found = sessions.finding("setting-not-enforced", message, answer);
    let found = Finding { level, help: Some(help.to_owned()), ..found };
    with_change(found, change)
}

/// A call that was refused, and that changed something all the same.
fn done_finding(sessions: &SettingSessions<'_>, answer: &SettingAnswer, change: Option<ShownChange>) -> Finding {
    let place = change.as_ref().map(|change| change.place.clone()).unwrap_or_default();
    let (setting, call) = (sessions.setting_text(), sessions.call_text(answer));
    let message = format!("started with {setting}, the server refuses {call}, but {place} has changed since");
    with_change(sessions.finding("refused-but-done", message, answer), change)
}

/// A call that is refused, but served with another value of one argument, which changes something.
fn lifted_finding(
    sessions: &SettingSessions<'_>,
    claim: &CallClaim,
    switch: &str,
    answer: &SettingAnswer,
    change: Option<ShownChange>,
) -> Finding {
    let (setting, call) = (sessions.setting_text(), sessions.call_text(answer));
    let message = format!("`{switch}` in a call lifts {setting}: the server serves {call}, and it changes data");
    let is_meant = claim.read_only && sessions.is_claimed() || names_setting(switch, &sessions.setting_words());
    let (level, help) = if is_meant {
        (RequirementLevel::Must, "let no argument of a call lift what the server was started with")
    } else {
        (RequirementLevel::Should, "if no call may change data, say so with `read_only: true`, and this fails")
    };
    let found = Finding { level, help: Some(help.to_owned()), ..sessions.finding("setting-lifted", message, answer) };
    with_change(found, change)
}

/// An argument has the name of the setting, as `readOnly` has that of `SERVER_READ_ONLY`.
fn names_setting(switch: &str, setting_words: &[String]) -> bool {
    let plain = |text: &str| text.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_lowercase();
    let argument = plain(switch.split(':').next().and_then(|path| path.rsplit('.').next()).unwrap_or_default());
    argument.len() > 3 && setting_words.iter().any(|word| plain(word).contains(&argument))
}

fn with_change(found: Finding, change: Option<ShownChange>) -> Finding {
    let Some(ShownChange { place, before, after }) = change else { return found };
    found.with_evidence("changed", place).with_evidence("before", before).with_evidence("after", after)
}

/// A change of the state since it was read, that does not go on by itself.
async fn change_since(view: &StateView<'_>, session: &Session, before: &ShownState) -> Option<ShownChange> {
    before.first_change(&view.observe(session).await)?;
    before.first_change(&view.observe_stable(session, CLOCK).await)
}

/// A step changes nothing, as far as that is known of tools.
fn only_reads(sessions: &SettingSessions<'_>, step: &Step) -> bool {
    let tool = step.action.as_call().and_then(|(tool, _)| tool.text());
    tool.is_none_or(|tool| sessions.run.context.catalog.tool(tool).is_some_and(Tool::only_reads))
}

/// Calls of the tools that may change data, as far as they may be called: those of the suite, or some that differ.
fn writers(sessions: &SettingSessions<'_>) -> Result<Vec<Writer>, CheckEnd> {
    let context = sessions.run.context;
    let may_write = |tool: &&Tool| !tool.only_reads();
    let (mut writers, mut left) = (Vec::new(), None);
    for tool in context.catalog.tools.iter().filter(may_write) {
        match valid_arguments(context.suite, context.server_name, tool) {
            Ok(args) => {
                let span = context.suite.name.span;
                let drawn =
                    if context.suite.arguments.contains_key(&tool.name) { Vec::new() } else { draw(context, tool) };
                let args = once(args).chain(drawn.iter().map(|args| from_json(args, span)));
                let call = |args| bare(Action::Call { tool: text_node(&tool.name, span), args: Some(args) }, span);
                writers.push(Writer { calls: args.map(call).collect() });
            }
            Err(why) => left = left.or(Some((tool, why))),
        }
    }
    match (writers.is_empty(), left) {
        (false, _) => Ok(writers),
        (true, Some((tool, why))) => {
            Err(CheckEnd::Skipped(why.skip_reason(&tool.name, ConfigSource::of(context.suite))))
        }
        (true, None) => Err(CheckEnd::not_applicable("no tool of the server may change data")),
    }
}

/// Valid arguments of a tool that differ, always the same ones; optional booleans are left out, since they may forbid what the
/// call would do.
fn draw(context: &CheckContext<'_>, tool: &Tool) -> Vec<Value> {
    let Ok(safe) = safe_arguments(tool, server_folder(context.suite, context.server_name)) else { return Vec::new() };
    let mut drawn: Vec<Value> = Vec::new();
    for seed in 0..DRAWS {
        let mut arguments = safe.random(&mut Rng::new(seed));
        arguments.as_object_mut().into_iter().for_each(|members| members.retain(|_, member| !member.is_boolean()));
        let is_new = arguments != *safe.smallest() && !drawn.contains(&arguments);
        if is_new && arguments.to_string().len() <= LARGEST && safe.generator().is_valid(&arguments) {
            drawn.push(arguments);
        }
    }
    drawn.truncate(MOST_DRAWN);
    drawn
}

fn note(witnessed: &Witnessed) -> String {
    let mut parts = Vec::new();
    if !witnessed.refuses.is_empty() {
        let tools = witnessed.refuses.iter().map(name_of);
        let tools: Vec<String> = tools.filter(|name| !witnessed.unchanged.contains(name)).collect();
        parts.push(format!("served without the setting and refused with it: {}", tools.join(", ")));
    }
    if witnessed.switched > 0 {
        let calls = if witnessed.switched == 1 { "call" } else { "calls" };
        parts.push(format!("{} {calls} with another boolean or choice changed nothing", witnessed.switched));
    }
    if !witnessed.unchanged.is_empty() {
        parts.push(format!("served without a change that can be seen: {}", witnessed.unchanged.join(", ")));
    }
    if !witnessed.unproven.is_empty() {
        let tools = witnessed.unproven.join(", ");
        parts.push(format!("refused without it, too, so that nothing follows for them: {tools}"));
    }
    if !witnessed.differs.is_empty() {
        parts.push("answered as expected with the setting, and not without it".to_owned());
    }
    parts.join("; ")
}

fn name_of(step: &Step) -> String {
    let tool = step.action.as_call().and_then(|(tool, _)| tool.text());
    tool.map_or_else(|| "a request".to_owned(), |tool| format!("`{tool}`"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::config::SettingClaim;
    use crate::block::config::grammar::setting_of_test;

    #[test]
    fn calls_that_must_be_refused_are_judged_by_their_effect() {
        use RefusalAnswer::{Refused as Refusal, RefusedInWords, Served as Service};
        use RefusalVerdict::{Refused, RefusedAsSuccess, RefusedButDone, Served, ServedUnchanged};
        for (answer, is_found, has_changed, expected) in [
            (Refusal, false, false, Refused),
            (Refusal, true, false, Refused),
            (Refusal, false, true, RefusedButDone),
            (Refusal, true, true, RefusedButDone),
            (Service, false, false, Served),
            (Service, false, true, Served),
            (Service, true, true, Served),
            (Service, true, false, ServedUnchanged),
            (RefusedInWords, false, false, RefusedAsSuccess),
            (RefusedInWords, true, false, RefusedAsSuccess),
            (RefusedInWords, false, true, Served),
            (RefusedInWords, true, true, Served),
        ] {
            let seen = SeenRefusal { answer, must_refuse: !is_found, has_changed };
            assert_eq!(seen.judge(), expected, "{seen:?}");
        }
    }

    #[test]
    fn a_refusal_is_told_by_its_words() {
        let text = |text: &str| json!({"content": [{"type": "text", "text": text}]});
        for (result, expected) in [
            (text("Cannot add: this server is in read-only mode"), true),
            (text("Command 'rm' is not allowed"), true),
            (text("added beta"), false),
            (text(&format!("read-only {}", "x".repeat(500))), false),
            (json!({"content": [{"type": "text", "text": "not allowed"}, {"type": "text", "text": "done"}]}), false),
            (json!({"content": []}), false),
            (json!({"structuredContent": {"added": true}}), false),
        ] {
            assert_eq!(says_refusal(&result), expected, "{result}");
        }
    }

    #[test]
    fn arguments_may_have_the_name_of_the_setting() {
        for (switch, word, expected) in [
            ("readOnly: false", "GRAPH_READ_ONLY", true),
            ("options.read_only: false", "read-only", true),
            ("force: true", "GRAPH_READ_ONLY", false),
            ("on: true", "GRAPH_READ_ONLY", false),
            ("readOnly: false", "true", false),
        ] {
            assert_eq!(names_setting(switch, &[word.to_owned()]), expected, "{switch} {word}");
        }
    }

    #[test]
    fn a_note_names_what_was_judged_and_what_was_not() {
        let witnessed = |unchanged: &[&str], unproven: &[&str]| Witnessed {
            unchanged: unchanged.iter().map(|name| (*name).to_owned()).collect(),
            unproven: unproven.iter().map(|name| (*name).to_owned()).collect(),
            ..Witnessed::default()
        };
        for (witnessed, expected) in [
            (witnessed(&[], &[]), ""),
            (witnessed(&["`log`"], &[]), "served without a change that can be seen: `log`"),
            (witnessed(&[], &["`add`"]), "refused without it, too, so that nothing follows for them: `add`"),
            (
                Witnessed { switched: 2, ..Witnessed::default() },
                "2 calls with another boolean or choice changed nothing",
            ),
        ] {
            assert_eq!(note(&witnessed), expected);
        }
    }

    #[test]
    fn a_setting_has_an_effect_where_answers_differ_in_more_than_times() {
        use SettingEffect::{Differs, DiffersInTimes, Empty, Same};
        let text = |text: &str| json!({"result": {"content": [{"type": "text", "text": text}]}});
        let error = |message: &str| json!({"error": {"code": -32602, "message": message}});
        let (noon, evening) = ("2026-01-01T12:00:00Z", "2026-01-01T21:00:00+09:00");
        for (setting, without, with, is_steady, expected) in [
            ("another language", text("hello"), text("hallo"), true, Differs),
            ("that refuses the call", text("hello"), error("no"), true, Differs),
            ("that adds a member", text(r#"{"a": 1}"#), text(r#"{"a": 1, "b": 2}"#), true, Differs),
            ("of no effect", text("hello"), text("hello"), true, Same),
            ("of no effect on JSON", text(r#"{"users": ["ann"]}"#), text(r#"{"users": ["ann"]}"#), true, Same),
            // The time would have gone on without the setting, too.
            (
                "of no effect beside a clock",
                text(r#"{"a": 1, "time": 1}"#),
                text(r#"{"a": 1, "time": 2}"#),
                false,
                Same,
            ),
            (
                "another version",
                text(r#"{"version": 1, "a": 1}"#),
                text(r#"{"version": 2, "a": 1}"#),
                true,
                DiffersInTimes,
            ),
            ("another time zone", text(noon), text(evening), true, DiffersInTimes),
            ("another time zone for a clock", text(noon), text(evening), false, Empty),
            ("of which a list shows nothing", text("[]"), text("[]"), true, Empty),
            ("of which errors show nothing", error("no"), error("no"), true, Empty),
        ] {
            assert_eq!(SettingEffect::between(&without, &with, is_steady), expected, "a setting {setting}");
        }
    }

    #[test]
    fn refusals_are_told_from_answers() {
        let answer = |message: Value| SettingAnswer {
            exchange: 0,
            is_served: crate::wire::is_served(&message),
            message: message.into(),
            unmet: Vec::new(),
        };
        let text = |text: &str, is_error: bool| json!({"result": {"content": [{"type": "text", "text": text}], "isError": is_error}});
        for (message, expected) in [
            (json!({"error": {"code": -32602, "message": "read-only"}}), RefusalAnswer::Refused),
            (text("read-only mode", true), RefusalAnswer::Refused),
            (text("Error: the server is read-only", false), RefusalAnswer::RefusedInWords),
            (text("user added", false), RefusalAnswer::Served),
            (json!({"result": {"structuredContent": {"status": "read-only"}}}), RefusalAnswer::Served),
        ] {
            let text = message.to_string();
            assert_eq!(RefusalAnswer::of(&answer(message)), expected, "{text}");
        }
    }

    #[test]
    fn a_note_leaves_out_tools_whose_calls_were_served() {
        let setting = setting_of_test(
            "{ name: safe, with: { args: [--safe] }, refuses: [{ call: add }, { call: drop }, { read: \"notes://1\" }] }",
        );
        let Some(SettingClaim::Calls(claim)) = setting.claims.into_iter().next() else { panic!("calls are claimed") };
        let before = || AnswerBefore {
            answer: SettingAnswer { exchange: 0, message: Value::Null.into(), is_served: true, unmet: Vec::new() },
            is_steady: true,
        };
        let served = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        for (unchanged, differs, expected) in [
            (served(&[]), vec![], "served without the setting and refused with it: `add`, `drop`, a request"),
            (
                served(&["`drop`"]),
                vec![],
                "served without the setting and refused with it: `add`, a request; served without a change that can be \
                 seen: `drop`",
            ),
            (
                served(&[]),
                vec![before()],
                "served without the setting and refused with it: `add`, `drop`, a request; answered as expected with the \
                 setting, and not without it",
            ),
        ] {
            let refuses = claim.refuses.clone();
            let witnessed = Witnessed { refuses, unchanged, differs, ..Witnessed::default() };
            assert_eq!(note(&witnessed), expected);
        }
    }

    #[test]
    fn a_finding_shows_what_has_changed() {
        let change = || ShownChange { place: "the list".to_owned(), before: "1".to_owned(), after: "2".to_owned() };
        for (change, expected) in [
            (Some(change()), vec![("changed", "the list"), ("before", "1"), ("after", "2")]),
            // It was not looked at: somebody wrote that the call must be refused.
            (None, vec![]),
        ] {
            let found = with_change(Finding::new("setting-not-enforced", "it is served"), change);
            let evidence: Vec<(&str, &str)> = found.evidence.iter().map(|(name, text)| (&**name, &**text)).collect();
            assert_eq!(evidence, expected);
        }
    }
}
