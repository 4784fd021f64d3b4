//! Requests of the server, and questions to the user, which a result may carry too.

use serde_json::Value;

use super::super::look::MessageCheck;
use super::super::memory::{ClientCapabilities, MAX_NAMES, SessionMemory};
use super::super::table::ScanRule;
use super::framing::is_whole;
use super::messages;
use super::names::judge_meta;
use super::{items, quote};
use crate::wire::{Id, Members, Revision};

/// Judges a request of the server; one whose id is none comes without it.
pub(crate) fn judge(
    look: &mut MessageCheck<'_>,
    memory: &mut SessionMemory,
    id: Option<Id>,
    method: &str,
    json: &Value,
) {
    // A server that was made to speak the older era as well may ask.
    look.require(ScanRule::ServerRequest, memory.is_mixed, || {
        format!("the server sent the request `{method}`; servers must not send requests since 2026-07-28")
    });
    if look.revision >= Revision::V2026_07_28 {
        return;
    }
    look.require(ScanRule::BadRequestId, id.is_some() || has_huge_id(look), || {
        format!("the request `{method}` has an `id` that is neither text nor a whole number")
    });
    if let Some(id) = id {
        let shown = id.to_json();
        look.require(ScanRule::ReusedRequestId, memory.server_ids.insert(id), || {
            format!("the server used the id {shown} for a second request of its own")
        });
    }
    messages::judge_unasked(look, memory, "requests", method, json);
    let params = &json["params"];
    judge_meta(look, params);
    if let Some(offers) = memory.offers
        && let Some(need) = needed_capability(offers, method, params, look.revision)
    {
        need.judge(look, method, ScanRule::UndeclaredRequest, || {
            format!("the server sent the request `{method}`{}, which the client did not declare", need.manner)
        });
    }
    match method {
        "elicitation/create" => judge_elicitation(look, Some(memory), params),
        "sampling/createMessage" => judge_sampling(look, params),
        _ => {}
    }
}

/// The id is a whole number that is too large to be compared.
fn has_huge_id(look: &MessageCheck<'_>) -> bool {
    look.frame.json().is_ok_and(|json| is_whole(&json["id"]))
}

/// The client capability that a request needs.
pub(crate) struct CapabilityNeed {
    pub(crate) is_offered: bool,
    /// The manner of the request, where only that is not declared.
    pub(crate) manner: &'static str,
}

impl CapabilityNeed {
    /// Judges whether the client offers what a request needs, by the rule of its manner or by that of all requests.
    pub(crate) fn judge(
        &self,
        look: &mut MessageCheck<'_>,
        method: &str,
        of_all: ScanRule,
        words: impl FnOnce() -> String,
    ) {
        let of_manner = match method {
            "sampling/createMessage" => Some(ScanRule::UndeclaredSamplingTools),
            "elicitation/create" => Some(ScanRule::UndeclaredElicitationMode),
            _ => None,
        };
        match of_manner.filter(|_| !self.manner.is_empty()) {
            Some(rule) => look.require(rule, self.is_offered, words),
            None => look.require(of_all, self.is_offered, words),
        }
        // It could have been of a manner that the client does not offer.
        if let Some(rule) = of_manner.filter(|_| self.manner.is_empty() && self.is_offered) {
            look.require(rule, true, String::new);
        }
    }
}

/// The capability that a request needs; `None` where it needs none.
pub(crate) fn needed_capability(
    offers: ClientCapabilities,
    method: &str,
    params: &Value,
    revision: Revision,
) -> Option<CapabilityNeed> {
    let has_modes = revision >= Revision::V2025_11_25;
    let is_url = params["mode"] == "url";
    let has_tools = has_modes && ["tools", "toolChoice"].iter().any(|name| params.get(name).is_some());
    let (is_offered, manner) = match method {
        "roots/list" => (offers.roots, ""),
        "sampling/createMessage" if has_tools && offers.sampling => (offers.sampling_tools, " with tools"),
        "sampling/createMessage" => (offers.sampling, ""),
        "elicitation/create" if !has_modes => (offers.forms || offers.urls, ""),
        "elicitation/create" if is_url && offers.forms => (offers.urls, " in mode `url`"),
        "elicitation/create" if is_url => (offers.urls, ""),
        "elicitation/create" if offers.urls => (offers.forms, " in mode `form`"),
        "elicitation/create" => (offers.forms, ""),
        _ => return None,
    };
    Some(CapabilityNeed { is_offered, manner })
}

/// Judges the messages of a request for sampling: results of tools stand alone.
pub(crate) fn judge_sampling(look: &mut MessageCheck<'_>, params: &Value) {
    for message in items(params, "messages") {
        let blocks = || items(message, "content");
        let is_result = |block: &Value| block["type"] == "tool_result";
        if blocks().any(is_result) {
            look.require(ScanRule::UnbalancedToolResults, blocks().all(is_result), || {
                format!("a message for sampling mixes results of tools with other content: {}", quote(Some(message)))
            });
        }
    }
}

/// The error that asks for elicitations by URL.
pub(crate) const URL_REQUIRED: i64 = -32042;

/// Judges the parameters of `elicitation/create`; without a memory they come inside a result.
pub(crate) fn judge_elicitation(look: &mut MessageCheck<'_>, memory: Option<&mut SessionMemory>, params: &Value) {
    if params["mode"] == "url" && look.revision >= Revision::V2025_11_25 {
        if let Some(memory) = memory {
            remember_elicitation(memory, params.member("elicitationId"));
        }
        return;
    }
    let is_form = params.member("mode").is_none_or(|mode| mode == "form");
    let properties = params["requestedSchema"]["properties"].as_object().filter(|_| is_form);
    if let Some(properties) = properties {
        let secret = properties.iter().find(|(name, field)| is_secret_field(name, field));
        look.require(ScanRule::SecretElicitation, secret.is_none(), || {
            let name = secret.map(|(name, _)| name.as_str()).unwrap_or_default();
            format!("a form must not ask for secrets, this one has the field `{name}`; mode `url` keeps them from the client")
        });
    }
}

/// The ends of names whose fields hold secrets, and whole titles, without the separators of words.
const SECRET_FIELDS: [&str; 21] = [
    "password",
    "passwd",
    "passphrase",
    "apikey",
    "apisecret",
    "apitoken",
    "accesstoken",
    "authtoken",
    "bearertoken",
    "bottoken",
    "githubtoken",
    "refreshtoken",
    "sessiontoken",
    "secretaccesskey",
    "secretkey",
    "privatekey",
    "clientsecret",
    "cardnumber",
    "creditcard",
    "cvc",
    "cvv",
];

/// A field of a form asks for a secret: a free text that is to be masked, or has such a name or title.
fn is_secret_field(name: &str, field: &Value) -> bool {
    let letters = |text: &str| text.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_lowercase();
    let (name, title) = (letters(name), letters(field["title"].as_str().unwrap_or_default()));
    let is_free_text = field["type"] == "string" && field.get("enum").is_none() && field.get("oneOf").is_none();
    // A longer title may only be about one, as in "Name of the API key".
    let is_named = SECRET_FIELDS.iter().any(|end| name.ends_with(end) || title == *end);
    is_free_text && (is_named || field["format"] == "password")
}

fn remember_elicitation(memory: &mut SessionMemory, id: Option<&Value>) {
    if let Some(id) = id.and_then(Value::as_str).filter(|_| memory.elicitations.len() < MAX_NAMES) {
        memory.elicitations.insert(id.into());
    }
}

/// Judges an error that asks for elicitations by URL.
pub(crate) fn url_required(look: &mut MessageCheck<'_>, memory: &mut SessionMemory, error: &Value) {
    let list = error.pointer("/data/elicitations").and_then(Value::as_array);
    look.require(ScanRule::BadUrlRequired, list.is_none_or(|list| !list.is_empty()), || {
        "the error -32042 must list the elicitations that it needs, its list is empty".to_owned()
    });
    list.into_iter().flatten().for_each(|one| remember_elicitation(memory, one.member("elicitationId")));
}

/// Judges the news that an elicitation is complete.
pub(crate) fn elicitation_completed(look: &mut MessageCheck<'_>, memory: &SessionMemory, params: &Value) {
    let id = params.member("elicitationId");
    let is_full = memory.elicitations.len() >= MAX_NAMES;
    let is_known = id.and_then(Value::as_str).is_some_and(|id| is_full || memory.elicitations.contains(id));
    look.require(ScanRule::UnknownElicitation, is_known, || {
        format!(
            "`notifications/elicitation/complete` names the elicitation {}, which the server never requested",
            quote(id)
        )
    });
}
