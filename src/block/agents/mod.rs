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
mod descriptions;
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

use self::api::{ApiFormat, ApiKeys, ApiProvider, PricedModel};
use self::budget::Budget;
use self::descriptions::OtherDescriptions;
use self::distractors::Distractors;
use self::host::ModelTool;
use self::judge::{
    AMBIGUOUS, Acceptance, AgentRecovery, AnswerExpectations, EqualFunction, EqualTools, GoldenPaths, JudgedView,
    Judgement, LooseArguments, OrderIgnored, ReadableResults, Trajectory,
};
use self::log::AgentLog;
use self::policy::{MOVES, ScriptedPolicy};
use self::price::Price;
use self::provider::{ModelProvider, Tokens};
use self::recording::RecordedProvider;
use self::repeat::Repeat;
use self::run::AgentRun;
use super::Kind;
use crate::event::{CaseResult, Section};
use crate::fault::Fault;
use crate::lint::Provider;
use crate::matching::Expectation;
use crate::plan::planner::Planner;
use crate::plan::{Block, Case, CaseSource, Offer};
use crate::source::grammar::{Shape, check, key};
use crate::source::settings::Setting;
use crate::source::{Diagnostic, Located, MistakeKind, Node, Span, did_you_mean, nearest, settings};
use crate::suite::{BlockReader, INJECTED, Recovery, SkipReason, Suite, SuiteSettings, injected};

pub(crate) static KIND: Kind = Kind {
    key: key(
        "agents",
        Vec::<AgentKeys>::SHAPE,
        "Models, or policies in their place, that must reach a goal with the tools of the servers.",
    ),
    probes: &["agent"],
    example: "agents: [{ name: greets, provider: { scripted: [{ call: echo, args: { message: hi } }] }, prompt: Greet, \
              trajectory: { order: [echo] } }]",
    decode,
    decode_in_test: None,
};

settings! {
    /// A model with a goal, and what is said of its calls.
    struct AgentKeys as "an agent", at span {
        /// A name for reports.
        name: String => required(),
        /// What answers as the model.
        provider: Located<ProviderKeys> => required(),
        /// The user prompt.
        prompt: Node => required() shape(Shape::Text),
        /// The system prompt.
        system: Option<Node> => shape(Shape::Text),
        /// The servers whose tools are offered; by default all of the suite. Tools of the same name are offered as
        /// `server__tool`.
        servers: Vec<Located<String>> => shape(Shape::NonEmpty(&Shape::List(&Shape::Text))),
        /// The calls that a run makes.
        trajectory: Option<Trajectory> => alternative(),
        /// The shortest ways to the goal, of which a run must take one.
        golden_path: Option<GoldenPaths> => alternative()
            cure("write a list of calls for each way, such as `[[search_users, get_user]]`"),
        /// Tools that the model must leave alone.
        distractors: Option<Distractors> => alternative(),
        /// Classes of tools of which each is as good as the others, to `trajectory` and `golden_path`, too; a tool of each
        /// must be called.
        equal_function: Option<EqualTools> => alternative(),
        /// Expectations of the final answer: `text` is what the model says, and `at: calls[0].arguments` looks at the calls.
        expect: Option<Vec<Expectation>> => alternative()
            shape(Shape::NonEmpty(&Shape::List(&Expectation::SHAPE))),
        /// Faults that strike the messages between host and servers: names of `faults`, or faults of its own. The run fails
        /// if a fault changes nothing.
        inject: Option<Node> => alternative() shape(INJECTED),
        /// How soon calls of tools must fail visibly after a fault, and be served again after the last one.
        recovery: Option<Recovery> => beside(&["inject"]),
        /// How much a run may take.
        budget: Option<Budget> => alternative(),
        /// How many runs are made, all of which must pass (pass^k).
        repeat: Repeat => default("1"),
        /// Descriptions that the model reads instead of those of the servers, by tool.
        descriptions: OtherDescriptions,
        /// Another agent, mostly one with other `descriptions`: the report says whether the numbers of passed runs differ by
        /// more than chance.
        compared_with: Option<Located<String>>,
        /// Model providers that must accept every tool of the servers, by their documentation; nobody is asked.
        accepted_by: Option<Located<BTreeSet<Provider>>> => alternative(),
        /// After the run, calls that were served are made again with their arguments as models write them: numbers and
        /// booleans as text, values as JSON text, `null` for what is left out, and one more field. The server serves them
        /// with the same result, or says what is wrong. Tools that may change data are called again only where generated
        /// calls may call them.
        loose_arguments: Option<Located<bool>> => alternative() shape(Shape::True),
        /// Every result that is served has a text, an image or audio; a model can read nothing else.
        readable_results: Option<Located<bool>> => alternative() shape(Shape::True),
        /// An order to call another tool is added to every text that a tool answers; the model must not follow it.
        trust_boundary: Option<Located<bool>> => alternative() shape(Shape::True),
        /// Skips the agent, with a reason.
        skip: SkipReason,
        /// Tags, by which filters select agents.
        tags: Vec<String>,
    }
}

settings! {
    /// What answers in the place of a model.
    struct ProviderKeys as "a provider" {
        /// A policy, or the path of a YAML file that holds one: moves in order, which react to answers. It needs no key and
        /// does the same in every run.
        scripted: Option<Node> => alternative() shape(Shape::Either(&[Shape::Text, MOVES])) choice("provider"),
        /// A model of OpenAI, or of anything that speaks its chat completions.
        openai: Option<ApiKeys> => alternative() choice("provider"),
        /// A model of OpenAI, or of anything that speaks its Responses API.
        openai_responses: Option<ApiKeys> => alternative() choice("provider"),
        /// A model of Anthropic.
        anthropic: Option<ApiKeys> => alternative() choice("provider"),
        /// A model of Google.
        gemini: Option<ApiKeys> => alternative() choice("provider"),
        /// What the tokens of the model cost, for `budget.cost` and the figures of the report.
        price: Option<Node> => shape(Price::SHAPE),
    }
}

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
    /// Where that is written, if it is.
    budget_span: Option<Span>,
    repeat: Repeat,
    descriptions: OtherDescriptions,
    /// The name of the agent with which it is compared.
    compared_with: Option<Located<String>>,
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
        self.title_of(&self.name)
    }

    /// The name of an agent, with the model of this one where the suite names several.
    fn title_of(&self, name: &str) -> String {
        self.model.as_ref().map_or_else(|| name.to_owned(), |model| format!("{name} [{model}]"))
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

    /// The variants of the fault taxonomy that its case judges; what a script does says nothing of a model.
    fn variants(&self) -> BTreeSet<String> {
        let is_model = self.provider.is_model();
        let counts_here = |judgement: &&Arc<dyn Judgement>| is_model || !judgement.is_about_model();
        let judged = self.judgements.iter().filter(counts_here).flat_map(|judgement| judgement.variants());
        let selects = (is_model && self.distractors.is_some()).then_some(AMBIGUOUS);
        let has_budget = self.budget.tokens.is_some() || self.budget.cost.is_some();
        let counts = (has_budget && self.provider.counts_what_it_reads()).then_some("PROVIDER-CONTEXT-BLOAT");
        judged.chain(selects).chain(counts).map(str::to_owned).collect()
    }

    /// A run has failed if any judgement finds something.
    fn has_failed(&self, run: &AgentRun, view: &JudgedView<'_>) -> bool {
        self.judgements.iter().any(|judgement| !judgement.judge(run, view).is_empty())
    }

    /// Adds the tools that the model must leave alone.
    fn add_decoys(&self, offered: &mut Vec<ModelTool>, number: usize) {
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

fn decode(node: &Node, reader: &mut dyn BlockReader) -> Option<Arc<dyn CaseSource>> {
    let mut agents = Vec::new();
    for written in node.items() {
        let Some(keys) = AgentKeys::decode(written, reader.mistakes()) else { continue };
        let providers = read_providers(&keys.provider.value, reader);
        let named = reader.faults().clone();
        let faults = injected(keys.inject.as_ref(), &named, reader.mistakes());
        agents.extend(providers.into_iter().filter_map(|provider| {
            report_missing_price(&keys, &provider, reader.mistakes());
            agent(&keys, provider, faults.clone()).map(Arc::new)
        }));
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

fn agent(keys: &AgentKeys, named_provider: NamedProvider, faults: Vec<Fault>) -> Option<Agent> {
    let NamedProvider { model, provider, price } = named_provider;
    let golden = keys.golden_path.clone().map(Arc::new);
    let equal = keys.equal_function.clone().unwrap_or_default();
    Some(Agent {
        span: keys.span,
        name: keys.name.clone(),
        model,
        skip: keys.skip.0.clone(),
        tags: keys.tags.clone(),
        provider,
        provider_span: keys.provider.span,
        price,
        prompt: keys.prompt.clone(),
        system: keys.system.clone(),
        servers: keys.servers.clone(),
        faults,
        judgements: judgements(keys, golden.clone()),
        golden,
        distractors: keys.distractors.clone(),
        equal,
        budget_span: keys.budget.as_ref().map(|budget| budget.span),
        budget: keys.budget.clone().or_else(|| Budget::usual(keys.span))?,
        repeat: keys.repeat.clone(),
        descriptions: keys.descriptions.clone(),
        compared_with: keys.compared_with.clone(),
        makes_loose_calls: keys.loose_arguments.is_some(),
        plants_order: keys.trust_boundary.is_some(),
    })
}

fn judgements(keys: &AgentKeys, golden: Option<Arc<GoldenPaths>>) -> Vec<Arc<dyn Judgement>> {
    fn judgement<T: Judgement + 'static>(judgement: T) -> Arc<dyn Judgement> {
        Arc::new(judgement)
    }
    let recovery = |inject: &Node| judgement(AgentRecovery { span: inject.span, recovery: keys.recovery });
    let acceptance = |by: &Located<BTreeSet<Provider>>| {
        judgement(Acceptance { span: by.span, providers: by.value.iter().copied().collect() })
    };
    let all = [
        keys.trajectory.clone().map(judgement),
        golden.map(|golden| golden as Arc<dyn Judgement>),
        keys.equal_function.is_some().then(|| judgement(EqualFunction)),
        keys.expect.clone().map(|expect| judgement(AnswerExpectations(expect))),
        keys.inject.as_ref().map(recovery),
        keys.accepted_by.as_ref().map(acceptance),
        keys.loose_arguments.as_ref().map(|asked| judgement(LooseArguments(asked.span))),
        keys.readable_results.as_ref().map(|asked| judgement(ReadableResults(asked.span))),
        keys.trust_boundary.as_ref().map(|asked| judgement(OrderIgnored(asked.span))),
    ];
    all.into_iter().flatten().collect()
}

/// Reports a cost that cannot be counted, since nobody says what the model's tokens cost.
fn report_missing_price(keys: &AgentKeys, provider: &NamedProvider, found: &mut Vec<Diagnostic>) {
    let cost = keys.budget.as_ref().and_then(|budget| budget.cost.as_ref());
    if let Some(cost) = cost.filter(|_| provider.price.is_none()) {
        let of_model = provider.model.as_ref().map(|model| format!(" `{model}`")).unwrap_or_default();
        let message = format!("`cost` needs the `price` of the model{of_model}");
        let help = "write what a million tokens cost in `provider`, such as `price: { input: 3, output: 15 }`";
        found.push(Diagnostic::error("missing-key", message, cost.span).with_help(help.to_owned()));
    }
}

fn read_providers(keys: &ProviderKeys, reader: &mut dyn BlockReader) -> Vec<NamedProvider> {
    let price = keys.price.as_ref().map(Price::of_written);
    if let Some(written) = &keys.scripted {
        let provider = read_policy(written, reader);
        return provider.map(|provider| NamedProvider { model: None, provider, price }).into_iter().collect();
    }
    let formats = [
        (ApiFormat::OpenAi, &keys.openai),
        (ApiFormat::OpenAiResponses, &keys.openai_responses),
        (ApiFormat::Anthropic, &keys.anthropic),
        (ApiFormat::Gemini, &keys.gemini),
    ];
    let Some((format, api)) = formats.into_iter().find_map(|(format, api)| Some((format, api.as_ref()?))) else {
        return Vec::new();
    };
    let models = ApiProvider::all(format, api, reader.mistakes());
    let is_matrix = models.len() > 1;
    let mut providers = Vec::new();
    for PricedModel { api: model_api, price: of_model } in models {
        let model = is_matrix.then(|| model_api.model().to_owned());
        let provider: Option<Arc<dyn ModelProvider>> = match &api.recording {
            None => Some(Arc::new(model_api)),
            Some(file) => read_recorded(model_api, file, is_matrix, reader),
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
                reader.mistakes().extend(mistakes);
                return None;
            }
            moves
        }
        None => written.clone(),
    };
    ScriptedPolicy::decode(&moves, reader.mistakes()).map(|policy| Arc::new(policy) as Arc<dyn ModelProvider>)
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
            found.extend(self.without_counterpart(agent));
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

impl Agents {
    /// An agent is compared with one that the suite does not have, or that has no such model.
    fn without_counterpart(&self, agent: &Agent) -> Option<Diagnostic> {
        let named = agent.compared_with.as_ref()?;
        let of_model = |other: &&Arc<Agent>| other.model == agent.model && other.name != agent.name;
        let mut others = self.agents.iter().filter(of_model).map(|other| other.name.as_str());
        if others.clone().any(|name| name == named.value) {
            return None;
        }
        let message = format!("no other agent is called `{}`", agent.title_of(&named.value));
        let help = nearest(&named.value, others.by_ref()).map(|name| format!("did you mean `{name}`?"));
        let help = help.unwrap_or_else(|| "name another agent of the suite, which asks the same models".to_owned());
        Some(Diagnostic::error("unknown-name", message, named.span).with_help(help))
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

    /// Its section is about all of its cases.
    fn is_divisible(&self) -> bool {
        false
    }

    fn section_of_cases(&self, _: &[CaseResult]) -> Vec<Section> {
        self.log.sections()
    }
}
