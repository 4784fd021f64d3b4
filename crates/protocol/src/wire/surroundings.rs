//! The words of a server that lacks something of the machine it runs on: a network, a browser, a program, room on
//! a disk, a key.
//!
//! A refusal in such words says nothing about the server, nor about the call.

use crate::source::{shorten, visible_line};

/// The number of characters of the server's words that are quoted.
const QUOTED: usize = 160;

/// The bytes of a text that reports a failure and nothing else.
const LONGEST_REPORT: usize = 1_000;

/// The number of characters in which a report says that it is one.
const BEGINNING: usize = 48;

/// The first words of reports, in lower case.
const FAILURES: [&str; 13] = [
    "error",
    "an error",
    "fail",
    "unable",
    "could not",
    "couldn't",
    "cannot",
    "can't",
    "fetch failed",
    "typeerror",
    "request failed",
    "network error",
    "success\": false",
];

/// Words that programs use for nothing else, in lower case.
const MARKS: [&str; 52] = [
    // No network, or no service behind an address.
    "getaddrinfo",
    "enotfound",
    "eai_again",
    "econnrefused",
    "enetunreach",
    "ehostunreach",
    "err_name_not_resolved",
    "err_internet_disconnected",
    "err_connection_refused",
    "err_tunnel_connection_failed",
    "err_proxy_connection_failed",
    "name or service not known",
    "nodename nor servname",
    "name resolution",
    "could not resolve host",
    "no such host",
    "failed to lookup address",
    "dns error",
    "network is unreachable",
    "no route to host",
    "connection refused",
    "fetch failed",
    "unable to connect to the server",
    "did you specify the right host or port",
    "failed to establish a new connection",
    "max retries exceeded with url",
    "all connection attempts failed",
    "cannot connect to host",
    "could not connect to server",
    "server selection timed out",
    "connect to the docker daemon",
    "kubeconfig",
    "kubernetes_master",
    // No browser.
    "executable doesn't exist",
    "playwright install",
    "could not find chrom",
    "failed to launch the browser",
    "browser is not installed",
    "chromium distribution",
    "chrome binary",
    // No program, package or driver.
    "command not found",
    "executable file not found",
    "cannot find module",
    "no module named",
    "err_module_not_found",
    "can't open lib",
    "no suitable driver",
    "cannot open shared object file",
    // No room on the disk.
    "no space left on device",
    "enospc",
    "disk quota exceeded",
    "database or disk is full",
];

/// What may be missing, and the words that say so, in lower case.
const MISSING: [(&[&str], &[&str]); 3] = [
    (
        &["api key", "api_key", "apikey", "api token", "api_token", "access token", "credentials"],
        &["missing", "not set", "required", "not configured", "not found", "not provided", "must be set"],
    ),
    (&["environment variable"], &["missing", "not set", "required", "must be set", "is unset", "not defined"]),
    (&["spawn "], &["enoent"]),
];

/// The words of a text that show what the surroundings of a server lack; `None` where none do.
pub fn surroundings_lack(text: &str) -> Option<String> {
    // In JSON, the words stand between quotation marks.
    let is_json = text.starts_with('{');
    let lines = text.split(|c| c == '\n' || is_json && c == '"').flat_map(|line| line.split("\\n")).map(str::trim);
    lines.filter(|line| !line.is_empty()).find(|line| shows_lack(line)).map(|line| {
        let line = visible_line(line);
        shorten(&line, QUOTED)
    })
}

/// The same of the text of a result that is no error: it says that the call failed, and little else.
pub(crate) fn lack_in_result(text: &str) -> Option<String> {
    // Every answer comes here, so nothing is copied.
    let beginning = text.bytes().filter(u8::is_ascii).take(BEGINNING).skip_while(|byte| !byte.is_ascii_alphabetic());
    let begins_with = |word: &&str| {
        let mut said = beginning.clone();
        word.bytes().all(|byte| said.next().is_some_and(|said| said.eq_ignore_ascii_case(&byte)))
    };
    let is_report = text.len() <= LONGEST_REPORT && FAILURES.iter().any(begins_with);
    if is_report { surroundings_lack(text) } else { None }
}

fn shows_lack(line: &str) -> bool {
    let line = line.to_lowercase();
    let has_any = |words: &[&str]| words.iter().any(|word| line.contains(word));
    has_any(&MARKS) || MISSING.iter().any(|(what, gone)| has_any(what) && has_any(gone))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lacking_surroundings() {
        for (text, expected) in [
            (
                "fetch failed: getaddrinfo ENOTFOUND api.example.com",
                Some("fetch failed: getaddrinfo ENOTFOUND api.example.com"),
            ),
            (
                "browserType.launch: Executable doesn't exist at /ms-playwright/chrome\nrun: npx playwright install",
                Some("browserType.launch: Executable doesn't exist at /ms-playwright/chrome"),
            ),
            (
                "Traceback …\nHTTPConnectionPool: Max retries exceeded with url: /",
                Some("HTTPConnectionPool: Max retries exceeded with url: /"),
            ),
            ("The API key is not set", Some("The API key is not set")),
            ("SLACK_TOKEN environment variable is required", Some("SLACK_TOKEN environment variable is required")),
            ("spawn ffmpeg ENOENT", Some("spawn ffmpeg ENOENT")),
            (
                "dial tcp 127.0.0.1:6443: connect: connection refused",
                Some("dial tcp 127.0.0.1:6443: connect: connection refused"),
            ),
            (r#"{"content":[{"type":"text","text":"spawn ffmpeg ENOENT\nat x"}]}"#, Some("spawn ffmpeg ENOENT")),
            ("ENOSPC: no space left on device, write", Some("ENOSPC: no space left on device, write")),
            ("OSError: [Errno 28] No space left on device", Some("OSError: [Errno 28] No space left on device")),
            ("database or disk is full", Some("database or disk is full")),
            ("the disk `d9` is full of notes", None),
            ("no space is left between two words", None),
            ("there is no user `u9`", None),
            ("`url` is required", None),
            ("the file was not found", None),
            ("", None),
        ] {
            assert_eq!(surroundings_lack(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn failures_told_as_results() {
        for (text, expected) in [
            ("fetch failed", true),
            ("Error fetching the quote: fetch failed", true),
            ("Failed to search: getaddrinfo EAI_AGAIN api.example.com", true),
            ("The guide says: error ECONNREFUSED means that nobody listens", false),
            ("12 results", false),
            ("Error: there is no such city", false),
        ] {
            assert_eq!(lack_in_result(text).is_some(), expected, "{text}");
        }
    }
}
