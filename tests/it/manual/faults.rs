//! `docs/reference/faults.md`, the reference of all faults.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::iter;

use mcprove::taxonomy::{Family, Leaf, PROBES, Registry, Revisions, START, Transport, Variant};
use mcprove::{fault, source};

const INTRODUCTION: &str = "\
# Faults

This page is made from `src/taxonomy/registry.yml`; `UPDATE=1 cargo test generated` writes it.

A family is a category of faults, a leaf is one fault, a variant is one way in which a leaf shows in real servers.
`mcprove fault-coverage` counts leaves; `mcprove run` also counts the variants that cases judged.
The weighted figure spreads the weight of a family, its fault threads in arXiv 2606.05339, evenly over its leaves.
A variant that *must* not occur fails a case, one that *should* not occur warns, and a *heuristic* rests on experience.

A mutant is one imitation of a variant, a change to the messages of a server in a recorded run.

Tiers say how a variant can be imitated: W changes frames one by one, S needs memory of earlier frames, L needs \
control over how the server starts and ends, C needs a companion such as a canary file or a second server, and N cannot \
be imitated.

If the column *server* says yes, `mcprove serve faulty --fault VARIANT` serves the demo server with that variant, \
over each of its transports.
";

const MUTANTS: &str = "
## How mutants are written

A mutant has an `id`, a `meaning`, and a fault: `on` selects the exchanges, and `answers` lists the changes; docs/reference/fault-language.md describes both.
Paths are dotted, with `[*]` for every item of a list, `*` for every member, and `json()` for JSON within a text; \
those that start with `params` apply to the notifications that came with the answer.
`shown_by` matches the answer of a recorded server that already has the fault, so that the mutant proves nothing about a suite.
`needs` lists the capabilities that the server must have for this mutant.
Your own registry may omit the fault; such a mutant is listed and never planted.

```yaml
mutants:
  - id: unknown-tool-accepted
    meaning: a call of an unknown tool succeeds
    on: { method: tools/call, tool: unknown, answered: refused }
    answers: accept
    shown_by: { method: tools/call, tool: unknown, answered: served }
    needs: [tools]
```
";

const STARTS: &str = "
## How starts are changed

A mutant with `start` instead of `on` and `answers` changes the start of the server, and is planted with `--live` only: \
once for each matching option, variable, folder or number.

```yaml
mutants:
  - id: read-only-dropped
    meaning: the server starts without its read-only option or variable
    start: { does: [drop_flag, drop_variable], named: [read-only], on: { answered: refused } }
```
";

/// The page in Markdown; `served` are the variants that a server to start with has.
pub(crate) fn page(registry: &Registry, served: &BTreeSet<&str>) -> String {
    let mut page = INTRODUCTION.to_owned();
    page.push_str(&overview(registry));
    page.push_str(&probes(registry));
    for family in &registry.families {
        page.push_str(&family_section(family, served));
    }
    page.push_str(MUTANTS);
    page.push_str(&source::manual(&fault::WHOLE));
    page.push_str(STARTS);
    page.push_str(&source::manual(&START));
    page
}

fn overview(registry: &Registry) -> String {
    let mut rows = String::from("\n| family | about | leaves | variants | weight |\n| --- | --- | --- | --- | --- |\n");
    for family in &registry.families {
        let variants: usize = family.leaves.iter().map(|leaf| leaf.variants.len()).sum();
        let row = [
            &format!("[{0}](#{1})", family.id, family.id.to_lowercase()),
            &family.name,
            &family.leaves.len().to_string(),
            &variants.to_string(),
            &family.weight.to_string(),
        ];
        push_row(&mut rows, row);
    }
    let totals = format!("| | | {} | {} | |\n", registry.leaves().count(), registry.variants().count());
    rows + &totals
}

fn probes(registry: &Registry) -> String {
    let mut rows = String::from("\n## Probes\n\n| probe | what it does | in a suite |\n| --- | --- | --- |\n");
    for probe in PROBES {
        let keys = iter::once(&probe.block).chain(probe.others).map(|key| code(key)).collect::<Vec<_>>().join(", ");
        push_row(&mut rows, [&code(probe.id), probe.meaning, &keys]);
    }
    for (id, meaning) in &registry.own_probes {
        push_row(&mut rows, [&code(id), meaning, ""]);
    }
    rows
}

fn family_section(family: &Family, served: &BTreeSet<&str>) -> String {
    let mut page = format!("\n## {}\n\n", family.id);
    let _ = writeln!(page, "{}.", family.name);
    if let Some(need) = family.needs {
        let _ = writeln!(page, "Counted only where a suite has `{}:`.", need.as_str());
    }
    page.push_str("\n| leaf | what goes wrong | probes | variants |\n| --- | --- | --- | --- |\n");
    for leaf in &family.leaves {
        let probes = leaf.probes.iter().map(|probe| code(probe)).collect::<Vec<_>>().join(", ");
        push_row(&mut page, [&leaf.id, &leaf.meaning, &probes, &leaf.variants.len().to_string()]);
    }
    for leaf in &family.leaves {
        page.push_str(&leaf_section(leaf, served));
    }
    page
}

fn leaf_section(leaf: &Leaf, served: &BTreeSet<&str>) -> String {
    let mut page = format!("\n### {}\n\n", leaf.id);
    if let Some(example) = &leaf.example {
        let _ = writeln!(page, "Example: `{example}`.");
    }
    if !leaf.references.is_empty() {
        let _ = writeln!(page, "References: {}.", leaf.references.join(", "));
    }
    if !leaf.shared.is_empty() {
        let _ = writeln!(page, "Also shown by {}, which is counted elsewhere.", leaf.shared.join(", "));
    }
    page.push_str(
        "\n| variant | what goes wrong | severity | holds | revisions | transports | provoked by | a healthy server | imitated by | tier | server |\n\
         | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n",
    );
    for variant in &leaf.variants {
        let mark = if served.contains(variant.id.as_str()) { "yes" } else { "" };
        push_row(&mut page, variant_cells(variant).iter().map(String::as_str).chain([mark]));
    }
    page + &mutants(leaf)
}

/// The mutants of a leaf, variant by variant.
fn mutants(leaf: &Leaf) -> String {
    let mut rows = String::new();
    for variant in &leaf.variants {
        for mutant in variant.mutants() {
            push_row(&mut rows, [&variant.id, &code(&mutant.id), &mutant.meaning]);
        }
    }
    if rows.is_empty() { rows } else { format!("\n| variant | mutant | what it does |\n| --- | --- | --- |\n{rows}") }
}

fn variant_cells(variant: &Variant) -> [String; 10] {
    let transports = if variant.transports.len() == Transport::WORDS.len() {
        "all".to_owned()
    } else {
        variant.transports.iter().map(|transport| transport.as_str()).collect::<Vec<_>>().join(", ")
    };
    let revisions = match &variant.revisions {
        Revisions::All => "all".to_owned(),
        Revisions::Only(listed) => listed.iter().map(|one| one.as_str()).collect::<Vec<_>>().join(", "),
    };
    [
        variant.id.clone(),
        variant.meaning.clone(),
        variant.severity.as_str().to_owned(),
        variant.holds.as_str().to_owned(),
        revisions,
        transports,
        variant.provoke.clone(),
        variant.oracle.clone(),
        variant.imitation.clone().unwrap_or_default(),
        variant.tier.as_str().to_owned(),
    ]
}

fn code(text: &str) -> String {
    format!("`{text}`")
}

fn push_row(page: &mut String, cells: impl IntoIterator<Item = impl AsRef<str>>) {
    let cells: Vec<String> = cells.into_iter().map(|cell| cell.as_ref().replace('|', "\\|")).collect();
    let _ = writeln!(page, "| {} |", cells.join(" | "));
}
