//! From located nodes to a [`Baseline`], with every mistake at once.

use std::collections::BTreeMap;

use chrono::{DateTime, NaiveDate};

use crate::source::settings::Setting;
use crate::source::{Diagnostic, FNV, Located, Quote, SourceId, Sources, Span, fnv, grammar, parse};

use super::grammar::WrittenEntry;
use super::pattern::Pattern;
use super::{BASELINE, Baseline, BaselineEntry};

/// Reads a baseline; `now` is a time in milliseconds since 1970.
///
/// Beside it come warnings about entries whose time is over.
///
/// # Errors
///
/// Fails with every mistake of the file.
pub fn load(sources: &Sources, source: SourceId, now: u64) -> Result<(Baseline, Vec<Diagnostic>), Vec<Diagnostic>> {
    let root = parse(sources, source).map_err(|mistake| vec![mistake])?;
    let today = i64::try_from(now).ok().and_then(DateTime::from_timestamp_millis).map(|now| now.date_naive());
    let mut mistakes = grammar::check(&root, &BASELINE);
    let written = <Vec<WrittenEntry>>::decode(&root, &mut mistakes).unwrap_or_default();
    let mut decoder = BaselineDecoder { sources, today, mistakes, warnings: Vec::new(), known: BTreeMap::new() };
    let entries: Vec<BaselineEntry> = written.into_iter().filter_map(|entry| decoder.entry(entry)).collect();
    let BaselineDecoder { mut mistakes, warnings, .. } = decoder;
    if mistakes.is_empty() {
        let hash = Some(fnv(FNV, sources.file(source).text.as_bytes())).filter(|_| !entries.is_empty());
        return Ok((Baseline { entries, hash, ..Baseline::default() }, warnings));
    }
    mistakes.sort_by_key(|mistake| mistake.label.as_ref().map(|label| label.span.start));
    Err(mistakes)
}

struct BaselineDecoder<'a> {
    sources: &'a Sources,
    today: Option<NaiveDate>,
    mistakes: Vec<Diagnostic>,
    warnings: Vec<Diagnostic>,
    /// The first place of each pair of case and check.
    known: BTreeMap<(String, Option<String>), Span>,
}

impl BaselineDecoder<'_> {
    fn entry(&mut self, written: WrittenEntry) -> Option<BaselineEntry> {
        let WrittenEntry { case, check, reason, until } = written;
        self.refuse_empty(&reason);
        let Some(pattern) = Pattern::parse(&case.value) else {
            self.mistakes.push(
                Diagnostic::error("bad-case", format!("`{}` cannot be the id of a case", case.value), case.span)
                    .with_help(
                        "write `FILE::NAME`, as `mcprove plan --format json` lists ids, or `*::NAME`".to_owned(),
                    ),
            );
            return None;
        };
        if let Some(first) = self.known.insert((case.value.clone(), check.clone()), case.span) {
            self.mistakes.push(
                Diagnostic::error("duplicate-entry", "this failure is listed twice", case.span)
                    .with_label(case.span, "listed again here")
                    .with_other(first, "the first one is here"),
            );
        }
        let has_expired = until.is_some_and(|until| self.has_expired(&until));
        let quote = Quote::new(self.sources, case.span, "");
        Some(BaselineEntry { case: pattern, check, reason: reason.value, has_expired, quote })
    }

    fn refuse_empty(&mut self, reason: &Located<String>) {
        if reason.value.trim().is_empty() {
            self.mistakes.push(
                Diagnostic::error("empty-reason", "a known failure needs a reason", reason.span)
                    .with_help("name the issue, or write a sentence that says why it is known".to_owned()),
            );
        }
    }

    /// `until` is over; the day itself still counts.
    fn has_expired(&mut self, until: &Located<String>) -> bool {
        let Some(day) = until.value.parse::<NaiveDate>().ok().filter(|_| until.value.len() == 10) else {
            self.mistakes.push(
                Diagnostic::error("bad-date", format!("invalid date `{}`", until.value), until.span)
                    .with_help("write a day as `2026-12-31`".to_owned()),
            );
            return false;
        };
        let is_over = self.today.is_some_and(|today| today > day);
        if is_over {
            let message = format!("this failure was excused until {day}, and counts again");
            self.warnings.push(
                Diagnostic::warning("baseline-expired", message, until.span)
                    .with_help("fix it, or set a later day".to_owned()),
            );
        }
        is_over
    }
}
