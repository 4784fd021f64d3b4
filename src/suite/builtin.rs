//! Suites that are part of the program, for `include: [builtin:NAME]`.

/// Name and text of every built-in suite; a file under `suites/` and a line here.
const BUILTIN: &[(&str, &str)] = &[
    ("compliance", include_str!("../../suites/compliance.yml")),
    ("negative-path", include_str!("../../suites/negative-path.yml")),
    ("output-schema", include_str!("../../suites/output-schema.yml")),
    ("tool-list", include_str!("../../suites/tool-list.yml")),
];

/// The rule books behind `builtin:compliance`, by name; a file under `suites/compliance/` and a line here.
const RULE_BOOKS: &[(&str, &str)] =
    &[("compliance/2025-11-25/basic", include_str!("../../suites/compliance/2025-11-25/basic.yml"))];

/// The list of rules that no rule book checks.
pub(super) const UNCHECKED: &str = include_str!("../../suites/compliance/unchecked.yml");

/// The built-in rule books, as names for `builtin:NAME` and texts.
pub(super) fn rule_books() -> &'static [(&'static str, &'static str)] {
    RULE_BOOKS
}

/// The text of a built-in suite.
pub(super) fn text(name: &str) -> Option<&'static str> {
    BUILTIN.iter().chain(RULE_BOOKS).find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// The names of all built-in suites.
pub fn builtin_names() -> impl Iterator<Item = &'static str> {
    BUILTIN.iter().map(|(name, _)| *name)
}
