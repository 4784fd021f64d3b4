//! JSONPath (RFC 9535); the only file that knows its crate.

use serde_json::Value as Json;
use serde_json_path::JsonPath;

use super::super::show;

/// A compiled JSONPath that can match several values.
#[derive(Debug, Clone)]
pub(crate) struct Query {
    text: String,
    path: JsonPath,
}

impl Query {
    /// Compiles a JSONPath.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        // The crate takes the end of a text in the middle of an escape for a bug of its own, and panics.
        if ["\\u", "\\uD", "\\ud"].iter().any(|end| text.ends_with(end)) {
            return Err(format!("`{}` is not a valid JSONPath: it ends in the middle of an escape", show::quote(text)));
        }
        if let Some(reason) = excess(text) {
            return Err(format!("`{}` is refused: {reason}", show::quote(text)));
        }
        let path = JsonPath::parse(text).map_err(|error| {
            if let Some(reason) = inner_json(text) {
                return reason;
            }
            let position = text[..error.position().min(text.len())].chars().count() + 1;
            format!("`{}` is not a valid JSONPath: {} at character {position}", show::quote(text), error.message())
        })?;
        Ok(Self { text: text.to_owned(), path })
    }

    /// Every match; none is a failure.
    pub(crate) fn find(&self, value: &Json) -> Result<Json, String> {
        let found: Vec<Json> = self.path.query(value).into_iter().cloned().collect();
        if found.is_empty() {
            return Err(format!("`{}` matches nothing; {}", show::quote(&self.text), what_is_there(value)));
        }
        Ok(found.into())
    }

    /// Changes every match; one within another that was replaced before is gone and does not count.
    pub(crate) fn edit(&self, value: &mut Json, change: &mut dyn FnMut(&mut Json)) -> usize {
        let found = self.path.query_located(value).dedup();
        let pointers: Vec<String> = found.iter().map(|node| node.location().to_json_pointer()).collect();
        let mut edited = 0;
        for pointer in pointers {
            if let Some(place) = value.pointer_mut(&pointer) {
                change(place);
                edited += 1;
            }
        }
        edited
    }
}

/// The reason and the cure where a JSONPath has the mark of a dotted path for JSON within a text.
fn inner_json(text: &str) -> Option<String> {
    text.contains(".json()").then_some(())?;
    // `$..name` finds names anywhere, which no dotted path does.
    let dotted = text.strip_prefix("$.").filter(|rest| super::dotted::Dotted::parse(rest).is_ok());
    let written = dotted.unwrap_or("result.content[0].text.json().id");
    Some(format!(
        "`{}` is not a valid JSONPath: only a path without `$` reads JSON within a text; write for example `{}`",
        show::quote(text),
        show::quote(written)
    ))
}

/// The depth to which brackets, parentheses and `!` may be nested: each level doubles the crate's time, and takes a
/// piece of the stack.
const DEEPEST: usize = 12;

/// The number of `..` in a path: each multiplies what is found by the depth of the answer.
const MOST_DESCENTS: usize = 3;

/// The number of times that the selectors of brackets may find one value: `[0, 0]` doubles what is found.
const MOST_SELECTED: usize = 1000;

/// Why a JSONPath would take too long, or too much.
fn excess(text: &str) -> Option<String> {
    let (mut negations, mut descents, mut selected) = (0_usize, 0_usize, 1_usize);
    // Open brackets, each with the number of its selectors.
    let mut open: Vec<(char, usize)> = Vec::new();
    let (mut quote, mut previous) = (None, ' ');
    let mut letters = text.chars();
    while let Some(c) = letters.next() {
        match (quote, c) {
            (Some(_), '\\') => drop(letters.next()),
            (Some(begun), _) if c == begun => quote = None,
            (None, '"' | '\'') => quote = Some(c),
            (None, '[' | '(') => open.push((c, 1)),
            (None, ']' | ')') => {
                if let Some(('[', selectors)) = open.pop() {
                    selected = selected.saturating_mul(selectors);
                }
            }
            (None, ',') => open.iter_mut().last().into_iter().for_each(|(_, selectors)| *selectors += 1),
            (None, '!') => negations += 1,
            (None, ' ') => {}
            (None, '.') if previous == '.' => descents += 1,
            (Some(_) | None, _) => negations = 0,
        }
        previous = c;
        if open.len() > DEEPEST || negations > DEEPEST {
            return Some(format!("it is nested more than {DEEPEST} levels deep"));
        }
    }
    if selected > MOST_SELECTED {
        return Some(format!("its selectors find one value more than {MOST_SELECTED} times"));
    }
    (descents > MOST_DESCENTS).then(|| format!("it uses `..` more than {MOST_DESCENTS} times"))
}

/// A JSONPath, given without its `$`, matches at most one value.
pub(crate) fn is_singular(rest: &str) -> bool {
    let mut quote = None;
    let mut escaped = false;
    let mut bare = String::new();
    for c in rest.chars() {
        match quote {
            Some(_) if escaped => escaped = false,
            Some(_) if c == '\\' => escaped = true,
            Some(open) if c == open => quote = None,
            Some(_) => {}
            None if matches!(c, '"' | '\'') => quote = Some(c),
            None => bare.push(c),
        }
    }
    !rest.is_empty() && !bare.contains("..") && !bare.contains(['*', '?', ':', ','])
}

fn what_is_there(value: &Json) -> String {
    let fields = |value: &Json| {
        value
            .as_object()
            .map(|fields| show::names(fields.keys().map(String::as_str), 12))
            .filter(|names| !names.is_empty())
    };
    match (fields(value), fields(&value["result"])) {
        (Some(_), Some(inner)) => format!("the fields of `result` are {inner}"),
        (Some(outer), None) => format!("the fields of the answer are {outer}"),
        (None, _) => format!("the answer is {}", show::kind(value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_take_too_long_is_refused() {
        let check = |text: &str, is_good: bool| assert_eq!(Query::parse(text).is_ok(), is_good, "{text:.60}");
        check("$.result.tools[?@.name == '([([([([([([([(' && !@.x].a", true);
        check("$..a..b..c", true);
        check(&format!("$[?{}@.x != 1]", "@.x != 1 && ".repeat(60)), true);
        check("$..a..b..c..d", false);
        check("$.a['b', 'c,[d'][0, 1][?match(@.x, 'y,z')]", true);
        check(&format!("$.a{}", "[0, 0]".repeat(9)), true);
        check(&format!("$.a{}", "[0, 0]".repeat(24)), false);
        check(&format!("$[?@{}]", "['a', 'a']".repeat(24)), false);
        check(&format!("$[?{}@.x{}]", "(".repeat(8), ")".repeat(8)), true);
        for (open, close) in [("(", ")"), ("[?@", "]"), ("!", "")] {
            check(&format!("$[?{}@.x{}]", open.repeat(100_000), close.repeat(100_000)), false);
        }
    }
}
