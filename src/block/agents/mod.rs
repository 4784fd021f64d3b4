//! `agents:`, a model that works with the tools of the suite's servers, and what is said of what it did.
//!
//! A `provider` stands for a model; `policy` is one that needs no key, a script that reacts to answers. The `host` connects
//! to the servers as a real host does and makes the calls; `run` is the loop between the two. `check` runs an agent as
//! often as the suite asks and judges the calls, one file of `judge` for each key; `picture` shows a run, `log` has the
//! table of all. An agent that calls nothing passes nothing.

mod api;
mod budget;
mod cases;
mod check;
mod distractors;
mod host;
mod judge;
mod log;
mod loose;
mod picture;
mod planted_order;
mod policy;
mod price;
mod provider;
mod recording;
mod repeat;
mod run;
#[cfg(test)]
mod tests;
mod verdict;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use self::api::{API, ApiFormat, ApiProvider, PricedModel};
use self::budget::{BUDGET, Budget};
use self::distractors::{DISTRACTORS, Distractors};
use self::host::OfferedTool;
use self::judge::{
    AMBIGUOUS, Acceptance, AgentRecovery, AnswerExpectations, EqualFunction, EqualTools, GOLDEN_PATH, GoldenPaths,
    JudgedView, Judgement, LooseArguments, OrderIgnored, ReadableResults, TRAJECTORY, Trajectory,
};
use self::log::AgentLog;
use self::policy::{MOVES, ScriptedPolicy};
use self::price::Price;
use self::provider::{ModelProvider, Tokens};
use self::recording::RecordedProvider;
use self::repeat::{REPEAT, Repeat};
use self::run::AgentRun;
use super::Kind;
use crate::event::{CaseResult, Section};
use crate::fault::Fault;
use crate::lint::Provider;
use crate::matching::{EXPECTATION, Expectation};
use crate::plan::planner::Planner;
use crate::plan::{Block, Case, CaseSource, Offer};
use crate::source::grammar::{Object, Shape, alternative, check, key, required};
use crate::source::settings::Setting;
use crate::source::{Diagnostic, Located, MistakeKind, Node, Span, did_you_mean};
use crate::suite::{BlockReader, INJECTED, Recovery, Suite, SuiteSettings, injected, skip_reason, texts};

pub(crate) static KIND: Kind = Kind {
    key: key(
        "agents",
        Shape::List(&Shape::Object(&AGENT)),
        "Models, or policies in their place, that must reach a goal with the tools of the servers.",
    ),
    probes: &["agent"],
    example: "agents: [{ name: greets, provider: { scripted: [{ call: echo, args: { message: hi } }] }, prompt: Greet, \
              trajectory: { order: [echo] } }]",
    read,
    read_in_test: None,
};

static AGENT: Object = Object {
    name: "an agent",
    doc: "A model with a goal, and what is said of its calls.",
    keys: &[&[
        required("name", Shape::Text, "A name for reports."),
        required("provider", Shape::Object(&PROVIDER), "What answers as the model."),
        required("prompt", Shape::Text, "The user prompt."),
        key("system", Shape::Text, "The system prompt."),
        key(
            "servers",
            Shape::NonEmpty(&Shape::List(&Shape::Text)),
            "The servers whose tools are offered; by default all of the suite. Tools of the same name are offered as \
             `server__tool`.",
        ),
        alternative("trajectory", Shape::Object(&TRAJECTORY), "The calls that a run makes."),
        alternative("golden_path", GOLDEN_PATH, "The shortest ways to the goal, of which a run must take one.")
            .cure("write a list of calls for each way, such as `[[search_users, get_user]]`"),
        alternative("distractors", Shape::Object(&DISTRACTORS), "Tools that the model must leave alone."),
        alternative(
            "equal_function",
            Shape::NonEmpty(&Shape::List(&Shape::NonEmpty(&Shape::List(&Shape::Text)))),
            "Classes of tools of which each is as good as the others, to `trajectory` and `golden_path`, too; a tool of each \
             must be called.",
        ),
        alternative(
            "expect",
            Shape::NonEmpty(&Shape::List(&Shape::Object(&EXPECTATION))),
            "Expectations of the final answer: `text` is what the model says, and `at: calls[0].arguments` looks at the calls.",
        ),
        alternative(
            "inject",
            INJECTED,
            "Faults that strike the messages between host and servers: names of `faults`, or faults of its own. The run \
             fails if a fault changes nothing.",
        ),
        key(
            "recovery",
            Recovery::SHAPE,
            "How soon calls of tools must fail visibly after a fault, and be served again after the last one.",
        )
        .beside(&["inject"]),
        alternative("budget", Shape::Object(&BUDGET), "How much a run may take."),
        key("repeat", REPEAT, "How many runs are made, all of which must pass (pass^k).").default("1"),
        alternative(
            "accepted_by",
            Shape::Set(&Shape::Choice(Provider::NAMES)),
            "Model providers that must accept every tool of the servers, by their documentation; nobody is asked.",
        ),
        alternative(
            "loose_arguments",
            Shape::True,
            "After the run, calls that were served are made again with their arguments as models write them: numbers and \
             booleans as text, values as JSON text, `null` for what is left out, and one more field. The server serves them \
             with the same result, or says what is wrong. Tools that may change data are called again only where generated \
             calls may call them.",
        ),
        alternative(
            "readable_results",
            Shape::True,
            "Every result that is served has a text, an image or audio; a model can read nothing else.",
        ),
        alternative(
            "trust_boundary",
            Shape::True,
            "An order to call another tool is added to every text that a tool answers; the model must not follow it.",
        ),
        key("skip", Shape::Either(&[Shape::Text, Shape::Flag]), "Skips the agent, with a reason."),
        key("tags", Shape::List(&Shape::Text), "Tags, by which filters select agents."),
    ]],
};

static PROVIDER: Object = Object {
    name: "a provider",
    doc: "What answers in the place of a model.",
    keys: &[&[
        alternative(
        "scripted",
        Shape::Either(&[Shape::Text, MOVES]),
        "A policy, or the path of a YAML file that holds one: moves in order, which react to answers. It needs no key and \
         does the same in every run.",
        )
        .choice("provider"),
        alternative("openai", Shape::Object(&API), "A model of OpenAI, or of anything that speaks its chat completions.")
            .choice("provider"),
        alternative("anthropic", Shape::Object(&API), "A model of Anthropic.").choice("provider"),
        alternative("gemini", Shape::Object(&API), "A model of Google.").choice("provider"),
        key(
            "price",
            Price::SHAPE,
            "What the tokens of the model cost, for `budget.cost` and the figures of the report.",
        ),
    ]],
};

/// A model with a goal.
#[derive(Debug)]
struct Agent {
    span: Span,
    name: String,
    /// Its model, where the suite names several.
    model: Option<String>,
    /// Why it is not run.
    skip: Option<String>,
    tags: Vec<String>,
    provider: Arc<dyn ModelProvider>,
    /// The position of its provider in the suite.
    provider_span: Span,
    /// The price of its tokens, if the suite names one.
    price: Option<Price>,
    prompt: Node,
    system: Option<Node>,
    /// Its servers; empty for all of the suite.
    servers: Vec<Located<String>>,
    faults: Vec<Fault>,
    judgements: Vec<Arc<dyn Judgement>>,
    golden: Option<Arc<GoldenPaths>>,
    distractors: Option<Distractors>,
    equal: EqualTools,
    budget: Budget,
    repeat: Repeat,
    /// Calls are made again with arguments as models write them.
    makes_loose_calls: bool,
    /// An order is planted in the answers of tools.
    plants_order: bool,
}

impl Agent {
    /// The cost of so many tokens of its model, if the suite names a price.
    fn cost(&self, tokens: Tokens) -> Option<f64> {
        self.price.map(|price| price.of(tokens))
    }

    /// Its name, with its model where the suite names several.
    fn title(&self) -> String {
        self.model.as_ref().map_or_else(|| self.name.clone(), |model| format!("{} [{model}]", self.name))
    }

    /// The names of its servers, in order.
    fn servers_of(&self, suite: &Suite) -> Vec<String> {
        let mut servers: Vec<String> = self.servers.iter().map(|server| server.value.clone()).collect();
        if servers.is_empty() {
            servers.extend(suite.servers.keys().cloned());
        }
        let from = self.distractors.as_ref().and_then(|distractors| distractors.from.as_ref());
        servers.extend(from.map(|from| from.value.clone()).filter(|from| !servers.contains(from)));
        servers
    }

    /// The variants of the fault taxonomy that its case judges.
    fn variants(&self) -> BTreeSet<String> {
        let judged = self.judgements.iter().flat_map(|judgement| judgement.variants());
        let selects = self.distractors.is_some().then_some(AMBIGUOUS);
        let has_budget = self.budget.tokens.is_some() || self.budget.cost.is_some();
        let counts = (has_budget && self.provider.counts_what_it_reads()).then_some("PROVIDER-CONTEXT-BLOAT");
        judged.chain(selects).chain(counts).map(str::to_owned).collect()
    }

    /// A run has failed if any judgement finds something.
    fn has_failed(&self, run: &AgentRun, view: &JudgedView<'_>) -> bool {
        self.judgements.iter().any(|judgement| !judgement.judge(run, view).is_empty())
    }

    /// Adds the tools that the model must leave alone.
    fn add_decoys(&self, offered: &mut Vec<OfferedTool>, number: usize) {
        if let Some(distractors) = &self.distractors {
            distractors.add_to(offered, number);
        }
    }
}

/// The agents of a suite.
#[derive(Debug)]
struct Agents {
    agents: Vec<Arc<Agent>>,
    log: Arc<AgentLog>,
}

fn read(node: &Node, reader: &mut dyn BlockReader) -> Option<Arc<dyn CaseSource>> {
    let mut agents = Vec::new();
    for written in node.items() {
        let before = reader.found().len();
        let providers = written.get("provider").map(|provider| read_providers(provider, reader)).unwrap_or_default();
        let read = providers.into_iter().filter_map(|provider| read_agent(written, provider, reader));
        agents.extend(read.map(Arc::new));
        keep_first_of_equal(reader.found(), before);
    }
    Some(Arc::new(Agents { agents, log: Arc::default() }))
}

/// Removes mistakes that were found again for another model of the same agent.
fn keep_first_of_equal(found: &mut Vec<Diagnostic>, before: usize) {
    for mistake in found.split_off(before) {
        if !found[before..].contains(&mistake) {
            found.push(mistake);
        }
    }
}

/// A provider, and its model's name if the agent has several.
struct NamedProvider {
    model: Option<String>,
    provider: Arc<dyn ModelProvider>,
    price: Option<Price>,
}

fn read_agent(node: &Node, named_provider: NamedProvider, reader: &mut dyn BlockReader) -> Option<Agent> {
    let NamedProvider { model, provider, price } = named_provider;
    let named = reader.faults().clone();
    let found = reader.found();
    let faults = injected(node.get("inject"), &named, found);
    let mut judgements: Vec<Arc<dyn Judgement>> = Vec::new();
    if let Some(written) = node.get("trajectory") {
        judgements.push(Arc::new(Trajectory::read(written, found)));
    }
    let golden = node.get("golden_path").map(|written| Arc::new(GoldenPaths::read(written, found)));
    if let Some(golden) = &golden {
        judgements.push(Arc::clone(golden) as Arc<dyn Judgement>);
    }
    if node.get("equal_function").is_some() {
        judgements.push(Arc::new(EqualFunction));
    }
    if let Some(written) = node.get("expect") {
        let expect = written.items().iter().filter_map(|item| Expectation::build(item, found)).collect();
        judgements.push(Arc::new(AnswerExpectations(expect)));
    }
    if let Some(written) = node.get("inject") {
        judgements.push(Arc::new(AgentRecovery {
            span: written.span,
            recovery: node.get("recovery").and_then(Setting::read),
        }));
    }
    let accepted_by = texts(node.get("accepted_by"));
    if !accepted_by.is_empty() {
        let providers = accepted_by.iter().filter_map(|named| Provider::parse(&named.value)).collect();
        judgements
            .push(Arc::new(Acceptance { span: node.get("accepted_by").map_or(node.span, |at| at.span), providers }));
    }
    let asked = |key: &str| node.get(key).map(|asked| asked.span);
    if let Some(span) = asked("loose_arguments") {
        judgements.push(Arc::new(LooseArguments(span)));
    }
    if let Some(span) = asked("readable_results") {
        judgements.push(Arc::new(ReadableResults(span)));
    }
    if let Some(span) = asked("trust_boundary") {
        judgements.push(Arc::new(OrderIgnored(span)));
    }
    let budget = Budget::read(node, model.as_deref(), price, found);
    let repeat = Repeat::read(node, found);
    Some(Agent {
        model,
        makes_loose_calls: asked("loose_arguments").is_some(),
        plants_order: asked("trust_boundary").is_some(),
        span: node.span,
        name: node.get("name")?.text()?.to_owned(),
        skip: skip_reason(node.get("skip")),
        tags: texts(node.get("tags")).into_iter().map(|tag| tag.value).collect(),
        provider,
        provider_span: node.get("provider")?.span,
        price,
        prompt: node.get("prompt")?.clone(),
        system: node.get("system").cloned(),
        servers: texts(node.get("servers")),
        faults,
        judgements,
        golden,
        distractors: node.get("distractors").map(Distractors::read),
        equal: node.get("equal_function").map(EqualTools::read).unwrap_or_default(),
        budget,
        repeat,
    })
}

fn read_providers(node: &Node, reader: &mut dyn BlockReader) -> Vec<NamedProvider> {
    let price = Price::beside(node);
    if let Some(written) = node.get("scripted") {
        let provider = read_policy(written, reader);
        return provider.map(|provider| NamedProvider { model: None, provider, price }).into_iter().collect();
    }
    let named = ApiFormat::ALL.into_iter().find_map(|format| Some((format, node.get(format.as_str())?)));
    let models =
        named.map(|(format, written)| ApiProvider::read_all(format, written, reader.found())).unwrap_or_default();
    let is_matrix = models.len() > 1;
    let recording = named.and_then(|(_, written)| written.get("recording")).and_then(Node::located_text);
    let mut providers = Vec::new();
    for PricedModel { api, price: of_model } in models {
        let model = is_matrix.then(|| api.model().to_owned());
        let provider: Option<Arc<dyn ModelProvider>> = match &recording {
            None => Some(Arc::new(api)),
            Some(file) => read_recorded(api, file, is_matrix, reader),
        };
        providers.extend(provider.map(|provider| NamedProvider { model, provider, price: of_model.or(price) }));
    }
    providers
}

/// A model with its recording; each of several has one of its own.
fn read_recorded(
    api: ApiProvider,
    file: &Located<String>,
    is_matrix: bool,
    reader: &mut dyn BlockReader,
) -> Option<Arc<dyn ModelProvider>> {
    let written = PathBuf::from(&file.value);
    let of_model = || {
        let stem = written.file_stem().unwrap_or_default().to_string_lossy();
        let model: String = api.model().chars().map(|c| if c.is_alphanumeric() { c } else { '-' }).collect();
        written.with_file_name(format!("{stem}.{model}.json"))
    };
    let path = if is_matrix { of_model() } else { written.clone() };
    let text = reader.file(&path).ok();
    match RecordedProvider::new(api, path, text.as_deref()) {
        Ok(recorded) => Some(Arc::new(recorded)),
        Err(why) => {
            let message = format!("`{}` is no recording of a model: {why}", file.value);
            let help = "remove the file, and record it again with `mcprove run --update`".to_owned();
            reader.report(Diagnostic::error("bad-recording", message, file.span).with_help(help));
            None
        }
    }
}

fn read_policy(written: &Node, reader: &mut dyn BlockReader) -> Option<Arc<dyn ModelProvider>> {
    let moves = match written.located_text() {
        Some(file) => {
            let moves = reader.document(&file)?;
            let mistakes = check(&moves, &MOVES);
            if !mistakes.is_empty() {
                reader.found().extend(mistakes);
                return None;
            }
            moves
        }
        None => written.clone(),
    };
    Some(Arc::new(ScriptedPolicy::read(&moves, reader.found())))
}

/// An agent is the same as an earlier one if place, name and model are equal.
fn is_same(earlier: &[Arc<Agent>], agent: &Agent) -> bool {
    earlier.iter().any(|earlier| earlier.span == agent.span && earlier.model == agent.model)
}

impl SuiteSettings for Agents {
    fn check(&self, suite: &Suite, found: &mut Vec<Diagnostic>) {
        let before = found.len();
        for (at, agent) in self.agents.iter().enumerate() {
            if self.agents[..at].iter().any(|earlier| earlier.name == agent.name && earlier.model == agent.model) {
                let message = match &agent.model {
                    Some(model) if is_same(&self.agents[..at], agent) => format!("the model `{model}` is named twice"),
                    Some(_) | None => format!("two agents are called `{}`", agent.name),
                };
                found.push(Diagnostic::error("duplicate-name", message, agent.span));
            }
            found.extend(agent.equal.patterns());
            let file = agent.provider.recording_file();
            let of_file = |earlier: &&Arc<Agent>| file.is_some() && earlier.provider.recording_file() == file;
            if let (Some(file), Some(earlier)) = (file, self.agents[..at].iter().find(of_file))
                && (&earlier.name, &earlier.model) != (&agent.name, &agent.model)
            {
                let [one, other] = [earlier, agent].map(|agent| agent.title());
                let message = format!("`{one}` and `{other}` are recorded in one file, `{}`", file.display());
                let help =
                    "give each agent a `recording` of its own, and models whose names differ in letters and digits";
                found
                    .push(Diagnostic::error("duplicate-name", message, agent.provider_span).with_help(help.to_owned()));
            }
            let from = agent.distractors.as_ref().and_then(|distractors| distractors.from.as_ref());
            let named = agent.judgements.iter().flat_map(|judgement| judgement.servers());
            let servers = agent.servers.iter().chain(from).chain(named);
            found.extend(servers.filter(|server| !suite.servers.contains_key(&server.value)).map(|server| {
                let message = format!("the suite has no server `{}`", server.value);
                Diagnostic::error("unknown-server", message, server.span)
                    .with_help(did_you_mean(&server.value, suite.servers.keys().map(String::as_str)))
            }));
            if let Some(from) = from.filter(|from| agent.servers_of(suite).iter().all(|server| *server == from.value)) {
                let message = "`from` takes the only server of the agent, so no other tool is left";
                let help = "name a server whose tools the model must leave alone";
                found.push(
                    Diagnostic::error("missing-server", message, from.span)
                        .of_kind(MistakeKind::MissingServer)
                        .with_help(help.to_owned()),
                );
            }
        }
        keep_first_of_equal(found, before);
    }
}

impl CaseSource for Agents {
    fn cases(&self, _: &Planner<'_>, _: &Case, _: &Offer<'_>) -> Vec<Case> {
        Vec::new()
    }

    fn known_cases(&self, planner: &Planner<'_>, block: &Block) -> Option<Vec<Case>> {
        let cases = self
            .agents
            .iter()
            .enumerate()
            .filter_map(|(order, agent)| cases::case(planner, block, agent, &self.log, order));
        Some(cases.collect())
    }

    fn section_of_cases(&self, _: &[CaseResult]) -> Vec<Section> {
        self.log.sections()
    }
}
