//! Tokens: where they are looked for, what is said to get one, and when another one is fetched.

use super::*;
use crate::redact::Redactor;

/// A response without a length, since `ROOT` stands for the server's address.
pub(super) fn json(status: &str, headers: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\ncontent-type: application/json\r\n{headers}connection: close\r\n\r\n{body}")
}

pub(super) fn token(name: &str) -> String {
    json("200 OK", "", &format!(r#"{{"access_token":"{name}","token_type":"bearer","expires_in":3600}}"#))
}

pub(super) fn unauthorized(challenge: &str) -> String {
    json("401 Unauthorized", &format!("www-authenticate: {challenge}\r\n"), "")
}

/// Sends a request for each of `come`, one after another, to a server that plays `scripts`.
///
/// `come` is what came back, and `heard` what each request began with and which token it had.
async fn check(token_path: Option<&str>, scripts: Vec<String>, come: &[&str], heard: &[&str]) -> Server {
    let with_token_url = |root: &str| TokenGrant {
        issuer: None,
        token_url: token_path.map(|path| format!("{root}{path}")),
        client_id: Some("me".to_owned()),
        proof: ClientProof::Secret("open sesame".to_owned()),
        scopes: Vec::new(),
        resource: None,
        flow: TokenFlow::ClientCredentials,
        person: None,
    };
    check_grant(&with_token_url, scripts, come, heard).await
}

/// The same with a grant for the server's address.
pub(super) async fn check_grant(
    grant: &dyn Fn(&str) -> TokenGrant,
    scripts: Vec<String>,
    come: &[&str],
    heard: &[&str],
) -> Server {
    let server = Server::new(scripts).await;
    let root = server.url.trim_end_matches("/mcp").to_owned();
    let grant = grant(&root);
    let tokens = Some(Arc::new(TokenSource::new(grant, Redactor::default())));
    let headers = vec![("x-own".to_owned(), "for the server alone".to_owned())];
    let mut link = connect(&HttpAddress { headers, tokens, ..address(&server.url) }).unwrap();
    for (expected, frame) in come.iter().zip(1..) {
        link.outgoing.send(message(frame, MessageRole::Request, Era::Stateless)).unwrap();
        loop {
            let seen = shown(link.incoming.recv().await.unwrap());
            if !seen.starts_with("refused") {
                assert_eq!(seen.replace(&root, "ROOT"), *expected);
                break;
            }
        }
    }
    let begun: Vec<String> = server.heard().iter().map(|request| summary(request)).collect();
    assert_eq!(begun, heard);
    server
}

/// The first line of a request without its version, and its token.
fn summary(request: &str) -> String {
    let line = request.lines().next().unwrap_or_default().trim_end_matches(" HTTP/1.1");
    // Queries of logins have values that are drawn.
    let line = line.split_once('?').map_or(line, |(line, _)| line);
    assert_eq!(line.ends_with("/mcp") && line.starts_with("POST"), request.contains("x-own"), "{request}");
    let token = request.lines().find_map(|line| line.strip_prefix("authorization: Bearer "));
    token.map_or_else(|| line.to_owned(), |token| format!("{line} with {token}"))
}

#[tokio::test]
async fn a_token_is_fetched_once_and_again_where_it_is_refused() {
    let good = || answer("application/json", RESULT);
    let ours = |frame: u32| format!("body {frame}: {RESULT}");
    let scripts = vec![token("t1"), good(), good(), unauthorized("Bearer"), token("t2"), good()];
    let heard = [
        "POST /token",
        "POST /mcp with t1",
        "POST /mcp with t1",
        "POST /mcp with t1",
        "POST /token",
        "POST /mcp with t2",
    ];
    let server = check(Some("/token"), scripts, &[&ours(1), &ours(2), &ours(3)], &heard).await;
    let said = server.heard()[0].clone();
    for part in
        ["grant_type=client_credentials", "client_id=me", "client_secret=open%20sesame", "resource=http%3A%2F%2F127"]
    {
        assert!(said.contains(part), "{part}: {said}");
    }
    let twice = "failed 1: the server rejects the fetched token: it answered `ping` with HTTP 401 Unauthorized";
    let scripts = vec![token("t1"), unauthorized("Bearer"), token("t2"), unauthorized("Bearer")];
    let heard = ["POST /token", "POST /mcp with t1", "POST /token", "POST /mcp with t2"];
    check(Some("/token"), scripts, &[twice], &heard).await;
}

#[tokio::test]
async fn the_server_says_who_gives_tokens() {
    let about = r#"{"resource":"ROOT/mcp","authorization_servers":["ROOT/as"],"scopes_supported":["read"]}"#;
    let metadata = r#"{"issuer":"ROOT/as","authorization_endpoint":"ROOT/authorize","token_endpoint":"ROOT/give"}"#;
    let scripts = vec![
        unauthorized(r#"Bearer resource_metadata="ROOT/about", scope="write""#),
        json("200 OK", "", about),
        json("200 OK", "", metadata),
        token("t1"),
        answer("application/json", RESULT),
    ];
    let heard = [
        "POST /mcp",
        "GET /about",
        "GET /.well-known/oauth-authorization-server/as",
        "POST /give",
        "POST /mcp with t1",
    ];
    let server = check(None, scripts, &[&format!("body 1: {RESULT}")], &heard).await;
    assert!(server.heard()[3].contains("scope=write"), "{}", server.heard()[3]);
}

const NO_TLS: &str = "has no TLS; the client secret is sent without TLS only within this machine";

#[tokio::test]
async fn a_secret_is_not_sent_where_others_can_read_it() {
    let about = r#"{"resource":"ROOT/mcp","authorization_servers":["ROOT/as"]}"#;
    let metadata = |at: &str| {
        format!(r#"{{"issuer":"ROOT/as","authorization_endpoint":"ROOT/authorize","token_endpoint":"{at}"}}"#)
    };
    for (at, why) in [
        ("http://tokens.example/give", NO_TLS),
        ("http://192.0.2.7/give", NO_TLS),
        ("ftp://127.0.0.2.example/give", "is neither an `https` nor an `http` URL; it is not opened"),
    ] {
        let scripts = vec![
            unauthorized(r#"Bearer resource_metadata="ROOT/about""#),
            json("200 OK", "", about),
            json("200 OK", "", &metadata(at)),
        ];
        let heard = ["POST /mcp", "GET /about", "GET /.well-known/oauth-authorization-server/as"];
        let expected = format!("failed 1: no token could be fetched for the server: the token endpoint `{at}` {why}");
        check(None, scripts, &[&expected], &heard).await;
    }
}

#[tokio::test]
async fn whoever_gives_no_token_is_named() {
    for (script, expected) in [
        (
            json("400 Bad Request", "", r#"{"error":"invalid_scope"}"#),
            "was answered with HTTP 400 Bad Request: invalid_scope",
        ),
        (json("500 Oh", "", "<html>"), "was answered with HTTP 500 Internal Server Error"),
        (json("302 Found", "location: /login\r\n", ""), "was answered with HTTP 302 Found"),
        (json("200 OK", "", "<html>"), "was answered with HTTP 200 OK and no token"),
        (
            json("200 OK", "", r#"{"access_token":"","token_type":"bearer"}"#),
            "was answered with HTTP 200 OK and no token",
        ),
        (String::new(), "got no answer: the server closed the connection before it answered `POST ROOT/token`"),
    ] {
        let expected = format!("failed 1: no token could be fetched for the server: `POST ROOT/token` {expected}");
        check(Some("/token"), vec![script], &[&expected], &["POST /token"]).await;
    }
}
