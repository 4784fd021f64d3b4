//! From the end of a command to the result of a tool, and outputs of a bounded length.

use std::collections::VecDeque;

use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::json;

use crate::cli::exit::Exit;

/// The most bytes of an output, of which a command has two; more is cut out of its middle.
const LONGEST_OUTPUT: usize = 25_000;

/// A command that has ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct EndedCommand {
    /// Its exit code; `None` if it was killed.
    pub(super) exit: Option<i32>,
    pub(super) output: String,
    pub(super) messages: String,
}

/// An output as it comes: its first and its last bytes.
#[derive(Debug, Default)]
pub(super) struct BoundedOutput {
    first: Vec<u8>,
    last: VecDeque<u8>,
    missing: usize,
}

impl BoundedOutput {
    pub(super) fn add(&mut self, bytes: &[u8]) {
        let room = (LONGEST_OUTPUT / 2).saturating_sub(self.first.len()).min(bytes.len());
        let (first, rest) = bytes.split_at(room);
        self.first.extend_from_slice(first);
        self.last.extend(rest);
        let excess = self.last.len().saturating_sub(LONGEST_OUTPUT / 2);
        self.last.drain(..excess);
        self.missing += excess;
    }

    /// The text, with a line in the place of what is missing.
    pub(super) fn text(&self) -> String {
        let last: Vec<u8> = self.last.iter().copied().collect();
        if self.missing == 0 {
            return String::from_utf8_lossy(&[&*self.first, &last].concat()).into_owned();
        }
        let (first, last) = (String::from_utf8_lossy(&self.first), String::from_utf8_lossy(&last));
        format!("{first}\n… {} bytes are missing here …\n{last}", self.missing)
    }
}

/// The result of a tool.
pub(super) fn result_of(tool: &str, ended: &EndedCommand) -> CallToolResult {
    let exit = match ended.exit {
        Some(code @ 0..=255) => code,
        // Systems without signals have codes of their own for programs that break.
        Some(_) => Exit::Internal as i32,
        None => Exit::Interrupted as i32,
    };
    let parts = [ended.output.trim_end(), ended.messages.trim_end()];
    let text = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n");
    let content = vec![ContentBlock::text(text.as_str())];
    let mut result =
        if is_error(tool, exit) { CallToolResult::error(content) } else { CallToolResult::success(content) };
    result.structured_content = Some(json!({ "exit": exit, "verdict": verdict(exit), "text": text }));
    result
}

/// A call that is refused before any command runs.
pub(super) fn refusal(message: impl Into<String>) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(message)])
}

/// True if the command did not do its work. Whatever is wrong with a server or a suite that was looked at is a result.
fn is_error(tool: &str, exit: i32) -> bool {
    let finds_mistakes = ["check", "plan", "coverage"].contains(&tool) && exit == Exit::Usage as i32;
    let is_result = [Exit::Passed, Exit::Findings, Exit::Nothing, Exit::Coverage].map(|exit| exit as i32);
    !finds_mistakes && !is_result.contains(&exit)
}

/// An exit code in a word, as the output schema of the tools has it.
fn verdict(exit: i32) -> &'static str {
    const WORDS: [(Exit, &str); 7] = [
        (Exit::Passed, "passed"),
        (Exit::Findings, "failed"),
        (Exit::Usage, "mistake"),
        (Exit::Environment, "unavailable"),
        (Exit::Nothing, "nothing_judged"),
        (Exit::Coverage, "below_threshold"),
        (Exit::Interrupted, "interrupted"),
    ];
    WORDS.iter().find(|(known, _)| *known as i32 == exit).map_or("broken", |(_, word)| word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exit_code_is_a_verdict_and_sometimes_an_error() {
        for (tool, exit, word, errs) in [
            ("run", Some(0), "passed", false),
            ("run", Some(1), "failed", false),
            ("run", Some(2), "mistake", true),
            ("check", Some(2), "mistake", false),
            ("plan", Some(2), "mistake", false),
            ("coverage", Some(2), "mistake", false),
            ("findings", Some(2), "mistake", true),
            ("check", Some(3), "unavailable", true),
            ("prove", Some(4), "nothing_judged", false),
            ("prove", Some(6), "below_threshold", false),
            ("run", Some(70), "broken", true),
            ("run", Some(101), "broken", true),
            ("run", Some(130), "interrupted", true),
            ("run", Some(-1_073_741_510), "broken", true),
            ("run", None, "interrupted", true),
        ] {
            let ended = EndedCommand { exit, output: "out\n".to_owned(), messages: "note\n".to_owned() };
            let result = result_of(tool, &ended);
            let structured = result.structured_content.unwrap();
            assert_eq!((&structured["verdict"], result.is_error), (&word.into(), Some(errs)), "{tool} {exit:?}");
            assert_eq!(structured["text"], "out\n\nnote");
        }
    }

    #[test]
    fn a_long_output_keeps_both_ends() {
        let mut short = BoundedOutput::default();
        "grüße".bytes().for_each(|byte| short.add(&[byte]));
        assert_eq!(short.text(), "grüße");
        let mut long = BoundedOutput::default();
        long.add(&vec![b'a'; LONGEST_OUTPUT / 2]);
        long.add(&vec![b'b'; LONGEST_OUTPUT]);
        long.add(b"end");
        let text = long.text();
        assert!(text.starts_with("aaa") && text.ends_with("bend"), "{}", text.len());
        assert!(text.contains(&format!("a\n… {} bytes are missing here …\nb", LONGEST_OUTPUT / 2 + 3)));
        assert!(text.len() < LONGEST_OUTPUT + 100);
    }
}
