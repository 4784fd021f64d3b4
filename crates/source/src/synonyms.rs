//! Names that other tools give the keys of suites.

/// Words of other tools, the keys that mean the same here, and what to write.
const SYNONYMS: &[(&[&str], &str, &str)] = &[
    (&["eq", "equal", "equal_to", "to_be", "to_equal", "is", "deep_equals", "exactly"], "equals", "equals"),
    (&["ne", "neq", "not_eq", "not_equal", "not_equals", "differs"], "not", "not: { equals: … }"),
    (&["not_contains", "does_not_contain", "lacks", "not_includes"], "not", "not: { contains: … }"),
    (&["gt", "above", "more_than"], "greater_than", "greater_than"),
    (&["gte", "ge", "minimum", "at_minimum"], "at_least", "at_least"),
    (&["lt", "below"], "less_than", "less_than"),
    (&["lte", "le", "maximum", "at_maximum"], "at_most", "at_most"),
    (&["starts_with", "startswith", "begins_with", "prefix"], "matches", "matches: '^…'"),
    (&["ends_with", "endswith", "suffix"], "matches", "matches: '…$'"),
    (&["regex", "regexp", "pattern", "matches_regex", "matches_pattern"], "matches", "matches"),
    (&["in", "is_in", "enum", "any_of", "oneof"], "one_of", "one_of"),
    (&["is_null", "null"], "equals", "equals: null"),
    (&["not_null", "is_not_null", "is_defined", "defined", "present"], "exists", "exists: true"),
    (&["is_empty", "empty"], "length", "length: 0"),
    (&["not_empty", "is_not_empty", "non_empty"], "length", "length: { min: 1 }"),
    (&["len", "size", "has_length"], "length", "length"),
    (&["json_path", "jsonpath", "path", "field", "property", "select", "jq"], "at", "at"),
    (&["status_code", "http_status"], "status", "status"),
    (&["success", "succeeds", "ok", "no_error"], "is_error", "is_error: false"),
    (&["fails", "failure", "should_fail", "expect_error", "tool_error"], "is_error", "is_error: true"),
    (&["response_time", "max_duration", "duration", "max_time", "max_latency"], "latency", "latency: { under: 1s }"),
    (&["script", "expression", "condition", "expr", "assertion", "that", "is_true"], "assert", "assert"),
    (
        &["assert", "asserts", "assertion", "assertions", "checks", "validate", "verify", "then", "should", "expected"],
        "expect",
        "expect",
    ),
    (&["nowhere", "no_text", "not_matching", "not_matches", "does_not_match"], "no_text_matching", "no_text_matching"),
    (&["unserved", "not_served", "no_success"], "refused_or_ignored", "refused_or_ignored"),
    (&["tool", "tool_name", "tool_call", "call_tool", "action"], "call", "call"),
    (&["arguments", "params", "parameters", "with", "input", "inputs"], "args", "args"),
    (&["get_prompt", "prompt_name"], "prompt", "prompt"),
    (&["read_resource", "resource", "uri", "resource_uri"], "read", "read"),
    (&["retry", "max_retries", "attempts"], "retries", "retries"),
    (&["before", "before_all", "before_each", "background", "given"], "setup", "setup"),
    (&["after", "after_all", "after_each", "finally", "cleanup"], "teardown", "teardown"),
    (&["data", "examples", "cases", "parametrize", "parameterize", "table", "dataset", "matrix"], "rows", "rows"),
    (&["foreach", "loop", "with_items"], "for_each", "for_each"),
    (&["save", "store", "extract", "register", "captures", "outputs"], "capture", "capture"),
    (&["title", "description", "desc", "label"], "name", "name"),
    (&["sleep", "delay", "pause"], "wait", "wait"),
    (&["test_cases", "testcases", "scenarios", "specs", "cases"], "tests", "tests"),
    (&["servers", "mcp_server", "mcp_servers", "server_config", "target"], "server", "server"),
    (&["vars", "globals", "environment"], "variables", "variables"),
    (&["import", "imports", "extends"], "include", "include"),
    (&["config", "options", "settings", "defaults"], "run_options", "run_options"),
    (&["cmd", "exec", "program", "executable"], "command", "command"),
    (&["concurrency", "workers", "threads", "jobs", "max_parallel"], "parallel", "parallel"),
];

/// The key to write for a word of another tool, if it is offered here.
pub(crate) fn synonym(typed: &str, offered: &[&str]) -> Option<&'static str> {
    let plain = snake(typed);
    let is_meant = |(words, key, _): &&(&[&str], &str, &str)| words.contains(&plain.as_str()) && offered.contains(key);
    SYNONYMS.iter().find(is_meant).map(|(_, _, write)| *write)
}

/// `not_equals` for `notEquals` and `not-equals`.
fn snake(typed: &str) -> String {
    let mut plain = String::new();
    for c in typed.chars() {
        if c.is_ascii_uppercase() && !plain.is_empty() {
            plain.push('_');
        }
        plain.push(if c == '-' { '_' } else { c.to_ascii_lowercase() });
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_other_tools_lead_to_keys_that_may_stand_there() {
        let keys = ["at", "equals", "not", "matches", "status"];
        for (typed, expected) in [
            ("eq", Some("equals")),
            ("toBe", Some("equals")),
            ("notEquals", Some("not: { equals: … }")),
            ("starts-with", Some("matches: '^…'")),
            ("status_code", Some("status")),
            ("retry", None),
            ("equals", None),
        ] {
            assert_eq!(synonym(typed, &keys), expected, "{typed}");
        }
        assert_eq!(synonym("assert", &["expect", "call"]), Some("expect"));
        assert_eq!(synonym("that", &["assert", "at"]), Some("assert"));
    }
}
