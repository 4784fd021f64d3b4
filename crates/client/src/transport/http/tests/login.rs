//! Logins without a browser: the pages, what ends them, and the tokens that follow.

use super::token::{check_grant, json, token, unauthorized};
use super::*;

const ABOUT: &str = r#"{"resource":"ROOT/mcp","authorization_servers":["ROOT/as"],"scopes_supported":["read"]}"#;

const METADATA: &str = r#"{"issuer":"ROOT/as","authorization_endpoint":"ROOT/authorize","token_endpoint":"ROOT/give",
    "code_challenge_methods_supported":["S256"],"scopes_supported":["read","offline_access"]}"#;

const LOGIN: &str = r#"<h1>Log in</h1><form method="post" action="/login?next=1"><input type="hidden" name="csrf" value="c1">
    <input name="user"><input name="password" type="password"><button>Go</button></form>"#;

const CONSENT: &str = r#"<form method="post" action="/consent"><button name="do" value="deny">No</button><button name="do" value="allow">Yes</button></form>"#;

fn page(html: &str) -> String {
    format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\nset-cookie: sid=cookie-4f9a8b7c; Path=/\r\nconnection: close\r\n\r\n{html}"
    )
}

fn redirect(to: &str) -> String {
    format!("HTTP/1.1 302 Found\r\nlocation: {to}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
}

fn back() -> String {
    redirect("http://127.0.0.1/callback?code=the-code&state=STATE&iss=ROOT/as")
}

/// A lifetime, in seconds, that is over at once.
const SPENT: f64 = 1e-9;

fn pair(access: &str, refresh: &str, seconds: f64) -> String {
    let body = format!(r#"{{"access_token":"{access}","refresh_token":"{refresh}","expires_in":{seconds}}}"#);
    json("200 OK", "", &body)
}

fn good() -> String {
    answer("application/json", RESULT)
}

/// What finds out who gives tokens.
fn discovered(metadata: &str) -> Vec<String> {
    vec![
        unauthorized(r#"Bearer resource_metadata="ROOT/about""#),
        json("200 OK", "", ABOUT),
        json("200 OK", "", metadata),
    ]
}

const DISCOVERY: [&str; 3] = ["POST /mcp", "GET /about", "GET /.well-known/oauth-authorization-server/as"];

fn form(fields: &[(&str, &str)]) -> LoginForm {
    LoginForm { fields: fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect() }
}

fn ann() -> LoginForm {
    form(&[("user", "ann"), ("password", "pass word&")])
}

fn grant(login: &[LoginForm]) -> TokenGrant {
    TokenGrant {
        issuer: None,
        token_url: None,
        client_id: Some("me".to_owned()),
        proof: ClientProof::Nothing,
        scopes: Vec::new(),
        resource: None,
        flow: TokenFlow::AuthorizationCode(AuthorizationCode {
            redirect_uri: None,
            login: login.to_vec(),
            login_hosts: Vec::new(),
        }),
        person: None,
    }
}

/// Plays `scripts` behind discovery to a client that logs in with these forms, and expects what came, and the requests.
async fn check(login: &[LoginForm], scripts: Vec<String>, come: &str, heard: &[&str]) -> Server {
    let scripts = [discovered(METADATA), scripts].concat();
    check_grant(&|_| grant(login), scripts, &[come], &[&DISCOVERY[..], heard].concat()).await
}

/// The same where no token comes.
async fn check_failed(login: &[LoginForm], scripts: Vec<String>, expected: &str, heard: &[&str]) {
    check(login, scripts, &format!("failed 1: no token could be fetched for the server: {expected}"), heard).await;
}

#[tokio::test]
async fn a_login_has_several_pages_and_gives_a_code() {
    let scripts = vec![redirect("/start"), page(LOGIN), page(CONSENT), back(), pair("t1", "r1", 3600.0), good()];
    let heard = ["GET /authorize", "GET /start", "POST /login", "POST /consent", "POST /give", "POST /mcp with t1"];
    let come = format!("body 1: {RESULT}");
    let server = check(&[ann(), form(&[("do", "allow")])], scripts, &come, &heard).await;
    let said = server.heard();
    let root = server.url.trim_end_matches("/mcp").replace(':', "%3A").replace('/', "%2F");
    for part in [
        "response_type=code",
        "client_id=me",
        "redirect_uri=http%3A%2F%2F127.0.0.1%2Fcallback",
        "code_challenge_method=S256",
        &format!("resource={root}%2Fmcp"),
        "scope=read+offline_access",
    ] {
        assert!(said[3].contains(part), "{part}: {}", said[3]);
    }
    assert!(said[5].starts_with("POST /login?next=1 "), "{}", said[5]);
    assert!(said[5].ends_with("csrf=c1&user=ann&password=pass%20word%26"), "{}", said[5]);
    assert!(said[5].contains("cookie: sid=cookie-4f9a8b7c"), "{}", said[5]);
    assert!(said[6].ends_with("do=allow"), "{}", said[6]);
    for part in ["grant_type=authorization_code", "code=the-code", "code_verifier=", "client_id=me", "resource="] {
        assert!(said[7].contains(part), "{part}: {}", said[7]);
    }
}

#[tokio::test]
async fn a_token_is_renewed_where_it_is_refused_or_has_expired() {
    let ours = |frame: u32| format!("body {frame}: {RESULT}");
    // Refused, then expired; the second refresh token is a new one, and the third time the old one stays.
    let scripts = vec![
        back(),
        pair("t1", "r1", 3600.0),
        good(),
        unauthorized("Bearer"),
        pair("t2", "r2", SPENT),
        good(),
        json("200 OK", "", r#"{"access_token":"t3","expires_in":0.000000001}"#),
        good(),
        token("t4"),
        good(),
    ];
    let heard = [
        "GET /authorize",
        "POST /give",
        "POST /mcp with t1",
        "POST /mcp with t1",
        "POST /give",
        "POST /mcp with t2",
        "POST /give",
        "POST /mcp with t3",
        "POST /give",
        "POST /mcp with t4",
    ];
    let scripts = [discovered(METADATA), scripts].concat();
    let come = [&*ours(1), &ours(2), &ours(3), &ours(4)];
    let server = check_grant(&|_| grant(&[]), scripts, &come, &[&DISCOVERY[..], &heard].concat()).await;
    let said = server.heard();
    for (request, refresh) in [(7, "r1"), (9, "r2"), (11, "r2")] {
        assert!(
            said[request].contains(&format!("grant_type=refresh_token&refresh_token={refresh}&")),
            "{}",
            said[request]
        );
    }
}

#[tokio::test]
async fn a_refresh_token_that_is_refused_leads_to_one_login() {
    let refused = || json("400 Bad Request", "", r#"{"error":"invalid_grant"}"#);
    let scripts = vec![
        back(),
        pair("t1", "r1", 3600.0),
        good(),
        unauthorized(r#"Bearer resource_metadata="ROOT/about""#),
        refused(),
        json("200 OK", "", ABOUT),
        json("200 OK", "", METADATA),
        back(),
        pair("t2", "r2", 3600.0),
        unauthorized("Bearer"),
    ];
    let heard = [
        "GET /authorize",
        "POST /give",
        "POST /mcp with t1",
        "POST /mcp with t1",
        "POST /give",
        "GET /about",
        "GET /.well-known/oauth-authorization-server/as",
        "GET /authorize",
        "POST /give",
        "POST /mcp with t2",
    ];
    let scripts = [discovered(METADATA), scripts].concat();
    let first = format!("body 1: {RESULT}");
    let second = "failed 2: the server rejects the fetched token: it answered `ping` with HTTP 401 Unauthorized";
    check_grant(&|_| grant(&[]), scripts, &[&first, second], &[&DISCOVERY[..], &heard].concat()).await;
    // An authorization server that is down has not refused anything.
    let scripts = vec![back(), pair("t1", "r1", 3600.0), good(), unauthorized("Bearer"), json("503 Down", "", "")];
    let heard = ["GET /authorize", "POST /give", "POST /mcp with t1", "POST /mcp with t1", "POST /give"];
    let scripts = [discovered(METADATA), scripts].concat();
    let down = "failed 2: no token could be fetched for the server: `POST ROOT/give` was answered with HTTP 503 Service Unavailable";
    check_grant(&|_| grant(&[]), scripts, &[&first, down], &[&DISCOVERY[..], &heard].concat()).await;
}

#[tokio::test]
async fn logins_that_fail_say_where() {
    let posted = ["GET /authorize", "POST /login"];
    let asked = &posted[..1];
    check_failed(
        &[ann()],
        vec![page(LOGIN), page(LOGIN)],
        "the page asks for `user`, `password` again: `POST ROOT/login` was answered with HTTP 200 OK",
        &posted,
    )
    .await;
    check_failed(
        &[ann()],
        vec![page(LOGIN), page(CONSENT)],
        "the login leads to another page, which asks for `do`: `POST ROOT/login` was answered with HTTP 200 OK",
        &posted,
    )
    .await;
    check_failed(
        &[],
        vec![page(LOGIN)],
        "the login leads to another page, which asks for `user`, `password`: `GET ROOT/authorize` was answered with HTTP 200 OK",
        asked,
    )
    .await;
    check_failed(
        &[form(&[("email", "ann")])],
        vec![page(LOGIN)],
        "no form of the page asks for `email`, but for `user`, `password`: `GET ROOT/authorize` was answered with HTTP 200 OK",
        asked,
    )
    .await;
    check_failed(
        &[ann()],
        vec![page("<script>login()</script>")],
        "`GET ROOT/authorize` was answered with HTTP 200 OK, and the page has no form",
        asked,
    )
    .await;
    check_failed(
        &[ann()],
        vec![json("400 Bad Request", "", r#"{"error":"invalid_client"}"#)],
        "`GET ROOT/authorize` was answered with HTTP 400 Bad Request: invalid_client, and the page has no form",
        asked,
    )
    .await;
    check_failed(
        &[],
        vec![redirect("https://evil.example/login?secret=1")],
        "the login leads to another host, `https://evil.example/login`; it is not followed",
        asked,
    )
    .await;
    let refused = redirect("http://127.0.0.1/callback?error=access_denied&state=STATE");
    check_failed(&[], vec![refused], "the authorization server refuses the login: access_denied", asked).await;
    let other = redirect("http://127.0.0.1/callback?code=c&state=other");
    check_failed(
        &[],
        vec![other],
        "the authorization server sends another `state` than was sent back; its answer is not used",
        asked,
    )
    .await;
    let mixed = redirect("http://127.0.0.1/callback?code=c&state=STATE&iss=https://evil.example");
    check_failed(
        &[],
        vec![mixed],
        "the answer to the login names the issuer `https://evil.example` as `iss`, not `ROOT/as`",
        asked,
    )
    .await;
    let round = vec![redirect("/authorize?again"); 20];
    let message = "the login has not ended after 20 pages; the last one was `ROOT/authorize`";
    check_failed(&[], round, message, &["GET /authorize"; 20]).await;
}

#[tokio::test]
async fn a_client_without_an_id_registers() {
    let metadata = METADATA.replacen('{', r#"{"registration_endpoint":"ROOT/register","#, 1);
    let given = json("201 Created", "", r#"{"client_id":"c7","client_secret":"drawn secret"}"#);
    let unnamed = |_: &str| TokenGrant { client_id: None, ..grant(&[]) };
    let scripts = [discovered(&metadata), vec![given, back(), token("t1"), good()]].concat();
    let heard = ["POST /register", "GET /authorize", "POST /give", "POST /mcp with t1"];
    let come = format!("body 1: {RESULT}");
    let server = check_grant(&unnamed, scripts, &[&come], &[&DISCOVERY[..], &heard].concat()).await;
    let said = server.heard();
    assert!(said[3].contains(r#""redirect_uris":["http://127.0.0.1/callback"]"#), "{}", said[3]);
    assert!(said[5].contains("client_id=c7&client_secret=drawn%20secret"), "{}", said[5]);
    for (answer, why) in [
        (
            json("400 Bad Request", "", r#"{"error":"invalid_redirect_uri"}"#),
            "HTTP 400 Bad Request: invalid_redirect_uri",
        ),
        (json("201 Created", "", "{}"), "HTTP 201 Created"),
    ] {
        let scripts = [discovered(&metadata), vec![answer]].concat();
        let expected = format!(
            "failed 1: no token could be fetched for the server: no client could be registered: `POST ROOT/register` was answered with {why}"
        );
        check_grant(&unnamed, scripts, &[&expected], &[&DISCOVERY[..], &heard[..1]].concat()).await;
    }
    let none = "failed 1: no token could be fetched for the server: the authorization server `ROOT/as` registers no clients, \
                and there is no `client_id`";
    check_grant(&unnamed, discovered(METADATA), &[none], &DISCOVERY).await;
}

#[tokio::test]
async fn a_client_proves_itself_as_it_was_registered() {
    let metadata = METADATA.replacen('{', r#"{"registration_endpoint":"ROOT/register","#, 1);
    let unnamed = |_: &str| TokenGrant { client_id: None, ..grant(&[]) };
    for (method, has_header, has_secret) in
        [("client_secret_basic", true, false), ("client_secret_post", false, true), ("none", false, false)]
    {
        let body = format!(r#"{{"client_id":"c7","client_secret":"drawn","token_endpoint_auth_method":"{method}"}}"#);
        let given = json("201 Created", "", &body);
        let scripts = [discovered(&metadata), vec![given, back(), token("t1"), good()]].concat();
        let heard = ["POST /register", "GET /authorize", "POST /give", "POST /mcp with t1"];
        let come = format!("body 1: {RESULT}");
        let server = check_grant(&unnamed, scripts, &[&come], &[&DISCOVERY[..], &heard].concat()).await;
        let said = server.heard()[5].clone();
        let found = (said.contains("Basic "), said.contains("client_secret=drawn"));
        assert_eq!(found, (has_header, has_secret), "{method}: {said}");
    }
}

#[tokio::test]
async fn metadata_that_cannot_be_used_are_named() {
    for (metadata, expected) in [
        (
            METADATA.replace("ROOT/as", "ROOT/other"),
            "`GET ROOT/.well-known/oauth-authorization-server/as` was answered with metadata of another issuer, `ROOT/other`",
        ),
        (METADATA.replace("S256", "plain"), "the authorization server `ROOT/as` does not support PKCE with `S256`"),
        (
            METADATA.replace("ROOT/authorize", "http://as.example/authorize"),
            "the authorization endpoint `http://as.example/authorize` has no TLS; secrets are sent without TLS only within this machine",
        ),
        (
            METADATA.replace("ROOT/authorize", "a:$(calc)"),
            "the authorization endpoint `a:$(calc)` has a part that shells run as a command; it is not opened",
        ),
        (
            METADATA.replace("ROOT/authorize", "https://me:word@as.example/"),
            "the authorization endpoint `https://as.example/` has credentials in it; it is not opened",
        ),
        (
            METADATA.replace(r#""ROOT/authorize""#, "7"),
            "`GET ROOT/.well-known/oauth-authorization-server/as` was answered with metadata that are not valid: \
             invalid type: integer `7`, expected a string",
        ),
        (
            format!(r#"{{"filler":"{}"}}"#, "x".repeat(2 << 20)),
            "`GET ROOT/.well-known/oauth-authorization-server/as` was answered with more than 1 MiB, which is not read",
        ),
    ] {
        let expected = format!("failed 1: no token could be fetched for the server: {expected}");
        check_grant(&|_| grant(&[]), discovered(&metadata), &[&expected], &DISCOVERY).await;
    }
}

#[tokio::test]
async fn metadata_are_looked_for_in_several_places() {
    let missing = || json("404 Not Found", "", r#""no such page""#);
    let scripts = vec![
        unauthorized("Bearer"),
        json("200 OK", "", r#"{"status":"up"}"#),
        json("200 OK", "", ABOUT),
        missing(),
        json("200 OK", "", "<html>"),
        json("200 OK", "", METADATA),
        back(),
        token("t1"),
        good(),
    ];
    let heard = [
        "POST /mcp",
        "GET /.well-known/oauth-protected-resource/mcp",
        "GET /.well-known/oauth-protected-resource",
        "GET /.well-known/oauth-authorization-server/as",
        "GET /.well-known/openid-configuration/as",
        "GET /as/.well-known/openid-configuration",
        "GET /authorize",
        "POST /give",
        "POST /mcp with t1",
    ];
    check_grant(&|_| grant(&[]), scripts, &[&format!("body 1: {RESULT}")], &heard).await;
    let nothing = [vec![unauthorized("Bearer")], vec![missing(); 4]].concat();
    let why = "failed 1: no token could be fetched for the server: the server publishes no token endpoint";
    let heard =
        [&heard[..3], &["GET /.well-known/oauth-authorization-server", "GET /.well-known/openid-configuration"]];
    check_grant(&|_| grant(&[]), nothing, &[why], &heard.concat()).await;
}

#[tokio::test]
async fn a_secret_stands_where_the_server_takes_it() {
    let proof = ClientProof::Secret("s3cret-of-me".to_owned());
    let secret = |_: &str| TokenGrant { proof: proof.clone(), flow: TokenFlow::ClientCredentials, ..grant(&[]) };
    for (methods, is_in_header) in [
        ("", false),
        (r#""token_endpoint_auth_methods_supported":["client_secret_post"],"#, false),
        (r#""token_endpoint_auth_methods_supported":["client_secret_basic"],"#, true),
        (r#""token_endpoint_auth_methods_supported":["client_secret_post","client_secret_basic"],"#, true),
    ] {
        let metadata = METADATA.replacen('{', &format!("{{{methods}"), 1);
        let scripts = [discovered(&metadata), vec![token("t1"), good()]].concat();
        let come = format!("body 1: {RESULT}");
        let heard = ["POST /give", "POST /mcp with t1"];
        let server = check_grant(&secret, scripts, &[&come], &[&DISCOVERY[..], &heard].concat()).await;
        let said = server.heard()[3].clone();
        let has_header = said.contains("Basic bWU6czNjcmV0LW9mLW1l");
        assert_eq!((has_header, said.contains("client_secret=")), (is_in_header, !is_in_header), "{methods}: {said}");
    }
}

#[tokio::test]
async fn a_private_key_signs_for_the_issuer() {
    let pem = rcgen::KeyPair::generate().unwrap().serialize_pem();
    let key = AssertionKey::new(&pem, None, None).unwrap();
    let proof = ClientProof::PrivateKey(Arc::new(key));
    let signing = |_: &str| TokenGrant { proof: proof.clone(), flow: TokenFlow::ClientCredentials, ..grant(&[]) };
    let scripts = [discovered(METADATA), vec![token("t1"), good()]].concat();
    let heard = ["POST /give", "POST /mcp with t1"];
    let come = format!("body 1: {RESULT}");
    let server = check_grant(&signing, scripts, &[&come], &[&DISCOVERY[..], &heard].concat()).await;
    let said = server.heard()[3].clone();
    assert!(
        said.contains("client_assertion_type=urn%3Aietf%3Aparams%3Aoauth%3Aclient-assertion-type%3Ajwt-bearer"),
        "{said}"
    );
    let (_, assertion) = said.split_once("client_assertion=").unwrap();
    let claims = assertion.split('.').nth(1).and_then(crate::redact::from_base64).unwrap();
    let issuer = server.url.replace("/mcp", "/as");
    let claims = String::from_utf8(claims).unwrap();
    assert!(claims.starts_with(&format!(r#"{{"iss":"me","sub":"me","aud":"{issuer}","iat":"#)), "{claims}");
    let metadata = METADATA.replacen('{', r#"{"token_endpoint_auth_methods_supported":["client_secret_post"],"#, 1);
    let refused = "failed 1: no token could be fetched for the server: the token endpoint `ROOT/give` does not take \
                   `private_key_jwt`; it takes client_secret_post";
    check_grant(&signing, discovered(&metadata), &[refused], &DISCOVERY).await;
}

#[tokio::test]
async fn a_device_is_allowed_by_the_forms_of_the_suite() {
    let metadata = METADATA.replacen('{', r#"{"device_authorization_endpoint":"ROOT/device","#, 1);
    let of_device = |_: &str| TokenGrant {
        flow: TokenFlow::DeviceCode(DeviceCode { login: vec![ann()], login_hosts: Vec::new() }),
        ..grant(&[])
    };
    let begun = r#"{"device_code":"drawn device","user_code":"ABCD-EFGH","verification_uri":"ROOT/go","interval":1}"#;
    let asked = "<form method=post action=/go><input name=user_code><input name=user><input name=password></form>";
    let pending = json("400 Bad Request", "", r#"{"error":"authorization_pending"}"#);
    let allowing = || [discovered(&metadata), vec![json("200 OK", "", begun), page(asked)]].concat();
    let scripts = [allowing(), vec![page("<p>Done."), pending, token("t1"), good()]].concat();
    let heard = ["POST /device", "GET /go", "POST /go", "POST /give", "POST /give", "POST /mcp with t1"];
    let come = format!("body 1: {RESULT}");
    let server = check_grant(&of_device, scripts, &[&come], &[&DISCOVERY[..], &heard].concat()).await;
    let said = server.heard();
    assert!(said[3].contains("scope=read") && said[3].contains("client_id=me"), "{}", said[3]);
    assert!(said[5].ends_with("user_code=ABCD-EFGH&user=ann&password=pass%20word%26"), "{}", said[5]);
    assert!(said[6].contains("device_code=drawn%20device"), "{}", said[6]);
    let failed = |why: &str| format!("failed 1: no token could be fetched for the server: {why}");
    let denied = json("400 Bad Request", "", r#"{"error":"access_denied"}"#);
    let why = failed("`POST ROOT/give` was answered with HTTP 400 Bad Request: access_denied");
    let scripts = [allowing(), vec![page("<p>Done."), denied]].concat();
    check_grant(&of_device, scripts, &[&why], &[&DISCOVERY[..], &heard[..4]].concat()).await;
    let why = failed("the page asks for `user`, `password` again: `POST ROOT/go` was answered with HTTP 200 OK");
    let scripts = [allowing(), vec![page(asked)]].concat();
    check_grant(&of_device, scripts, &[&why], &[&DISCOVERY[..], &heard[..3]].concat()).await;
    let why = failed(
        "`POST ROOT/device` was answered with HTTP 200 OK, which is no beginning for a device: missing field `device_code` at line 1 column 2",
    );
    let scripts = [discovered(&metadata), vec![json("200 OK", "", "{}")]].concat();
    check_grant(&of_device, scripts, &[&why], &[&DISCOVERY[..], &heard[..1]].concat()).await;
    let why = failed(
        "the page for the code of the device `http://as.example/go` has no TLS; secrets are sent without TLS only within this machine",
    );
    let elsewhere = begun.replace("ROOT/go", "http://as.example/go");
    let scripts = [discovered(&metadata), vec![json("200 OK", "", &elsewhere)]].concat();
    check_grant(&of_device, scripts, &[&why], &[&DISCOVERY[..], &heard[..1]].concat()).await;
    check_grant(
        &of_device,
        discovered(METADATA),
        &[&failed("the server publishes no device authorization endpoint")],
        &DISCOVERY,
    )
    .await;
}
