//! Whether recordings are the parts of one run.

use std::collections::BTreeMap;

use super::RecordedPart;
use crate::event::{Event, RunStarted, ShardFacts, ShardInfo};
use crate::plan::{PartFile, missing, repeated};
use crate::source::visible_line;

/// A reason why recordings make no run together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeMistake {
    /// The reason, as a sentence without a final period.
    pub message: String,
    /// The cure.
    pub help: &'static str,
}

/// A part that is whole.
pub(super) struct CheckedPart {
    pub(super) name: String,
    pub(super) started: RunStarted,
    pub(super) shard: ShardInfo,
    pub(super) facts: ShardFacts,
    pub(super) events: Vec<Event>,
}

/// The parts in the order of their numbers, if they are all of one run.
pub(super) fn check(parts: Vec<RecordedPart>) -> Result<Vec<CheckedPart>, Vec<MergeMistake>> {
    let mut mistakes = Vec::new();
    let mut checked: Vec<CheckedPart> = Vec::new();
    for part in parts {
        match whole_part(part) {
            Ok(part) => checked.push(part),
            Err(mistake) => mistakes.push(mistake),
        }
    }
    if checked.is_empty() && mistakes.is_empty() {
        mistakes.push(mistake("there is no recording to merge".to_owned(), RECORD));
    }
    if let Some((first, others)) = checked.split_first() {
        mistakes.extend(others.iter().filter_map(|other| difference(first, other)));
    }
    if mistakes.is_empty() {
        let files: Vec<PartFile<'_>> = checked.iter().map(|part| file(&part.name, &part.shard)).collect();
        mistakes.extend(
            repeated(&files).into_iter().map(|message| mistake(message, "name the recording of each part once")),
        );
        let help = "name the recordings of all parts; run those again that were lost";
        mistakes.extend(missing(&files).map(|message| mistake(message, help)));
    }
    checked.sort_by_key(|part| part.shard.number);
    if mistakes.is_empty() { Ok(checked) } else { Err(mistakes) }
}

const RECORD: &str = "`mcprove run SUITES --shard 1/4 --report ndjson=shard-1.ndjson` records a part";

fn mistake(message: String, help: &'static str) -> MergeMistake {
    MergeMistake { message, help }
}

fn whole_part(part: RecordedPart) -> Result<CheckedPart, MergeMistake> {
    let RecordedPart { name, mut events } = part;
    let started =
        events.iter().find_map(|event| if let Event::RunStarted(it) = event { Some(it.clone()) } else { None });
    let Some((started, shard)) = started.and_then(|it| Some((it.clone(), *it.shard?))) else {
        return Err(mistake(format!("`{name}` is the recording of a whole run, not of a part of one"), RECORD));
    };
    let as_file = file(&name, &shard);
    if !as_file.is_possible() {
        return Err(mistake(
            format!("`{name}` says that it is part {}, which there is not", as_file.spelled()),
            RECORD,
        ));
    }
    let end =
        events.iter_mut().rev().find_map(|event| if let Event::RunFinished(end) = event { Some(end) } else { None });
    let Some(facts) = end.and_then(|end| end.shard.take()) else {
        let message = format!("`{name}` ends before its run does: part {} was cut off", as_file.spelled());
        return Err(mistake(message, "run this part again"));
    };
    Ok(CheckedPart { name, started, shard, facts: *facts, events })
}

fn file<'a>(name: &'a str, shard: &ShardInfo) -> PartFile<'a> {
    PartFile { name, number: shard.number, count: shard.count }
}

/// What makes another recording a part of another run than the first.
fn difference(first: &CheckedPart, other: &CheckedPart) -> Option<MergeMistake> {
    let (one, two) = (&first.name, &other.name);
    let (is, was) = (&first.shard, &other.shard);
    let differ =
        |what: String, help| Some(mistake(format!("`{one}` and `{two}` are parts of different runs: {what}"), help));
    let again = "run every part with the same command, but for its number";
    if first.started.program != other.started.program {
        let what = format!("one was made by {}, the other by {}", first.started.program, other.started.program);
        return differ(what, "run every part with the same version of mcprove");
    }
    if is.count != was.count {
        return differ(format!("one has {} parts, the other {}", is.count, was.count), again);
    }
    if let Some(file) = differing_source(&is.sources, &was.sources) {
        return differ(format!("`{file}` is not the same in both"), "run every part with the same suites");
    }
    if is.times != was.times {
        return differ(
            "their parts follow from different times".to_owned(),
            "give every part the same `--shard-times`",
        );
    }
    if is.unit != was.unit {
        return differ("`--shard-by` is not the same in both".to_owned(), again);
    }
    if is.selected != was.selected {
        return differ("they select different cases".to_owned(), again);
    }
    if is.flags != was.flags {
        let what = match (is.flags.join(" "), was.flags.join(" ")) {
            (flags, none) | (none, flags) if none.is_empty() => {
                format!("one ran with `{flags}`, the other without such a flag")
            }
            (flags, others) => format!("one ran with `{flags}`, the other with `{others}`"),
        };
        return differ(what, again);
    }
    if is.baseline != was.baseline {
        return differ("they were given different baselines".to_owned(), "give every part the same `--baseline`");
    }
    let (server, known, found) = differing_server(&first.events, &other.events)?;
    differ(
        format!("`{}` says that it is {known} in one, and {found} in the other", visible_line(server)),
        "run every part against the same build of the server",
    )
}

/// The first text that differs, or that only one part has read.
fn differing_source<'a>(one: &'a BTreeMap<String, String>, other: &'a BTreeMap<String, String>) -> Option<&'a String> {
    one.keys().chain(other.keys()).find(|name| one.get(*name) != other.get(*name))
}

/// A server that calls itself otherwise in another part, with both of what it says.
fn differing_server<'a>(one: &'a [Event], other: &'a [Event]) -> Option<(&'a str, String, String)> {
    let servers = |events: &'a [Event]| {
        let each = events.iter().filter_map(|event| {
            let Event::ServerReady(ready) = event else { return None };
            Some(((&*ready.file, &*ready.server, &*ready.revision), ready.implementation.as_deref()))
        });
        each.collect::<BTreeMap<_, _>>()
    };
    let (one, other) = (servers(one), servers(other));
    let said = |name: Option<&str>| name.map_or("nameless".to_owned(), |name| visible_line(name).into_owned());
    one.iter().find_map(|(key, known)| {
        let found = other.get(key).filter(|found| *found != known)?;
        Some((key.1, said(*known), said(*found)))
    })
}
