//! Secure connections: the certificates of servers, and whose signature counts.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, date_time_ymd};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use super::*;

/// Answers every connection from a thread of its own; `speak` is one conversation.
fn server(speak: impl Fn(TcpStream) + Send + 'static) -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || listener.incoming().flatten().for_each(speak));
    port
}

/// Reads a request and answers it; what cannot be read has no answer.
fn converse(mut stream: impl Read + Write) {
    let (mut bytes, mut piece) = (Vec::new(), [0; 4096]);
    while !bytes.ends_with(b"\r\n\r\n{}") {
        match stream.read(&mut piece) {
            Ok(length @ 1..) => bytes.extend_from_slice(&piece[..length]),
            Ok(0) | Err(_) => return,
        }
    }
    let _ = stream.write_all(answer("application/json", RESULT).as_bytes());
    let _ = stream.flush();
}

/// An authority, as PEM and as one that signs.
fn authority(name: &str) -> (String, Issuer<'static, KeyPair>) {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.distinguished_name.push(rcgen::DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let pem = params.self_signed(&key).unwrap().pem();
    (pem, Issuer::new(params, key))
}

/// A server with a certificate for `host` that is valid in these years, signed by `issuer`; `None` signs itself.
fn secure(host: &str, years: (i32, i32), issuer: Option<&Issuer<'_, KeyPair>>) -> u16 {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(vec![host.to_owned()]).unwrap();
    (params.not_before, params.not_after) = (date_time_ymd(years.0, 1, 1), date_time_ymd(years.1, 1, 1));
    let certificate = match issuer {
        Some(issuer) => params.signed_by(&key, issuer),
        None => params.self_signed(&key),
    };
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = config.with_no_client_auth().with_single_cert(vec![certificate.unwrap().der().clone()], key).unwrap();
    let config = Arc::new(config);
    server(move |socket| {
        let connection = ServerConnection::new(Arc::clone(&config)).unwrap();
        converse(StreamOwned::new(connection, socket));
    })
}

/// Sends one request to a server whose authority is `root`.
async fn check_from(root: &str, scheme: &str, port: u16, expected: &str) {
    let url = format!("{scheme}://127.0.0.1:{port}/mcp");
    let mut link =
        connect(&HttpAddress { tls: TrustedRoots::Roots(root.as_bytes().to_vec()), ..address(&url) }).unwrap();
    link.outgoing.send(message(1, MessageRole::Request, Era::Session)).unwrap();
    assert_eq!(shown(link.incoming.recv().await.unwrap()), expected);
}

const VALID: (i32, i32) = (2020, 4000);

#[tokio::test]
async fn certificates_count_or_it_is_said_why_not() {
    let (root, issuer) = authority("ours");
    let (_, stranger) = authority("somebody else");
    for (port, expected) in [
        (secure("127.0.0.1", VALID, Some(&issuer)), format!("body 1: {RESULT}")),
        (
            secure("127.0.0.1", (2020, 2021), Some(&issuer)),
            "failed 1: the certificate of `127.0.0.1` has expired".to_owned(),
        ),
        (
            secure("127.0.0.1", (3999, 4000), Some(&issuer)),
            "failed 1: the certificate of `127.0.0.1` is not valid yet".to_owned(),
        ),
        (
            secure("other.example", VALID, Some(&issuer)),
            "failed 1: the certificate of `127.0.0.1` is for another host: other.example".to_owned(),
        ),
        (
            secure("127.0.0.1", VALID, Some(&stranger)),
            "failed 1: the certificate of `127.0.0.1` is self-signed, or signed by an authority that this machine does not trust".to_owned(),
        ),
        (
            secure("127.0.0.1", VALID, None),
            "failed 1: the certificate of `127.0.0.1` is self-signed, or signed by an authority that this machine does not trust".to_owned(),
        ),
    ] {
        check_from(&root, "https", port, &expected).await;
    }
}

#[tokio::test]
async fn the_wrong_scheme_is_said() {
    let (root, issuer) = authority("ours");
    let plain = server(|mut socket| {
        let _ = socket.read(&mut [0; 512]);
        let _ = socket.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
    });
    let expected = "failed 1: `127.0.0.1` does not speak TLS; the URL may need `http://` instead of `https://`";
    check_from(&root, "https", plain, expected).await;
    let expected = "failed 1: the response to `ping` is not HTTP: invalid HTTP version parsed";
    check_from(&root, "http", secure("127.0.0.1", VALID, Some(&issuer)), expected).await;
    let hung_up = server(drop);
    let expected = "failed 1: `127.0.0.1` closed the connection during the TLS handshake";
    check_from(&root, "https", hung_up, expected).await;
}

#[tokio::test]
async fn files_without_certificates_are_refused() {
    for text in ["", "nonsense", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"] {
        let address =
            HttpAddress { tls: TrustedRoots::Roots(text.as_bytes().to_vec()), ..address("https://127.0.0.1:1/") };
        assert!(connect(&address).is_err(), "{text}");
    }
}
