//! The words of a server that lists a tool and answers its call as if there were no such tool.

/// The bytes of a text that says no more than that.
const LONGEST: usize = 400;

/// Words before a name that say that no tool has it, in lower case.
const BEFORE: [&str; 8] = [
    "unknown tool",
    "no such tool",
    "no tool",
    "unrecognized tool",
    "unsupported tool",
    "invalid tool",
    "tool not found",
    "tool does not exist",
];

/// Words between the two.
const BETWEEN: [&str; 4] = ["name", "named", "called", "with name"];

/// Words behind a name that say the same, in lower case.
const BEHIND: [&str; 8] = [
    "not found",
    "is not found",
    "was not found",
    "does not exist",
    "doesn't exist",
    "is unknown",
    "is not registered",
    "not registered",
];

/// Returns true if a refusal says that there is no tool of that very name. A text about an argument of the call, such as
/// an unknown item, names something else.
pub fn denies_tool(words: &str, tool: &str) -> bool {
    if words.len() > LONGEST || tool.is_empty() || !words.contains(tool) {
        return false;
    }
    words.match_indices(tool).any(|(at, _)| {
        let (before, behind) = (&words[..at], &words[at + tool.len()..]);
        let is_whole = !before.ends_with(is_of_name) && !behind.starts_with(is_of_name);
        is_whole && (ends_with_denial(before) || (ends_with_tool(before) && begins_with_denial(behind)))
    })
}

fn is_of_name(letter: char) -> bool {
    letter.is_alphanumeric() || "_-/:".contains(letter)
}

/// A text without quotes and separators at its end, in lower case.
fn without_end(text: &str) -> String {
    text.trim_end_matches(|letter: char| letter.is_whitespace() || "`'\"“‘«:([".contains(letter)).to_lowercase()
}

fn ends_with_denial(before: &str) -> bool {
    let text = without_end(before);
    let text = BETWEEN.iter().find_map(|word| text.strip_suffix(word)).map_or(text.clone(), without_end);
    BEFORE.iter().any(|words| text.ends_with(words))
}

fn ends_with_tool(before: &str) -> bool {
    let text = without_end(before);
    let text = BETWEEN.iter().find_map(|word| text.strip_suffix(word)).map_or(text.clone(), without_end);
    text.strip_suffix("tool").is_some_and(|rest| !rest.ends_with(is_of_name))
}

fn begins_with_denial(behind: &str) -> bool {
    let text = behind.trim_start_matches(|letter: char| letter.is_whitespace() || "`'\"”’»)]".contains(letter));
    let text = text.to_lowercase();
    BEHIND.iter().any(|words| text.starts_with(words))
}

#[cfg(test)]
mod tests {
    use super::denies_tool;

    #[test]
    fn only_the_name_of_the_tool_itself_counts() {
        for (words, expected) in [
            ("Unknown tool: get-item", true),
            ("unknown tool \"get-item\"", true),
            ("MCP error -32602: Tool get-item not found", true),
            ("tool 'get-item' not found: tool not found", true),
            ("Tool not found: get-item", true),
            ("Error: Unknown tool name: `get-item`", true),
            ("No tool named get-item is registered", true),
            ("Tool get-item does not exist.", true),
            // Another name, or one that only begins like it: an argument, or an upstream server's.
            ("Unknown tool: get_item", false),
            ("Unknown tool: get-item-list", false),
            ("Unknown tool: forget-item", false),
            ("Unknown tool: zq7", false),
            ("Unknown tool", false),
            // The tool exists, and does not know what was asked for.
            ("unknown item", false),
            ("get-item: unknown item", false),
            ("get-item: not found", false),
            ("Tool get-item failed: item not found", false),
            ("Tool get-item disabled", false),
            ("Unknown toolbox get-item", false),
            ("", false),
        ] {
            assert_eq!(denies_tool(words, "get-item"), expected, "{words}");
        }
        let long = format!("Unknown tool: get-item{}", " ".repeat(400));
        assert!(!denies_tool(&long, "get-item"));
    }
}
