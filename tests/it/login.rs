//! `mcprove login`: a person logs in with a browser, once; suites use the token, refresh it, and keep what came back.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;

use reqwest::Url;
use serde_json::Value;

use crate::harness::{Scene, Seen};

/// The home of whoever logs in here.
const HOME: &[(&str, &str)] = &[("HOME", "home")];

const KEPT: &str = "home/.mcprove/logins.json";

/// Sends a request as a browser does; returns the status, the headers and the page.
fn ask(url: &Url, form: Option<&str>) -> (u16, String) {
    let mut stream = TcpStream::connect((url.host_str().unwrap(), url.port().unwrap())).unwrap();
    let method = if form.is_some() { "POST" } else { "GET" };
    let query = url.query().map(|query| format!("?{query}")).unwrap_or_default();
    let body = form.unwrap_or_default();
    let text = format!(
        "{method} {}{query} HTTP/1.1\r\nHost: {}:{}\r\nConnection: close\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{body}",
        url.path(),
        url.host_str().unwrap(),
        url.port().unwrap(),
        body.len()
    );
    stream.write_all(text.as_bytes()).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let answer = String::from_utf8_lossy(&answer).into_owned();
    (answer.split(' ').nth(1).unwrap().parse().unwrap(), answer)
}

/// Fills in the page of the demo's authorization server at this address; `Some` where it leads back to a client.
fn fill_in(page: &Url, decision: &str) -> Option<Url> {
    let mut at = page.clone();
    at.set_query(None);
    let typed = format!("username=ann&password=ann-demo-password&decision={decision}");
    let (_, answer) = ask(&at, Some(&format!("{}&{typed}", page.query().unwrap_or_default())));
    let location = answer.lines().find_map(|line| line.strip_prefix("location: "));
    location.map(|location| location.parse().unwrap())
}

/// The address in what the command says.
fn shown_address(said: &str) -> Url {
    said.lines()
        .find_map(|line| line.strip_prefix("  http"))
        .map(|rest| format!("http{rest}").parse().unwrap())
        .unwrap()
}

/// Logs in with a browser; returns the page that it shows at the end, and what the command says after it.
fn log_in(scene: &Scene, arguments: &str, decision: &str) -> (String, Seen) {
    let mut running = scene.begin_joined(&format!("login {arguments}"), HOME);
    let page = shown_address(&running.until("Ctrl-C ends it"));
    let back = fill_in(&page, decision).unwrap();
    // What anybody else asks there does not end the wait.
    let other = back.as_str().replace("state=", "state=not-");
    assert_eq!(ask(&other.parse().unwrap(), None).0, 400);
    assert_eq!(ask(&back.join("/favicon.ico").unwrap(), None).0, 404);
    let (status, shown) = ask(&back, None);
    assert_eq!(status, 200);
    (shown, running.finish())
}

fn suite(url: &str, auth: &str) -> String {
    format!(
        "suite: Behind a login\nserver:\n  url: \"{url}\"\n  auth: {auth}\ntests:\n  - name: a call\n    call: echo\n    args: {{ message: hello }}\n    expect: [{{ is_error: false }}]\n"
    )
}

/// The tokens of the only login that is kept: that of access, and that of refreshing.
fn kept(scene: &Scene) -> (String, String) {
    let text = fs::read_to_string(scene.folder.join(KEPT)).unwrap();
    let kept: Value = serde_json::from_str(&text).unwrap();
    let text = |member: &str| kept["logins"][0][member].as_str().unwrap().to_owned();
    (text("access_token"), text("refresh_token"))
}

#[test]
fn a_login_lasts_while_its_tokens_are_replaced() {
    let scene = Scene::bare("login/refreshed");
    let server = scene.serve("demo --authorization --token-lifetime 1s");
    scene.write("suite.yml", &suite(&server.url, "{ authorization_code: {} }"));
    let missing = scene.line("HOME=home mcprove run suite.yml");
    assert_eq!(missing.status, 3, "{}", missing.text());
    assert!(missing.text().contains("nobody has logged in to it"), "{}", missing.text());
    assert!(missing.text().contains("run `mcprove login suite.yml`"), "{}", missing.text());

    let (page, seen) = log_in(&scene, "suite.yml", "allow");
    assert!(page.contains("You can close this window.") && !page.contains("<script"), "{page}");
    assert_eq!(seen.status, 0, "{}", seen.text());
    assert!(seen.stdout.contains("kept in `~/.mcprove/logins.json`"), "{}", seen.text());
    let mode = |name: &str| fs::metadata(scene.folder.join(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(KEPT), mode("home/.mcprove")), (0o600, 0o700));

    let mut tokens = vec![kept(&scene)];
    for _ in 0..2 {
        let ran = scene.line("HOME=home mcprove run suite.yml -v --report ndjson=events.ndjson");
        assert_eq!(ran.status, 0, "{}", ran.text());
        tokens.push(kept(&scene));
        let events = fs::read_to_string(scene.folder.join("events.ndjson")).unwrap();
        for secret in tokens.iter().flat_map(|(access, refresh)| [access, refresh]) {
            assert!(!ran.text().contains(secret) && !events.contains(secret), "a token is shown: {}", ran.text());
        }
    }
    let refreshed: Vec<&String> = tokens.iter().map(|(_, refresh)| refresh).collect();
    assert!(refreshed[0] != refreshed[1] && refreshed[1] != refreshed[2], "each refresh token is used once");

    // A refresh token that was used twice would end the login.
    let both = [(); 3].map(|()| scene.begin_with("run suite.yml", HOME));
    for seen in both.map(crate::harness::Running::finish) {
        assert_eq!(seen.status, 0, "{}", seen.text());
    }
}

#[test]
fn a_login_serves_commands_and_ends_with_logout() {
    let scene = Scene::bare("login/commands");
    let server = scene.serve("demo --authorization");
    let url = &server.url;
    let (page, seen) = log_in(&scene, url, "deny");
    assert!(page.contains("The login failed"), "{page}");
    assert_eq!(seen.status, 3, "{}", seen.text());
    assert!(seen.stdout.contains("refuses the login: access_denied"), "{}", seen.text());

    let (_, seen) = log_in(&scene, url, "allow");
    assert_eq!(seen.status, 0, "{}", seen.text());
    let listed = scene.line("HOME=home mcprove login --list");
    assert!(listed.stdout.contains(url.as_str()) && listed.stdout.contains("is refreshed"), "{}", listed.text());
    let tools = scene.line(&format!("HOME=home mcprove tools {url}"));
    assert!(tools.status == 0 && tools.stdout.contains("echo("), "{}", tools.text());

    // In CI, a variable holds what the file held.
    let text = fs::read_to_string(scene.folder.join(KEPT)).unwrap().replace('\n', " ");
    scene.write("suite.yml", &suite(url, "{ authorization_code: {} }"));
    let in_ci = |home: &str| scene.begin_with("run suite.yml", &[("HOME", home), ("MCPROVE_LOGINS", &text)]).finish();
    let seen = in_ci("elsewhere");
    assert_eq!(seen.status, 0, "{}", seen.text());

    fs::set_permissions(scene.folder.join(KEPT), fs::Permissions::from_mode(0o644)).unwrap();
    let open = scene.line("HOME=home mcprove run suite.yml");
    assert!(open.status == 3 && open.text().contains("run `chmod 600 "), "{}", open.text());
    fs::set_permissions(scene.folder.join(KEPT), fs::Permissions::from_mode(0o600)).unwrap();

    let seen = scene.line(&format!("HOME=home mcprove logout {url}"));
    assert!(seen.status == 0 && seen.stdout.contains("has revoked the login"), "{}", seen.text());
    let gone = scene.line("HOME=home mcprove run suite.yml");
    assert!(gone.text().contains("nobody has logged in to it"), "{}", gone.text());
    let revoked = in_ci("elsewhere");
    assert!(revoked.text().contains("the login has ended"), "{}", revoked.text());
}

#[test]
fn a_device_is_allowed_in_any_browser() {
    let scene = Scene::bare("login/device");
    let server = scene.serve("demo --authorization");
    let auth = "{ device_code: { client_id: demo-app } }";
    scene.write("suite.yml", &suite(&server.url, auth));
    let mut running = scene.begin_joined("login suite.yml", HOME);
    let said = running.until("Ctrl-C ends it");
    let code = said.split_once("enter this code:\n\n  ").unwrap().1.lines().next().unwrap().to_owned();
    let mut page = shown_address(&said);
    page.set_query(Some(&format!("user_code={code}")));
    fill_in(&page, "allow");
    let seen = running.finish();
    assert_eq!(seen.status, 0, "{}", seen.text());
    let ran = scene.line("HOME=home mcprove run suite.yml");
    assert_eq!(ran.status, 0, "{}", ran.text());
}

#[test]
fn an_interrupted_login_keeps_nothing() {
    let scene = Scene::bare("login/interrupted");
    let server = scene.serve("demo --authorization");
    let mut running = scene.begin_joined(&format!("login {}", server.url), HOME);
    running.until("Ctrl-C ends it");
    running.signal("INT");
    let seen = running.finish();
    assert_eq!(seen.status, 130, "{}", seen.text());
    assert!(seen.stdout.contains("nobody logged in: the command was interrupted"), "{}", seen.text());
    assert!(!scene.folder.join(KEPT).exists());
}

#[test]
fn an_answer_of_another_issuer_ends_the_login() {
    let scene = Scene::bare("login/mix-up");
    let server = scene.serve("demo --authorization --authorization-flaw wrong-iss");
    let (page, seen) = log_in(&scene, &server.url, "allow");
    assert!(page.contains("The login failed"), "{page}");
    assert_eq!(seen.status, 3, "{}", seen.text());
    assert!(seen.text().contains("names the issuer `https://issuer.example/oauth` as `iss`"), "{}", seen.text());
    assert!(!scene.folder.join(KEPT).exists(), "no token is fetched");
}

#[test]
fn nobody_is_sent_to_an_address_that_is_a_command() {
    let scene = Scene::bare("login/command");
    let server = scene.serve("demo --authorization --authorization-flaw command-endpoint");
    let seen = scene.line(&format!("HOME=home mcprove login {}", server.url));
    assert_eq!(seen.status, 3, "{}", seen.text());
    let expected = "the authorization endpoint `a:$(id)` has a part that shells run as a command; it is not opened";
    assert!(seen.text().contains(expected) && !seen.text().contains("open this address"), "{}", seen.text());
}
