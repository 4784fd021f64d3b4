//! The block `authorization`: the correct server keeps every rule, and each flaw breaks the rule that it is about.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::thread;
use std::time::Duration;

use mcprove::demo::faulty::DemoFault;
use mcprove::demo::http::BoundServer;
use mcprove::demo::{AuthorizationFlaw, AuthorizationSettings, Settings};
use regex::Regex;
use serde_json::Value;

use crate::harness::{Scene, snapshot};

/// What every suite here gives to the block.
const BLOCK: &str =
    "login: { username: ann, password: ann-demo-password, decision: allow }\n  scopes: [\"users:read\"]";

/// A second user, with few scopes and with all.
const USERS: &str = r#"users:
    ben-reads:
      login: { username: ben, password: ben-demo-password, decision: allow }
      may: [{ call: list_users }]
      may_not: [{ call: create_user, args: { name: Ben, email: ben@example.com } }]
    ben-writes:
      login: { username: ben, password: ben-demo-password, decision: allow }
      scopes: ["users:read", "users:write"]
      may: [{ call: create_user, args: { name: Ben, email: ben@example.com } }]
  "#;

/// What takes no time.
const WITHOUT_EXPIRY: &str = "other_resource: /other\n  step_up: { call: create_user, args: { name: Ann, email: ann@example.com } }\n  except: [expiry]";

/// Starts servers within this process, which live as long as it does, and gives their addresses by their names.
fn start(servers: &[Option<AuthorizationFlaw>], token_lifetime: Duration) -> Vec<(&'static str, String)> {
    let (sender, urls) = std::sync::mpsc::channel();
    let servers = servers.to_vec();
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let serving = async {
            let mut serving = Vec::new();
            for flaw in servers {
                let authorization = Some(AuthorizationSettings { token_lifetime, flaw });
                let settings = Settings { authorization, ..Settings::default() };
                let bound = BoundServer::new("127.0.0.1:0".parse().unwrap()).await.unwrap();
                let bound = bound.with(settings, &DemoFault::none()).unwrap();
                sender.send((flaw.map_or("correct", AuthorizationFlaw::name), bound.url())).unwrap();
                serving.push(tokio::spawn(bound.serve()));
            }
            drop(sender);
            for server in serving {
                server.await.unwrap().unwrap();
            }
        };
        runtime.block_on(serving);
    });
    urls.iter().collect()
}

fn suite(servers: &[(&str, String)], block: &str) -> String {
    let mut text = "suite: Authorization\nservers:\n".to_owned();
    for (name, url) in servers {
        // The session of a case must open, whatever the metadata say.
        let token_url = url.replace("/mcp", "/oauth/token").replace("/other", "/oauth/token");
        let auth = format!("token_url: \"{token_url}\", client_id: demo-service, client_secret: demo-service-secret");
        let _ = writeln!(text, "  {name}:\n    url: \"{url}\"\n    auth: {{ client_credentials: {{ {auth} }} }}");
        text.push_str("    protocol: 2025-11-25\n");
    }
    text + "authorization:\n  " + BLOCK + "\n  " + USERS + block + "\nallow: [create_user]\n"
}

/// `server: rule: outcome`, of each case that did not pass, and for those with a finding its message.
fn verdicts(scene: &Scene, suite: &str, outcomes: &[&str]) -> BTreeSet<String> {
    scene.write("suite.yml", suite);
    let seen = scene.run("run suite.yml --parallel 8 --report ndjson=events.ndjson");
    let events = fs::read_to_string(scene.folder.join("events.ndjson")).unwrap_or_default();
    scene.assert_nothing_survives();
    assert!(!events.contains("-demo-password") && !events.contains("demo-service-secret"), "a secret is shown");
    let events = events.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let cases: Vec<Value> = events.filter_map(|event| event.get("case-finished").cloned()).collect();
    assert!(!cases.is_empty(), "{}", seen.text());
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let verdict = |case: &Value| {
        let id = text(&case["case"]["id"]);
        let server = id.rsplit('@').next().unwrap().split('/').next().unwrap().to_owned();
        let rule = text(&case["case"]["name"]).replace("authorization: ", "");
        format!("{server}: {rule}: {} {}", text(&case["outcome"]), text(&case["findings"][0]["message"]))
    };
    cases.iter().filter(|case| outcomes.contains(&text(&case["outcome"]).as_str())).map(verdict).collect()
}

/// Lines as a table that can be compared.
fn lines(verdicts: &BTreeSet<String>) -> String {
    let port = Regex::new(r"127\.0\.0\.1:\d+").unwrap();
    let lines: Vec<&str> = verdicts.iter().map(|line| line.trim_end()).collect();
    port.replace_all(&lines.join("\n"), "127.0.0.1:PORT").into_owned()
}

const FOUND: &[&str] = &["failed", "warned"];
const NOT_PASSED: &[&str] = &["failed", "warned", "inconclusive", "errored", "skipped"];

#[test]
fn a_correct_server_keeps_every_rule_in_both_eras() {
    let servers = start(&[None], Duration::from_secs(3600));
    let suite = suite(&servers, WITHOUT_EXPIRY).replace("protocol: 2025-11-25", "protocol: [2025-11-25, 2026-07-28]");
    let scene = Scene::bare("authorization/correct");
    // The later revision has no sessions.
    let skipped = ["session_token", "session_user"].map(|rule| format!("correct: {rule}: skipped "));
    assert_eq!(verdicts(&scene, &suite, NOT_PASSED), BTreeSet::from(skipped));
}

#[test]
fn two_servers_with_one_authorization_server_refuse_the_tokens_of_each_other() {
    let flaw = AuthorizationFlaw::AcceptsAnyAudience;
    let mut servers = start(&[None, Some(flaw)], Duration::from_secs(3600));
    let seconds = [("second-correct", 0), ("second-flawed", 1)]
        .map(|(name, first)| (name, servers[first].1.replace("/mcp", "/other")));
    servers.extend(seconds);
    let scene = Scene::bare("authorization/two-servers");
    let suite = suite(&servers, "rules: [audience]\n  other_resource: [/mcp, /other]");
    snapshot("authorization-two-servers", &lines(&verdicts(&scene, &suite, NOT_PASSED)));
}

#[test]
fn every_flaw_breaks_its_rule_and_no_other() {
    let flaws: Vec<Option<AuthorizationFlaw>> = AuthorizationFlaw::ALL.iter().copied().map(Some).collect();
    let servers = start(&flaws, Duration::from_secs(3600));
    // A run of few servers looks for few secrets in all that it shows.
    let found = servers.chunks(4).map(|servers| {
        let scene = Scene::bare(&format!("authorization/{}", servers[0].0));
        verdicts(&scene, &suite(servers, WITHOUT_EXPIRY), FOUND)
    });
    snapshot("authorization-flaws", &lines(&found.flatten().collect()));
}

#[test]
fn the_end_of_a_token_is_waited_for() {
    let servers = start(&[None, Some(AuthorizationFlaw::ServesExpired)], Duration::from_secs(3));
    let scene = Scene::bare("authorization/expiry");
    let suite = suite(&servers, "rules: [expiry]\n  leeway: 1ms\n  longest_wait: 1m");
    snapshot("authorization-expiry", &lines(&verdicts(&scene, &suite, NOT_PASSED)));
}
