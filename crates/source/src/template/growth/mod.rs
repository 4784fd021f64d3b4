//! Limits the size of what a template makes: the engine counts steps, and sizes are counted here.
//!
//! Every operator and filter whose result can be larger than its arguments takes room for it before it computes. The
//! room is that of everything that is filled in at once.

mod engine;
mod filters;
#[cfg(test)]
mod tests;

use std::cell::Cell;
use std::fmt::{self, Write as _};
use std::io;
use std::sync::Arc;

use minijinja::value::{Rest, Value, ValueKind, ValueOrKwargs};
use minijinja::{Environment, Error, ErrorKind, State, context, escape_formatter};
use serde_json::Value as Json;

use self::engine::{ONE, OPERATORS};
use self::filters::growing_filters;

pub(crate) use self::engine::{render, value, without_constant_products};

/// The number of bytes of everything that is filled in at once.
const MOST_MADE: usize = 32 << 20;

/// The size of an item of a list.
const ITEM: usize = 32;

/// Why a template is given up.
pub(crate) const TOO_LARGE: &str = "its output would exceed 32 MiB";

thread_local! {
    /// The room that is left for a template on this thread, which ends before another begins.
    static ROOM: Cell<usize> = const { Cell::new(MOST_MADE) };
}

/// Gives what is filled in next all the room.
pub(crate) fn begin() {
    ROOM.set(MOST_MADE);
}

fn take(bytes: usize) -> Result<(), Error> {
    let left = ROOM.get().checked_sub(bytes);
    ROOM.set(left.ok_or_else(|| Error::new(ErrorKind::InvalidOperation, TOO_LARGE))?);
    Ok(())
}

/// Takes room for a copy of a value.
pub(crate) fn take_json(value: &Json) -> Result<(), Error> {
    match value {
        Json::Null | Json::Bool(_) | Json::Number(_) => Ok(()),
        Json::String(text) => take(text.len()),
        Json::Array(items) => items.iter().try_for_each(|item| take(ITEM).and_then(|()| take_json(item))),
        Json::Object(members) => {
            members.iter().try_for_each(|(name, value)| take(2 * ITEM + name.len()).and_then(|()| take_json(value)))
        }
    }
}

/// Takes room for a value of the engine, whose parts may be one and the same.
pub(crate) fn take_value(value: &Value) -> Result<(), Error> {
    let kind = value.kind();
    if matches!(kind, ValueKind::Seq | ValueKind::Iterable) {
        return value.try_iter()?.try_for_each(|item| take(ITEM).and_then(|()| take_value(&item)));
    }
    if kind == ValueKind::Map {
        return value.try_iter()?.try_for_each(|key| {
            take(2 * ITEM + text_size(&key))?;
            take_value(&value.get_item(&key)?)
        });
    }
    take(text_size(value))
}

/// Makes everything that can grow take room first.
pub(crate) fn limit(environment: &mut Environment<'static>) {
    let plain = Arc::new(environment.clone());
    for (name, computes, size) in OPERATORS {
        let plain = Arc::clone(&plain);
        let (computes, size) = (*computes, *size);
        environment.add_function(*name, move |arguments: Rest<Value>| -> Result<Value, Error> {
            take(size(&arguments))?;
            let [a, b, c, d] = [0, 1, 2, 3].map(|at| arguments.get(at).cloned().unwrap_or_default());
            plain.compile_expression(computes)?.eval(context! { a, b, c, d })
        });
    }
    for (name, filter, size) in growing_filters() {
        environment.add_filter(name, move |state: &mut State<'_, '_>, arguments: Rest<ValueOrKwargs>| {
            let arguments = arguments.into_values();
            take(size(&arguments))?;
            filter.call(state, &arguments)
        });
    }
    // It would carry values from one round of a loop to the next, nested as deep as there are rounds.
    environment.remove_global("namespace");
    environment.add_global(ONE, 1);
    environment.set_formatter(|out, state, value| {
        take(text_size(value))?;
        escape_formatter(out, state, value)
    });
}

/// The size of a value that is made of these arguments.
type SizeOf = fn(&[Value]) -> usize;

fn texts(arguments: &[Value]) -> usize {
    arguments.iter().map(text_size).sum()
}

/// The size of a copy of a value that shares its items.
fn shallow(value: &Value) -> usize {
    match value.as_str() {
        Some(text) => text.len(),
        None => count(value).saturating_mul(ITEM),
    }
}

/// The number of items of a list, or more than there is room for.
fn count(value: &Value) -> usize {
    let kind = value.kind();
    if kind == ValueKind::Iterable {
        return value.try_iter().map_or(0, |items| items.take(MOST_MADE).count());
    }
    if matches!(kind, ValueKind::Seq | ValueKind::Map) { value.len().unwrap_or(0) } else { 0 }
}

/// The length of the text of a value, or more than there is room for.
fn text_size(value: &Value) -> usize {
    value.as_str().map_or_else(|| size_of_text(format_args!("{value}")), str::len)
}

fn size_of_text(text: fmt::Arguments<'_>) -> usize {
    let mut counter = Counter::default();
    let _ = counter.write_fmt(text);
    counter.size
}

/// Counts what is written, and ends it where there is no room for more.
#[derive(Default)]
struct Counter {
    size: usize,
    /// Characters that begin a line in indented JSON.
    marks: usize,
}

impl Counter {
    fn add(&mut self, bytes: &[u8]) -> Option<()> {
        self.size += bytes.len();
        (self.size <= MOST_MADE).then_some(())
    }
}

impl fmt::Write for Counter {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.add(text.as_bytes()).ok_or(fmt::Error)
    }
}

impl io::Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.marks += bytes.iter().filter(|byte| b",[]{}".contains(byte)).count();
        self.size += 5 * bytes.iter().filter(|byte| b"<>&'".contains(byte)).count();
        self.add(bytes).ok_or(io::ErrorKind::FileTooLarge)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
