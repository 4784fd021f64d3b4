//! Mistakes in what properties generate that only the whole suite shows: names, schemas that nothing satisfies.

use std::collections::BTreeSet;

use super::model::{Action, ArgumentKind, Generated, Property, Test};
use crate::generate::Generator;
use crate::schema::UnusableSchema;
use crate::source::template::{self, has_template};
use crate::source::{Diagnostic, Node};

/// Everything that is wrong with a property and would not be with a test; `known` are the names that it may use.
pub(crate) fn check(test: &Test, property: &Property, known: &BTreeSet<String>, found: &mut Vec<Diagnostic>) {
    for (name, generated) in &property.generate {
        if known.contains(&name.value) {
            let message = format!("the name `{}` is already in use", name.value);
            let help = "generate it under another name".to_owned();
            found.push(Diagnostic::error("duplicate-name", message, name.span).with_help(help));
        }
        match generated {
            Generated::Schema(schema) => check_schema(schema, known, found),
            Generated::Each(values) => template::check(values, known, found),
            Generated::Arguments(arguments) => {
                template::check(&arguments.tool, known, found);
                arguments.with.iter().for_each(|with| template::check(with, known, found));
                if let ArgumentKind::Put { values, into } = &arguments.kind {
                    template::check(values, known, found);
                    let mut known = known.clone();
                    known.insert("parameter".to_owned());
                    if let Some(into) = into {
                        template::check_expression(&into.value, into.span, &known, found);
                    }
                }
            }
        }
    }
    steps(test, found);
}

fn check_schema(schema: &Node, known: &BTreeSet<String>, found: &mut Vec<Diagnostic>) {
    template::check(schema, known, found);
    if has_template(schema) {
        return;
    }
    let Err(unusable) = Generator::new(&schema.to_json()) else { return };
    let message = format!("nothing can be generated here: {unusable}");
    let wrong = match &unusable {
        UnusableSchema::NotASchema(_) => Diagnostic::error("bad-schema", message, schema.span)
            .with_help("write for example `{ type: string, maxLength: 50 }`".to_owned()),
        UnusableSchema::Unsatisfiable(_) => Diagnostic::error("unsatisfiable-schema", message, schema.span)
            .with_help("take away one of the demands that exclude each other".to_owned()),
        UnusableSchema::NotFound(_) => Diagnostic::error("unsatisfiable-schema", message, schema.span)
            .with_help("give a value that fits under `examples` of the schema".to_owned()),
        UnusableSchema::Endless(_) => Diagnostic::error("unsatisfiable-schema", message, schema.span)
            .with_help("let references and alternatives lead to fewer subschemas".to_owned()),
    };
    found.push(wrong);
}

/// Actions that steps of a property cannot take: rounds share one session, and their answers differ.
fn steps(test: &Test, found: &mut Vec<Diagnostic>) {
    for step in test.steps.iter() {
        let misplaced = match (&step.action, &step.snapshot) {
            (Action::Restart, _) => Some(("restart", step.span)),
            (_, Some(snapshot)) => Some(("snapshot", snapshot.span)),
            (_, None) => None,
        };
        if let Some((key, span)) = misplaced {
            let message = format!("`{key}` cannot be in a property, whose steps run in rounds");
            let help = "put it on a test under `tests:`".to_owned();
            found.push(Diagnostic::error("misplaced-key", message, span).with_help(help));
        }
    }
}

/// Returns true if nothing that a property does can fail; an empty `expect` is no expectation.
pub(crate) fn expects_nothing(test: &Test) -> bool {
    test.extras.property.is_some()
        && test.extras.scans.is_empty()
        && test.extras.output_schema.is_none()
        && test.steps.iter().all(|step| step.expect.is_empty())
}
