//! The rules of 2026-07-28.

use super::*;

/// A discovery of a server that has logs and no extensions.
const OPEN: [&str; 2] = [
    r#">{%,"id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#,
    r#"<{%,"id":1,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"logging":{}},"ttlMs":0,"cacheScope":"public"}}"#,
];
const CALL: [&str; 3] = [
    OPEN[0],
    OPEN[1],
    r#">{%,"id":2,"method":"tools/call","params":{"name":"x","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{},"sampling":{}}}}}"#,
];
const TOOLS: [&str; 1] = [
    r#">{%,"id":2,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#,
];
const NEXT: [&str; 3] = [
    TOOLS[0],
    r#"<{%,"id":2,"result":{"resultType":"complete","tools":[],"ttlMs":5,"cacheScope":"private","nextCursor":"c"}}"#,
    r#">{%,"id":3,"method":"tools/list","params":{"cursor":"c","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#,
];
const LISTEN: &str = r#">{%,"id":5,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
const ACK: &str = r#"<{%,"method":"notifications/subscriptions/acknowledged","params":{"notifications":{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/subscriptionId":5}}}"#;
const CHANGED: &str = r#"<{%,"method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":5}}}"#;
const COMPLETE: &str = r#"<{%,"id":2,"result":{"resultType":"complete","content":[]}}"#;
const LISTED: &str = r#"<{%,"id":2,"result":{"resultType":"complete","tools":[],"ttlMs":0,"cacheScope":"private"}}"#;
const FORM: &str = r#"<{%,"id":2,"result":{"resultType":"input_required","inputRequests":{"a":{"method":"elicitation/create","params":{"message":"?","requestedSchema":{"type":"object","properties":{}}}}}}}"#;
const HEADER: &str = r#"<{%,"id":2,"result":{"resultType":"complete","ttlMs":0,"cacheScope":"public","tools":[{"name":"x","inputSchema":{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"A"},"x-mcp-header":{"type":"object","properties":{"c":{"type":"integer","x-mcp-header":"C"}}}}}}]}}"#;

pub(crate) const PAIRS: &[Dialog] = &[
    pair(
        "bad-extension-id",
        &[OPEN[0]],
        &[
            r#"<{%,"id":1,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"extensions":{"com.example/x":{}}},"ttlMs":0,"cacheScope":"public"}}"#,
        ],
        &[
            r#"<{%,"id":1,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"extensions":{"x":{}}},"ttlMs":0,"cacheScope":"public"}}"#,
        ],
    ),
    pair(
        "bad-header-annotation",
        &TOOLS,
        &[HEADER],
        &[
            r#"<{%,"id":2,"result":{"resultType":"complete","ttlMs":0,"cacheScope":"public","tools":[{"name":"x","inputSchema":{"type":"object","properties":{"a":{"type":"number","x-mcp-header":"A"}}}}]}}"#,
        ],
    ),
    pair(
        "foreign-cancel",
        &[LISTEN, TOOLS[0]],
        &[r#"<{%,"method":"notifications/cancelled","params":{"requestId":5}}"#],
        &[r#"<{%,"method":"notifications/cancelled","params":{"requestId":2}}"#],
    ),
    pair("undeclared-log", &CALL, &[COMPLETE, LOGGED[0], LOG], &[COMPLETE, LOGGED[0], NO_LOGS[0], NO_LOGS[1], LOG]),
    pair("unasked-log", &CALL, &[LOGGED[0], LOG], &[LOG]),
    pair(
        "listen-stray",
        &[LISTEN, ACK, LOGGED[0]],
        &[CHANGED, LOG],
        &[
            r#"<{%,"method":"notifications/message","params":{"level":"info","data":1,"_meta":{"io.modelcontextprotocol/subscriptionId":5}}}"#,
        ],
    ),
    pair("listen-untagged", &[LISTEN, ACK], &[CHANGED], &[r#"<{%,"method":"notifications/tools/list_changed"}"#]),
    pair(
        "listen-untagged",
        &[LISTEN, ACK],
        &[CHANGED],
        &[
            r#"<{%,"method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"5"}}}"#,
        ],
    ),
    pair("listen-unacknowledged", &[LISTEN], &[ACK, CHANGED], &[CHANGED]),
    pair(
        "listen-unasked",
        &[LISTEN, ACK],
        &[CHANGED],
        &[
            r#"<{%,"method":"notifications/prompts/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":5}}}"#,
        ],
    ),
    pair(
        "server-request",
        &[],
        &[LEGACY[0], LEGACY[1], r#"<{%,"id":1,"method":"ping"}"#],
        &[r#"<{%,"id":1,"method":"ping"}"#],
    ),
    pair("result-without-type", &CALL, &[COMPLETE], &[r#"<{%,"id":2,"result":{"content":[]}}"#]),
    pair("unknown-result-type", &CALL, &[COMPLETE], &[r#"<{%,"id":2,"result":{"resultType":"task"}}"#]),
    pair(
        "undefined-error-code",
        &CALL,
        &[r#"<{%,"id":2,"error":{"code":-32021,"message":"x","data":{"requiredCapabilities":{}}}}"#],
        &[r#"<{%,"id":2,"error":{"code":-32050,"message":"x"}}"#],
    ),
    pair(
        "undefined-error-code",
        &CALL,
        &[r#"<{%,"id":2,"error":{"code":-32019,"message":"x"}}"#],
        &[r#"<{%,"id":2,"error":{"code":-32099,"message":"x"}}"#],
    ),
    pair(
        "retired-error-code",
        &CALL,
        &[r#"<{%,"id":2,"error":{"code":-32602,"message":"x"}}"#],
        &[r#"<{%,"id":2,"error":{"code":-32002,"message":"x"}}"#],
    ),
    pair(
        "retired-error-code",
        &CALL,
        &[r#"<{%,"id":2,"error":{"code":-32602,"message":"x"}}"#],
        &[r#"<{%,"id":2,"error":{"code":-32042,"message":"x"}}"#],
    ),
    pair(
        "handshake-demanded",
        &CALL,
        &[r#"<{%,"id":2,"error":{"code":-32600,"message":"database not initialized"}}"#],
        &[r#"<{%,"id":2,"error":{"code":-32600,"message":"initialize is required"}}"#],
    ),
    pair(
        "no-cache-hints",
        &TOOLS,
        &[LISTED],
        &[r#"<{%,"id":2,"result":{"resultType":"complete","tools":[],"ttlMs":0}}"#],
    ),
    pair(
        "bad-ttl",
        &TOOLS,
        &[LISTED],
        &[r#"<{%,"id":2,"result":{"resultType":"complete","tools":[],"ttlMs":-1,"cacheScope":"public"}}"#],
    ),
    pair(
        "cache-scope-changes",
        &NEXT,
        &[r#"<{%,"id":3,"result":{"resultType":"complete","tools":[],"ttlMs":0,"cacheScope":"private"}}"#],
        &[r#"<{%,"id":3,"result":{"resultType":"complete","tools":[],"ttlMs":5,"cacheScope":"public"}}"#],
    ),
    pair(
        "input-required-elsewhere",
        &CALL,
        &[FORM],
        &[
            COMPLETE,
            r#">{%,"id":3,"method":"completion/complete","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#,
            r#"<{%,"id":3,"result":{"resultType":"input_required","requestState":"x"}}"#,
        ],
    ),
    pair(
        "input-required-empty",
        &CALL,
        &[r#"<{%,"id":2,"result":{"resultType":"input_required","requestState":"x"}}"#],
        &[r#"<{%,"id":2,"result":{"resultType":"input_required"}}"#],
    ),
    pair(
        "input-request-kind",
        &CALL,
        &[FORM],
        &[r#"<{%,"id":2,"result":{"resultType":"input_required","inputRequests":{"a":{"method":"ping"}}}}"#],
    ),
    pair(
        "undeclared-input",
        &CALL,
        &[FORM],
        &[r#"<{%,"id":2,"result":{"resultType":"input_required","inputRequests":{"a":{"method":"roots/list"}}}}"#],
    ),
    pair(
        "undeclared-elicitation-mode",
        &CALL,
        &[FORM],
        &[
            r#"<{%,"id":2,"result":{"resultType":"input_required","inputRequests":{"a":{"method":"elicitation/create","params":{"mode":"url","message":"?","url":"https://a.b"}}}}}"#,
        ],
    ),
    pair(
        "secret-elicitation",
        &CALL,
        &[
            r#"<{%,"id":2,"result":{"resultType":"input_required","inputRequests":{"a":{"method":"elicitation/create","params":{"message":"?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}}}}}}}}"#,
        ],
        &[
            r#"<{%,"id":2,"result":{"resultType":"input_required","inputRequests":{"a":{"method":"elicitation/create","params":{"message":"?","requestedSchema":{"type":"object","properties":{"new_password":{"type":"string"}}}}}}}}"#,
        ],
    ),
    pair(
        "incomplete-elicitation",
        &CALL,
        &[FORM],
        &[
            r#"<{%,"id":2,"result":{"resultType":"input_required","inputRequests":{"a":{"method":"elicitation/create","params":{"requestedSchema":{"type":"object","properties":{}}}}}}}"#,
        ],
    ),
];

const LOG: &str = r#"<{%,"method":"notifications/message","params":{"level":"info","data":1}}"#;
const LOGGED: [&str; 1] = [
    r#">{%,"id":3,"method":"tools/call","params":{"name":"x","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/logLevel":"info"}}}"#,
];
const NO_LOGS: [&str; 2] = [
    r#">{%,"id":9,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#,
    r#"<{%,"id":9,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{},"ttlMs":0,"cacheScope":"public"}}"#,
];

/// An older handshake in the middle of the newest era, and its answer.
const LEGACY: [&str; 2] = [
    r#">{%,"id":8,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}"#,
    r#"<{%,"id":8,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"x","version":"1"}}}"#,
];

#[test]
fn a_server_of_both_eras_may_speak_both() {
    let ping = r#"<{%,"id":1,"method":"ping"}"#;
    let change = r#"<{%,"method":"notifications/tools/list_changed"}"#;
    check(Era::Stateless, &[LEGACY[0], LEGACY[1], ping, change, LOG], &[]);
    check(Era::Stateless, &[ping], &["server-request"]);
}

#[test]
fn what_does_not_say_its_revision_may_get_an_older_answer() {
    let bare = r#">{%,"id":2,"method":"tools/list"}"#;
    check(Era::Stateless, &[bare, r#"<{%,"id":2,"result":{"tools":[]}}"#], &[]);
    check(Era::Stateless, &[bare, r#"<{%,"id":2,"error":{"code":-32002,"message":"x"}}"#], &[]);
}

#[test]
fn extensions_may_add_types_of_results() {
    let with =
        |extension: &str| OPEN[1].replace(r#"{"logging":{}}"#, &format!(r#"{{"extensions":{{"{extension}":{{}}}}}}"#));
    let (tasks, other) = (with("io.modelcontextprotocol/tasks"), with("com.example/x"));
    let apps = with("io.modelcontextprotocol/ui");
    let task = r#"<{%,"id":2,"result":{"resultType":"task"}}"#;
    let paged = r#"<{%,"id":2,"result":{"resultType":"page"}}"#;
    check(Era::Stateless, &[OPEN[0], &tasks, CALL[2], task], &[]);
    check(Era::Stateless, &[OPEN[0], &tasks, CALL[2], paged], &["unknown-result-type"]);
    check(Era::Stateless, &[OPEN[0], &other, CALL[2], paged], &[]);
    check(Era::Stateless, &[OPEN[0], &apps, CALL[2], paged], &["unknown-result-type"]);
    check(Era::Stateless, &[CALL[2], paged], &[]);
}

#[test]
fn annotations_of_headers_have_constraints() {
    let check = |properties: &str, expected: usize| {
        let tools = format!(
            r#"<{{%,"id":2,"result":{{"resultType":"complete","ttlMs":0,"cacheScope":"public","tools":[{{"name":"x","inputSchema":{{"type":"object",{properties}}}}}]}}}}"#
        );
        let codes = vec!["bad-header-annotation"; expected];
        check(Era::Stateless, &[TOOLS[0], &tools], &codes);
    };
    check(
        r#""properties":{"a":{"type":"boolean","x-mcp-header":"A"},"b":{"enum":["x-mcp-header"],"default":{"x-mcp-header":""}}}"#,
        0,
    );
    check(r#""properties":{"a":{"type":"string","x-mcp-header":""}}"#, 1);
    check(r#""properties":{"a":{"type":"string","x-mcp-header":"a b"}}"#, 1);
    check(r#""properties":{"a":{"type":"string","x-mcp-header":7}}"#, 1);
    check(r#""properties":{"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":"a"}}"#, 1);
    check(r#""properties":{"a":{"type":"array","items":{"type":"string","x-mcp-header":"A"}}}"#, 1);
    check(r#""anyOf":[{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}]"#, 1);
    check(r#""$defs":{"a":{"type":"string","x-mcp-header":"A"}}"#, 1);
    check(r#""x-mcp-header":"A""#, 1);
}
