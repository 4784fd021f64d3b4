//! Servers that nobody here wrote, pinned under `tests/real/`.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::harness::{Scene, is_full, is_installed, root, snapshot};

/// How often the order-dependent suite must pass here, and with `MCPROVE_FULL=1`; its first lines have the command for
/// 200 times.
const ROUNDS: [usize; 2] = [5, 20];

/// What is found in tools as these servers list them; whoever adds a lint reads what it says of servers that work.
#[test]
fn what_lints_say_of_real_servers() {
    if !is_installed() {
        return;
    }
    let scene = Scene::new("real/lints");
    let folder = scene.folder.display();
    let servers = ["everything", "memory"].map(|name| format!("node_modules/.bin/mcp-server-{name}"));
    let filesystem = format!("node_modules/.bin/mcp-server-filesystem {folder}");
    let python = ["time", "git"].map(|name| format!("venv/bin/mcp-server-{name}"));
    let mut seen = String::new();
    for server in servers.into_iter().chain([filesystem]).chain(python) {
        let command =
            format!("lint --level advice --report json=lints.json -- {}/tests/real/{server}", root().display());
        let status = scene.run(&command).status;
        let text = fs::read_to_string(scene.folder.join("lints.json")).unwrap();
        let report: Value = serde_json::from_str(&text).unwrap();
        let name = server.split(' ').next().unwrap();
        let _ = writeln!(seen, "{name}: exit {status}\n{}", told(&report));
    }
    snapshot("lints-real", &seen);
    scene.assert_nothing_survives();
}

/// What has changed between releases of one server, and that nothing has between two starts of one release.
#[test]
fn releases_of_real_servers_differ_where_they_do() {
    if !is_installed() {
        return;
    }
    let scene = Scene::new("real/releases");
    fs::create_dir(scene.folder.join("files")).unwrap();
    let mut seen = String::new();
    let releases = [("server-filesystem-2026.1.14", "server-filesystem"), ("server-memory-2025.4.25", "server-memory")];
    for (old, new) in releases {
        let command = |package: &str| {
            let start = root().join("tests/real/node_modules").join(package).join("dist/index.js");
            format!(
                "mcprove snapshot --env MEMORY_FILE_PATH={}/memory.json -- node {} files",
                scene.folder.display(),
                start.display()
            )
        };
        let with = |options: &str, package: &str| command(package).replace(" -- ", &format!(" {options} -- "));
        assert_eq!(scene.line(&with(&format!("-o {old}.json"), old)).status, 0, "{old} is recorded");
        let again = scene.line(&with(&format!("--against {old}.json --fail-on cosmetic"), old));
        assert_eq!((again.status, again.stdout.as_str()), (0, "nothing has changed\n"), "{old}: {}", again.stderr);
        let drift = scene.line(&with(&format!("--against {old}.json"), &format!("@modelcontextprotocol/{new}")));
        let _ = writeln!(seen, "{old} and later: exit {}\n{}", drift.status, drift.stdout);
    }
    snapshot("releases-real", &seen);
    let made: Vec<_> = fs::read_dir(scene.folder.join("files")).unwrap().collect();
    assert!(made.is_empty(), "recording made {made:?}");
    scene.assert_nothing_survives();
}

/// Where the processes of a server with OAuth listen: variables of their environment, and of its suites.
const SERVER_PORT: &str = "SERVER_PORT";
const AUTHORIZATION_PORT: &str = "AUTHORIZATION_PORT";

/// The authorization server of `oidc-provider`, under the Node that comes with the packages.
const OIDC_PROVIDER: OAuthProcess = OAuthProcess {
    command: "tests/real/node_modules/.bin/node tests/real/servers/oidc.mjs",
    listens_at: &[AUTHORIZATION_PORT],
};

/// A program with a part in OAuth.
#[derive(Clone, Copy)]
struct OAuthProcess {
    command: &'static str,
    listens_at: &'static [&'static str],
}

impl OAuthProcess {
    /// A server, and perhaps its authorization server in the same process.
    const fn server(command: &'static str) -> Self {
        Self { command, listens_at: &[SERVER_PORT] }
    }
}

/// An example whose authorization server may check the resource.
#[test]
fn what_rules_of_oauth_say_of_the_typescript_sdk() {
    const EXAMPLE: [&str; 2] = [
        "node tests/real/node_modules/@modelcontextprotocol/sdk/dist/esm/examples/server/simpleStreamableHttp.js --oauth",
        "node tests/real/node_modules/@modelcontextprotocol/sdk/dist/esm/examples/server/simpleStreamableHttp.js --oauth \
         --oauth-strict",
    ];
    let example = EXAMPLE.map(|command| OAuthProcess { command, listens_at: &[SERVER_PORT, AUTHORIZATION_PORT] });
    let ways = [("--oauth", &example[..1]), ("--oauth-strict", &example[1..])];
    judge_oauth("typescript-sdk", &ways, &["typescript-sdk"]);
}

/// Its endpoints, and a server of ours behind them that may check the resource.
#[test]
fn what_rules_of_oauth_say_of_the_python_sdk() {
    let lax = OAuthProcess::server("tests/real/venv/bin/python tests/real/servers/sdk2_auth.py any-resource");
    let strict = OAuthProcess::server("tests/real/venv/bin/python tests/real/servers/sdk2_auth.py");
    judge_oauth("python-sdk", &[("any-resource", &[lax]), ("strict", &[strict])], &["python-sdk"]);
}

/// An authorization server of its own, and a server on `FastMCP` that reads its tokens.
#[test]
fn what_rules_of_oauth_say_of_oidc_provider() {
    let fastmcp = OAuthProcess::server("tests/real/venv/bin/python tests/real/servers/fastmcp_auth.py remote");
    let suites = ["oidc-provider", "oidc-provider-grants"];
    judge_oauth("oidc-provider", &[("FastMCP behind it", &[OIDC_PROVIDER, fastmcp])], &suites);
}

/// `FastMCP` between its clients and an authorization server.
#[test]
fn what_rules_of_oauth_say_of_the_proxy_of_fastmcp() {
    let proxy = OAuthProcess::server("tests/real/venv/bin/python tests/real/servers/fastmcp_auth.py proxy");
    judge_oauth("fastmcp-proxy", &[("before oidc-provider", &[OIDC_PROVIDER, proxy])], &["fastmcp-proxy"]);
}

/// `FastMCP` as an authorization server.
#[test]
fn what_rules_of_oauth_say_of_the_provider_of_fastmcp() {
    let provider = OAuthProcess::server("tests/real/venv/bin/python tests/real/servers/fastmcp_auth.py provider");
    judge_oauth("fastmcp-provider", &[("in memory", &[provider])], &["fastmcp-provider"]);
}

/// A process that ends with its test.
struct Started(Child);

impl Drop for Started {
    fn drop(&mut self) {
        // It has ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs suites against servers that are started in several ways, and compares the verdicts with a snapshot.
fn judge_oauth(name: &str, ways: &[(&str, &[OAuthProcess])], suites: &[&str]) {
    if !is_installed() {
        return;
    }
    let scene = Scene::new(&format!("real/oauth-{name}"));
    let mut seen = String::new();
    for (way, processes) in ways {
        let free = || TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string();
        let ports = BTreeMap::from([(SERVER_PORT, free()), (AUTHORIZATION_PORT, free())]);
        let started: Vec<Started> = processes.iter().map(|process| start(&scene, *process, &ports)).collect();
        for suite in suites {
            let path = root().join(format!("tests/real/authorization/{suite}.yml"));
            let line = format!("mcprove run '{}' --state-dir state --report json=oauth.json", path.display());
            let variables: Vec<_> = ports.iter().map(|(name, port)| format!("{name}={port}")).collect();
            let status = scene.line(&format!("{} {line}", variables.join(" "))).status;
            let report = fs::read_to_string(scene.folder.join("oauth.json")).unwrap();
            let _ = writeln!(seen, "{suite}, {way}: exit {status}");
            seen += &verdicts(&serde_json::from_str(&report).unwrap());
        }
        drop(started);
    }
    snapshot(&format!("oauth-{name}"), &seen);
    scene.assert_nothing_survives();
}

/// Starts a process, and waits until it listens.
fn start(scene: &Scene, process: OAuthProcess, ports: &BTreeMap<&str, String>) -> Started {
    let (program, arguments) = process.command.split_once(' ').unwrap();
    let started = Command::new(program)
        .args(arguments.split_whitespace())
        .current_dir(root())
        .envs(ports)
        .envs([("MCP_PORT", &ports[SERVER_PORT]), ("MCP_AUTH_PORT", &ports[AUTHORIZATION_PORT])])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let started = Started(started);
    scene.wait_until(process.command, || {
        process.listens_at.iter().all(|name| TcpStream::connect(format!("localhost:{}", ports[name])).is_ok())
    });
    started
}

/// The cases of a report, a line for each outcome.
fn verdicts(report: &Value) -> String {
    let mut verdicts: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let cases = report["suites"].as_array().unwrap().iter().flat_map(|suite| suite["cases"].as_array().unwrap());
    for case in cases {
        let name = case["case"]["name"].as_str().unwrap().trim_start_matches("authorization: ");
        verdicts.entry(case["outcome"].as_str().unwrap()).or_default().push(name);
    }
    let mut text = String::new();
    for (outcome, mut names) in verdicts {
        names.sort_unstable();
        let _ = writeln!(text, "  {outcome}: {}", names.join(", "));
    }
    text
}

/// The findings and the providers of a report, a line each.
fn told(report: &Value) -> String {
    let mut text = String::new();
    for case in report["suites"][0]["cases"].as_array().unwrap() {
        for finding in case["findings"].as_array().unwrap() {
            let _ = writeln!(text, "  {}: {}", finding["code"].as_str().unwrap(), finding["message"].as_str().unwrap());
            for line in finding["evidence"][0][1].as_str().unwrap_or_default().lines() {
                let _ = writeln!(text, "    {line}");
            }
        }
    }
    for verdict in report["sections"][0]["data"]["providers"].as_array().unwrap() {
        let refused: BTreeSet<&str> =
            verdict["refuses"].as_array().unwrap().iter().filter_map(|one| one["lint"].as_str()).collect();
        let refused: Vec<&str> = refused.into_iter().collect();
        let _ = writeln!(text, "  {}: {}", verdict["provider"].as_str().unwrap(), refused.join(" "));
    }
    text
}

#[test]
fn order_is_kept_every_time() {
    if !is_installed() {
        return;
    }
    let scene = Scene::new("real/order");
    let suite = root().join("examples/real/memory-order.yml");
    let rounds = ROUNDS[usize::from(is_full())];
    for round in 1..=rounds {
        if let Some(failure) = run(&scene, &suite, "MEMORY_FILE=rounds ") {
            panic!("round {round} of {rounds}:\n{failure}");
        }
    }
    scene.assert_nothing_survives();
}

/// Runs a suite in its place; what is shown where it does not pass.
fn run(scene: &Scene, suite: &Path, variables: &str) -> Option<String> {
    let seen = scene.line(&format!("{variables}mcprove run '{}' --state-dir state", suite.display()));
    (seen.status != 0).then(|| seen.text())
}
