//! Models behind HTTP: a server on this machine speaks the formats of the providers, whole and as streams, and breaks
//! them in the ways in which they break.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

mod loopback;
mod shapes;

use serde_json::{Value, json};

use self::loopback::{Answer, Loopback};
use crate::harness::{Scene, Seen, root};

/// A key that must appear in no output.
const KEY: &str = "sk-loopback-0123456789abcdef";

const FORMATS: [&str; 4] = ["openai", "openai_responses", "anthropic", "gemini"];

/// A suite with an agent that adds two numbers.
fn suite(format: &str, more: &str) -> String {
    format!(
        "suite: Models\n\
         server: {{ builtin: demo, protocol: 2025-11-25 }}\n\
         agents:\n\
         \x20 - name: adds\n\
         \x20   prompt: What is 2 + 3?\n\
         \x20   system: You add numbers.\n\
         \x20   provider: {{ {format}: {{ model: adder, key: \"{{{{ env.MODEL_KEY }}}}\", url: \"{{{{ env.MODEL_URL }}}}\"{more} }} }}\n\
         \x20   trajectory: {{ exact: [{{ call: add, args: {{ a: 2, b: 3 }} }}] }}\n\
         \x20   expect: [{{ text: {{ contains: \"5\" }} }}]\n\
         \x20   budget: {{ calls: 5, time: 20s }}\n"
    )
}

/// Runs the suite against a model; what it was asked is in the model.
fn run(name: &str, suite: &str, model: &Loopback) -> Seen {
    let scene = Scene::new(&format!("agents/{name}"));
    scene.write("suite.yml", suite);
    let seen = scene.line(&format!(
        "MODEL_KEY={KEY} MODEL_URL={} mcprove run suite.yml --report json=report.json --report ndjson=events.ndjson \
         --report junit=junit.xml --report markdown=report.md",
        model.url()
    ));
    let kept = ["report.json", "events.ndjson", "junit.xml", "report.md"]
        .map(|file| scene.line(&format!("show {file}")).stdout);
    let outputs = kept.iter().chain([&seen.stdout, &seen.stderr]);
    // Not even its beginning.
    assert!(outputs.into_iter().all(|text| !text.contains(&KEY[..10])), "the key is in an output of {name}");
    seen
}

/// Calls `add`, and says what it answered.
fn adder(format: &'static str, is_streamed: bool) -> impl Fn(&Value) -> Answer + Send + 'static {
    move |body| match shapes::last_result(format, body) {
        None => shapes::call(format, "add", &json!({"a": 2, "b": 3}), is_streamed),
        Some(result) => {
            shapes::text(format, &format!("It is {}.", if result.contains('5') { "5" } else { "?" }), is_streamed)
        }
    }
}

#[test]
fn each_format_drives_the_whole_loop() {
    for format in FORMATS {
        for is_streamed in [false, true] {
            let model = Loopback::start(adder(format, is_streamed));
            let more = if is_streamed { ", stream: true" } else { "" };
            let seen = run(&format!("{format}-{is_streamed}"), &suite(format, more), &model);
            assert_eq!(seen.status, 0, "{format}: {}", seen.text());
            let asked = model.asked();
            assert_eq!(asked.len(), 2, "{format}: {asked:#?}");
            for request in &asked {
                shapes::assert_valid(format, request, is_streamed, KEY);
            }
        }
    }
}

/// What a model does wrong, with the end of the run and what is said of it.
struct Broken {
    name: &'static str,
    status: i32,
    says: &'static str,
    answer: fn(&'static str, &Value) -> Answer,
    more: &'static str,
}

const BROKEN: &[Broken] = &[
    Broken {
        name: "401",
        status: 3,
        says: "provider-refuses-key",
        answer: |_, _| refusal(401, "Incorrect API key"),
        more: "",
    },
    Broken { name: "404", status: 3, says: "unknown-model", answer: |_, _| refusal(404, "no such model"), more: "" },
    Broken { name: "400", status: 3, says: "provider-refuses", answer: |_, _| refusal(400, "bad schema"), more: "" },
    Broken {
        name: "429",
        status: 3,
        says: "allows no more requests",
        answer: |_, _| refusal(429, "slow down"),
        more: "",
    },
    // Longer than the run may take, so that nobody waits for it.
    Broken {
        name: "429-long",
        status: 3,
        says: "allows no more requests",
        answer: |_, _| Answer::new(429, "{}").with("retry-after", "3600"),
        more: "",
    },
    // More seconds than any clock counts.
    Broken {
        name: "429-endless",
        status: 3,
        says: "allows no more requests",
        answer: |_, _| Answer::new(429, "{}").with("retry-after", "18446744073709551615"),
        more: "",
    },
    Broken {
        name: "429-date",
        status: 3,
        says: "next attempt after",
        answer: |_, _| Answer::new(429, "{}").with("retry-after", "Fri, 31 Dec 2100 23:59:59 GMT"),
        more: "",
    },
    // As Gemini refuses a key; the key is at the end of what is shown.
    Broken {
        name: "400-key",
        status: 3,
        says: "provider-refuses-key",
        answer: |_, _| {
            let message = format!("{}{KEY}", "x".repeat(290));
            let details = json!([{ "reason": "API_KEY_INVALID" }]);
            Answer::new(400, json!({ "error": { "message": message, "details": details } }).to_string())
        },
        more: "",
    },
    Broken { name: "500", status: 3, says: "is broken", answer: |_, _| refusal(500, "oops"), more: "" },
    Broken {
        name: "no-json",
        status: 3,
        says: "provider-answer-unreadable",
        answer: |_, _| Answer::ok("<html>"),
        more: "",
    },
    Broken {
        name: "cut",
        status: 3,
        says: "provider-answer-cut",
        answer: |format, _| shapes::call(format, "add", &json!({"a": 2, "b": 3}), true).cut(),
        more: ", stream: true",
    },
    Broken {
        name: "too-long",
        status: 1,
        says: "model-stopped",
        answer: |format, _| shapes::too_long(format, false),
        more: "",
    },
    Broken {
        name: "too-long-stream",
        status: 1,
        says: "model-stopped",
        answer: |format, _| shapes::too_long(format, true),
        more: ", stream: true",
    },
    Broken {
        name: "malformed-stream",
        status: 1,
        says: "not made: the arguments are no JSON object",
        answer: |format, body| match shapes::last_result(format, body) {
            None => shapes::call(format, "add", &json!("two and three"), true),
            Some(_) => shapes::text(format, "I cannot", true),
        },
        more: ", stream: true",
    },
    Broken {
        name: "malformed",
        status: 1,
        says: "not made: the arguments are no JSON object",
        answer: |format, body| match shapes::last_result(format, body) {
            None => shapes::call(format, "add", &json!("two and three"), false),
            Some(_) => shapes::text(format, "I cannot", false),
        },
        more: "",
    },
    Broken {
        name: "unknown-tool",
        status: 1,
        says: "there is no tool `subtract`",
        answer: |format, body| match shapes::last_result(format, body) {
            None => shapes::call(format, "subtract", &json!({}), false),
            Some(_) => shapes::text(format, "I cannot", false),
        },
        more: "",
    },
    Broken {
        name: "silent",
        status: 3,
        says: "the model gave no answer before the [TIME] of the run were over",
        answer: |_, _| Answer::never(),
        more: "",
    },
    Broken {
        name: "endless",
        status: 1,
        says: "budget-exceeded",
        answer: |format, _| shapes::call(format, "add", &json!({"a": 2, "b": 3}), false),
        more: "",
    },
];

fn refusal(status: u16, message: &str) -> Answer {
    Answer::new(status, json!({ "error": { "message": format!("{message} {KEY}") } }).to_string())
        .with("retry-after", "0")
}

#[test]
fn each_failure_has_a_clear_outcome() {
    for format in FORMATS {
        for Broken { name, status, says, answer, more } in BROKEN {
            let model = Loopback::start(move |body| answer(format, body));
            let suite = suite(format, more);
            // The time that a silent model gets is all that its run takes.
            let suite = if *name == "silent" { suite.replace("time: 20s", "time: 1s") } else { suite };
            let seen = run(&format!("{format}-{name}"), &suite, &model);
            for request in &model.asked() {
                shapes::assert_valid(format, request, more.contains("stream"), KEY);
            }
            assert_eq!(seen.status, *status, "{format}, {name}: {}", seen.text());
            let is_hidden = format == "gemini" && name.starts_with("malformed");
            let says = if is_hidden { "MALFORMED_FUNCTION_CALL" } else { says };
            assert!(seen.text().contains(says), "{format}, {name}: {}", seen.text());
        }
    }
}

/// A change that makes a request one that its provider would refuse.
struct Spoilt {
    format: &'static str,
    change: fn(&mut Value),
}

const SPOILT: [Spoilt; 12] = [
    Spoilt { format: "openai", change: |body| body["max_output_tokens"] = json!(1) },
    Spoilt { format: "openai", change: |body| body["messages"][3]["tool_call_id"] = json!("call_2") },
    Spoilt {
        format: "openai",
        change: |body| body["messages"][2]["tool_calls"][0]["function"]["arguments"] = json!({"a": 2}),
    },
    Spoilt { format: "openai_responses", change: |body| body["max_tokens"] = json!(1) },
    Spoilt { format: "openai_responses", change: |body| body["input"][3]["call_id"] = json!("fc_1") },
    Spoilt { format: "openai_responses", change: |body| body["tools"][0]["strict"] = json!(true) },
    Spoilt { format: "anthropic", change: |body| body["messages"][2]["content"][0]["tool_use_id"] = json!("toolu_2") },
    Spoilt { format: "anthropic", change: |body| body["messages"][1]["content"][1]["input"] = json!("two") },
    Spoilt { format: "anthropic", change: |body| body["tools"][0]["input_schema"] = json!({}) },
    Spoilt {
        format: "gemini",
        change: |body| body["contents"][2]["parts"][0]["functionResponse"]["response"] = json!("5"),
    },
    Spoilt { format: "gemini", change: |body| body["contents"][2]["role"] = json!("tool") },
    Spoilt { format: "gemini", change: |body| body["tools"][0]["functionDeclarations"][0]["name"] = json!("1st") },
];

#[test]
fn the_shapes_refuse_other_requests() {
    for format in FORMATS {
        let model = Loopback::start(adder(format, false));
        run(&format!("{format}-shape"), &suite(format, ""), &model);
        let body = model.asked().last().unwrap().body.clone();
        assert_eq!(shapes::mistakes(format, &body), Vec::<String>::new());
        for Spoilt { change, .. } in SPOILT.iter().filter(|spoilt| spoilt.format == format) {
            let mut other = body.clone();
            change(&mut other);
            assert!(other != body && !shapes::mistakes(format, &other).is_empty(), "{format}: {other:#}");
        }
    }
}

#[test]
fn a_busy_provider_is_asked_again_as_it_says() {
    let model = Loopback::start(adder("openai", false));
    model.first(Answer::new(429, "{}").with("retry-after", "0"));
    let seen = run("busy-once", &suite("openai", ""), &model);
    assert_eq!(seen.status, 0, "{}", seen.text());
    assert_eq!(model.asked().len(), 3);
}

#[test]
fn without_a_key_nothing_is_asked() {
    let model = Loopback::start(adder("openai", false));
    let scene = Scene::new("agents/no-key");
    scene.write("suite.yml", &suite("openai", ""));
    let seen = scene.line(&format!("MODEL_URL={} mcprove run suite.yml", model.url()));
    assert_eq!(seen.status, 3, "{}", seen.text());
    assert!(seen.text().contains("MODEL_KEY"), "{}", seen.text());
    assert!(model.asked().is_empty());
}

#[test]
fn a_key_that_cannot_be_sent_is_none() {
    let model = Loopback::start(adder("openai", false));
    let scene = Scene::new("agents/bad-key");
    scene.write("suite.yml", &suite("openai", ""));
    for (key, says) in [("''", "is empty"), ("'a b\n'", "line end"), ("' '", "is empty"), ("'schlüssel '", "a space")]
    {
        let seen = scene.line(&format!("MODEL_KEY={key} MODEL_URL={} mcprove run suite.yml", model.url()));
        assert_eq!(seen.status, 3, "{}", seen.text());
        assert!(seen.text().contains("no-key") && seen.text().contains(says), "{}", seen.text());
    }
    assert!(model.asked().is_empty());
}

/// A refusal is no empty answer.
#[test]
fn a_refusal_ends_a_run() {
    let message = json!({ "role": "assistant", "content": null, "refusal": "I cannot help" });
    let choice = json!({ "index": 0, "message": message, "finish_reason": "stop" });
    let whole = Answer::ok(json!({ "choices": [choice] }).to_string());
    let delta = |refusal: &str| json!({ "choices": [{ "index": 0, "delta": { "refusal": refusal } }] });
    let end = json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "stop" }] });
    let stream = shapes::openai_stream(&[delta("I cannot"), delta(" help"), end]);
    for (name, answer, more) in [("refusal", whole, ""), ("refusal-stream", stream, ", stream: true")] {
        let model = Loopback::start(move |_| answer.clone());
        let seen = run(name, &suite("openai", more), &model);
        assert_eq!(seen.status, 1, "{}", seen.text());
        let told = seen.text().contains("model-stopped") && seen.text().contains("refusal: I cannot help");
        assert!(told, "{}", seen.text());
    }
}

/// What servers beside `OpenAI` leave out, or write in another way.
#[test]
fn compatible_servers_are_understood() {
    let call = |call: Value| json!({ "choices": [{ "index": 0, "delta": { "tool_calls": [call] } }] });
    let begin = json!({ "id": "call_1", "function": { "name": "add", "arguments": "{\"a\": 2," } });
    let rest = json!({ "id": null, "function": { "name": null, "arguments": " \"b\": 3}" } });
    let numbered = |mut part: Value| {
        part["index"] = json!(0);
        call(part)
    };
    let whole = |call: Value| {
        let message = json!({ "role": "assistant", "content": "", "tool_calls": [call] });
        Answer::ok(json!({ "choices": [{ "message": message, "finish_reason": "tool_calls" }] }).to_string())
    };
    let object = json!({ "type": "function", "function": { "name": "add", "arguments": { "a": 2, "b": 3 } } });
    let cases = [
        ("null-id", shapes::openai_stream(&[numbered(begin.clone()), numbered(rest.clone())]), ", stream: true"),
        ("no-index", shapes::openai_stream(&[call(begin), call(rest)]), ", stream: true"),
        ("object-stream", shapes::openai_stream(&[call(object.clone())]), ", stream: true"),
        ("object", whole(object), ""),
    ];
    for (name, answer, more) in cases {
        let is_streamed = more.contains("stream");
        let model = Loopback::start(move |body| match shapes::last_result("openai", body) {
            None => answer.clone(),
            Some(_) => shapes::text("openai", "It is 5.", is_streamed),
        });
        let seen = run(name, &suite("openai", more), &model);
        assert_eq!(seen.status, 0, "{name}: {}", seen.text());
        for request in &model.asked() {
            shapes::assert_valid("openai", request, is_streamed, KEY);
        }
    }
    let model = Loopback::start(move |_| whole(json!({ "id": "call_1", "function": { "arguments": "{}" } })));
    let seen = run("no-name", &suite("openai", ""), &model);
    assert!(seen.text().contains("choices[0].message.tool_calls[0].function.name"), "{}", seen.text());
}

/// `--timeout` bounds a run, too.
#[test]
fn the_time_of_a_case_ends_a_run() {
    let model = Loopback::start(|_| Answer::never());
    let scene = Scene::new("agents/case-time");
    scene.write("suite.yml", &suite("openai", ""));
    let seen = scene.line(&format!("MODEL_KEY=k MODEL_URL={} mcprove run suite.yml --timeout 1s", model.url()));
    assert_eq!(seen.status, 3, "{}", seen.text());
    assert!(seen.text().contains("provider-unavailable"), "{}", seen.text());
}

/// Runs a policy on a server that answers no call, and one that never stops calling.
#[test]
fn time_ends_a_silent_tool_and_an_endless_policy() {
    let script = root().join("tests/servers/slow_at.py");
    let scene = Scene::new("agents/time");
    let silent = format!("suite: Silent\nserver: {{ command: [python3, {:?}, tools/call] }}\n", script.display());
    let agent = |more: &str| {
        format!(
            "agents:\n  - name: adds\n    prompt: Add\n    provider: {{ scripted: [{{ call: add, args: {{ a: 2, b: 3 }}, times: 10000 }}] }}\n\
             \x20   budget: {{ calls: 100000, time: {more} }}\n"
        )
    };
    // The start of Python is within the budget.
    scene.write("silent.yml", &format!("{silent}{}", agent("5s")));
    let seen = scene.line("mcprove run silent.yml");
    assert_eq!(seen.status, 1, "{}", seen.text());
    let told = [
        "budget-exceeded",
        "1 add {\"a\":2,\"b\":3} → error: no answer before the time was over",
        "over the budget of [TIME] of time",
    ];
    assert!(told.iter().all(|told| seen.text().contains(told)), "{}", seen.text());
    scene.assert_nothing_survives();
    scene.write("endless.yml", &format!("suite: Endless\nserver: {{ builtin: demo }}\n{}", agent("300ms")));
    let seen = scene.line("mcprove run endless.yml");
    assert_eq!(seen.status, 1, "{}", seen.text());
    assert!(seen.text().contains("over the budget of [TIME] of time"), "{}", seen.text());
}

/// Servers that models cannot use well fail, whatever else their agents are about.
#[test]
fn faulty_servers_fail() {
    let scene = Scene::new("agents/faulty");
    let suite = std::fs::read_to_string(root().join("tests/cases/agents/faulty.yml")).unwrap();
    scene.write("faulty.yml", &suite.replace("mcprove serve", &format!("{} serve", env!("CARGO_BIN_EXE_mcprove"))));
    let seen = scene.line("mcprove run faulty.yml");
    assert_eq!(seen.status, 1, "{}", seen.text());
    assert!(seen.text().contains("4 cases: 4 failed"), "{}", seen.text());
    assert_eq!(seen.text().matches("error[loose-arguments-misunderstood]").count(), 2, "{}", seen.text());
}

/// The report has the figures of an agent as numbers.
#[test]
fn reports_have_pass_powers_and_costs() {
    let scene = Scene::copied("cases/agents", "agents-figures");
    let seen = scene.line("mcprove run passing.yml --report json=report.json");
    assert_eq!(seen.status, 0, "{}", seen.text());
    let report: Value = serde_json::from_str(&scene.line("show report.json").stdout).unwrap();
    let agents = report["sections"][0]["data"]["agents"].as_array().unwrap();
    let agent = |name: &str| agents.iter().find(|agent| agent["agent"] == name).unwrap();
    assert_eq!(agent("cost")["cost"], 0.0084);
    let powers = &agent("pass^k")["pass"];
    assert_eq!(powers[1]["k"], 2);
    // Of the 45 choices of two runs, ten have two of the five that passed.
    assert!((powers[1]["share"].as_f64().unwrap() - 10.0 / 45.0).abs() < 1e-12, "{powers}");
    assert!(powers[1]["low"].as_f64() < powers[1]["share"].as_f64(), "{powers}");
}

#[test]
fn several_models_are_a_case_each() {
    let model = Loopback::start(|body| match body["model"].as_str() {
        Some("good") => adder("openai", false)(body),
        _ => shapes::text("openai", "It is 5.", false),
    });
    let suite = suite("openai", "").replace("model: adder", "model: [good, lazy]");
    let seen = run("models", &suite, &model);
    assert_eq!(seen.status, 1, "{}", seen.text());
    assert!(seen.text().contains("adds [lazy]") && seen.text().contains("adds [good]"), "{}", seen.text());
}

#[test]
fn a_recorded_model_is_played_back_until_it_would_be_told_something_else() {
    let model = Loopback::start(adder("anthropic", false));
    let scene = Scene::new("agents/recording");
    let suite = suite("anthropic", ", recording: adder.json");
    scene.write("suite.yml", &suite);
    let missing = scene.line("mcprove run suite.yml");
    assert_eq!(missing.status, 3, "{}", missing.text());
    assert!(missing.text().contains("no-recording"), "{}", missing.text());
    let environment = format!("MODEL_KEY={KEY} MODEL_URL={}", model.url());
    let recorded = scene.line(&format!("{environment} mcprove run suite.yml --update --yes"));
    assert_eq!(recorded.status, 0, "{}", recorded.text());
    let file = scene.line("show adder.json").stdout;
    assert!(file.contains("What is 2 + 3?") && !file.contains(KEY), "{file}");
    let asked = model.asked().len();
    // Neither a key nor a model is needed any more, not even to prove the suite.
    let played = scene.line("mcprove run suite.yml --prove");
    assert_eq!(played.status, 0, "{}", played.text());
    assert!(played.text().contains("1 of 1 recorded case passed"), "{}", played.text());
    scene.write("suite.yml", &suite.replace("You add numbers.", "You add numbers well."));
    let differs = scene.line("mcprove run suite.yml");
    assert_eq!(differs.status, 1, "{}", differs.text());
    let told = ["recording-differs", "- \"system\": \"You add numbers.\"", "+ \"system\": \"You add numbers well.\""];
    assert!(told.iter().all(|told| differs.text().contains(told)), "{}", differs.text());
    scene.write("adder.json", "{}");
    assert_eq!(scene.line("mcprove check suite.yml").status, 2);
    assert_eq!(model.asked().len(), asked);
}

/// Records a suite with the model; the scene has the recording `adder.json`.
fn recorded(name: &str, suite: &str, model: &Loopback) -> Scene {
    let scene = Scene::new(&format!("agents/{name}"));
    scene.write("suite.yml", suite);
    let environment = format!("MODEL_KEY={KEY} MODEL_URL={}", model.url());
    let seen = scene.line(&format!("{environment} mcprove run suite.yml --update --yes"));
    assert_eq!(seen.status, 0, "{}", seen.text());
    scene
}

#[test]
fn a_recorded_run_counts_once() {
    let model = Loopback::start(adder("openai", false));
    let once = suite("openai", ", recording: adder.json");
    let scene = recorded("repeated-recording", &once, &model);
    scene.write("suite.yml", &format!("{once}    repeat: {{ runs: 3, pass: [2] }}\n"));
    let seen = scene.line("mcprove run suite.yml");
    assert_eq!(seen.status, 3, "{}", seen.text());
    assert!(seen.text().contains("1 run is recorded in `adder.json`, and `repeat` asks for 3"), "{}", seen.text());
}

/// A mutant that changes what a recorded model is told is undecided, unless something else notices it.
#[test]
fn a_recording_kills_no_mutant() {
    let model = Loopback::start(adder("openai", false));
    let suite = suite("openai", ", recording: adder.json");
    let scene = recorded("proved-recording", &format!("{suite}    accepted_by: [openai]\n"), &model);
    let seen = scene.line("mcprove prove suite.yml --report json=report.json");
    let report: Value = serde_json::from_str(&scene.line("show report.json").stdout).unwrap();
    let text = report.to_string();
    assert!(!text.contains("recording-differs") && !seen.text().contains("recording-differs"), "{}", seen.text());
    assert!(text.contains("the model's input differs from the recording"), "{}", seen.text());
    assert!(text.contains("the tool `"), "{}", seen.text());
}

/// A model that the recording does not know is asked with `--update`, and only what passes is recorded.
#[test]
fn a_recording_of_another_model_is_replaced() {
    let model = Loopback::start(adder("openai", false));
    let before = suite("openai", ", recording: adder.json");
    let scene = recorded("other-model", &before, &model);
    let after = before.replace("model: adder", "model: subtracter");
    scene.write("suite.yml", &after);
    let seen = scene.line("mcprove run suite.yml");
    assert_eq!(seen.status, 3, "{}", seen.text());
    assert!(seen.text().contains("nothing of the model `subtracter` is recorded"), "{}", seen.text());
    let environment = format!("MODEL_KEY={KEY} MODEL_URL={}", model.url());
    scene.write("suite.yml", &after.replace("contains: \"5\"", "contains: six"));
    let seen = scene.line(&format!("{environment} mcprove run suite.yml --update --yes"));
    assert_eq!(seen.status, 1, "{}", seen.text());
    let words = seen.text().split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("not recorded, since it did not pass"), "{words}");
    scene.write("suite.yml", &after);
    let seen = scene.line(&format!("{environment} mcprove run suite.yml --update --yes"));
    assert_eq!(seen.status, 0, "{}", seen.text());
    assert_eq!(scene.line("mcprove run suite.yml").status, 0);
}

/// Errors that come in the middle of a stream are those of the provider, which is asked again; redirects are not followed.
#[test]
fn a_stream_that_ends_with_an_error_is_asked_for_again() {
    let error = json!({ "type": "server_error", "message": "Overloaded" });
    for (format, name, event) in [
        ("anthropic", "named", json!({ "type": "error", "error": error })),
        ("openai_responses", "plain", json!({ "type": "error", "code": "server_error", "message": "Overloaded" })),
        ("openai_responses", "failed", json!({ "error": error, "status": "failed", "output": [] })),
    ] {
        let model = Loopback::start(adder(format, true));
        model.first(shapes::openai_stream(std::slice::from_ref(&event)));
        let seen = run(&format!("overloaded-once-{name}"), &suite(format, ", stream: true"), &model);
        assert_eq!(seen.status, 0, "{name}: {}", seen.text());
        let model = Loopback::start(move |_| shapes::openai_stream(std::slice::from_ref(&event)));
        let seen = run(&format!("overloaded-{name}"), &suite(format, ", stream: true"), &model);
        assert_eq!(seen.status, 3, "{name}: {}", seen.text());
        let says = format!("`{format}` ends its answer with an error: Overloaded");
        assert!(seen.text().contains(&says), "{name}: {}", seen.text());
    }
    let model = Loopback::start(|_| Answer::new(307, "").with("location", "http://127.0.0.1:9/"));
    let seen = run("elsewhere", &suite("openai", ""), &model);
    assert_eq!(seen.status, 3, "{}", seen.text());
    assert!(seen.text().contains("redirects to another address"), "{}", seen.text());
}
