//! Lints of the tokens that the list costs.

use super::super::{Lint, LintFinding, LintRule, LintSubject, tokens};
use super::{ADVICE, BLOAT, WARNING};

const BEST_PRACTICES: &str =
    "https://developers.openai.com/api/docs/guides/function-calling#best-practices-for-defining-functions";

pub(crate) static LINTS: &[Lint] = &[
    Lint {
        id: "heavy-list",
        variant: BLOAT,
        says: "the list of tools costs more tokens than `max_tokens`",
        why: "a model reads the whole list before every answer: it costs money, time and context",
        cure: "shorten descriptions, remove unneeded tools, or raise `max_tokens`",
        link: BEST_PRACTICES,
        good: r#"[{"times": 30}]"#,
        bad: r#"[{"times": 30, "description": {"repeat": ["finds a note ", 40]}}]"#,
        rule: LintRule::List(heavy_list),
        ..WARNING
    },
    Lint {
        id: "heavy-tool",
        variant: BLOAT,
        says: "one tool costs more than 2000 tokens",
        why: "it is read before every answer, whether or not it is used",
        cure: "say in the description what a model needs to choose it, and move the rest into a resource or the results",
        link: BEST_PRACTICES,
        good: r#"{"description": {"repeat": ["finds a note ", 40]}}"#,
        bad: r#"{"description": {"repeat": ["finds a note ", 700]}}"#,
        rule: LintRule::Tool(|tool| {
            let cost = tokens(tool);
            (cost > 2_000).then(|| (String::new(), format!("it costs about {cost} tokens")))
        }),
        ..ADVICE
    },
    Lint {
        id: "many-tools",
        variant: BLOAT,
        says: "the server lists more than 40 tools",
        why: "models choose worse the more there is to choose from, and some clients show no more than 40",
        cure: "merge similar tools, or let users turn groups of them off",
        link: BEST_PRACTICES,
        good: r#"[{"times": 40}]"#,
        bad: r#"[{"times": 41}]"#,
        rule: LintRule::List(|subject| more_tools_than(40, subject)),
        ..ADVICE
    },
];

fn heavy_list(subject: &LintSubject<'_>) -> Vec<LintFinding> {
    let sum: usize = subject.tools.iter().map(tokens).sum();
    let most = subject.limits.max_tokens;
    let says = format!("the list costs about {sum} tokens; the maximum is {most}");
    let heavy = (sum > most).then_some(LintFinding { tool: String::new(), at: String::new(), says });
    heavy.into_iter().collect()
}

/// A finding where the server lists more tools than that.
pub(crate) fn more_tools_than(most: usize, subject: &LintSubject<'_>) -> Vec<LintFinding> {
    let count = subject.tools.len();
    let found = LintFinding { tool: String::new(), at: String::new(), says: format!("the server lists {count} tools") };
    (count > most).then_some(found).into_iter().collect()
}
