//! Results that ask for more input.

use serde_json::Value;

use super::super::look::MessageCheck;
use super::super::table::ScanRule;
use super::{AnsweredRequest, elicitation, requests, shown};
use crate::wire::Members;

/// Judges a result that is not complete yet.
pub(super) fn judge(look: &mut MessageCheck<'_>, AnsweredRequest { asked, result }: AnsweredRequest<'_>) {
    if !asked.method.is_empty() {
        let is_allowed = matches!(asked.method, "tools/call" | "prompts/get" | "resources/read");
        look.require(ScanRule::InputRequiredElsewhere, is_allowed, || {
            format!("`{}` was answered with `input_required`, which it does not allow", asked.method)
        });
    }
    let asks = result.member("inputRequests");
    look.require(ScanRule::InputRequiredEmpty, asks.is_some() || result.member("requestState").is_some(), || {
        "a result of the type `input_required` has neither `inputRequests` nor `requestState`".to_owned()
    });
    for request in asks.and_then(Value::as_object).into_iter().flat_map(|asks| asks.values()) {
        let method = request["method"].as_str().unwrap_or_default();
        let params = request.member("params").unwrap_or(&Value::Null);
        let need = requests::need(asked.offers, method, params, look.revision);
        look.require(ScanRule::InputRequestKind, need.is_some(), || {
            format!(
                "an input request must elicit, sample or list roots, this one is {}",
                shown(request.member("method"))
            )
        });
        if let Some(need) = need {
            need.judge(look, method, ScanRule::UndeclaredInput, || {
                format!("the server asks for the input `{method}`{}, which the client did not declare", need.manner)
            });
        }
        match method {
            "elicitation/create" => elicitation::judge(look, None, params),
            "sampling/createMessage" => requests::sampled(look, params),
            _ => {}
        }
    }
}
