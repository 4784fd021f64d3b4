//! The calls: which follow from the seed, the tool and their number alone, and from what earlier answers held.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::Fuzz;
use super::answer_pool::{AnswerPool, ConsumedArgument};
use crate::check::canary::Canaries;
use crate::event::ReproductionCall;
use crate::generate::{BranchSet, Breach, Generator, GeneratorLimits, InvalidValue, Rng};
use crate::plan::CheckContext;
use crate::plan::arguments::{SafeArguments, server_folder};
use crate::schema::{Judge, UnusableSchema};
use crate::source::words;
use crate::wire::Tool;

/// How many valid values at edges are tried one after the other.
const TOUR: usize = 400;

/// How many calls that the suite gives come first.
const MOST_GIVEN: usize = 4;

/// In how many of 100 valid calls an argument is taken from an earlier answer, where one held what fits.
const BORROWED: u32 = 35;

/// In how many of 100 valid calls of a tool with known good arguments these are sent, with little changed.
const NEAR: u32 = 80;

/// In how many of these an argument has a mark, and in how many two have a drawn value.
const NEAR_MARKED: u32 = 15;
const NEAR_TWICE: u32 = 15;

/// In how many of 100 calls another tool is called, where there are others.
const ELSEWHERE: u32 = 15;

/// A call, ready to be sent.
#[derive(Debug, Clone)]
pub(crate) struct GeneratedCall {
    /// The tool, as an index.
    pub(crate) tool: usize,
    /// The arguments.
    pub(crate) arguments: Value,
    /// Which rule of the schema they break, as an index into the tool's violations.
    pub(crate) breach: Option<usize>,
}

/// A tool that can be called.
pub(crate) struct Callee {
    pub(crate) name: String,
    /// Whether it says that it changes nothing.
    pub(crate) is_read_only: bool,
    /// Whether it runs what callers write.
    pub(crate) runs_code: bool,
    safe_arguments: SafeArguments,
    /// Invalid arguments, each violating one rule of its schema.
    violations: Vec<InvalidValue>,
    /// By violation: whether a server that serves it does wrong.
    binding: Vec<bool>,
    /// Checks structured content; `None` where there is no schema, or none that is valid.
    pub(crate) output: Option<Result<Judge, UnusableSchema>>,
    /// The suite's arguments, and values at the edges.
    tour: Vec<Value>,
    /// How many of them are the suite's.
    given: usize,
    /// Arguments that take any text, each with the most characters that it takes.
    texts: Vec<(String, usize)>,
    /// Arguments that take what answers hold: the name, and the number in the pool.
    wanted: Vec<(String, usize)>,
    /// Whether the schema says nothing beyond what each argument is by itself.
    is_plain: bool,
}

/// Makes calls of some tools; the first one is what it is about.
pub(crate) struct Calls {
    pub(crate) callees: Vec<Callee>,
    pub(crate) tokens: Canaries,
    pub(crate) wanted: Vec<ConsumedArgument>,
    /// The callees whose names share a noun with the first one's.
    related: Vec<usize>,
    draw: Rng,
    invalid: u32,
}

impl Calls {
    /// Calls of these tools; `Err` says why there can be none of the first.
    pub(crate) fn new(settings: &Fuzz, context: &CheckContext<'_>, tools: &[&Tool]) -> Result<Self, UnusableSchema> {
        let mut wanted = Vec::new();
        let mut callees = Vec::new();
        for (number, tool) in tools.iter().enumerate() {
            match Callee::new(tool, context, settings, &mut wanted) {
                Ok(callee) => callees.push(callee),
                Err(unusable) if number == 0 => return Err(unusable),
                // A tool that cannot be called is left out of the calls of others.
                Err(_) => {}
            }
        }
        let name = tools.first().map_or("", |tool| &tool.name);
        let draw = Rng::new(settings.seed).fork(name);
        let tokens = Canaries::seeded(draw.fork("tokens").bits());
        let own: BTreeSet<String> = nouns(name).collect();
        let is_related = |at: &usize| nouns(&callees[*at].name).any(|noun| own.contains(&noun));
        let related = (1..callees.len()).filter(is_related).collect();
        Ok(Self { callees, tokens, wanted, related, draw, invalid: settings.invalid.0 })
    }

    /// A pool for the answers of a session that begins with that call.
    pub(crate) fn pool(&self, begin: u64) -> AnswerPool {
        AnswerPool::new(begin, self.wanted.len())
    }

    /// The call of that number.
    pub(crate) fn make(&self, number: u64, pool: &AnswerPool) -> GeneratedCall {
        let mut draw = self.draw.fork(number);
        // Arguments of the suite are sent first, whatever is drawn.
        if let Some(arguments) = usize::try_from(number).ok().and_then(|at| self.callees[0].given().get(at)) {
            return GeneratedCall { tool: 0, arguments: arguments.clone(), breach: None };
        }
        let tool = if self.callees.len() > 1 && draw.chance(ELSEWHERE) { self.other(&mut draw) } else { 0 };
        let callee = &self.callees[tool];
        if draw.chance(self.invalid) && !callee.violations.is_empty() {
            let breach = draw.below(callee.violations.len());
            let arguments = callee.violations[breach].value.clone();
            return GeneratedCall { tool, arguments, breach: Some(breach) };
        }
        GeneratedCall { tool, arguments: self.valid(number, pool, callee, &mut draw), breach: None }
    }

    /// Another tool; often one that is about the same things, since its answers may hold what this one asks for.
    fn other(&self, draw: &mut Rng) -> usize {
        if !self.related.is_empty() && draw.chance(50) {
            return self.related[draw.below(self.related.len())];
        }
        1 + draw.below(self.callees.len() - 1)
    }

    fn valid(&self, number: u64, pool: &AnswerPool, callee: &Callee, draw: &mut Rng) -> Value {
        let turn = usize::try_from(number / 2).unwrap_or(usize::MAX);
        if number.is_multiple_of(2) && turn < callee.tour.len() {
            return callee.tour[turn].clone();
        }
        if !callee.given().is_empty() && draw.chance(NEAR) {
            return self.near(number, pool, callee, draw);
        }
        let mut value = match draw.below(100) {
            0..15 => draw.pick(&callee.tour).unwrap_or(callee.safe_arguments.smallest()).clone(),
            _ => callee.generator().random(draw),
        };
        let has_borrowed = draw.chance(BORROWED) && callee.borrow(&mut value, |at| pool.values(at, number), draw);
        // A value from an answer is worth more than a mark in its place.
        if !has_borrowed && !callee.texts.is_empty() && draw.chance(60) {
            callee.mark(&mut value, &self.tokens.of(number), draw);
        }
        callee.safe_arguments.sanitize(value)
    }

    /// Known good arguments with one value changed, sometimes two: a tool that refuses most arguments serves many of these.
    fn near(&self, number: u64, pool: &AnswerPool, callee: &Callee, draw: &mut Rng) -> Value {
        let mut value = draw.pick(callee.given()).cloned().unwrap_or_default();
        if !callee.texts.is_empty() && draw.chance(NEAR_MARKED) {
            callee.mark(&mut value, &self.tokens.of(number), draw);
            return value;
        }
        if draw.chance(BORROWED) && callee.borrow(&mut value, |at| pool.values(at, number), draw) {
            return value;
        }
        for _ in 0..=usize::from(draw.chance(NEAR_TWICE)) {
            let drawn = callee.safe_arguments.random(draw);
            callee.vary(&mut value, &drawn, draw);
        }
        value
    }

    /// A call as a finding holds it.
    pub(crate) fn reproduction(&self, made: &GeneratedCall) -> ReproductionCall {
        let params = json!({"name": self.callees[made.tool].name, "arguments": made.arguments});
        ReproductionCall { method: "tools/call".to_owned(), params }
    }

    /// The rule that a call breaks, and for which it must be refused.
    pub(crate) fn refusable(&self, made: &GeneratedCall) -> Option<&InvalidValue> {
        let callee = &self.callees[made.tool];
        made.breach.filter(|at| callee.binding[*at]).map(|at| &callee.violations[at])
    }

    /// Notes the branches of the schema that a valid call takes.
    pub(crate) fn mark(&self, made: &GeneratedCall, seen: &mut BranchSet) {
        if made.tool == 0 && made.breach.is_none() {
            self.callees[0].generator().mark(&made.arguments, seen);
        }
    }
}

impl Callee {
    fn new(
        tool: &Tool,
        context: &CheckContext<'_>,
        settings: &Fuzz,
        wanted: &mut Vec<ConsumedArgument>,
    ) -> Result<Self, UnusableSchema> {
        let schema = &*tool.arguments_schema();
        let generator = Generator::with_limits(
            schema,
            GeneratorLimits { text: settings.max_string, ..GeneratorLimits::default() },
        )?;
        let safe_arguments =
            SafeArguments::with_generator(schema, generator, server_folder(context.suite, context.server_name));
        let given: Vec<Value> =
            given(tool, context).filter(|given| safe_arguments.generator().is_valid(given)).collect();
        let base = given.first().unwrap_or(safe_arguments.smallest());
        let tour = tour(&given, &safe_arguments);
        // Arguments that are no object break the protocol, not the tool's schema.
        let violations: Vec<InvalidValue> =
            safe_arguments.violations(base).into_iter().filter(|one| one.value.is_object()).collect();
        let binding = violations.iter().map(|violation| is_binding(violation, schema)).collect();
        let properties = || schema["properties"].as_object().into_iter().flatten();
        let texts = properties().filter_map(|(name, schema)| Some((name.clone(), room(schema)?))).collect();
        let mut own = Vec::new();
        for (name, schema) in properties() {
            if let Some(argument) = ConsumedArgument::new(name, schema) {
                own.push((name.clone(), wanted.len()));
                wanted.push(argument);
            }
        }
        Ok(Self {
            name: tool.name.clone(),
            is_read_only: tool.raw["annotations"]["readOnlyHint"] == true,
            runs_code: tool.runs_code(),
            violations,
            binding,
            output: tool
                .output_schema()
                .map(Judge::of)
                .filter(|judge| !matches!(judge, Err(UnusableSchema::NotASchema(_)))),
            given: given.len().min(MOST_GIVEN),
            tour,
            texts,
            wanted: own,
            is_plain: is_plain(schema),
            safe_arguments,
        })
    }

    /// One of the reasons for which its schema forbids calls.
    pub(crate) fn forbids(&self) -> Option<&str> {
        self.violations.first().map(|violation| &*violation.says)
    }

    /// The arguments that the suite itself gives.
    fn given(&self) -> &[Value] {
        &self.tour[..self.given]
    }

    /// The generator of valid calls, as far as the schema goes.
    pub(crate) fn generator(&self) -> &Generator {
        self.safe_arguments.generator()
    }

    /// Puts what an earlier answer held into one argument, where the call stays valid; whether there was any.
    fn borrow<'a>(&self, value: &mut Value, held: impl Fn(usize) -> &'a [(u64, Value)], draw: &mut Rng) -> bool {
        let open: Vec<&(String, usize)> = self.wanted.iter().filter(|(_, at)| !held(*at).is_empty()).collect();
        let Some((name, at)) = draw.pick(&open) else { return false };
        let Some((_, found)) = draw.pick(held(*at)) else { return false };
        self.put(value, name, found.clone());
        true
    }

    /// Puts a token into one argument, where the call stays valid.
    fn mark(&self, value: &mut Value, token: &str, draw: &mut Rng) {
        let Some((name, room)) = draw.pick(&self.texts) else { return };
        let old = value.get(name).and_then(Value::as_str).unwrap_or_default();
        let rest: String = old.chars().take(room.saturating_sub(token.len() + 1)).collect();
        let text = if rest.is_empty() { token.to_owned() } else { format!("{token} {rest}") };
        self.put(value, name, text.into());
    }

    /// Takes one value over from other arguments, where the call stays valid.
    fn vary(&self, value: &mut Value, drawn: &Value, draw: &mut Rng) {
        let others = drawn.as_object().into_iter().flatten();
        let others: Vec<(&String, &Value)> = others.filter(|(name, new)| value.get(*name) != Some(*new)).collect();
        let Some((name, new)) = draw.pick(&others) else { return };
        let mut new = (*new).clone();
        if let (Some(old), Some(members)) = (value.get(name.as_str()).and_then(Value::as_object), new.as_object()) {
            let members: Vec<(&String, &Value)> = members.iter().collect();
            let mut inner = old.clone();
            if let Some((name, new)) = draw.pick(&members) {
                inner.insert((*name).clone(), (*new).clone());
            }
            new = inner.into();
        }
        self.put(value, name, new);
    }

    fn put(&self, value: &mut Value, name: &str, new: Value) {
        let Some(members) = value.as_object_mut() else { return };
        let is_text_only = self.is_plain && self.texts.iter().any(|(text, _)| text == name) && new.is_string();
        let old = members.insert(name.to_owned(), new);
        if is_text_only || self.generator().is_valid(value) {
            return;
        }
        let Some(members) = value.as_object_mut() else { return };
        match old {
            Some(old) => drop(members.insert(name.to_owned(), old)),
            None => drop(members.shift_remove(name)),
        }
    }
}

/// The given arguments, and values at the edges: each one in the first of the given arguments, where they stay valid, since
/// what is made up besides is often refused.
fn tour(given: &[Value], safe_arguments: &SafeArguments) -> Vec<Value> {
    let mut tour: Vec<Value> = given.to_vec();
    for edge in safe_arguments.boundaries() {
        let near = given.first().and_then(|base| rebased(&edge, safe_arguments.smallest(), base));
        let value = near.filter(|value| safe_arguments.generator().is_valid(value)).unwrap_or(edge);
        if tour.len() < TOUR && !tour.contains(&value) {
            tour.push(value);
        }
    }
    tour
}

/// Other arguments with the members in which an edge differs from the smallest.
fn rebased(edge: &Value, smallest: &Value, base: &Value) -> Option<Value> {
    let mut members = base.as_object()?.clone();
    let differing = edge.as_object()?.iter().filter(|(name, value)| smallest.get(name.as_str()) != Some(*value));
    members.extend(differing.map(|(name, value)| (name.clone(), value.clone())));
    Some(members.into())
}

/// The words of a tool's name after the first, which is mostly a verb, in the singular.
fn nouns(name: &str) -> impl Iterator<Item = String> {
    words(name).into_iter().skip(1).map(|word| word.strip_suffix('s').map_or(word.clone(), str::to_owned))
}

/// The arguments that the suite itself gives: those of `arguments:`, and those of its calls that need no other call.
fn given<'a>(tool: &'a Tool, context: &'a CheckContext<'_>) -> impl Iterator<Item = Value> + 'a {
    let suite = context.suite;
    let own = suite.arguments.get(&tool.name).into_iter();
    let steps = suite.tests.iter().flat_map(|test| &test.steps);
    let called = steps.filter_map(|step| step.action.as_call());
    let called = called.filter(|(name, _)| name.text() == Some(&tool.name)).filter_map(|(_, args)| args);
    own.chain(called).filter_map(|args| (context.filled)(args)).filter(Value::is_object)
}

/// A success shows that a broken rule is not looked at; of the other rules SDKs are known to be generous.
fn is_binding(violation: &InvalidValue, schema: &Value) -> bool {
    match violation.breach {
        Breach::OutOfRange
        | Breach::NotMultiple
        | Breach::Pattern
        | Breach::Enum
        | Breach::TooLong
        | Breach::TooShort
        | Breach::TooMany
        | Breach::TooFew => true,
        // Whoever has a default does not miss what is missing.
        Breach::MissingRequired => !schema.to_string().contains("\"default\""),
        // Many readers take `"5"` for 5.
        Breach::WrongType => {
            let wrong = violation.value.pointer(&violation.at).unwrap_or(&Value::Null);
            wrong.is_object() || wrong.is_array() || wrong.as_str().is_some_and(|text| text.parse::<f64>().is_err())
        }
        Breach::WrongNesting
        | Breach::NotUnique
        | Breach::Contains
        | Breach::Forbidden
        | Breach::NoAlternative
        | Breach::SeveralAlternatives
        | Breach::PropertyName
        | Breach::Null
        | Breach::ExtraProperty => false,
    }
}

/// How many characters an argument takes that takes any text; `None` where it does not, or takes few.
fn room(schema: &Value) -> Option<usize> {
    const SAYS_NOTHING: [&str; 8] =
        ["type", "title", "description", "default", "examples", "minLength", "maxLength", "$comment"];
    let is_open = schema["type"] == "string"
        && schema.as_object().is_some_and(|keys| keys.keys().all(|key| SAYS_NOTHING.contains(&key.as_str())));
    let most = schema.get("maxLength").map_or(Some(400), |most| usize::try_from(most.as_u64()?).ok())?;
    let least = schema.get("minLength").and_then(Value::as_u64).unwrap_or(0);
    // A token alone satisfies whatever asks for a few characters.
    (is_open && most >= 24 && least <= 16).then_some(most.min(400))
}

/// A schema says nothing of its members together.
fn is_plain(schema: &Value) -> bool {
    const PLAIN: [&str; 9] =
        ["type", "title", "description", "properties", "required", "additionalProperties", "$schema", "$defs", "$id"];
    schema.as_object().is_some_and(|keys| keys.keys().all(|key| PLAIN.contains(&key.as_str())))
}
