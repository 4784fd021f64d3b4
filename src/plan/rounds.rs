//! The values of a property, round by round: the same seed gives the same values, whatever else runs.
//!
//! Edges come first, since they are where most is wrong. Knows nothing about sessions.

use serde_json::{Map, Value as Json, json};

use super::arguments::{ConfigSource, SafeArguments, safe_arguments};
use super::case::Mistake;
use super::generated::{bare, text_node};
use super::property::Rounds;
use super::put;
use crate::event::Reason;
use crate::generate::{Generator, Rng};
use crate::source::template::{Names, UNFILLED, Unfilled, fill, from_json, text_of};
use crate::source::{Node, did_you_mean};
use crate::suite::{Action, ArgumentKind, Arguments, Generated, Step};
use crate::wire::{Catalog, Tool};

/// The number of rounds where values are drawn and the suite says no number.
const DRAWN: u32 = 100;

/// The reason why no values can be generated.
#[derive(Debug)]
pub enum ValuesError {
    /// The property says nothing of this server.
    NotApplicable(Reason),
    /// The suite asks for what is not there.
    Wrong(Mistake),
}

/// The values of a property.
#[derive(Debug)]
pub struct Values {
    sources: Vec<(String, Source)>,
    preconditions: Vec<Step>,
    count: u32,
    draw: Rng,
}

/// The source of the values of one name.
#[derive(Debug)]
enum Source {
    /// The edges, then draws; `with` stays as it is.
    Drawn { from: Drawn, edges: Vec<Json>, with: Map<String, Json> },
    /// One after another, each with other names that belong to it.
    Listed(Vec<Names>),
}

/// The source of the values.
#[derive(Debug)]
enum Drawn {
    /// A value, whatever the suite does with it.
    Value(Box<Generator>),
    /// Arguments of a call.
    Arguments(Box<SafeArguments>),
}

impl Drawn {
    fn random(&self, draw: &mut Rng) -> Json {
        match self {
            Self::Value(generator) => generator.random(draw),
            Self::Arguments(safe_arguments) => safe_arguments.random(draw),
        }
    }

    fn is_valid(&self, value: &Json) -> bool {
        match self {
            Self::Value(generator) => generator.is_valid(value),
            Self::Arguments(safe_arguments) => safe_arguments.generator().is_valid(value),
        }
    }

    /// Valid values to begin with.
    fn edges(&self, known: Option<Json>) -> Vec<Json> {
        let (smallest, boundaries) = match self {
            Self::Value(generator) => {
                (generator.smallest(), generator.boundaries().into_iter().map(|boundary| boundary.value).collect())
            }
            Self::Arguments(safe_arguments) => (safe_arguments.smallest(), safe_arguments.boundaries()),
        };
        let mut edges: Vec<Json> = known.into_iter().chain([smallest.clone()]).collect();
        edges.dedup();
        let others: Vec<Json> = boundaries.into_iter().filter(|value| !edges.contains(value)).collect();
        edges.extend(others);
        edges
    }
}

impl Values {
    /// Makes everything ready; `names` are those that a case has when its steps begin.
    pub fn new(rounds: &Rounds, names: &Names, catalog: &Catalog) -> Result<Self, ValuesError> {
        let property = &rounds.property;
        let builder = SourceBuilder { rounds, names, catalog };
        let mut values = Self {
            sources: Vec::new(),
            preconditions: Vec::new(),
            count: 1,
            draw: Rng::new(property.seed).fork(&rounds.key),
        };
        for (name, generated) in &property.generate {
            let source = match generated {
                Generated::Schema(schema) => builder.schema(&name.value, schema)?,
                Generated::Each(values) => builder.each(&name.value, values)?,
                Generated::Arguments(arguments) => {
                    builder.arguments(&name.value, arguments, &mut values.preconditions)?
                }
            };
            values.sources.push((name.value.clone(), source));
        }
        values.count = values.round_count(property.cases);
        let half = usize::try_from(values.count / 2).unwrap_or(usize::MAX).max(1);
        for (_, source) in &mut values.sources {
            if let Source::Drawn { edges, .. } = source {
                edges.truncate(half);
            }
        }
        Ok(values)
    }

    fn round_count(&self, asked: Option<u32>) -> u32 {
        let listed = self.sources.iter().filter_map(|(_, source)| match source {
            Source::Listed(items) => u32::try_from(items.len()).ok(),
            Source::Drawn { .. } => None,
        });
        let draws = self.sources.iter().any(|(_, source)| matches!(source, Source::Drawn { .. }));
        match (listed.max(), asked) {
            (Some(_), Some(asked)) if draws => asked,
            (Some(listed), asked) => asked.unwrap_or(listed).min(listed),
            (None, asked) => asked.unwrap_or(if draws { DRAWN } else { 1 }),
        }
    }

    /// The number of rounds.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Calls of which one must be served before refusals say anything.
    pub fn preconditions(&self) -> &[Step] {
        &self.preconditions
    }

    /// The names of a round, counted from zero.
    pub fn round(&self, number: u32) -> Names {
        let mut names = Names::from_iter([("round".to_owned(), json!(u64::from(number) + 1))]);
        let at = number as usize;
        for (name, source) in &self.sources {
            match source {
                Source::Listed(items) => names.extend(items[at % items.len()].clone()),
                Source::Drawn { from, edges, with } => {
                    let drawn = || from.random(&mut self.draw.fork(name).fork(number));
                    let value = edges.get(at).cloned().unwrap_or_else(drawn);
                    names.insert(name.clone(), with_fixed(value, with));
                }
            }
        }
        names
    }

    /// The part of a round's names that was drawn, and that smaller values may take the place of.
    pub fn drawn_values(&self, names: &Names) -> Json {
        let drawn = self.sources.iter().filter(|(_, source)| matches!(source, Source::Drawn { .. }));
        let values = drawn.filter_map(|(name, _)| Some((name.clone(), names.get(name)?.clone())));
        Json::Object(values.collect())
    }

    /// Returns true if values could have been drawn.
    pub fn fits(&self, values: &Json) -> bool {
        self.sources.iter().all(|(name, source)| match (source, values.get(name)) {
            (Source::Listed(_), _) => true,
            (Source::Drawn { from, with, .. }, Some(value)) => {
                from.is_valid(value) && with.iter().all(|(key, fixed)| value.get(key) == Some(fixed))
            }
            (Source::Drawn { .. }, None) => false,
        })
    }

    /// The values of a round by name, as messages show them.
    pub fn describe(&self, names: &Names) -> Vec<(String, Json)> {
        let told = self.sources.iter().filter_map(|(name, source)| {
            let parameter = names.get("parameter").filter(|_| is_put(source)).and_then(|one| one["name"].as_str());
            match parameter {
                Some(parameter) => Some((format!("{name}.{parameter}"), names.get("payload")?.clone())),
                None => Some((name.clone(), names.get(name)?.clone())),
            }
        });
        told.collect()
    }
}

fn is_put(source: &Source) -> bool {
    matches!(source, Source::Listed(items) if items.first().is_some_and(|names| names.contains_key("payload")))
}

/// Puts what is the same in every round in its place.
pub(crate) fn with_fixed(mut value: Json, with: &Map<String, Json>) -> Json {
    if let Json::Object(fields) = &mut value {
        fields.extend(with.clone());
    }
    value
}

/// Builds the sources of a property's values.
struct SourceBuilder<'a> {
    rounds: &'a Rounds,
    names: &'a Names,
    catalog: &'a Catalog,
}

impl SourceBuilder<'_> {
    fn schema(&self, name: &str, schema: &Node) -> Result<Source, ValuesError> {
        let filled = self.fill(schema)?;
        let wrong = |error: String| {
            let message = format!("nothing can be generated for `{name}`: {error}");
            ValuesError::Wrong(Mistake { code: "bad-schema", message, help: None, span: schema.span })
        };
        let generator = Generator::new(&filled).map_err(|error| wrong(error.to_string()))?;
        let from = Drawn::Value(Box::new(generator));
        Ok(Source::Drawn { edges: from.edges(None), from, with: Map::new() })
    }

    fn each(&self, name: &str, values: &Node) -> Result<Source, ValuesError> {
        let filled = self.fill(values)?;
        let items = filled.as_array().filter(|items| !items.is_empty()).ok_or_else(|| {
            let message = format!("`each` of `{name}` is to be a list of values, and is {filled}");
            ValuesError::Wrong(Mistake { code: "wrong-type", message, help: None, span: values.span })
        })?;
        Ok(Source::Listed(items.iter().map(|item| Names::from_iter([(name.to_owned(), item.clone())])).collect()))
    }

    fn arguments(&self, name: &str, wanted: &Arguments, preconditions: &mut Vec<Step>) -> Result<Source, ValuesError> {
        let tool = self.tool(&wanted.tool)?;
        if let Some(reason) = self.rounds.refusal(&tool.name) {
            return Err(ValuesError::NotApplicable(reason));
        }
        let with = match &wanted.with {
            Some(with) => self.fill(with)?.as_object().cloned().unwrap_or_default(),
            None => Map::new(),
        };
        let known = self.rounds.known.get(&tool.name).map(|known| self.fill(known)).transpose()?;
        let safe_arguments = safe_arguments(tool, self.rounds.folder.clone());
        let base = match (&known, &safe_arguments) {
            (Some(known), _) => known.clone(),
            (None, Ok(safe_arguments)) => safe_arguments.smallest().clone(),
            (None, Err(why)) => {
                return Err(ValuesError::NotApplicable(why.skip_reason(&tool.name, ConfigSource::Suite)));
            }
        };
        let base = with_fixed(base, &with);
        if !matches!(wanted.kind, ArgumentKind::Valid) {
            preconditions.push(call(tool, &base, &wanted.tool));
        }
        let listed = |values: Vec<Json>| values.into_iter().map(|value| Names::from_iter([(name.to_owned(), value)]));
        match (&wanted.kind, safe_arguments) {
            (ArgumentKind::Valid, Ok(safe_arguments)) => {
                let from = Drawn::Arguments(Box::new(safe_arguments));
                Ok(Source::Drawn { edges: from.edges(known), from, with })
            }
            (ArgumentKind::Valid, Err(_)) => Ok(Source::Listed(listed(vec![base]).collect())),
            (ArgumentKind::Invalid, safe_arguments) => {
                let violations =
                    safe_arguments.map(|safe_arguments| safe_arguments.violations(&base)).unwrap_or_default();
                let values: Vec<Json> = violations.into_iter().map(|violation| violation.value).collect();
                if values.is_empty() {
                    let reason = format!("the schema of `{}` forbids nothing that could be tried", tool.name);
                    return Err(ValuesError::NotApplicable(reason.into()));
                }
                Ok(Source::Listed(listed(values).collect()))
            }
            (ArgumentKind::Put { values, into }, _) => {
                let payloads = self.fill(values)?;
                let place = put::PutSite { tool, base: &base, name, into: into.as_ref(), names: self.names };
                put::rounds(&place, &payloads, values.span).map(Source::Listed)
            }
        }
    }

    fn tool(&self, node: &Node) -> Result<&Tool, ValuesError> {
        let name = text_of(&self.fill(node)?);
        self.catalog.tool(&name).ok_or_else(|| {
            let message = format!("the server lists no tool `{name}`");
            let help = did_you_mean(&name, self.catalog.tool_names());
            ValuesError::Wrong(Mistake { code: "unknown-tool", message, help, span: node.span })
        })
    }

    fn fill(&self, node: &Node) -> Result<Json, ValuesError> {
        fill(node, self.names).map(|filled| filled.to_json()).map_err(|Unfilled { span, reason }| {
            ValuesError::Wrong(Mistake { code: UNFILLED, message: reason.to_string(), help: None, span })
        })
    }
}

fn call(tool: &Tool, args: &Json, written: &Node) -> Step {
    let span = written.span;
    bare(Action::Call { tool: text_node(&tool.name, span), args: Some(from_json(args, span)) }, span)
}
