//! What templates may make, and that the bounds change no value.

use serde_json::json;

use super::super::{Names, TemplateError, evaluate, fill_text, holds};
use super::TOO_LARGE;

fn names() -> Names {
    json!({"n": 1000, "x": "x".repeat(1000), "list": vec!["y"; 1000], "one": 1}).as_object().cloned().unwrap()
}

#[test]
fn what_multiplies_texts_ends() {
    for expression in [
        "('a'*n) | replace('a', 'b'*n) | replace('b', 'c'*n)",
        "('a'*1000) | replace('a', 'b'*1000) | replace('b', 'c'*1000)",
        "('a'*99999999) ~ ('a'*99999999)",
        "'a'*999*999*999",
        "n * 'a' * n * n",
        "([1]*n*n*n) | length",
        "range(99999) | join(x)",
        "list | join(d=x*n)",
        "list | map('replace', 'y', x*n) | list",
        "'%999999999s' | format(n)",
        "'%*d' | format(999999999, n)",
        "('%s'*n) | format(x*n)",
        "list | batch(999999999, 1)",
        "list | slice(99999999)",
        "x | indent(999999999, true)",
        "('\\n'*n) | indent(width=99999)",
        "([[[list]*n]*n]*n) | tojson",
        "list | tojson(999999)",
        "list | tojson(indent=999999)",
        "[[list]*n]*n*n",
        "([list]*n*n) | string",
        "([list]*n*n) | pprint",
        "([list]*n) | sum(start=[]) | string ~ x*n*n",
        "(x*n*n) | list",
        "(x*n) | split('')",
        "((x*n)[:] ~ (x*n)[:]) * n",
    ] {
        for result in
            [evaluate(expression, &names()), fill_text(&format!("{{% set a = {expression} %}}{{{{ a }}}}"), &names())]
        {
            assert!(matches!(result, Err(TemplateError::GivenUp(_))), "{expression}: {result:.200?}");
        }
    }
    assert!(holds("('a'*999*999*999) == x", &names()).is_err());
}

#[test]
fn what_multiplies_in_statements_ends() {
    let doubling = "{% set a = a ~ a %}".repeat(40);
    let nested = "{% set a = [a, a] %}".repeat(40);
    let long = "z".repeat(10_000);
    let sliced = "{% set b = a[:] %}".repeat(400);
    for (template, end) in [
        (format!("{{% set a = x %}}{doubling}"), TOO_LARGE),
        (format!("{{% set a = x %}}{nested}{{{{ a }}}}"), TOO_LARGE),
        (format!("{{% set a = x * n %}}{sliced}"), TOO_LARGE),
        ("{% set a %}{% for i in range(99999) %}{{ x }}{% endfor %}{% endset %}".to_owned(), TOO_LARGE),
        ("{% for i in range(99999) %}{{ x }}{% endfor %}".to_owned(), TOO_LARGE),
        (format!("{{% for i in range(99999) %}}{long}{{% endfor %}}"), "steps"),
        (format!("{{% set a %}}{{% for i in range(99999) %}}{long}{{% endfor %}}{{% endset %}}"), "steps"),
        ("{% set ns = namespace(a=[]) %}{% for i in range(99999) %}{% set ns.a = [ns.a] %}{% endfor %}".to_owned(), ""),
    ] {
        let reason = fill_text(&template, &names()).err().map(|reason| reason.to_string());
        assert!(reason.as_ref().is_some_and(|reason| reason.ends_with(end)), "{template:.60}: {reason:.200?}");
    }
}

#[test]
fn what_is_bounded_computes_what_it_did() {
    let check = |expression: &str, expected: serde_json::Value| {
        assert_eq!(evaluate(expression, &names()), Ok(expected.clone()), "{expression}");
        assert_eq!(fill_text(&format!("{{{{ {expression} }}}}"), &names()), Ok(expected), "{expression}");
    };
    check("n + one * 2", json!(1002));
    check("2 * one ** 3 * 1.5", json!(3.0));
    check("'*' ~ one ~ none ~ '*'", json!("*1None*"));
    check("[one] + ['a' * 2] * 2", json!([1, "aa", "aa"]));
    check("x[2:4] ~ list[-1:]", json!("xx['y']"));
    check("(x * n * 10) | length", json!(10_000_000));
    check("list | map('upper') | unique | join(', ')", json!("Y"));
    check("[{'a': one}, {'a': 2}] | join('-', attribute='a')", json!("1-2"));
    check("'%05d %s' | format(one, 'a') | indent(2, true)", json!("  00001 a"));
    check("{'a': [one]} | tojson(indent=1)", json!("{\n \"a\": [\n  1\n ]\n}"));
    check("'a, b' | split(', ') | reverse | list", json!(["b", "a"]));
    for wrong in ["nope ~ 'x'", "nope + 1", "one + 'a'", "nope[1:]", "x | join(nope=1)"] {
        assert!(evaluate(wrong, &names()).is_err(), "{wrong}");
    }
    assert_eq!(holds("nope[1:] == 1 or one + one == 2", &names()), Ok(true));
    assert_eq!(fill_text("a*b {{ one * 2 }} {% raw %}*{% endraw %}", &names()), Ok(json!("a*b 2 *")));
    assert_eq!(fill_text("{% for a in list[:2] %}{{ a ~ one }},{% endfor %}", &names()), Ok(json!("y1,y1,")));
}
