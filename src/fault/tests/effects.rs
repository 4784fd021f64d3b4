use super::*;

/// The changes of a fault at the last exchange, line by line; `-` stands for none, and a reason in brackets for a
/// lack of material.
fn check(answers: &str, exchanges: &[(Value, Value)], expected: &[&str]) {
    check_fault(&format!("answers: [{answers}]"), exchanges, expected);
}

fn check_fault(yaml: &str, exchanges: &[(Value, Value)], expected: &[&str]) {
    let fault = fault(yaml).unwrap_or_else(|shown| panic!("{shown}"));
    let scene = scene(exchanges);
    let changed = match fault.apply(exchanges.len() - 1, &scene.known()) {
        Ok(struck) => struck.changes(&scene.known().exchanges[exchanges.len() - 1]),
        Err(NotApplied::NoChange) => vec!["-".to_owned()],
        Err(NotApplied::NoMaterial(reason)) => vec![format!("[{reason}]")],
    };
    assert_eq!(changed, expected, "{yaml} on {exchanges:?}");
}

fn ann() -> (Value, Value) {
    let structured = json!({"name": "Ann", "age": 41});
    let result =
        json!({"content": [{"type": "text", "text": structured.to_string()}], "structuredContent": structured});
    (json!({"call": "get_user", "args": {"id": "u1"}}), json!({ "result": result }))
}

#[test]
fn places() {
    let one = &[ann()];
    for (answers, expected) in [
        ("{ set: { result.isError: true } }", &["result.isError: none → true"][..]),
        ("{ set: { result.nowhere.there: 1 } }", &["-"]),
        ("{ replace: { '\"isError\":true': '\"isError\":false' } }", &["-"]),
        ("{ replace: { 'Ann\",': 'Bob\",' } }", &["result.structuredContent.name: \"Ann\" → \"Bob\""]),
        ("{ remove: result.structuredContent.age }", &["result.structuredContent.age: 41 → gone"]),
        ("{ null: result.structuredContent.age }", &["result.structuredContent.age: 41 → null"]),
        (
            "{ retype: result.structuredContent.* }",
            &["result.structuredContent.name: \"Ann\" → 3", "result.structuredContent.age: 41 → \"41\""],
        ),
        ("{ change: result.structuredContent }", &["result.structuredContent.age: 41 → 33"]),
        ("{ change: result.structuredContent.name }", &["result.structuredContent.name: \"Ann\" → \"Znn\""]),
        ("{ change: result.structuredContent.nothing }", &["-"]),
        ("{ cut: result.structuredContent.name }", &["result.structuredContent.name: \"Ann\" → \"A\""]),
        ("{ cut: result.content }", &["result.content: 1 item → 0 items"]),
        ("{ empty: result.structuredContent.name }", &["result.structuredContent.name: \"Ann\" → \"\""]),
        ("{ wrap: result.structuredContent.age }", &["result.structuredContent.age: 41 → [41]"]),
        ("{ reverse: result.content }", &["-"]),
        ("{ double: result.content }", &["result.content: 1 item → 2 items"]),
        ("{ append: { result.structuredContent.name: '!' } }", &["result.structuredContent.name: \"Ann\" → \"Ann!\""]),
        ("{ add: { result.content: {} } }", &["result.content: 1 item → 2 items"]),
        ("{ pad: { result.structuredContent.name: 9 } }", &["result.structuredContent.name: \"Ann\" → \"Ann and s\""]),
        (
            "{ rename: { result.structuredContent.name: who } }",
            &["result.structuredContent.name: \"Ann\" → gone", "result.structuredContent.who: none → \"Ann\""],
        ),
        (
            "{ clone: { list: result.content, with: { type: '{name}_{n}' }, times: 2 } }",
            &["result.content: 1 item → 3 items"],
        ),
        (
            "{ set: { result.structuredContent.name: '{{ params.arguments.id }}' } }",
            &["result.structuredContent.name: \"Ann\" → \"u1\""],
        ),
        (
            "{ change: 'result.content[0].text.json().age' }",
            &[
                "result.content[0].text: \"{\\\"name\\\":\\\"Ann\\\",\\\"age\\\":41}\" → \"{\\\"name\\\":\\\"Ann\\\",\\\"age\\\":47}\"",
            ],
        ),
    ] {
        check(answers, one, expected);
    }
    let property = json!({"type": "integer", "minimum": 1});
    let tool = json!({"name": "get_user", "inputSchema": {"properties": {"a": property, "b": {"type": "string"}}}});
    check(
        "{ misdeclare: 'result.tools[*].inputSchema.properties.*.type' }",
        &[(json!({"method": "tools/list"}), json!({"result": {"tools": [tool]}}))],
        &[
            "result.tools[0].inputSchema.properties.a.type: \"integer\" → \"string\"",
            "result.tools[0].inputSchema.properties.b.type: \"string\" → \"integer\"",
        ],
    );
    let letters = &[(json!({"call": "create_user", "args": {"name": "Zoë", "n": 7}}), text("Zoë is 7"))];
    check("{ ascii: result }", letters, &["result.content[0].text: \"Zoë is 7\" → \"Zo? is 7\""]);
    check("unfill", letters, &["result.content[0].text: \"Zoë is 7\" → \"{{ name }} is {{ n }}\""]);
    let tools = json!({"tools": [{"name": "get_user"}, {"name": "create_user", "annotations": {"title": "x"}}]});
    let list = &[(json!({"method": "tools/list"}), json!({ "result": tools }))];
    check("{ mark: { readOnlyHint: writing } }", list, &["result.tools[1].annotations.readOnlyHint: none → true"]);
}

#[test]
fn structured_content_is_broken_in_one_way() {
    for (breach, expected) in [
        ("type", "result.structuredContent.name: \"Ann\" → 3"),
        ("missing", "result.structuredContent.name: \"Ann\" → gone"),
        ("extra", "result.structuredContent.unexpected: none → true"),
        ("'null'", "result.structuredContent.name: \"Ann\" → null"),
        ("range", "result.structuredContent.age: 41 → -1000000000"),
        ("wrapped", "result.structuredContent: {\"name\":\"Ann\",\"age\":41} → [{\"name\":\"Ann\",\"age\":41}]"),
    ] {
        check(&format!("{{ misshape: {breach} }}"), &[ann()], &[expected]);
    }
    check(
        "{ misshape: type }",
        &[(json!({"call": "create_user", "args": {}}), text("x"))],
        &["[the tool declares no output schema that can be used]"],
    );
    check(
        "{ misshape: type }",
        &[(json!({"call": "get_user", "args": {}}), text("x"))],
        &["[the answer has no structured content]"],
    );
}

#[test]
fn answers_of_others() {
    let call = |id: &str, owner: &str, answer: Value| {
        (json!({"call": "get_user", "args": {"id": id}, "owner": owner}), answer)
    };
    let bad = (json!({"call": "get_user", "args": {}}), failed("`id` is missing"));
    let unknown = (json!({"call": "nothing", "args": {}}), json!({"error": {"code": -32602, "message": "unknown"}}));
    let ann = || call("u1", "case", text("Ann"));
    let changed = |to: &str| format!("result.content[0].text: \"Ann\" → \"{to}\"");
    let flag = "result.isError: true → gone".to_owned();
    check("{ give: served }", &[ann(), bad.clone()], &["result.content[0].text: \"`id` is missing\" → \"Ann\"", &flag]);
    check("accept", std::slice::from_ref(&bad), &["result.content[0].text: \"`id` is missing\" → \"done\"", &flag]);
    check(
        "accept",
        &[unknown],
        &[
            "error: {\"code\":-32602,\"message\":\"unknown\"} → gone",
            "result: none → {\"content\":[{\"type\":\"text\",\"text\":\"done\"}]}",
        ],
    );
    check("{ give: earlier }", &[call("u1", "case", text("Bob")), ann()], &[&changed("Bob")]);
    check(
        "{ give: earlier }",
        &[call("u1", "case", text("Ann")), ann()],
        &["[the same was not answered otherwise before]"],
    );
    check("{ give: other }", &[call("u2", "case", text("Bob")), ann()], &[&changed("Bob")]);
    check(
        "{ give: neighbour }",
        &[(json!({"call": "create_user", "args": {}}), text("made")), ann()],
        &[&changed("made")],
    );
    check("{ give: foreign }", &[call("u2", "other", text("Bob")), ann()], &[&changed("Bob")]);
    check("{ give: elsewhere }", &[call("u1", "other", text("Bob")), ann()], &[&changed("Bob")]);
    check(
        "{ give: elsewhere }",
        &[call("u2", "other", text("Bob")), ann()],
        &["[the same was not answered otherwise elsewhere]"],
    );
    check("{ mix: foreign }", &[call("u2", "other", text("Bob")), ann()], &["result.content: 1 item → 2 items"]);
    check("{ give: refused }", &[bad, ann()], &[&changed("`id` is missing"), "result.isError: none → true"]);
    check("{ failure: no }", &[ann()], &[&changed("no"), "result.isError: none → true"]);
    check(
        "{ error: { code: -32603, message: no } }",
        &[(json!({"method": "ping"}), json!({"result": {}}))],
        &["result: {} → gone", "error: none → {\"code\":-32603,\"message\":\"no\"}"],
    );
}

/// A page of users, and the call that asks for it.
fn page(arguments: &Value, users: &[&str], next: Option<&str>) -> (Value, Value) {
    let data = json!({"users": users, "next": next, "total": 5});
    let result = json!({"content": [], "structuredContent": data});
    (json!({"call": "list_users", "args": arguments}), json!({ "result": result }))
}

#[test]
fn pages_of_tools() {
    let first = || page(&json!({"limit": 2}), &["a", "b"], Some("p2"));
    let second = || page(&json!({"limit": 2, "cursor": "p2"}), &["c", "d"], Some("p3"));
    let last = || page(&json!({"limit": 2, "cursor": "p3"}), &["e"], None);
    let users = |at: usize, was: &str, is: &str| format!("result.structuredContent.users[{at}]: \"{was}\" → \"{is}\"");
    let count = |was: usize, is: usize| {
        let items = |count: usize| if count == 1 { "1 item".to_owned() } else { format!("{count} items") };
        format!("result.structuredContent.users: {} → {}", items(was), items(is))
    };
    check("{ page: overfull }", &[first()], &[&count(2, 3)]);
    check("{ page: overfull }", &[last()], &["[no answer has as many items as the call asked for]"]);
    check("{ page: skips }", &[first(), second(), last()], &[&count(1, 0)]);
    check(
        "{ page: skips }",
        &[first(), second()],
        &["[the page after it was not recorded, so nobody knows which item moves up]"],
    );
    check("{ page: repeats }", &[first(), second()], &[&users(0, "c", "b"), &users(1, "d", "c")]);
    check("{ page: repeats }", &[first(), second(), last()], &[&count(1, 2)]);
    check("{ page: repeats }", &[second()], &["[the page before it was not recorded]"]);
    check("{ page: stuck }", &[first(), second()], &["result.structuredContent.next: \"p3\" → \"p2\""]);
    check("{ page: stuck }", &[first(), last()], &["-"]);
    check("{ page: stuck }", &[ann()], &["[the answer has no list that could be a page]"]);
}

/// A page that begins too late has the first item of the next one at its end.
#[test]
fn the_item_that_follows_moves_up() {
    let fault = fault("answers: { page: skips }").unwrap();
    let scene = scene(&[
        page(&json!({"limit": 2, "cursor": "p2"}), &["c", "d"], Some("p3")),
        page(&json!({"limit": 2, "cursor": "p3"}), &["e"], None),
    ]);
    let struck = fault.apply(0, &scene.known()).unwrap();
    let message = struck.replies[0].message().unwrap();
    assert_eq!(message["result"]["structuredContent"]["users"], json!(["d", "e"]));
}

#[test]
fn what_was_deleted_is_still_there() {
    let read = |id: &str, answer: Value| (json!({"call": "get_user", "args": {"id": id}}), answer);
    let write = |tool: &str, arguments: Value, answer: Value| (json!({"call": tool, "args": arguments}), answer);
    let (ann, gone) = (|| read("u1", text("Ann")), || read("u1", failed("gone")));
    let delete = || write("remove_user", json!({"id": "u1"}), text("removed"));
    let create = || write("create_user", json!({"name": "Eve"}), text("made"));
    let back =
        |to: &str| [format!("result.content[0].text: \"gone\" → \"{to}\""), "result.isError: true → gone".to_owned()];
    let undeleted = |exchanges: &[(Value, Value)], expected: &[&str]| check("{ give: undeleted }", exchanges, expected);
    let lack = "[the same was not asked between the deletion and the write before it]";
    undeleted(&[ann(), delete(), gone()], &back("Ann").each_ref().map(String::as_str));
    // Only what nothing else has changed is surely as it was.
    undeleted(&[read("u2", text("Bob")), create(), delete(), read("u2", failed("gone"))], &[lack]);
    undeleted(&[ann(), delete(), create(), gone()], &[lack]);
    // A good answer stands for the one that the deleted item would get.
    undeleted(&[read("u2", text("Bob")), delete(), gone()], &back("Bob").each_ref().map(String::as_str));
    let again = write("remove_user", json!({"id": "u1"}), failed("gone"));
    undeleted(&[delete(), gone(), again], &back("removed").each_ref().map(String::as_str));
    undeleted(&[ann(), delete(), ann()], &[lack]);
}

#[test]
fn frames_and_time() {
    let one = &[(json!({"method": "ping"}), json!({"result": {}}))];
    let whole = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
    for (answers, expected) in [
        ("never", &["the answer does not come"][..]),
        ("silence", &["the answer does not come"]),
        ("duplicate", &["the answer comes once more"]),
        ("{ delay: 5s }", &["the answer comes 5 s later"]),
        ("truncate", &[r#"instead of the answer the line "{\"jsonrpc\":\"2.0\",\"" comes"#]),
        (
            "torn",
            &["the answer does not come", r#"the broken line "{\"jsonrpc\":\"2.0\",\"" comes"#, "the server ends"],
        ),
        (
            "reset",
            &["the answer does not come", r#"the broken line "{\"jsonrpc\":\"2.0\",\"" comes"#, "the server ends"],
        ),
        ("{ bandwidth: 100 }", &["the answer comes 360 ms later"]),
        ("batch", &[&format!("the answer: {whole} → [{whole}]")]),
        ("{ text: <html> }", &[r#"instead of the answer the line "<html>" comes"#]),
        ("garbage", &["instead of the answer the line \"��\\0garbled�\" comes"]),
        ("{ stderr: hello }", &["\"hello\" on standard error comes"]),
        ("{ reid: text }", &["id: 1 → \"1\""]),
        ("{ reid: number }", &["[the id has that type already]"]),
        ("{ reid: 'null' }", &["id: 1 → null"]),
        ("{ reid: missing }", &["id: 1 → gone"]),
        ("{ reid: other }", &["id: 1 → 987654321"]),
        ("end", &["instead of the answer the server ends"]),
        ("{ end: { status: 3 } }", &["instead of the answer the server ends with status 3"]),
        ("{ end: { signal: 9 } }", &["instead of the answer signal 9 ends the server"]),
        ("stall", &["instead of the answer the server says nothing more"]),
        ("reply", &["-"]),
        ("{ status: 500 }", &["-"]),
    ] {
        check(answers, one, expected);
    }
    check(
        "indent",
        one,
        &[
            "the answer does not come",
            "the line \"{\" comes",
            "the line \"  \\\"jsonrpc\\\": \\\"2.0\\\",\" comes",
            "the line \"  \\\"id\\\": 1,\" comes",
            "the line \"  \\\"result\\\": {}\" comes",
            "the line \"}\" comes",
        ],
    );
}

#[test]
fn notifications_and_cancellations() {
    let progress = |number: u64| json!({"method": "notifications/progress", "params": {"progressToken": "t1", "progress": number}});
    let call = json!({"call": "frobnicate", "args": {}, "token": "t1"});
    let one = &[(call.clone(), json!([progress(1), progress(2), text("done")]))];
    check(
        "{ change: params.progressToken }",
        one,
        &[
            "`notifications/progress` params.progressToken: \"t1\" → \"t8\"",
            "`notifications/progress` params.progressToken: \"t1\" → \"t8\"",
        ],
    );
    check(
        "{ swallow: 'notifications/*' }",
        one,
        &["`notifications/progress` does not come", "`notifications/progress` does not come"],
    );
    check("{ repeat: { method: notifications/progress } }", one, &["`notifications/progress` comes once more"]);
    check(
        "{ repeat: { method: notifications/progress, side: after } }",
        one,
        &["`notifications/progress` comes once more"],
    );
    let cancelled = (json!({"notify": "notifications/cancelled", "params": {"requestId": 1}}), json!(null));
    let both = &[(call, progress(4)), cancelled.clone()];
    check(
        "{ late: error }",
        both,
        &["comes {\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":0,\"message\":\"Request…"],
    );
    check(
        "{ late: result }",
        both,
        &["comes {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[{\"type\":\"text\",…"],
    );
    check("{ late: progress }", both, &["`notifications/progress` comes"]);
    check(
        "{ late: error }",
        std::slice::from_ref(&cancelled),
        &["[nothing is known of the request that is cancelled]"],
    );
    check("reply", std::slice::from_ref(&cancelled), &["comes {\"jsonrpc\":\"2.0\",\"id\":null,\"result\":{}}"]);
    check("stall", &[cancelled], &["the server says nothing more"]);
}

#[test]
fn heads_of_http() {
    let raw = |body: &str| json!({"raw": format!("POST /mcp HTTP/1.1\r\nHost: x\r\n\r\n{body}"), "id": 7});
    let ping = raw(r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#);
    let refused = &[(ping.clone(), json!({"status": 401}))];
    check("{ status: 200 }", refused, &["status: 401 → 200"]);
    check(
        "{ headers: { www-authenticate: Bearer, content-type: null } }",
        refused,
        &["header `content-type`: gone", "header `www-authenticate`: none → Bearer"],
    );
    check(
        "accept",
        refused,
        &["instead of the line \"\" comes {\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}", "status: 401 → 200"],
    );
    check(
        "accept",
        &[(ping, json!({"error": {"code": -32000, "message": "no"}, "status": 400}))],
        &["error: {\"code\":-32000,\"message\":\"no\"} → gone", "result: none → {}", "status: 400 → 200"],
    );
    check("accept", &[(raw(""), json!({"status": 405}))], &["[what was sent has no id that could be answered]"]);
    check(
        "indent",
        &[(json!({"method": "ping"}), json!({"result": {}, "status": 200}))],
        &["[over HTTP an answer may stand on several lines]"],
    );
}

#[test]
fn long_texts_are_shown_where_they_differ() {
    let long = text(&format!("{} until its end", "it goes on ".repeat(9)));
    let call = json!({"call": "get_user", "args": {}});
    check(
        "{ append: { 'result.content[0].text': ', and more' } }",
        &[(call, long)],
        &["result.content[0].text: \"…es on  until its end\" → \"…es on  until its end, and more\""],
    );
}
