//! Arguments that are addresses: what was made up leads to nothing that anybody runs, since nobody asked the rest of the
//! world.
//!
//! Addresses of the web lead to a port of this machine that is reserved for what is thrown away, or to a name below
//! `.invalid`, which RFC 2606 keeps from ever being one; addresses of machines stay within this machine.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::source::words;

/// A port of this machine where nothing answers.
const NOWHERE: &str = "127.0.0.1:9";

/// A name that no machine has.
const NOBODY: &str = "nowhere.invalid";

/// Schemes of addresses that lead to another machine; others, such as `users://all`, are names that a server made up.
const FAR: [&str; 24] = [
    "http",
    "https",
    "ws",
    "wss",
    "ftp",
    "ftps",
    "sftp",
    "ssh",
    "git",
    "telnet",
    "ldap",
    "ldaps",
    "redis",
    "rediss",
    "postgres",
    "postgresql",
    "mysql",
    "mongodb",
    "amqp",
    "amqps",
    "mqtt",
    "smtp",
    "rtsp",
    "tcp",
];

/// Words in the names of arguments that are names of machines.
const HOSTS: [&str; 15] = [
    "host",
    "hosts",
    "hostname",
    "hostnames",
    "domain",
    "domains",
    "fqdn",
    "url",
    "urls",
    "endpoint",
    "endpoints",
    "webhook",
    "webhooks",
    "callback",
    "proxy",
];

/// Names below these are nobody's.
const RESERVED: [&str; 4] = ["invalid", "test", "example", "localhost"];

/// Names that are meant for examples, and lead to a machine all the same.
const EXAMPLES: [&str; 3] = ["example.com", "example.org", "example.net"];

/// Whether an argument of that name is the name of a machine.
pub(super) fn is_host(name: &str) -> bool {
    words(name).iter().any(|word| HOSTS.contains(&word.as_str()))
}

/// Replacements for a text so that it leads nowhere, the most similar first; empty where it already leads nowhere.
/// `is_host` says whether a text that could be the name of a machine is one.
pub(super) fn nearer(text: &str, is_host: impl FnOnce() -> bool) -> Vec<String> {
    match text.split_once("://") {
        Some((scheme, rest)) => of_web(scheme, rest),
        None => of_machine(text).unwrap_or_else(|| of_name(text, is_host)),
    }
}

fn of_web(scheme: &str, rest: &str) -> Vec<String> {
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (host, path) = rest.split_at(end);
    let is_far = FAR.iter().any(|far| scheme.eq_ignore_ascii_case(far));
    if !is_far || host == NOWHERE || host == NOBODY {
        return Vec::new();
    }
    let places = [(NOWHERE, path), (NOBODY, path), (NOWHERE, "/"), (NOBODY, "/")];
    places.into_iter().map(|(host, path)| format!("{scheme}://{host}{path}")).collect()
}

/// The same for the number of a machine; `None` where the text is none.
fn of_machine(text: &str) -> Option<Vec<String>> {
    if let Ok(socket) = text.parse::<SocketAddr>() {
        return Some(if is_own(socket.ip()) { Vec::new() } else { vec![NOWHERE.to_owned()] });
    }
    let machine: IpAddr = text.parse().ok()?;
    Some(match machine {
        _ if is_own(machine) => Vec::new(),
        IpAddr::V4(machine) => {
            let [_, second, third, last] = machine.octets();
            [Ipv4Addr::new(127, second, third, last), Ipv4Addr::LOCALHOST].map(|own| own.to_string()).into()
        }
        IpAddr::V6(_) => vec![Ipv6Addr::LOCALHOST.to_string()],
    })
}

/// Whether the number is one of this machine, or reserved for documentation.
fn is_own(machine: IpAddr) -> bool {
    let is_documented = matches!(machine, IpAddr::V6(v6) if v6.segments()[..2] == [0x2001, 0xdb8]);
    machine.is_loopback() || machine.is_unspecified() || is_documented
}

fn of_name(text: &str, is_host: impl FnOnce() -> bool) -> Vec<String> {
    let end = text.find([':', '/', '?', '#']).unwrap_or(text.len());
    let (host, rest) = text.split_at(end);
    let Some((_, last)) = host.rsplit_once('.') else { return Vec::new() };
    let is_label =
        |label: &str| !label.is_empty() && label.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    let is_name = host.split('.').all(is_label) && last.len() > 1 && last.chars().all(|c| c.is_ascii_alphabetic());
    let lower = host.to_ascii_lowercase();
    let is_example = || {
        EXAMPLES
            .iter()
            .any(|known| lower.strip_suffix(known).is_some_and(|rest| rest.is_empty() || rest.ends_with('.')))
    };
    if !is_name
        || RESERVED.iter().any(|reserved| lower.ends_with(&format!(".{reserved}")))
        || !(is_example() || is_host())
    {
        return Vec::new();
    }
    vec![format!("{NOBODY}{rest}"), NOBODY.to_owned(), "localhost".to_owned()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_lead_nowhere() {
        let check = |name: &str, text: &str, expected: &str| {
            let found = nearer(text, || is_host(name));
            assert_eq!(found.first().map_or(text, String::as_str), expected, "{name}: {text}");
        };
        check("url", "https://example.com/a?b", "https://127.0.0.1:9/a?b");
        check("any", "HTTP://u@example.com", "HTTP://127.0.0.1:9");
        check("any", "postgres://u:p@db.company.com/users", "postgres://127.0.0.1:9/users");
        check("any", "http://localhost:3000/", "http://127.0.0.1:9/");
        check("uri", "users://all", "users://all");
        check("uri", "file:///tmp/a", "file:///tmp/a");
        check("note", "no address", "no address");
        check("ip", "10.1.2.3", "127.1.2.3");
        check("peer", "10.1.2.3:80", "127.0.0.1:9");
        check("ip", "127.0.0.1", "127.0.0.1");
        check("ip", "fe80::1", "::1");
        check("ip", "2001:db8::7", "2001:db8::7");
        check("any", "ann-1.example.org", "nowhere.invalid");
        check("webhookUrl", "api.company.com/v1", "nowhere.invalid/v1");
        check("db_host", "db.company.com:5432", "nowhere.invalid:5432");
        check("host", "a.test", "a.test");
        check("host", "v1.2", "v1.2");
        check("file", "notes.txt", "notes.txt");
        check("email", "ann@example.com", "ann@example.com");
    }

    #[test]
    fn what_leads_nowhere_stays() {
        for text in ["https://example.com/a", "10.1.2.3", "fe80::1", "example.com"] {
            for nearer_text in nearer(text, || true) {
                assert_eq!(nearer(&nearer_text, || true), [] as [String; 0], "{nearer_text}");
            }
        }
    }
}
