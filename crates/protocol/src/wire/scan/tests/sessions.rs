//! The rules of revisions with sessions.

use super::*;

/// A handshake of 2025-11-25 with a client that offers sampling, forms and nothing else, and a server without logs.
const OPEN: [&str; 2] = [
    r#">{%,"id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"sampling":{},"elicitation":{}}}}"#,
    r#"<{%,"id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}}"#,
];
const URLS: [&str; 2] = [
    r#">{%,"id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{"form":{},"url":{}}}}}"#,
    OPEN[1],
];
const PING: [&str; 1] = [r#">{%,"id":7,"method":"ping"}"#];
const PONG: [&str; 1] = [r#"<{%,"id":7,"result":{}}"#];
const TOOLS: [&str; 3] = [OPEN[0], OPEN[1], r#">{%,"id":2,"method":"tools/list"}"#];
const CALL: [&str; 3] = [OPEN[0], OPEN[1], r#">{%,"id":2,"method":"tools/call","params":{"name":"x"}}"#];
const READ: [&str; 3] = [OPEN[0], OPEN[1], r#">{%,"id":2,"method":"resources/read","params":{"uri":"a:b"}}"#];
const PROGRESS: [&str; 1] = [r#">{%,"id":2,"method":"tools/call","params":{"name":"x","_meta":{"progressToken":2}}}"#];
const HALF: &str = r#"<{%,"method":"notifications/progress","params":{"progressToken":2,"progress":0.5}}"#;
const TASK: [&str; 3] = [OPEN[0], OPEN[1], r#">{%,"id":2,"method":"tools/call","params":{"name":"x","task":{}}}"#];
const CREATED: &str = r#"<{%,"id":2,"result":{"task":{"taskId":"t","status":"working","createdAt":"2025-11-25T10:00:00Z","lastUpdatedAt":"2025-11-25T10:00:00.5","ttl":null}}}"#;
const GET: [&str; 5] =
    [TASK[0], TASK[1], TASK[2], CREATED, r#">{%,"id":3,"method":"tasks/get","params":{"taskId":"t"}}"#];
const GOT: &str = r#"<{%,"id":3,"result":{"taskId":"t","status":"completed","createdAt":"2025-11-25T10:00:00Z","lastUpdatedAt":"2025-11-25T10:00:00Z","ttl":60000}}"#;
const ENDED: [&str; 7] =
    [TASK[0], TASK[1], TASK[2], CREATED, GET[4], GOT, r#">{%,"id":4,"method":"tasks/get","params":{"taskId":"t"}}"#];
const RESULT: [&str; 3] = [OPEN[0], OPEN[1], r#">{%,"id":4,"method":"tasks/result","params":{"taskId":"t"}}"#];

pub(crate) const PAIRS: &[Dialog] = &[
    pair(
        "early-message",
        &[OPEN[0]],
        &[r#"<{%,"id":"a","method":"ping"}"#, OPEN[1], r#"<{%,"method":"notifications/tools/list_changed"}"#],
        &[r#"<{%,"method":"notifications/tools/list_changed"}"#, OPEN[1]],
    ),
    pair("stray-output", &PING, &PONG, &["<Listening on stdio"]),
    pair("stray-output", &PING, &["<", "<  ", PONG[0]], &["<42", PONG[0]]),
    pair("malformed-envelope", &PING, &PONG, &[r#"<{"id":7,"result":{}}"#]),
    pair("malformed-envelope", &PING, &PONG, &[r#"<{%,"id":7,"result":{},"error":{"code":1,"message":"x"}}"#]),
    pair("malformed-envelope", &PING, &PONG, &[r#"<[{%,"id":7,"result":{}}]"#]),
    pair("malformed-envelope", &PING, &PONG, &[r#"<{%,"id":9}"#]),
    pair("bad-result", &PING, &PONG, &[r#"<{%,"id":7,"result":null}"#]),
    pair(
        "incomplete-error",
        &PING,
        &[r#"<{%,"id":7,"error":{"code":-32601,"message":""}}"#],
        &[r#"<{%,"id":7,"error":{"code":-32601}}"#],
    ),
    pair(
        "incomplete-error",
        &PING,
        &[r#"<{%,"id":7,"error":{"code":1,"message":"x"}}"#],
        &[r#"<{%,"id":7,"error":{"message":"x"}}"#],
    ),
    pair(
        "bad-error-code",
        &PING,
        &[r#"<{%,"id":7,"error":{"code":-32601,"message":"x"}}"#],
        &[r#"<{%,"id":7,"error":{"code":"-32601","message":"x"}}"#],
    ),
    pair(
        "bad-error-code",
        &PING,
        &[r#"<{%,"id":7,"error":{"code":4e3,"message":"x"}}"#],
        &[r#"<{%,"id":7,"error":{"code":1.5,"message":"x"}}"#],
    ),
    pair(
        "notification-with-id",
        &[],
        &[r#"<{%,"method":"notifications/x"}"#],
        &[r#"<{%,"id":3,"method":"notifications/x"}"#],
    ),
    pair(
        "notification-with-id",
        &[],
        &[r#"<{%,"method":"notifications/x"}"#],
        &[r#"<{%,"id":null,"method":"notifications/x"}"#],
    ),
    pair(
        "bad-request-id",
        &[],
        &[r#"<{%,"id":18446744073709551615,"method":"ping"}"#],
        &[r#"<{%,"id":null,"method":"ping"}"#],
    ),
    pair("bad-request-id", &[], &[r#"<{%,"id":"a","method":"ping"}"#], &[r#"<{%,"id":1.5,"method":"ping"}"#]),
    pair(
        "reused-request-id",
        &[r#"<{%,"id":1,"method":"ping"}"#],
        &[r#"<{%,"id":"1","method":"ping"}"#],
        &[r#"<{%,"id":1,"method":"ping"}"#],
    ),
    pair("wrong-id", &PING, &PONG, &[r#"<{%,"id":"7","result":{}}"#]),
    pair("wrong-id", &PING, &PONG, &[r#"<{%,"id":99,"result":{}}"#]),
    pair("answered-twice", &PING, &PONG, &[PONG[0], PONG[0]]),
    pair("answer-without-id", &PING, &PONG, &[r#"<{%,"id":null,"result":{}}"#]),
    pair(
        "unserved-capability",
        &[
            OPEN[0],
            r#"<{%,"id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"prompts":{}},"serverInfo":{"name":"x","version":"1"}}}"#,
            r#">{%,"id":2,"method":"prompts/list"}"#,
        ],
        &[r#"<{%,"id":2,"error":{"code":-32603,"message":"x"}}"#],
        &[r#"<{%,"id":2,"error":{"code":-32601,"message":"x"}}"#],
    ),
    pair(
        "undeclared-request",
        &OPEN,
        &[r#"<{%,"id":1,"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}"#],
        &[r#"<{%,"id":1,"method":"roots/list"}"#],
    ),
    pair(
        "undeclared-sampling-tools",
        &OPEN,
        &[
            r#"<{%,"id":1,"method":"ping"}"#,
            r#"<{%,"id":2,"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}"#,
        ],
        &[r#"<{%,"id":1,"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1,"tools":[]}}"#],
    ),
    pair(
        "undeclared-elicitation-mode",
        &OPEN,
        &[
            r#"<{%,"id":1,"method":"elicitation/create","params":{"message":"?","requestedSchema":{"type":"object","properties":{}}}}"#,
        ],
        &[
            r#"<{%,"id":1,"method":"elicitation/create","params":{"mode":"url","message":"?","url":"https://a.b","elicitationId":"e"}}"#,
        ],
    ),
    pair(
        "incomplete-elicitation",
        &OPEN,
        &[
            r#"<{%,"id":1,"method":"elicitation/create","params":{"message":"?","requestedSchema":{"type":"object","properties":{}}}}"#,
        ],
        &[r#"<{%,"id":1,"method":"elicitation/create","params":{"message":"?"}}"#],
    ),
    pair(
        "secret-elicitation",
        &OPEN,
        &[
            r#"<{%,"id":1,"method":"elicitation/create","params":{"message":"?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"},"reset_password":{"type":"boolean"},"password_policy":{"type":"string"},"token":{"type":"string"},"password":{"type":"string","enum":["keep","new"]}}}}}"#,
        ],
        &[
            r#"<{%,"id":1,"method":"elicitation/create","params":{"message":"?","requestedSchema":{"type":"object","properties":{"API_Key":{"type":"string"}}}}}"#,
        ],
    ),
    pair(
        "secret-elicitation",
        &OPEN,
        &[
            r#"<{%,"id":1,"method":"elicitation/create","params":{"message":"?","requestedSchema":{"type":"object","properties":{"a":{"type":"string","title":"Name of the API key"},"b":{"type":"string","format":"email"}}}}}"#,
        ],
        &[
            r#"<{%,"id":1,"method":"elicitation/create","params":{"message":"?","requestedSchema":{"type":"object","properties":{"a":{"type":"string","title":"Password"}}}}}"#,
        ],
    ),
    pair(
        "secret-elicitation",
        &URLS,
        &[
            r#"<{%,"id":1,"method":"elicitation/create","params":{"mode":"url","message":"Your password?","url":"https://a.b","elicitationId":"e"}}"#,
            r#"<{%,"id":2,"method":"elicitation/create","params":{"message":"?","requestedSchema":{"type":"object","properties":{"color":{"type":"string"}}}}}"#,
        ],
        &[
            r#"<{%,"id":1,"method":"elicitation/create","params":{"message":"?","requestedSchema":{"type":"object","properties":{"a":{"type":"string","title":"API key"}}}}}"#,
        ],
    ),
    pair(
        "incomplete-url-elicitation",
        &URLS,
        &[
            r#"<{%,"id":1,"method":"elicitation/create","params":{"mode":"url","message":"?","url":"https://a.b/?c=d","elicitationId":"e"}}"#,
        ],
        &[r#"<{%,"id":1,"method":"elicitation/create","params":{"mode":"url","message":"?","url":"https://a.b"}}"#],
    ),
    pair(
        "bad-url-required-error",
        &CALL,
        &[
            r#"<{%,"id":2,"error":{"code":-32042,"message":"x","data":{"elicitations":[{"mode":"url","elicitationId":"e","url":"https://a.b","message":"?"}]}}}"#,
        ],
        &[r#"<{%,"id":2,"error":{"code":-32042,"message":"x"}}"#],
    ),
    pair(
        "unknown-elicitation",
        &[
            URLS[0],
            URLS[1],
            r#"<{%,"id":1,"method":"elicitation/create","params":{"mode":"url","message":"?","url":"https://a.b","elicitationId":"e"}}"#,
        ],
        &[r#"<{%,"method":"notifications/elicitation/complete","params":{"elicitationId":"e"}}"#],
        &[r#"<{%,"method":"notifications/elicitation/complete","params":{"elicitationId":"f"}}"#],
    ),
    pair(
        "unbalanced-tool-results",
        &OPEN,
        &[
            r#"<{%,"id":1,"method":"sampling/createMessage","params":{"maxTokens":1,"messages":[{"role":"user","content":[{"type":"tool_result","toolUseId":"t","content":[]}]},{"role":"user","content":{"type":"text","text":""}}]}}"#,
        ],
        &[
            r#"<{%,"id":1,"method":"sampling/createMessage","params":{"maxTokens":1,"messages":[{"role":"user","content":[{"type":"tool_result","toolUseId":"t","content":[]},{"type":"text","text":""}]}]}}"#,
        ],
    ),
    pair(
        "invalid-message",
        &TOOLS,
        &[r#"<{%,"id":2,"result":{"tools":[],"nextCursor":"c"}}"#],
        &[r#"<{%,"id":2,"result":{"tools":[],"nextCursor":null}}"#],
    ),
    pair(
        "invalid-content",
        &CALL,
        &[r#"<{%,"id":2,"result":{"content":[{"type":"text","text":""}]}}"#],
        &[r#"<{%,"id":2,"result":{"content":[{"type":"video","text":""}]}}"#],
    ),
    pair(
        "doubtful-format",
        &TOOLS,
        &[
            r#"<{%,"id":2,"result":{"tools":[{"name":"x","inputSchema":{"type":"object"},"icons":[{"src":"data:image/png;base64,"}]}]}}"#,
        ],
        &[
            r#"<{%,"id":2,"result":{"tools":[{"name":"x","inputSchema":{"type":"object"},"icons":[{"src":"/a.png"}]}]}}"#,
        ],
    ),
    pair(
        "bad-meta-key",
        &CALL,
        &[r#"<{%,"id":2,"result":{"content":[],"_meta":{"a":1,"com.example/":2,"x-1.y/a_b.c":3,"":4}}}"#],
        &[r#"<{%,"id":2,"result":{"content":[{"type":"text","text":"","_meta":{"-x":1}}]}}"#],
    ),
    pair(
        "bad-meta-key",
        &OPEN,
        &[r#"<{%,"method":"notifications/x","params":{"_meta":{"a/b":1}}}"#],
        &[r#"<{%,"method":"notifications/x","params":{"_meta":{"a/b/c":1}}}"#],
    ),
    pair(
        "no-input-schema",
        &TOOLS,
        &[r#"<{%,"id":2,"result":{"tools":[{"name":"x","inputSchema":{"type":"object"}}]}}"#],
        &[r#"<{%,"id":2,"result":{"tools":[{"name":"x","inputSchema":null}]}}"#],
    ),
    pair(
        "invalid-schema",
        &TOOLS,
        &[
            r#"<{%,"id":2,"result":{"tools":[{"name":"x","inputSchema":{"type":"object","$ref":"https://a.b/c"},"outputSchema":{"type":"object"}}]}}"#,
        ],
        &[
            r#"<{%,"id":2,"result":{"tools":[{"name":"x","inputSchema":{"type":"object"},"outputSchema":{"type":"object","minProperties":"1"}}]}}"#,
        ],
    ),
    pair(
        "progress-not-increasing",
        &PROGRESS,
        &[
            HALF,
            r#"<{%,"method":"notifications/progress","params":{"progressToken":2,"progress":1}}"#,
            r#"<{%,"id":2,"result":{}}"#,
        ],
        &[HALF, HALF],
    ),
    pair(
        "progress-unknown-token",
        &PROGRESS,
        &[HALF],
        &[r#"<{%,"method":"notifications/progress","params":{"progressToken":"2","progress":1}}"#],
    ),
    pair(
        "progress-after-answer",
        &PROGRESS,
        &[HALF, r#"<{%,"id":2,"result":{}}"#],
        &[r#"<{%,"id":2,"result":{}}"#, HALF],
    ),
    pair(
        "foreign-cancel",
        &[PING[0], r#"<{%,"id":1,"method":"ping"}"#],
        &[r#"<{%,"method":"notifications/cancelled","params":{"requestId":1}}"#],
        &[r#"<{%,"method":"notifications/cancelled","params":{"requestId":7}}"#],
    ),
    pair(
        "undeclared-log",
        &[OPEN[0]],
        &[
            r#"<{%,"id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{"logging":{}},"serverInfo":{"name":"x","version":"1"}}}"#,
            r#"<{%,"method":"notifications/message","params":{"level":"info","data":1}}"#,
        ],
        &[OPEN[1], r#"<{%,"method":"notifications/message","params":{"level":"info","data":1}}"#],
    ),
    pair(
        "bad-task-id",
        &TASK,
        &[CREATED],
        &[
            r#"<{%,"id":2,"result":{"task":{"taskId":5,"status":"working","createdAt":"2025-11-25T10:00:00Z","lastUpdatedAt":"2025-11-25T10:00:00Z","ttl":null}}}"#,
        ],
    ),
    pair(
        "reused-task-id",
        &[TASK[0], TASK[1], TASK[2], CREATED, r#">{%,"id":3,"method":"tools/call","params":{"name":"x","task":{}}}"#],
        &[
            r#"<{%,"id":3,"result":{"task":{"taskId":"u","status":"working","createdAt":"2025-11-25T10:00:00Z","lastUpdatedAt":"2025-11-25T10:00:00Z","ttl":null}}}"#,
        ],
        &[
            r#"<{%,"id":3,"result":{"task":{"taskId":"t","status":"working","createdAt":"2025-11-25T10:00:00Z","lastUpdatedAt":"2025-11-25T10:00:00Z","ttl":null}}}"#,
        ],
    ),
    pair(
        "task-not-working",
        &TASK,
        &[CREATED],
        &[
            r#"<{%,"id":2,"result":{"task":{"taskId":"t","status":"completed","createdAt":"2025-11-25T10:00:00Z","lastUpdatedAt":"2025-11-25T10:00:00Z","ttl":null}}}"#,
        ],
    ),
    pair(
        "bad-task-status",
        &GET,
        &[GOT],
        &[
            r#"<{%,"id":3,"result":{"taskId":"t","status":"done","createdAt":"2025-11-25T10:00:00Z","lastUpdatedAt":"2025-11-25T10:00:00Z","ttl":null}}"#,
        ],
    ),
    pair(
        "task-not-final",
        &ENDED,
        &[
            r#"<{%,"id":4,"result":{"taskId":"t","status":"completed","createdAt":"2025-11-25T10:00:00Z","lastUpdatedAt":"2025-11-25T10:00:00Z","ttl":1}}"#,
        ],
        &[
            r#"<{%,"id":4,"result":{"taskId":"t","status":"working","createdAt":"2025-11-25T10:00:00Z","lastUpdatedAt":"2025-11-25T10:00:00Z","ttl":1}}"#,
        ],
    ),
    pair(
        "bad-task-time",
        &GET,
        &[GOT],
        &[
            r#"<{%,"id":3,"result":{"taskId":"t","status":"working","createdAt":"2025-11-25T10:00:00Z","lastUpdatedAt":1764064800,"ttl":null}}"#,
        ],
    ),
    pair(
        "bad-task-ttl",
        &GET,
        &[GOT],
        &[
            r#"<{%,"id":3,"result":{"taskId":"t","status":"working","createdAt":"2025-11-25T10:00:00Z","lastUpdatedAt":"2025-11-25T10:00:00Z"}}"#,
        ],
    ),
    pair(
        "unrelated-task-result",
        &RESULT,
        &[r#"<{%,"id":4,"result":{"content":[],"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"t"}}}}"#],
        &[r#"<{%,"id":4,"result":{"content":[]}}"#],
    ),
    pair(
        "bad-base64",
        &READ,
        &[r#"<{%,"id":2,"result":{"contents":[{"uri":"a:b","blob":"aGk="}]}}"#],
        &[r#"<{%,"id":2,"result":{"contents":[{"uri":"a:b","blob":"aGk!"}]}}"#],
    ),
    pair(
        "bad-base64",
        &CALL,
        &[r#"<{%,"id":2,"result":{"content":[{"type":"image","data":"aGk=","mimeType":"image/png"}]}}"#],
        &[r#"<{%,"id":2,"result":{"content":[{"type":"audio","mimeType":"audio/wav"}]}}"#],
    ),
    pair(
        "bad-media-type",
        &CALL,
        &[r#"<{%,"id":2,"result":{"content":[{"type":"image","data":"","mimeType":"image/png"}]}}"#],
        &[r#"<{%,"id":2,"result":{"content":[{"type":"image","data":"","mimeType":"png"}]}}"#],
    ),
    pair(
        "bad-resource",
        &CALL,
        &[r#"<{%,"id":2,"result":{"content":[{"type":"resource","resource":{"uri":"a:b","text":""}}]}}"#],
        &[r#"<{%,"id":2,"result":{"content":[{"type":"resource","resource":{"uri":"a:b"}}]}}"#],
    ),
    pair(
        "bad-uri",
        &CALL,
        &[r#"<{%,"id":2,"result":{"content":[{"type":"resource_link","uri":"file:///a%20b","name":"x"}]}}"#],
        &[r#"<{%,"id":2,"result":{"content":[{"type":"resource_link","uri":"file:///a b","name":"x"}]}}"#],
    ),
    pair(
        "bad-uri",
        &[OPEN[0], OPEN[1], r#">{%,"id":2,"method":"resources/list"}"#],
        &[r#"<{%,"id":2,"result":{"resources":[{"name":"x","uri":"notes:1"}]}}"#],
        &[r#"<{%,"id":2,"result":{"resources":[{"name":"x","uri":"my_notes://1"}]}}"#],
    ),
    pair(
        "bad-uri-template",
        &[OPEN[0], OPEN[1], r#">{%,"id":2,"method":"resources/templates/list"}"#],
        &[r#"<{%,"id":2,"result":{"resourceTemplates":[{"name":"x","uriTemplate":"a://{+b}{?c*}"}]}}"#],
        &[r#"<{%,"id":2,"result":{"resourceTemplates":[{"name":"x","uriTemplate":"a://{b"}]}}"#],
    ),
];

#[test]
fn a_message_on_several_lines_is_told_once_it_is_whole() {
    let lines = ["<{", r#"<  "jsonrpc": "2.0","#, r#"<  "id": 7,"#, r#"<  "result": {}"#, "<}"];
    check(Era::Session, &[&PING[..], &lines].concat(), &["stray-output", "split-message"]);
    let message = r#"<{%,"method":"notifications/x"}"#;
    check(Era::Session, &["<{", "<  \"a\": 1,", message], &["stray-output"; 2]);
    check(Era::Session, &["<{", "<  not JSON", message, "<[", message], &["stray-output"; 3]);
}

#[test]
fn one_revision_had_batches() {
    let answer = OPEN[1].replace("2025-11-25", "2025-03-26");
    let batch = r#"<[{%,"id":7,"result":{}},{%,"method":"notifications/x"}]"#;
    check(Era::Session, &[OPEN[0], &answer, PING[0], batch], &[]);
    check(Era::Session, &[OPEN[0], OPEN[1], PING[0], batch], &["malformed-envelope"]);
}

#[test]
fn rules_hold_from_their_revision_on() {
    let answer = OPEN[1].replace("2025-11-25", "2025-03-26");
    let meta = r#"<{%,"method":"notifications/x","params":{"_meta":{"-":1}}}"#;
    check(Era::Session, &[OPEN[0], &answer, meta], &[]);
    check(Era::Session, &[meta], &[]);
    check(Era::Session, &[OPEN[0], OPEN[1], meta], &["bad-meta-key"]);
    let discovery = r#"<{%,"id":1,"result":{"supportedVersions":["2026-07-28"],"resultType":"complete","ttlMs":0,"cacheScope":"public","capabilities":{"extensions":{"x":{}}}}}"#;
    let discover = r#">{%,"id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
    check(Era::Session, &[discover, discovery], &["bad-extension-id"]);
    check(Era::Session, &[discover, r#"<{%,"id":1,"error":{"code":-32002,"message":"not initialized"}}"#], &[]);
}

#[test]
fn what_raw_steps_get_is_theirs_to_judge() {
    let mut scanner = Scanner::new(Era::Session);
    scanner.expect_anything_for(Id::Number(7));
    let found = play(
        &mut scanner,
        &[
            r#">{%,"id":7,"method":"tools/list","params":{"_meta":{"progressToken":1}}}"#,
            PONG[0],
            PONG[0],
            r#"<{%,"method":"notifications/progress","params":{"progressToken":1,"progress":1}}"#,
            r#"<{%,"id":null,"error":{"code":-32700,"message":"x"}}"#,
            r#"<[{%,"id":7,"result":{}}]"#,
            r#"<{%,"id":8,"result":{}}"#,
            r#"<{%,"id":7,"error":{"code":1.5,"message":"x"}}"#,
        ],
    );
    let codes: Vec<&str> = found.iter().map(|violation| violation.code).collect();
    assert_eq!(codes, ["wrong-id", "bad-error-code"]);
}

#[test]
fn what_may_have_been_overtaken_is_no_fault() {
    let asked_before = r#">{%,"id":9,"method":"tasks/get","params":{"taskId":"t"}}"#;
    let answer = GOT.replace("completed", "working").replace(r#""id":3"#, r#""id":9"#);
    let lines = [&TASK[..], &[CREATED, asked_before, GET[4], GOT, &answer]].concat();
    check(Era::Session, &lines, &[]);
    let lost = r#"<{%,"method":"notifications/tasks/status","params":{"taskId":"t","status":"working","createdAt":"2025-11-25T10:00:00Z","lastUpdatedAt":"2025-11-25T10:00:00Z","ttl":null}}"#;
    check(Era::Session, &[&ENDED[..6], &[lost]].concat(), &[]);
    // The progress of a task goes on after the answer to the call.
    let call = r#">{%,"id":2,"method":"tools/call","params":{"name":"x","task":{},"_meta":{"progressToken":2}}}"#;
    check(Era::Session, &[OPEN[0], OPEN[1], call, CREATED, HALF], &[]);
}
