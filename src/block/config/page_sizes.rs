//! Tools with a parameter for the size of a page: they return no more items than were asked for.
//!
//! Nothing is judged before more items came for a larger size, and only if the answer has one list: of several, any could be
//! the page.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::PageSizeSettings;
use crate::check::answer_data::AnswerData;
use crate::check::evidence::{finding_with_help, items_text, valid_call_refused};
use crate::check::tool_arguments::{TextPlace, ToolArguments};
use crate::check::visit::{ShownText, VisitRound};
use crate::check::{CheckEnd, CheckLimits, FaultSearch, SeenOnce, lists_what_is_created};
use crate::event::{CheckResult, Finding, Outcome, Reason, RequirementLevel, Severity};
use crate::plan::arguments::ConfigSource;
use crate::plan::witness::filled_arguments;
use crate::plan::{BoxFuture, Check, CheckContext, OpenServer};
use crate::session::Session;
use crate::wire::Tool;

/// Names of page sizes, without what joins their words.
const NAMES: [&str; 12] = [
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
    "head",
    "tail",
];

/// Names that may mean something else, so that they only warn.
const DOUBTFUL_NAMES: [&str; 2] = ["count", "number"];

/// The number of times that the same call may show more items than it asked for again.
const REPETITIONS: usize = 5;

/// The number of items that are created where there are too few.
const CREATED: usize = 3;

/// The size that is asked for to see how many items there are, unless the schema allows fewer.
const LARGE: u64 = 100;

/// The variant that it judges.
pub(crate) const PAGE_SIZE: &str = "CONFIG-LIMIT-NOT-ENFORCED";

/// A parameter that says how many items a call may return at most.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PageSize {
    pub(crate) name: String,
    /// The smallest size that the schema allows, which may be zero.
    smallest: u64,
    largest: Option<u64>,
    /// The name may mean something else.
    is_doubtful: bool,
}

impl PageSize {
    /// The page size among the parameters of a tool; `named` are those that the suite names. Where the schema names none, they
    /// are those of the arguments that the suite gives.
    pub(crate) fn of(tool: &Tool, named: &[String], given: &Value) -> Option<Self> {
        let properties = properties_of(tool, given);
        let is_named = |name: &str| named.iter().any(|known| known == name);
        let is_doubtful = |name: &str| DOUBTFUL_NAMES.contains(&plain(name).as_str());
        let fits = |name: &str| is_named(name) || is_doubtful(name) || NAMES.contains(&plain(name).as_str());
        let mut found: Vec<(&String, &Value)> =
            properties.iter().filter(|(name, schema)| fits(name) && takes_any_integer(schema)).collect();
        found.sort_by_key(|(name, _)| (!is_named(name), is_doubtful(name)));
        let (name, schema) = found.first()?;
        let bound = |inclusive: &str, exclusive: &str, shift: i64| {
            let of_exclusive = schema[exclusive].as_i64().map(|bound| bound + shift);
            schema[inclusive].as_i64().or(of_exclusive).and_then(|bound| u64::try_from(bound).ok())
        };
        Some(Self {
            name: (*name).clone(),
            smallest: bound("minimum", "exclusiveMinimum", 1).unwrap_or(1),
            largest: bound("maximum", "exclusiveMaximum", -1),
            is_doubtful: is_doubtful(name) && !is_named(name),
        })
    }

    /// Small sizes that the schema allows, without zero.
    fn small(&self) -> Vec<u64> {
        let smallest = self.smallest.max(1);
        let sizes = [smallest, smallest + 1];
        sizes.into_iter().filter(|size| self.largest.is_none_or(|largest| *size <= largest)).collect()
    }
}

/// The properties of a schema; where it has none, the whole numbers among the arguments.
fn properties_of(tool: &Tool, given: &Value) -> Map<String, Value> {
    match tool.raw["inputSchema"]["properties"].as_object() {
        Some(properties) if !properties.is_empty() => properties.clone(),
        Some(_) | None => {
            let numbers = given.as_object().into_iter().flatten().filter(|(_, value)| value.is_u64());
            numbers.map(|(name, _)| (name.clone(), json!({"type": "integer"}))).collect()
        }
    }
}

/// A name in lower case, without what joins its words.
fn plain(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase()).collect()
}

fn takes_any_integer(schema: &Value) -> bool {
    // Many servers declare whole numbers as numbers.
    let is_integer = |kind: &Value| kind == "integer" || kind == "number";
    let kind = &schema["type"];
    let alternatives = ["anyOf", "oneOf"].iter().filter_map(|key| schema[*key].as_array()).flatten();
    let kinds = alternatives.map(|one| &one["type"]);
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
        round: VisitRound::new(context, CheckLimits::new(check.settings.time, "raise `time`")),
        arguments,
        help: config_source.help_to_give_arguments(&tool.name),
        shown: Vec::new(),
    };
    let judged = pages.judge().await;
    let Pages { mut round, shown, .. } = pages;
    let protocol_revision = session.server.revision.to_string();
    let frames = round.take_frames();
    round.close(session).await;
    let hang = if judged.is_err() { round.find_silence().await } else { None };
    let result = match round.exit().or(hang) {
        Some(exit) => CheckEnd::failed(exit).into_result(),
        None => match judged {
            Ok(note) => CheckResult::because(Outcome::Passed, Reason::Measured(note)),
            Err(end) => end.into_result(),
        },
    };
    let exchanges = shown.into_iter().map(|shown| shown.exchange).collect();
    CheckResult { exchanges, protocol_revision, frames, ..result }
}

/// The lengths of the lists in an answer, by place.
type Lengths = BTreeMap<String, u64>;

/// The lists in the answer to a call for so many items.
struct Page {
    asked: u64,
    lengths: Lengths,
}

/// The verdict on small pages, beside one with all items.
#[derive(Debug, PartialEq, Eq)]
enum PageVerdict {
    /// The list at this place is the page, and it keeps to the sizes.
    Keeps(String),
    /// The only list is longer than what was asked for.
    Exceeded { asked: u64 },
    /// It cannot be told which list is the page.
    Unclear,
}

/// Judges pages by the lists in an answer with all items.
fn judge_pages(all: &Lengths, pages: &[Page]) -> PageVerdict {
    let length = |page: &Lengths, place: &str| page.get(place).copied().unwrap_or_default();
    let keeps = |place: &&String| {
        pages.first().is_some_and(|first| length(all, place) > first.asked)
            && pages.iter().all(|page| length(&page.lengths, place) <= page.asked)
    };
    if let Some(place) = all.keys().find(keeps) {
        return PageVerdict::Keeps(place.clone());
    }
    let exceeded =
        pages.iter().find(|page| length_of_only_list(all, &page.lengths).is_some_and(|got| got > page.asked));
    exceeded.map_or(PageVerdict::Unclear, |page| PageVerdict::Exceeded { asked: page.asked })
}

fn longest_of(lengths: &Lengths) -> u64 {
    lengths.values().copied().max().unwrap_or_default()
}

/// The length in a page of the list that is the only one in an answer with all items.
fn length_of_only_list(all: &Lengths, page: &Lengths) -> Option<u64> {
    let place = all.keys().next().filter(|_| all.len() == 1)?;
    page.get(place).copied()
}

/// The pages of a tool in one session.
struct Pages<'a, 's> {
    check: &'a PageSizeCheck,
    session: &'s Session,
    round: VisitRound<'a>,
    arguments: Value,
    help: String,
    shown: Vec<ShownText>,
}

impl Pages<'_, '_> {
    async fn judge(&mut self) -> Result<String, CheckEnd> {
        let PageSizeCheck { tool, size, .. } = self.check;
        let many = size.largest.map_or(LARGE, |largest| largest.min(LARGE)).max(size.smallest.max(1));
        let mut all = self.served_lengths(many).await?;
        if !all.is_empty() && self.smaller_sizes(&all).is_empty() && self.create_more().await {
            all = self.served_lengths(many).await?;
        }
        if all.is_empty() {
            return Err(CheckEnd::inconclusive(format!(
                "the answer of `{tool}` has no list whose items could be counted; leave it out of `page_sizes`"
            )));
        }
        let longest = longest_of(&all);
        let small = self.smaller_sizes(&all);
        if small.is_empty() {
            let why = format!(
                "`{tool}` returned {} for `{}: {many}`, too few to see a smaller page; create more in `setup`, or find more {}",
                items_text(longest),
                size.name,
                self.help
            );
            return Err(CheckEnd::inconclusive(why));
        }
        let mut pages = Vec::new();
        // A fault may show at every other call only.
        for asked in small.iter().chain(&small).copied() {
            pages.push(Page { asked, lengths: self.served_lengths(asked).await? });
        }
        let page = match judge_pages(&all, &pages) {
            PageVerdict::Keeps(place) => place,
            PageVerdict::Exceeded { asked } => return Err(self.confirm_exceeded(&all, asked).await),
            PageVerdict::Unclear => {
                return Err(CheckEnd::inconclusive(format!(
                    "the answer of `{tool}` has {} lists, and none is as short as `{}` says; which one is the page cannot be \
                     told",
                    all.len(),
                    size.name
                )));
            }
        };
        if let Some(largest) = size.largest {
            self.beyond(&page, largest).await?;
        }
        if size.smallest == 0 {
            self.none(&page).await?;
        }
        let sizes: Vec<String> = small.iter().map(u64::to_string).collect();
        Ok(format!(
            "no more items than `{}` were returned for {}, and {} for {many}",
            size.name,
            sizes.join(" and "),
            items_text(longest)
        ))
    }

    /// The sizes that are smaller than a list in an answer with all items.
    fn smaller_sizes(&self, all: &Lengths) -> Vec<u64> {
        let longest = longest_of(all);
        self.check.size.small().into_iter().filter(|small| *small < longest).collect()
    }

    /// Has a tool that by its name creates what this one lists create some, if it may be called; true if it did.
    async fn create_more(&mut self) -> bool {
        let context = self.round.context;
        let creates = |tool: &&Tool| lists_what_is_created(&self.check.tool, &tool.name);
        let mut creators = context.catalog.tools.iter().filter(creates);
        let found = creators.find_map(|tool| Some((tool.name.clone(), ToolArguments::of(context, tool).ok()?)));
        let Some((creator, arguments)) = found else { return false };
        let mut has_created = false;
        for number in 1..=CREATED {
            let text = format!("mcprove{number}");
            let places: Vec<TextPlace> = arguments.text_places().into_iter().filter(TextPlace::is_present).collect();
            let other = arguments.with_texts(places.iter().map(|place| (place, text.as_str())));
            let answer = self.round.call(self.session, &creator, &other).await;
            has_created |= answer.is_some_and(|answer| answer.is_served);
        }
        has_created
    }

    /// A size of zero is refused, or brings nothing. That it brings everything may be meant, so it is a warning.
    async fn none(&mut self, page: &str) -> Result<(), CheckEnd> {
        let PageSizeCheck { tool, size, .. } = self.check;
        let length = self.ask(0).await?.and_then(|lengths| lengths.get(page).copied()).unwrap_or_default();
        if length == 0 {
            return Ok(());
        }
        let message = format!(
            "`{tool}` returned {} for `{}: 0`, which its schema allows with `minimum: 0`",
            items_text(length),
            size.name
        );
        let found = Finding { level: RequirementLevel::Should, severity: Some(Severity::Low), ..self.finding(message) };
        Err(CheckEnd::failed(found))
    }

    /// The end where a page is longer than what was asked for, if the same call brings so many again.
    async fn confirm_exceeded(&mut self, all: &Lengths, asked: u64) -> CheckEnd {
        let PageSizeCheck { tool, size, .. } = self.check;
        let mut length = None;
        let mut search = FaultSearch::new(&self.round.limits, REPETITIONS, 1);
        while search.next().is_some() {
            let again = self.served_lengths(asked).await;
            search.note(again.map(|again| {
                length = length_of_only_list(all, &again).filter(|length| *length > asked);
                length.is_some()
            }));
        }
        let items = items_text(length.unwrap_or_default());
        let message = format!("`{tool}` returned {items}, although `{}` is {asked}", size.name);
        let nothing = SeenOnce::ProvesNothing(format!(
            "`{tool}` returned more items than `{}: {asked}` once, and not when the same call was made again, {REPETITIONS} \
             times",
            size.name
        ));
        let found = self.finding(message);
        search.finish().0.conclude(found, "by the same call", nothing)
    }

    /// A size beyond the largest one is refused, or brings no more than that.
    async fn beyond(&mut self, page: &str, largest: u64) -> Result<(), CheckEnd> {
        let PageSizeCheck { tool, size, .. } = self.check;
        let Some(beyond) = largest.checked_add(1) else { return Ok(()) };
        let Some(lengths) = self.ask(beyond).await? else { return Ok(()) };
        let length = lengths.get(page).copied().unwrap_or_default();
        if length <= largest {
            return Ok(());
        }
        let message = format!(
            "`{tool}` returned {} for `{}: {beyond}`, although its schema says `maximum: {largest}`",
            items_text(length),
            size.name
        );
        Err(CheckEnd::failed(self.finding(message)))
    }

    /// The lists in the answer to a call that must be served.
    async fn served_lengths(&mut self, asked: u64) -> Result<Lengths, CheckEnd> {
        match self.ask(asked).await? {
            Some(lengths) => Ok(lengths),
            None => Err(CheckEnd::Inconclusive(self.refusal())),
        }
    }

    /// The lists in the answer to a call; `None` where it was refused.
    async fn ask(&mut self, asked: u64) -> Result<Option<Lengths>, CheckEnd> {
        let tool = &self.check.tool;
        if let Some(spent) = self.round.limits.end_if_over() {
            return Err(spent);
        }
        let mut arguments = self.arguments.clone();
        arguments[&self.check.size.name] = asked.into();
        let Some(shown) = self.round.call(self.session, tool, &arguments).await else {
            return Err(CheckEnd::inconclusive(format!("no answer came in time from `{tool}`")));
        };
        let lengths = shown.is_served.then(|| AnswerData::of_result(&shown.result()).list_lengths());
        self.shown.push(shown);
        Ok(lengths)
    }

    fn refusal(&self) -> Reason {
        let answer = self.shown.last().map(|shown| shown.exchange.received.clone()).unwrap_or_default();
        valid_call_refused(&self.check.tool, answer, self.help.clone())
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
            ..finding_with_help("page-size-exceeded", message, help)
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn size_of(properties: &Value, named: &[&str]) -> Option<(String, Vec<u64>, bool)> {
        let schema = json!({"type": "object", "properties": properties});
        let tool = Tool::new(json!({"name": "list", "inputSchema": schema}));
        let named: Vec<String> = named.iter().map(|name| (*name).to_owned()).collect();
        PageSize::of(&tool, &named, &json!({"limit": 5, "name": "x"}))
            .map(|size| (size.name.clone(), size.small(), size.is_doubtful))
    }

    #[test]
    fn page_sizes_are_known_by_their_names() {
        let integer = json!({"type": "integer", "minimum": 0});
        let size = |name: &str, small: &[u64], is_doubtful| Some((name.to_owned(), small.to_vec(), is_doubtful));
        assert_eq!(size_of(&json!({"count": integer, "pageSize": integer}), &[]), size("pageSize", &[1, 2], false));
        assert_eq!(size_of(&json!({"count": integer}), &[]), size("count", &[1, 2], true));
        assert_eq!(size_of(&json!({"count": integer, "limit": integer}), &["count"]), size("count", &[1, 2], false));
        assert_eq!(size_of(&json!({"number": integer}), &[]), size("number", &[1, 2], true));
        assert_eq!(size_of(&json!({"tail": integer}), &[]), size("tail", &[1, 2], false));
        assert_eq!(size_of(&json!({}), &[]), size("limit", &[1, 2], false), "the arguments name it");
        let narrow = json!({"type": "integer", "exclusiveMinimum": 4, "maximum": 5});
        assert_eq!(size_of(&json!({"per_page": narrow}), &[]), size("per_page", &[5], false));
        assert_eq!(size_of(&json!({"limit": {"type": "string"}, "limits": integer}), &[]), None);
        assert_eq!(size_of(&json!({"limit": {"type": "integer", "enum": [1, 5]}}), &[]), None);
    }

    #[test]
    fn a_page_size_takes_any_integer() {
        for (schema, expected) in [
            (json!({"type": "integer"}), true),
            (json!({"type": "number", "minimum": 1}), true),
            (json!({"type": ["integer", "null"]}), true),
            (json!({"anyOf": [{"type": "integer"}, {"type": "null"}]}), true),
            (json!({"oneOf": [{"type": "null"}, {"type": "integer"}]}), true),
            (json!({"type": "string"}), false),
            (json!({"type": "integer", "enum": [10, 20]}), false),
            (json!({"type": "integer", "const": 10}), false),
            (json!({"type": "integer", "multipleOf": 10}), false),
            (json!({"anyOf": [{"type": "string"}, {"type": "null"}]}), false),
            (json!({}), false),
            (json!(true), false),
        ] {
            assert_eq!(takes_any_integer(&schema), expected, "{schema}");
        }
    }

    #[test]
    fn pages_are_judged_by_the_list_that_keeps_to_their_size() {
        let lengths = |lists: &[(&str, u64)]| -> Lengths {
            lists.iter().map(|(place, length)| ((*place).to_owned(), *length)).collect()
        };
        let pages = |lists: &[&[(&str, u64)]]| -> Vec<Page> {
            (1..).zip(lists).map(|(asked, lists)| Page { asked, lengths: lengths(lists) }).collect()
        };
        let keeps = |place: &str| PageVerdict::Keeps(place.to_owned());
        for (all, small, expected) in [
            (&[("/users", 9)][..], &[&[("/users", 1)][..], &[("/users", 2)]][..], keeps("/users")),
            (&[("/users", 9)], &[&[("/users", 9)], &[("/users", 9)]], PageVerdict::Exceeded { asked: 1 }),
            (&[("/users", 9)], &[&[("/users", 1)], &[("/users", 9)]], PageVerdict::Exceeded { asked: 2 }),
            (&[("/users", 9)], &[&[], &[]], keeps("/users")),
            (&[("/tags", 5), ("/users", 9)], &[&[("/tags", 5), ("/users", 1)], &[("/users", 2)]], keeps("/users")),
            (&[("/tags", 5), ("/users", 9)], &[&[("/tags", 5), ("/users", 9)]], PageVerdict::Unclear),
            (&[("/users", 1)], &[&[("/users", 1)]], PageVerdict::Unclear),
        ] {
            assert_eq!(judge_pages(&lengths(all), &pages(small)), expected, "{all:?} {small:?}");
        }
    }

    #[test]
    fn small_sizes_are_those_that_the_schema_takes() {
        for (takes, schema, expected) in [
            ("any", json!({"type": "integer"}), Some(&[1, 2][..])),
            ("any number", json!({"type": "number"}), Some(&[1, 2])),
            ("any or none", json!({"anyOf": [{"type": "integer"}, {"type": "null"}]}), Some(&[1, 2])),
            ("negative ones, too", json!({"type": "integer", "minimum": -1}), Some(&[1, 2])),
            ("zero, too", json!({"type": "integer", "exclusiveMinimum": -1}), Some(&[1, 2])),
            ("none but one", json!({"type": "integer", "maximum": 1}), Some(&[1])),
            ("tens", json!({"type": "integer", "minimum": 10, "exclusiveMaximum": 12}), Some(&[10, 11])),
            ("multiples", json!({"type": "integer", "multipleOf": 10}), None),
            ("a choice", json!({"type": "integer", "enum": [10, 20]}), None),
            ("texts", json!({"type": "string"}), None),
        ] {
            let size = size_of(&json!({"limit": schema}), &[]);
            assert_eq!(size.map(|(_, small, _)| small).as_deref(), expected, "it takes {takes}");
        }
    }
}
