//! Tasks of 2025-11-25: their ids, their lives, their times.

use serde_json::Value;

use super::super::look::MessageCheck;
use super::super::memory::{KnownTask, MAX_NAMES, SessionMemory};
use super::super::table::ScanRule;
use super::{AnsweredRequest, items, quote};
use crate::wire::{Members, Revision};

/// The key under which messages name the task that they belong to.
const RELATED: &str = "io.modelcontextprotocol/related-task";

/// The kind of message that carries a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TaskSource {
    Created,
    /// In the answer to what was sent in that frame.
    Answered(u32),
    /// At any time.
    Notified,
}

/// Judges a result as one of tasks.
pub(crate) fn judge(
    look: &mut MessageCheck<'_>,
    memory: &mut SessionMemory,
    AnsweredRequest { asked, result }: AnsweredRequest<'_>,
) {
    if look.revision != Revision::V2025_11_25 || asked.is_raw {
        return;
    }
    match asked.method {
        "tools/call" if asked.is_augmented && result["task"].is_object() => {
            judge_task(look, memory, &result["task"], TaskSource::Created);
        }
        "tasks/get" | "tasks/cancel" => judge_task(look, memory, result, TaskSource::Answered(asked.frame)),
        "tasks/list" => {
            items(result, "tasks").for_each(|task| judge_task(look, memory, task, TaskSource::Answered(asked.frame)));
        }
        "tasks/result" => judge_related(look, asked.subject.as_deref(), result),
        _ => {}
    }
}

/// Judges a notification of a task's status.
pub(crate) fn judge_status_notification(look: &mut MessageCheck<'_>, memory: &mut SessionMemory, params: &Value) {
    if look.revision == Revision::V2025_11_25 {
        judge_task(look, memory, params, TaskSource::Notified);
    }
}

fn judge_task(look: &mut MessageCheck<'_>, memory: &mut SessionMemory, task: &Value, source: TaskSource) {
    let id = task.member("taskId");
    let Some(id) = id.and_then(Value::as_str) else { return };
    let status = task["status"].as_str().unwrap_or_default();
    if source == TaskSource::Created {
        look.require(ScanRule::TaskNotWorking, status == "working", || {
            format!("the task `{id}` was created in the status `{status}`; tasks begin with `working`")
        });
        let is_made = memory.tasks.get(id).is_some_and(|task| task.is_made);
        look.require(ScanRule::ReusedTaskId, !is_made, || format!("two tasks have the id `{id}`"));
    }
    judge_status(look, memory, id, status, source);
}

/// Judges what became of a task since it ended; an answer may have been made before, unless its request came after.
fn judge_status(look: &mut MessageCheck<'_>, memory: &mut SessionMemory, id: &str, status: &str, source: TaskSource) {
    if memory.tasks.len() >= MAX_NAMES {
        return;
    }
    let task = memory.tasks.entry(id.into()).or_insert(KnownTask { ended: None, is_made: false });
    task.is_made |= source == TaskSource::Created;
    if let (Some((end, at)), TaskSource::Answered(asked)) = (&task.ended, source)
        && asked > *at
    {
        look.require(ScanRule::TaskNotFinal, **end == *status, || {
            format!("the task `{id}` was `{end}`, which is final, and is `{status}`")
        });
    }
    if task.ended.is_none() && matches!(status, "completed" | "failed" | "cancelled") {
        task.ended = Some((status.into(), look.frame.seq));
    }
}

fn judge_related(look: &mut MessageCheck<'_>, task: Option<&str>, result: &Value) {
    let Some(task) = task else { return };
    let named = result.member("_meta").and_then(|meta| meta.get(RELATED)).and_then(|related| related.member("taskId"));
    look.require(ScanRule::UnrelatedTaskResult, named.is_some_and(|named| named == task), || {
        format!("the answer to `tasks/result` must name the task `{task}` in `_meta`, it names {}", quote(named))
    });
}
