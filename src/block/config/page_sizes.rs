//! Tools with a parameter for the size of a page: they return no more items than were asked for.
//!
//! Nothing is judged before more items came for a larger size, and only if the answer has one list: of several, any could be
//! the page.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::PageSizeSettings;
use crate::check::visit::{ShownText, VisitRound};
use crate::event::{CallPurpose, CheckResult, Finding, Outcome, Reason, RefusedCall, RequirementLevel, Severity};
use crate::plan::arguments::ConfigSource;
use crate::plan::witness::filled_arguments;
use crate::plan::{BoxFuture, Check, CheckContext, CloseServer, OpenServer};
use crate::session::Session;
use crate::source::duration_text;
use crate::wire::Tool;

/// Names of page sizes, without what joins their words.
const NAMES: [&str; 10] = [
    "limit",
    "pagesize",
    "pagelimit",
    "perpage",
    "maxresults",
    "maxitems",
    "resultsperpage",
    "itemsperpage",
    "numresults",
    "topk",
];

/// A name that may mean something else, so that it only warns.
const DOUBTFUL_NAME: &str = "count";

/// The size that is asked for to see how many items there are, unless the schema allows fewer.
const LARGE: u64 = 100;

/// The variant that it judges.
pub(crate) const PAGE_SIZE: &str = "CONFIG-LIMIT-NOT-ENFORCED";

/// A parameter that says how many items a call may return at most.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PageSize {
    pub(crate) name: String,
    /// The smallest size that the schema allows.
    smallest: u64,
    largest: Option<u64>,
    /// Whether the name may mean something else.
    is_doubtful: bool,
}

impl PageSize {
    /// The page size among the parameters of a tool; `named` are those that the suite names.
    pub(crate) fn of(tool: &Tool, named: &[String]) -> Option<Self> {
        let properties = tool.raw["inputSchema"]["properties"].as_object()?;
        let is_named = |name: &str| named.iter().any(|known| known == name);
        let fits = |name: &str| is_named(name) || plain(name) == DOUBTFUL_NAME || NAMES.contains(&plain(name).as_str());
        let mut found: Vec<(&String, &Value)> =
            properties.iter().filter(|(name, schema)| fits(name) && takes_any_integer(schema)).collect();
        found.sort_by_key(|(name, _)| (!is_named(name), plain(name) == DOUBTFUL_NAME));
        let (name, schema) = found.first()?;
        let bound = |inclusive: &str, exclusive: &str, shift: i64| {
            let of_exclusive = schema[exclusive].as_i64().map(|bound| bound + shift);
            schema[inclusive].as_i64().or(of_exclusive).and_then(|bound| u64::try_from(bound).ok())
        };
        Some(Self {
            name: (*name).clone(),
            smallest: bound("minimum", "exclusiveMinimum", 1).unwrap_or(1).max(1),
            largest: bound("maximum", "exclusiveMaximum", -1),
            is_doubtful: plain(name) == DOUBTFUL_NAME && !is_named(name),
        })
    }

    /// Small sizes that the schema allows.
    fn small(&self) -> Vec<u64> {
        let sizes = [self.smallest, self.smallest + 1];
        sizes.into_iter().filter(|size| self.largest.is_none_or(|largest| *size <= largest)).collect()
    }
}

/// A name in lower case, without what joins its words.
fn plain(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase()).collect()
}

fn takes_any_integer(schema: &Value) -> bool {
    let is_integer = |kind: &Value| kind == "integer";
    let kind = &schema["type"];
    let kinds = schema["anyOf"].as_array().into_iter().flatten().map(|one| &one["type"]);
    let is_taken = is_integer(kind) || kind.as_array().is_some_and(|kinds| kinds.iter().any(is_integer));
    let is_bound = ["enum", "const", "multipleOf"].iter().any(|key| schema.get(key).is_some());
    (is_taken || kinds.into_iter().any(is_integer)) && !is_bound
}

/// Asks a tool for pages of several sizes.
#[derive(Debug)]
pub(crate) struct PageSizeCheck {
    pub(crate) settings: Arc<PageSizeSettings>,
    pub(crate) tool: String,
    pub(crate) size: PageSize,
}

impl Check for PageSizeCheck {
    fn run<'a>(&'a self, context: CheckContext<'a>) -> BoxFuture<'a, CheckResult> {
        Box::pin(async move { run(self, &context).await })
    }
}

async fn run(check: &PageSizeCheck, context: &CheckContext<'_>) -> CheckResult {
    let Some(tool) = context.catalog.tool(&check.tool) else {
        return CheckResult::not_applicable(format!("the server lists no tool `{}`", check.tool));
    };
    let config_source = ConfigSource::of(context.suite);
    let arguments = match filled_arguments(context, tool) {
        Ok(arguments) => arguments,
        Err(why) => return CheckResult::because(Outcome::Skipped, why.skip_reason(&tool.name, config_source)),
    };
    let session = match context.servers.open(OpenServer::FRESH).await {
        Ok(session) => session,
        Err(found) => return CheckResult::unavailable(found),
    };
    let mut pages = Pages {
        check,
        session: &session,
        round: VisitRound::new(context, check.settings.time),
        arguments,
        help: config_source.help_to_give_arguments(&tool.name),
        shown: Vec::new(),
    };
    let judged = pages.judge().await;
    let mut result = pages.result();
    if !result.findings.is_empty() {
        session.mark_exit_reported();
    }
    result.protocol_revision = session.server.revision.to_string();
    result.findings.extend(context.servers.close(&session, CloseServer::AfterTeardown).await.exit);
    if !result.findings.is_empty() {
        return CheckResult { outcome: Outcome::Failed, ..result };
    }
    match judged {
        Ok(note) => CheckResult { reason: Some(Reason::Measured(note)), ..result },
        Err(Unjudged::Found(found)) => {
            let is_failure = found.level == RequirementLevel::Must;
            let outcome = if is_failure { Outcome::Failed } else { Outcome::Warned };
            CheckResult { outcome, findings: vec![*found], ..result }
        }
        Err(Unjudged::Inconclusive(reason)) => {
            CheckResult { outcome: Outcome::Inconclusive, reason: Some(reason), ..result }
        }
    }
}

/// Why a tool does not pass.
enum Unjudged {
    Found(Box<Finding>),
    Inconclusive(Reason),
}

fn inconclusive(why: String) -> Unjudged {
    Unjudged::Inconclusive(Reason::NotEvaluated(why))
}

/// The lengths of the lists in an answer, by place.
type Lengths = BTreeMap<String, u64>;

/// The pages of a tool in one session.
struct Pages<'a> {
    check: &'a PageSizeCheck,
    session: &'a Session,
    round: VisitRound<'a>,
    arguments: Value,
    help: String,
    shown: Vec<ShownText>,
}

impl Pages<'_> {
    async fn judge(&mut self) -> Result<String, Unjudged> {
        let PageSizeCheck { tool, size, .. } = self.check;
        let many = size.largest.map_or(LARGE, |largest| largest.min(LARGE)).max(size.smallest);
        let all = self.served(many).await?;
        if all.is_empty() {
            return Err(inconclusive(format!(
                "the answer of `{tool}` has no list whose items could be counted; leave it out of `page_sizes`"
            )));
        }
        let longest = all.values().copied().max().unwrap_or_default();
        let small: Vec<u64> = size.small().into_iter().filter(|small| *small < longest).collect();
        if small.is_empty() {
            let why = format!(
                "`{tool}` returned {} for `{}: {many}`, too few to see a smaller page; create more in `setup`, or find more {}",
                items(longest),
                size.name,
                self.help
            );
            return Err(inconclusive(why));
        }
        let mut pages = Vec::new();
        for small in &small {
            pages.push((*small, self.served(*small).await?));
        }
        let keeps = |place: &str| {
            let length = |page: &Lengths| page.get(place).copied().unwrap_or_default();
            length(&all) > small[0] && pages.iter().all(|(asked, page)| length(page) <= *asked)
        };
        let Some(page) = all.keys().find(|place| keeps(place)).cloned() else {
            return Err(self.exceeded(&all, &pages).await);
        };
        if let Some(largest) = size.largest {
            self.beyond(&page, largest).await?;
        }
        let sizes: Vec<String> = small.iter().map(u64::to_string).collect();
        Ok(format!(
            "no more items than `{}` were returned for {}, and {} for {many}",
            size.name,
            sizes.join(" and "),
            items(longest)
        ))
    }

    /// The result where no list keeps to the sizes that were asked for.
    async fn exceeded(&mut self, all: &Lengths, pages: &[(u64, Lengths)]) -> Unjudged {
        let PageSizeCheck { tool, size, .. } = self.check;
        let only = all.keys().next().filter(|_| all.len() == 1).cloned();
        let longer = |page: &Lengths, asked: u64| {
            let length = only.as_ref().and_then(|place| page.get(place)).copied();
            length.filter(|length| *length > asked)
        };
        let found = pages.iter().find_map(|(asked, page)| Some((*asked, longer(page, *asked)?)));
        let Some((asked, _)) = found else {
            return inconclusive(format!(
                "the answer of `{tool}` has {} lists, and none is as short as `{}` says; which one is the page cannot be told",
                all.len(),
                size.name
            ));
        };
        let again = match self.served(asked).await {
            Ok(again) => again,
            Err(why) => return why,
        };
        match longer(&again, asked) {
            Some(length) => {
                let message = format!("`{tool}` returned {}, although `{}` is {asked}", items(length), size.name);
                Unjudged::Found(Box::new(self.finding(message)))
            }
            None => inconclusive(format!(
                "`{tool}` returned more items than `{}: {asked}` once, and not when the same call was made again",
                size.name
            )),
        }
    }

    /// A size beyond the largest one is refused, or brings no more than that.
    async fn beyond(&mut self, page: &str, largest: u64) -> Result<(), Unjudged> {
        let PageSizeCheck { tool, size, .. } = self.check;
        let Some(beyond) = largest.checked_add(1) else { return Ok(()) };
        let Some(lengths) = self.ask(beyond).await? else { return Ok(()) };
        let length = lengths.get(page).copied().unwrap_or_default();
        if length <= largest {
            return Ok(());
        }
        let message = format!(
            "`{tool}` returned {} for `{}: {beyond}`, although its schema says `maximum: {largest}`",
            items(length),
            size.name
        );
        Err(Unjudged::Found(Box::new(self.finding(message))))
    }

    /// The lists in the answer to a call that must be served.
    async fn served(&mut self, asked: u64) -> Result<Lengths, Unjudged> {
        match self.ask(asked).await? {
            Some(lengths) => Ok(lengths),
            None => Err(Unjudged::Inconclusive(Reason::ValidCallRefused(self.refused()))),
        }
    }

    /// The lists in the answer to a call; `None` where it was refused.
    async fn ask(&mut self, asked: u64) -> Result<Option<Lengths>, Unjudged> {
        let tool = &self.check.tool;
        if self.round.is_over() {
            let limit = duration_text(self.check.settings.time);
            return Err(inconclusive(format!("the time of {limit} ended before all calls were made; raise `time`")));
        }
        let mut arguments = self.arguments.clone();
        arguments[&self.check.size.name] = asked.into();
        let Some(shown) = self.round.call(self.session, tool, &arguments).await else {
            return Err(inconclusive(format!("no answer came in time from `{tool}`")));
        };
        let lengths = shown.is_served.then(|| lengths_of(&shown.text));
        self.shown.push(shown);
        Ok(lengths)
    }

    fn refused(&self) -> RefusedCall {
        let exchange = self.shown.last().map(|shown| &shown.exchange);
        RefusedCall {
            call: exchange.map(|exchange| exchange.title.clone()).unwrap_or_default(),
            answer: exchange.map(|exchange| exchange.received.clone()).unwrap_or_default(),
            help: self.help.clone(),
            purpose: CallPurpose::Check,
        }
    }

    fn finding(&self, message: String) -> Finding {
        let PageSizeCheck { size, .. } = self.check;
        let help = format!(
            "return at most as many items as `{}` says; if it is no page size, leave the tool out of `page_sizes`",
            size.name
        );
        let last = self.shown.len() - 1;
        Finding {
            level: if size.is_doubtful { RequirementLevel::Should } else { RequirementLevel::Must },
            severity: Some(if size.is_doubtful { Severity::Low } else { Severity::Medium }),
            exchange: Some(last),
            frame: self.shown[last].exchange.answer_frame,
            help: Some(help),
            ..Finding::new("page-size-exceeded", message)
        }
    }

    /// The calls, with the end of a server that ended.
    fn result(mut self) -> CheckResult {
        CheckResult {
            findings: self.round.exit().into_iter().collect(),
            exchanges: self.shown.into_iter().map(|shown| shown.exchange).collect(),
            frames: self.round.take_frames(),
            ..CheckResult::new(Outcome::Passed)
        }
    }
}

/// The lengths of the lists in an answer that are in no other list; texts with JSON are read where nothing else has any.
fn lengths_of(text: &str) -> Lengths {
    let message: Value = serde_json::from_str(text).unwrap_or_default();
    let result = &message["result"];
    let mut lengths = Lengths::new();
    collect("", &result["structuredContent"], &mut lengths);
    if lengths.is_empty() {
        let contents = result["content"].as_array().into_iter().flatten();
        for (index, text) in contents.filter_map(|item| item["text"].as_str()).enumerate() {
            let value: Value = serde_json::from_str(text).unwrap_or_default();
            collect(&index.to_string(), &value, &mut lengths);
        }
    }
    lengths
}

fn collect(place: &str, value: &Value, lengths: &mut Lengths) {
    match value {
        Value::Array(items) => drop(lengths.insert(place.to_owned(), items.len() as u64)),
        Value::Object(members) => {
            members.iter().for_each(|(name, member)| collect(&format!("{place}/{name}"), member, lengths));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn items(count: u64) -> String {
    if count == 1 { "1 item".to_owned() } else { format!("{count} items") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn size_of(properties: &Value, named: &[&str]) -> Option<(String, Vec<u64>, bool)> {
        let schema = json!({"type": "object", "properties": properties});
        let tool = Tool::new(json!({"name": "list", "inputSchema": schema}));
        let named: Vec<String> = named.iter().map(|name| (*name).to_owned()).collect();
        PageSize::of(&tool, &named).map(|size| (size.name.clone(), size.small(), size.is_doubtful))
    }

    #[test]
    fn page_sizes_are_known_by_their_names() {
        let integer = json!({"type": "integer", "minimum": 0});
        let size = |name: &str, small: &[u64], is_doubtful| Some((name.to_owned(), small.to_vec(), is_doubtful));
        assert_eq!(size_of(&json!({"count": integer, "pageSize": integer}), &[]), size("pageSize", &[1, 2], false));
        assert_eq!(size_of(&json!({"count": integer}), &[]), size("count", &[1, 2], true));
        assert_eq!(size_of(&json!({"count": integer, "limit": integer}), &["count"]), size("count", &[1, 2], false));
        let narrow = json!({"type": "integer", "exclusiveMinimum": 4, "maximum": 5});
        assert_eq!(size_of(&json!({"per_page": narrow}), &[]), size("per_page", &[5], false));
        assert_eq!(size_of(&json!({"limit": {"type": "string"}, "limits": integer}), &[]), None);
        assert_eq!(size_of(&json!({"limit": {"type": "integer", "enum": [1, 5]}}), &[]), None);
    }

    #[test]
    fn lists_are_counted_wherever_they_are() {
        let of = |result: &Value| lengths_of(&json!({"result": result}).to_string()).into_values().collect::<Vec<_>>();
        let structured =
            json!({"structuredContent": {"total": 3, "users": [[1], {"a": []}]}, "content": [{"text": "[]"}]});
        assert_eq!(of(&structured), [2]);
        assert_eq!(of(&json!({"content": [{"text": "{\"a\": [1, 2, 3], \"b\": {\"c\": []}}"}]})), [3, 0]);
        assert_eq!(of(&json!({"content": [{"text": "- one\n- two"}]})), [] as [u64; 0]);
    }
}
