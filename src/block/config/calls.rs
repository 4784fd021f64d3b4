//! Calls that a setting refuses, serves or changes, each made without the setting, too.

use std::time::Duration;

use super::CallClaim;
use super::sides::{SideAnswer, Sides};
use crate::check::CheckEnd;
use crate::check::shown_state::{CLOCK, ShownChange, ShownState, StateView, result_of};
use crate::event::Finding;
use crate::plan::arguments::{ConfigSource, valid_arguments};
use crate::plan::generated::{bare, text_node};
use crate::session::Session;
use crate::source::template::Names;
use crate::suite::{Action, Step};
use crate::wire::Tool;

pub(crate) async fn judge(sides: &mut Sides<'_>, claim: &CallClaim) -> Result<String, CheckEnd> {
    let found_writers = if claim.read_only && claim.refuses.is_empty() { writers(sides)? } else { Vec::new() };
    let refuses = if found_writers.is_empty() { &claim.refuses } else { &found_writers };
    let are_found = !found_writers.is_empty();
    let mut witnessed = call_without_setting(sides, claim, refuses, are_found).await?;
    let session = sides.with().await?;
    let findings = call_with_setting(sides, claim, &mut witnessed, &session).await?;
    if findings.is_empty() {
        sides.end(session).await?;
        return Ok(note(&witnessed));
    }
    Err(sides.fail(session, findings).await)
}

/// The observations at the server without the setting.
struct Witnessed<'s> {
    /// Calls that it served, and that the setting must refuse.
    refuses: Vec<&'s Step>,
    /// Nobody wrote them: what a tool may change is known from its hints and name only, so that it must refuse a
    /// call only if that changes something.
    are_found: bool,
    /// Tools that served such a call with the setting, without any change that can be seen.
    unchanged: Vec<String>,
    /// The tools whose calls it refused, too; nothing follows for them.
    unproven: Vec<String>,
    /// Its answers to calls that the setting must change.
    differs: Vec<SideAnswer>,
}

/// Makes the calls without the setting, where they must be served.
async fn call_without_setting<'s>(
    sides: &mut Sides<'_>,
    claim: &CallClaim,
    refuses: &'s [Step],
    are_found: bool,
) -> Result<Witnessed<'s>, CheckEnd> {
    let names = Names::new();
    let mut witnessed =
        Witnessed { refuses: Vec::new(), are_found, unchanged: Vec::new(), unproven: Vec::new(), differs: Vec::new() };
    let mut last_refusal = None;
    let Some(session) = sides.without().await? else { return Ok(witnessed) };
    for step in &claim.serves {
        let answer = sides.ask(&session, step, &names).await?;
        if !answer.is_served {
            return Err(sides.refused_without(&answer));
        }
    }
    for step in &claim.differs {
        let answer = sides.ask(&session, step, &names).await?;
        if step.expect.is_empty() {
            let again = sides.ask(&session, step, &names).await?;
            if result_of(&again.message) != result_of(&answer.message) {
                let call = sides.call_text(&answer);
                return Err(CheckEnd::inconclusive(format!(
                    "{call} has two different answers without the setting, so a difference would prove nothing; say with \
                     `expect` what the setting changes"
                )));
            }
        } else if answer.unmet.is_empty() {
            let message = format!("{} is answered as expected without the setting, too", sides.call_text(&answer));
            return Err(CheckEnd::inconclusive(format!("{message}, so the expectation says nothing of the setting")));
        }
        witnessed.differs.push(answer);
    }
    for step in refuses {
        let answer = sides.ask(&session, step, &names).await?;
        match (answer.is_served, are_found) {
            (true, _) => witnessed.refuses.push(step),
            // Calls that nobody wrote may fail for many reasons.
            (false, true) => {
                witnessed.unproven.push(name_of(step));
                last_refusal = Some(answer);
            }
            (false, false) => return Err(sides.refused_without(&answer)),
        }
    }
    sides.end(session).await?;
    match last_refusal {
        Some(answer) if witnessed.refuses.is_empty() => Err(sides.refused_without(&answer)),
        _ => Ok(witnessed),
    }
}

/// Makes the same calls with the setting; returns what is wrong.
async fn call_with_setting(
    sides: &mut Sides<'_>,
    claim: &CallClaim,
    witnessed: &mut Witnessed<'_>,
    session: &Session,
) -> Result<Vec<Finding>, CheckEnd> {
    let names = Names::new();
    let setting = sides.setting_text();
    let mut found = Vec::new();
    for step in &claim.serves {
        let answer = sides.ask(session, step, &names).await?;
        if !answer.is_served && !only_reads(sides, step) {
            return Err(sides.refused_with(&answer));
        }
        if !answer.is_served {
            let message =
                format!("started with {setting}, the server refuses {}, which it must serve", sides.call_text(&answer));
            found.push(sides.finding("setting-refuses", message, &answer));
        }
        found.extend(answer.unmet.into_iter().map(|found| found.with_evidence("started with", &*setting)));
    }
    for (step, before) in claim.differs.iter().zip(&witnessed.differs) {
        let answer = sides.ask(session, step, &names).await?;
        if step.expect.is_empty() && result_of(&answer.message) == result_of(&before.message) {
            let message =
                format!("{setting} has no effect: {} has the same answer without it", sides.call_text(&answer));
            found.push(sides.finding("setting-without-effect", message, &answer));
        }
        found.extend(answer.unmet.into_iter().map(|found| found.with_evidence("started with", &*setting)));
    }
    if !witnessed.refuses.is_empty() {
        found.extend(refused_calls(sides, witnessed, session).await?);
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

/// Makes the calls that must be refused; returns the findings.
async fn refused_calls(
    sides: &mut Sides<'_>,
    witnessed: &mut Witnessed<'_>,
    session: &Session,
) -> Result<Vec<Finding>, CheckEnd> {
    let (names, mut found) = (Names::new(), Vec::new());
    let view = StateView::of_tools(sides.run.context, sides.run.limits.clone(), &|_| true);
    let mut before = view.observe_stable(session, Duration::ZERO).await;
    for step in &witnessed.refuses {
        let answer = sides.ask(session, step, &names).await?;
        let is_looked_at = !answer.is_served || witnessed.are_found;
        let change = if is_looked_at { change_since(&view, session, &before).await } else { None };
        if change.is_some() {
            before = view.observe_stable(session, Duration::ZERO).await;
        }
        let seen =
            SeenRefusal { is_served: answer.is_served, are_found: witnessed.are_found, has_changed: change.is_some() };
        match seen.judge() {
            RefusalVerdict::ServedUnchanged => witnessed.unchanged.push(name_of(step)),
            RefusalVerdict::Refused => found.extend(answer.unmet),
            RefusalVerdict::Served => found.push(served_finding(sides, &answer, change)),
            RefusalVerdict::RefusedButDone => {
                let place = change.as_ref().map(|change| change.place.clone()).unwrap_or_default();
                let (setting, call) = (sides.setting_text(), sides.call_text(&answer));
                let message =
                    format!("started with {setting}, the server refuses {call}, but {place} has changed since");
                found.push(with_change(sides.finding("refused-but-done", message, &answer), change));
            }
        }
    }
    Ok(found)
}

/// The verdict on a call that a setting must refuse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RefusalVerdict {
    Refused,
    /// It was refused, and something has changed all the same.
    RefusedButDone,
    Served,
    /// It was served and may rightly be, since it changed nothing and nobody wrote that it must be refused.
    ServedUnchanged,
}

/// The outcome of a call that a setting must refuse.
#[derive(Debug, Clone, Copy)]
struct SeenRefusal {
    is_served: bool,
    /// Nobody wrote the call: its tool is one that may change data.
    are_found: bool,
    /// The state has changed since.
    has_changed: bool,
}

impl SeenRefusal {
    fn judge(self) -> RefusalVerdict {
        match (self.is_served, self.has_changed) {
            (true, false) if self.are_found => RefusalVerdict::ServedUnchanged,
            (true, _) => RefusalVerdict::Served,
            (false, true) => RefusalVerdict::RefusedButDone,
            (false, false) => RefusalVerdict::Refused,
        }
    }
}

/// A call that was served although it must be refused.
fn served_finding(sides: &Sides<'_>, answer: &SideAnswer, change: Option<ShownChange>) -> Finding {
    let (setting, call) = (sides.setting_text(), sides.call_text(answer));
    let message = format!("started with {setting}, the server serves {call}, which it must refuse");
    let help = "refuse the call with `isError: true`, and change nothing".to_owned();
    let found = Finding { help: Some(help), ..sides.finding("setting-not-enforced", message, answer) };
    with_change(found, change)
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
fn only_reads(sides: &Sides<'_>, step: &Step) -> bool {
    let tool = step.action.as_call().and_then(|(tool, _)| tool.text());
    tool.is_none_or(|tool| sides.run.context.catalog.tool(tool).is_some_and(Tool::only_reads))
}

/// Calls of the tools that may change data, as far as they may be called.
fn writers(sides: &Sides<'_>) -> Result<Vec<Step>, CheckEnd> {
    let context = sides.run.context;
    let may_write = |tool: &&Tool| !tool.only_reads();
    let (mut steps, mut left) = (Vec::new(), None);
    for tool in context.catalog.tools.iter().filter(may_write) {
        match valid_arguments(context.suite, context.server_name, tool) {
            Ok(args) => steps.push({
                let span = context.suite.name.span;
                bare(Action::Call { tool: text_node(&tool.name, span), args: Some(args) }, span)
            }),
            Err(why) => left = left.or(Some((tool, why))),
        }
    }
    match (steps.is_empty(), left) {
        (false, _) => Ok(steps),
        (true, Some((tool, why))) => {
            Err(CheckEnd::Skipped(why.skip_reason(&tool.name, ConfigSource::of(context.suite))))
        }
        (true, None) => Err(CheckEnd::not_applicable("no tool of the server may change data")),
    }
}

fn note(witnessed: &Witnessed<'_>) -> String {
    let mut parts = Vec::new();
    if !witnessed.refuses.is_empty() {
        let tools = witnessed.refuses.iter().map(|step| name_of(step));
        let tools: Vec<String> = tools.filter(|name| !witnessed.unchanged.contains(name)).collect();
        parts.push(format!("served without the setting and refused with it: {}", tools.join(", ")));
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

    #[test]
    fn calls_that_must_be_refused_are_judged_by_their_effect() {
        use RefusalVerdict::{Refused, RefusedButDone, Served, ServedUnchanged};
        for (is_served, are_found, has_changed, expected) in [
            (false, false, false, Refused),
            (false, true, false, Refused),
            (false, false, true, RefusedButDone),
            (false, true, true, RefusedButDone),
            (true, false, false, Served),
            (true, false, true, Served),
            (true, true, true, Served),
            (true, true, false, ServedUnchanged),
        ] {
            let seen = SeenRefusal { is_served, are_found, has_changed };
            assert_eq!(seen.judge(), expected, "{seen:?}");
        }
    }

    #[test]
    fn a_note_names_what_was_judged_and_what_was_not() {
        let witnessed = |unchanged: &[&str], unproven: &[&str]| Witnessed {
            refuses: Vec::new(),
            are_found: true,
            unchanged: unchanged.iter().map(|name| (*name).to_owned()).collect(),
            unproven: unproven.iter().map(|name| (*name).to_owned()).collect(),
            differs: Vec::new(),
        };
        for (witnessed, expected) in [
            (witnessed(&[], &[]), ""),
            (witnessed(&["`log`"], &[]), "served without a change that can be seen: `log`"),
            (witnessed(&[], &["`add`"]), "refused without it, too, so that nothing follows for them: `add`"),
        ] {
            assert_eq!(note(&witnessed), expected);
        }
    }
}
