//! Messages against the published schemas: right answers, and what one change makes of them.

use serde_json::{Value, json};

use super::*;

/// A session of a revision up to the answer that `initialize` gets.
fn opening(revision: &str) -> Vec<String> {
    let result = json!({
        "protocolVersion": revision, "capabilities": {"logging": {}, "tools": {"listChanged": true}},
        "serverInfo": {"name": "x", "version": "1"}, "instructions": "None.", "_meta": {},
    });
    vec![
        r#">{%,"id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"sampling":{"tools":{}},"elicitation":{"form":{},"url":{}},"roots":{}}}}"#
            .to_owned(),
        format!(r#"<{{%,"id":1,"result":{result}}}"#),
    ]
}

/// The violations of one message of the server, as `code place`. A text is the method that it answers.
fn violations(revision: &str, method: &str, message: &Value) -> Vec<String> {
    let mut lines = opening(revision);
    let newest = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {"sampling": {}, "elicitation": {"form": {}, "url": {}}, "roots": {}}});
    let meta = if revision == "2026-07-28" { newest } else { json!({}) };
    let era = if revision == "2026-07-28" { Era::Stateless } else { Era::Session };
    if era == Era::Stateless || method == "initialize" {
        lines.clear();
    }
    if !method.is_empty() {
        let params = json!({"_meta": meta, "protocolVersion": revision, "capabilities": {}});
        lines.push(format!(r#">{{%,"id":2,"method":"{method}","params":{params}}}"#));
    }
    let text = message.to_string();
    let answer = if method.is_empty() { "" } else { r#""id":2,"# };
    lines.push(format!("<{{%,{answer}{}", &text[1..]));
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let found = play(&mut Scanner::new(era), &lines);
    found.iter().map(|one| format!("{} {}", one.code, one.place.as_deref().unwrap_or("-"))).collect()
}

/// A right message of a server, by the method that it answers, or none.
fn right(name: &str) -> (&'static str, Value) {
    let block = || json!([{"type": "text", "text": "a", "annotations": {"audience": ["user"], "priority": 0.5}}]);
    let (method, message) = match name {
        "initialize" => (
            "initialize",
            json!({"result": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {"listChanged": true}, "experimental": {"x": {}}}, "serverInfo": {"name": "x", "version": "1", "websiteUrl": "https://a.b"}}}),
        ),
        "tools" => (
            "tools/list",
            json!({"result": {"tools": [{"name": "x", "title": "X", "description": "X.", "inputSchema": {"type": "object", "properties": {"a": {}}, "required": ["a"]}, "outputSchema": {"type": "object"}, "annotations": {"readOnlyHint": true}, "icons": [{"src": "https://a.b/c.png", "sizes": ["any"]}], "execution": {"taskSupport": "optional"}}], "nextCursor": "c"}}),
        ),
        "call" => (
            "tools/call",
            json!({"result": {"content": [
            {"type": "text", "text": "a", "annotations": {"audience": ["user"], "priority": 1, "lastModified": "2025-11-25T10:00:00Z"}},
            {"type": "image", "data": "aGk=", "mimeType": "image/png"}, {"type": "audio", "data": "aGk=", "mimeType": "audio/wav"},
            {"type": "resource_link", "uri": "a:b", "name": "a", "size": 5}, {"type": "resource", "resource": {"uri": "a:b", "text": "a"}},
            {"type": "resource", "resource": {"uri": "a:b", "blob": "aGk=", "mimeType": "a/b"}}],
            "isError": false, "structuredContent": {"a": 1}, "_meta": {"a": 1}, "more": 1}}),
        ),
        "resources" => (
            "resources/list",
            json!({"result": {"resources": [{"uri": "a:b", "name": "a", "mimeType": "text/plain", "annotations": {"audience": ["user"]}, "size": 3}]}}),
        ),
        "templates" => (
            "resources/templates/list",
            json!({"result": {"resourceTemplates": [{"uriTemplate": "a:{b}", "name": "a"}]}}),
        ),
        "read" => (
            "resources/read",
            json!({"result": {"contents": [{"uri": "not a uri", "text": "a"}, {"uri": "a:b", "blob": ""}]}}),
        ),
        "prompts" => (
            "prompts/list",
            json!({"result": {"prompts": [{"name": "p", "arguments": [{"name": "a", "required": true}]}]}}),
        ),
        "prompt" => (
            "prompts/get",
            json!({"result": {"description": "d", "messages": [{"role": "user", "content": block()[0]}]}}),
        ),
        "complete" => {
            ("completion/complete", json!({"result": {"completion": {"values": ["a"], "total": 1, "hasMore": false}}}))
        }
        "ping" => ("ping", json!({"result": {"x": 1}})),
        "task" => (
            "tasks/get",
            json!({"result": {"taskId": "t", "status": "working", "createdAt": "2025-11-25T10:00:00Z", "lastUpdatedAt": "2025-11-25T10:00:00Z", "ttl": null}}),
        ),
        "log" => {
            ("", json!({"method": "notifications/message", "params": {"level": "info", "data": null, "logger": "l"}}))
        }
        "updated" => ("", json!({"method": "notifications/resources/updated", "params": {"uri": "a:b"}})),
        "changed" => ("", json!({"method": "notifications/tools/list_changed"})),
        "unknown" => ("", json!({"method": "notifications/x", "params": {"a": 1}})),
        "sample" => (
            "",
            json!({"id": 9, "method": "sampling/createMessage", "params": {"messages": [{"role": "user", "content": block()}], "maxTokens": 5, "includeContext": "none", "modelPreferences": {"hints": [{"name": "m"}], "speedPriority": 0.5}}}),
        ),
        "elicit" => (
            "",
            json!({"id": 9, "method": "elicitation/create", "params": {"message": "?", "requestedSchema": {"type": "object", "properties": {
            "a": {"type": "string", "title": "A"}, "b": {"type": "number", "minimum": 0.5}, "c": {"type": "boolean"}, "d": {"type": "string", "enum": ["x"]}}}}}),
        ),
        "url" => (
            "",
            json!({"id": 9, "method": "elicitation/create", "params": {"mode": "url", "message": "?", "url": "https://a.b", "elicitationId": "e"}}),
        ),
        "roots" => ("", json!({"id": 9, "method": "roots/list"})),
        _ => panic!("{name}"),
    };
    (method, message)
}

/// A right message, the place that is changed as a pointer, the value there (none takes it away), and what is found.
type Mutation = (&'static str, &'static str, Option<Value>, &'static str);

fn mutations() -> Vec<Mutation> {
    let set = |name, at, value: Value, found| (name, at, Some(value), found);
    let cut = |name, at, found| (name, at, None, found);
    vec![
        cut("initialize", "/result/serverInfo/version", "invalid-message result.serverInfo.version"),
        cut("initialize", "/result/capabilities", "invalid-message result.capabilities"),
        cut("initialize", "/result/protocolVersion", "invalid-message result.protocolVersion"),
        set("initialize", "/result/capabilities", json!([]), "invalid-message result.capabilities"),
        set(
            "initialize",
            "/result/capabilities/tools/listChanged",
            json!("yes"),
            "invalid-message result.capabilities.tools.listChanged",
        ),
        set(
            "initialize",
            "/result/capabilities/experimental/x",
            json!(true),
            "invalid-message result.capabilities.experimental[*]",
        ),
        set("initialize", "/result/instructions", json!(["a"]), "invalid-message result.instructions"),
        set(
            "initialize",
            "/result/serverInfo/websiteUrl",
            json!("a.b"),
            "doubtful-format result.serverInfo.websiteUrl",
        ),
        cut("tools", "/result/tools", "invalid-message result.tools"),
        set("tools", "/result/tools", json!({}), "invalid-message result.tools"),
        set("tools", "/result/tools/0", json!("x"), "invalid-message result.tools[*]"),
        cut("tools", "/result/tools/0/name", "invalid-message result.tools[*].name"),
        set("tools", "/result/tools/0/title", Value::Null, "invalid-message result.tools[*].title"),
        set("tools", "/result/tools/0/description", json!(5), "invalid-message result.tools[*].description"),
        set("tools", "/result/tools/0/annotations", Value::Null, "invalid-message result.tools[*].annotations"),
        set(
            "tools",
            "/result/tools/0/annotations/readOnlyHint",
            json!("true"),
            "invalid-message result.tools[*].annotations.readOnlyHint",
        ),
        set("tools", "/result/tools/0/outputSchema", Value::Null, "invalid-message result.tools[*].outputSchema"),
        cut("tools", "/result/tools/0/inputSchema", "no-input-schema result.tools[*].inputSchema"),
        set("tools", "/result/tools/0/inputSchema", Value::Null, "no-input-schema result.tools[*].inputSchema"),
        cut("tools", "/result/tools/0/inputSchema/type", "no-input-schema result.tools[*].inputSchema.type"),
        set(
            "tools",
            "/result/tools/0/inputSchema/type",
            json!(["object", "null"]),
            "no-input-schema result.tools[*].inputSchema.type",
        ),
        set(
            "tools",
            "/result/tools/0/inputSchema/properties/a",
            json!(true),
            "invalid-message result.tools[*].inputSchema.properties[*]",
        ),
        set(
            "tools",
            "/result/tools/0/inputSchema/required",
            Value::Null,
            "invalid-message result.tools[*].inputSchema.required",
        ),
        set("tools", "/result/tools/0/icons", json!("a.png"), "invalid-message result.tools[*].icons"),
        set("tools", "/result/tools/0/icons/0/src", json!("a.png"), "doubtful-format result.tools[*].icons[*].src"),
        set("tools", "/result/tools/0/icons/0/sizes", json!("any"), "invalid-message result.tools[*].icons[*].sizes"),
        set(
            "tools",
            "/result/tools/0/execution/taskSupport",
            json!("maybe"),
            "invalid-message result.tools[*].execution.taskSupport",
        ),
        set("tools", "/result/nextCursor", Value::Null, "invalid-message result.nextCursor"),
        set("tools", "/result/nextCursor", json!(2), "invalid-message result.nextCursor"),
        set("tools", "/result/_meta", Value::Null, "invalid-message result._meta"),
        set("call", "/result", json!({}), "invalid-content result.content"),
        cut("call", "/result/content", "invalid-content result.content"),
        set("call", "/result/content", Value::Null, "invalid-content result.content"),
        set("call", "/result/content", json!("hello"), "invalid-content result.content"),
        set("call", "/result/content/0", json!("hello"), "invalid-content result.content[*]"),
        cut("call", "/result/content/0/type", "invalid-content result.content[*].type"),
        set("call", "/result/content/0/type", json!("video"), "invalid-content result.content[*].type"),
        set("call", "/result/content/0/text", json!(5), "invalid-content result.content[*].text"),
        set(
            "call",
            "/result/content/0/annotations/priority",
            json!(7),
            "invalid-message result.content[*].annotations.priority",
        ),
        set(
            "call",
            "/result/content/0/annotations/audience",
            json!("user"),
            "invalid-message result.content[*].annotations.audience",
        ),
        set(
            "call",
            "/result/content/0/annotations/lastModified",
            json!("today"),
            "doubtful-format result.content[*].annotations.lastModified",
        ),
        set("call", "/result/content/1/data", json!("ä"), "bad-base64 result.content[*].data"),
        cut("call", "/result/content/1/mimeType", "bad-media-type result.content[*].mimeType"),
        set("call", "/result/content/2/mimeType", json!("wav"), "bad-media-type result.content[*].mimeType"),
        cut("call", "/result/content/3/uri", "invalid-content result.content[*].uri"),
        cut("call", "/result/content/3/name", "invalid-content result.content[*].name"),
        set("call", "/result/content/3/uri", json!("a b"), "bad-uri result.content[*].uri"),
        set("call", "/result/content/3/size", json!("5"), "invalid-content result.content[*].size"),
        set("call", "/result/content/4/resource", json!("a:b"), "invalid-content result.content[*].resource"),
        cut("call", "/result/content/4/resource/uri", "bad-resource result.content[*].resource.uri"),
        cut("call", "/result/content/4/resource/text", "bad-resource result.content[*].resource"),
        set("call", "/result/content/4/resource/text", json!(["a"]), "bad-resource result.content[*].resource.text"),
        cut("call", "/result/content/5/resource/uri", "bad-resource result.content[*].resource.uri"),
        set("call", "/result/content/5/resource/blob", json!("?"), "bad-base64 result.content[*].resource.blob"),
        set(
            "call",
            "/result/content/5/resource/mimeType",
            Value::Null,
            "invalid-message result.content[*].resource.mimeType",
        ),
        set("call", "/result/isError", json!("false"), "invalid-message result.isError"),
        set("call", "/result/structuredContent", json!([1]), "invalid-message result.structuredContent"),
        set("call", "/result/_meta", Value::Null, "invalid-message result._meta"),
        set("resources", "/result/resources", Value::Null, "invalid-message result.resources"),
        cut("resources", "/result/resources/0/name", "invalid-message result.resources[*].name"),
        cut("resources", "/result/resources/0/uri", "invalid-message result.resources[*].uri"),
        set("resources", "/result/resources/0/mimeType", Value::Null, "invalid-message result.resources[*].mimeType"),
        set("resources", "/result/resources/0/size", json!(1.5), "invalid-message result.resources[*].size"),
        set(
            "resources",
            "/result/resources/0/annotations/audience",
            json!(["model"]),
            "invalid-message result.resources[*].annotations.audience[*]",
        ),
        cut("templates", "/result/resourceTemplates", "invalid-message result.resourceTemplates"),
        cut("templates", "/result/resourceTemplates/0/name", "invalid-message result.resourceTemplates[*].name"),
        set(
            "templates",
            "/result/resourceTemplates/0/uriTemplate",
            json!("a:{"),
            "bad-uri-template result.resourceTemplates[*].uriTemplate",
        ),
        set(
            "templates",
            "/result/resourceTemplates/0/uriTemplate",
            json!(5),
            "invalid-message result.resourceTemplates[*].uriTemplate",
        ),
        cut("read", "/result/contents", "invalid-message result.contents"),
        set("read", "/result/contents/0", json!({"text": "a"}), "bad-resource result.contents[*].uri"),
        set("read", "/result/contents/0", json!({"uri": "a:b"}), "bad-resource result.contents[*]"),
        set("read", "/result/contents/1/blob", json!("a"), "bad-base64 result.contents[*].blob"),
        set("prompts", "/result/prompts/0/arguments", Value::Null, "invalid-message result.prompts[*].arguments"),
        set("prompts", "/result/prompts/0/arguments", json!({"a": "b"}), "invalid-message result.prompts[*].arguments"),
        set(
            "prompts",
            "/result/prompts/0/arguments/0/required",
            json!("yes"),
            "invalid-message result.prompts[*].arguments[*].required",
        ),
        cut("prompts", "/result/prompts/0/arguments/0/name", "invalid-message result.prompts[*].arguments[*].name"),
        cut("prompt", "/result/messages", "invalid-message result.messages"),
        set("prompt", "/result/messages/0/role", json!("system"), "invalid-message result.messages[*].role"),
        set("prompt", "/result/messages/0/content", json!("hi"), "invalid-content result.messages[*].content"),
        set(
            "prompt",
            "/result/messages/0/content",
            json!([{"type": "text", "text": "hi"}]),
            "invalid-content result.messages[*].content",
        ),
        set("prompt", "/result/description", Value::Null, "invalid-message result.description"),
        cut("complete", "/result/completion", "invalid-message result.completion"),
        cut("complete", "/result/completion/values", "invalid-message result.completion.values"),
        set("complete", "/result/completion/values/0", json!(1), "invalid-message result.completion.values[*]"),
        set("complete", "/result/completion/total", json!("1"), "invalid-message result.completion.total"),
        set("complete", "/result/completion/hasMore", Value::Null, "invalid-message result.completion.hasMore"),
        set("ping", "/result/_meta", json!([]), "invalid-message result._meta"),
        cut("task", "/result/ttl", "bad-task-ttl result.ttl"),
        set("task", "/result/pollInterval", json!("5"), "invalid-message result.pollInterval"),
        set("task", "/result/status", json!("done"), "bad-task-status result.status"),
        cut("log", "/params", "invalid-message params"),
        cut("log", "/params/data", "invalid-message params.data"),
        set("log", "/params/level", json!("trace"), "invalid-message params.level"),
        set("log", "/params/logger", Value::Null, "invalid-message params.logger"),
        cut("updated", "/params/uri", "invalid-message params.uri"),
        set("updated", "/params/uri", json!("a b"), "doubtful-format params.uri"),
        set("changed", "/params", json!([]), "invalid-message params"),
        set("unknown", "/params", json!("a"), "invalid-message params"),
        set("sample", "/params/messages", json!("hi"), "invalid-message params.messages"),
        cut("sample", "/params/maxTokens", "invalid-message params.maxTokens"),
        set("sample", "/params/messages/0/role", json!("system"), "invalid-message params.messages[*].role"),
        set("sample", "/params/messages/0/content", json!("hi"), "invalid-content params.messages[*].content"),
        set(
            "sample",
            "/params/messages/0/content",
            json!({"type": "resource_link", "uri": "a:b", "name": "a"}),
            "invalid-content params.messages[*].content.type",
        ),
        set("sample", "/params/includeContext", json!("all"), "invalid-message params.includeContext"),
        set(
            "sample",
            "/params/modelPreferences/speedPriority",
            json!(5),
            "invalid-message params.modelPreferences.speedPriority",
        ),
        set(
            "sample",
            "/params/modelPreferences/hints",
            json!(["m"]),
            "invalid-message params.modelPreferences.hints[*]",
        ),
        cut("elicit", "/params/message", "incomplete-elicitation params.message"),
        cut("elicit", "/params/requestedSchema", "incomplete-elicitation params.requestedSchema"),
        cut("elicit", "/params/requestedSchema/type", "invalid-message params.requestedSchema.type"),
        cut("elicit", "/params/requestedSchema/properties", "invalid-message params.requestedSchema.properties"),
        set(
            "elicit",
            "/params/requestedSchema/properties/a",
            json!({"type": "object"}),
            "invalid-message params.requestedSchema.properties[*].type",
        ),
        set(
            "elicit",
            "/params/requestedSchema/properties/a/title",
            json!(5),
            "invalid-message params.requestedSchema.properties[*].title",
        ),
        set(
            "elicit",
            "/params/requestedSchema/properties/b/minimum",
            json!("0"),
            "invalid-message params.requestedSchema.properties[*].minimum",
        ),
        set("elicit", "/params/mode", json!("video"), "invalid-message params.mode"),
        cut("url", "/params/url", "incomplete-url-elicitation params.url"),
        set("url", "/params/url", json!("a b"), "incomplete-url-elicitation params.url"),
        cut("url", "/params/elicitationId", "incomplete-url-elicitation params.elicitationId"),
        set("roots", "/params", json!({"_meta": []}), "invalid-message params._meta"),
    ]
}

/// Changes what a pointer names, or takes it away.
fn change(message: &mut Value, at: &str, value: Option<Value>) {
    let (parent, name) = at.rsplit_once('/').unwrap();
    let holder = message.pointer_mut(parent).unwrap_or_else(|| panic!("{at}"));
    match (holder, value) {
        (Value::Array(list), Some(value)) => list[name.parse::<usize>().unwrap()] = value,
        (holder, Some(value)) => holder[name] = value,
        (holder, None) => drop(holder.as_object_mut().and_then(|members| members.shift_remove(name)).unwrap()),
    }
}

#[test]
fn every_change_of_a_right_message_is_found_at_its_place() {
    let mut wrong = Vec::new();
    for (name, at, value, expected) in mutations() {
        let (method, mut message) = right(name);
        let healthy = violations("2025-11-25", method, &message);
        change(&mut message, at, value);
        let found = violations("2025-11-25", method, &message);
        if !healthy.is_empty() || found != [expected] {
            wrong.push(format!("{name} {at}: {found:?}, not {expected}; before: {healthy:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn older_revisions_have_older_schemas() {
    let check = |revision: &str, method: &str, message: Value, expected: &[&str]| {
        assert_eq!(violations(revision, method, &message), expected, "{revision} {message}");
    };
    let audio = || json!({"result": {"content": [{"type": "audio", "data": "", "mimeType": "audio/wav"}]}});
    check("2024-11-05", "tools/call", audio(), &["invalid-content result.content[*].type"]);
    check("2025-03-26", "tools/call", audio(), &[]);
    let list = || json!({"result": {"content": [], "structuredContent": [1]}});
    check("2025-03-26", "tools/call", list(), &[]);
    check("2025-06-18", "tools/call", list(), &["invalid-message result.structuredContent"]);
    // What a later revision has is an unknown member, which everybody may send.
    let tool = json!({"result": {"tools": [{"name": "x", "inputSchema": {"type": "object"}, "title": 5, "icons": 5}]}});
    check("2024-11-05", "tools/list", tool, &[]);
    check("2025-06-18", "", json!({"method": "notifications/tasks/status", "params": {}}), &[]);
    let form = json!({"id": 9, "method": "elicitation/create", "params": {"mode": 5, "message": "?", "requestedSchema": {"type": "object", "properties": {}}}});
    check("2025-06-18", "", form, &[]);
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18"] {
        for name in [
            "resources",
            "templates",
            "read",
            "prompts",
            "prompt",
            "complete",
            "ping",
            "log",
            "updated",
            "unknown",
            "roots",
        ] {
            let (method, message) = right(name);
            check(revision, method, message, &[]);
        }
    }
}

#[test]
fn the_newest_revision_has_types_of_results() {
    let check = |method: &str, result: Value, expected: &[&str]| {
        assert_eq!(violations("2026-07-28", method, &json!({"result": result})), expected, "{result}");
    };
    let tools = |more: Value| {
        let mut result = json!({"resultType": "complete", "tools": [{"name": "x", "inputSchema": {"type": "object", "properties": {"a": true}}, "outputSchema": {"type": "array"}}], "ttlMs": 0, "cacheScope": "public"});
        result.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        result
    };
    check("tools/list", tools(json!({})), &[]);
    check("tools/list", tools(json!({"ttlMs": -1})), &["bad-ttl result.ttlMs"]);
    check("tools/list", tools(json!({"cacheScope": "all"})), &["no-cache-hints result.cacheScope"]);
    check("tools/list", tools(json!({"resultType": 3})), &["result-without-type result.resultType"]);
    check("tools/call", json!({"resultType": "complete", "content": [], "structuredContent": [1]}), &[]);
    check("tools/call", json!({"resultType": "complete"}), &["invalid-content result.content"]);
    check("tools/call", json!({"resultType": "task", "task": {}}), &[]);
    check(
        "completion/complete",
        json!({"resultType": "complete", "completion": {"values": vec!["a"; 101]}}),
        &["invalid-message result.completion.values"],
    );
    let ask = |request: Value| json!({"resultType": "input_required", "inputRequests": {"a": request}});
    check("tools/call", ask(json!({"method": "roots/list"})), &[]);
    check("tools/call", ask(json!({"method": "ping"})), &["input-request-kind result.inputRequests[*].method"]);
    check(
        "tools/call",
        ask(json!({"method": "sampling/createMessage", "params": {"messages": []}})),
        &["invalid-message result.inputRequests[*].params.maxTokens"],
    );
    check(
        "tools/call",
        ask(json!({"method": "elicitation/create", "params": {"mode": "url", "message": "?", "url": "https://a.b"}})),
        &[],
    );
}

#[test]
fn one_kind_of_violation_is_reported_once_for_each_message() {
    let blocks: Vec<Value> = (0..5000).map(|index| json!({"type": "text", "text": index})).collect();
    let message = json!({"result": {"content": blocks}});
    assert_eq!(violations("2025-11-25", "tools/call", &message), ["invalid-content result.content[*].text"]);
    let entries: serde_json::Map<String, Value> = (0..5000).map(|index| (format!("e{index}"), json!(5))).collect();
    let message =
        json!({"result": {"tools": [{"name": "x", "inputSchema": {"type": "object", "properties": entries}}]}});
    let found = violations("2025-11-25", "tools/list", &message);
    assert_eq!(found, ["invalid-message result.tools[*].inputSchema.properties[*]"]);
}
