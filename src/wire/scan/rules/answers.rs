//! Which request an answer answers.

use serde_json::Value;

use super::super::super::Id;
use super::super::look::MessageCheck;
use super::super::memory::{SentRequest, SessionMemory};
use super::super::table::ScanRule;
use crate::wire::Members;

/// Judges whose answer it is; returns the request, where this is the answer that it was to get.
pub(super) fn judge(
    look: &mut MessageCheck<'_>,
    memory: &mut SessionMemory,
    json: &Value,
    id: Option<Id>,
) -> Option<SentRequest> {
    // A response that refuses with its status says by itself what it refuses.
    let refuses = look.frame.http.as_ref().is_some_and(|http| !http.is_success());
    // Unreadable input is rightly answered with no id; whether it was unreadable is for raw steps to judge.
    let may_be_nameless = memory.is_raw || json.member("error").is_some() && refuses;
    look.require(ScanRule::AnswerWithoutId, id.is_some() || may_be_nameless, || {
        "an answer has no usable `id`, so it matches no request".to_owned()
    });
    let id = id?;
    if !memory.asked.contains_key(&id) {
        let twin = memory.twin(&id);
        let message = || match &twin {
            Some(twin) => {
                format!(
                    "the type of the id changed: the request has {}, the answer has {}",
                    twin.to_json(),
                    id.to_json()
                )
            }
            None => format!("the server answered with id {}, which matches no request", id.to_json()),
        };
        look.request.clone_from(&twin);
        look.require(ScanRule::WrongId, false, message);
        return None;
    }
    look.require(ScanRule::WrongId, true, String::new);
    let asked = memory.asked.get_mut(&id)?;
    look.require(ScanRule::AnsweredTwice, asked.is_raw || !asked.is_answered, || {
        format!("the server answered the request with id {} twice", id.to_json())
    });
    if asked.is_answered && !asked.is_raw {
        return None;
    }
    let subject = if asked.is_raw { asked.subject.clone() } else { asked.subject.take() };
    asked.is_answered = true;
    Some(SentRequest { subject, ..asked.clone() })
}
