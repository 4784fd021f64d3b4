//! The text of a suite, from what a server showed.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::expectation::{Types, expectations};
use super::listing::ListingTrip;
use super::observe::{Observations, PROGRESS, UntestedReason};
use super::promises::Promises;
use super::questions::{Answered, EchoedText, MadeArgument, ServerQuestion, UNKNOWN, first_completion, members_of};
use super::round_trip::RoundTrip;
use crate::lint::{Lint, LintLevel, LintLimits, lints};
use crate::matching::words_of;
use crate::reproduce::{lasts, literal, literal_text, with_store_named};
use crate::show::Signature;
use crate::source::{schema_address, shorten, visible_line, yaml_writer};
use crate::wire::{Catalog, Tool, is_served};

/// Stands above the setup of a suite.
pub(crate) const SETUP_COMMENT: &str =
    "\n# Made on each server before anything else, so that tools can be called that need it.\n";

/// The width of comments.
const WIDTH: usize = 108;

/// The most entries of a list that a test names one by one.
const MOST_NAMED: usize = 80;

/// The generated calls of a tool, and their time where most of them are slow.
const FUZZ_CALLS: u64 = 40;
const FUZZ_SLOW_TIME: &str = "3s";

/// The most characters of a refusal in a comment.
const LONGEST_REFUSAL: usize = 120;

/// Everything that the text of a suite is made from.
pub(crate) struct SuitePage<'a> {
    pub(crate) name: &'a str,
    /// The server as a suite writes it.
    pub(crate) server: &'a Value,
    /// Members that say what may be called: `allow`, `never`, `arguments`.
    pub(crate) calls: &'a Map<String, Value>,
    pub(crate) catalog: &'a Catalog,
    pub(crate) seen: &'a Observations,
    /// What a run of the suite showed.
    pub(crate) promises: Promises,
}

/// What the tests of a suite use of the offer of a server.
#[derive(Debug, Default)]
pub(crate) struct UsedOffers {
    pub(crate) tools: BTreeSet<String>,
    pub(crate) resources: BTreeSet<String>,
    pub(crate) prompts: BTreeSet<String>,
}

impl SuitePage<'_> {
    /// The tests of everything that a suite does not use yet and that needs nothing before it, with the tool of each.
    pub(crate) fn tests_of_unused(&self, used: &UsedOffers) -> Vec<(Option<String>, Value)> {
        let is_unused = |question: &ServerQuestion| match question {
            ServerQuestion::Call { tool, made: None, .. }
            | ServerQuestion::Other { tool, .. }
            | ServerQuestion::Empty { tool, .. }
            | ServerQuestion::Unknown { tool, .. } => !used.tools.contains(tool),
            ServerQuestion::Read { uri } => !used.resources.contains(uri),
            ServerQuestion::Prompt { name, .. } => !used.prompts.contains(name),
            ServerQuestion::Call { .. }
            | ServerQuestion::Echo { .. }
            | ServerQuestion::UnknownRead { .. }
            | ServerQuestion::BarePrompt { .. }
            | ServerQuestion::Complete { .. }
            | ServerQuestion::List(_)
            | ServerQuestion::Tools => false,
        };
        let of_questions = self.seen.answered.iter().filter(|answered| is_unused(&answered.question));
        let of_questions = of_questions.filter(|answered| self.makes_a_difference(answered)).filter_map(|answered| {
            let question = &answered.question;
            let test = test_of(answered, &self.written_arguments(question), self.types_of(question))?;
            Some((question.tool().map(str::to_owned), self.with_store_named(test)))
        });
        let trips = self.seen.trips.iter().filter(|trip| !used.tools.contains(&trip.taker));
        let of_trips = trips.map(|trip| (Some(trip.taker.clone()), self.with_store_named(trip.test())));
        of_questions.chain(of_trips).collect()
    }

    /// The suite; its tests are named, and none twice.
    pub(crate) fn text(&self) -> String {
        let mut text = format!(
            "# yaml-language-server: $schema={}\n\
             #\n\
             # Made by `mcprove init` from what the server answered twice, in two processes. It is yours now: change what is\n\
             # not meant, and add what you know. Editors complete it by the schema above; `mcprove schema` prints it, too.\n",
            schema_address("suite")
        );
        text += &yaml_writer::block(&json!({"suite": literal_text(self.name)}), 0);
        text += "\n";
        text += &yaml_writer::block(&json!({"server": self.server}), 0);
        if self.seen.writes {
            text += "\n# Some tests change data, so each has a server of its own.\n";
            text += &yaml_writer::block(&json!({"run_options": {"restart_policy": "per_test"}}), 0);
        }
        let calls = self.calls();
        if !calls.is_empty() {
            text += "\n# What generated calls may do, and with which arguments.\n";
            text += &yaml_writer::block(&Value::Object(calls), 0);
        }
        if !self.seen.things.is_empty() {
            let steps = self.seen.things.iter().map(|thing| self.with_store_named(thing.step()));
            let steps: Vec<Value> = steps.collect();
            text += SETUP_COMMENT;
            text += &yaml_writer::block(&json!({"setup": steps}), 0);
        }
        let unjudged = self.unserved_tools();
        if !unjudged.is_empty() {
            text += "\n# No arguments are known that these tools serve, so generated calls say nothing of them.\n";
            text += &yaml_writer::block(&json!({"allow_unjudged": unjudged}), 0);
        }
        text += "\ntests:\n";
        let tests: Vec<String> = self.tests();
        text += &tests.join("\n");
        text += &self.comment_on_untested();
        text += &self.blocks();
        text
    }

    /// The members that say what may be called; ids of what is made first are arguments.
    fn calls(&self) -> Map<String, Value> {
        let mut calls = self.calls.clone();
        for answered in &self.seen.answered {
            if let ServerQuestion::Call { tool, made: Some(_), .. } = &answered.question {
                let known = calls.entry("arguments").or_insert_with(|| json!({}));
                known[tool.as_str()] = self.written_arguments(&answered.question);
            }
        }
        calls
    }

    /// The arguments of a question as a suite writes them.
    fn written_arguments(&self, question: &ServerQuestion) -> Value {
        let written = match question {
            ServerQuestion::Call { arguments, made, .. } => {
                let mut written = literal(arguments);
                let thing = |made: &MadeArgument| self.seen.things.iter().find(|thing| thing.name == made.id);
                if let Some((made, thing)) = made.as_ref().and_then(|made| Some((made, thing(made)?))) {
                    written[&made.parameter] = thing.written_id();
                }
                written
            }
            ServerQuestion::Unknown { arguments, .. }
            | ServerQuestion::Other { arguments, .. }
            | ServerQuestion::Empty { arguments, .. }
            | ServerQuestion::Prompt { arguments, .. } => literal(arguments),
            ServerQuestion::Echo { arguments, parameter, text, .. } => {
                let mut written = literal(arguments);
                written[parameter] = text.written().into();
                written
            }
            ServerQuestion::Read { .. }
            | ServerQuestion::UnknownRead { .. }
            | ServerQuestion::BarePrompt { .. }
            | ServerQuestion::Complete { .. }
            | ServerQuestion::List(_)
            | ServerQuestion::Tools => json!({}),
        };
        with_store_named(written, self.seen.store.as_deref())
    }

    fn tests(&self) -> Vec<String> {
        let mut names = BTreeMap::new();
        let mut tests = Vec::new();
        if let Some(listed) = listed("tools", self.catalog.tools.iter().map(|tool| &tool.name)) {
            let lasts = self.seen.answered.iter().any(are_lasting_tools);
            let (test, why) = if lasts {
                (
                    listed_twice(&listed),
                    "A tool that is gone breaks those who call it, and one that changes surprises a model.",
                )
            } else {
                (listed, "A tool that is gone breaks those who call it.")
            };
            tests.push(written_test(&test, Some(why), &mut names));
        }
        for answered in &self.seen.answered {
            if !self.makes_a_difference(answered) {
                continue;
            }
            let arguments = self.written_arguments(&answered.question);
            if let Some(mut test) = test_of(answered, &arguments, self.types_of(&answered.question)) {
                if self.reports_progress(&answered.question) {
                    add_progress(&mut test);
                }
                self.add_announcements(&answered.question, &mut test);
                let test = self.with_store_named(test);
                tests.push(written_test(&test, self.comment(&answered.question).as_deref(), &mut names));
            }
        }
        for pages in &self.seen.pages {
            let why = "It begins with an item that was not on the first page.";
            tests.push(written_test(&self.with_store_named(pages.test()), Some(why), &mut names));
        }
        for test in self.seen.trips.iter().map(RoundTrip::test).chain(self.seen.listings.iter().map(ListingTrip::test))
        {
            let test = self.with_store_named(self.with_declared_schemas(test));
            tests.push(written_test(&test, None, &mut names));
        }
        tests
    }

    /// A test whose served calls fit the output schemas that tools declare.
    fn with_declared_schemas(&self, mut test: Value) -> Value {
        let is_declared = |call: &Value| {
            let mut tools = self.catalog.tools.iter().filter(|tool| tool.output_schema().is_some());
            tools.any(|tool| literal_text(&tool.name) == *call)
        };
        for step in test["steps"].as_array_mut().into_iter().flatten() {
            let is_judged = is_declared(&step["call"]);
            if let Some(expected) = step["expect"].as_array_mut()
                && is_judged
                && !expected.contains(&json!({"output_schema": true}))
                && expected.contains(&json!({"is_error": false}))
            {
                expected.push(json!({"output_schema": true}));
            }
        }
        test
    }

    /// Has a test expect the changes of lists that the tool announced each time; over HTTP, they may come later on a stream
    /// of their own.
    fn add_announcements(&self, question: &ServerQuestion, test: &mut Value) {
        let ServerQuestion::Call { tool, .. } = question else { return };
        if self.server.get("url").is_some() {
            return;
        }
        let announced = self.seen.announced.get(tool).into_iter().flatten();
        let expected = announced.map(|method| json!({"notifications": {"method": method, "count": {"min": 1}}}));
        if let Some(known) = test["expect"].as_array_mut() {
            known.extend(expected);
        }
    }

    fn reports_progress(&self, question: &ServerQuestion) -> bool {
        matches!(question, ServerQuestion::Call { tool, .. } if self.seen.progressing.contains(tool))
    }

    /// False if a call with another argument, or a prompt, is answered like the first one without it, as far as is expected
    /// of them.
    fn makes_a_difference(&self, answered: &Answered) -> bool {
        let is_like = |known: &&Answered| match (&known.question, &answered.question) {
            (ServerQuestion::Call { tool: called, .. }, ServerQuestion::Other { tool, .. }) => called == tool,
            (ServerQuestion::Prompt { name: got, .. }, ServerQuestion::Prompt { name, .. }) => got == name,
            _ => false,
        };
        let types = self.types_of(&answered.question);
        let expected = |of: &Answered| expectations(&of.answers[0], &of.answers[1], types);
        let is_variant = matches!(answered.question, ServerQuestion::Other { .. } | ServerQuestion::Prompt { .. });
        match self.seen.answered.iter().find(is_like) {
            Some(first) => first == answered || expected(first) != expected(answered),
            None => !is_variant,
        }
    }

    /// A test or step in which the store has its name; that of the test is no template.
    fn with_store_named(&self, written: Value) -> Value {
        let name = written["name"].clone();
        let mut named = with_store_named(written, self.seen.store.as_deref());
        if !name.is_null() {
            named["name"] = name;
        }
        named
    }

    fn types_of(&self, question: &ServerQuestion) -> Types {
        let types = question.tool().and_then(|name| self.catalog.tool(name)).map_or(Types::Seen, Types::of);
        let is_drifting = question.tool().is_some_and(|tool| self.seen.drifting.contains(tool));
        if is_drifting { types.of_today() } else { types }
    }

    fn comment(&self, question: &ServerQuestion) -> Option<String> {
        match question {
            ServerQuestion::Call { tool, .. } => {
                let line = Signature::of(self.catalog.tool(tool)?).line();
                (line.chars().count() + 4 <= WIDTH).then_some(line)
            }
            ServerQuestion::Unknown { parameter, .. } => {
                Some(format!("`{}` names nothing; a model needs an error that says so.", visible_line(parameter)))
            }
            ServerQuestion::Other { parameter, .. } => {
                Some(format!("`{}` makes a difference.", visible_line(parameter)))
            }
            ServerQuestion::Empty { parameter, .. } => {
                Some(format!("`{}` is empty, as a model may send it.", visible_line(parameter)))
            }
            ServerQuestion::Echo { text: EchoedText::Long, .. } => Some("What is cut is lost to the model.".to_owned()),
            ServerQuestion::Echo { text: EchoedText::Symbols, .. } => {
                Some("Letters of all languages come back.".to_owned())
            }
            ServerQuestion::UnknownRead { .. } => Some("There is no such resource.".to_owned()),
            ServerQuestion::BarePrompt { .. } => Some("It needs arguments.".to_owned()),
            ServerQuestion::List(_) => Some("What is gone breaks those who use it.".to_owned()),
            ServerQuestion::Read { .. }
            | ServerQuestion::Prompt { .. }
            | ServerQuestion::Complete { .. }
            | ServerQuestion::Tools => None,
        }
    }

    /// The tools without a test, in a comment.
    fn comment_on_untested(&self) -> String {
        let mut lines = Vec::new();
        let hazards: Vec<&str> = self.of_reason(|reason| *reason == UntestedReason::Hazard);
        if !hazards.is_empty() {
            let names = hazards.join(", ");
            lines.push(format!(
                "Not called, since they may change or destroy data: {names}. `mcprove init --allow NAME` calls them, \
                 `--scratch` calls those that do not destroy."
            ));
        }
        for (tool, reason) in &self.seen.untested {
            let tool = visible_line(tool);
            match reason {
                UntestedReason::Hazard => {}
                UntestedReason::Secret => lines.push(format!(
                    "{tool} takes a secret, and has no test: write one with `{{{{ env.NAME }}}}` in its place."
                )),
                UntestedReason::TooLong => {
                    lines.push(format!("{tool} answers more than can be expected, and has no test."));
                }
                UntestedReason::TaskOnly => lines.push(format!("{tool} is served as a task, and has no test.")),
                UntestedReason::Silent => lines.push(format!("{tool} did not answer, and has no test.")),
                UntestedReason::Lacking(words) => {
                    lines.push(format!(
                        "{tool} needs what this machine lacks: {}",
                        shorten(&visible_line(words), LONGEST_REFUSAL)
                    ));
                }
                UntestedReason::Limited(words) => {
                    lines.push(format!(
                        "{tool} limits how often it is called: {}",
                        shorten(&visible_line(words), LONGEST_REFUSAL)
                    ));
                }
                UntestedReason::Refused(words) => lines.push(format!(
                    "{tool} refused all that was tried: {} `--arguments '{tool}={{…}}'` gives it arguments.",
                    sentence(&shorten(&visible_line(words), LONGEST_REFUSAL))
                )),
            }
        }
        let comments: Vec<String> = lines.iter().map(|line| comment(line, 2)).collect();
        comments.iter().flat_map(|comment| ["\n", comment]).collect()
    }

    /// The tools that may be called and served nothing.
    fn unserved_tools(&self) -> Vec<String> {
        let is_refused = |reason: &UntestedReason| {
            matches!(
                reason,
                UntestedReason::Refused(_)
                    | UntestedReason::Lacking(_)
                    | UntestedReason::Limited(_)
                    | UntestedReason::Silent
                    | UntestedReason::TooLong
            )
        };
        self.of_reason(is_refused).into_iter().map(literal_text).collect()
    }

    fn of_reason(&self, is_it: impl Fn(&UntestedReason) -> bool) -> Vec<&str> {
        self.seen.untested.iter().filter(|(_, reason)| is_it(reason)).map(|(tool, _)| tool.as_str()).collect()
    }

    /// The blocks that apply to the server.
    fn blocks(&self) -> String {
        let mut text = String::new();
        let tools = &self.catalog.tools;
        let mut block = |why: &str, members: &Value| {
            text += "\n";
            text += &comment(why, 0);
            text += &yaml_writer::block(members, 0);
        };
        block("The binding rules of the specification.", &json!({"compliance": {"level": "must"}}));
        if !tools.is_empty() {
            block(
                "Calls that the server must refuse, made from the schemas of its tools.",
                &json!({"negative_path": {"tools": "*"}}),
            );
        }
        if !tools.is_empty() {
            block(
                "Generated calls, the same ones in every run.",
                &json!({"fuzz": {"cases": FUZZ_CALLS, "slow_time": FUZZ_SLOW_TIME}}),
            );
        }
        if tools.iter().any(|tool| tool.output_schema().is_some()) {
            block("Structured content fits the declared schemas.", &json!({"output_schema": {"tools": "*"}}));
        }
        if !tools.is_empty() {
            block(
                "Schemas that models and clients stumble over: what was not found today fails from now on.",
                &json!({"schema_lint": lint_settings(tools)}),
            );
            block(
                "Attacks, and what sessions see of each other.",
                &json!({"security": self.promises.security(self.server.get("url").is_none()), "state": {}}),
            );
        }
        if self.seen.answered.iter().any(|answered| matches!(answered.question, ServerQuestion::Call { .. })) {
            block(
                "Many calls at a time, slow calls that are cancelled, and hints that have to be true.",
                &json!({"torture": {}, "timeouts": self.promises.timeouts(), "config": {"hints": true, "page_sizes": true}}),
            );
        }
        text
    }
}

/// The lints that find something today warn, and all others fail.
fn lint_settings(tools: &[Tool]) -> Value {
    let is_case = |lint: &&Lint| lint.provider.is_none_or(|provider| provider.by_choice().is_none());
    let warning = lints().filter(|lint| lint.level == LintLevel::Warning).filter(is_case);
    let known: Vec<&str> =
        warning.filter(|lint| !lint.judge(tools, LintLimits::default()).is_empty()).map(|lint| lint.id).collect();
    let mut settings = json!({"fail_on": LintLevel::Warning.as_str()});
    if !known.is_empty() {
        settings["warn"] = known.into();
    }
    settings
}

/// The test that all entries of a list are there; `None` for an empty list, or a long one.
fn listed<'a>(kind: &str, names: impl Iterator<Item = &'a String>) -> Option<Value> {
    let names: Vec<String> = names.map(|name| literal_text(name)).collect();
    let is_nameable = !names.is_empty() && names.len() <= MOST_NAMED;
    is_nameable.then(|| json!({"name": name_of_list(kind), "list": kind, "expect": [{kind: {"exact": names}}]}))
}

fn name_of_list(kind: &str) -> String {
    format!("the {kind} that are listed")
}

/// Has a test ask for progress, and expect some.
fn add_progress(test: &mut Value) {
    test["progress"] = true.into();
    if let Some(expected) = test["expect"].as_array_mut() {
        expected.push(json!({"notifications": {"method": PROGRESS, "count": {"min": 1}}}));
    }
}

/// True for the tools that two servers list alike, to the letter, on one page.
fn are_lasting_tools(answered: &Answered) -> bool {
    let [one, other] = answered.answers.each_ref().map(|answer| &answer["result"]);
    let is_whole = one.get("nextCursor").is_none() && other.get("nextCursor").is_none();
    let is_same = one["tools"].is_array() && one["tools"] == other["tools"];
    answered.question == ServerQuestion::Tools && is_whole && is_same
}

/// The test of a list of tools, which is then asked for once more and has to be the same.
fn listed_twice(once: &Value) -> Value {
    let first = json!({"list": "tools", "expect": once["expect"], "capture": {"listed": "result.tools"}});
    let again = json!({"list": "tools", "expect": [{"at": "result.tools", "equals": "{{ listed }}"}]});
    json!({"name": once["name"], "steps": [first, again]})
}

/// The test of a question with these arguments; `None` where its answers have nothing in common that lasts.
fn test_of(answered: &Answered, arguments: &Value, types: Types) -> Option<Value> {
    let [first, second] = &answered.answers;
    if let ServerQuestion::List(kind) = &answered.question {
        let names = kind.names(first).filter(|names| kind.names(second).as_ref() == Some(names))?;
        return listed(kind.as_str(), names.iter());
    }
    let mut test = match &answered.question {
        ServerQuestion::Call { tool, .. }
        | ServerQuestion::Unknown { tool, .. }
        | ServerQuestion::Other { tool, .. }
        | ServerQuestion::Empty { tool, .. }
        | ServerQuestion::Echo { tool, .. } => json!({"call": literal_text(tool)}),
        ServerQuestion::Read { uri } | ServerQuestion::UnknownRead { uri } => json!({"read": literal_text(uri)}),
        ServerQuestion::Prompt { name, .. } | ServerQuestion::BarePrompt { name } => {
            json!({"prompt": literal_text(name)})
        }
        ServerQuestion::Complete { reference, argument, beginning } => {
            // An answer without values says nothing.
            first_completion(first).and(first_completion(second))?;
            let argument = json!({"name": literal_text(argument), "value": literal_text(beginning)});
            json!({"complete": {"ref": literal(reference), "argument": argument}})
        }
        ServerQuestion::List(_) | ServerQuestion::Tools => return None,
    };
    if !members_of(arguments).is_empty() {
        test["args"] = arguments.clone();
    }
    let is_right = |answer: &Value| match &answered.question {
        ServerQuestion::Unknown { .. } | ServerQuestion::UnknownRead { .. } | ServerQuestion::BarePrompt { .. } => {
            !is_served(answer)
        }
        ServerQuestion::Empty { .. } => is_served(answer) == is_served(first),
        ServerQuestion::Call { .. }
        | ServerQuestion::Other { .. }
        | ServerQuestion::Echo { .. }
        | ServerQuestion::Read { .. }
        | ServerQuestion::Prompt { .. }
        | ServerQuestion::Complete { .. }
        | ServerQuestion::List(_)
        | ServerQuestion::Tools => is_served(answer),
    };
    if !is_right(first) || !is_right(second) {
        return None;
    }
    let both_say = |text: &str| answered.answers.iter().all(|answer| words_of(answer).contains(text));
    let mut expected = expectations(first, second, types);
    if let ServerQuestion::Echo { text, .. } = &answered.question {
        if !both_say(&text.sent()) {
            return None;
        }
        expected = vec![json!({"is_error": false}), json!({"text": {"contains": text.written()}})];
    }
    if matches!(answered.question, ServerQuestion::Other { .. }) {
        // The types are those of the first call.
        let others = expected.iter().filter(|one| one.get("schema").is_none());
        let others: Vec<Value> = others.cloned().collect();
        if others.len() > 1 {
            expected = others;
        }
    }
    if let ServerQuestion::Unknown { arguments, parameter, .. } = &answered.question {
        let unknown = &arguments[parameter];
        let named = match unknown.as_str() {
            Some(name) if name.contains(UNKNOWN) => UNKNOWN.to_owned(),
            Some(name) => name.to_owned(),
            None => unknown.to_string(),
        };
        if both_say(&named) {
            expected.push(json!({"readable_error": {"names": literal_text(&named)}}));
        }
    }
    test["name"] = name_of(&answered.question).into();
    test["expect"] = Some(expected).filter(|expected| !expected.is_empty())?.into();
    Some(test)
}

/// The name of a test.
fn name_of(question: &ServerQuestion) -> String {
    match question {
        ServerQuestion::Call { tool, arguments, made } => name_of_call(tool, arguments, made.as_ref()),
        ServerQuestion::Other { tool, arguments, .. } => name_of_call(tool, arguments, None),
        ServerQuestion::Unknown { tool, parameter, .. } => format!("{tool} without a known {parameter}"),
        ServerQuestion::Empty { tool, parameter, .. } => format!("{tool} with an empty {parameter}"),
        ServerQuestion::Echo { tool, parameter, text: EchoedText::Long, .. } => {
            format!("{tool} with a long {parameter}")
        }
        ServerQuestion::Echo { tool, parameter, text: EchoedText::Symbols, .. } => {
            format!("{tool} with a {parameter} of many letters")
        }
        ServerQuestion::Read { uri } => format!("the resource {}", shorten(uri, 70)),
        ServerQuestion::UnknownRead { uri } => format!("no resource {}", shorten(uri, 70)),
        ServerQuestion::Prompt { name, arguments } => {
            shorten(&format!("the prompt {}", name_of_call(name, arguments, None)), 70)
        }
        ServerQuestion::BarePrompt { name } => format!("the prompt {} without arguments", shorten(name, 50)),
        ServerQuestion::List(kind) => name_of_list(kind.as_str()),
        ServerQuestion::Tools => name_of_list("tools"),
        ServerQuestion::Complete { reference, argument, beginning } => {
            let of = reference["name"].as_str().or_else(|| reference["uri"].as_str()).unwrap_or_default();
            let value = if beginning.is_empty() { String::new() } else { format!("={beginning}") };
            shorten(&format!("completions of {argument}{value} of {of}"), 70)
        }
    }
}

/// The name of the test of a call: the tool with its short arguments.
fn name_of_call(tool: &str, arguments: &Value, made: Option<&MadeArgument>) -> String {
    let is_made = |name: &String| made.is_some_and(|made| made.parameter == *name);
    let shown = members_of(arguments).into_iter().filter(|(name, value)| {
        let is_plain = !value.is_array() && !value.is_object();
        is_plain && !is_made(name) && lasts(value) && value.to_string().chars().count() <= 24
    });
    let words = shown.map(|(name, value)| match value.as_str() {
        Some(text) => format!("{name}={text}"),
        None => format!("{name}={value}"),
    });
    shorten(&std::iter::once(tool.to_owned()).chain(words).collect::<Vec<_>>().join(" "), 70)
}

/// A test as an item of the list, its name first and like no other.
fn written_test(test: &Value, why: Option<&str>, names: &mut BTreeMap<String, usize>) -> String {
    let name = visible_line(test["name"].as_str().unwrap_or_default()).into_owned();
    let times = names.entry(name.clone()).or_default();
    *times += 1;
    let name = if *times == 1 { name } else { format!("{name} ({times})") };
    let mut members = Map::from_iter([("name".to_owned(), literal_text(&name).into())]);
    members.extend(members_of(test).into_iter().filter(|(key, _)| key != "name"));
    let mut written = why.map(|why| comment(why, 2)).unwrap_or_default();
    written += &yaml_writer::block(&json!([members]), 2);
    written
}

/// A sentence as a comment of several lines.
fn comment(text: &str, indent: usize) -> String {
    let (mut lines, mut line) = (Vec::new(), String::new());
    for word in visible_line(text).split_whitespace() {
        if !line.is_empty() && line.chars().count() + word.chars().count() + indent + 3 > WIDTH {
            lines.push(std::mem::take(&mut line));
        }
        line += if line.is_empty() { "" } else { " " };
        line += word;
    }
    lines.push(line);
    let start = format!("{:indent$}# ", "");
    lines.iter().flat_map(|line| [start.as_str(), line, "\n"]).collect()
}

/// Words of a server as a sentence.
fn sentence(words: &str) -> String {
    let words = words.trim();
    if words.ends_with(['.', '!', '?', '…']) { words.to_owned() } else { format!("{words}.") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(question: ServerQuestion, answers: [Value; 2]) -> Answered {
        Answered { question, answers }
    }

    fn text(text: &str) -> Value {
        json!({"result": {"content": [{"type": "text", "text": text}]}})
    }

    fn refused(words: &str) -> Value {
        json!({"result": {"isError": true, "content": [{"type": "text", "text": words}]}})
    }

    #[test]
    fn unknown_values_are_a_test_only_where_they_are_refused() {
        let unknown = || ServerQuestion::Unknown {
            tool: "get".to_owned(),
            arguments: json!({"id": UNKNOWN}),
            parameter: "id".to_owned(),
        };
        let named = format!("no user has the id {UNKNOWN}");
        let told = json!([{"is_error": true}, {"readable_error": {"names": UNKNOWN}}]);
        for (answers, expected) in [
            ([refused(&named), refused(&named)], Some(told)),
            ([refused("no"), refused("no")], Some(json!([{"is_error": true}]))),
            ([text("found"), refused("no")], None),
            ([text("found"), text("found")], None),
        ] {
            let test = test_of(&answered(unknown(), answers.clone()), &json!({"id": UNKNOWN}), Types::Seen);
            assert_eq!(test.map(|test| test["expect"].clone()), expected, "{answers:?}");
        }
    }

    #[test]
    fn another_argument_repeats_no_types() {
        let other = || ServerQuestion::Other {
            tool: "list".to_owned(),
            arguments: json!({"limit": 2}),
            parameter: "limit".to_owned(),
        };
        let answer = |seconds: u32| text(&json!({"state": "open", "at": seconds}).to_string());
        let answers = [answer(1_700_000_000), answer(1_700_000_005)];
        let test = test_of(&answered(other(), answers), &json!({"limit": 2}), Types::Seen).unwrap();
        let at = "result.content[0].text.json()";
        assert_eq!(test["expect"], json!([{"is_error": false}, {"at": at, "includes": {"state": "open"}}]));
    }

    #[test]
    fn what_was_refused_or_differs_is_no_test() {
        let call = || ServerQuestion::call("t", &json!({"a": 1}));
        let error = json!({"error": {"code": -32602, "message": "no"}});
        for (answers, is_test) in [
            ([text("a b c d"), text("a b c d")], true),
            ([text("a b c d"), error.clone()], false),
            ([error.clone(), error], false),
        ] {
            assert_eq!(
                test_of(&answered(call(), answers.clone()), &json!({"a": 1}), Types::Seen).is_some(),
                is_test,
                "{answers:?}"
            );
        }
    }

    #[test]
    fn tools_that_two_servers_list_alike_stay_so() {
        let list = |result: Value| json!({"result": result});
        let tools = |limit: u32| json!([{"name": "get", "inputSchema": {"properties": {"limit": {"maximum": limit}}}}]);
        for (what, first, second, lasts) in [
            ("the same", list(json!({"tools": tools(9)})), list(json!({"tools": tools(9)})), true),
            ("another bound", list(json!({"tools": tools(9)})), list(json!({"tools": tools(8)})), false),
            ("a page", list(json!({"tools": tools(9), "nextCursor": "2"})), list(json!({"tools": tools(9)})), false),
            ("no list", json!({"error": {"code": -32603}}), json!({"error": {"code": -32603}}), false),
        ] {
            assert_eq!(are_lasting_tools(&answered(ServerQuestion::Tools, [first, second])), lasts, "{what}");
        }
    }

    #[test]
    fn lints_that_find_something_today_warn() {
        let described = json!({"type": "object", "properties": {"id": {"type": "string", "description": "The id"}}});
        let tool = |description: &str, schema: &Value| {
            let hints = json!({"readOnlyHint": true});
            Tool::new(
                json!({"name": "get_user", "description": description, "inputSchema": schema, "annotations": hints}),
            )
        };
        let settings = lint_settings(&[tool("Gets a user by its id", &described)]);
        assert_eq!(settings, json!({"fail_on": "warning"}));
        let settings = lint_settings(&[tool("", &described)]);
        assert_eq!(settings, json!({"fail_on": "warning", "warn": ["no-description"]}));
    }

    #[test]
    fn a_suite_is_one_and_says_what_it_leaves_out() {
        let tool = |name: &str| Tool::new(json!({"name": name, "inputSchema": {"type": "object"}}));
        let catalog = Catalog { tools: vec![tool("get"), tool("drop"), tool("pay")], ..Catalog::default() };
        let get = || answered(ServerQuestion::call("get", &json!({})), [text("2 users"), text("2 users")]);
        let untested = BTreeMap::from([
            ("drop".to_owned(), UntestedReason::Hazard),
            ("pay".to_owned(), UntestedReason::Refused("no such account".to_owned())),
        ]);
        let seen = Observations { answered: vec![get(), get()], untested, ..Observations::default() };
        let page = SuitePage {
            name: "Users {{ x }}",
            server: &json!({"command": ["node", "s.js"]}),
            calls: &Map::new(),
            catalog: &catalog,
            seen: &seen,
            promises: Promises::default(),
        };
        let written = page.text();
        let read = yaml_writer::read_value(&written).unwrap();
        let names: Vec<&str> =
            read["tests"].as_array().unwrap().iter().filter_map(|test| test["name"].as_str()).collect();
        assert_eq!(names, ["the tools that are listed", "get", "get (2)"], "{written}");
        assert_eq!(read["suite"], "Users {{ '{{' }} x }}");
        assert!(written.contains("# Not called, since they may change or destroy data: drop."), "{written}");
        assert!(
            written.contains("# pay refused all that was tried: no such account. `--arguments 'pay={…}'`"),
            "{written}"
        );
        assert!(read.get("output_schema").is_none() && read.get("negative_path").is_some(), "{written}");
    }
}
