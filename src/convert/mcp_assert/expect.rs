//! `expect` of an assertion as expectations of a suite.

use regex::{Regex, escape};
use serde_json::{Map, Value, json};

use crate::source::Node;
use crate::source::template::literal_text;

use super::super::left_out::LeftOut;
use super::super::references::{literal_value, path_within};
use super::server::with_fixture;

/// A text that mcp-assert takes for an empty result.
const EMPTY: &str = "^\\s*(null|\\[\\]|\\{\\})?\\s*$";

/// The members of an object that may hold the results that are counted.
const LISTS: [&str; 5] = ["locations", "items", "results", "references", "symbols"];

/// The answer that is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Subject {
    /// The texts of a called tool.
    Tool,
    /// The texts of a read resource.
    Resource,
    /// The description and the texts of a prompt.
    Prompt,
    /// The whole result, as JSON.
    Result,
}

/// The expectations that are made of `expect`.
struct Expectations<'a> {
    subject: Subject,
    made: Vec<Value>,
    /// One of them fails for an answer that is an error.
    demands_result: bool,
    left_out: &'a mut Vec<LeftOut>,
}

/// The expectations of an answer; there is always one that fails if the answer is a JSON-RPC error, as all assertions do.
pub(crate) fn expectations(expect: Option<&Node>, subject: Subject, left_out: &mut Vec<LeftOut>) -> Vec<Value> {
    let mut expectations = Expectations { subject, made: Vec::new(), demands_result: false, left_out };
    let entries = expect.map(Node::entries).unwrap_or_default();
    let says_more = entries.iter().any(|(key, value)| demands_content(&key.value, value));
    for (key, value) in entries.iter().filter(|(key, _)| !(key.value == "not_empty" && says_more)) {
        if let Err(why) = expectations.add(&key.value, value) {
            expectations.left_out.push(LeftOut::new(key.value.clone(), key.span, why));
        }
    }
    let Expectations { mut made, demands_result, .. } = expectations;
    if !demands_result {
        made.insert(0, any_result());
    }
    made
}

/// An expectation that no empty result meets, so that `not_empty` beside it says nothing more.
fn demands_content(key: &str, value: &Node) -> bool {
    let is_content = |text: &String| !["null", "[]", "{}"].iter().any(|empty| empty.contains(text.trim()));
    match key {
        "contains" | "in_order" => texts(value).is_ok_and(|texts| texts.iter().any(is_content)),
        "contains_any" => texts(value).is_ok_and(|texts| !texts.is_empty() && texts.iter().all(is_content)),
        "equals" => is_content(&value.to_text()),
        "min_results" => value.whole().is_some_and(|least| least > 0),
        _ => false,
    }
}

/// An expectation that any result meets, and no error does.
pub(crate) fn any_result() -> Value {
    json!({ "at": "result", "exists": true })
}

impl Expectations<'_> {
    fn add(&mut self, key: &str, value: &Node) -> Result<(), String> {
        match key {
            "not_error" | "is_error" => self.error_flag(key == "is_error", flag(value)?)?,
            "not_empty" if flag(value)? && self.subject != Subject::Result => self.avoid_text("matches", EMPTY)?,
            // A list as JSON is never an empty text.
            "not_empty" => {}
            "equals" => {
                let pattern = format!("^\\s*{}\\s*$", escape(value.to_text().trim()));
                self.demand_text("matches", &literal_text(&pattern))?;
            }
            "contains" => {
                for text in texts(value)? {
                    self.demand_text("contains", &text)?;
                }
            }
            "not_contains" => {
                for text in texts(value)? {
                    self.avoid_text("contains", &text)?;
                }
            }
            "contains_any" => self.any_text(&texts(value)?),
            "matches_regex" => {
                for pattern in texts(value)? {
                    check_pattern(&pattern)?;
                    self.demand_text("matches", &pattern)?;
                }
            }
            "in_order" => {
                let parts: Vec<String> = texts(value)?.iter().map(|text| escape(text)).collect();
                self.demand_text("matches", &format!("(?s){}", parts.join(".*?")))?;
            }
            "json_path" => {
                for (path, wanted) in value.entries() {
                    let at = self.json_at(&path.value)?;
                    let is = is_value(wanted);
                    self.demand(json!({ "at": at }), is);
                }
            }
            "net_delta" => {
                let at = self.json_at("$.net_delta")?;
                self.demand(json!({ "at": at }), is_value(value));
            }
            "min_results" | "max_results" => {
                let bound = value.whole().ok_or("a whole number is expected")?;
                let range = if key == "min_results" { json!({ "min": bound }) } else { json!({ "max": bound }) };
                self.count(&range)?;
            }
            "file_contains" | "file_not_contains" => {
                for (path, text) in value.entries() {
                    self.file_text(&path.value, &text.to_text(), key == "file_contains")?;
                }
            }
            "file_unchanged" | "file_not_exists" => {
                for path in texts(value)? {
                    let (matcher, is) = if key == "file_unchanged" { ("unchanged", true) } else { ("exists", false) };
                    self.made.push(json!({ "file": { "path": file_path(&path)?, (matcher): is } }));
                }
            }
            "min_progress" => {
                let count = value.whole().ok_or("a whole number is expected")?;
                if count > 0 {
                    let notifications = json!({ "method": "notifications/progress", "count": { "min": count } });
                    self.made.push(json!({ "notifications": notifications }));
                }
            }
            _ => return Err("mcp-assert has no such expectation".to_owned()),
        }
        Ok(())
    }

    fn demand(&mut self, mut at: Value, matchers: Map<String, Value>) {
        if let Some(item) = at.as_object_mut() {
            item.extend(matchers);
        }
        self.made.push(at);
        self.demands_result = true;
    }

    fn error_flag(&mut self, is_error: bool, is_wanted: bool) -> Result<(), String> {
        if !is_wanted {
            return Ok(());
        }
        match (self.subject, is_error) {
            (Subject::Tool, _) => self.demand(json!({ "is_error": is_error }), Map::new()),
            (Subject::Resource | Subject::Prompt | Subject::Result, false) => self.demand(any_result(), Map::new()),
            (Subject::Resource | Subject::Prompt | Subject::Result, true) => {
                return Err("only the result of a tool has `isError`".to_owned());
            }
        }
        Ok(())
    }

    fn demand_text(&mut self, matcher: &str, wanted: &str) -> Result<(), String> {
        let text = json!({ (matcher): literal_text(wanted) });
        let item = match self.subject {
            Subject::Tool | Subject::Resource => json!({ "text": text }),
            Subject::Prompt => {
                let mut description = json!({ "at": "result.description" });
                description[matcher] = text[matcher].clone();
                json!({ "any": [{ "text": text }, description] })
            }
            Subject::Result => json!({ "assert": in_json(matcher, wanted)? }),
        };
        self.demand(item, Map::new());
        Ok(())
    }

    fn avoid_text(&mut self, matcher: &str, unwanted: &str) -> Result<(), String> {
        let text = json!({ (matcher): literal_text(unwanted) });
        match self.subject {
            Subject::Prompt if matcher == "contains" => {
                let mut description = json!({ "at": "result.description" });
                description[matcher] = text[matcher].clone();
                self.made.push(json!({ "not": { "any": [{ "text": text }, description] } }));
            }
            Subject::Tool | Subject::Resource | Subject::Prompt => self.made.push(json!({ "text": { "not": text } })),
            Subject::Result => self.made.push(json!({ "assert": format!("not ({})", in_json(matcher, unwanted)?) })),
        }
        Ok(())
    }

    fn any_text(&mut self, wanted: &[String]) {
        let contains = |text: &String| json!({ "contains": literal_text(text) });
        let item = match self.subject {
            Subject::Tool | Subject::Resource => {
                json!({ "text": { "any": wanted.iter().map(contains).collect::<Vec<_>>() } })
            }
            Subject::Prompt => {
                let of_text = wanted.iter().map(|text| json!({ "text": contains(text) }));
                let of_description =
                    wanted.iter().map(|text| json!({ "at": "result.description", "contains": literal_text(text) }));
                json!({ "any": of_text.chain(of_description).collect::<Vec<_>>() })
            }
            Subject::Result => {
                let parts: Vec<String> = wanted.iter().filter_map(|text| in_json("contains", text).ok()).collect();
                json!({ "assert": parts.join(" or ") })
            }
        };
        self.demand(item, Map::new());
    }

    /// The path to a value in the JSON of the answer.
    fn json_at(&self, path: &str) -> Result<String, String> {
        let base = match self.subject {
            Subject::Tool => "result.content[0].text.json()",
            Subject::Resource => "result.contents[0].text.json()",
            Subject::Prompt => "result.messages[0].content.text.json()",
            Subject::Result => "result",
        };
        path_within(base, path).ok_or_else(|| format!("`{path}` is more than names and indexes"))
    }

    fn count(&mut self, range: &Value) -> Result<(), String> {
        if self.subject == Subject::Result {
            return Err("the result of this request has no list that mcp-assert counts".to_owned());
        }
        let list = |at: String| json!({ "at": at, "type": "array", "length": range });
        let whole = self.json_at("$")?;
        let within = LISTS.iter().map(|name| list(format!("{whole}.{name}")));
        let any: Vec<Value> = std::iter::once(list(whole.clone())).chain(within).collect();
        self.demand(json!({ "any": any }), Map::new());
        Ok(())
    }

    fn file_text(&mut self, path: &str, text: &str, is_wanted: bool) -> Result<(), String> {
        let contains = json!({ "file": { "path": file_path(path)?, "contains": literal_text(text) } });
        if is_wanted {
            self.made.push(contains);
        } else {
            self.made.push(json!({ "file": { "path": file_path(path)?, "exists": true } }));
            self.made.push(json!({ "not": contains }));
        }
        Ok(())
    }
}

/// The matchers of a value that mcp-assert compares as it is printed.
fn is_value(wanted: &Node) -> Map<String, Value> {
    let value = wanted.to_json();
    // A number or a truth value is printed like its text.
    let other: Option<Value> = value.as_str().and_then(|text| serde_json::from_str(text).ok());
    let other = other.filter(|other| {
        (other.is_number() || other.is_boolean()) && Some(other.to_string().as_str()) == value.as_str()
    });
    let (key, is) = match other {
        Some(other) => ("one_of", json!([value, other])),
        None => ("equals", literal_value(value)),
    };
    std::iter::once((key.to_owned(), is)).collect()
}

/// An expression for a matcher of the result as JSON.
fn in_json(matcher: &str, wanted: &str) -> Result<String, String> {
    // The filter writes these signs so.
    let written = if matcher == "contains" { wanted.replace('\'', "\\u0027") } else { wanted.to_owned() };
    let quoted = Value::from(written).to_string();
    match matcher {
        "contains" => Ok(format!("{quoted} in (result | tojson)")),
        "matches" => Ok(format!("(result | tojson) is matching({quoted})")),
        _ => Err("the result of this request is no text".to_owned()),
    }
}

/// The path of a file in the fixture.
fn file_path(path: &str) -> Result<Value, String> {
    let filled = with_fixture(path);
    let is_within = filled.as_str().is_some_and(|path| path.starts_with("{{ fixture }}"));
    if is_within {
        Ok(filled)
    } else {
        Err(format!("`{path}` is not in the fixture, and other files are not looked at"))
    }
}

fn check_pattern(pattern: &str) -> Result<(), String> {
    let Err(error) = Regex::new(pattern) else { return Ok(()) };
    let reason = error.to_string();
    let reason = reason.lines().last().unwrap_or_default().trim().trim_start_matches("error: ").to_owned();
    Err(format!("`{pattern}` is no regular expression that mcprove knows: {reason}"))
}

fn flag(node: &Node) -> Result<bool, String> {
    node.flag().ok_or_else(|| "`true` or `false` is expected".to_owned())
}

/// The texts of a list.
pub(crate) fn texts(node: &Node) -> Result<Vec<String>, String> {
    let is_plain = |item: &Node| item.items().is_empty() && item.entries().is_empty();
    let is_list = node.kind() == "a list" && node.items().iter().all(is_plain);
    if is_list {
        Ok(node.items().iter().map(Node::to_text).collect())
    } else {
        Err("a list of texts is expected".to_owned())
    }
}
