//! Texts that a write changes: long ones, ones of several lines, of all planes of Unicode, and with replacement patterns.
//!
//! Each begins with a canary, so that its place in the answers is known. A text is changed only if a read shows the canary
//! and no read shows the whole text; a server may refuse what it does not store.

use serde_json::{Value, json};

use super::TortureCheck;
use super::clients::{Call, NumberedAnswer, ToolRequest};
use super::fields::{LostField, read_answers, take_unknown};
use super::reproduction::{ReproducedLoad, reproduction};
use super::writes::{SETTLING, WriteStudy, WritingArguments};
use crate::check::answer_data::{AnswerData, outermost_first, texts_of};
use crate::check::evidence::finding_with_help;
use crate::check::tool_arguments::TextPlace;
use crate::check::{CheckEnd, Confirmation};
use crate::event::{Exchange, RequirementLevel};
use crate::redact::is_secret;
use crate::source::{beginning, words};

const CODE: &str = "changed-text";

/// The lengths of long texts, of which the first that the schema takes is sent.
const LENGTHS: [usize; 3] = [4_000, 1_000, 250];

/// The number of characters of a text that are shown.
const SHOWN: usize = 120;

/// Words of names of arguments that are no free texts, so that a server may bring them into a form of its own.
const IDENTIFIERS: [&str; 16] = [
    "id", "slug", "key", "name", "filename", "file", "path", "folder", "email", "url", "uri", "username", "login",
    "tag", "code", "kind",
];

/// Words of names of arguments that are texts of several lines.
const PROSE: [&str; 9] = ["content", "body", "text", "note", "description", "message", "comment", "summary", "details"];

/// A kind of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TextKind {
    Long(usize),
    Lines,
    Unicode,
    Patterns,
}

impl TextKind {
    fn text(self, canary: &str) -> String {
        match self {
            Self::Long(length) => {
                let filling = " all of this text is kept".chars().cycle();
                let middle: String = filling.take(length.saturating_sub(canary.len() + 4)).collect();
                format!("{canary}{middle} end")
            }
            Self::Lines => format!("{canary} first\n\n  second\tthird\nlast"),
            Self::Unicode => format!("{canary} äöü ñ Ж 中文 한글 שלום 😀 𝒳 𠀀 end"),
            Self::Patterns => format!("{canary} $& $1 $$ \\1 \\0 %s %d {{0}} ${{x}} end"),
        }
    }

    /// The kind in messages.
    fn as_str(self) -> &'static str {
        match self {
            Self::Long(_) => "a long text",
            Self::Lines => "a text of several lines",
            Self::Unicode => "a text with letters of all planes of Unicode",
            Self::Patterns => "a text with replacement patterns such as `$&` and `\\1`",
        }
    }

    /// How certain it is that an argument of this name must keep such a text; `None` where it need not.
    fn level(self, name: &str, is_required: bool, is_record: bool) -> Option<RequirementLevel> {
        let words = words(name);
        let has = |known: &[&str]| words.iter().any(|word| known.contains(&word.as_str()));
        let is_free = has(&PROSE) || !has(&IDENTIFIERS);
        if self == Self::Lines && !has(&PROSE) {
            return None;
        }
        Some(if is_free && is_required && is_record { RequirementLevel::Must } else { RequirementLevel::Should })
    }
}

/// A text that no read shows as it was written.
#[derive(Debug, Clone)]
struct ChangedText {
    name: String,
    sent: String,
    shown: String,
    level: RequirementLevel,
    calls: Vec<Exchange>,
}

/// Writes texts of each kind, and looks whether the reads show them; a second write has to change the same argument.
pub(crate) async fn find_changed_text(
    study: &mut WriteStudy<'_>,
    learned: &WritingArguments,
) -> Result<Option<LostField>, CheckEnd> {
    let long = LENGTHS.into_iter().find(|length| fits(learned, TextKind::Long(*length), study.canaries.beginning()));
    let kinds = long.map(TextKind::Long).into_iter().chain([TextKind::Lines, TextKind::Unicode, TextKind::Patterns]);
    for kind in kinds {
        let Some(changed) = write_texts(study, learned, kind).await? else { continue };
        let again = write_texts(study, learned, kind).await?;
        let confirmation = Confirmation::of_try(Ok(again.is_some_and(|again| again.name == changed.name)));
        if confirmation.is_seen_again() {
            return Ok(Some(finding(study, kind, changed, &confirmation)));
        }
    }
    Ok(None)
}

fn finding(study: &WriteStudy<'_>, kind: TextKind, changed: ChangedText, confirmation: &Confirmation) -> LostField {
    let tool = study.tool;
    let message = format!("`{tool}` confirms a write and changes {} in its argument `{}`", kind.as_str(), changed.name);
    let length = |text: &str| format!("{} characters: {:?}", text.chars().count(), beginning(text, SHOWN));
    let mut found = finding_with_help(CODE, message, "store a text as it comes, or refuse the call")
        .with_evidence("sent", length(&changed.sent))
        .with_evidence("shown", length(&changed.shown))
        .with_evidence("seed", study.settings.seed.to_string());
    found.level = changed.level;
    let (check, load) = (TortureCheck::Calls, ReproducedLoad::ALONE);
    found.reproduction = Some(Box::new(reproduction(study.context, study.settings, Some(tool), CODE, check, load)));
    LostField { finding: confirmation.weigh(found, "by a second write"), calls: changed.calls }
}

/// The schema takes such a text somewhere.
fn fits(learned: &WritingArguments, kind: TextKind, canary: &str) -> bool {
    let arguments = learned.template.arguments();
    let text = kind.text(canary);
    arguments.text_places().iter().any(|place| has_text(&arguments.with_texts([(place, text.as_str())]), &text))
}

/// Writes such texts once, each argument one of its own, and returns the first that is changed.
async fn write_texts(
    study: &mut WriteStudy<'_>,
    learned: &WritingArguments,
    kind: TextKind,
) -> Result<Option<ChangedText>, CheckEnd> {
    let arguments = learned.template.arguments();
    let places: Vec<TextPlace> = arguments.text_places().into_iter().filter(TextPlace::is_present).collect();
    let Some(numbers) = take_unknown(study, learned, places.len()).await? else { return Ok(None) };
    let first = numbers.start;
    let texts: Vec<String> = numbers.map(|number| kind.text(&study.canaries.of(number))).collect();
    let made = arguments.with_texts(places.iter().zip(texts.iter().map(String::as_str)));
    let params = json!({"name": study.tool, "arguments": made});
    let request = ToolRequest { method: "tools/call", params };
    let call = Call { number: first, session: 0 };
    let write = study.clients.call_with(call, request).await?.filter(NumberedAnswer::is_served);
    let Some(write) = write else { return Ok(None) };
    let canaries: Vec<String> = (first..).take(texts.len()).map(|number| study.canaries.of(number)).collect();
    let required = super::fields::required_arguments(study);
    for is_last in [false, true] {
        let answers = read_answers(study, learned, &canaries, &write).await?;
        let results: Vec<&Value> = answers.iter().map(|answer| &answer.result).collect();
        let changed = places.iter().zip(&texts).zip(&canaries).find_map(|((place, text), canary)| {
            if !has_text(&made, text) || place.is_item() || is_secret(&place.name(), "text") {
                return None;
            }
            let (at, shown) = changed_in(&results, canary, text)?;
            let is_required = place.is_outermost() && required.contains(&place.name());
            let level = kind.level(&place.name(), is_required, answers[at].is_record)?;
            let calls = vec![write.exchange(study.tool), answers[at].call.clone()];
            Some(ChangedText { name: place.name(), sent: text.clone(), shown, level, calls })
        });
        if changed.is_none() || is_last {
            return Ok(changed);
        }
        study.clients.wait(SETTLING).await;
    }
    Ok(None)
}

/// The first text that has the canary where no answer has the whole text, with the number of its answer.
fn changed_in(answers: &[&Value], canary: &str, text: &str) -> Option<(usize, String)> {
    let text = plain(text);
    let is_whole =
        |answer: &&Value| texts_of(answer).any(|shown| plain(shown).contains(&text)) || has_plain_text(answer, &text);
    if answers.iter().any(is_whole) {
        return None;
    }
    answers.iter().enumerate().find_map(|(at, answer)| {
        let data = AnswerData::of_result(answer);
        let mut leaves = data.values().flat_map(outermost_first).filter_map(Value::as_str);
        // An answer that says itself that it is a part is none of a record.
        let shown = leaves.find(|leaf| leaf.to_lowercase().contains(canary) && !is_part(leaf))?;
        Some((at, shown.to_owned()))
    })
}

/// A text says that a part of it is left out. No text that is sent has such marks.
fn is_part(text: &str) -> bool {
    ["…", "...", "truncated"].iter().any(|mark| text.to_lowercase().contains(mark))
}

/// A text without differences that mean nothing: letter case, and marks that pages need.
fn plain(text: &str) -> String {
    text.to_lowercase().replace("&amp;", "&").replace("\r\n", "\n")
}

fn has_plain_text(answer: &Value, text: &str) -> bool {
    let data = AnswerData::of_result(answer);
    let mut leaves = data.values().flat_map(outermost_first).filter_map(Value::as_str);
    leaves.any(|leaf| plain(leaf).contains(text))
}

fn has_text(value: &Value, text: &str) -> bool {
    outermost_first(value).into_iter().filter_map(Value::as_str).any(|leaf| leaf.contains(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_changed_if_no_answer_shows_all_of_it() {
        let record = |text: &str| json!({"structuredContent": {"body": text}, "content": []});
        let blocks = |text: &str| json!({"content": [{"type": "text", "text": text}]});
        let text = TextKind::Patterns.text("zq1");
        for (answers, expected) in [
            // Wrong.
            (vec![record("zq1 $1")], Some("zq1 $1")),
            (vec![record("x"), record("zq1")], Some("zq1")),
            // Right.
            (vec![record(&text)], None),
            (vec![record(&text.to_uppercase())], None),
            (vec![record(&text.replace('&', "&amp;"))], None),
            (vec![record("zq1"), record(&text)], None),
            (vec![blocks(&format!("The note is: {text}."))], None),
            // Doubtful.
            (vec![record("zq2")], None),
            (vec![record("zq1 $& …")], None),
            (vec![record("zq1 $& … (40 more characters)")], None),
            (vec![record("zq1 $& [...] end")], None),
            (vec![record("zq1 $& (Truncated)")], None),
            (vec![blocks("The note is: zq1 $")], None),
        ] {
            let changed = changed_in(&answers.iter().collect::<Vec<_>>(), "zq1", &text);
            assert_eq!(changed.as_ref().map(|(_, shown)| shown.as_str()), expected, "{answers:?}");
        }
    }

    #[test]
    fn free_texts_must_be_kept_and_names_may_be_changed() {
        use RequirementLevel::{Must, Should};
        for (kind, name, is_required, is_record, expected) in [
            (TextKind::Unicode, "body", true, true, Some(Must)),
            (TextKind::Unicode, "title", true, true, Some(Must)),
            (TextKind::Unicode, "title", true, false, Some(Should)),
            (TextKind::Unicode, "title", false, true, Some(Should)),
            (TextKind::Patterns, "file_name", true, true, Some(Should)),
            (TextKind::Lines, "title", true, true, None),
            (TextKind::Lines, "note_text", true, true, Some(Must)),
        ] {
            assert_eq!(kind.level(name, is_required, is_record), expected, "{kind:?} {name}");
        }
    }

    #[test]
    fn a_long_text_has_its_length() {
        for length in LENGTHS {
            assert_eq!(TextKind::Long(length).text("zq1").chars().count(), length);
        }
    }

    #[test]
    fn a_text_is_the_same_where_only_its_form_differs() {
        let record = |text: &str| json!({"structuredContent": {"body": text}, "content": []});
        let [lines, long, unicode] =
            [TextKind::Lines, TextKind::Long(250), TextKind::Unicode].map(|kind| kind.text("zq1"));
        for (shows, sent, shown, is_changed) in [
            ("the same lines", &lines, lines.clone(), false),
            ("line breaks of Windows", &lines, lines.replace('\n', "\r\n"), false),
            ("a sentence around them", &lines, format!("Note: {lines}\n(saved)"), false),
            ("one line", &lines, lines.replace('\n', " "), true),
            ("spaces for tabs", &lines, lines.replace('\t', " "), true),
            ("the first line", &lines, "zq1 first".to_owned(), true),
            ("the beginning", &long, long[..100].to_owned(), true),
            ("the beginning, as it says", &long, format!("{}…", &long[..100]), false),
            ("the end cut by a character", &long, long[..249].to_owned(), true),
            ("question marks", &unicode, unicode.replace('😀', "?"), true),
            ("no letters beyond the first plane", &unicode, unicode.replace(['😀', '𝒳', '𠀀'], ""), true),
            ("upper case", &unicode, unicode.to_uppercase(), false),
        ] {
            let answer = record(&shown);
            assert_eq!(changed_in(&[&answer], "zq1", sent).is_some(), is_changed, "it shows {shows}");
        }
    }

    #[test]
    fn no_text_that_is_sent_looks_like_a_part_of_one() {
        for kind in [TextKind::Long(4_000), TextKind::Lines, TextKind::Unicode, TextKind::Patterns] {
            assert!(!is_part(&kind.text("zq1")), "{kind:?}");
        }
    }
}
