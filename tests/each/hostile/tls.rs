//! Servers over HTTPS with certificates of every kind, and addresses where nothing listens.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::fs;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, date_time_ymd};

use super::{Expected, PAGE, Patience, Run};
use crate::golden::Golden;
use crate::harness::{Scene, root};

/// A server, as the suite has it, and what must become of it.
struct Secure {
    name: &'static str,
    about: &'static str,
    /// The host for which the certificate is made.
    host: &'static str,
    /// The last year in which it is good.
    good_until: i32,
    server: &'static str,
    expected: Expected,
}

const GOOD: Secure = Secure {
    name: "good",
    about: "Has a certificate of an authority that the suite names",
    host: "127.0.0.1",
    good_until: 4000,
    server: "command: [python3, ../../servers/hostile_http.py, --port, '{{ port }}', --tls, cert.pem, key.pem], \
             url: 'https://127.0.0.1:{{ port }}/mcp', tls: { ca: ca.pem }",
    expected: Expected { exit: 0, says: "3 passed" },
};

const fn refused(name: &'static str, about: &'static str) -> Secure {
    Secure { name, about, expected: Expected { exit: 3, says: "tls_error" }, ..GOOD }
}

const SERVERS: &[Secure] = &[
    GOOD,
    Secure {
        server: "command: [python3, ../../servers/hostile_http.py, --port, '{{ port }}', --tls, cert.pem, key.pem], \
                 url: 'https://127.0.0.1:{{ port }}/mcp'",
        ..refused("unknown-issuer", "Has a certificate of an unknown authority")
    },
    Secure { good_until: 2020, ..refused("expired", "Has a certificate that has expired") },
    Secure { host: "elsewhere.example", ..refused("wrong-host", "Has a certificate for another host") },
    Secure {
        server: "command: [python3, ../../servers/hostile_http.py, --port, '{{ port }}', --tls, self.pem, key.pem], \
                 url: 'https://127.0.0.1:{{ port }}/mcp'",
        ..refused("self-signed", "Has a self-signed certificate")
    },
    Secure {
        server: "command: [python3, ../../servers/hostile_http.py, --port, '{{ port }}'], \
                 url: 'https://127.0.0.1:{{ port }}/mcp'",
        ..refused("plain", "Speaks plain HTTP at an `https` address")
    },
    Secure {
        server: "command: [python3, ../../servers/hostile_http.py, --port, '{{ port }}', --tls, cert.pem, key.pem], \
                 url: 'http://127.0.0.1:{{ port }}/mcp'",
        expected: Expected { exit: 3, says: "connection_lost" },
        ..refused("not-plain", "Speaks TLS at an `http` address")
    },
    Secure {
        server: "url: 'http://127.0.0.1:1/mcp'",
        expected: Expected { exit: 3, says: "connection_refused" },
        ..refused("nobody", "Does not listen at the address")
    },
];

/// Where the page tells of them.
pub(super) const TABLE: Golden = Golden { file: PAGE, heading: "## Certificates and addresses" };

pub(super) fn runs() -> Vec<Run> {
    let of = |secure: &'static Secure| Run {
        name: format!("tls::{}", secure.name),
        page: &TABLE,
        input: secure.about.to_owned(),
        place: "auto, start".to_owned(),
        expected: secure.expected,
        prepare: Box::new(|scene| prepare(scene, secure)),
    };
    SERVERS.iter().map(of).collect()
}

fn prepare(scene: &Scene, secure: &Secure) {
    write_certificates(scene, secure);
    let text = fs::read_to_string(root().join("tests/hostile/plain.yml")).unwrap();
    let server = "command: [python3, ../../servers/hostile.py, MODE]";
    assert!(text.contains(server), "plain.yml has the server that is replaced here");
    scene.write("suite.yml", &Patience::Long.fill(&text.replace(server, secure.server)));
}

/// An authority, a certificate of it, and one that is nobody's, both with one key.
fn write_certificates(scene: &Scene, secure: &Secure) {
    let (key, authority_key) = (KeyPair::generate().unwrap(), KeyPair::generate().unwrap());
    let mut authority = CertificateParams::default();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    scene.write("ca.pem", &authority.self_signed(&authority_key).unwrap().pem());
    let mut certificate = CertificateParams::new([secure.host.to_owned()]).unwrap();
    certificate.not_before = date_time_ymd(2019, 1, 1);
    certificate.not_after = date_time_ymd(secure.good_until, 1, 1);
    scene.write("self.pem", &certificate.self_signed(&key).unwrap().pem());
    scene.write("cert.pem", &certificate.signed_by(&key, &Issuer::new(authority, authority_key)).unwrap().pem());
    scene.write("key.pem", &key.serialize_pem());
}
