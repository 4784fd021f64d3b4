//! Servers that nobody here wrote, pinned under `tests/real/`.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};

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

/// What the rules of OAuth say of an example of the TypeScript SDK, whose authorization server may check the resource.
#[test]
fn what_rules_of_oauth_say_of_the_typescript_sdk() {
    if !is_installed() {
        return;
    }
    let scene = Scene::new("real/authorization");
    let suite = root().join("tests/real/authorization/typescript-sdk.yml");
    let mut seen = String::new();
    for mode in ["--oauth", "--oauth-strict"] {
        let free = || TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string();
        let (port, of_authorization) = (free(), free());
        let example =
            "tests/real/node_modules/@modelcontextprotocol/sdk/dist/esm/examples/server/simpleStreamableHttp.js";
        let mut server = Command::new("node")
            .args([example, "--oauth", mode])
            .current_dir(root())
            .envs([("MCP_PORT", &port), ("MCP_AUTH_PORT", &of_authorization)])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let listens = |port: &String| TcpStream::connect(format!("localhost:{port}")).is_ok();
        scene.wait_until("the example listens", || listens(&port) && listens(&of_authorization));
        let line = format!("mcprove run '{}' --state-dir state --report json=oauth.json", suite.display());
        let status = scene.line(&format!("SERVER_PORT={port} {line}")).status;
        server.kill().unwrap();
        server.wait().unwrap();
        let report: Value =
            serde_json::from_str(&fs::read_to_string(scene.folder.join("oauth.json")).unwrap()).unwrap();
        let _ = writeln!(seen, "{mode}: exit {status}");
        let mut verdicts: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for case in report["suites"][0]["cases"].as_array().unwrap() {
            let outcome = case["outcome"].as_str().unwrap().to_owned();
            let name = case["case"]["name"].as_str().unwrap().to_owned();
            verdicts.entry(outcome).or_default().push(name.trim_start_matches("authorization: ").to_owned());
        }
        for (outcome, mut names) in verdicts {
            names.sort_unstable();
            let _ = writeln!(seen, "  {outcome}: {}", names.join(", "));
        }
    }
    snapshot("oauth-typescript-sdk", &seen);
    scene.assert_nothing_survives();
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
