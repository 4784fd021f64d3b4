//! Suites that are part of the program, for `include: [builtin:NAME]`.

/// Name and text of every built-in suite; a file under `suites/` and a line here.
const BUILTIN: &[(&str, &str)] = &[
    ("compliance", include_str!("../../suites/compliance.yml")),
    ("negative-path", include_str!("../../suites/negative-path.yml")),
    ("output-schema", include_str!("../../suites/output-schema.yml")),
    ("tool-list", include_str!("../../suites/tool-list.yml")),
];

/// The text of a built-in suite.
pub(super) fn text(name: &str) -> Option<&'static str> {
    BUILTIN.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// The names of all built-in suites.
pub fn builtin_names() -> impl Iterator<Item = &'static str> {
    BUILTIN.iter().map(|(name, _)| *name)
}
