//! `docs/reference/lints.md`, made from the table of lints.

use std::fmt::Write as _;

use mcprove::lint::{Lint, MAX_TOKENS, Provider, SUBJECTS, example_base, lints};

const HEAD: &str = "\
# Lints

The checks of `schema_lint:` and `mcprove lint`; [Linting tools](../guides/linting.md) says how to run them.
This page is made from the code; `UPDATE=1 cargo test generated` writes it anew.

Each lint reads the tools that a server lists and calls none of them.
An *error* breaks the specification; a *warning* goes against the advice of the specification, or is a known problem for models and clients; *advice* is shown beside the verdict and never changes it.
A refusal by a model provider is a warning, and an error if the provider is named (`providers: [openai]`, `--provider openai`).
Every example is a test: the lint finds something in the bad one and nothing in the good one.
Examples have only the differences to this tool:

```json
";

/// The page in Markdown.
pub(crate) fn page() -> String {
    let mut page = HEAD.to_owned();
    // Writing to a text cannot fail.
    let _ = writeln!(page, "{}\n```\n", serde_json::to_string_pretty(&example_base()).unwrap_or_default());
    let _ = writeln!(
        page,
        "`\"times\": 9` stands for that number of tools, `\"repeat\": [\"text\", 9]` for a text repeated that often, `null` for a missing value.\n\
         Tokens are estimated: a token for four bytes of a tool's name, description and input schema as compact JSON.\n\
         Without `max_tokens` a list may cost {MAX_TOKENS}.\n"
    );
    page += &providers();
    for (subject, lints) in SUBJECTS {
        let _ = writeln!(page, "## {subject}\n");
        for lint in *lints {
            page += &section(lint);
        }
    }
    page.trim_end().to_owned() + "\n"
}

fn providers() -> String {
    let mut text = "## Providers\n\n| provider | refuses | lints |\n| --- | --- | --- |\n".to_owned();
    for provider in Provider::ALL {
        let own: Vec<String> =
            lints().filter(|lint| provider.is_subject_of(lint)).map(|lint| format!("[`{0}`](#{0})", lint.id)).collect();
        let when = provider.by_choice().unwrap_or("always");
        let _ = writeln!(text, "| `{}` | {when} | {} |", provider.as_str(), own.join(", "));
    }
    text + "\nClients rewrite schemas for strict mode and for `parameters`, or do not use them; \
            so these two are shown below the cases, and judged only if they are named.\n\n"
}

fn section(lint: &Lint) -> String {
    let Lint { id, says, why, cure, link, .. } = lint;
    let (good, bad) = lint.examples();
    let variant = lint.variant.map(|variant| format!(", judges [{variant}](faults.md)")).unwrap_or_default();
    format!(
        "### `{id}`\n\n{level}{variant}: {says}.\n\nWhy: {why}.\nInstead: {cure}.\nSee <{link}>.\n\n\
         ```json\n{good}\n```\n\nis good, and\n\n```json\n{bad}\n```\n\nis not.\n\n",
        level = capital(lint.level.as_str()),
    )
}

fn capital(word: &str) -> String {
    let mut rest = word.chars();
    rest.next().map(|first| first.to_uppercase().chain(rest).collect()).unwrap_or_default()
}
