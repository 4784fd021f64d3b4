//! Calls that a setting refuses, serves or changes, each made without the setting, too.

use super::CallClaim;
use super::sides::{SideAnswer, Sides, Stopped};
use crate::check::shown_state::{CLOCK, ShownChange, ShownState, ShownStateReader, readers, result_of};
use crate::event::{Finding, Reason};
use crate::plan::arguments::{ConfigSource, valid_arguments};
use crate::plan::generated::{bare, text_node};
use crate::session::Session;
use crate::source::template::Names;
use crate::suite::{Action, Step};
use crate::wire::Tool;

pub(crate) async fn judge(sides: &mut Sides<'_>, claim: &CallClaim) -> Result<String, Stopped> {
    let found_writers = if claim.read_only && claim.refuses.is_empty() { writers(sides)? } else { Vec::new() };
    let refuses = if found_writers.is_empty() { &claim.refuses } else { &found_writers };
    let are_found = !found_writers.is_empty();
    let mut witnessed = without(sides, claim, refuses, are_found).await?;
    let session = sides.with().await?;
    let findings = with(sides, claim, &mut witnessed, &session).await?;
    if findings.is_empty() {
        sides.end(session).await?;
        return Ok(note(&witnessed));
    }
    session.mark_exit_reported();
    sides.end(session).await?;
    Err(Stopped::Failed(findings))
}

/// The observations at the server without the setting.
struct Witnessed<'s> {
    /// Calls that it served, and that the setting must refuse.
    refuses: Vec<&'s Step>,
    /// Whether nobody wrote them: what a tool may change is known from its hints and name only, so that it must refuse a
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
async fn without<'s>(
    sides: &mut Sides<'_>,
    claim: &CallClaim,
    refuses: &'s [Step],
    are_found: bool,
) -> Result<Witnessed<'s>, Stopped> {
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
                let call = sides.told(&answer);
                return Err(Stopped::Inconclusive(format!(
                    "{call} has two different answers without the setting, so a difference would prove nothing; say with \
                     `expect` what the setting changes"
                )));
            }
        } else if answer.unmet.is_empty() {
            let message = format!("{} is answered as expected without the setting, too", sides.told(&answer));
            return Err(Stopped::Inconclusive(format!("{message}, so the expectation says nothing of the setting")));
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
async fn with(
    sides: &mut Sides<'_>,
    claim: &CallClaim,
    witnessed: &mut Witnessed<'_>,
    session: &Session,
) -> Result<Vec<Finding>, Stopped> {
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
                format!("started with {setting}, the server refuses {}, which it must serve", sides.told(&answer));
            found.push(sides.finding("setting-refuses", message, &answer));
        }
        found.extend(answer.unmet.into_iter().map(|found| found.with_evidence("started with", &*setting)));
    }
    for (step, before) in claim.differs.iter().zip(&witnessed.differs) {
        let answer = sides.ask(session, step, &names).await?;
        if step.expect.is_empty() && result_of(&answer.message) == result_of(&before.message) {
            let message = format!("{setting} has no effect: {} has the same answer without it", sides.told(&answer));
            found.push(sides.finding("setting-without-effect", message, &answer));
        }
        found.extend(answer.unmet.into_iter().map(|found| found.with_evidence("started with", &*setting)));
    }
    if witnessed.refuses.is_empty() {
        return Ok(found);
    }
    let readers = readers(sides.context, &|_| true);
    let mut before = ShownState::stable(sides.context, sides.deadline, session, &readers).await;
    for step in &witnessed.refuses {
        let answer = sides.ask(session, step, &names).await?;
        let change = if answer.is_served && !witnessed.are_found {
            None
        } else {
            change_since(sides, session, &before, &readers).await
        };
        if change.is_some() {
            before = ShownState::stable(sides.context, sides.deadline, session, &readers).await;
        }
        match (answer.is_served, change) {
            (true, None) if witnessed.are_found => witnessed.unchanged.push(name_of(step)),
            (false, None) => found.extend(answer.unmet),
            (true, change) => found.push(served(sides, &answer, change)),
            (false, Some(change)) => {
                let call = sides.told(&answer);
                let place = &change.place;
                let message =
                    format!("started with {setting}, the server refuses {call}, but {place} has changed since");
                found.push(with_change(sides.finding("refused-but-done", message, &answer), Some(change)));
            }
        }
    }
    if found.is_empty() && witnessed.unchanged.len() == witnessed.refuses.len() {
        let tools = witnessed.unchanged.join(", ");
        return Err(Stopped::Inconclusive(format!(
            "with the setting, calls that may change data are served, and nothing that the server shows has changed: \
             {tools}; name calls that must be refused under `refuses`"
        )));
    }
    Ok(found)
}

/// A call that was served although it must be refused.
fn served(sides: &Sides<'_>, answer: &SideAnswer, change: Option<ShownChange>) -> Finding {
    let (setting, call) = (sides.setting_text(), sides.told(answer));
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
async fn change_since(
    sides: &Sides<'_>,
    session: &Session,
    before: &ShownState,
    readers: &[ShownStateReader],
) -> Option<ShownChange> {
    let (context, deadline) = (sides.context, sides.deadline);
    let after = ShownState::read(context, deadline, session, readers).await;
    before.first_change(&after)?;
    let settled = ShownState::stable_over(context, deadline, session, readers, CLOCK).await;
    before.first_change(&settled)
}

/// Whether a step changes nothing, as far as that is known of tools.
fn only_reads(sides: &Sides<'_>, step: &Step) -> bool {
    let tool = step.action.as_call().and_then(|(tool, _)| tool.text());
    tool.is_none_or(|tool| sides.context.catalog.tool(tool).is_some_and(Tool::only_reads))
}

/// Calls of the tools that may change data, as far as they may be called.
fn writers(sides: &Sides<'_>) -> Result<Vec<Step>, Stopped> {
    let context = sides.context;
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
            Err(Stopped::Skipped(why.skip_reason(&tool.name, ConfigSource::of(context.suite))))
        }
        (true, None) => {
            Err(Stopped::Skipped(Reason::NotApplicable("no tool of the server may change data".to_owned())))
        }
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
