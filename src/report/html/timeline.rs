//! The sessions of a run on one axis of time: a picture for each server, with a lane for each session beside others and
//! a row for each request beside others, and a table that says the same without the picture.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use crate::event::{Outcome, SessionTraced, Span, SpanKind};
use crate::report::fold::Report;
use crate::report::terminal;
use crate::source::duration_text;

use super::escape::{code, inline};
use super::{NumberedCase, table};

/// The most messages that are drawn; a picture of more shows nothing, and takes long.
const DRAWN: usize = 8_000;
/// The most sessions of the table.
const LISTED: usize = 500;
/// The width of the axis in units of the pictures, whatever their width on the page.
const AXIS: f64 = 1_000.0;
/// The least width of anything, so that it is seen.
const LEAST: f64 = 0.8;
/// The height of a row of requests, and the space between lanes.
const ROW: usize = 9;
const GAP: usize = 4;
/// The most rows of a lane; further requests at a time are drawn over the last one.
const ROWS: usize = 8;

/// The parts of the axis whose times are named.
const TICKS: u64 = 4;

/// A case on the page, as spans refer to it.
#[derive(Clone, Copy)]
struct CaseOnPage<'a> {
    number: usize,
    name: &'a str,
    is_bad: bool,
}

/// A session with its number on the page, counted from one, by the time of its beginning.
struct NumberedSession<'a> {
    number: usize,
    session: &'a SessionTraced,
}

/// The part of the page; nothing where no session was traced.
pub(super) fn timeline(report: &Report, cases: &[NumberedCase<'_>]) -> String {
    let mut sessions: Vec<&SessionTraced> = report.traces().collect();
    if sessions.is_empty() {
        return String::new();
    }
    sessions.sort_by_key(|session| session.began_us);
    let cases: BTreeMap<&str, CaseOnPage<'_>> = cases
        .iter()
        .map(|NumberedCase { number, case, .. }| {
            let is_bad = matches!(case.outcome, Outcome::Failed | Outcome::Errored) && !case.is_known();
            (case.case.id.as_str(), CaseOnPage { number: *number, name: &case.case.name, is_bad })
        })
        .collect();
    let axis = Axis::of(&sessions);
    let mut groups: Vec<Vec<NumberedSession<'_>>> = Vec::new();
    for (session, number) in sessions.iter().copied().zip(1..) {
        let target = |session: &'_ SessionTraced| {
            (session.file.clone(), session.server.clone(), session.revision.clone(), session.transport)
        };
        let known = groups.iter_mut().find(|group| target(group[0].session) == target(session));
        match known {
            Some(group) => group.push(NumberedSession { number, session }),
            None => groups.push(vec![NumberedSession { number, session }]),
        }
    }
    let (mut drawn, mut undrawn) = (0, 0);
    let mut pictures = String::new();
    for group in &groups {
        pictures += &heading(group);
        pictures += &picture(group, axis, &cases, &mut drawn, &mut undrawn);
    }
    undrawn += sessions.iter().map(|session| session.left_out).sum::<usize>();
    let more = match undrawn {
        0 => String::new(),
        1 => " One further message is not drawn.".to_owned(),
        more => format!(" {more} further messages are not drawn."),
    };
    let start = match axis.begin {
        0 => String::new(),
        begin => format!(" The axis begins {} later, with the first request of a case.", text_of(begin)),
    };
    format!(
        "<p>From the start of the run until its last session was closed: {}.{start}</p>\n<p>Bars are requests, pale if \
         unanswered; thin lines are notifications and messages of the server; a thick line means that the server ended the \
         session. Times are those on the wire, without the work of the client, which those of cases include.\
         <span class=\"screen\"> A bar leads to its case.</span>{more}</p>\n{ZOOM}<div class=\"timeline\" role=\"group\" \
         tabindex=\"0\" aria-label=\"Timeline\"><div class=\"lanes\">\n{}{pictures}</div></div>\n{}",
        text_of(axis.end),
        ticks(axis),
        session_table(&groups, sessions.len(), &cases)
    )
}

/// Shown by the script, which it needs.
const ZOOM: &str = "<form id=\"zoom\" hidden><button type=\"button\" value=\"2\">Zoom in</button> <button type=\"button\" \
                    value=\"0.5\">Zoom out</button> <output id=\"zoomed\"></output></form>\n";

/// The part of the run that is drawn, in microseconds since its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Axis {
    begin: u64,
    end: u64,
}

impl Axis {
    /// The whole run, without the start of its servers where that takes longer than all that follows.
    fn of(sessions: &[&SessionTraced]) -> Self {
        let ends = sessions.iter().map(|session| session.began_us.saturating_add(session.lasted_us));
        let end = ends.max().unwrap_or_default().max(1);
        let of_cases = sessions.iter().flat_map(|session| {
            let spans = session.spans.iter().filter(|span| span.case.is_some());
            spans.map(|span| session.began_us.saturating_add(span.at_us))
        });
        let first = of_cases.min().unwrap_or_default();
        Self { begin: if first > end / 2 && first < end { first } else { 0 }, end }
    }

    /// Where something begins on the axis, and its width; `None` where it was over before.
    #[expect(clippy::cast_precision_loss, reason = "the axis has a thousand units")]
    fn place(self, at_us: u64, took_us: u64) -> Option<(f64, f64)> {
        let until = at_us.saturating_add(took_us);
        if until < self.begin {
            return None;
        }
        let unit = AXIS / (self.end - self.begin) as f64;
        let from = at_us.max(self.begin);
        let x = ((from - self.begin) as f64 * unit).min(AXIS - LEAST);
        Some((x, ((until - from) as f64 * unit).min(AXIS - x).max(LEAST)))
    }
}

/// The times from the beginning to the end, so many parts apart.
fn ticks(axis: Axis) -> String {
    let time = |at: u64| axis.begin + (axis.end - axis.begin) / TICKS * at;
    let text = |at: u64| if time(at) == 0 { "0".to_owned() } else { text_of(time(at)) };
    let tick = |at: u64| format!("<span>{}</span>", text(at));
    let ticks: String = (0..=TICKS).map(tick).collect();
    format!("<div class=\"axis\">{ticks}</div>\n")
}

fn heading(group: &[NumberedSession<'_>]) -> String {
    let session = group[0].session;
    let count = terminal::plural(group.len(), "session");
    format!(
        "<h3>{} <span class=\"place\">{}, {}, {}, {count}</span></h3>\n",
        code(&session.server),
        inline(&session.file),
        inline(&session.revision),
        session.transport.as_str()
    )
}

fn picture(
    group: &[NumberedSession<'_>],
    axis: Axis,
    cases: &BTreeMap<&str, CaseOnPage<'_>>,
    drawn: &mut usize,
    undrawn: &mut usize,
) -> String {
    let times =
        group.iter().map(|one| (one.session.began_us, one.session.began_us.saturating_add(one.session.lasted_us)));
    let lane_of = pack(times, usize::MAX);
    let rows_of: Vec<Vec<usize>> = group
        .iter()
        .map(|one| {
            let times = one
                .session
                .spans
                .iter()
                .map(|span| (span.at_us, span.at_us.saturating_add(span.took_us.unwrap_or(0).max(1))));
            pack(times, ROWS)
        })
        .collect();
    // A lane is as high as the highest of its sessions.
    let mut heights = vec![1; lane_of.iter().max().map_or(0, |most| most + 1)];
    for (lane, rows) in lane_of.iter().zip(&rows_of) {
        heights[*lane] = rows.iter().max().map_or(1, |most| most + 1).max(heights[*lane]);
    }
    let mut tops = vec![0];
    for height in &heights {
        tops.push(tops[tops.len() - 1] + height * ROW + GAP);
    }
    let mut drawing = String::new();
    for ((one, lane), rows) in group.iter().zip(&lane_of).zip(&rows_of) {
        let (top, height) = (tops[*lane], heights[*lane] * ROW);
        drawing += &session_frame(one, axis, top, height);
        for (span, row) in one.session.spans.iter().zip(rows) {
            if *drawn == DRAWN {
                *undrawn += 1;
                continue;
            }
            *drawn += 1;
            drawing += &drawn_span(one, span, axis, top + row * ROW, cases).unwrap_or_default();
        }
    }
    let height = tops[tops.len() - 1];
    format!(
        "<svg aria-hidden=\"true\" focusable=\"false\" width=\"100%\" height=\"{height}\" viewBox=\"0 0 {AXIS} {height}\" \
         preserveAspectRatio=\"none\">\n{drawing}</svg>\n"
    )
}

/// The time of a session, and the end that its server made.
fn session_frame(one: &NumberedSession<'_>, axis: Axis, top: usize, height: usize) -> String {
    let NumberedSession { number, session } = one;
    let Some((x, width)) = axis.place(session.began_us, session.lasted_us) else { return String::new() };
    let mut text = format!(
        "<rect class=\"session\" x=\"{x:.2}\" y=\"{top}\" width=\"{width:.2}\" height=\"{height}\"><title>session {number}, {}\
         </title></rect>\n",
        text_of(session.lasted_us)
    );
    if let Some(ended) = &session.ended
        && let Some((x, _)) = axis.place(session.began_us.saturating_add(ended.at_us), 0)
    {
        let exit = ended.exit.as_deref().unwrap_or("it fell silent");
        let _ = writeln!(
            text,
            "<rect class=\"end\" x=\"{x:.2}\" y=\"{top}\" width=\"2\" height=\"{height}\"><title>the end of session {number}: \
             {}</title></rect>",
            inline(exit)
        );
    }
    text
}

/// A message as a bar or a line; `None` where it was over before the axis begins.
fn drawn_span(
    one: &NumberedSession<'_>,
    span: &Span,
    axis: Axis,
    y: usize,
    cases: &BTreeMap<&str, CaseOnPage<'_>>,
) -> Option<String> {
    let case = span.case.as_deref().and_then(|id| cases.get(id));
    let is_request = matches!(span.kind, SpanKind::Request | SpanKind::ServerRequest);
    let class = match span.kind {
        SpanKind::Request if span.took_us.is_none() => "open",
        SpanKind::Request if case.is_some_and(|case| case.is_bad) => "bad",
        SpanKind::Request => "request",
        SpanKind::ServerRequest => "theirs",
        SpanKind::Notification | SpanKind::ServerNotification => "note",
        SpanKind::Stray => "bad",
    };
    let (x, width) = axis.place(one.session.began_us.saturating_add(span.at_us), span.took_us.unwrap_or(0))?;
    let width = if is_request { width } else { LEAST };
    let took = match (is_request, span.took_us) {
        (true, Some(took)) => format!(", {}", text_of(took)),
        (true, None) => ", no answer".to_owned(),
        (false, _) => String::new(),
    };
    let name = case.map(|case| format!(", {}", inline(&terminal::crop(case.name, 80)))).unwrap_or_default();
    let bar = format!(
        "<rect class=\"{class}\" x=\"{x:.2}\" y=\"{}\" width=\"{width:.2}\" height=\"{}\"><title>{}{took}{name}; session {}, \
         frame {}</title></rect>",
        y + 1,
        ROW - 2,
        inline(&terminal::crop(&span.title, 80)),
        one.number,
        span.frame
    );
    Some(match case {
        Some(case) => format!("<a href=\"#case-{}\" tabindex=\"-1\">{bar}</a>\n", case.number),
        None => bar + "\n",
    })
}

/// The sessions as a table, which needs no eyes.
fn session_table(groups: &[Vec<NumberedSession<'_>>], count: usize, cases: &BTreeMap<&str, CaseOnPage<'_>>) -> String {
    let mut text = format!("<details><summary>{} as a table</summary>\n", terminal::plural(count, "session"));
    text += &table::open("Sessions");
    text += "<thead><tr><th scope=\"col\">session</th>";
    for name in ["server", "began", "lasted", "requests", "unanswered", "end", "case"] {
        let _ = write!(text, "<th scope=\"col\">{name}</th>");
    }
    text += "</tr></thead>\n<tbody>\n";
    for NumberedSession { number, session } in groups.iter().flatten().take(LISTED) {
        let requests = session.spans.iter().filter(|span| span.kind == SpanKind::Request);
        let (all, open) = (requests.clone().count(), requests.filter(|span| span.took_us.is_none()).count());
        let ended = session.ended.as_ref().map(|end| end.exit.as_deref().unwrap_or("fell silent"));
        let case = session.case.as_deref().and_then(|id| cases.get(id));
        let case = case
            .map(|case| format!("<a href=\"#case-{}\">{}</a>", case.number, inline(&terminal::crop(case.name, 80))));
        let _ = writeln!(
            text,
            "<tr><th scope=\"row\">{number}</th><td>{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td>\
             <td class=\"number\">{all}</td><td class=\"number\">{open}</td><td>{}</td><td>{}</td></tr>",
            code(&session.server),
            text_of(session.began_us),
            text_of(session.lasted_us),
            inline(ended.unwrap_or_default()),
            case.unwrap_or_default()
        );
    }
    text += table::CLOSE;
    if let more @ 1.. = count.saturating_sub(LISTED) {
        let _ = writeln!(text, "<p>and {more} more</p>");
    }
    text + "</details>\n"
}

/// For each of these times, in the order of their beginnings, the first row in which nothing else stands; the last of
/// `most` rows takes what has no room.
fn pack(times: impl Iterator<Item = (u64, u64)>, most: usize) -> Vec<usize> {
    let mut ends: Vec<u64> = Vec::new();
    let mut row_of = Vec::new();
    for (begin, end) in times {
        let row = ends.iter().position(|busy| *busy <= begin).unwrap_or(ends.len()).min(most - 1);
        match ends.get_mut(row) {
            Some(busy) => *busy = end.max(*busy),
            None => ends.push(end),
        }
        row_of.push(row);
    }
    row_of
}

fn text_of(micros: u64) -> String {
    duration_text(Duration::from_micros(micros))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::TransportKind;

    #[test]
    fn what_is_at_one_time_stands_in_rows() {
        for (times, most, expected) in [
            (&[][..], 8, &[][..]),
            (&[(0, 5), (5, 9)], 8, &[0, 0]),
            (&[(0, 5), (1, 2), (3, 9)], 8, &[0, 1, 1]),
            (&[(0, 9), (1, 9), (2, 9), (3, 9)], 8, &[0, 1, 2, 3]),
            (&[(0, 9), (1, 9), (2, 9), (9, 10)], 2, &[0, 1, 1, 0]),
        ] {
            assert_eq!(pack(times.iter().copied(), most), expected, "{times:?}");
        }
    }

    #[test]
    fn everything_is_on_the_axis_and_seen() {
        for (at, took, expected) in [
            (0, 100, (0.0, 1_000.0)),
            (50, 25, (500.0, 250.0)),
            (50, 0, (500.0, LEAST)),
            (100, 0, (AXIS - LEAST, LEAST)),
            (90, 50, (900.0, 100.0)),
        ] {
            let (x, width) = Axis { begin: 0, end: 100 }.place(at, took).unwrap();
            assert!((x - expected.0).abs() < 0.01 && (width - expected.1).abs() < 0.01, "{at}, {took}: {x}, {width}");
        }
        let late = Axis { begin: 80, end: 100 };
        assert_eq!(late.place(10, 69), None);
        assert_eq!(late.place(10, 80), Some((0.0, 500.0)), "what began before is drawn from the beginning");
        assert_eq!(late.place(90, 10), Some((500.0, 500.0)));
    }

    #[test]
    fn a_long_start_is_before_the_axis() {
        for (first, end, expected) in [(900, 1_000, 900), (400, 1_000, 0), (1_000, 1_000, 0), (0, 0, 0)] {
            let span = |case: Option<&str>, at_us| Span {
                kind: SpanKind::Request,
                title: "ping".to_owned(),
                case: case.map(str::to_owned),
                frame: 1,
                at_us,
                took_us: Some(1),
            };
            let session = SessionTraced {
                file: "s.yml".to_owned(),
                server: "server".to_owned(),
                revision: "2025-11-25".to_owned(),
                transport: TransportKind::Stdio,
                case: None,
                began_us: 0,
                lasted_us: end,
                ended: None,
                spans: vec![span(None, 0), span(Some("case"), first)],
                left_out: 0,
            };
            assert_eq!(Axis::of(&[&session]), Axis { begin: expected, end: end.max(1) }, "{first} of {end}");
        }
    }
}
