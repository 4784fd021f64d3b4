//! Suites on the demo server: recorded once, played back many times.

use std::io;
use std::path::Path;

use super::baseline_run::check_baseline;
use super::*;
use crate::block::GRAMMAR;
use crate::event::{Event, Outcome};
use crate::plan::Selection;
use crate::runner::{self, Observer, SessionFrames, Stop};
use crate::source::Sources;
use crate::suite::{self, Files, Servers, SuiteSource};

struct Nothing(String);

impl Files for Nothing {
    fn read(&self, path: &Path) -> io::Result<String> {
        if path == Path::new("s.yml") { Ok(self.0.clone()) } else { Err(io::ErrorKind::NotFound.into()) }
    }
}

/// A plan for the demo server in this process.
pub(crate) fn plan(tests: &str) -> Plan {
    let text = format!("suite: s\nserver: {{ builtin: demo }}\n{tests}");
    let (mut sources, mut warnings) = (Sources::default(), Vec::new());
    let files = Nothing(text);
    let from = SuiteSource { path: Path::new("s.yml"), servers: Servers::Given, files: &files, grammar: &GRAMMAR };
    let read = suite::load(&from, &mut sources, &mut warnings);
    let read = read.unwrap_or_else(|mistakes| panic!("{mistakes:?}"));
    let sources = Arc::new(sources);
    let built = crate::plan::build(vec![read], Selection::default(), Registry::builtin(), sources);
    built.unwrap_or_else(|mistakes| panic!("{mistakes:?}"))
}

#[derive(Default)]
pub(crate) struct Watching(pub(crate) RunRecorder);

impl Observer for Watching {
    fn event(&mut self, event: &Event) {
        self.0.event(event);
    }

    fn session(&mut self, frames: &SessionFrames, _: &Redactor) {
        self.0.session(frames);
    }
}

/// Records a run of a plan.
pub(crate) fn recorded(plan: &Plan, options: &Options) -> RunRecording {
    let mut watching = Watching::default();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(runner::run(plan.clone(), options.clone(), Registry::builtin(), &mut watching));
    watching.0.finish()
}

pub(crate) fn options() -> Options {
    Options::new(0, Stop::new().1)
}

const CONVERSATIONS: &str = "
run_options: { parallel: 4 }
tests:
  - name: adds
    call: add
    rows: [{ a: 1, b: 2 }, { a: 3, b: 4 }, { a: 1, b: 2, name: again }]
    args: { a: '{{ a }}', b: '{{ b }}' }
    expect: [{ at: result.structuredContent.sum, equals: '{{ a + b }}' }]
  - name: remembers
    steps:
      - call: create_user
        args: { name: Bob, email: bob@example.com }
        capture: { id: result.structuredContent.id }
      - call: get_user
        args: { id: '{{ id }}' }
        expect: [{ at: result.structuredContent.name, equals: Bob }]
      - call: get_user
        args: { id: '{{ id }}' }
        expect: [{ at: result.structuredContent.name, equals: Bob }]
  - name: exports
    steps:
      - call: export_users
        args: { format: csv, steps: 3, delay_ms: 20 }
        progress: true
        expect: [{ notifications: { method: notifications/progress, count: 3 } }]
  - name: starts again
    steps:
      - call: add
        args: { a: 1, b: 1 }
        expect: []
      - restart: true
      - call: add
        args: { a: 1, b: 1 }
        expect: [{ is_error: false }]
  - name: fails
    call: add
    args: { a: 1, b: 1 }
    expect: [{ at: result.structuredContent.sum, equals: 3 }]
  - name: takes it back
    call: export_users
    args: { format: csv, steps: 5, delay_ms: 3000 }
    cancel: { after: 50ms, watch: 200ms }
    expect: [{ at: answered, equals: false }]
negative_path: { tools: '*' }
output_schema: { tools: '*' }
";

#[test]
fn a_hundred_replays_end_as_the_run_did() {
    let (plan, options) = (plan(CONVERSATIONS), options());
    let recording = recorded(&plan, &options);
    assert!(recording.cases.len() > 20, "{:?}", recording.cases);
    let frozen = freeze(&plan, &recording);
    let indexed = Arc::new(IndexedRecording::new(recording, Redactor::default()));
    let runtime = paused_runtime().unwrap();
    for _ in 0..100 {
        let server = ReplayServer::new(Arc::clone(&indexed), MutatedReplies::default());
        let (registry, capture) = (Registry::builtin(), EventCapture::VerdictsOnly);
        let plan_runner = PlanRunner { runtime: &runtime, options: &options, registry, capture, bail: Bail::Never };
        let again = plan_runner.replay(frozen.clone(), &server);
        let control = check_baseline(&indexed.recording, &again).control;
        let failed: Vec<&str> = control.left_out.iter().map(|left| left.id.as_str()).collect();
        assert_eq!(failed, ["s.yml::fails@server/auto"], "{:?}", control.left_out);
        for case in &indexed.recording.cases {
            assert_eq!(again.cases[&case.id].outcome, case.outcome, "{}", case.id);
        }
        assert_eq!(again.cases["s.yml::fails@server/auto"].outcome, Outcome::Failed);
        assert!(again.judged.is_empty() && again.log.struck.is_empty());
    }
}

/// Tests of different thoroughness on the same tools.
const POOL: [&str; 9] = [
    "  - { name: sum, call: add, args: { a: 1, b: 2 }, expect: [{ at: result.structuredContent.sum, equals: 3 }] }\n",
    "  - { name: polite, call: add, args: { a: 4, b: 2 }, expect: [] }\n",
    "  - { name: exact, call: echo, args: { message: hi }, expect: [{ at: result, includes: { structuredContent: { message: hi } } }, { structured_text: true }] }\n",
    "  - { name: long, call: echo, args: { message: 'a word' }, expect: [{ text: { contains: word } }] }\n",
    "  - { name: nobody, call: get_user, args: { id: nobody }, expect: [{ is_error: true }] }\n",
    "  - { name: no number, call: add, args: { a: x, b: 2 }, expect: [{ is_error: true }, { output_schema: true }] }\n",
    "  - { name: all, call: list_users, expect: [{ at: result.structuredContent.total, at_least: 0 }] }\n",
    "  - { name: found, call: search_users, args: { query: zzz }, expect: [{ at: result.structuredContent.users, length: 0 }, { output_schema: true }] }\n",
    "  - { name: listed, list: tools, expect: [{ tools: { count: 9 } }] }\n",
];

/// The variants that a suite of some tests of the pool proves, and the figure.
fn proven_by(tests: &[&str]) -> (BTreeSet<String>, f64) {
    let plan = plan(&format!("tests:\n{}", tests.concat()));
    let recording = recorded(&plan, &options());
    proven_variants(&proof_of(&plan, recording))
}

/// The variants that are proven, and the figure.
pub(crate) fn proven_variants(proof: &Proof) -> (BTreeSet<String>, f64) {
    let variants = proof.proven.families.iter().flat_map(|family| &family.by_leaf).flat_map(|leaf| &leaf.by_variant);
    (variants.filter(|one| one.counted).map(|one| one.id.clone()).collect(), proof.proven.percent)
}

/// The proof of a recorded plan, by mutants of answers.
pub(crate) fn proof_of(plan: &Plan, recording: RunRecording) -> Proof {
    let options = options();
    let picks = ["TOOL-", "SCHEMA-", "TIMEOUT-HANG", "SECURITY-TOOL"];
    let mutants =
        Registry::builtin().variants().filter(|variant| picks.iter().any(|pick| variant.id.starts_with(pick)));
    let settings = ProveSettings {
        plan,
        options: &options,
        registry: Registry::builtin(),
        redactor: Redactor::default(),
        secrets: RecordedSecrets::Kept,
        workers: 2,
        picks: Some(mutants.flat_map(crate::taxonomy::Variant::mutants).map(|mutant| mutant.id.clone()).collect()),
        live: false,
        time: None,
    };
    prove(recording, &settings).unwrap().proof
}

#[test]
fn leaving_tests_out_never_raises_a_figure() {
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut draw = |bound: usize| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(random >> 33).unwrap() % bound
    };
    for _ in 0..6 {
        let whole: Vec<&str> = POOL.into_iter().filter(|_| draw(4) > 0).collect();
        let part: Vec<&str> = whole.iter().copied().filter(|_| draw(3) > 0).collect();
        if part.is_empty() {
            continue;
        }
        let (with, without) = (proven_by(&whole), proven_by(&part));
        assert!(without.0.is_subset(&with.0), "{part:#?} proves more than {whole:#?}");
        assert!(without.1 <= with.1, "{} {}: {part:#?} {whole:#?}", without.1, with.1);
    }
}
