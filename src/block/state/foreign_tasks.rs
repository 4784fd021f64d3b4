//! Tasks of one user, of which another one knows the id (2025-11-25, basic/utilities/tasks, task isolation and access
//! control; since 2026-07-28 SEP-2663, security implications).
//!
//! Each of two users makes a task and asks for it, so that both are known to be able to. Then the second one asks for the
//! task of the first.

use std::sync::Arc;

use serde_json::{Value, json};

use super::StateSettings;
use super::shared_caches::refusal;
use super::user_sessions::{CheckedUser, UserSessions};
use crate::check::evidence::{exchange, finding_with_help};
use crate::check::{CheckEnd, CheckRequest, CheckSession, call_params};
use crate::event::{CheckResult, Finding, Outcome, Severity};
use crate::plan::witness::arguments_for_call;
use crate::plan::{BoxFuture, Check, CheckContext};
use crate::session::SessionReply;
use crate::source::beginning_of_json;
use crate::wire::{Era, Tool};

/// The most tools that are called in the search for one whose call becomes a task.
const MOST_TOOLS: usize = 8;

/// The characters of an answer that are shown.
const SHOWN: usize = 300;

/// Asks for a task as a user who did not make it.
#[derive(Debug)]
pub(crate) struct ForeignTasksCheck {
    pub(crate) settings: Arc<StateSettings>,
}

/// True if calls of tools can become tasks, by the capabilities of a server.
pub(crate) fn has_tasks(capabilities: &Value) -> bool {
    let extension = &capabilities["extensions"]["io.modelcontextprotocol/tasks"];
    extension.is_object() || capabilities["tasks"]["requests"]["tools"]["call"].is_object()
}

impl Check for ForeignTasksCheck {
    fn run<'a>(&'a self, context: CheckContext<'a>) -> BoxFuture<'a, CheckResult> {
        Box::pin(async move { run(&self.settings, &context).await.unwrap_or_else(CheckEnd::into_result) })
    }
}

async fn run(settings: &StateSettings, context: &CheckContext<'_>) -> Result<CheckResult, CheckEnd> {
    let (users, opened) = UserSessions::open(context).await?.checked(context, &settings.limits());
    let result = match opened {
        Ok(()) => {
            let each = users.users.iter();
            let each: Vec<TaskUser<'_, '_>> = each.map(|user| TaskUser::new(user, context)).collect();
            look(settings, &each).await
        }
        Err(end) => Err(end),
    };
    Ok(users.close(result.unwrap_or_else(CheckEnd::into_result)).await)
}

async fn look(settings: &StateSettings, users: &[TaskUser<'_, '_>]) -> Result<CheckResult, CheckEnd> {
    let [owner, others @ ..] = users else { return Err(CheckEnd::inconclusive("there is no user")) };
    let Some(made) = owner.find_tool(settings).await? else {
        return Ok(CheckResult::not_applicable("no call of a tool became a task"));
    };
    owner.expect_own(&made).await?;
    for other in others {
        let Some(own) = other.make(made.call.clone()).await? else {
            let why = format!("the same call of `{}` became no task for `{}`", made.tool(), other.name);
            return Err(CheckEnd::inconclusive(why));
        };
        if own.id == made.id {
            let why = format!("a task of `{}` and one of `{}` have the same id", owner.name, other.name);
            return Err(CheckEnd::inconclusive(why));
        }
        other.expect_own(&own).await?;
        let TaskAnswer { message, reply } = other.ask(&made.id).await?;
        match judge(&message, &made.id) {
            TaskAccess::Refused => {}
            TaskAccess::Odd => {
                let why = format!("`tasks/get` for a task of `{}` was answered without a task", owner.name);
                return Err(CheckEnd::inconclusive(why));
            }
            TaskAccess::Served => {
                let found = leak(&made, [owner.name, other.name], &message);
                let exchanges = reply.iter().map(|reply| exchange(&format!("tasks/get as {}", other.name), reply));
                let result = CheckResult::with_findings(Outcome::Failed, vec![found]);
                return Ok(CheckResult { exchanges: exchanges.collect(), ..result });
            }
        }
    }
    Ok(CheckResult::new(Outcome::Passed))
}

/// A user of the server, in a session.
struct TaskUser<'u, 'a> {
    name: &'u str,
    session: &'u CheckSession<'a>,
    context: &'a CheckContext<'a>,
}

/// A task that a user made.
struct MadeTask {
    id: String,
    /// The parameters of its call.
    call: Value,
}

impl MadeTask {
    fn tool(&self) -> &str {
        self.call["name"].as_str().unwrap_or_default()
    }
}

/// An answer to `tasks/get`; a refusal by HTTP is one, too.
struct TaskAnswer {
    message: Value,
    reply: Option<SessionReply>,
}

impl<'u, 'a> TaskUser<'u, 'a> {
    fn new(user: &'u CheckedUser<'a>, context: &'a CheckContext<'a>) -> Self {
        Self { name: &user.name, session: &user.session, context }
    }

    fn era(&self) -> Era {
        self.session.session().server.revision.era()
    }

    /// A task of the first tool whose call becomes one.
    async fn find_tool(&self, settings: &StateSettings) -> Result<Option<MadeTask>, CheckEnd> {
        let may_be_task = |tool: &&Tool| {
            let support = tool.raw["execution"]["taskSupport"].as_str();
            settings.tools.selects(&tool.name)
                && (self.era() == Era::Stateless || matches!(support, Some("required" | "optional")))
        };
        let called = self.context.catalog.tools.iter().filter(may_be_task).filter_map(|tool| {
            let arguments = arguments_for_call(self.context.suite, self.context.server_name, tool).ok()?;
            Some(call_params(&tool.name, &self.context.fill(&arguments)?))
        });
        for call in called.take(MOST_TOOLS) {
            if let Some(made) = self.make(call).await? {
                return Ok(Some(made));
            }
        }
        Ok(None)
    }

    /// Makes a call as a task; `None` where it becomes none, or where the user may not make it.
    async fn make(&self, call: Value) -> Result<Option<MadeTask>, CheckEnd> {
        let mut params = self.session.session().declaring_tasks(call.clone());
        if self.era() == Era::Session {
            params["task"] = json!({});
        }
        let reply = match self.session.request(CheckRequest::new("tools/call", params)).await {
            Ok(reply) => reply,
            Err(CheckEnd::Unanswered(failure)) if refusal(&failure.reason).is_some() => return Ok(None),
            Err(end) => return Err(end),
        };
        let result = &reply.message["result"];
        let task = if self.era() == Era::Session { &result["task"] } else { result };
        Ok(task["taskId"].as_str().map(|id| MadeTask { id: id.to_owned(), call }))
    }

    async fn ask(&self, id: &str) -> Result<TaskAnswer, CheckEnd> {
        let params = self.session.session().declaring_tasks(json!({ "taskId": id }));
        match self.session.send(CheckRequest::new("tasks/get", params)).await {
            Ok(reply) => Ok(TaskAnswer { message: (*reply.message).clone(), reply: Some(reply) }),
            Err(failure) => match refusal(&failure.reason) {
                Some(error) => Ok(TaskAnswer { message: json!({ "error": error }), reply: None }),
                None => Err(self.session.end_of(failure)),
            },
        }
    }

    /// Whoever cannot read an own task proves nothing with a foreign one.
    async fn expect_own(&self, made: &MadeTask) -> Result<(), CheckEnd> {
        match judge(&self.ask(&made.id).await?.message, &made.id) {
            TaskAccess::Served => Ok(()),
            TaskAccess::Refused | TaskAccess::Odd => {
                let why = format!("`{}` cannot read its own task of `{}`", self.name, made.tool());
                Err(CheckEnd::inconclusive(why))
            }
        }
    }
}

/// What follows from an answer to `tasks/get`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TaskAccess {
    Served,
    Refused,
    /// It is neither the task nor an error.
    Odd,
}

fn judge(answer: &Value, id: &str) -> TaskAccess {
    if answer.get("error").is_some() {
        TaskAccess::Refused
    } else if answer["result"]["taskId"] == id {
        TaskAccess::Served
    } else {
        TaskAccess::Odd
    }
}

fn leak(made: &MadeTask, [owner, other]: [&str; 2], answer: &Value) -> Finding {
    let message = format!("`{other}` can read a task of `{owner}`, which a call of `{}` made", made.tool());
    let help = "look a task up among those of the user who asks, and answer others with the error -32602";
    let found = finding_with_help("foreign-task", message, help);
    Finding { severity: Some(Severity::Critical), ..found }
        .with_evidence(&format!("answer to `{other}`"), beginning_of_json(&answer["result"], SHOWN))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_served_by_its_id() {
        for (answer, expected) in [
            (json!({ "result": { "taskId": "t1", "status": "working" } }), TaskAccess::Served),
            (json!({ "result": { "taskId": "t2", "status": "working" } }), TaskAccess::Odd),
            (json!({ "result": {} }), TaskAccess::Odd),
            (json!({ "error": { "code": -32602, "message": "there is no such task" } }), TaskAccess::Refused),
            (json!({ "error": { "code": 403, "message": "HTTP 403" } }), TaskAccess::Refused),
        ] {
            assert_eq!(judge(&answer, "t1"), expected, "{answer}");
        }
    }

    #[test]
    fn tasks_are_declared_in_two_forms() {
        for (capabilities, expected) in [
            (json!({ "tasks": { "requests": { "tools": { "call": {} } } } }), true),
            (json!({ "tasks": { "list": {} } }), false),
            (json!({ "extensions": { "io.modelcontextprotocol/tasks": {} } }), true),
            (json!({ "extensions": {} }), false),
            (Value::Null, false),
        ] {
            assert_eq!(has_tasks(&capabilities), expected, "{capabilities}");
        }
    }
}
