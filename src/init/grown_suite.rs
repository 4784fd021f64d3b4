//! More expectations in the text of a suite, beside those that are there.

use serde_json::Value;

use super::saved_test::behind_last;
use crate::source::{Node, with_line_ends_of, yaml_writer};

/// The widest line that is written.
const WIDTH: usize = 108;

/// The text of a suite in which a step expects more; what it expects already is not repeated, and everything else stays
/// as it is. `None` where it cannot be written there.
pub(crate) fn with_expectations(
    suite: &str,
    root: &Node,
    (test, step): (&str, usize),
    expected: &[Value],
) -> Option<String> {
    let is_named = |one: &&Node| one.get("name").and_then(Node::text) == Some(test);
    let test = root.get("tests")?.items().iter().find(is_named)?;
    let step = match test.get("steps") {
        Some(steps) => steps.items().get(step)?,
        None => test,
    };
    let expect = step.get("expect")?;
    let known: Vec<Value> = expect.items().iter().map(Node::to_json).collect();
    let more: Vec<Value> = expected.iter().filter(|item| !known.contains(item)).cloned().collect();
    if more.is_empty() {
        return Some(suite.to_owned());
    }
    let grown = behind_last(suite, expect, &|indent| yaml_writer::block(&Value::from(more.clone()), indent))
        .or_else(|| in_brackets(suite, expect, &more))?;
    Some(with_line_ends_of(suite, &grown))
}

/// The same where the list is in brackets: within them where there is room, and else one below the other.
fn in_brackets(suite: &str, list: &Node, more: &[Value]) -> Option<String> {
    let (start, end) = (list.span.start as usize, list.span.end as usize);
    let written = suite.get(start..end)?.trim_end();
    let end = start + written.len();
    let inside = written.strip_prefix('[')?.strip_suffix(']')?;
    let line_start = suite[..start].rfind('\n').map_or(0, |at| at + 1);
    let line_end = suite[end..].find('\n').map_or(suite.len(), |at| end + at);
    let (before, after) = (&suite[line_start..start], &suite[end..line_end]);
    let shown = more.iter().map(yaml_writer::flow).collect::<Vec<_>>().join(", ");
    let inside = inside.trim().trim_end_matches(',');
    let joint = if inside.is_empty() { "" } else { ", " };
    let flow = format!("[{inside}{joint}{shown}]");
    let is_own_line = before.trim_start().strip_suffix(": ").is_some_and(|key| key == "expect" || key == "- expect");
    let is_short = before.chars().count() + flow.chars().count() + after.chars().count() <= WIDTH;
    let has_comment = inside.contains('#');
    if has_comment {
        return None;
    }
    if is_short || !is_own_line || !after.trim().is_empty() {
        return Some(format!("{}{flow}{}", &suite[..start], &suite[end..]));
    }
    let key = before.len() - before.trim_start().trim_start_matches("- ").len();
    let indent = key + 2;
    let items = list.items().iter().map(|item| {
        let written = &suite[item.span.start as usize..item.span.end as usize];
        format!("{:indent$}- {}\n", "", written.trim_end())
    });
    let head = suite[..start].trim_end();
    let rest = suite[line_end..].strip_prefix('\n').unwrap_or_default();
    Some(format!("{head}\n{}{}{rest}", items.collect::<String>(), yaml_writer::block(&Value::from(more), indent)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::source::{SourceFile, Sources, parse};

    fn grown(suite: &str, at: (&str, usize), expected: &[Value]) -> Option<String> {
        let mut sources = Sources::default();
        let source = sources.add(SourceFile::new("s.yml", suite));
        let root = parse(&sources, source).unwrap();
        let grown = with_expectations(suite, &root, at, expected)?;
        let source = sources.add(SourceFile::new("grown.yml", grown.clone()));
        parse(&sources, source).unwrap();
        Some(grown)
    }

    #[test]
    fn a_step_expects_more_and_keeps_its_comments() {
        let long = json!({"at": "result.structuredContent", "equals": {"name": "a name that is quite long", "id": "u1", "of": "x"}});
        for (suite, step, more, expected) in [
            (
                "tests:\n  - name: a # first\n    call: x\n    expect: # why\n      - is_error: false # works\n  # end\nsetup: []\n",
                0,
                json!({"text": "b"}),
                "tests:\n  - name: a # first\n    call: x\n    expect: # why\n      - is_error: false # works\n      - text: b\n  # end\nsetup: []\n",
            ),
            (
                "tests:\n  - name: a\n    call: x\n    expect: [{ is_error: false }] # why\n",
                0,
                json!({"text": "b"}),
                "tests:\n  - name: a\n    call: x\n    expect: [{ is_error: false }, { text: b }] # why\n",
            ),
            (
                "tests:\n  - name: a\n    steps:\n      - call: x\n        expect: []\n      - call: y\n        expect: []\n        capture: {}\n",
                1,
                json!({"text": "b"}),
                "tests:\n  - name: a\n    steps:\n      - call: x\n        expect: []\n      - call: y\n        expect: [{ text: b }]\n        capture: {}\n",
            ),
            (
                "tests:\n  - name: a\n    expect: [{ is_error: false }]\n    call: x\n",
                0,
                long.clone(),
                "tests:\n  - name: a\n    expect:\n      - { is_error: false }\n      - at: result.structuredContent\n        equals: { name: a name that is quite long, id: u1, of: x }\n    call: x\n",
            ),
            (
                "tests:\n  - { name: a, call: x, expect: [] }\n",
                0,
                json!({"text": "b"}),
                "tests:\n  - { name: a, call: x, expect: [{ text: b }] }\n",
            ),
            (
                "tests:\n  - name: a\n    call: x\n    expect: [{ text: b }]",
                0,
                json!({"text": "b"}),
                "tests:\n  - name: a\n    call: x\n    expect: [{ text: b }]",
            ),
        ] {
            let more = std::slice::from_ref(&more);
            assert_eq!(grown(suite, ("a", step), more).as_deref(), Some(expected), "{suite}");
            let of_windows = |text: &str| text.replace('\n', "\r\n");
            assert_eq!(grown(&of_windows(suite), ("a", step), more), Some(of_windows(expected)), "{suite}");
        }
        let commented = "tests:\n  - name: a\n    call: x\n    expect: [\n      { is_error: false }, # why\n    ]\n";
        assert_eq!(grown(commented, ("a", 0), &[json!({"text": "b"})]), None);
        assert_eq!(grown(commented, ("b", 0), &[json!({"text": "b"})]), None);
    }
}
