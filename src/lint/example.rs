//! Examples: a tool that is right, and what is different about it.

use serde_json::{Map, Value, json};

use super::Lint;
use crate::wire::Tool;

/// The tool of which examples say only what is different.
pub fn example_base() -> Value {
    json!({
        "name": "find_notes",
        "description": "Finds notes whose text holds a word.",
        "inputSchema": {
            "type": "object",
            "properties": {"word": {"type": "string", "description": "What to look for"}},
            "required": ["word"],
            "additionalProperties": false
        },
        "annotations": {"readOnlyHint": true}
    })
}

impl Lint {
    /// The tools of the example in which nothing is found.
    pub fn good(&self) -> Vec<Tool> {
        tools(self.good)
    }

    /// The tools of the example in which something is found.
    pub fn bad(&self) -> Vec<Tool> {
        tools(self.bad)
    }

    /// The examples as they are written: what is different about a tool that is right.
    pub fn examples(&self) -> (&'static str, &'static str) {
        (self.good, self.bad)
    }

    /// Other lints that cannot but find something in the bad example.
    pub fn also(&self) -> &'static [&'static str] {
        self.also
    }
}

/// `times: 9` stands for so many tools, `repeat: [text, 9]` for so many times that text, `null` for nothing.
fn tools(example: &str) -> Vec<Tool> {
    let written: Value = serde_json::from_str(example).unwrap_or_else(|error| unreachable!("{error}: {example}"));
    let changes = written.as_array().cloned().unwrap_or_else(|| vec![written]);
    changes
        .iter()
        .flat_map(|change| {
            let times = change["times"].as_u64();
            (0..times.unwrap_or(1)).map(move |number| apply_change(change, times.map(|_| number)))
        })
        .collect()
}

fn apply_change(change: &Value, number: Option<u64>) -> Tool {
    let mut tool = example_base();
    let own: Map<String, Value> = change.as_object().cloned().unwrap_or_default();
    for (member, value) in own.into_iter().filter(|(member, _)| member != "times") {
        if value.is_null() {
            drop(tool.as_object_mut().and_then(|tool| tool.remove(&member)));
        } else {
            tool[member] = expand_repeat(&value);
        }
    }
    if let Some(number) = number {
        for member in ["name", "description"] {
            tool[member] = format!("{}_{number}", tool[member].as_str().unwrap_or_default()).into();
        }
    }
    Tool::new(tool)
}

fn expand_repeat(value: &Value) -> Value {
    let text = value["repeat"][0].as_str().zip(value["repeat"][1].as_u64());
    match text {
        Some((text, times)) => text.repeat(usize::try_from(times).unwrap_or_default()).into(),
        None => value.clone(),
    }
}
