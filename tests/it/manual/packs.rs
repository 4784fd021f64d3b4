//! `docs/reference/packs.md`, made from the packs that are part of the program.

use std::fmt::Write as _;
use std::io;
use std::path::Path;

use mcprove::block::load;
use mcprove::source::Sources;
use mcprove::suite::{Files, Test, builtin_text, pack_names};

/// A suite that has one pack.
struct With(&'static str);

impl Files for With {
    fn read(&self, _: &Path) -> io::Result<String> {
        Ok(format!(r#"{{"suite": "pack", "server": {{"builtin": "demo"}}, "include": ["builtin:{}"]}}"#, self.0))
    }
}

/// The page in Markdown: the purpose of every pack, and why every property matters.
pub(crate) fn page() -> String {
    let mut page = "# Packs\n\n".to_owned();
    page += "This page is made from the packs under `suites/packs/`.\n";
    page += "A pack is a suite of [properties](../guides/properties.md) that hold for any server.\nInclude it, and set its variables if the defaults do not fit:\n\n";
    page += "```yaml\nsuite: My server\nserver: { builtin: demo }\ninclude: [builtin:packs/path-traversal, builtin:packs/unicode]\n\n# Generated ids match no user; `arguments: { get_user: { id: … } }` would provide an existing one.\nallow_unjudged: [get_user]\n```\n\n";
    page += "`security: true` includes `injection`, `path-traversal`, `prompt-injection` and `secrets-leakage`; [`security`](blocks.md#security) selects some of them.\n";
    page += "Tests of mcprove run every property on a server that breaks it, and on a correct one.\n";
    for name in pack_names() {
        page += &pack(name);
    }
    page
}

fn pack(name: &'static str) -> String {
    let mut sources = Sources::default();
    let tests = load(Path::new("pack"), &With(name), &mut sources, &mut Vec::new()).map(|loaded| loaded.suite.tests);
    let tests = tests.unwrap_or_default();
    let title = name.split_once('/').map_or(name, |(_, title)| title);
    let mut section = format!("\n## {title}\n\n{}\n", preface(builtin_text(name).unwrap_or_default()));
    section += "\n| property | severity | why | judges |\n| --- | --- | --- | --- |\n";
    for test in &tests {
        let _ = writeln!(section, "{}", row(test));
    }
    section
}

/// The comment at the top of a pack, which is Markdown.
fn preface(text: &str) -> String {
    let lines = text.lines().take_while(|line| line.starts_with('#'));
    let lines = lines.map(|line| line.trim_start_matches('#')).map(|line| line.strip_prefix(' ').unwrap_or(line));
    lines.collect::<Vec<_>>().join("\n").trim().to_owned()
}

fn row(test: &Test) -> String {
    let property = test.extras.property.as_deref();
    let severity = property.and_then(|property| property.severity.as_deref()).unwrap_or("medium");
    let why = property.and_then(|property| property.why.as_deref()).unwrap_or_default();
    let judges: Vec<&str> = test.extras.judges.iter().map(|variant| variant.value.as_str()).collect();
    let name = test.name.value.replace("{{ ", "*").replace(" }}", "*").replace('|', "\\|");
    format!("| {name} | {severity} | {} | {} |", why.replace('|', "\\|"), judges.join(", "))
}
