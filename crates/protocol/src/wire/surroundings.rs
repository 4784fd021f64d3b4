//! The words of a server that lacks something of the machine it runs on: a network, a browser, a program, room on
//! a disk, a key.
//!
//! A refusal in such words says nothing about the server, nor about the call. Neither does one that a server gives because
//! it is called too often, which has words of its own.

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

/// Sentences that say that there were too many calls, in lower case.
const LIMITS: [&str; 19] = [
    "too many requests",
    "too many calls",
    "rate limited",
    "rate-limited",
    "ratelimitexceeded",
    "ratelimiterror",
    "request was throttled",
    "requests are throttled",
    "throttlingexception",
    "quota exceeded",
    "quota exhausted",
    "exceeded your current quota",
    "exceeded the quota",
    "insufficient_quota",
    "resource_exhausted",
    "http 429",
    "status 429",
    "status code 429",
    "error 429",
];

/// A limit, and the words that say that it was reached, in lower case.
const RATE_LIMIT: (&[&str], &[&str]) =
    (&["rate limit", "rate-limit", "rate_limit"], &["exceeded", "exceeds", "reached", "was hit", "hit the", "hit a"]);

/// The words of a text that show what the surroundings of a server lack; `None` where none do.
pub fn surroundings_lack(text: &str) -> Option<String> {
    find_line(text, shows_lack)
}

/// The words of a text with which a server, or a service behind it, refuses a call because there were too many; `None`
/// where it says nothing of the kind.
pub fn call_limit(text: &str) -> Option<String> {
    find_line(text, shows_limit)
}

/// The first line that shows something, as a sentence quotes it.
fn find_line(text: &str, shows: fn(&str) -> bool) -> Option<String> {
    // In JSON, the words stand between quotation marks.
    let is_json = text.starts_with('{');
    let lines = text.split(|c| c == '\n' || is_json && c == '"').flat_map(|line| line.split("\\n")).map(str::trim);
    lines.filter(|line| !line.is_empty()).find(|line| shows(&line.to_lowercase())).map(|line| {
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

/// Returns true if a line in lower case shows that something is missing.
fn shows_lack(line: &str) -> bool {
    let has_any = |words: &[&str]| words.iter().any(|word| line.contains(word));
    has_any(&MARKS) || MISSING.iter().any(|(what, gone)| has_any(what) && has_any(gone))
}

/// Returns true if a line in lower case shows that there were too many calls.
fn shows_limit(line: &str) -> bool {
    let has_any = |words: &[&str]| words.iter().any(|word| line.contains(word));
    has_any(&LIMITS) || has_any(RATE_LIMIT.0) && has_any(RATE_LIMIT.1)
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
    fn limits_of_calls() {
        for (text, expected) in [
            ("Error: Rate limit exceeded", Some("Error: Rate limit exceeded")),
            ("API rate limit exceeded for 192.0.2.1", Some("API rate limit exceeded for 192.0.2.1")),
            ("You have hit a secondary rate limit", Some("You have hit a secondary rate limit")),
            ("failed:\n429 Too Many Requests", Some("429 Too Many Requests")),
            (r#"{"error":{"code":"insufficient_quota"}}"#, Some("insufficient_quota")),
            ("Request failed with status code 429", Some("Request failed with status code 429")),
            ("You are being rate limited.", Some("You are being rate limited.")),
            // Refusals of what was sent.
            ("there is no user 429", None),
            ("`rate_limit` must be positive", None),
            ("the quota of a folder is a number", None),
            ("too many arguments", None),
            ("fetch failed", None),
            ("", None),
        ] {
            assert_eq!(call_limit(text).as_deref(), expected, "{text}");
        }
        assert_eq!(surroundings_lack("Error: Rate limit exceeded"), None, "nothing is missing");
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
