//! Servers that are watched: what is reported of them when they go, come back and change.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use mcprove::drift::Recorded;
use mcprove::monitor::exposition::exposition;
use mcprove::monitor::fold::{RunObservation, TimedCall};
use mcprove::monitor::ledger::{Ledger, RunRecord, TargetName};
use rcgen::{CertificateParams, KeyPair};
use regex::Regex;
use serde_json::Value;

use crate::harness::{Running, Scene, python, root};

/// One probe of a server over HTTP, and one test that is none.
const SUITE: &str = r"
suite: Watched
server: { url: '{{ env.URL }}' }
tests:
  - { name: echoes, probe: true, call: echo, args: { message: hello }, expect: [{ is_error: false }] }
  - { name: is no probe, call: echo, args: { message: hello }, expect: [{ is_error: true }] }
";

/// How often a test has its targets run; all waits are for conditions.
const FAST: &str = "monitor suite.yml --listen 127.0.0.1:0 --every 100ms";

/// Begins a monitor; also returns where its metrics are.
fn begin(scene: &Scene, arguments: &str, variables: &[(&str, &str)]) -> (Running, String) {
    let mut running = scene.begin_joined(arguments, variables);
    let said = running.until("/metrics");
    let address = said.rsplit_once("http://").unwrap().1.trim_end_matches("/metrics").to_owned();
    (running, address)
}

/// The body of a page.
fn page(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.split_once("\r\n\r\n").unwrap().1.to_owned()
}

/// The value of the sample whose name and labels contain all of these.
fn sample(metrics: &str, parts: &[&str]) -> Option<f64> {
    let line = metrics.lines().find(|line| !line.starts_with('#') && parts.iter().all(|part| line.contains(part)))?;
    line.rsplit_once(' ')?.1.parse().ok()
}

/// A receiver of webhooks, and their bodies.
fn receiver() -> (String, Receiver<Value>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/secret-path", listener.local_addr().unwrap());
    let (sender, bodies) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut reader = BufReader::new(stream.unwrap());
            let (mut length, mut line) = (0, String::new());
            while reader.read_line(&mut line).unwrap() > 2 {
                if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length: ") {
                    length = value.trim().parse().unwrap();
                }
                line.clear();
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
            reader.into_inner().write_all(answer).unwrap();
            if sender.send(serde_json::from_slice(&body).unwrap()).is_err() {
                return;
            }
        }
    });
    (url, bodies)
}

#[test]
fn a_server_that_stops_and_comes_back_is_reported() {
    let scene = Scene::new("monitor/stops");
    scene.write("suite.yml", SUITE);
    let served = scene.serve("demo");
    let (url, port) = (served.url.clone(), served.url.split(['/', ':']).nth(4).unwrap().to_owned());
    let (hook, bodies) = receiver();
    let variables = [("URL", url.as_str()), ("HOOK", hook.as_str())];
    let (mut running, address) = begin(&scene, &format!("{FAST} --webhook-env HOOK"), &variables);
    running.until("suite.yml@server/auto  up\n");
    let metrics = page(&address, "/metrics");
    let target = "{suite=\"suite.yml\",server=\"server\",revision=\"auto\"";
    assert_eq!(sample(&metrics, &["mcprove_target_up", target]), Some(1.0), "{metrics}");
    assert_eq!(sample(&metrics, &["mcprove_cases", target, "outcome=\"passed\""]), Some(1.0));
    assert_eq!(sample(&metrics, &["mcprove_cases", target, "outcome=\"failed\""]), Some(0.0));
    assert!(sample(&metrics, &["mcprove_tool_duration_seconds_count", target, "tool=\"echo\""]) >= Some(1.0));
    assert_eq!(page(&address, "/healthz"), "ok\n");
    drop(served);
    running.until("suite.yml@server/auto  connection_refused: ");
    scene.wait_until("the metrics say so", || {
        let metrics = page(&address, "/metrics");
        sample(&metrics, &["mcprove_target_up"]) == Some(0.0)
            && sample(&metrics, &["mcprove_target_reason", "connection_refused"]) == Some(1.0)
            && sample(&metrics, &["mcprove_target_reason", "timeout"]) == Some(0.0)
    });
    let again = scene.begin(&format!("serve demo --http 127.0.0.1:{port}"));
    running.until("suite.yml@server/auto  up\n");
    let told: Vec<Value> = bodies.iter().take(2).collect();
    assert_eq!([&told[0]["from"], &told[0]["to"]], ["up", "connection_refused"], "{told:?}");
    assert_eq!([&told[1]["from"], &told[1]["to"]], ["connection_refused", "up"], "{told:?}");
    let all = page(&address, "/metrics");
    assert!(!all.contains("secret-path"), "{all}");
    running.signal("TERM");
    let seen = running.finish();
    assert_eq!(seen.status, 0, "{}", seen.text());
    assert!(!seen.stdout.contains("secret-path"), "{}", seen.text());
    again.signal_until_it_ends("TERM");
    scene.assert_nothing_survives();
}

#[test]
fn a_restart_reports_nothing_that_was_known() {
    let scene = Scene::new("monitor/restarts");
    scene.write("suite.yml", SUITE);
    let (hook, bodies) = receiver();
    let variables = [("URL", "http://127.0.0.1:1/mcp"), ("HOOK", hook.as_str())];
    let once = "monitor suite.yml --listen 127.0.0.1:0 --runs 1 --webhook-env HOOK";
    let first = scene.begin_with(once, &variables).finish();
    assert_eq!(first.status, 1, "{}", first.text());
    assert!(first.stdout.contains("  connection_refused: "), "{}", first.text());
    let second = scene.begin_with(once, &variables).finish();
    assert_eq!((second.status, second.stdout.as_str()), (1, ""), "{}", second.text());
    let served = scene.serve("demo");
    let third = scene.begin_with(once, &[("URL", &served.url), variables[1]]).finish();
    assert!(third.status == 0 && third.stdout.contains("  up\n"), "{}", third.text());
    let told: Vec<Value> = bodies.iter().take(2).collect();
    assert_eq!([&told[0]["to"], &told[1]["to"]], ["connection_refused", "up"]);
    assert!(bodies.try_recv().is_err());
}

#[test]
fn a_server_over_stdio_ends_with_every_run_and_with_the_monitor() {
    let scene = Scene::new("monitor/stdio");
    let suite = SUITE.replace("url: '{{ env.URL }}'", "command: ['{{ env.MCPROVE }}', serve, demo]");
    scene.write("suite.yml", &suite);
    let (mut running, address) = begin(&scene, FAST, &[]);
    running.until("suite.yml@server/auto  up\n");
    scene.wait_until("several runs are over", || {
        sample(&page(&address, "/metrics"), &["mcprove_runs_total", "result=\"up\""]) >= Some(3.0)
    });
    running.signal("INT");
    assert_eq!(running.finish().status, 0);
    scene.assert_nothing_survives();
}

#[test]
fn servers_that_hang_hold_up_no_other() {
    let scene = Scene::new("monitor/hangs");
    let hanging =
        ["hangs0", "hangs1", "hangs2"].map(|name| format!("  {name}: {{ command: [sleep, '600'] }}\n")).concat();
    let suite = format!(
        "suite: S\nrun_options: {{ start_timeout: 600s }}\nservers:\n{hanging}  good: {{ command: ['{{{{ env.MCPROVE }}}}', serve, demo] }}\n\
         tests: [{{ name: echoes, probe: true, call: echo, args: {{ message: hello }}, expect: [{{ is_error: false }}] }}]\n"
    );
    scene.write("suite.yml", &suite);
    let (mut running, address) = begin(&scene, &format!("{FAST} --at-a-time 1 --timeout 600s"), &[]);
    running.until("suite.yml@good/auto  up\n");
    scene.wait_until("the good one goes on", || {
        sample(&page(&address, "/metrics"), &["mcprove_runs_total", "good", "result=\"up\""]) >= Some(3.0)
    });
    let seen = running.signal_until_it_ends("TERM");
    assert!(!seen.stdout.contains("hangs"), "a run that was cut off says nothing: {}", seen.text());
    scene.assert_nothing_survives();
}

#[test]
fn suites_are_read_again_unless_they_have_mistakes() {
    let scene = Scene::new("monitor/reload");
    scene.write("suite.yml", SUITE);
    let served = scene.serve("demo");
    let (mut running, address) = begin(&scene, FAST, &[("URL", &served.url)]);
    running.until("suite.yml@server/auto  up\n");
    scene.write("suite.yml", "suite: Watched\nserver: { nothing: here }\n");
    running.signal("HUP");
    running.until("goes on with those that it has\n");
    assert_eq!(sample(&page(&address, "/metrics"), &["mcprove_reloads_total", "failed"]), Some(1.0));
    scene.write("suite.yml", &SUITE.replace("{ is_error: false }", "{ is_error: true }"));
    running.signal("HUP");
    running.until("read the suites again: 1 target");
    running.until("suite.yml@server/auto  failed: `echoes`: ");
    running.signal("TERM");
    assert_eq!(running.finish().status, 0);
}

#[test]
fn a_state_that_cannot_be_written_is_a_warning() {
    let scene = Scene::new("monitor/full");
    scene.write("suite.yml", SUITE);
    scene.write("taken", "a file in the place of the folder");
    let served = scene.serve("demo");
    let line = "monitor suite.yml --listen 127.0.0.1:0 --every 100ms --runs 3 --state-dir taken";
    let seen = scene.begin_with(line, &[("URL", &served.url)]).finish();
    assert_eq!(seen.status, 0, "{}", seen.text());
    assert_eq!(seen.stderr.matches("cannot write the state to `taken`").count(), 1, "{}", seen.text());
    assert_eq!(fs::read_to_string(scene.folder.join("taken")).unwrap(), "a file in the place of the folder");
}

/// A program that ends with this.
struct Ending(Child);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

#[test]
fn certificates_and_credentials() {
    let scene = Scene::new("monitor/certificates");
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap().self_signed(&key).unwrap();
    scene.write("server.pem", &certificate.pem());
    scene.write("server.key", &key.serialize_pem());
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let server = root().join("tests/servers/guarded.py");
    let words = [port.to_string(), "cert=server.pem".to_owned(), "key=server.key".to_owned()];
    let _server = Ending(python().arg(server).args(words).current_dir(&scene.folder).spawn().unwrap());
    scene.wait_until("the server listens", || TcpStream::connect(("127.0.0.1", port)).is_ok());
    let (trust, auth) = (
        "tls: { ca: server.pem }",
        "auth: { client_credentials: { client_id: mcprove, client_secret: open sesame 7 } }",
    );
    for (more, expected) in [("", "tls_error"), (trust, "auth_required"), (&format!("{trust}, {auth}"), "up")] {
        let url = format!("https://127.0.0.1:{port}/mcp");
        let test = "tests: [{ name: any, probe: true, call: whoami, expect: [{ is_error: false }] }]";
        scene.write("suite.yml", &format!("suite: S\nserver: {{ url: '{url}', {more} }}\n{test}\n"));
        let (mut running, address) = begin(&scene, &format!("{FAST} --state-dir state-{expected}"), &[]);
        running.until(&format!("suite.yml@server/auto  {expected}"));
        if expected == "up" {
            let days = sample(&page(&address, "/metrics"), &["mcprove_certificate_days_left"]);
            assert!(days > Some(1000.0), "{days:?}");
        }
        running.signal("TERM");
        let seen = running.finish();
        assert!(seen.status == 0 && !seen.stdout.contains("sesame"), "{}", seen.text());
    }
}

/// The names of all metrics, with the endings of histograms.
fn names_of_metrics() -> BTreeSet<String> {
    let mut ledger = Ledger::default();
    let name = TargetName { suite: "s".to_owned(), server: "s".to_owned(), revision: "auto".to_owned() };
    ledger.watch("s", &name);
    let calls = vec![TimedCall { tool: "echo".to_owned(), took: Duration::from_millis(3) }];
    let (offered, certificate_end) = (Some(Recorded::default()), Some(30_000));
    let observation = RunObservation { calls, offered, certificate_end, ..RunObservation::default() };
    ledger.record("s", RunRecord { observation, lateness: Duration::ZERO, skipped: 0, now: 1 });
    let text = exposition(&ledger);
    let samples = text.lines().filter(|line| !line.starts_with('#'));
    samples.map(|line| line.split(['{', ' ']).next().unwrap().to_owned()).collect()
}

#[test]
fn rules_dashboard_and_guide_name_metrics_that_are_there() {
    let names = names_of_metrics();
    let metric = Regex::new(r"mcprove_[a-z_]+").unwrap();
    let mut used = BTreeSet::new();
    for file in ["examples/monitor/alerts.yaml", "examples/monitor/alerts_test.yaml", "examples/monitor/grafana.json"] {
        let text = fs::read_to_string(root().join(file)).unwrap();
        let found: BTreeSet<String> = metric.find_iter(&text).map(|found| found.as_str().to_owned()).collect();
        let unknown: Vec<&String> = found.difference(&names).collect();
        assert!(!found.is_empty() && unknown.is_empty(), "{file} names {unknown:?}, which are not among {names:?}");
        used.extend(found);
    }
    let guide = fs::read_to_string(root().join("docs/guides/monitoring.md")).unwrap();
    let base =
        |name: &String| name.trim_end_matches("_bucket").trim_end_matches("_sum").trim_end_matches("_count").to_owned();
    let undocumented: BTreeSet<String> =
        names.iter().map(base).filter(|name| !guide.contains(&format!("`{name}"))).collect();
    assert!(undocumented.is_empty(), "the guide does not say what these are: {undocumented:?}");
    let _: Value =
        serde_json::from_str(&fs::read_to_string(root().join("examples/monitor/grafana.json")).unwrap()).unwrap();
}

#[test]
fn examples_give_flags_that_are_there() {
    let scene = Scene::new("monitor/flags");
    let help = scene.run("monitor --help").stdout;
    let flag = Regex::new(r"--[a-z][a-z-]+").unwrap();
    for file in ["mcprove-monitor.service", "kubernetes.yaml", "alerts.yaml", "collector.yaml", "README.md"] {
        let text = fs::read_to_string(root().join("examples/monitor").join(file)).unwrap();
        let own = text
            .lines()
            .filter(|line| ["systemctl", "otelcol", "prometheus --config"].iter().all(|other| !line.contains(other)));
        for found in own.flat_map(|line| flag.find_iter(line)) {
            assert!(
                help.contains(&format!("{} ", found.as_str())) || help.contains(&format!("{}\n", found.as_str())),
                "{file}: {}",
                found.as_str()
            );
        }
    }
}

/// Where Prometheus is installed, its own program checks the rules.
#[test]
fn promtool_accepts_the_rules() {
    let run = |arguments: &[&str]| {
        Command::new("promtool").args(arguments).current_dir(root().join("examples/monitor")).output().ok()
    };
    for arguments in [&["check", "config", "prometheus.yaml"][..], &["test", "rules", "alerts_test.yaml"]] {
        if let Some(output) = run(arguments) {
            assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        }
    }
}
