//! The address of a server over HTTP: its name resolves, its port is reached, and no proxy stands in between.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use reqwest::Url;
use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;

use super::Examination;
use crate::source::visible_line;

const NAME: &str = "name";
const PORT: &str = "port";
const PROXY: &str = "proxy";

/// The time to resolve a name, and to reach one address.
const PROBE_TIMEOUT: Duration = Duration::from_secs(5);

/// The network side of an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reach {
    /// The host, without brackets.
    pub host: String,
    pub port: u16,
    /// The addresses of the host; empty where the name does not resolve.
    pub addresses: Vec<IpAddr>,
    /// The first address that accepts connections, or why the last one does not.
    pub accepts: Result<IpAddr, String>,
}

/// Resolves the name of a host, and connects to its port.
pub(crate) async fn reach(url: &Url) -> Reach {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']).to_owned();
    let port = url.port_or_known_default().unwrap_or_default();
    let resolved = timeout(PROBE_TIMEOUT, lookup_host((host.as_str(), port))).await;
    let mut sockets: Vec<SocketAddr> = resolved.ok().and_then(Result::ok).into_iter().flatten().collect();
    sockets.dedup();
    let mut accepts = Err("no address".to_owned());
    for socket in &sockets {
        accepts = match timeout(PROBE_TIMEOUT, TcpStream::connect(socket)).await {
            Ok(Ok(_)) => Ok(socket.ip()),
            Ok(Err(error)) if error.kind() == io::ErrorKind::ConnectionRefused => Err(String::new()),
            Ok(Err(error)) => Err(error.to_string()),
            Err(_) => Err("no answer within 5 s".to_owned()),
        };
        if accepts.is_ok() {
            break;
        }
    }
    Reach { host, port, addresses: sockets.iter().map(SocketAddr::ip).collect(), accepts }
}

/// Judges whether the name of the host resolves; an address needs none.
pub(crate) fn judge_name(reach: &Reach) -> Option<Examination> {
    let host = visible_line(&reach.host);
    if reach.host.parse::<IpAddr>().is_ok() {
        return None;
    }
    if reach.addresses.is_empty() {
        let cure = "check the spelling of the host in the URL, and that this machine can resolve names";
        return Some(Examination::wrong(NAME, format!("the name `{host}` does not resolve"), cure));
    }
    let addresses: Vec<String> = reach.addresses.iter().map(ToString::to_string).collect();
    Some(Examination::fine(NAME, format!("`{host}` is {}", addresses.join(" and "))))
}

/// Judges whether something listens at the port.
pub(crate) fn judge_port(reach: &Reach) -> Examination {
    let at = format!("`{}:{}`", visible_line(&reach.host), reach.port);
    match &reach.accepts {
        Ok(address) if reach.addresses.first() == Some(address) => {
            Examination::fine(PORT, format!("{at} accepts connections"))
        }
        Ok(address) => Examination::doubtful(
            PORT,
            format!("{at} accepts connections at {address} only, and not at {}", reach.addresses[0]),
            "listen at both addresses of the name: some clients try the first one only",
        ),
        Err(reason) if reason.is_empty() => Examination::wrong(
            PORT,
            format!("nothing listens at {at}"),
            "start the server, and compare the port with the one that it prints; for a server over stdio, give its command \
             after `--`",
        ),
        Err(reason) => Examination::wrong(
            PORT,
            format!("{at} cannot be reached: {reason}"),
            "check the network, the port and firewalls on the way",
        ),
    }
}

/// Judges the proxy that the environment names for a URL; values are not shown, since they may hold passwords.
pub(crate) fn judge_proxy(url: &Url, environment: &BTreeMap<String, String>) -> Option<Examination> {
    let set = |name: &str| {
        let names = [name.to_ascii_lowercase(), name.to_owned()];
        names.into_iter().find(|name| environment.get(name).is_some_and(|value| !value.is_empty()))
    };
    let of_scheme = if url.scheme() == "https" { "HTTPS_PROXY" } else { "HTTP_PROXY" };
    let variable = set(of_scheme).or_else(|| set("ALL_PROXY"))?;
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    let excepted = set("NO_PROXY").and_then(|name| environment.get(&name).cloned()).unwrap_or_default();
    let is_excepted = excepted
        .split(',')
        .map(|entry| entry.trim().trim_start_matches('.'))
        .any(|entry| entry == "*" || entry == host || !entry.is_empty() && host.ends_with(&format!(".{entry}")));
    Some(if is_excepted {
        Examination::fine(PROXY, format!("`{variable}` is set, and `NO_PROXY` excepts this host"))
    } else {
        Examination::doubtful(
            PROXY,
            format!(
                "`{variable}` is set: mcprove does not use it, and some clients send requests for this host through it"
            ),
            format!("add `{host}` to `NO_PROXY` where clients shall reach the server directly"),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::super::ExaminationVerdict;
    use super::*;

    #[test]
    fn names_and_ports() {
        let (four, six) = (IpAddr::from([127, 0, 0, 1]), IpAddr::from([0, 0, 0, 0, 0, 0, 0, 1]));
        let reach = |addresses: &[IpAddr], accepts: Result<IpAddr, &str>| Reach {
            host: "localhost".to_owned(),
            port: 3000,
            addresses: addresses.to_vec(),
            accepts: accepts.map_err(str::to_owned),
        };
        let name = |reach: &Reach| judge_name(reach).map(|judged| judged.verdict);
        assert_eq!(name(&reach(&[], Err("no address"))), Some(ExaminationVerdict::Wrong));
        assert_eq!(name(&reach(&[four], Ok(four))), Some(ExaminationVerdict::Fine));
        assert_eq!(name(&Reach { host: "::1".to_owned(), ..reach(&[six], Ok(six)) }), None);
        for (reach, verdict, words) in [
            (reach(&[four], Ok(four)), ExaminationVerdict::Fine, "`localhost:3000` accepts connections"),
            (reach(&[six, four], Ok(four)), ExaminationVerdict::Doubtful, "at 127.0.0.1 only, and not at ::1"),
            (reach(&[four], Err("")), ExaminationVerdict::Wrong, "nothing listens at `localhost:3000`"),
            (reach(&[four], Err("no route to host")), ExaminationVerdict::Wrong, "cannot be reached: no route to host"),
        ] {
            let judged = judge_port(&reach);
            assert_eq!(judged.verdict, verdict);
            assert!(judged.sentence.contains(words), "{}", judged.sentence);
        }
    }

    #[test]
    fn proxies_of_the_environment() {
        for (url, variables, expected) in [
            ("http://127.0.0.1:1/mcp", &[][..], None),
            ("http://127.0.0.1:1/mcp", &[("HTTP_PROXY", "http://u:p@proxy")], Some(ExaminationVerdict::Doubtful)),
            ("http://127.0.0.1:1/mcp", &[("HTTPS_PROXY", "http://proxy")], None),
            ("https://a.example.com/mcp", &[("https_proxy", "http://proxy")], Some(ExaminationVerdict::Doubtful)),
            (
                "https://a.example.com/mcp",
                &[("ALL_PROXY", "x"), ("no_proxy", ".example.com")],
                Some(ExaminationVerdict::Fine),
            ),
            (
                "http://localhost:1/mcp",
                &[("HTTP_PROXY", "x"), ("NO_PROXY", "127.0.0.1, localhost")],
                Some(ExaminationVerdict::Fine),
            ),
        ] {
            let environment = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            let judged = judge_proxy(&url.parse().unwrap(), &environment);
            assert_eq!(judged.as_ref().map(|judged| judged.verdict), expected, "{url} {variables:?}");
            assert!(!judged.is_some_and(|judged| judged.sentence.contains("u:p")));
        }
    }
}
