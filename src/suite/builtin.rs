//! Suites that are part of the program, for `include: [builtin:NAME]`.

use crate::source::SourceFile;

/// Name and text of every built-in suite; a file under `suites/` and a line here.
const BUILTIN: &[(&str, &str)] = &[
    ("agents", include_str!("../../suites/agents.yml")),
    ("compliance", include_str!("../../suites/compliance.yml")),
    ("config", include_str!("../../suites/config.yml")),
    ("faults", include_str!("../../suites/faults.yml")),
    ("fuzz", include_str!("../../suites/fuzz.yml")),
    ("isolation", include_str!("../../suites/isolation.yml")),
    ("negative-path", include_str!("../../suites/negative-path.yml")),
    ("output-schema", include_str!("../../suites/output-schema.yml")),
    ("schema-lint", include_str!("../../suites/schema-lint.yml")),
    ("security", include_str!("../../suites/security.yml")),
    ("timeouts", include_str!("../../suites/timeouts.yml")),
    ("tool-list", include_str!("../../suites/tool-list.yml")),
    ("torture", include_str!("../../suites/torture.yml")),
];

/// Properties that hold for any server, by what they look for; a file under `suites/packs/` and a line here.
const PACKS: &[(&str, &str)] = &[
    ("packs/auth", include_str!("../../suites/packs/auth.yml")),
    ("packs/crud", include_str!("../../suites/packs/crud.yml")),
    ("packs/error-shape", include_str!("../../suites/packs/error-shape.yml")),
    ("packs/idempotency", include_str!("../../suites/packs/idempotency.yml")),
    ("packs/injection", include_str!("../../suites/packs/injection.yml")),
    ("packs/large-payload", include_str!("../../suites/packs/large-payload.yml")),
    ("packs/pagination", include_str!("../../suites/packs/pagination.yml")),
    ("packs/path-traversal", include_str!("../../suites/packs/path-traversal.yml")),
    ("packs/prompt-injection", include_str!("../../suites/packs/prompt-injection.yml")),
    ("packs/rate-limit", include_str!("../../suites/packs/rate-limit.yml")),
    ("packs/secrets-leakage", include_str!("../../suites/packs/secrets-leakage.yml")),
    ("packs/tool-annotations", include_str!("../../suites/packs/tool-annotations.yml")),
    ("packs/unicode", include_str!("../../suites/packs/unicode.yml")),
];

/// The rule books behind `builtin:compliance`, by name; a file under `suites/compliance/` and a line here.
const RULE_BOOKS: &[(&str, &str)] = &[
    ("compliance/2025-11-25/basic", include_str!("../../suites/compliance/2025-11-25/basic.yml")),
    ("compliance/2025-11-25/lifecycle", include_str!("../../suites/compliance/2025-11-25/lifecycle.yml")),
    ("compliance/2025-11-25/transports-stdio", include_str!("../../suites/compliance/2025-11-25/transports-stdio.yml")),
    ("compliance/2025-11-25/transports-http", include_str!("../../suites/compliance/2025-11-25/transports-http.yml")),
    ("compliance/2025-11-25/utilities", include_str!("../../suites/compliance/2025-11-25/utilities.yml")),
    ("compliance/2025-11-25/tasks", include_str!("../../suites/compliance/2025-11-25/tasks.yml")),
    ("compliance/2025-11-25/tools", include_str!("../../suites/compliance/2025-11-25/tools.yml")),
    ("compliance/2025-11-25/resources", include_str!("../../suites/compliance/2025-11-25/resources.yml")),
    ("compliance/2025-11-25/prompts", include_str!("../../suites/compliance/2025-11-25/prompts.yml")),
    ("compliance/2025-11-25/completion", include_str!("../../suites/compliance/2025-11-25/completion.yml")),
    ("compliance/2025-11-25/logging", include_str!("../../suites/compliance/2025-11-25/logging.yml")),
    ("compliance/2025-11-25/elicitation", include_str!("../../suites/compliance/2025-11-25/elicitation.yml")),
    ("compliance/2025-11-25/sampling", include_str!("../../suites/compliance/2025-11-25/sampling.yml")),
    ("compliance/2025-11-25/authorization", include_str!("../../suites/compliance/2025-11-25/authorization.yml")),
    ("compliance/2026-07-28/basic", include_str!("../../suites/compliance/2026-07-28/basic.yml")),
    ("compliance/2026-07-28/versioning", include_str!("../../suites/compliance/2026-07-28/versioning.yml")),
    ("compliance/2026-07-28/transports-stdio", include_str!("../../suites/compliance/2026-07-28/transports-stdio.yml")),
    ("compliance/2026-07-28/transports-http", include_str!("../../suites/compliance/2026-07-28/transports-http.yml")),
    ("compliance/2026-07-28/utilities", include_str!("../../suites/compliance/2026-07-28/utilities.yml")),
    ("compliance/2026-07-28/mrtr", include_str!("../../suites/compliance/2026-07-28/mrtr.yml")),
    ("compliance/2026-07-28/subscriptions", include_str!("../../suites/compliance/2026-07-28/subscriptions.yml")),
    ("compliance/2026-07-28/caching", include_str!("../../suites/compliance/2026-07-28/caching.yml")),
    ("compliance/2026-07-28/tools", include_str!("../../suites/compliance/2026-07-28/tools.yml")),
    ("compliance/2026-07-28/resources", include_str!("../../suites/compliance/2026-07-28/resources.yml")),
    ("compliance/2026-07-28/prompts", include_str!("../../suites/compliance/2026-07-28/prompts.yml")),
    ("compliance/2026-07-28/completion", include_str!("../../suites/compliance/2026-07-28/completion.yml")),
    ("compliance/2026-07-28/logging", include_str!("../../suites/compliance/2026-07-28/logging.yml")),
    ("compliance/2026-07-28/elicitation", include_str!("../../suites/compliance/2026-07-28/elicitation.yml")),
    ("compliance/2026-07-28/sampling", include_str!("../../suites/compliance/2026-07-28/sampling.yml")),
    ("compliance/2026-07-28/authorization", include_str!("../../suites/compliance/2026-07-28/authorization.yml")),
    ("compliance/2026-07-28/apps", include_str!("../../suites/compliance/2026-07-28/apps.yml")),
    ("compliance/2026-07-28/skills", include_str!("../../suites/compliance/2026-07-28/skills.yml")),
    ("compliance/2026-07-28/tasks", include_str!("../../suites/compliance/2026-07-28/tasks.yml")),
];

/// The built-in rule books, as names for `builtin:NAME` and texts.
pub(crate) fn rule_books() -> &'static [(&'static str, &'static str)] {
    RULE_BOOKS
}

/// The text of a built-in suite.
pub fn text(name: &str) -> Option<&'static str> {
    BUILTIN.iter().chain(PACKS).chain(RULE_BOOKS).find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// The file in which messages place what a built-in suite says.
pub fn builtin_file(name: &str) -> String {
    format!("<builtin:{name}>")
}

/// The name of the built-in suite whose file this is; `None` for a file of the user.
pub fn builtin_name(file: &str) -> Option<&str> {
    file.strip_prefix("<builtin:")?.strip_suffix('>')
}

/// Returns true if a file is part of the program, and not one of the user with the same name.
pub fn is_builtin(file: &SourceFile) -> bool {
    builtin_name(&file.name).and_then(text).is_some_and(|known| known == file.text)
}

/// The names of all built-in suites.
pub fn builtin_names() -> impl Iterator<Item = &'static str> {
    BUILTIN.iter().chain(PACKS).map(|(name, _)| *name)
}

/// The names of the packs.
pub fn pack_names() -> impl Iterator<Item = &'static str> {
    PACKS.iter().map(|(name, _)| *name)
}
