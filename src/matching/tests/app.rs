//! Pages of MCP Apps.

use serde_json::{Value as Json, json};

use super::{Step, check};

const URI: &str = "ui://a/page";

/// The answer to a reading of the page.
fn read(contents: Json) -> Step {
    let step = Step::result(json!({ "contents": contents }));
    Step { method: "resources/read", params: json!({ "uri": URI }), ..step }
}

#[test]
fn pages() {
    let check = |contents: Json, expected: &str| check("app_page: true", &read(contents), expected);
    check(json!([{"uri": URI, "text": "<!DOCTYPE html><p>x</p>"}]), "");
    check(json!([{"uri": "ui://a/other", "text": "{}"}, {"uri": URI, "text": "<p>x</p>"}]), "");
    check(json!([{"uri": URI, "text": "{}"}]), "app-page [app_page] it begins with no tag");
    check(json!([{"uri": URI}]), "app-page [app_page] it has neither `text` nor `blob`");
    check(json!([]), "app-page [app_page] found no contents");
    super::check("app_page: true", &Step::error(-32002, "x"), "app-page [app_page] found no success");
}

#[test]
fn origins() {
    let page = "<script src=https://cdn.example/a.js></script><iframe src=https://maps.example></iframe>";
    let check = |csp: Json, listed: Json, expected: &str| {
        let mut step = read(json!([{"uri": URI, "text": page, "_meta": {"ui": {"csp": csp}}}]));
        step.catalog.resources.push(json!({"uri": URI, "_meta": {"ui": {"csp": listed}}}));
        check("app_origins: true", &step, expected);
    };
    let both = json!({"resourceDomains": ["https://cdn.example"], "frameDomains": ["https://maps.example"]});
    check(both.clone(), Json::Null, "");
    check(Json::Null, both, "");
    check(
        json!({"resourceDomains": ["https://cdn.example"]}),
        Json::Null,
        "app-origins [app_origins] undeclared: https://maps.example",
    );
    check(
        Json::Null,
        Json::Null,
        "app-origins [app_origins] undeclared: https://maps.example\n\
         app-origins [app_origins] undeclared: https://cdn.example",
    );
}
