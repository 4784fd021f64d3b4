//! The tools that take their time: `export_users`, and `rehearse`, a long job that touches nothing and works as a task only.
//!
//! Both report progress to whoever asks for it, and stop when nobody waits any more.

use std::time::Duration;

use mcprove_server::transport::Input;
use rmcp::RoleServer;
use rmcp::model::{ErrorData, InputRequest, ProgressNotificationParam};
use rmcp::service::RequestContext;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep_until};

use super::ValidArguments;
use crate::server::Demo;
use crate::store::User;
use crate::tasks::task_of;

/// In how many steps work is done if the call does not say.
const DEFAULT_STEPS: u32 = 5;

/// Exports all users; an error is a sentence for the caller.
pub(crate) async fn export(
    demo: &Demo,
    arguments: &ValidArguments,
    context: &RequestContext<RoleServer>,
) -> Result<Value, String> {
    work("export", demo, arguments, context).await?;
    let store = demo.store();
    let data = match arguments.text("format") {
        "csv" => csv(store.all()),
        _ => store.all().map(User::to_json).collect::<Value>().to_string(),
    };
    Ok(json!({ "format": arguments.text("format"), "total": store.all().len(), "data": data }))
}

/// Does a job that ends as `ending` says; the inner error is the tool's own.
pub(crate) async fn rehearse(
    demo: &Demo,
    arguments: &ValidArguments,
    context: &RequestContext<RoleServer>,
) -> Result<Result<Value, String>, ErrorData> {
    if arguments.0["ask"] == true && !goes_on(context).await {
        return Ok(Err("the client does not want the job to go on".to_owned()));
    }
    let steps = match work("job", demo, arguments, context).await {
        Ok(steps) => steps,
        Err(reason) => return Ok(Err(reason)),
    };
    match arguments.text("ending") {
        "error" => Ok(Err("the job failed, as `ending` has it".to_owned())),
        "protocol_error" => {
            Err(ErrorData::internal_error("the job broke off, as `ending` has it", Some(json!({ "job": "rehearse" }))))
        }
        _ => Ok(Ok(json!({ "steps": steps }))),
    }
}

/// Takes the time that `delay_ms` says, in `steps` steps, and gives their number; an error is why it stopped.
async fn work(
    noun: &str,
    demo: &Demo,
    arguments: &ValidArguments,
    context: &RequestContext<RoleServer>,
) -> Result<u32, String> {
    let delay = arguments.integer("delay_ms").and_then(|delay| u64::try_from(delay).ok());
    let delay = Duration::from_millis(delay.unwrap_or_default());
    let steps = arguments.integer("steps").and_then(|steps| u32::try_from(steps).ok()).unwrap_or(DEFAULT_STEPS);
    let (start, mut input) = (Instant::now(), demo.input());
    for step in 1..=steps {
        tokio::select! {
            biased;
            // rmcp sends no answer to a cancelled request, so nobody reads this.
            () = demo.fault().wait_for_cancellation(context.ct.cancelled()) => return Err(format!("the {noun} is cancelled")),
            _ = input.wait_for(Input::is_over) => return Err(format!("the input ended before the {noun} was done")),
            () = sleep_until(start + delay * step / steps) => {}
        }
        let Some(token) = context.meta.get_progress_token() else { continue };
        let progress = ProgressNotificationParam::new(token, step.into()).with_total(steps.into());
        match task_of(context) {
            Some(task) => task.report(progress).await,
            // It fails when the client is gone, which ends the work by itself.
            None => drop(context.peer.notify_progress(progress).await),
        }
    }
    Ok(steps)
}

/// The client's decision; without one that could be asked, the job goes on.
async fn goes_on(context: &RequestContext<RoleServer>) -> bool {
    let declared = context.client_capabilities().and_then(|declared| declared.elicitation);
    let shows_forms = declared.is_some_and(|declared| declared.form.is_some() || declared.url.is_none());
    let Some(task) = task_of(context).filter(|_| shows_forms) else { return true };
    let question = json!({
        "method": "elicitation/create",
        "params": {
            "mode": "form",
            "message": "Shall the job go on?",
            "requestedSchema": {
                "type": "object",
                "properties": { "go_on": { "type": "boolean", "description": "Whether the job goes on" } },
                "required": ["go_on"],
            },
        },
    });
    let Ok(question) = serde_json::from_value::<InputRequest>(question) else { return true };
    match task.ask([("go-on".to_owned(), question)].into()).await {
        Some(answers) => answers["go-on"]["action"] == "accept" && answers["go-on"]["content"]["go_on"] == true,
        None => true,
    }
}

fn csv<'a>(users: impl Iterator<Item = &'a User>) -> String {
    let rows = users.map(|user| {
        let age = user.age.map(|age| age.to_string()).unwrap_or_default();
        let (name, email) = (field(&user.name), field(&user.email));
        format!("{},{name},{email},{age}\n", user.id)
    });
    std::iter::once("id,name,email,age\n".to_owned()).chain(rows).collect()
}

/// A field as RFC 4180 quotes it.
fn field(text: &str) -> String {
    if text.contains(['"', ',', '\n', '\r']) {
        return format!("\"{}\"", text.replace('"', "\"\""));
    }
    text.to_owned()
}
