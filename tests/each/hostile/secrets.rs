//! Secrets that a server tells in every form are in nothing that mcprove writes.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::fs;

use libtest_mimic::Trial;

use crate::harness::{Scene, python, root};
use crate::test;

/// The mode of the servers that do.
pub(super) const MODE: &str = "tells-secrets";

/// Differs in every encoding from what it is, and may stand in a header.
const SECRET: &str = "hunter2-s3cr&t/\"quo+ted\"%";

pub(super) fn tests() -> Vec<Trial> {
    let over_http = |revision: &str| {
        let headers = "headers: { Authorization: 'Bearer {{ env.TOKEN }}' }";
        let command = "command: [python3, ../../servers/hostile_http.py, tells-secrets, --port, '{{ port }}']";
        let url = "url: 'http://127.0.0.1:{{ port }}/mcp'";
        (format!("http-{revision}"), format!("{headers}, {command}, {url}, protocol: {revision}"))
    };
    let over_stdio = "env: { TOKEN: '{{ env.TOKEN }}' }, command: [python3, ../../servers/hostile.py, tells-secrets]";
    let not_there = "command: ['{{ env.TOKEN }}', --token, '{{ env.TOKEN }}']";
    let servers = [
        ("stdio".to_owned(), over_stdio.to_owned()),
        over_http("2025-11-25"),
        over_http("2026-07-28"),
        ("command".to_owned(), not_there.to_owned()),
    ];
    let tests = servers.map(|(name, server)| test(format!("hostile::secrets::{name}"), move || check(&name, &server)));
    let others: [(&str, fn()); 2] = [("names", secrets_in_names_of_tools), ("captured", captured_secrets)];
    tests.into_iter().chain(others.map(|(name, check)| test(format!("hostile::secrets::{name}"), check))).collect()
}

/// A server invents a secret that the suite captures; it is in no channel, not even in the answer that tells it.
fn captured_secrets() {
    let scene = Scene::new("secrets/captured");
    scene.write(
        "server.py",
        "import sys\nsys.dont_write_bytecode = True\nsys.path.insert(0, '../../servers')\n\
         from little import TOOLS, Server, text, tool\nimport hostile\n\
         token = ''.join(reversed('deletrevni-7f3k-neckot'))\n\
         TOOLS[:] = [TOOLS[0], tool('login', 'Returns a token.', {}, []), tool('fail', 'Fails.', {'token': {}}, [])]\n\
         server = Server(0)\ncorrect = server.call_tool\n\
         def call(name, given):\n    \
             told = hostile.forms_of(token)\n    \
             print('debug:', name, given, told, file=sys.stderr, flush=True)\n    \
             if name == 'fail': raise ValueError(told)\n    \
             if name == 'login': return {**text('welcome ' + token), 'structuredContent': {'session': [token, int('876543217'[::-1])]}}\n    \
             return {**correct(name, given), **text(told)}\n\
         server.call_tool = call\n\
         def reply(request, answer): return [answer]\n\
         server.reply = reply\nserver.serve()\n",
    );
    let suite = fs::read_to_string(root().join("tests/hostile/captured.yml")).unwrap();
    scene.write("suite.yml", &suite);
    let formats = mcprove::report::FORMATS.iter().map(|format| format.name);
    let reports: Vec<String> = formats.map(|format| format!("--report {format}=out/{format}")).collect();
    let everything = "-v --coverage --transcript frames --record out/recording.ndjson --write-baseline out/baseline";
    let run = format!("mcprove run suite.yml {everything} {}", reports.join(" "));
    let commands = [
        run.as_str(),
        "mcprove run suite.yml --update --yes",
        "mcprove run suite.yml --last-failed",
        "mcprove prove suite.yml --live --survivors all",
        "mcprove prove --recording out/recording.ndjson --survivors all",
        "mcprove findings list",
        "mcprove findings replay --all",
        "mcprove report out/ndjson",
    ];
    for (number, command) in commands.iter().enumerate() {
        let seen = scene.line(command);
        scene.write(&format!("printed-{number}"), &(seen.stdout + &seen.stderr));
    }
    scene.assert_nothing_survives();
    for secret in ["tocken-k3f7-inverteled", "712345678"] {
        assert_nowhere(&scene, secret);
    }
    let printed = fs::read_to_string(scene.folder.join("printed-0")).unwrap();
    assert!(printed.contains("[redacted]"), "{printed}");
}

/// Cases are named after tools, so that a server can put its secret into ids, commands and names of files.
fn secrets_in_names_of_tools() {
    let scene = Scene::new("secrets/names");
    let listed = "{**tool(os.environ['TOKEN'], 'Ends.', {'text': {'type': 'string'}}, ['text'], USER), \
                  'annotations': {'readOnlyHint': True}}";
    let server = format!(
        "import os, sys\nsys.dont_write_bytecode = True\nsys.path.insert(0, '../../servers')\n\
         from little import TOOLS, USER, Server, tool\nTOOLS[:] = [TOOLS[0], {listed}]\nserver = Server(0)\n\
         correct = server.correct_call\n\
         server.call_tool = lambda name, given: correct(name, given) if name == 'echo' else os._exit(3)\n\
         server.serve()\n"
    );
    scene.write("server.py", &server);
    let blocks =
        "negative_path: {tools: '*'}\noutput_schema: {tools: '*'}\nfuzz: {cases: 5}\nschema_lint: {tools: '*'}";
    let server = "{ env: { TOKEN: '{{ env.TOKEN }}' }, command: [python3, server.py] }";
    scene.write("suite.yml", &format!("suite: names\nserver: {server}\n{blocks}\n"));
    let formats = mcprove::report::FORMATS.iter().map(|format| format.name);
    let reports: Vec<String> = formats.map(|format| format!("--report {format}=out/{format}")).collect();
    let token = "TOKEN=hunter2s3cret";
    let run = format!("{token} mcprove run suite.yml --transcript frames {}", reports.join(" "));
    let commands =
        [run.as_str(), "mcprove snapshot suite.yml", "mcprove findings list", "mcprove findings replay --all"];
    for (number, command) in commands.iter().enumerate() {
        let seen = scene.line(&if number == 0 { (*command).to_owned() } else { format!("{token} {command}") });
        scene.write(&format!("printed-{number}"), &(seen.stdout + &seen.stderr));
    }
    scene.assert_nothing_survives();
    let printed = fs::read_to_string(scene.folder.join("printed-0")).unwrap();
    assert!(printed.contains("[redacted] without `text`"), "{printed}");
    assert_nowhere(&scene, "hunter2s3cret");
}

/// Runs a suite that fails in every way against a server that tells secrets, and looks at all that is written.
fn check(name: &str, server: &str) {
    let scene = Scene::new(&format!("secrets/{name}"));
    let suite = fs::read_to_string(root().join("tests/hostile/secrets.yml")).unwrap();
    scene.write("suite.yml", &suite.replace("SERVER", server));
    let formats = mcprove::report::FORMATS.iter().map(|format| format.name);
    let reports: Vec<String> = formats.map(|format| format!("--report {format}=out/{format}")).collect();
    let variables = format!("TOKEN={}", shell_words::quote(SECRET));
    let seen = scene.line(&format!("{variables} mcprove run suite.yml --transcript frames {}", reports.join(" ")));
    scene.assert_nothing_survives();
    scene.write("stdout", &seen.stdout);
    scene.write("stderr", &seen.stderr);
    assert_ne!(seen.status, 0, "{}", seen.text());
    assert!(seen.stdout.contains("[redacted]"), "nothing was to be hidden: {}", seen.text());
    assert_nowhere(&scene, SECRET);
}

/// Asserts that no file of a scene has the secret in its contents or its name.
fn assert_nowhere(scene: &Scene, secret: &str) {
    let finder = root().join("tests/hostile/find_secret.py");
    let found = python().arg(finder).arg(&scene.folder).arg(secret).output().unwrap();
    let told = String::from_utf8_lossy(&found.stdout).into_owned() + &String::from_utf8_lossy(&found.stderr);
    assert!(told.is_empty(), "{told}");
}
