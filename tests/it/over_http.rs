//! Servers over HTTP whose ports and certificates are made here: a port that is taken, an authority of one's own.

use std::fs;
use std::net::TcpListener;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};

use crate::harness::{Scene, snapshot};

#[test]
fn a_port_that_is_taken_starts_no_server() {
    let scene = Scene::new("over-http/port-taken");
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/mcp", taken.local_addr().unwrap());
    let server = format!("{{ command: [python3, ../../servers/guarded.py, '1'], url: \"{url}\" }}");
    scene.write("suite.yml", &suite(&server));
    snapshot("port-taken", &scene.run("run suite.yml").text());
    scene.assert_nothing_survives();
}

#[test]
fn certificates_of_an_own_authority_count() {
    let scene = Scene::new("over-http/own-authority");
    let authority_key = KeyPair::generate().unwrap();
    let mut authority = CertificateParams::new(Vec::new()).unwrap();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    scene.write("root.pem", &authority.self_signed(&authority_key).unwrap().pem());
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    let certificate = certificate.signed_by(&key, &Issuer::new(authority, authority_key)).unwrap();
    scene.write("server.pem", &certificate.pem());
    scene.write("server.key", &key.serialize_pem());
    fs::write(scene.folder.join("empty.pem"), "").unwrap();
    let server = |more: &str| {
        format!(
            "\n  command: [python3, ../../servers/guarded.py, '{{{{ port }}}}', cert=server.pem, key=server.key]\n  \
             url: https://127.0.0.1:{{{{ port }}}}/mcp\n  \
             auth: {{ client_credentials: {{ client_id: mcprove, client_secret: open sesame 7 }} }}\n  {more}"
        )
    };
    let seen = ["tls: { ca: root.pem }", "tls: { ca: missing.pem }", "tls: { ca: empty.pem }"].map(|tls| {
        scene.write("suite.yml", &suite(&server(tls)));
        scene.run("run suite.yml").text()
    });
    snapshot("own-authority", &seen.join("\n"));
    scene.assert_nothing_survives();
}

fn suite(server: &str) -> String {
    format!(
        "suite: Over HTTP\nserver: {server}\nrun_options: {{ parallel: 1, start_timeout: 20s }}\ntests:\n  \
         - {{ name: any, call: whoami, expect: [{{ is_error: false }}] }}\n"
    )
}
