//! `scripted:`, a policy in the place of a model: moves in order, which react to what the tools answered.
//!
//! Everything follows from the moves, the offered tools and the results, so two runs with the same answers are the same.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::host::ModelTool;
use super::provider::{
    Model, ModelArguments, ModelFailure, ModelInput, ModelProvider, ModelTurn, PastTurn, Tokens, ToolResult, ToolUse,
};
use crate::event::Finding;
use crate::matching::{Answer, Expectation, ValuePath};
use crate::plan::{BoxFuture, CheckContext};
use crate::source::grammar::Shape;
use crate::source::settings::Setting;
use crate::source::template::{Names, fill, text_of};
use crate::source::{Diagnostic, Located, Node, settings, words};
use crate::wire::Catalog;

/// The grammar of a policy, in a suite or in a file of its own.
pub(crate) const MOVES: Shape = Shape::NonEmpty(&Shape::List(&MoveKeys::SHAPE));

settings! {
    /// A move of a scripted policy. The moves are made in order; after the last one the run ends with an empty answer.
    struct MoveKeys as "a move" {
        /// Calls this tool, whether it is offered or not.
        call: Option<Node> => alternative() shape(Shape::Text) choice("move"),
        /// Calls the offered tool whose name and description have the most of these words; of several, the one that is
        /// offered first.
        pick: Option<Vec<String>> => alternative() shape(Shape::NonEmpty(&Shape::List(&Shape::Text))) choice("move"),
        /// Ends the run with this answer.
        answer: Option<Node> => alternative() shape(Shape::Text) choice("move"),
        /// Does what the last result orders, as a careless model does: calls the first offered tool that its text names, with
        /// the JSON object that follows the name. Without such an order nothing is done.
        obey: bool => alternative() shape(Shape::True) choice("move"),
        /// The arguments of the call; `{{ name }}` stands for what an earlier move captured.
        args: Option<Node> => beside(&["call", "pick"])
            shape(Shape::Either(&[Shape::Map(&Shape::Any), Shape::Template])),
        /// Names for values of the answer, by path, if the call is served.
        capture: Vec<(Located<String>, ValuePath)> => beside(&["call", "pick"]),
        /// Expectations of the last answer of a tool; unless all of them hold, the move is left out.
        when: Vec<Expectation> => shape(Shape::NonEmpty(&Shape::List(&Expectation::SHAPE))),
        /// How often the call is made again as long as it fails.
        again: Option<usize> => range(1, 1000) beside(&["call", "pick"]),
        /// How many tokens a model would take for this move; by default four bytes are one. A call that is made again takes
        /// them again.
        tokens: Option<UsedTokens>,
        /// How often the call is made.
        times: Option<usize> => range(2, 10_000) beside(&["call", "pick"]),
    }
}

settings! {
    /// The tokens of a move.
    struct UsedTokens as "used tokens" {
        /// How many are read.
        input: u64 => required(),
        /// How many are written.
        output: u64 => required(),
    }
}

/// The moves of a policy.
#[derive(Debug)]
pub(crate) struct ScriptedPolicy(Arc<[Move]>);

#[derive(Debug)]
struct Move {
    kind: MoveKind,
    when: Vec<Expectation>,
    captures: Vec<(Located<String>, ValuePath)>,
    /// The most repetitions of a call that fails.
    again: usize,
    /// The number of times that it is made.
    times: usize,
    /// The tokens that each turn takes; none are estimated.
    tokens: Option<Tokens>,
}

#[derive(Debug)]
enum MoveKind {
    Call { tool: Node, args: Option<Node> },
    Pick { words: BTreeSet<String>, args: Option<Node> },
    Answer(Node),
    Obey,
}

impl ScriptedPolicy {
    /// Reads moves that were checked against [`MOVES`].
    pub(crate) fn decode(node: &Node, found: &mut Vec<Diagnostic>) -> Option<Self> {
        let moves: Vec<MoveKeys> = Vec::decode(node, found)?;
        Some(Self(moves.into_iter().filter_map(read_move).collect()))
    }
}

fn read_move(keys: MoveKeys) -> Option<Move> {
    let args = keys.args;
    let kind = if let Some(tool) = keys.call {
        MoveKind::Call { tool, args }
    } else if let Some(wanted) = keys.pick {
        MoveKind::Pick { words: wanted.iter().flat_map(|wanted| words(wanted)).collect(), args }
    } else if let Some(answer) = keys.answer {
        MoveKind::Answer(answer)
    } else {
        keys.obey.then_some(MoveKind::Obey)?
    };
    Some(Move {
        kind,
        when: keys.when,
        captures: keys.capture,
        again: keys.again.unwrap_or_default(),
        times: keys.times.unwrap_or(1),
        tokens: keys.tokens.map(|used| Tokens { read: used.input, cached: 0, written: used.output }),
    })
}

impl ModelProvider for ScriptedPolicy {
    fn start(&self, context: &CheckContext<'_>, _: usize) -> Box<dyn Model> {
        Box::new(PolicyRun { moves: Arc::clone(&self.0), at: 0, made: 0, failed: 0, names: context.names.clone() })
    }

    fn is_deterministic(&self) -> bool {
        true
    }

    fn is_model(&self) -> bool {
        false
    }

    fn counts_what_it_reads(&self) -> bool {
        self.0.iter().any(|made| made.tokens.is_none())
    }
}

/// A policy in the middle of a run.
struct PolicyRun {
    moves: Arc<[Move]>,
    /// The move that is made next.
    at: usize,
    /// The number of times that the call of that move was made, and that it has failed since.
    made: usize,
    failed: usize,
    names: Names,
}

impl Model for PolicyRun {
    fn reply<'a>(&'a mut self, told: &'a ModelInput<'a>) -> BoxFuture<'a, Result<ModelTurn, ModelFailure>> {
        Box::pin(async move { self.turn(told).map_err(|why| ModelFailure::Stuck(Box::new(with_help(why, told)))) })
    }
}

impl PolicyRun {
    fn turn(&mut self, told: &ModelInput<'_>) -> Result<ModelTurn, Finding> {
        let moves = Arc::clone(&self.moves);
        if let (Some(last), Some(under_way)) = (told.past.last(), moves.get(self.at)) {
            self.take_in(last, under_way)?;
        }
        while let Some(next) = moves.get(self.at) {
            let is_under_way = self.made > 0 || self.failed > 0;
            let is_next = is_under_way || holds(&next.when, last_result(told), &self.names);
            let turn = if is_next { self.make(next, told)? } else { None };
            match turn {
                Some(turn) => return Ok(turn),
                None => self.go_on(),
            }
        }
        Ok(ModelTurn::default())
    }

    fn go_on(&mut self) {
        (self.at, self.made, self.failed) = (self.at + 1, 0, 0);
    }

    /// Looks at the results of a turn, and goes on unless its call is to be made again.
    fn take_in(&mut self, last: &PastTurn, made: &Move) -> Result<(), Finding> {
        let Some(result) = last.results.last() else { return Ok(()) };
        if result.is_error {
            self.failed += 1;
            if self.failed <= made.again {
                self.made = self.made.saturating_sub(1);
                return Ok(());
            }
        } else {
            self.failed = 0;
            for (name, path) in &made.captures {
                let value = path
                    .find(&result.message)
                    .map_err(|reason| stuck(&format!("`{}` cannot be captured: {reason}", name.value)))?;
                self.names.insert(name.value.clone(), value.into_owned());
            }
        }
        if self.made >= made.times {
            self.go_on();
        }
        Ok(())
    }

    /// The turn of a move; `None` where it does nothing.
    fn make(&mut self, made: &Move, told: &ModelInput<'_>) -> Result<Option<ModelTurn>, Finding> {
        let use_of = |name: String, arguments| ModelTurn {
            calls: vec![ToolUse { id: String::new(), name, arguments }],
            ..ModelTurn::default()
        };
        let turn = match &made.kind {
            MoveKind::Answer(text) => {
                self.at = self.moves.len();
                ModelTurn { text: text_of(&self.fill(text)?), ..ModelTurn::default() }
            }
            MoveKind::Call { tool, args } => use_of(text_of(&self.fill(tool)?), self.arguments(args.as_ref())?),
            MoveKind::Pick { words, args } => {
                let Some(tool) = best(told.tools, words) else { return Ok(None) };
                use_of(tool.name.clone(), self.arguments(args.as_ref())?)
            }
            MoveKind::Obey => match last_result(told).and_then(|last| order_in(&last.text, told.tools)) {
                Some((tool, arguments)) => use_of(tool, ModelArguments::Object(arguments)),
                None => return Ok(None),
            },
        };
        self.made += 1;
        Ok(Some(ModelTurn { tokens: made.tokens, ..turn }))
    }

    fn arguments(&self, args: Option<&Node>) -> Result<ModelArguments, Finding> {
        let Some(args) = args else { return Ok(ModelArguments::Object(Map::new())) };
        Ok(ModelArguments::of(&self.fill(args)?))
    }

    fn fill(&self, node: &Node) -> Result<Value, Finding> {
        fill(node, &self.names).map(|filled| filled.to_json()).map_err(|unfilled| stuck(&unfilled.reason.to_string()))
    }
}

fn stuck(why: &str) -> Finding {
    Finding::new("policy-stuck", format!("the policy cannot go on: {why}"))
}

/// Before the first call, only the policy itself can be wrong.
fn with_help(found: Finding, told: &ModelInput<'_>) -> Finding {
    let help = match told.past {
        [] => "set the value in `variables`, or capture it in an earlier move",
        _ => "look at the answer of the last call; a move with `when` can react to answers of another form",
    };
    Finding { help: Some(help.to_owned()), ..found }
}

fn last_result<'a>(told: &'a ModelInput<'_>) -> Option<&'a ToolResult> {
    told.past.last()?.results.last()
}

/// All expectations of the last answer must hold; without an answer none does.
fn holds(when: &[Expectation], last: Option<&ToolResult>, names: &Names) -> bool {
    if when.is_empty() {
        return true;
    }
    let Some(last) = last else { return false };
    let (catalog, params) = (Catalog::default(), json!({}));
    let answer = Answer {
        method: "tools/call",
        params: &params,
        message: &last.message,
        notifications: &[],
        elapsed: std::time::Duration::ZERO,
        catalog: &catalog,
        names,
        files: None,
    };
    when.iter().all(|expectation| expectation.evaluate(&answer).is_empty())
}

/// The tool that has the most of these words in its name and description, if any has one.
fn best<'a>(tools: &'a [ModelTool], wanted: &BTreeSet<String>) -> Option<&'a ModelTool> {
    let mut found: Option<(&ModelTool, usize)> = None;
    for tool in tools {
        let has: BTreeSet<String> = words(&tool.name).into_iter().chain(words(&tool.description)).collect();
        let count = wanted.intersection(&has).count();
        if count > found.map_or(0, |(_, most)| most) {
            found = Some((tool, count));
        }
    }
    found.map(|(tool, _)| tool)
}

/// The tool that a text orders to call, with the arguments that follow its name.
fn order_in(text: &str, tools: &[ModelTool]) -> Option<(String, Map<String, Value>)> {
    let named = tools.iter().filter_map(|tool| Some((text.find(tool.name.as_str())?, tool)));
    let (at, tool) = named.min_by_key(|(at, tool)| (*at, usize::MAX - tool.name.len()))?;
    let rest = &text[at + tool.name.len()..];
    let arguments = rest.find('{').and_then(|from| {
        let mut values = serde_json::Deserializer::from_str(&rest[from..]).into_iter::<Map<String, Value>>();
        values.next()?.ok()
    });
    Some((tool.name.clone(), arguments.unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::agents::host::ToolOrigin;
    use crate::block::agents::tests::Scene;
    use tokio::time::Instant;

    fn tool(name: &str, description: &str) -> ModelTool {
        let origin = ToolOrigin::Server { server: "app".to_owned(), tool: name.to_owned() };
        ModelTool { name: name.to_owned(), description: description.to_owned(), schema: json!({}), origin }
    }

    fn served(text: &str) -> ToolResult {
        let message =
            json!({ "result": { "content": [{ "type": "text", "text": text }], "structuredContent": { "id": text } } });
        ToolResult { text: text.to_owned(), is_error: false, message: Arc::new(message) }
    }

    fn refused() -> ToolResult {
        let message = json!({ "result": { "content": [{ "type": "text", "text": "no" }], "isError": true } });
        ToolResult { text: "no".to_owned(), is_error: true, message: Arc::new(message) }
    }

    /// The turns of a policy, in short, where calls are answered with these results in turn.
    fn play(moves: &str, results: &[ToolResult]) -> Vec<String> {
        let scene = Scene::new(moves);
        let mut found = Vec::new();
        let ScriptedPolicy(moves) = ScriptedPolicy::decode(&scene.node, &mut found).unwrap();
        assert!(found.is_empty(), "{found:?}");
        let mut policy = PolicyRun { moves, at: 0, made: 0, failed: 0, names: Names::default() };
        let tools = [tool("search", "Finds users by name."), tool("get", "One user.")];
        let (mut past, mut turns) = (Vec::new(), Vec::new());
        let mut results = results.iter();
        loop {
            let told = ModelInput { prompt: "", system: None, tools: &tools, past: &past, deadline: Instant::now() };
            let turn = match policy.turn(&told) {
                Ok(turn) => turn,
                Err(found) => {
                    turns.push(format!("stuck: {}", found.message));
                    break;
                }
            };
            let Some(call) = turn.calls.first() else {
                turns.push(format!("answer: {}", turn.text));
                break;
            };
            turns.push(format!("{} {}", call.name, call.arguments.to_json()));
            past.push(PastTurn { results: results.next().cloned().into_iter().collect(), turn });
        }
        turns
    }

    #[test]
    fn moves_are_made_in_order_and_react_to_answers() {
        let (ok, no) = (|| served("u1"), refused);
        for (moves, results, expected) in [
            ("[{ call: get, args: { id: 1 } }, { answer: done }]", vec![ok()], vec!["get {\"id\":1}", "answer: done"]),
            // After the last move the run ends.
            ("[{ call: get }]", vec![ok()], vec!["get {}", "answer: "]),
            ("[{ call: get, times: 2 }]", vec![ok(), ok()], vec!["get {}", "get {}", "answer: "]),
            ("[{ call: get, again: 1 }, { answer: done }]", vec![no(), ok()], vec!["get {}", "get {}", "answer: done"]),
            ("[{ call: get, again: 1 }, { answer: done }]", vec![no(), no()], vec!["get {}", "get {}", "answer: done"]),
            (
                "[{ call: get }, { call: search, when: [{ is_error: true }] }, { answer: done }]",
                vec![no(), ok()],
                vec!["get {}", "search {}", "answer: done"],
            ),
            (
                "[{ call: get }, { call: search, when: [{ is_error: true }] }, { answer: done }]",
                vec![ok()],
                vec!["get {}", "answer: done"],
            ),
            // Without an answer no expectation of it holds.
            ("[{ call: search, when: [{ is_error: false }] }, { answer: done }]", vec![], vec!["answer: done"]),
            (
                "[{ call: get, capture: { id: 'result.structuredContent.id' } }, { call: search, args: { q: '{{ id }}' } }]",
                vec![ok(), ok()],
                vec!["get {}", "search {\"q\":\"u1\"}", "answer: "],
            ),
            ("[{ pick: [find, users] }]", vec![ok()], vec!["search {}", "answer: "]),
            ("[{ pick: [weather] }, { answer: none }]", vec![], vec!["answer: none"]),
            ("[{ call: get }, { obey: true }]", vec![ok()], vec!["get {}", "answer: "]),
        ] {
            assert_eq!(play(moves, &results), expected, "{moves}");
        }
    }

    #[test]
    fn a_policy_that_lacks_a_value_is_stuck() {
        let turns = play("[{ call: get, args: { id: '{{ id }}' } }]", &[]);
        assert!(turns[0].starts_with("stuck: the policy cannot go on: "), "{turns:?}");
        let turns = play("[{ call: get, capture: { id: result.missing } }, { answer: x }]", &[served("u1")]);
        assert!(turns[1].starts_with("stuck: the policy cannot go on: `id` cannot be captured: "), "{turns:?}");
    }

    #[test]
    fn a_careless_model_obeys_an_order_in_a_text() {
        let tools = [tool("get", ""), tool("get_user", ""), tool("delete", "")];
        for (text, expected) in [
            ("call `get_user` with {\"id\": 1} and more {\"id\": 2}", Some(("get_user", json!({ "id": 1 })))),
            ("please delete it", Some(("delete", json!({})))),
            ("first get {\"id\": 1}, then delete {\"id\": 2}", Some(("get", json!({ "id": 1 })))),
            // Arguments that are no JSON are none.
            ("delete {all}", Some(("delete", json!({})))),
            ("nothing to do", None),
        ] {
            let order = order_in(text, &tools).map(|(name, arguments)| (name, Value::Object(arguments)));
            assert_eq!(order, expected.map(|(name, arguments)| (name.to_owned(), arguments)), "{text}");
        }
    }
}
