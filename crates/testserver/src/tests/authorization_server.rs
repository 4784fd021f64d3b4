//! The authorization server: every way to a token, from metadata to a call, as a client walks it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use mcprove_protocol::redact::base64;
use serde_json::{Value, json};

use super::client::{Answer, TYPES, bound, send_at, serve};
use crate::faulty::ServerFault;
use crate::{AuthorizationFlaw, AuthorizationSettings, Settings};

/// RFC 7636, appendix B.
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

const REDIRECT: &str = "http://127.0.0.1:7777/callback";

/// A client of a server with an authorization server.
struct Walker {
    address: String,
}

impl Walker {
    async fn start(flaw: Option<AuthorizationFlaw>, token_lifetime: Duration) -> Self {
        let settings =
            Settings { authorization: Some(AuthorizationSettings { token_lifetime, flaw }), ..Settings::default() };
        Self { address: serve(bound().await.with(settings, &Arc::new(ServerFault::none())).unwrap()).0 }
    }

    async fn good() -> Self {
        Self::start(None, Duration::from_secs(3600)).await
    }

    fn resource(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    async fn get(&self, path: &str) -> Answer {
        send_at(&self.address, &format!("GET {path}"), &[], b"").await
    }

    async fn post(&self, path: &str, form: &[(&str, &str)]) -> Answer {
        self.post_with(path, &[], form).await
    }

    async fn post_with(&self, path: &str, headers: &[(&str, &str)], form: &[(&str, &str)]) -> Answer {
        let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
        let headers = [&[("Content-Type", "application/x-www-form-urlencoded")], headers].concat();
        send_at(&self.address, &format!("POST /oauth/{path}"), &headers, body.as_bytes()).await
    }

    /// Logs ann in, and gives the parameters of the address to which she is redirected.
    async fn log_in(&self, client: &str, scope: &str, resource: &str) -> BTreeMap<String, String> {
        let asked = [
            ("response_type", "code"),
            ("client_id", client),
            ("redirect_uri", REDIRECT),
            ("scope", scope),
            ("state", "the state"),
            ("resource", resource),
            ("code_challenge", CHALLENGE),
            ("code_challenge_method", "S256"),
        ];
        let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(asked).finish();
        let page = self.get(&format!("/oauth/authorize?{query}")).await;
        assert_eq!(page.status, 200, "{page:?}");
        // A program sends what the page has, and fills in the rest.
        let mut form: Vec<(&str, String)> = vec![
            ("username", "ann".to_owned()),
            ("password", "ann-demo-password".to_owned()),
            ("decision", "allow".to_owned()),
        ];
        for hidden in page.body.lines().filter_map(|line| line.strip_prefix("<input type=\"hidden\" name=\"")) {
            let (name, rest) = hidden.split_once("\" value=\"").unwrap();
            form.push((name, rest.trim_end_matches("\">").replace("&amp;", "&")));
        }
        let form: Vec<_> = form.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let answer = self.post("authorize", &form).await;
        assert_eq!(answer.status, 303, "{answer:?}");
        let location = answer.header("location").unwrap().to_owned();
        let query = location.strip_prefix(&format!("{REDIRECT}?")).unwrap();
        form_urlencoded::parse(query.as_bytes()).into_owned().collect()
    }

    async fn exchange(&self, client: &str, code: &str, resource: &str) -> Answer {
        let form = [
            ("grant_type", "authorization_code"),
            ("client_id", client),
            ("code", code),
            ("redirect_uri", REDIRECT),
            ("code_verifier", VERIFIER),
            ("resource", resource),
        ];
        self.post("token", &form).await
    }

    /// Access and refresh token of ann for `demo-app`.
    async fn tokens(&self, scope: &str) -> (String, String) {
        let back = self.log_in("demo-app", scope, &self.resource()).await;
        let answer = self.exchange("demo-app", &back["code"], &self.resource()).await;
        (text(&answer, "access_token"), text(&answer, "refresh_token"))
    }

    async fn refresh(&self, refresh: &str) -> Answer {
        let form = [("grant_type", "refresh_token"), ("client_id", "demo-app"), ("refresh_token", refresh)];
        self.post("token", &form).await
    }

    /// The answer of the server to a call with a token.
    async fn call(&self, tool: &str, token: &str) -> Answer {
        let body = json!({
            "jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": { "name": tool, "arguments": { "id": "u1" }, "_meta": super::client::meta() },
        });
        let authorization = format!("Bearer {token}");
        let headers = [
            ("Authorization", authorization.as_str()),
            ("MCP-Protocol-Version", "2026-07-28"),
            ("Mcp-Method", "tools/call"),
            ("Mcp-Name", tool),
        ];
        let headers = [TYPES.as_slice(), &headers].concat();
        send_at(&self.address, "POST /mcp", &headers, body.to_string().as_bytes()).await
    }
}

fn text(answer: &Answer, name: &str) -> String {
    answer.json()[name].as_str().unwrap_or_else(|| panic!("no `{name}`: {answer:?}")).to_owned()
}

fn error(answer: &Answer) -> (u16, String) {
    (answer.status, text(answer, "error"))
}

#[tokio::test]
async fn from_a_refusal_to_a_call() {
    let walker = Walker::good().await;
    let refused = walker.call("list_users", "-").await;
    let challenge = refused.header("www-authenticate").unwrap().to_owned();
    assert_eq!(refused.status, 401);
    let metadata = challenge.split("resource_metadata=\"").nth(1).unwrap().split('"').next().unwrap();
    let path = metadata.strip_prefix(&format!("http://{}", walker.address)).unwrap();
    let metadata = walker.get(path).await.json();
    assert_eq!(metadata["resource"], walker.resource());
    let issuer = format!("http://{}/oauth", walker.address);
    assert_eq!(metadata["authorization_servers"], json!([issuer]));
    for path in [
        "/.well-known/oauth-authorization-server/oauth",
        "/.well-known/openid-configuration/oauth",
        "/oauth/.well-known/openid-configuration",
    ] {
        assert_eq!(walker.get(path).await.json()["issuer"], issuer, "{path}");
    }

    let back = walker.log_in("demo-app", "users:read", &walker.resource()).await;
    assert_eq!((back["state"].as_str(), back["iss"].as_str()), ("the state", issuer.as_str()));
    let answer = walker.exchange("demo-app", &back["code"], &walker.resource()).await;
    assert_eq!((answer.status, answer.header("cache-control")), (200, Some("no-store")));
    let token = text(&answer, "access_token");
    assert_eq!(walker.call("list_users", &token).await.status, 200);

    // The scope that is missing is named, and a token with it is served.
    let narrow = walker.call("delete_user", &token).await;
    assert_eq!(narrow.status, 403);
    let challenge = narrow.header("www-authenticate").unwrap();
    assert!(challenge.contains("error=\"insufficient_scope\""), "{challenge}");
    assert!(challenge.contains("scope=\"users:read users:write\""), "{challenge}");
    let (whole, _) = walker.tokens("users:read users:write").await;
    assert_eq!(walker.call("delete_user", &whole).await.status, 200);
}

#[tokio::test]
async fn a_code_is_used_once_and_its_tokens_end_with_a_second_use() {
    let walker = Walker::good().await;
    let back = walker.log_in("demo-app", "users:read", &walker.resource()).await;
    let token = text(&walker.exchange("demo-app", &back["code"], &walker.resource()).await, "access_token");
    assert_eq!(walker.call("list_users", &token).await.status, 200);
    let second = walker.exchange("demo-app", &back["code"], &walker.resource()).await;
    assert_eq!(error(&second), (400, "invalid_grant".to_owned()));
    assert_eq!(walker.call("list_users", &token).await.status, 401);
}

#[tokio::test]
async fn refresh_tokens_are_replaced_and_end_when_one_comes_back() {
    let walker = Walker::good().await;
    let (_, first) = walker.tokens("users:read").await;
    let answer = walker.refresh(&first).await;
    let (token, second) = (text(&answer, "access_token"), text(&answer, "refresh_token"));
    assert_ne!(first, second);
    assert_eq!(walker.call("list_users", &token).await.status, 200);
    assert_eq!(error(&walker.refresh(&first).await), (400, "invalid_grant".to_owned()));
    assert_eq!(error(&walker.refresh(&second).await), (400, "invalid_grant".to_owned()));
    assert_eq!(walker.call("list_users", &token).await.status, 401);
}

#[tokio::test]
async fn tokens_end_when_they_are_revoked_and_are_for_one_resource() {
    let walker = Walker::good().await;
    let (token, refresh) = walker.tokens("users:read").await;
    let form = [("client_id", "demo-app"), ("token", token.as_str())];
    assert_eq!(walker.post("revoke", &form).await.status, 200);
    assert_eq!(walker.call("list_users", &token).await.status, 401);
    assert_eq!(walker.refresh(&refresh).await.status, 200);
    let form = [("client_id", "demo-app"), ("token", "unknown")];
    assert_eq!(walker.post("revoke", &form).await.status, 200);

    let other = format!("http://{}/other", walker.address);
    let back = walker.log_in("demo-app", "users:read", &other).await;
    let foreign = text(&walker.exchange("demo-app", &back["code"], &other).await, "access_token");
    assert_eq!(walker.call("list_users", &foreign).await.status, 401);
}

#[tokio::test(start_paused = true)]
async fn access_tokens_expire() {
    let walker = Walker::start(None, Duration::from_secs(5)).await;
    let (token, _) = walker.tokens("users:read").await;
    assert_eq!(walker.call("list_users", &token).await.status, 200);
    tokio::time::advance(Duration::from_secs(5)).await;
    assert_eq!(walker.call("list_users", &token).await.status, 401);
}

#[tokio::test]
async fn clients_act_for_themselves_with_a_secret() {
    let walker = Walker::good().await;
    let resource = walker.resource();
    let basic = format!("Basic {}", base64(b"demo-service:demo-service-secret"));
    let form = [("grant_type", "client_credentials"), ("resource", resource.as_str())];
    let answer = walker.post_with("token", &[("Authorization", &basic)], &form).await;
    assert_eq!(walker.call("list_users", &text(&answer, "access_token")).await.status, 200);
    assert_eq!(answer.json().get("refresh_token"), None);

    let wrong = [&form[..], &[("client_id", "demo-service"), ("client_secret", "wrong")]].concat();
    assert_eq!(error(&walker.post("token", &wrong).await), (401, "invalid_client".to_owned()));
    let public = [&form[..], &[("client_id", "demo-app")]].concat();
    assert_eq!(error(&walker.post("token", &public).await), (400, "unauthorized_client".to_owned()));
}

#[tokio::test]
async fn clients_register_or_are_described_by_a_document() {
    let walker = Walker::good().await;
    let metadata = json!({
        "redirect_uris": ["http://127.0.0.1/callback"],
        "grant_types": ["authorization_code", "refresh_token"],
        "token_endpoint_auth_method": "none",
    });
    let register = |metadata: Value| {
        let address = walker.address.clone();
        async move {
            let headers = [("Content-Type", "application/json")];
            send_at(&address, "POST /oauth/register", &headers, metadata.to_string().as_bytes()).await
        }
    };
    let answer = register(metadata).await;
    assert_eq!(answer.status, 201, "{answer:?}");
    let document = format!("http://{}/oauth/client.json", walker.address);
    for client in [text(&answer, "client_id"), document] {
        let back = walker.log_in(&client, "users:read", &walker.resource()).await;
        let answer = walker.exchange(&client, &back["code"], &walker.resource()).await;
        assert_eq!(walker.call("list_users", &text(&answer, "access_token")).await.status, 200, "{client}");
    }
    let refused = register(json!({ "redirect_uris": ["http://evil.example/"] })).await;
    assert_eq!(error(&refused), (400, "invalid_redirect_uri".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn a_device_waits_until_somebody_allows_it() {
    let walker = Walker::good().await;
    let form = [("client_id", "demo-app"), ("resource", &walker.resource())];
    let begun = walker.post("device_authorization", &form).await;
    let (device_code, user_code) = (text(&begun, "device_code"), text(&begun, "user_code"));
    let form = [
        ("grant_type", "urn:ietf:params:oauth:grant-type:device_code"),
        ("client_id", "demo-app"),
        ("device_code", device_code.as_str()),
    ];
    assert_eq!(error(&walker.post("token", &form).await), (400, "authorization_pending".to_owned()));
    assert_eq!(error(&walker.post("token", &form).await), (400, "slow_down".to_owned()));
    let login = [("user_code", user_code.as_str()), ("username", "ben"), ("password", "ben-demo-password")];
    assert_eq!(walker.post("device", &login).await.status, 200);
    assert_eq!(walker.post("device", &login).await.status, 400);
    tokio::time::advance(Duration::from_secs(1)).await;
    let answer = walker.post("token", &form).await;
    assert_eq!(walker.call("list_users", &text(&answer, "access_token")).await.status, 200);
    tokio::time::advance(Duration::from_secs(1)).await;
    assert_eq!(error(&walker.post("token", &form).await), (400, "invalid_grant".to_owned()));
}

#[tokio::test]
async fn what_is_wrong_about_a_request_is_said() {
    let walker = Walker::good().await;
    let resource = walker.resource();
    let login = |change: (&'static str, &'static str)| {
        let form = [
            ("response_type", "code"),
            ("client_id", "demo-app"),
            ("redirect_uri", REDIRECT),
            ("resource", &resource),
            ("code_challenge", CHALLENGE),
            ("code_challenge_method", "S256"),
            ("username", "ann"),
            ("password", "ann-demo-password"),
        ];
        form.map(|(name, value)| (name, if name == change.0 { change.1 } else { value }))
    };
    for (change, status) in [
        (("password", "wrong"), 403),
        (("client_id", "nobody"), 400),
        (("redirect_uri", "https://evil.example/"), 400),
        (("code_challenge", ""), 303),
        (("resource", ""), 303),
    ] {
        assert_eq!(walker.post("authorize", &login(change)).await.status, status, "{change:?}");
    }
    let back = walker.log_in("demo-app", "users:read", &resource).await;
    for (name, value, code) in [
        ("code_verifier", "another", "invalid_grant"),
        ("redirect_uri", "http://127.0.0.1:1/callback", "invalid_grant"),
        ("resource", "http://127.0.0.1:1/mcp", "invalid_target"),
        ("grant_type", "password", "unsupported_grant_type"),
        ("client_id", "nobody", "invalid_client"),
        ("code", "", "invalid_request"),
    ] {
        let form = [
            ("grant_type", "authorization_code"),
            ("client_id", "demo-app"),
            ("code", &back["code"]),
            ("redirect_uri", REDIRECT),
            ("code_verifier", VERIFIER),
            ("resource", &resource),
        ];
        let form = form.map(|(known, given)| (known, if known == name { value } else { given }));
        assert_eq!(error(&walker.post("token", &form).await).1, code, "{name}");
    }
    assert_eq!(walker.get("/oauth/token").await.status, 405);
    assert_eq!(walker.get("/oauth/elsewhere").await.status, 404);
    let hostile = walker.get("/oauth/device?user_code=%22%3E%3Cscript%3E").await;
    assert!(!hostile.body.contains("<script>"), "{}", hostile.body);
}
