//! The calls: which follow from the seed, the tool and their number alone, and from what earlier answers held.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::Fuzz;
use super::answer_pool::{AnswerPool, ConsumedArgument};
use crate::check::canary::Canaries;
use crate::event::ReproductionCall;
use crate::generate::{BranchSet, Breach, Generator, GeneratorLimits, InvalidValue, Rng};
use crate::plan::arguments::{Amounts, SafeArguments};
use crate::schema::{Judge, UnusableSchema};
use crate::source::{singular, words};
use crate::wire::Tool;

/// The number of valid values at edges that are tried one after the other.
const TOUR: usize = 400;

/// The number of calls of the suite that come first.
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
    /// True if it says that it changes nothing.
    pub(crate) is_read_only: bool,
    /// True if it runs what callers write.
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
    /// The number of those that are the suite's.
    given: usize,
    /// Arguments that take any text, each with the most characters that it takes.
    texts: Vec<(String, usize)>,
    /// Arguments that take what answers hold: the name, and the number in the pool.
    wanted: Vec<(String, usize)>,
    /// True if the schema says nothing beyond what each argument is by itself.
    is_plain: bool,
}

/// A tool, with the arguments that the suite itself gives for it.
pub(crate) struct OfferedTool<'a> {
    pub(crate) tool: &'a Tool,
    pub(crate) given: Vec<Value>,
}

/// Makes calls of some tools; the first one is what it is about.
pub(crate) struct CallGenerator {
    pub(crate) callees: Vec<Callee>,
    pub(crate) tokens: Canaries,
    pub(crate) wanted: Vec<ConsumedArgument>,
    /// The callees whose names share a noun with the first one's.
    related: Vec<usize>,
    draw: Rng,
    invalid: u32,
}

impl CallGenerator {
    /// Calls of these tools, whose paths are below `folder`; `Err` says why there can be none of the first.
    pub(crate) fn new(
        settings: &Fuzz,
        folder: Option<&str>,
        tools: &[OfferedTool<'_>],
    ) -> Result<Self, UnusableSchema> {
        let mut wanted = Vec::new();
        let mut callees = Vec::new();
        for (number, offered) in tools.iter().enumerate() {
            match Callee::new(offered, folder, settings, &mut wanted) {
                Ok(callee) => callees.push(callee),
                Err(unusable) if number == 0 => return Err(unusable),
                // A tool that cannot be called is left out of the calls of others.
                Err(_) => {}
            }
        }
        let name = tools.first().map_or("", |offered| &offered.tool.name);
        let draw = Rng::new(settings.seed).fork(name);
        let tokens = Canaries::of_seed(draw.fork("tokens").bits());
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
        if let Some(arguments) = usize::try_from(number).ok().and_then(|at| self.callees[0].given_arguments().get(at)) {
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
        if !callee.given_arguments().is_empty() && draw.chance(NEAR) {
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
        callee.safe_arguments.sanitize(value).unwrap_or_else(|| callee.safe_arguments.smallest().clone())
    }

    /// Known good arguments with one value changed, sometimes two: a tool that refuses most arguments serves many of these.
    fn near(&self, number: u64, pool: &AnswerPool, callee: &Callee, draw: &mut Rng) -> Value {
        let mut value = draw.pick(callee.given_arguments()).cloned().unwrap_or_default();
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
        ReproductionCall::new("tools/call", params)
    }

    /// The rule that a call breaks, and for which it must be refused.
    pub(crate) fn refusable(&self, made: &GeneratedCall) -> Option<&InvalidValue> {
        self.breach(made).filter(|_| made.breach.is_some_and(|at| self.callees[made.tool].binding[at]))
    }

    /// The rule of the schema that a call breaks.
    pub(crate) fn breach(&self, made: &GeneratedCall) -> Option<&InvalidValue> {
        made.breach.map(|at| &self.callees[made.tool].violations[at])
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
        OfferedTool { tool, given }: &OfferedTool<'_>,
        folder: Option<&str>,
        settings: &Fuzz,
        wanted: &mut Vec<ConsumedArgument>,
    ) -> Result<Self, UnusableSchema> {
        let schema = &*tool.arguments_schema();
        let generator = Generator::with_limits(
            schema,
            GeneratorLimits { text: settings.max_string, ..GeneratorLimits::default() },
        )?;
        let amounts = if settings.large { Amounts::Any } else { Amounts::Small };
        let safe_arguments = SafeArguments::with_generator(schema, generator, folder.map(str::to_owned))
            .for_tool(tool)
            .with_amounts(amounts);
        let given: Vec<Value> =
            given.iter().filter(|given| safe_arguments.generator().is_valid(given)).cloned().collect();
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

    /// The arguments that the suite gives, or that the tool is known to serve.
    fn given_arguments(&self) -> &[Value] {
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
        // What an answer holds may lead to another machine.
        self.put(value, name, self.safe_arguments.sanitize_argument(name, found.clone()));
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
        let near = given.first().and_then(|base| rebase(&edge, safe_arguments.smallest(), base));
        let value = near.filter(|value| safe_arguments.generator().is_valid(value)).unwrap_or(edge);
        if tour.len() < TOUR && !tour.contains(&value) {
            tour.push(value);
        }
    }
    tour
}

/// Other arguments with the members in which an edge differs from the smallest.
fn rebase(edge: &Value, smallest: &Value, base: &Value) -> Option<Value> {
    let mut members = base.as_object()?.clone();
    let differing = edge.as_object()?.iter().filter(|(name, value)| smallest.get(name.as_str()) != Some(*value));
    members.extend(differing.map(|(name, value)| (name.clone(), value.clone())));
    Some(members.into())
}

/// The words of a tool's name after the first, which is mostly a verb, in the singular.
fn nouns(name: &str) -> impl Iterator<Item = String> {
    words(name).into_iter().skip(1).map(|word| singular(&word))
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

/// The number of characters that an argument takes which takes any text; `None` where it does not, or takes few.
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

#[cfg(test)]
impl CallGenerator {
    /// Calls of tools with these entries, under settings as a suite writes them.
    pub(crate) fn of_test(text: &str, entries: &[Value], given: &[Value]) -> Self {
        use crate::source::settings::Setting;
        use crate::source::{SourceFile, Sources, parse};
        let mut sources = Sources::default();
        let source = sources.add(SourceFile::new("suite.yml", text));
        let settings = Fuzz::decode(&parse(&sources, source).expect("YAML"), &mut Vec::new()).expect("settings");
        let tools: Vec<Tool> = entries.iter().cloned().map(Tool::new).collect();
        let offered: Vec<OfferedTool<'_>> =
            tools.iter().map(|tool| OfferedTool { tool, given: given.to_vec() }).collect();
        Self::new(&settings, None, &offered).expect("a schema that can be read")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calls_of(entry: Value) -> CallGenerator {
        CallGenerator::of_test("{ seed: 7 }", &[entry], &[])
    }

    fn user(properties: &Value) -> Value {
        json!({"name": "get_user", "inputSchema": {"type": "object", "properties": properties, "required": ["id"]}})
    }

    fn pool(calls: &CallGenerator) -> AnswerPool {
        calls.pool(0)
    }

    #[test]
    fn a_number_always_makes_the_same_call() {
        let entry = user(&json!({"id": {"type": "string"}, "page": {"type": "integer", "minimum": 1, "maximum": 9}}));
        let (one, other) = (calls_of(entry.clone()), calls_of(entry));
        let made: Vec<GeneratedCall> = (0..200).map(|number| one.make(number, &pool(&one))).collect();
        for (number, made) in made.iter().enumerate().rev() {
            let again = other.make(number as u64, &pool(&other));
            assert_eq!((&again.arguments, again.breach), (&made.arguments, made.breach), "{number}");
        }
        assert!(made.iter().any(|made| made.breach.is_some()) && made.iter().any(|made| made.breach.is_none()));
    }

    #[test]
    fn a_call_is_valid_unless_it_breaks_one_rule_on_purpose() {
        let entry = user(&json!({"id": {"type": "string", "maxLength": 8}, "tags": {"type": "array", "maxItems": 2}}));
        let calls = calls_of(entry);
        for number in 0..300 {
            let made = calls.make(number, &pool(&calls));
            let is_valid = calls.callees[0].generator().is_valid(&made.arguments);
            assert_eq!(is_valid, made.breach.is_none(), "{number} {}", made.arguments);
        }
    }

    #[test]
    fn given_arguments_come_first() {
        let entry = user(&json!({"id": {"type": "string"}}));
        let given = [json!({"id": "u1"}), json!({"id": "u2"})];
        let calls = CallGenerator::of_test("{ seed: 7 }", &[entry], &given);
        for (number, given) in (0..).zip(&given) {
            let made = calls.make(number, &pool(&calls));
            assert_eq!((&made.arguments, made.breach), (given, None), "{number}");
        }
    }

    #[test]
    fn what_an_answer_held_is_used_as_an_argument() {
        let calls = calls_of(user(&json!({"id": {"type": "string"}})));
        let mut pool = pool(&calls);
        pool.learn(0, &json!({"structuredContent": {"id": "u-4711"}}), &calls.wanted, &|_| false);
        let uses = |number| calls.make(number, &pool).arguments["id"] == "u-4711";
        assert!(!(0..super::super::answer_pool::DISTANCE).any(uses), "before the answer can have come");
        assert!((100..300).any(uses), "never used");
    }

    #[test]
    fn broken_rules_that_a_server_must_look_at() {
        let binding = |properties: Value| {
            let calls = calls_of(user(&properties));
            let callee = &calls.callees[0];
            let says = callee.violations.iter().zip(&callee.binding);
            says.filter(|(_, binding)| **binding).map(|(violation, _)| violation.breach).collect::<BTreeSet<_>>()
        };
        for (properties, expected, left) in [
            (json!({"id": {"type": "integer", "minimum": 1}}), Some(Breach::OutOfRange), None),
            (json!({"id": {"type": "string", "maxLength": 8}}), Some(Breach::TooLong), None),
            (json!({"id": {"enum": ["a", "b"]}}), Some(Breach::Enum), None),
            (json!({"id": {"type": "string"}}), Some(Breach::MissingRequired), None),
            // Whoever has a default does not miss what is missing.
            (json!({"id": {"type": "string", "default": "u1"}}), None, Some(Breach::MissingRequired)),
            // Clients send members that nobody asked for.
            (json!({"id": {"type": "string"}}), None, Some(Breach::ExtraProperty)),
            (json!({"id": {"type": "string"}}), None, Some(Breach::Null)),
        ] {
            let found = binding(properties.clone());
            assert!(expected.is_none_or(|breach| found.contains(&breach)), "{properties} {found:?}");
            assert!(left.is_none_or(|breach| !found.contains(&breach)), "{properties} {found:?}");
        }
    }

    #[test]
    fn room_for_a_mark() {
        for (schema, expected) in [
            (json!({"type": "string"}), Some(400)),
            (json!({"type": "string", "maxLength": 100}), Some(100)),
            (json!({"type": "string", "maxLength": 9}), None),
            (json!({"type": "string", "minLength": 40}), None),
            (json!({"type": "string", "description": "A note.", "title": "Note"}), Some(400)),
            (json!({"type": "string", "enum": ["a"]}), None),
            (json!({"type": "string", "format": "date"}), None),
            (json!({"type": "integer"}), None),
        ] {
            assert_eq!(room(&schema), expected, "{schema}");
        }
    }

    #[test]
    fn edges_are_tried_in_given_arguments() {
        let smallest = json!({"id": "a", "page": 1});
        let given = json!({"id": "u1", "page": 3, "sort": "up"});
        for (edge, expected) in [
            (json!({"id": "a", "page": 9}), json!({"id": "u1", "page": 9, "sort": "up"})),
            (json!({"id": "", "page": 1}), json!({"id": "", "page": 3, "sort": "up"})),
            (json!({"id": "a", "page": 1}), given.clone()),
        ] {
            assert_eq!(rebase(&edge, &smallest, &given), Some(expected), "{edge}");
        }
        assert_eq!(rebase(&json!({"id": "b"}), &smallest, &json!([])), None);
    }

    #[test]
    fn tools_about_the_same_things_are_related() {
        for (name, expected) in [
            ("get_user", &["user"][..]),
            ("list_users", &["user"]),
            ("getUserNotes", &["user", "note"]),
            ("list_branches", &["branch"]),
            ("search_entries", &["entry"]),
            ("get_address", &["address"]),
            ("ping", &[]),
        ] {
            assert_eq!(nouns(name).collect::<Vec<_>>(), expected, "{name}");
        }
    }

    #[test]
    fn schemas_that_say_nothing_of_members_together() {
        for (schema, expected) in [
            (json!({"type": "object", "properties": {}, "required": ["a"]}), true),
            (json!({"type": "object", "anyOf": [{"required": ["a"]}]}), false),
            (json!({"type": "object", "dependentRequired": {"a": ["b"]}}), false),
            (json!(true), false),
        ] {
            assert_eq!(is_plain(&schema), expected, "{schema}");
        }
    }
}
