//! Client ID metadata documents: an id that is the address of a document about the client
//! (draft-ietf-oauth-client-id-metadata-document).
//!
//! Only addresses of this machine are asked, without TLS, so that nothing is sent elsewhere; real servers take `https`
//! alone.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use axum::http::Uri;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::client::{Client, ClientAuthMethod};
use super::{CLIENT_DOCUMENT, is_loopback_address, registration};

/// The time for a document.
const TIMEOUT: Duration = Duration::from_secs(5);

/// The largest document that is read, with its head, in bytes.
const LONGEST_DOCUMENT: u64 = 64 * 1024;

/// The document of a client that has none of its own.
pub(crate) fn own(origin: &str) -> Value {
    json!({
        "client_id": format!("{origin}{CLIENT_DOCUMENT}"),
        "client_name": "Demo client with a document",
        "redirect_uris": ["http://127.0.0.1/callback", "http://localhost/callback"],
        "grant_types": ["authorization_code", "refresh_token"],
        "token_endpoint_auth_method": "none",
    })
}

/// The client whose id is the address of its document, if the document is there and describes it.
pub(crate) async fn fetch(id: &str) -> Option<Client> {
    if !is_loopback_address(id) || id.contains(['#', '@']) {
        return None;
    }
    let answer = timeout(TIMEOUT, get(&id.parse().ok()?)).await.ok()??;
    describe(id, &answer)
}

/// The whole answer to a GET in HTTP/1.0, whose answers are not chunked.
async fn get(uri: &Uri) -> Option<String> {
    let port = uri.port_u16().unwrap_or(80);
    let host = uri.host()?.trim_start_matches('[').trim_end_matches(']');
    let address = host.parse::<IpAddr>().unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST));
    let mut stream = TcpStream::connect(SocketAddr::new(address, port)).await.ok()?;
    let (path, authority) = (uri.path_and_query()?, uri.authority()?);
    let head = format!("GET {path} HTTP/1.0\r\nHost: {authority}\r\nAccept: application/json\r\n\r\n");
    stream.write_all(head.as_bytes()).await.ok()?;
    let mut answer = String::new();
    stream.take(LONGEST_DOCUMENT).read_to_string(&mut answer).await.ok()?;
    Some(answer)
}

/// The client in an answer to the address `id`: with status 200, and with that address as its id.
fn describe(id: &str, answer: &str) -> Option<Client> {
    let (head, body) = answer.split_once("\r\n\r\n")?;
    if head.split(' ').nth(1)? != "200" {
        return None;
    }
    let document: Value = serde_json::from_str(body).ok()?;
    let method = document["token_endpoint_auth_method"].as_str().unwrap_or("none").to_owned();
    let mut asked = document;
    asked.as_object_mut()?.insert("token_endpoint_auth_method".to_owned(), json!(method));
    let client = registration::describe(&asked, None).ok()?;
    // Whoever reads a document knows everything in it, so it holds no secret.
    let is_secretless = matches!(client.method, ClientAuthMethod::None | ClientAuthMethod::PrivateKeyJwt);
    (is_secretless && asked["client_id"] == id && asked["client_secret"].is_null())
        .then(|| Client { id: id.to_owned(), ..client })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_describes_the_client_with_its_address() {
        let id = "http://localhost/oauth/client.json";
        let good = own("http://localhost");
        let with = |name: &str, value: Value| {
            let mut document = good.clone();
            document[name] = value;
            format!("HTTP/1.0 200 OK\r\n\r\n{document}")
        };
        for (answer, expected) in [
            (format!("HTTP/1.0 200 OK\r\n\r\n{good}"), true),
            (format!("HTTP/1.0 404 Not Found\r\n\r\n{good}"), false),
            (format!("HTTP/1.0 200 OK\r\n{good}"), false),
            (with("client_id", json!("http://localhost/other")), false),
            (with("client_secret", json!("x")), false),
            (with("token_endpoint_auth_method", json!("client_secret_post")), false),
            (with("redirect_uris", json!(["http://evil.example/"])), false),
            ("HTTP/1.0 200 OK\r\n\r\n[]".to_owned(), false),
        ] {
            assert_eq!(describe(id, &answer).is_some(), expected, "{answer}");
        }
    }
}
