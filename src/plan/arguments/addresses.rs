//! Rewrites generated URLs and host names to unroutable addresses, so that generated calls never contact third parties.
//!
//! URLs get the discard port of this machine, or a name below `.invalid`, which RFC 2606 reserves; IP addresses become
//! loopback addresses.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::folder::is_path;
use crate::source::words;

/// The discard port of this machine (RFC 863), where nothing answers.
const DISCARD_ADDRESS: &str = "127.0.0.1:9";

/// A host name that never resolves.
const INVALID_HOST: &str = "nowhere.invalid";

/// Schemes of URLs that lead to another machine; others, such as `users://all`, are a server's own.
const REMOTE_SCHEMES: [&str; 24] = [
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

/// Words in the names of arguments that take host names.
const HOST_WORDS: [&str; 15] = [
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

/// Reserved top-level domains.
const RESERVED_DOMAINS: [&str; 4] = ["invalid", "test", "example", "localhost"];

/// Domains for examples, which resolve to a machine nevertheless.
const EXAMPLE_DOMAINS: [&str; 3] = ["example.com", "example.org", "example.net"];

/// The word in the names of arguments that take repositories of other machines, also as `owner/name`.
const REMOTE: &str = "remote";

/// The same of tools that deal with other machines; elsewhere, they may be folders.
const REPOSITORY_WORDS: [&str; 4] = ["repo", "repository", "git", "github"];

/// Ends of the names of most machines.
const COMMON_ENDS: [&str; 18] = [
    "com", "org", "net", "io", "dev", "ai", "app", "co", "edu", "gov", "info", "me", "de", "uk", "fr", "eu", "us",
    "cloud",
];

/// Returns true if a text ends like the name of a machine, and not like that of a file.
pub(crate) fn ends_like_host(text: &str) -> bool {
    let host = text.split([':', '/', '?', '#']).next().unwrap_or_default();
    host.rsplit_once('.').is_some_and(|(_, end)| COMMON_ENDS.contains(&end.to_ascii_lowercase().as_str()))
}

/// Unroutable replacements for a repository that is named as `owner/name`; empty where the text is none, or the argument
/// takes none. `is_open_world` says that the tool deals with other machines.
pub(crate) fn unroutable_repository(name: &str, text: &str, is_open_world: bool) -> Vec<String> {
    let is_part = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
    let is_short = text.split('/').count() == 2 && text.split('/').all(|part| is_part(part) && !part.starts_with('.'));
    if !is_short {
        return Vec::new();
    }
    let words = words(name);
    let is_repository = |word: &&String| REPOSITORY_WORDS.contains(&word.as_str());
    let names_one = words.iter().any(|word| word == REMOTE || is_open_world && is_repository(&word));
    let names_path = words.iter().filter(|word| !is_repository(word)).any(|word| is_path(word));
    if names_one && !names_path { vec![format!("http://{DISCARD_ADDRESS}/{text}")] } else { Vec::new() }
}

/// Returns true if an argument of that name takes host names.
pub(crate) fn is_host(name: &str) -> bool {
    words(name).iter().any(|word| HOST_WORDS.contains(&word.as_str()))
}

/// Unroutable replacements for an address, the most similar first; empty where the text is no routable address.
/// `is_host` says whether a text that could be a host name is one.
pub(crate) fn unroutable(text: &str, is_host: impl FnOnce() -> bool) -> Vec<String> {
    match text.split_once("://") {
        Some((scheme, rest)) => unroutable_url(scheme, rest),
        None => unroutable_ip(text).unwrap_or_else(|| unroutable_host(text, is_host)),
    }
}

fn unroutable_url(scheme: &str, rest: &str) -> Vec<String> {
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (host, path) = rest.split_at(end);
    let is_far = REMOTE_SCHEMES.iter().any(|far| scheme.eq_ignore_ascii_case(far));
    if !is_far || host == DISCARD_ADDRESS || host == INVALID_HOST {
        return Vec::new();
    }
    let places = [(DISCARD_ADDRESS, path), (INVALID_HOST, path), (DISCARD_ADDRESS, "/"), (INVALID_HOST, "/")];
    places.into_iter().map(|(host, path)| format!("{scheme}://{host}{path}")).collect()
}

/// The same for an IP address; `None` where the text is none.
fn unroutable_ip(text: &str) -> Option<Vec<String>> {
    if let Ok(socket) = text.parse::<SocketAddr>() {
        return Some(if is_local_or_reserved(socket.ip()) { Vec::new() } else { vec![DISCARD_ADDRESS.to_owned()] });
    }
    let machine: IpAddr = text.parse().ok()?;
    Some(match machine {
        _ if is_local_or_reserved(machine) => Vec::new(),
        IpAddr::V4(machine) => {
            let [_, second, third, last] = machine.octets();
            [Ipv4Addr::new(127, second, third, last), Ipv4Addr::LOCALHOST].map(|own| own.to_string()).into()
        }
        IpAddr::V6(_) => vec![Ipv6Addr::LOCALHOST.to_string()],
    })
}

/// Returns true if the address is one of this machine, or reserved for documentation.
fn is_local_or_reserved(machine: IpAddr) -> bool {
    let is_documented = matches!(machine, IpAddr::V6(v6) if v6.segments()[..2] == [0x2001, 0xdb8]);
    machine.is_loopback() || machine.is_unspecified() || is_documented
}

fn unroutable_host(text: &str, is_host: impl FnOnce() -> bool) -> Vec<String> {
    let end = text.find([':', '/', '?', '#']).unwrap_or(text.len());
    let (host, rest) = text.split_at(end);
    let Some((_, last)) = host.rsplit_once('.') else { return Vec::new() };
    let is_label =
        |label: &str| !label.is_empty() && label.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    let is_name = host.split('.').all(is_label) && last.len() > 1 && last.chars().all(|c| c.is_ascii_alphabetic());
    let lower = host.to_ascii_lowercase();
    let is_example = || {
        EXAMPLE_DOMAINS
            .iter()
            .any(|known| lower.strip_suffix(known).is_some_and(|rest| rest.is_empty() || rest.ends_with('.')))
    };
    if !is_name
        || RESERVED_DOMAINS.iter().any(|reserved| lower.ends_with(&format!(".{reserved}")))
        || !(is_example() || is_host())
    {
        return Vec::new();
    }
    vec![format!("{INVALID_HOST}{rest}"), INVALID_HOST.to_owned(), "localhost".to_owned()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_become_unroutable() {
        let check = |name: &str, text: &str, expected: &str| {
            let found = unroutable(text, || is_host(name));
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
    fn names_of_machines_and_repositories() {
        for (text, expected) in [
            ("google.com", true),
            ("api.github.com:443/a", true),
            ("notes.txt", false),
            ("v1.2", false),
            ("com", false),
        ] {
            assert_eq!(ends_like_host(text), expected, "{text}");
        }
        for (name, text, is_open_world, expected) in [
            ("remote", "yamadashy/repomix", false, Some("http://127.0.0.1:9/yamadashy/repomix")),
            ("githubRepo", "a/b.js", true, Some("http://127.0.0.1:9/a/b.js")),
            ("githubRepo", "a/b.js", false, None),
            ("repo_path", "src/lib", true, None),
            ("path", "src/main.rs", true, None),
            ("repo", "react", true, None),
            ("repo", "a/b/c", true, None),
            ("repo", "./a", true, None),
            ("repo", "a b/c", true, None),
        ] {
            let found = unroutable_repository(name, text, is_open_world);
            assert_eq!(found.first().map(String::as_str), expected, "{name}: {text}");
        }
    }

    #[test]
    fn unroutable_addresses_stay() {
        for text in ["https://example.com/a", "10.1.2.3", "fe80::1", "example.com"] {
            for replacement in unroutable(text, || true) {
                assert_eq!(unroutable(&replacement, || true), [] as [String; 0], "{replacement}");
            }
        }
    }
}
