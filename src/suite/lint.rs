//! Mistakes that only the whole suite shows: names that nothing provides, tests that cannot fail, equal names.

use std::collections::{BTreeMap, BTreeSet};

use super::block::{SuiteBlock, SuiteSettings};
use super::builtin::builtin_name;
use super::model::{Action, Answers, Capture, Payload, Server, ServerKind, Step, Suite, Test, TestNeed, Wanted};
use super::rows::{MOST_ROWS, too_many_rows};
use super::{foreign_template, generating};
use crate::fault::Fault;
use crate::matching::{Expectation, LONGEST_WAIT, PROVIDED};
use crate::source::template::{self, is_template};
use crate::source::{Diagnostic, MistakeKind, Node, Span, did_you_mean, duration_text};
use crate::wire::{SCANS, Scan};

/// Everything that is wrong with a decoded suite as a whole.
pub(crate) fn check(suite: &Suite, blocks: &[SuiteBlock<&dyn SuiteSettings>], found: &mut Vec<Diagnostic>) {
    if suite.tests.is_empty() && blocks.is_empty() {
        found.push(
            Diagnostic::error("empty-suite", "the suite has no tests and no blocks", suite.name.span)
                .with_help("add `tests:` or a block such as `negative_path: { tools: \"*\" }`".to_owned()),
        );
    }
    duplicate_tests(suite, found);
    names(suite, blocks, found);
    for block in blocks {
        block.settings.check(suite, found);
    }
    row_count(suite, found);
    foreign_template::check(suite, found);
    for test in &suite.tests {
        let has_block = blocks.iter().any(|block| block.test == Some(test.span));
        expectations(test, has_block, found);
        server(test, suite, found);
        restarts(test, suite, found);
        always_true(test, found);
        judges_nothing(test, found);
    }
    for test in all_tests(suite, blocks) {
        scans(test, found);
    }
}

/// The tests of the suite, and those that its blocks bring.
fn all_tests<'a>(suite: &'a Suite, blocks: &'a [SuiteBlock<&dyn SuiteSettings>]) -> impl Iterator<Item = &'a Test> {
    suite.tests.iter().chain(blocks.iter().flat_map(|block| block.settings.tests().iter().map(AsRef::as_ref)))
}

/// More rows than a run can hold.
fn row_count(suite: &Suite, found: &mut Vec<Diagnostic>) {
    let mut rows = 0;
    for test in &suite.tests {
        rows += test.extras.rows.len();
        if rows > MOST_ROWS {
            return found.push(too_many_rows(test.name.span));
        }
    }
}

/// The mistake of a suite that names no server.
pub(crate) fn missing_server(suite: &Suite) -> Diagnostic {
    let help = match builtin_name(&suite.file) {
        Some(name) => format!("name one behind it: `mcprove run builtin:{name} -- node dist/index.js`"),
        None => "add for example `server: { command: [node, dist/index.js] }`".to_owned(),
    };
    Diagnostic::error("missing-server", "the suite has no server to test", suite.name.span)
        .of_kind(MistakeKind::MissingServer)
        .with_help(help)
}

fn duplicate_tests(suite: &Suite, found: &mut Vec<Diagnostic>) {
    let mut first = BTreeMap::new();
    for test in &suite.tests {
        if let Some(earlier) = first.insert(test.name.value.as_str(), test.name.span) {
            found.push(
                Diagnostic::error(
                    "duplicate-test",
                    format!("two tests are called `{}`", test.name.value),
                    test.name.span,
                )
                .with_label(test.name.span, "used again here")
                .with_other(earlier, "the first one is here"),
            );
        }
    }
}

/// A test that expects nothing passes whatever the server does.
fn expectations(test: &Test, has_block: bool, found: &mut Vec<Diagnostic>) {
    // Steps that could not be read were reported, and may have expected something.
    if test.steps.is_empty() && has_mistake(test, found, &|_| true) {
        return;
    }
    if generating::expects_nothing(test) {
        let help = "add `expect:` with what must hold in every round".to_owned();
        found.push(
            Diagnostic::error(
                "missing-expectation",
                "the property expects nothing, so it always holds",
                test.name.span,
            )
            .with_help(help),
        );
        return;
    }
    let derives = has_block || test.extras.output_schema.is_some() || !test.extras.scans.is_empty();
    let expects = test.steps.iter().chain(&test.extras.verify).any(|step| step.expects);
    if !derives && !expects {
        found.push(
            Diagnostic::error("missing-expectation", "the test expects nothing, so it cannot fail", test.name.span)
                .with_help("add `expect: [{ is_error: false }]`, or `expect: []` to say so on purpose".to_owned()),
        );
    }
}

/// Expectations that hold whatever a server answers.
fn always_true(test: &Test, found: &mut Vec<Diagnostic>) {
    // An item with a mistake may have meant something else.
    let is_within = |place: Span, item: Span| place.source == item.source && item.contains(place.start as usize);
    let is_wrong = |item: &Expectation, found: &[Diagnostic]| {
        found.iter().filter_map(|one| one.label.as_ref()).any(|label| is_within(label.span, item.span()))
    };
    for item in test.steps.iter().flat_map(Step::unbreakable) {
        if is_wrong(item, found) {
            continue;
        }
        let message = "hardly any answer can break this expectation, so it judges nothing";
        let help = "expect what a faulty server would get wrong, such as `equals` with the value, or `exists: true` if \
                    it only has to be there";
        found.push(Diagnostic::warning("always-true", message, item.span()).with_help(help.to_owned()));
    }
}

/// Expectations of answers that the test makes itself, and times that nobody waits for.
fn judges_nothing(test: &Test, found: &mut Vec<Diagnostic>) {
    // A fault that strikes only some calls leaves the others to the server.
    let always: Vec<Fault> = test.extras.inject.iter().filter(|fault| fault.strikes_always()).cloned().collect();
    for item in test.steps.iter().filter(|step| step.is_answered_by(&always)).flat_map(|step| &step.expect) {
        let message = "a fault of this test makes the answer, so the expectation judges nothing of the server";
        let help = "expect something of a call that the fault does not strike, such as one after it".to_owned();
        found.push(Diagnostic::warning("own-answer", message, item.span()).with_help(help));
    }
    for step in test.steps.iter().filter(|step| step.timeout.is_some_and(|time| time > LONGEST_WAIT)) {
        let message = "nobody waits that long for an answer, so the timeout judges nothing";
        let help = format!("write at most {}", duration_text(LONGEST_WAIT));
        found.push(Diagnostic::warning("endless-wait", message, step.span).with_help(help));
    }
}

/// A search for what nobody looks for would always find nothing.
fn scans(test: &Test, found: &mut Vec<Diagnostic>) {
    for code in test.extras.scans.iter().filter(|code| Scan::of(&code.value).is_none()) {
        let message = format!("no scan looks for `{}`", code.value);
        found.push(
            Diagnostic::error("unknown-scan", message, code.span)
                .with_help(did_you_mean(&code.value, SCANS.iter().map(|scan| scan.code))),
        );
    }
}

/// Returns true if a mistake with such a code was found within a test.
fn has_mistake(test: &Test, found: &[Diagnostic], is_meant: &dyn Fn(&str) -> bool) -> bool {
    let within = |span: &Span| span.source == test.span.source && test.span.contains(span.start as usize);
    found.iter().any(|one| is_meant(one.code) && one.label.as_ref().is_some_and(|label| within(&label.span)))
}

fn server(test: &Test, suite: &Suite, found: &mut Vec<Diagnostic>) {
    let Some(server) = &test.extras.server else { return };
    if !suite.servers.contains_key(&server.value) {
        found.push(
            Diagnostic::error("unknown-server", format!("the suite has no server `{}`", server.value), server.span)
                .with_help(did_you_mean(&server.value, suite.servers.keys().map(String::as_str))),
        );
    }
}

/// A server that somebody else started cannot be started again.
fn restarts(test: &Test, suite: &Suite, found: &mut Vec<Diagnostic>) {
    let mut servers = suite.servers.iter().filter(|(name, _)| test.is_for(name)).peekable();
    let is_foreign = |server: &Server| matches!(&server.kind, ServerKind::Url(http) if http.command.is_none());
    if servers.peek().is_none() || !servers.all(|(_, server)| is_foreign(server)) {
        return;
    }
    for step in test.steps.iter().filter(|step| matches!(step.action, Action::Restart)) {
        found.push(
            Diagnostic::error("misplaced-key", "`restart` needs a server that mcprove starts, and this one has only a `url`", step.span)
                .with_help("write the server's `command` beside its `url`; `restart_policy: per_test` gives every case a session of its own".to_owned()),
        );
    }
}

fn names(suite: &Suite, blocks: &[SuiteBlock<&dyn SuiteSettings>], found: &mut Vec<Diagnostic>) {
    let mut known: BTreeSet<String> = ["env", "run"].map(str::to_owned).into();
    for (name, value) in &suite.variables {
        template::check(value, &known, found);
        known.insert(name.value.clone());
    }
    let mut of_servers = known.clone();
    of_servers.extend(suite.fixture.is_some().then(|| "fixture".to_owned()));
    for server in suite.servers.values() {
        server_names(server, &of_servers, found);
    }
    let has_store = suite.servers.values().any(|server| server.store.is_some());
    known.extend(has_store.then(|| "store".to_owned()));
    known.extend(suite.fixture.is_some().then(|| "fixture".to_owned()));
    client_answers(&suite.answers, &known, found);
    arguments(suite, &known, found);
    // A session provides these once it has begun.
    known.extend(["session", "server"].map(str::to_owned));
    step_names(&suite.setup, &mut known, found);
    step_names(&suite.teardown, &mut known.clone(), found);
    for test in all_tests(suite, blocks) {
        test_names(test, known.clone(), found);
    }
}

fn client_answers(answers: &Answers, known: &BTreeSet<String>, found: &mut Vec<Diagnostic>) {
    for node in [&answers.sampling, &answers.elicitation, &answers.roots].into_iter().flatten() {
        template::check(node, known, found);
    }
    if let Some(written) = &answers.elicitation {
        let one = std::slice::from_ref(written);
        let list = if written.items().is_empty() { one } else { written.items() };
        for answer in list {
            elicitation(answer, found);
        }
    }
}

/// Checks the answer to one elicitation; a form may have fields of these names, too.
fn elicitation(answer: &Node, found: &mut Vec<Diagnostic>) {
    let written = |name: &str| answer.get(name).filter(|node| node.text().is_some_and(|text| !is_template(text)));
    let is_url = written("mode").is_some_and(|mode| mode.text() == Some("url"));
    if is_url && answer.get("action").is_none() {
        let help = "add `action: accept`, `action: decline` or `action: cancel`".to_owned();
        let message = "an answer with `mode: url` needs the key `action`: a URL has no form to fill in";
        found.push(Diagnostic::error("missing-key", message, answer.span).with_help(help));
    }
    let mode = written("mode").filter(|_| answer.get("action").is_some());
    let choices =
        [("mode", mode, &["form", "url"][..]), ("action", written("action"), &["accept", "decline", "cancel"])];
    for (name, node, known) in choices {
        let given = node.and_then(|node| Some((node, node.text()?)));
        if let Some((node, text)) = given.filter(|(_, text)| !known.contains(text)) {
            let help = did_you_mean(text, known.iter().copied());
            let message = format!("invalid `{name}` of an answer to an elicitation: `{text}`");
            found.push(Diagnostic::error("unknown-choice", message, node.span).with_help(help));
        }
    }
}

/// Names in `arguments:`, which are filled in when a call is made, after the suite's setup.
fn arguments(suite: &Suite, known: &BTreeSet<String>, found: &mut Vec<Diagnostic>) {
    let mut with_setup = known.clone();
    with_setup.extend(suite.setup.iter().flat_map(|step| &step.capture).map(|capture| capture.name.value.clone()));
    for args in suite.arguments.values() {
        template::check(args, &with_setup, found);
    }
}

fn server_names(server: &Server, known: &BTreeSet<String>, found: &mut Vec<Diagnostic>) {
    if let Some(store) = &server.store {
        template::check(&store.path, known, found);
    }
    let mut known = known.clone();
    known.extend(server.store.is_some().then(|| "store".to_owned()));
    let known = &known;
    match &server.kind {
        ServerKind::Command(words) => words.iter().for_each(|word| template::check(word, known, found)),
        ServerKind::Url(http) => {
            let known = &with_port(server, known);
            template::check(&http.url, known, found);
            http.command.iter().flatten().for_each(|word| template::check(word, known, found));
            let headers = http.all_credentials().flat_map(|credentials| &credentials.headers);
            headers.for_each(|(_, value)| template::check(value, known, found));
            http.ca.iter().for_each(|ca| template::check(ca, known, found));
        }
        ServerKind::Builtin(_) => {}
    }
    let known = &with_port(server, known);
    server.env.iter().for_each(|(_, value)| template::check(value, known, found));
    if let Some(cwd) = &server.cwd {
        template::check(cwd, known, found);
    }
}

/// A server over HTTP that is started here gets a free port.
fn with_port(server: &Server, known: &BTreeSet<String>) -> BTreeSet<String> {
    let mut known = known.clone();
    if matches!(&server.kind, ServerKind::Url(http) if http.command.is_some()) {
        known.insert("port".to_owned());
    }
    known
}

fn test_names(test: &Test, mut known: BTreeSet<String>, found: &mut Vec<Diagnostic>) {
    // Rows that could not be read might have provided any name.
    if has_mistake(test, found, &|code| ["bad-csv", "bad-rows", "empty-list"].contains(&code)) {
        return;
    }
    known.extend(test.extras.fixture.is_some().then(|| "fixture".to_owned()));
    if let Some(row) = test.extras.rows.first() {
        known.extend(row.values.keys().cloned());
    }
    if let Some(for_each) = &test.extras.for_each {
        let variable = for_each.over.variable().to_owned();
        if let Some(filter) = &for_each.filter {
            let mut provided: BTreeSet<String> = [variable.clone()].into();
            if test.is_particular() {
                provided.extend(["offer", "hints"].map(str::to_owned));
            }
            template::check_expression(&filter.value, filter.span, &provided, found);
        }
        known.insert(variable);
    }
    if test.is_particular() {
        known.extend(["offer", "hints"].map(str::to_owned));
    }
    for need in &test.extras.needs {
        if let TestNeed::Assert { expression, .. } = need {
            let mut offered: BTreeSet<String> = ["offer", "hints"].map(str::to_owned).into();
            offered.extend(test.extras.rows.iter().flat_map(|row| row.values.keys().cloned()));
            template::check_expression(&expression.value, expression.span, &offered, found);
        }
    }
    template::check_text(&test.name.value, test.name.span, &known, found);
    if let Some(answers) = test.extras.answers.as_deref() {
        client_answers(answers, &known, found);
    }
    step_names(&test.extras.setup, &mut known, found);
    step_names(&test.extras.preconditions, &mut known, found);
    // Rounds begin after setup and witness, and so may generate from what these captured.
    if let Some(property) = &test.extras.property {
        generating::check(test, property, &known, found);
        known.extend(property.names().map(str::to_owned));
    }
    step_names(&test.steps, &mut known, found);
    step_names(&test.extras.teardown, &mut known, found);
}

/// Checks steps in order; what a step captures is known to those after it.
fn step_names(steps: &[Step], known: &mut BTreeSet<String>, found: &mut Vec<Diagnostic>) {
    for step in steps {
        let reason = step.cancel.as_ref().and_then(|cancel| cancel.reason.as_ref());
        for node in action_nodes(&step.action).into_iter().chain(reason) {
            template::check(node, known, found);
        }
        step_names(step.action.during(), known, found);
        let mut seen = known.clone();
        seen.extend(step.capture.iter().map(|capture| capture.name.value.clone()));
        for expectation in &step.expect {
            template::check(expectation.node(), &seen, found);
            expression_names(expectation, members(step), &seen, found);
        }
        for need in &step.needs {
            template::check(need.assert.node(), &seen, found);
            expression_names(&need.assert, members(step), &seen, found);
        }
        for Capture { name, .. } in &step.capture {
            if is_template(&name.value) {
                found.push(Diagnostic::error("bad-template", "the name of a capture cannot be a template", name.span));
            }
        }
        *known = seen;
    }
}

/// The names that the answer of a raw step provides.
fn members(step: &Step) -> &'static [&'static str] {
    match (&step.action, &step.cancel) {
        (_, Some(_)) => &["cancelled", "answered", "late", "progress_after", "watched_ms"],
        (Action::Http(_), None) => &[
            "status",
            "reason",
            "http_version",
            "headers",
            "body",
            "json",
            "events",
            "open",
            "closed",
            "silent",
            "aborted",
        ],
        (Action::Send(_), None) => &["id", "messages", "answers", "silent", "ended"],
        _ => &[],
    }
}

/// Names in `that:` that neither the suite nor the answer provides.
fn expression_names(
    expectation: &Expectation,
    members: &[&str],
    known: &BTreeSet<String>,
    found: &mut Vec<Diagnostic>,
) {
    for name in expectation.free_names() {
        if known.contains(&name.value) || members.contains(&name.value.as_str()) {
            continue;
        }
        let all = known.iter().map(String::as_str).chain(members.iter().copied()).chain(PROVIDED);
        found.push(
            Diagnostic::error("unknown-name", format!("there is no name `{}`", name.value), name.span)
                .of_kind(MistakeKind::UnknownName)
                .with_help(did_you_mean(&name.value, all)),
        );
    }
}

fn action_nodes(action: &Action) -> Vec<&Node> {
    match action {
        Action::Call { tool: head, args: rest }
        | Action::Prompt { name: head, args: rest }
        | Action::Request { method: head, params: rest }
        | Action::Notify { method: head, params: rest } => [Some(head), rest.as_ref()].into_iter().flatten().collect(),
        Action::Read { uri: node } | Action::Complete { params: node } => vec![node],
        Action::Http(http) => {
            let written = [&http.method, &http.path].into_iter().flatten();
            let payloads = [&http.body, &http.raw].into_iter().flatten().map(Payload::node);
            written.chain(http.headers.iter().map(|(_, value)| &value.0)).chain(payloads).collect()
        }
        Action::Send(send) => {
            let ids: &[Node] = match &send.answers {
                Wanted::One(id) => std::slice::from_ref(id),
                Wanted::All(ids) => ids,
                Wanted::Own | Wanted::Any | Wanted::Nothing | Wanted::End => &[],
            };
            send.lines.iter().map(Payload::node).chain(ids).collect()
        }
        Action::Listen(listen) => listen.resources.iter().collect(),
        Action::List(_) | Action::Wait(_) | Action::Alive | Action::Restart => Vec::new(),
    }
}
