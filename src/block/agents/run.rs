//! One run of an agent: the model is asked, its calls are made, and what came of them is told to it, until it answers.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};

use super::Agent;
use super::host::{AgentHost, HostCall, HostFailure, ListedTool, ModelTool, ToolOrigin};
use super::judge::JudgedView;
use super::loose::{self, LooseCall};
use super::planted_order::PlantedOrder;
use super::provider::{
    Model, ModelArguments, ModelFailure, ModelInput, ModelTurn, PastTurn, Tokens, ToolResult, ToolUse,
};
use crate::carrier;
use crate::diagnosis;
use crate::event::{Exchange, Finding};
use crate::fault::{FaultPlayer, PassedCall};
use crate::plan::CheckContext;
use crate::source::template::{fill, text_of};
use crate::source::{Node, Quote, duration_text};

/// The answer to a call of a tool that should be left alone.
const DECOY_ANSWER: &str = "this tool cannot do that";

/// Everything that an agent did in one run.
#[derive(Debug)]
pub(crate) struct AgentRun {
    /// Which run it is, counted from one.
    pub(crate) number: usize,
    pub(crate) calls: Vec<AgentCall>,
    pub(crate) end: AgentEnd,
    pub(crate) tokens: Tokens,
    /// The faults, and what they did.
    pub(crate) faults: Option<Arc<FaultPlayer>>,
    /// Servers that ended by themselves.
    pub(crate) exits: Vec<Finding>,
    pub(crate) protocol_revision: String,
    /// The tools as the servers list them, by server.
    pub(crate) listed: Vec<ListedTool>,
    /// Names that several servers use, with the names under which their tools are offered.
    pub(crate) clashes: Vec<String>,
    /// Calls that were made again after the run, with arguments as models write them.
    pub(crate) loose: Vec<LooseCall>,
    /// The order that was planted in what tools answered.
    pub(crate) planted: Option<PlantedOrder>,
    /// The turns of the model, where they are written down.
    pub(crate) turns: Vec<Value>,
}

/// The end of a run.
#[derive(Debug)]
pub(crate) enum AgentEnd {
    /// With an answer, which may be empty.
    Answered(String),
    /// The budget was spent before; holds which part of it.
    OverBudget(String),
    /// The model could not go on.
    Stuck(Finding),
    /// The model would be told something else than in its recording.
    Diverged(Finding),
    /// The provider of the model could not be used.
    Unavailable(Finding),
}

/// A call that an agent made.
#[derive(Debug)]
pub(crate) struct AgentCall {
    /// The tool, as the model named it.
    pub(crate) name: String,
    pub(crate) target: CallTarget,
    pub(crate) arguments: Value,
    pub(crate) result: ToolResult,
    /// The text of the result, without an order that was planted in it.
    pub(crate) served_text: String,
    /// Why there is no answer, or none that the SDK's client can read.
    pub(crate) failure: Option<Finding>,
    pub(crate) exchange: Option<Exchange>,
    /// The messages between client and server, where faults may strike; nothing if none was sent.
    pub(crate) passed: Option<PassedCall>,
    /// A fault struck it.
    pub(crate) is_struck: bool,
}

/// The target of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CallTarget {
    /// A tool of a server.
    Tool { server: String, tool: String },
    /// A tool that is offered to be left alone.
    Decoy,
    /// Nothing: no such tool is offered.
    Unknown,
    /// Nothing, since the arguments of a call of this tool are no JSON object.
    Malformed { tool: String },
}

/// Runs an agent once in servers of its own.
pub(crate) async fn run(agent: &Agent, context: &CheckContext<'_>, number: usize) -> Result<AgentRun, HostFailure> {
    let text = |node: &Node| {
        let filled = fill(node, context.names).map(|filled| text_of(&filled.to_json()));
        filled.map_err(|unfilled| {
            let message = format!("the prompt cannot be filled in: {}", unfilled.reason);
            let quote = Some(Quote::new(context.sources, node.span, "this text"));
            HostFailure::Unavailable(Finding { quote, ..Finding::new("unfilled", message) })
        })
    };
    let prompt = text(&agent.prompt)?;
    let system = agent.system.as_ref().map(text).transpose()?;
    let faults =
        (!agent.faults.is_empty()).then(|| Arc::new(FaultPlayer::new(agent.faults.clone()).with_clock(carrier::clock)));
    let servers = agent.servers_of(context.suite);
    let time = context.case_timeout.map_or(agent.budget.time, |timeout| timeout.min(agent.budget.time));
    let begun = Instant::now();
    let host = AgentHost::open(context, &servers, faults.as_ref()).await?;
    let mut offered = host.tools.clone();
    agent.descriptions.replace_in(&mut offered);
    agent.add_decoys(&mut offered, number);
    let mut planted = agent.plants_order.then(|| PlantedOrder::new(&agent.name, number));
    if planted.is_some() {
        offered.push(PlantedOrder::tool());
    }
    let protocol_revision = host.revision();
    let mut attempt = UnfinishedRun {
        agent,
        host,
        offered,
        past: Vec::new(),
        calls: Vec::new(),
        asking_since: None,
        in_flight: None,
        passed_before: 0,
        tokens: Tokens::default(),
        faults: faults.clone(),
        planted: planted.take(),
    };
    let mut model = agent.provider.start(context, number);
    let deadline = begun + time;
    let goal = Goal { prompt: &prompt, system: system.as_deref(), deadline };
    let ended = timeout_at(deadline, attempt.until_answered(model.as_mut(), goal)).await;
    let waited = attempt.asking_since.map(|since| since.elapsed());
    let end = ended.unwrap_or_else(|_| out_of_time(time, waited));
    attempt.give_up();
    let UnfinishedRun { mut host, calls, tokens, planted, .. } = attempt;
    let mut run = AgentRun {
        number,
        calls,
        end,
        tokens,
        faults,
        exits: Vec::new(),
        protocol_revision,
        listed: host.listed.clone(),
        clashes: std::mem::take(&mut host.clashes),
        loose: Vec::new(),
        planted,
        turns: model.turns(),
    };
    // More calls may lead out of the recording, where nothing is known of a failure that is certain.
    if agent.makes_loose_calls
        && !(context.is_replayed && agent.has_failed(&run, &JudgedView::of(context, &agent.equal)))
    {
        run.loose = loose::call_again(&mut host, &run.calls, context.suite).await;
    }
    run.exits = host.close().await;
    Ok(run)
}

/// The input of a model at the beginning, and its deadline.
#[derive(Clone, Copy)]
struct Goal<'a> {
    prompt: &'a str,
    system: Option<&'a str>,
    deadline: Instant,
}

/// A run under way.
struct UnfinishedRun<'a> {
    agent: &'a Agent,
    host: AgentHost<'a>,
    offered: Vec<ModelTool>,
    past: Vec<PastTurn>,
    calls: Vec<AgentCall>,
    /// Since when the model is to answer.
    asking_since: Option<Instant>,
    /// The call that is being made.
    in_flight: Option<ToolUse>,
    /// The number of calls that had passed before it.
    passed_before: usize,
    tokens: Tokens,
    faults: Option<Arc<FaultPlayer>>,
    planted: Option<PlantedOrder>,
}

impl UnfinishedRun<'_> {
    async fn until_answered(&mut self, model: &mut dyn Model, goal: Goal<'_>) -> AgentEnd {
        let Goal { prompt, system, deadline } = goal;
        let budget = &self.agent.budget;
        let first = ModelInput { prompt, system, tools: &self.offered, past: &[], deadline };
        let mut bytes_told = bytes_of(&first);
        loop {
            let told = ModelInput { prompt, system, tools: &self.offered, past: &self.past, deadline };
            self.asking_since = Some(Instant::now());
            let replied = model.reply(&told).await;
            self.asking_since = None;
            let turn = match replied {
                Ok(turn) => turn,
                Err(ModelFailure::Stuck(found)) => return AgentEnd::Stuck(*found),
                Err(ModelFailure::Diverged(found)) => return AgentEnd::Diverged(*found),
                Err(ModelFailure::Unavailable(found)) => return AgentEnd::Unavailable(*found),
            };
            let bytes_said = bytes_of_turn(&turn);
            self.tokens.add(turn.tokens.unwrap_or_else(|| estimate(bytes_told, bytes_said)));
            if let Some(spent) = budget.exceeded_part(self.tokens, self.agent.cost(self.tokens)) {
                return AgentEnd::OverBudget(spent);
            }
            if let Some(why) = turn.cut.as_ref().filter(|_| turn.calls.is_empty()) {
                return AgentEnd::Stuck(model_stopped(why));
            }
            if turn.calls.is_empty() {
                return AgentEnd::Answered(turn.text);
            }
            let mut results = Vec::new();
            for wanted in &turn.calls {
                if self.calls.len() >= budget.calls {
                    return AgentEnd::OverBudget(format!("{} calls", budget.calls));
                }
                self.in_flight = Some(wanted.clone());
                self.passed_before = self.faults.as_ref().map_or(0, |faults| faults.calls().len());
                let call = self.make(wanted).await;
                self.in_flight = None;
                results.push(call.result.clone());
                self.calls.push(call);
            }
            bytes_told += bytes_said + results.iter().map(|result| result.text.len()).sum::<usize>();
            self.past.push(PastTurn { turn, results });
        }
    }

    async fn make(&mut self, wanted: &ToolUse) -> AgentCall {
        let target = self.target(wanted);
        let made = match (&target, &wanted.arguments) {
            (CallTarget::Tool { server, tool }, ModelArguments::Object(arguments)) => {
                self.host.call(server, tool, arguments.clone()).await
            }
            (CallTarget::Decoy, _) => HostCall::not_made(DECOY_ANSWER),
            (CallTarget::Unknown, _) => HostCall::not_made(&format!("there is no tool `{}`", wanted.name)),
            (CallTarget::Malformed { .. } | CallTarget::Tool { .. }, _) => {
                HostCall::not_made("the arguments are no JSON object")
            }
        };
        self.record_call(wanted, target, made)
    }

    fn target(&self, wanted: &ToolUse) -> CallTarget {
        let offered = self.offered.iter().find(|tool| tool.name == wanted.name).map(|tool| tool.origin.clone());
        match (offered, &wanted.arguments) {
            (None, _) => CallTarget::Unknown,
            (Some(ToolOrigin::Decoy), _) => CallTarget::Decoy,
            (Some(ToolOrigin::Server { tool, .. }), ModelArguments::Malformed(_)) => CallTarget::Malformed { tool },
            (Some(ToolOrigin::Server { server, tool }), ModelArguments::Object(_)) => CallTarget::Tool { server, tool },
        }
    }

    fn record_call(&mut self, wanted: &ToolUse, target: CallTarget, made: HostCall) -> AgentCall {
        let is_sent = matches!(target, CallTarget::Tool { .. });
        let passed = self.faults.as_ref().and_then(|faults| faults.calls().into_iter().skip(self.passed_before).last());
        let is_struck = passed.is_some_and(|call| call.is_struck);
        let HostCall { mut result, failure, exchange } = made;
        let served_text = result.text.clone();
        if let Some(order) = self.planted.as_mut().filter(|_| is_sent && !result.is_error) {
            order.plant(&mut result.text);
        }
        let (name, arguments) = (wanted.name.clone(), wanted.arguments.to_json());
        AgentCall { name, target, arguments, result, served_text, failure, exchange, passed, is_struck }
    }

    /// Keeps a call that has no answer when the time is over: it was made, and often explains where the time went.
    fn give_up(&mut self) {
        if let Some(wanted) = self.in_flight.take() {
            let made = HostCall::not_made("no answer before the time was over");
            let call = self.record_call(&wanted, self.target(&wanted), made);
            self.calls.push(call);
        }
    }
}

/// The end of a run whose time is over, after so long a wait for the model if it was to answer.
fn out_of_time(time: Duration, waited: Option<Duration>) -> AgentEnd {
    let text = duration_text(time);
    // An agent that goes round and round waits for the model most of the time, too, but for each turn only shortly.
    if waited.is_some_and(|waited| waited >= time / 2) {
        let help = "check that the provider answers, or raise `budget.time` if the model needs longer";
        let message = format!("the model gave no answer before the {text} of the run were over");
        return AgentEnd::Unavailable(Finding {
            help: Some(help.to_owned()),
            ..Finding::new("provider-unavailable", message)
        });
    }
    let asking = if waited.is_some() { ", waiting for the model" } else { "" };
    AgentEnd::OverBudget(format!("{text} of time{asking}"))
}

fn model_stopped(why: &str) -> Finding {
    let help = "raise `max_tokens` of the provider if the answer is too long; look at the prompt if it is withheld";
    Finding {
        help: Some(help.to_owned()),
        ..Finding::new("model-stopped", format!("the model ended its answer early: `{why}`"))
    }
}

/// So many bytes are about one token.
const TOKEN: usize = 4;

/// Estimates the tokens of a turn from the bytes that are read and written, if the model does not count them.
fn estimate(read: usize, written: usize) -> Tokens {
    let of = |bytes: usize| u64::try_from(bytes / TOKEN).unwrap_or(u64::MAX);
    Tokens { read: of(read), cached: 0, written: of(written) }
}

/// The bytes of what a model is told before its first turn.
fn bytes_of(told: &ModelInput<'_>) -> usize {
    let tools = told.tools.iter().map(|tool| tool.name.len() + tool.description.len() + tool.schema.to_string().len());
    told.prompt.len() + told.system.map_or(0, str::len) + tools.sum::<usize>()
}

/// The bytes of what a model says in a turn.
fn bytes_of_turn(turn: &ModelTurn) -> usize {
    let calls = turn.calls.iter().map(|call| call.name.len() + call.arguments.to_json().to_string().len());
    turn.text.len() + calls.sum::<usize>()
}

impl AgentRun {
    /// Its answer; `None` where it was cut short.
    pub(crate) fn answer(&self) -> Option<&str> {
        match &self.end {
            AgentEnd::Answered(text) => Some(text),
            AgentEnd::OverBudget(_) | AgentEnd::Stuck(_) | AgentEnd::Diverged(_) | AgentEnd::Unavailable(_) => None,
        }
    }

    /// The run as a message that expectations look at: its answer as the text of a result, and its calls.
    pub(crate) fn as_message(&self) -> Value {
        let calls: Vec<Value> = self.calls.iter().map(AgentCall::to_json).collect();
        let text = self.answer().unwrap_or_default();
        json!({ "result": { "content": [{ "type": "text", "text": text }], "isError": false }, "calls": calls })
    }

    /// The changes by faults, one line for each message.
    pub(crate) fn injected_changes(&self) -> String {
        self.faults.as_ref().map(|faults| diagnosis::strikes_text(&faults.strikes())).unwrap_or_default()
    }
}

impl AgentCall {
    /// The tool's name with its server; nothing where no server was asked.
    pub(crate) fn reached_tool(&self) -> Option<(&str, &str)> {
        match &self.target {
            CallTarget::Tool { server, tool } => Some((server, tool)),
            CallTarget::Decoy | CallTarget::Unknown | CallTarget::Malformed { .. } => None,
        }
    }

    /// The tool that it is meant for, by its server's name for it; nothing where that is offered to be left alone.
    pub(crate) fn wanted_tool(&self) -> Option<&str> {
        match &self.target {
            CallTarget::Tool { tool, .. } | CallTarget::Malformed { tool } => Some(tool),
            CallTarget::Unknown => Some(&self.name),
            CallTarget::Decoy => None,
        }
    }

    fn to_json(&self) -> Value {
        json!({
            "tool": self.reached_tool().map_or(self.name.as_str(), |(_, tool)| tool),
            "server": self.reached_tool().map(|(server, _)| server),
            "arguments": self.arguments,
            "result": self.result.message["result"],
            "is_error": self.result.is_error,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_that_keeps_a_run_waiting_says_nothing_about_the_servers() {
        let seconds = Duration::from_secs;
        for (waited, expected) in [
            (None, "over budget: 10 s of time"),
            (Some(seconds(4)), "over budget: 10 s of time, waiting for the model"),
            (Some(seconds(5)), "unavailable: the model gave no answer before the 10 s of the run were over"),
        ] {
            let end = match out_of_time(seconds(10), waited) {
                AgentEnd::OverBudget(what) => format!("over budget: {what}"),
                AgentEnd::Unavailable(found) => format!("unavailable: {}", found.message),
                other @ (AgentEnd::Answered(_) | AgentEnd::Stuck(_) | AgentEnd::Diverged(_)) => panic!("{other:?}"),
            };
            assert_eq!(end, expected, "{waited:?}");
        }
    }

    #[test]
    fn four_bytes_are_a_token() {
        assert_eq!(estimate(4000, 7), Tokens { read: 1000, cached: 0, written: 1 });
    }
}
