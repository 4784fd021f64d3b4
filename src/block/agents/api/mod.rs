//! `openai:`, `openai_responses:`, `anthropic:` and `gemini:`, models behind HTTP.
//!
//! A file for each format says how a conversation is written and how an answer is read, whole or as a stream; this one
//! sends, waits where it is told to, and names what goes wrong. A model's turn is sent back as it came, since some
//! providers keep what they know in it.

mod anthropic;
mod body;
mod gemini;
mod openai;
mod responses;

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use chrono::DateTime;
use reqwest::header::HeaderValue;
use reqwest::{Client, Response, StatusCode, Url};
use serde_json::Value;
use tokio::time::{Instant, sleep};

use self::body::UnreadBody;
use super::price::Price;
use super::provider::{Model, ModelFailure, ModelInput, ModelProvider, ModelTurn};
use crate::event::Finding;
use crate::plan::{BoxFuture, CheckContext};
use crate::source::grammar::Shape;
use crate::source::settings::Setting;
use crate::source::template::{Names, fill, is_template, text_of};
use crate::source::{Diagnostic, Located, Node, beginning, duration_text, settings, visible_line};
use crate::transport::http::{TrustedRoots, bare_client};
use crate::wire::sse::{SseEvent, SseParser};
use crate::wire::{exceeded_limit_together, read_json_bytes};

/// The most times that a request is sent, if a provider is busy or broken for a while.
const MOST_ATTEMPTS: usize = 3;

/// The wait before a request is sent again, where the provider names none.
const USUAL_WAIT: Duration = Duration::from_secs(1);

/// The longest part of a provider's message that is printed, in characters.
const SHOWN: usize = 300;

settings! {
    /// A model that is reached over HTTP.
    pub(crate) struct ApiKeys as "a model of a provider", at span {
        /// The model, by the provider's name for it; with a list, the agent is a case for each of them.
        model: Vec<NamedModel> => required()
            shape(Shape::Either(&[Shape::Text, Shape::NonEmpty(&Shape::List(&NamedModel::SHAPE))]))
            cure("write the name of one model as a text, and its `price` beside `openai`, `anthropic` or `gemini`"),
        /// The key, such as `"{{ env.OPENAI_API_KEY }}"`; it appears in no output. A model on this machine needs none.
        key: Option<Node> => shape(Shape::Template)
            cure("write `\"{{ env.NAME }}\"` and set the variable `NAME`; whoever reads the suite would read the key"),
        /// The address of the API, for example `http://127.0.0.1:11434/v1`; by default the provider's.
        url: Option<Node> => shape(Shape::Text),
        /// A file with the turns of the model. A run with `--update` asks the model and writes it; any other run plays it back
        /// without a key, and fails if the model would be told something else.
        pub(crate) recording: Option<Located<String>>,
        /// Whether answers are read as a stream.
        stream: bool => default("false"),
        /// The most tokens of one answer.
        max_tokens: u64 => range(1, 1_000_000) default("4096"),
    }
}

settings! {
    /// One of several models, with a price of its own.
    struct NamedModelKeys as "a model" {
        /// The provider's name for it.
        name: String => required(),
        /// What its tokens cost.
        price: Option<Node> => shape(Price::SHAPE),
    }
}

impl ApiKeys {
    /// Nothing that is sent would be answered: it goes to the provider, which wants a key.
    fn lacks_key(&self) -> bool {
        self.key.is_none() && self.url.is_none() && self.recording.is_none()
    }
}

/// A model, by its name or with a price of its own.
#[derive(Debug, Clone)]
struct NamedModel(NamedModelKeys);

impl Setting for NamedModel {
    const SHAPE: Shape = Shape::Either(&[Shape::Text, NamedModelKeys::SHAPE]);

    fn decode(node: &Node, found: &mut Vec<Diagnostic>) -> Option<Self> {
        let named = String::decode(node, found).map(|name| NamedModelKeys { name, price: None });
        named.or_else(|| NamedModelKeys::decode(node, found)).map(Self)
    }
}

/// The format that a provider speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ApiFormat {
    OpenAi,
    OpenAiResponses,
    Anthropic,
    Gemini,
}

impl ApiFormat {
    /// The key in suites.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::OpenAiResponses => "openai_responses",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
        }
    }

    fn usual_url(self) -> &'static str {
        match self {
            Self::OpenAi | Self::OpenAiResponses => "https://api.openai.com/v1",
            Self::Anthropic => "https://api.anthropic.com/v1",
            Self::Gemini => "https://generativelanguage.googleapis.com/v1beta",
        }
    }

    fn request(self, call: &ApiCall<'_>) -> ApiRequest {
        match self {
            Self::OpenAi => openai::request(call),
            Self::OpenAiResponses => responses::request(call),
            Self::Anthropic => anthropic::request(call),
            Self::Gemini => gemini::request(call),
        }
    }

    /// The turn in a whole answer.
    fn parse_turn(self, answer: &Value) -> Result<ModelTurn, UnreadableMember> {
        match self {
            Self::OpenAi => openai::parse_turn(answer),
            Self::OpenAiResponses => responses::parse_turn(answer),
            Self::Anthropic => anthropic::parse_turn(answer),
            Self::Gemini => gemini::parse_turn(answer),
        }
    }

    /// A whole answer from the events of a stream; `None` where the stream was cut.
    fn assemble(self, events: &[Value]) -> Option<Value> {
        match self {
            Self::OpenAi => openai::assemble(events),
            Self::OpenAiResponses => responses::assemble(events),
            Self::Anthropic => anthropic::assemble(events),
            Self::Gemini => gemini::assemble(events),
        }
    }
}

/// A turn that a model is asked for.
struct ApiCall<'a> {
    model: &'a str,
    key: Option<&'a str>,
    is_streamed: bool,
    max_tokens: u64,
    told: &'a ModelInput<'a>,
}

/// The path of a member that an answer lacks, or has in another form.
struct UnreadableMember(String);

/// A request as a format writes it.
struct ApiRequest {
    /// The path below the address of the API.
    path: String,
    headers: Vec<(&'static str, String)>,
    body: Value,
}

/// A model behind HTTP.
#[derive(Debug)]
pub(crate) struct ApiProvider {
    format: ApiFormat,
    model: String,
    key: Option<Node>,
    url: Option<Node>,
    is_streamed: bool,
    max_tokens: u64,
}

/// A model, and its price where it has one of its own.
pub(crate) struct PricedModel {
    pub(crate) api: ApiProvider,
    pub(crate) price: Option<Price>,
}

impl ApiProvider {
    /// One for each model that is named.
    pub(crate) fn all(format: ApiFormat, keys: &ApiKeys, found: &mut Vec<Diagnostic>) -> Vec<PricedModel> {
        if let Some(url) = &keys.url
            && let Some(written) = url.text().filter(|written| !is_template(written))
            && let Err(why) = address(written)
        {
            let help = format!("write it with its scheme, such as `{}`", format.usual_url());
            found.push(
                Diagnostic::error("bad-address", format!("`{written}` is no address of a provider: {why}"), url.span)
                    .with_help(help),
            );
        }
        if keys.lacks_key() {
            let message = format!("`{}` needs a key, and none is given", format.as_str());
            let help = "write `key: \"{{ env.NAME }}\"` and set the variable `NAME`; a model on this machine needs a `url`, \
                        and one that is played back a `recording`";
            found.push(Diagnostic::error("missing-key", message, keys.span).with_help(help.to_owned()));
        }
        let priced = |NamedModel(named): &NamedModel| PricedModel {
            api: Self {
                format,
                model: named.name.clone(),
                key: keys.key.clone(),
                url: keys.url.clone(),
                is_streamed: keys.stream,
                max_tokens: keys.max_tokens,
            },
            price: named.price.as_ref().map(Price::of_written),
        };
        keys.model.iter().map(priced).collect()
    }

    pub(crate) fn model(&self) -> &str {
        &self.model
    }

    fn fill(&self, names: &Names) -> Result<ApiModel, Finding> {
        let fill = |node: &Node, what: &str| {
            let filled = fill(node, names).map(|filled| text_of(&filled.to_json()));
            filled.map_err(|unfilled| {
                let message = format!("the {what} of `{}` is not there: {}", self.format.as_str(), unfilled.reason);
                let help = "set the variable of the environment, or use `scripted`, which needs no key".to_owned();
                Finding { help: Some(help), ..Finding::new("no-key", message) }
            })
        };
        let key = self.key.as_ref().map(|key| fill(key, "key")).transpose()?;
        if let Some(why) = key.as_deref().and_then(bad_key) {
            let help = "look at the variable of the environment that `key` names".to_owned();
            let message = format!("the key of `{}` {why}", self.format.as_str());
            return Err(Finding { help: Some(help), ..Finding::new("no-key", message) });
        }
        let url = self.url.as_ref().map(|url| fill(url, "url")).transpose()?;
        let url = url.unwrap_or_else(|| self.format.usual_url().to_owned());
        let bad_url = |why: String| Finding::new("bad-address", format!("`{url}` is no address of a provider: {why}"));
        let parsed = address(&url).map_err(bad_url)?;
        let client = bare_client(&TrustedRoots::System, parsed.scheme()).map_err(|why| bad_url(why.to_string()))?;
        Ok(ApiModel {
            format: self.format,
            model: self.model.clone(),
            key,
            url: url.trim_end_matches('/').to_owned(),
            is_streamed: self.is_streamed,
            max_tokens: self.max_tokens,
            client,
        })
    }
}

/// Why a text cannot be a key.
fn bad_key(key: &str) -> Option<&'static str> {
    if key.trim().is_empty() {
        return Some("is empty");
    }
    let is_plain = HeaderValue::from_str(key).is_ok() && key.trim() == key;
    (!is_plain).then_some("has a line end, a space around it, or another character that no key has")
}

/// The address of a provider; the sentence says why it is none.
fn address(written: &str) -> Result<Url, String> {
    let parsed = Url::parse(written).map_err(|why| why.to_string())?;
    match parsed.scheme() {
        "http" | "https" => Ok(parsed),
        other => Err(format!("its scheme is `{other}`, not `http` or `https`")),
    }
}

impl ModelProvider for ApiProvider {
    fn start(&self, context: &CheckContext<'_>, _: usize) -> Box<dyn Model> {
        match self.fill(context.names) {
            Ok(model) => Box::new(model),
            Err(why) => Box::new(Unusable(Some(why))),
        }
    }

    fn is_deterministic(&self) -> bool {
        false
    }
}

/// A provider that cannot be asked.
struct Unusable(Option<Finding>);

impl Model for Unusable {
    fn reply<'a>(&'a mut self, _: &'a ModelInput<'a>) -> BoxFuture<'a, Result<ModelTurn, ModelFailure>> {
        let why = self.0.clone().unwrap_or_else(|| Finding::new("no-key", "the provider cannot be asked"));
        Box::pin(async move { Err(ModelFailure::Unavailable(Box::new(why))) })
    }
}

/// A model that can be asked.
struct ApiModel {
    format: ApiFormat,
    model: String,
    key: Option<String>,
    url: String,
    is_streamed: bool,
    max_tokens: u64,
    client: Client,
}

impl Model for ApiModel {
    fn reply<'a>(&'a mut self, told: &'a ModelInput<'a>) -> BoxFuture<'a, Result<ModelTurn, ModelFailure>> {
        Box::pin(async move { self.ask(told).await.map_err(|why| ModelFailure::Unavailable(Box::new(why))) })
    }
}

/// Why an attempt brought no turn, and whether another one may.
struct FailedAttempt {
    found: Finding,
    /// The wait before another attempt; `None` where none helps.
    wait: Option<Duration>,
}

impl FailedAttempt {
    fn final_one(code: &'static str, message: String, help: &str) -> Self {
        let found = Finding { help: Some(help.to_owned()), ..Finding::new(code, message) };
        Self { found, wait: None }
    }
}

impl ApiModel {
    async fn ask(&self, told: &ModelInput<'_>) -> Result<ModelTurn, Finding> {
        let call = ApiCall {
            model: &self.model,
            key: self.key.as_deref(),
            is_streamed: self.is_streamed,
            max_tokens: self.max_tokens,
            told,
        };
        let request = self.format.request(&call);
        let mut attempts = 0;
        loop {
            attempts += 1;
            let failed = match self.attempt(&request).await {
                Ok(turn) => return Ok(turn),
                Err(failed) => failed,
            };
            // A wait beyond the time of the run would only hide why there is no answer.
            let is_useful = |wait: &Duration| {
                let next = Instant::now().checked_add(*wait);
                attempts < MOST_ATTEMPTS && next.is_some_and(|next| next < told.deadline)
            };
            match failed.wait.filter(is_useful) {
                Some(wait) => sleep(wait).await,
                None if failed.wait.is_some() => {
                    let long = failed.wait.filter(|wait| !wait.is_zero()).map(duration_text).unwrap_or_default();
                    return Err(failed
                        .found
                        .with_evidence("attempts", attempts.to_string())
                        .with_evidence("next attempt after", long));
                }
                None => return Err(failed.found),
            }
        }
    }

    async fn attempt(&self, request: &ApiRequest) -> Result<ModelTurn, FailedAttempt> {
        let ApiRequest { path, headers, body } = request;
        let mut asked = self.client.post(format!("{}{path}", self.url)).header("content-type", "application/json");
        for (name, value) in headers {
            asked = asked.header(*name, value);
        }
        let answered = asked.body(body.to_string()).send().await;
        let response = answered.map_err(|why| self.unreachable(&why))?;
        if !response.status().is_success() {
            return Err(self.explain_refusal(response).await);
        }
        let answer =
            if self.is_streamed { self.read_stream(response).await? } else { self.read_whole(response).await? };
        if has_error(&answer) {
            return Err(self.broke_off(&answer));
        }
        self.format.parse_turn(&answer).map_err(|UnreadableMember(member)| {
            let FailedAttempt { found, wait } = self.unreadable(&answer.to_string());
            FailedAttempt { found: found.with_evidence("missing or of another kind", member), wait }
        })
    }

    async fn read_whole(&self, response: Response) -> Result<Value, FailedAttempt> {
        let body = body::read(response).await.map_err(|failure| self.unread(failure))?;
        read_json_bytes(&body).ok_or_else(|| self.unreadable(&String::from_utf8_lossy(&body)))
    }

    async fn read_stream(&self, response: Response) -> Result<Value, FailedAttempt> {
        let body = body::read(response).await.map_err(|failure| self.unread(failure))?;
        let parsed = SseParser::default().push(&body).map_err(|_| self.unreadable("an event without an end"))?;
        if exceeded_limit_together(parsed.iter().map(|event| event.data.as_slice())).is_some() {
            return Err(self.unread(UnreadBody::TooLarge));
        }
        let events: Vec<Value> = parsed.iter().filter_map(read_event).collect();
        if let Some(error) = events.iter().find(|event| event["type"] == "error" || has_error(event)) {
            return Err(self.broke_off(error));
        }
        self.format.assemble(&events).ok_or_else(|| self.truncation_error())
    }

    async fn explain_refusal(&self, response: Response) -> FailedAttempt {
        let status = response.status();
        let named = response.headers().get("retry-after").and_then(|value| value.to_str().ok());
        let wait = named.and_then(|value| retry_after(value, SystemTime::now()));
        self.judge_refusal(status, wait, &String::from_utf8_lossy(&body::beginning(response).await))
    }

    /// Judges a refusal, for which the provider may name a wait.
    fn judge_refusal(&self, status: StatusCode, wait: Option<Duration>, body: &str) -> FailedAttempt {
        let (provider, model) = (self.format.as_str(), &self.model);
        let reason = self.reason(body);
        let message = |what: String| format!("{what} (HTTP {}){reason}", status.as_u16());
        let is_for_a_while = status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error();
        if is_for_a_while {
            let busy = status == StatusCode::TOO_MANY_REQUESTS;
            let what = if busy { "allows no more requests" } else { "is broken" };
            let help = if busy { "wait, or ask for a higher limit" } else { "try again later" };
            let failed =
                FailedAttempt::final_one("provider-unavailable", message(format!("`{provider}` {what}")), help);
            return FailedAttempt { wait: Some(wait.unwrap_or(USUAL_WAIT)), ..failed };
        }
        match status.as_u16() {
            _ if is_key_refused(status, body) => {
                let help = "check `key`, and the variable of the environment that it names";
                FailedAttempt::final_one("provider-refuses-key", message(format!("`{provider}` refuses the key")), help)
            }
            300..=399 => {
                let help = "write the address to which it redirects as `url`";
                let what = format!("`{provider}` redirects to another address, to which no key is sent");
                FailedAttempt::final_one("provider-refuses", message(what), help)
            }
            404 => {
                let help = "check `model` and `url`";
                FailedAttempt::final_one("unknown-model", message(format!("`{provider}` has no model `{model}`")), help)
            }
            _ => {
                let help = "look at the tools that are offered; `accepted_by` names those that providers refuse";
                FailedAttempt::final_one("provider-refuses", message(format!("`{provider}` refuses the request")), help)
            }
        }
    }

    /// An error in an answer that began as if all was well.
    fn broke_off(&self, event: &Value) -> FailedAttempt {
        let message =
            format!("`{}` ends its answer with an error{}", self.format.as_str(), self.reason(&event.to_string()));
        if !is_passing(event) {
            return FailedAttempt::final_one("provider-refuses", message, "mend what the provider says is wrong");
        }
        let failed = FailedAttempt::final_one("provider-unavailable", message, "try again later");
        FailedAttempt { wait: Some(USUAL_WAIT), ..failed }
    }

    fn unreachable(&self, why: &reqwest::Error) -> FailedAttempt {
        // The address may hold what the suite keeps secret.
        let kind = if why.is_connect() { "cannot be reached" } else { "gives no answer" };
        let message = format!("`{}` {kind}", self.format.as_str());
        let failed = FailedAttempt::final_one("provider-unavailable", message, "check `url`, and the network");
        FailedAttempt { wait: Some(Duration::ZERO), ..failed }
    }

    fn truncation_error(&self) -> FailedAttempt {
        let message = format!("the answer of `{}` ends before it is complete", self.format.as_str());
        FailedAttempt::final_one("provider-answer-cut", message, "try again; a shorter answer may help")
    }

    fn unread(&self, failure: UnreadBody) -> FailedAttempt {
        match failure {
            UnreadBody::Cut => self.truncation_error(),
            UnreadBody::TooLarge => {
                let message = format!("the answer of `{}` is not read: {}", self.format.as_str(), body::TOO_LARGE);
                FailedAttempt::final_one("provider-answer-unreadable", message, "check `url`, and lower `max_tokens`")
            }
        }
    }

    fn unreadable(&self, body: &str) -> FailedAttempt {
        let message = format!("the answer of `{}` is not in its format", self.format.as_str());
        let mut failed = FailedAttempt::final_one("provider-answer-unreadable", message, "check `url`");
        failed.found = failed.found.with_evidence("answer", self.without_key(body.to_owned()));
        failed
    }

    /// The reason in an answer, after a colon; nothing where it is empty.
    fn reason(&self, body: &str) -> String {
        let said = self.without_key(message_in(body));
        if said.trim().is_empty() { String::new() } else { format!(": {said}") }
    }

    /// The beginning of what a provider says, without the key, of which only a part may be left.
    fn without_key(&self, mut text: String) -> String {
        if let Some(key) = self.key.as_deref().filter(|key| !key.is_empty()) {
            text = text.replace(key, "[redacted]");
        }
        excerpt_line(&text)
    }
}

/// The wait that an answer names, in seconds or as a date.
///
/// <https://www.rfc-editor.org/rfc/rfc9110#section-10.2.3>
fn retry_after(value: &str, now: SystemTime) -> Option<Duration> {
    if let Ok(seconds) = value.trim().parse() {
        return Some(Duration::from_secs(seconds));
    }
    let at = u64::try_from(DateTime::parse_from_rfc2822(value.trim()).ok()?.timestamp()).ok()?;
    let now = now.duration_since(UNIX_EPOCH).ok()?.as_secs();
    Some(Duration::from_secs(at.saturating_sub(now)))
}

/// A provider may refuse the key with 401 or 403; Gemini does so in the details of a bad request.
///
/// <https://ai.google.dev/gemini-api/docs/troubleshooting>
fn is_key_refused(status: StatusCode, body: &str) -> bool {
    let details = || {
        let json: Value = serde_json::from_str(body).unwrap_or_default();
        json["error"]["details"].as_array().cloned().unwrap_or_default()
    };
    match status.as_u16() {
        401 | 403 => true,
        400 => details().iter().any(|detail| detail["reason"] == "API_KEY_INVALID"),
        _ => false,
    }
}

/// An error may be gone a moment later: it says that the provider is busy or broken, or does not say what it is.
fn is_passing(answer: &Value) -> bool {
    let error = if answer["error"].is_object() { &answer["error"] } else { answer };
    let said: Vec<&str> = ["code", "type"].iter().filter_map(|member| error[*member].as_str()).collect();
    let said: Vec<&str> = said.into_iter().filter(|said| *said != "error").collect();
    let words = ["server", "rate_limit", "overloaded", "api_error", "unavailable", "timeout", "internal"];
    said.is_empty() || said.iter().any(|said| words.iter().any(|word| said.to_lowercase().contains(word)))
}

/// An answer, or an event of one, is an error.
fn has_error(answer: &Value) -> bool {
    answer.get("error").is_some_and(|error| !error.is_null())
}

/// Why a model stopped, unless it was done.
fn cut_by(reason: &Value, done: &[&str]) -> Option<String> {
    reason.as_str().filter(|reason| !done.contains(reason)).map(str::to_owned)
}

fn excerpt_line(text: &str) -> String {
    visible_line(&beginning(text, SHOWN)).into_owned()
}

/// An event as JSON; the end of a stream is none.
fn read_event(event: &SseEvent) -> Option<Value> {
    if event.data == b"[DONE]" {
        return Some(Value::String("[DONE]".to_owned()));
    }
    read_json_bytes(&event.data)
}

/// The message in the answer of a provider that refuses something, in full.
fn message_in(body: &str) -> String {
    let json: Value = serde_json::from_str(body).unwrap_or_default();
    let message =
        json["error"]["message"].as_str().or_else(|| json["error"].as_str()).or_else(|| json["message"].as_str());
    message.unwrap_or(body).to_owned()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::block::agents::provider::{PastTurn, ToolResult};
    use crate::block::agents::tests::Scene;

    #[test]
    fn a_wait_is_seconds_or_a_date() {
        let now = UNIX_EPOCH + Duration::from_secs(784_111_777);
        let wait = |value| retry_after(value, now).map(|wait| wait.as_secs());
        assert_eq!(wait("120"), Some(120));
        assert_eq!(wait("18446744073709551615"), Some(u64::MAX));
        assert_eq!(wait("Sun, 06 Nov 1994 08:50:37 GMT"), Some(60));
        // It is over.
        assert_eq!(wait("Sun, 06 Nov 1994 08:48:37 GMT"), Some(0));
        assert_eq!(wait("soon"), None);
    }

    fn model(format: ApiFormat) -> ApiModel {
        let url = Scene::new("{ url: 'http://127.0.0.1:1/v1', key: sk-secret-1 }");
        let (key, url) = (url.node.get("key").cloned(), url.node.get("url").cloned());
        let provider = ApiProvider { format, model: "m1".to_owned(), key, url, is_streamed: false, max_tokens: 10 };
        provider.fill(&Names::default()).unwrap_or_else(|found| panic!("{}", found.message))
    }

    #[test]
    fn a_refusal_says_what_to_mend_and_whether_to_try_again() {
        let model = model(ApiFormat::OpenAi);
        let bad_key = r#"{"error":{"message":"bad","details":[{"reason":"API_KEY_INVALID"}]}}"#;
        for (status, body, code, message, is_tried_again) in [
            (429, "", "provider-unavailable", "`openai` allows no more requests (HTTP 429)", true),
            (503, "", "provider-unavailable", "`openai` is broken (HTTP 503)", true),
            (401, "", "provider-refuses-key", "`openai` refuses the key (HTTP 401)", false),
            (400, bad_key, "provider-refuses-key", "`openai` refuses the key (HTTP 400): bad", false),
            (
                302,
                "",
                "provider-refuses",
                "`openai` redirects to another address, to which no key is sent (HTTP 302)",
                false,
            ),
            (404, "", "unknown-model", "`openai` has no model `m1` (HTTP 404)", false),
            (
                400,
                r#"{"error":{"message":"bad tool; key sk-secret-1"}}"#,
                "provider-refuses",
                "`openai` refuses the request (HTTP 400): bad tool; key [redacted]",
                false,
            ),
        ] {
            let failed = model.judge_refusal(StatusCode::from_u16(status).unwrap(), None, body);
            assert_eq!((failed.found.code.as_str(), failed.found.message.as_str()), (code, message), "{status}");
            assert_eq!(failed.wait.is_some(), is_tried_again, "{status}");
        }
        let wait = model.judge_refusal(StatusCode::TOO_MANY_REQUESTS, Some(Duration::from_secs(7)), "").wait;
        assert_eq!(wait, Some(Duration::from_secs(7)), "the provider names it");
    }

    #[test]
    fn only_errors_of_a_busy_provider_pass() {
        for (answer, expected) in [
            (json!({ "error": { "code": "server_error", "message": "sorry" } }), true),
            (json!({ "error": { "code": "rate_limit_exceeded" } }), true),
            (json!({ "type": "error", "error": { "type": "overloaded_error" } }), true),
            (json!({ "type": "error", "message": "sorry" }), true),
            (json!({ "error": "sorry" }), true),
            (json!({ "error": { "code": 503, "message": "sorry" } }), true),
            (json!({ "error": { "code": "invalid_prompt" } }), false),
            (json!({ "type": "error", "code": "invalid_prompt" }), false),
        ] {
            assert_eq!(is_passing(&answer), expected, "{answer}");
        }
    }

    #[test]
    fn a_key_is_one_line_without_spaces_around_it() {
        for (key, is_key) in [("sk-1", true), ("", false), (" ", false), ("sk-1\n", false), (" sk-1", false)] {
            assert_eq!(bad_key(key).is_none(), is_key, "{key:?}");
        }
    }

    #[test]
    fn an_address_has_a_scheme_of_the_web() {
        for (written, is_address) in [
            ("http://127.0.0.1:11434/v1", true),
            ("https://api.example.com", true),
            ("file:///etc/passwd", false),
            ("api.example.com/v1", false),
            ("", false),
        ] {
            assert_eq!(address(written).is_ok(), is_address, "{written}");
        }
    }

    #[test]
    fn the_message_of_a_refusal_is_found_in_any_form() {
        for (body, expected) in [
            (r#"{"error":{"message":"too long"}}"#, "too long"),
            (r#"{"error":"too long"}"#, "too long"),
            (r#"{"message":"too long"}"#, "too long"),
            ("Bad Gateway", "Bad Gateway"),
            ("", ""),
        ] {
            assert_eq!(message_in(body), expected);
        }
    }

    /// A conversation of one call, whose answer is in the format of a provider, and whose result is a refusal.
    fn body_after(format: ApiFormat, answer: &Value) -> Value {
        let Ok(turn) = format.parse_turn(answer) else { panic!("{answer}") };
        let text = "no such id".to_owned();
        let results = vec![ToolResult { text, is_error: true, message: Arc::new(Value::Null) }];
        let past = [PastTurn { turn, results }];
        let told = ModelInput { prompt: "p", system: Some("s"), tools: &[], past: &past, deadline: Instant::now() };
        let call = ApiCall { model: "m1", key: Some("k"), is_streamed: false, max_tokens: 10, told: &told };
        format.request(&call).body
    }

    #[test]
    fn a_turn_is_sent_back_as_it_came_with_the_result_of_its_call() {
        let openai = json!({ "role": "assistant", "content": null, "tool_calls": [
            { "id": "c1", "type": "function", "function": { "name": "get", "arguments": "{\"id\":1}" } },
        ] });
        let body = body_after(ApiFormat::OpenAi, &json!({ "choices": [{ "message": openai }] }));
        assert_eq!(body["messages"][2], openai);
        assert_eq!(body["messages"][3], json!({ "role": "tool", "tool_call_id": "c1", "content": "no such id" }));

        let output = json!([
            { "type": "reasoning", "id": "rs_1", "summary": [] },
            { "type": "function_call", "id": "fc_1", "call_id": "c1", "name": "get", "arguments": "{\"id\":1}" },
        ]);
        let body = body_after(ApiFormat::OpenAiResponses, &json!({ "output": output }));
        assert_eq!((&body["instructions"], &body["input"][0]["content"]), (&json!("s"), &json!("p")));
        assert_eq!([&body["input"][1], &body["input"][2]], [&output[0], &output[1]]);
        let result = json!({ "type": "function_call_output", "call_id": "c1", "output": "no such id" });
        assert_eq!(body["input"][3], result);

        let thinking = json!({ "type": "thinking", "thinking": "hm", "signature": "abc" });
        let content = json!([thinking, { "type": "tool_use", "id": "c1", "name": "get", "input": { "id": 1 } }]);
        let body = body_after(ApiFormat::Anthropic, &json!({ "content": content }));
        assert_eq!(body["messages"][1], json!({ "role": "assistant", "content": content }));
        let result = json!({ "type": "tool_result", "tool_use_id": "c1", "content": "no such id", "is_error": true });
        assert_eq!(body["messages"][2]["content"], json!([result]));

        let parts = json!([{ "functionCall": { "name": "get", "args": { "id": 1 } }, "thoughtSignature": "abc" }]);
        let body = body_after(ApiFormat::Gemini, &json!({ "candidates": [{ "content": { "parts": parts } }] }));
        assert_eq!(body["contents"][1], json!({ "role": "model", "parts": parts }));
        let response = json!({ "name": "get", "response": { "error": "no such id" } });
        assert_eq!(body["contents"][2]["parts"], json!([{ "functionResponse": response }]));
    }

    /// A turn in short: its text, its calls, and why it was cut.
    fn brief(turn: Result<ModelTurn, UnreadableMember>) -> String {
        let turn = match turn {
            Ok(turn) => turn,
            Err(UnreadableMember(member)) => return format!("unreadable {member}"),
        };
        let calls = turn.calls.iter().map(|call| format!(" {} {}", call.name, call.arguments.to_json()));
        let cut = turn.cut.map(|why| format!(" cut by {why}")).unwrap_or_default();
        let tokens = turn.tokens.map(|tokens| format!(" {}+{}", tokens.read, tokens.written)).unwrap_or_default();
        format!("{}{}{cut}{tokens}", turn.text, calls.collect::<String>())
    }

    #[test]
    fn answers_are_read_with_what_servers_leave_out() {
        let openai =
            |message: Value, reason: &str| json!({ "choices": [{ "message": message, "finish_reason": reason }] });
        let anthropic = |content: Value, reason: &str| json!({ "content": content, "stop_reason": reason });
        let gemini = |parts: Value, reason: &str| json!({ "candidates": [{ "content": { "parts": parts }, "finishReason": reason }] });
        let said = |text: &str| json!({ "type": "message", "content": [{ "type": "output_text", "text": text }] });
        let function = |arguments: Value| json!({ "type": "function_call", "call_id": "c1", "name": "get", "arguments": arguments });
        let responses = |output: Value, status: &str| json!({ "status": status, "output": output, "incomplete_details": { "reason": "max_output_tokens" } });
        let call =
            |arguments: Value| json!({ "tool_calls": [{ "function": { "name": "get", "arguments": arguments } }] });
        for (format, answer, expected) in [
            (ApiFormat::OpenAi, openai(json!({ "content": "hi" }), "stop"), "hi"),
            (ApiFormat::OpenAi, openai(json!({ "content": "h" }), "length"), "h cut by length"),
            (ApiFormat::OpenAi, openai(json!({ "refusal": "no" }), "stop"), " cut by refusal: no"),
            (ApiFormat::OpenAi, openai(call(json!("{\"id\":1}")), "tool_calls"), " get {\"id\":1}"),
            // Some servers write arguments as an object, or leave them out.
            (ApiFormat::OpenAi, openai(call(json!({ "id": 1 })), "stop"), " get {\"id\":1}"),
            (ApiFormat::OpenAi, openai(call(Value::Null), "stop"), " get {}"),
            (ApiFormat::OpenAi, openai(call(json!("{\"id\":")), "stop"), " get \"{\\\"id\\\":\""),
            (
                ApiFormat::OpenAi,
                openai(json!({ "tool_calls": [{ "function": {} }] }), "stop"),
                "unreadable choices[0].message.tool_calls[0].function.name",
            ),
            (ApiFormat::OpenAi, json!({ "choices": [] }), "unreadable choices[0].message"),
            (
                ApiFormat::OpenAi,
                json!({ "choices": [{ "message": {} }], "usage": { "prompt_tokens": 5, "completion_tokens": 2 } }),
                " 5+2",
            ),
            (ApiFormat::OpenAiResponses, responses(json!([said("hi"), said("there")]), "completed"), "hi\nthere"),
            (
                ApiFormat::OpenAiResponses,
                responses(json!([function(json!("{\"id\":1}"))]), "completed"),
                " get {\"id\":1}",
            ),
            (ApiFormat::OpenAiResponses, responses(json!([function(Value::Null)]), "completed"), " get {}"),
            (
                ApiFormat::OpenAiResponses,
                responses(
                    json!([{ "type": "reasoning", "content": [{ "type": "reasoning_text", "text": "hm" }] }]),
                    "completed",
                ),
                "",
            ),
            (
                ApiFormat::OpenAiResponses,
                responses(
                    json!([{ "type": "message", "content": [{ "type": "refusal", "refusal": "no" }] }]),
                    "completed",
                ),
                " cut by refusal: no",
            ),
            (ApiFormat::OpenAiResponses, responses(json!([said("h")]), "incomplete"), "h cut by max_output_tokens"),
            (
                ApiFormat::OpenAiResponses,
                responses(json!([{ "type": "function_call", "call_id": "c1" }]), "completed"),
                "unreadable output[0].name",
            ),
            (
                ApiFormat::OpenAiResponses,
                json!({ "output": [], "usage": { "input_tokens": 5, "output_tokens": 2 } }),
                " 5+2",
            ),
            (ApiFormat::OpenAiResponses, json!({}), "unreadable output"),
            (ApiFormat::Anthropic, anthropic(json!([{ "type": "text", "text": "hi" }]), "end_turn"), "hi"),
            (ApiFormat::Anthropic, anthropic(json!([]), "max_tokens"), " cut by max_tokens"),
            (
                ApiFormat::Anthropic,
                anthropic(json!([{ "type": "tool_use", "name": "get", "input": {} }]), "tool_use"),
                "unreadable content[0].id",
            ),
            (ApiFormat::Anthropic, json!({}), "unreadable content"),
            (ApiFormat::Gemini, gemini(json!([{ "text": "h", "thought": true }, { "text": "i" }]), "STOP"), "i"),
            (ApiFormat::Gemini, gemini(json!([{ "functionCall": { "name": "get" } }]), "STOP"), " get {}"),
            (ApiFormat::Gemini, gemini(json!([]), "MAX_TOKENS"), " cut by MAX_TOKENS"),
            (ApiFormat::Gemini, json!({ "promptFeedback": { "blockReason": "SAFETY" } }), " cut by SAFETY"),
            (ApiFormat::Gemini, json!({}), "unreadable candidates[0]"),
        ] {
            assert_eq!(brief(format.parse_turn(&answer)), expected.trim_end(), "{answer}");
        }
    }

    #[test]
    fn a_stream_is_read_as_the_whole_answer_or_is_cut() {
        let openai = |delta: Value, reason: Value| json!({ "choices": [{ "delta": delta, "finish_reason": reason }] });
        let part = |function: Value| json!({ "tool_calls": [{ "index": 0, "function": function }] });
        let block = |kind: &str, more: Value| json!({ "type": kind, "index": 0, "delta": more, "content_block": more });
        for (format, events, expected) in [
            (
                ApiFormat::OpenAi,
                vec![
                    openai(json!({ "content": "o" }), Value::Null),
                    openai(part(json!({ "name": "get", "arguments": "{\"id\"" })), Value::Null),
                    openai(part(json!({ "arguments": ":1}" })), json!("tool_calls")),
                    json!("[DONE]"),
                ],
                "o get {\"id\":1}",
            ),
            (
                ApiFormat::OpenAiResponses,
                vec![
                    json!({ "type": "response.created", "response": { "status": "in_progress", "output": [] } }),
                    json!({ "type": "response.output_text.delta", "delta": "o" }),
                    json!({ "type": "response.completed", "response": {
                        "status": "completed",
                        "output": [{ "type": "message", "content": [{ "type": "output_text", "text": "o" }] }],
                    } }),
                ],
                "o",
            ),
            (
                ApiFormat::Anthropic,
                vec![
                    block("content_block_start", json!({ "type": "tool_use", "id": "c1", "name": "get", "input": {} })),
                    block("content_block_delta", json!({ "partial_json": "{\"id\"" })),
                    block("content_block_delta", json!({ "partial_json": ":1}" })),
                    json!({ "type": "message_delta", "delta": { "stop_reason": "tool_use" } }),
                    json!({ "type": "message_stop" }),
                ],
                " get {\"id\":1}",
            ),
            (
                ApiFormat::Gemini,
                vec![
                    json!({ "candidates": [{ "content": { "parts": [{ "text": "a" }] } }] }),
                    json!({ "candidates": [{ "content": { "parts": [{ "text": "b" }] }, "finishReason": "STOP" }] }),
                ],
                "ab",
            ),
        ] {
            let whole = format.assemble(&events).unwrap_or_else(|| panic!("{events:?}"));
            assert_eq!(brief(format.parse_turn(&whole)), expected);
            assert!(format.assemble(&events[..events.len() - 1]).is_none(), "{format:?} ends too early");
        }
    }
}
