use super::*;

/// The condition holds for the last exchange, or it does not.
fn check(condition: &str, exchanges: &[(Value, Value)], expected: bool) {
    let fault = fault(&format!("on: {condition}\nanswers: [never]")).unwrap_or_else(|shown| panic!("{shown}"));
    let scene = scene(exchanges);
    assert_eq!(fault.strikes(exchanges.len() - 1, &scene.known()), expected, "{condition} on {exchanges:?}");
}

fn call(arguments: &Value) -> Value {
    json!({"call": "get_user", "args": arguments})
}

#[test]
fn methods_and_ways_of_sending() {
    type Line<'a> = (&'a str, &'a [(Value, Value)], bool);
    let ping = [(json!({"method": "ping", "params": {}}), json!({"result": {}}))];
    let raw = |text: &str| [(json!({"raw": text}), json!(null))];
    let cases: &[Line<'_>] = &[
        ("{}", &ping, true),
        ("{ method: ping }", &ping, true),
        ("{ method: [tools/call, 'p*'] }", &ping, true),
        ("{ method: '*/list' }", &ping, false),
        ("{ kind: request }", &ping, true),
        ("{ kind: notification }", &[(json!({"notify": "notifications/cancelled"}), json!(null))], true),
        ("{ kind: raw }", &ping, false),
        ("{ kind: raw }", &raw("x"), true),
        ("{ kind: unparsable }", &raw("{\"jsonrpc\""), true),
        ("{ kind: unparsable }", &raw("{\"jsonrpc\":\"2.0\",\"method\":\"ping\",\"id\":1}\nx"), true),
        ("{ kind: batch }", &raw("[1]"), true),
        ("{ kind: malformed }", &raw("[1]"), false),
        ("{ kind: malformed }", &raw("{\"jsonrpc\":\"1.0\",\"method\":\"ping\",\"id\":1}"), true),
        ("{ kind: malformed }", &raw("{\"jsonrpc\":\"2.0\",\"method\":\"ping\",\"id\":null}"), true),
        ("{ kind: malformed }", &raw("{\"jsonrpc\":\"2.0\",\"method\":\"ping\",\"id\":1}"), false),
        ("{ kind: request, method: ping }", &raw("{\"jsonrpc\":\"2.0\",\"method\":\"ping\",\"id\":1}"), true),
        (
            "{ header: host, kind: request }",
            &raw("POST /mcp HTTP/1.1\r\nHost: x\r\n\r\n{\"jsonrpc\":\"2.0\",\"method\":\"ping\",\"id\":1}"),
            true,
        ),
        ("{ no_header: Host }", &raw("POST /mcp HTTP/1.1\r\nHost: x\r\n\r\n{}"), false),
        ("{ header: origin }", &raw("GET /mcp HTTP/1.1\r\nHost: x\r\n\r\n"), false),
    ];
    for (condition, exchanges, expected) in cases {
        check(condition, exchanges, *expected);
    }
}

#[test]
fn owners_and_carriers() {
    let discovery = [(json!({"method": "tools/list", "owner": ""}), json!({"result": {}, "status": 200}))];
    check("{ by: discovery }", &discovery, true);
    check("{ by: cases }", &discovery, false);
    check("{ by: any, over: http }", &discovery, true);
    check("{ over: stream }", &discovery, false);
    check("{ status: 200 }", &discovery, true);
    check("{ status: [404, 400] }", &discovery, false);
}

#[test]
fn answers() {
    let good = [(call(&json!({"id": "u1"})), text("Ann"))];
    let bad = [(call(&json!({"id": "u1"})), failed("no"))];
    let error = [(call(&json!({"id": "u1"})), json!({"error": {"code": -32601, "message": "no"}}))];
    let silence = [(call(&json!({"id": "u1"})), json!(null))];
    let no = [(json!({"raw": "GET /mcp HTTP/1.1\r\nHost: x\r\n\r\n"}), json!({"status": 405}))];
    for (answered, holds) in [
        ("result", [true, true, false, false, false]),
        ("error", [false, false, true, false, true]),
        ("failed", [false, true, false, false, false]),
        ("refused", [false, true, true, false, true]),
        ("served", [true, false, false, false, false]),
        ("nothing", [false, false, false, true, false]),
    ] {
        for (exchanges, expected) in [&good, &bad, &error, &silence, &no].into_iter().zip(holds) {
            check(&format!("{{ answered: {answered} }}"), exchanges, expected);
        }
    }
    check("{ has: 'result.content[0].text' }", &good, true);
    check("{ has: { error.code: -32601 } }", &error, true);
    check("{ has: { error.code: -32602 } }", &error, false);
    check("{ lacks: result.isError }", &good, true);
    check("{ lacks: result.isError }", &bad, false);
    check("{ with: params.arguments.id }", &good, true);
    check("{ with: { params.arguments.id: u2 } }", &good, false);
    check("{ without: params._meta }", &good, true);
    let progress = json!([{"method": "notifications/progress", "params": {"progress": 1}}, text("Ann")]);
    check("{ has: params.progress }", &[(call(&json!({"id": "u1"})), progress.clone())], true);
    check("{ has: { method: notifications/progress } }", &[(call(&json!({"id": "u1"})), progress)], true);
    check("{ has: params.progress }", &good, false);
}

#[test]
fn arguments_and_tools() {
    for (arguments, ways) in [
        (json!({"id": "u1"}), "valid"),
        (json!({"id": "u1", "limit": 3}), "valid"),
        (json!(null), "invalid missing"),
        (json!({"limit": 3}), "invalid missing"),
        (json!({"id": 1}), "invalid mistyped"),
        (json!({"id": null}), "invalid mistyped"),
        (json!({"id": "u1", "limit": 0}), "invalid out_of_range"),
        (json!({"id": "u1", "other": 0}), "invalid extra"),
        (json!({"limit": "3", "id": "u1"}), "invalid loose"),
    ] {
        for way in ["valid", "invalid", "missing", "mistyped", "out_of_range", "extra", "loose"] {
            let expected = ways.split(' ').any(|known| known == way);
            check(&format!("{{ arguments: {way} }}"), &[(call(&arguments), text("Ann"))], expected);
        }
    }
    for (tool, kinds) in [
        ("get_user", "known read_only reading"),
        ("create_user", "known mutating writing adding"),
        ("frobnicate", "known mutating writing"),
        ("remove_user", "known mutating writing deleting"),
        ("list_users", "known read_only reading listing"),
        ("nothing", "unknown"),
    ] {
        for kind in ["known", "unknown", "mutating", "writing", "adding", "deleting", "listing", "read_only", "reading"]
        {
            let expected = kinds.split(' ').any(|known| known == kind);
            check(&format!("{{ tool: {kind} }}"), &[(json!({"call": tool, "args": {}}), text("x"))], expected);
        }
    }
    for (arguments, limit, later_page) in
        [(json!({"limit": 3}), true, false), (json!({"id": "u1", "cursor": "x"}), false, true)]
    {
        check("{ asks: limit }", &[(call(&arguments), text("Ann"))], limit);
        check("{ asks: later_page }", &[(call(&arguments), text("Ann"))], later_page);
        check("{ asks: [limit, later_page] }", &[(call(&arguments), text("Ann"))], true);
    }
    let good = [(call(&json!({"id": "u1"})), text("Ann"))];
    check("{ declares: outputSchema }", &good, true);
    check("{ declares: { outputSchema.additionalProperties: true } }", &good, false);
    check("{ declared: true }", &good, true);
    check("{ declared: false }", &[(json!({"method": "prompts/list"}), json!({"error": {}}))], true);
    check("{ declared: false }", &[(json!({"method": "ping"}), json!({"error": {}}))], false);
}

#[test]
fn other_exchanges() {
    let write = (json!({"call": "create_user", "args": {}}), text("done"));
    let elsewhere = (json!({"call": "create_user", "args": {}, "owner": "other"}), text("done"));
    let read = (call(&json!({"id": "u1"})), text("Ann"));
    let after = "{ after: { is: { tool: mutating } } }";
    check(after, &[write.clone(), read.clone()], true);
    check(after, &[elsewhere.clone(), read.clone()], false);
    check("{ after: { within: run, is: { tool: mutating } } }", &[elsewhere, read.clone()], true);
    let same = "{ after: { same: params.arguments.id, is: { method: tools/call } } }";
    check(
        same,
        &[call(&json!({"id": "u1", "limit": 1})), call(&json!({"id": "u1"}))].map(|asked| (asked, text("Ann"))),
        true,
    );
    check(same, &[call(&json!({"id": "u2"})), call(&json!({"id": "u1"}))].map(|asked| (asked, text("Ann"))), false);
    check(same, &[call(&json!({})), call(&json!({}))].map(|asked| (asked, text("Ann"))), false);
    check("{ unless_after: { is: { tool: mutating } } }", &[write.clone(), read.clone()], false);
    check("{ unless_after: { is: { tool: mutating } } }", &[read.clone(), read.clone()], true);
    check("{ before: { is: { tool: mutating } } }", &[write, read], false);
    let again = (json!({"call": "get_user", "args": {"id": "u1"}, "occurrence": 1}), text("Ann"));
    check("{ occurrence: later }", std::slice::from_ref(&again), true);
    check("{ occurrence: first }", &[again], false);
}

#[test]
fn another_session_of_the_same_case() {
    let of_session = |session: u32, owner: &str| {
        (json!({"method": "ping", "params": {}, "session": session, "owner": owner}), json!({"result": {}}))
    };
    let earlier = "{ after: { within: other_session, is: { method: ping } } }";
    check(earlier, &[of_session(0, "x"), of_session(1, "x")], true);
    check(earlier, &[of_session(0, "x"), of_session(0, "x")], false);
    check(earlier, &[of_session(0, "y"), of_session(1, "x")], false);
}
