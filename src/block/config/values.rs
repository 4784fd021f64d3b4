//! Values that a setting forbids, in spellings of which each means the same, and values that it allows.
//!
//! A spelling is judged only where it surely means the forbidden value: because of what its kind is, because the server
//! without the setting answers both in the same way, or because the server shows that it took one for the other.

use serde_json::Value;

use super::ValueClaim;
use super::setting_sessions::{SettingAnswer, SettingSessions, names};
use super::spellings::{DeniedSpelling, Meaning, ValueKind, of_denied, of_outside};
use crate::check::CheckEnd;
use crate::check::answer_data::{AnswerData, outermost_first, texts_of};
use crate::check::answer_pattern::AnswerPattern;
use crate::check::evidence::beginning_of_list;
use crate::event::Finding;
use crate::source::template::text_of;
use crate::source::{Node, beginning};

/// A value that no server knows: what is answered to it as well says nothing of a spelling.
const NONSENSE: &str = "zq7xkw";

/// The number of spellings that a note names.
const SHOWN: usize = 6;

/// The number of characters of a compared answer that are shown.
const SHOWN_ANSWER: usize = 160;

/// The values of a claim, with their templates filled in.
struct GivenValues {
    refused: Vec<String>,
    served: Vec<String>,
}

fn fill_templates(sessions: &SettingSessions<'_>, values: &[Node]) -> Result<Vec<String>, CheckEnd> {
    let fill = |value: &Node| {
        let unfilled = || CheckEnd::inconclusive(format!("`{}` uses a name that nothing provides", value.to_text()));
        sessions.run.context.fill(value).map(|filled| text_of(&filled)).ok_or_else(unfilled)
    };
    values.iter().map(fill).collect()
}

/// A spelling that is tried with the setting.
struct TriedSpelling {
    spelling: DeniedSpelling,
    /// Its answer without the setting, where that was compared.
    compared: Option<ComparedAnswer>,
}

/// The answer to a spelling without the setting, beside that to the value as it is written.
#[derive(Debug)]
struct ComparedAnswer {
    likeness: Likeness,
    spelling: String,
    value: String,
}

/// The spellings that were answered with the setting.
#[derive(Default)]
struct TriedSpellings<'s> {
    /// Served, and known to mean a forbidden value.
    served: Vec<(&'s TriedSpelling, SettingAnswer)>,
    /// Served, and not known to mean it.
    unknown: Vec<&'s TriedSpelling>,
    refused: Vec<&'static str>,
}

pub(crate) async fn judge(sessions: &mut SettingSessions<'_>, claim: &ValueClaim) -> Result<String, CheckEnd> {
    let values = GivenValues {
        refused: fill_templates(sessions, &claim.refused)?,
        served: fill_templates(sessions, &claim.served)?,
    };
    let spellings = compare_spellings(sessions, claim, &values).await?;
    let session = sessions.with().await?;
    let mut harmless = Vec::new();
    for value in &values.served {
        let answer = sessions.ask(&session, &claim.step, &names("value", value.as_str())).await?;
        if !answer.is_served {
            return Err(sessions.refused_with(&answer));
        }
        harmless.push(answer);
    }
    let mut tried = TriedSpellings::default();
    for of_value in &spellings {
        let spelling = &of_value.spelling;
        let answer = sessions.ask(&session, &claim.step, &names("value", spelling.text.as_str())).await?;
        // An answer that names what is denied whatever it was asked for says nothing.
        let is_shown =
            shows(&answer.message, spelling) && !harmless.iter().any(|other| shows(&other.message, spelling));
        match answer.is_served {
            true if spelling.meaning == Meaning::Same || is_shown => tried.served.push((of_value, answer)),
            true => tried.unknown.push(of_value),
            false if tried.refused.contains(&spelling.how) => {}
            false => tried.refused.push(spelling.how),
        }
    }
    let found = findings(sessions, claim, &tried.served);
    if !found.is_empty() {
        return Err(sessions.fail(session, found).await);
    }
    sessions.end(session).await?;
    conclude(claim.kind, &spellings, &tried)
}

/// The verdict where no spelling was served that is known to mean a forbidden value.
fn conclude(kind: ValueKind, spellings: &[TriedSpelling], tried: &TriedSpellings<'_>) -> Result<String, CheckEnd> {
    let of_kind = |tried: &&TriedSpelling| tried.spelling.is_of_kind;
    let mut compared = spellings.iter().filter(of_kind).filter_map(|tried| tried.compared.as_ref());
    let is_untold = compared.all(|compared| !compared.likeness.tells());
    let unknown: Vec<&TriedSpelling> = tried.unknown.iter().copied().filter(of_kind).collect();
    if let Some(first) = unknown.first().filter(|_| kind == ValueKind::Command && is_untold) {
        let (texts, of) = (list_of_texts(&unknown), &first.spelling.of);
        return Err(CheckEnd::inconclusive(format!(
            "with the setting, {texts} are served, and it cannot be told if they run `{of}`: without it, the server answers \
             `{of}` like a harmless or an unknown value; deny a command whose output is its own"
        )));
    }
    let more =
        if tried.refused.len() > SHOWN { format!(" and {} more", tried.refused.len() - SHOWN) } else { String::new() };
    let refused = tried.refused[..tried.refused.len().min(SHOWN)].join(", ");
    Ok(format!("refused {refused}{more}{}", note_of_unknown(&tried.unknown)))
}

/// Names the spellings that were served and not judged, and shows what was compared for the first of them.
fn note_of_unknown(unknown: &[&TriedSpelling]) -> String {
    let Some(first) = unknown.first() else { return String::new() };
    let compared = unknown.iter().find_map(|tried| Some((&tried.spelling, tried.compared.as_ref()?)));
    let example = compared.map_or_else(String::new, |(spelling, compared)| {
        let (value, text) = (&spelling.of, &spelling.text);
        format!(": without the setting `{value}` is answered {}, and {text:?} {}", compared.value, compared.spelling)
    });
    let texts = list_of_texts(unknown);
    format!("; served, and not known to mean `{}`: {texts}{example}", first.spelling.of)
}

/// The first of some spellings, as they are sent.
fn list_of_texts(spellings: &[&TriedSpelling]) -> String {
    let texts: Vec<String> = spellings.iter().map(|tried| format!("{:?}", tried.spelling.text)).collect();
    beginning_of_list(&texts, texts.len())
}

/// The spellings to try. Without the setting everything must be served; spellings that may mean something else are
/// the same where the server answers them in the same way, and a harmless value in another one.
async fn compare_spellings(
    sessions: &mut SettingSessions<'_>,
    claim: &ValueClaim,
    values: &GivenValues,
) -> Result<Vec<TriedSpelling>, CheckEnd> {
    let spellings: Vec<DeniedSpelling> =
        values.refused.iter().flat_map(|value| of_value(claim, value, &values.served)).collect();
    let Some(session) = sessions.without().await? else {
        let same = spellings.into_iter().filter(|spelling| spelling.meaning == Meaning::Same);
        return Ok(same.map(|spelling| TriedSpelling { spelling, compared: None }).collect());
    };
    let mut others = Vec::new();
    for value in values.served.first().map(String::as_str).into_iter().chain([NONSENSE]) {
        others.push((value, sessions.ask(&session, &claim.step, &names("value", value)).await?));
    }
    let mut tried = Vec::new();
    let mut reference: Option<ForbiddenAnswers> = None;
    for spelling in spellings {
        if spelling.is_plain() {
            let answer = sessions.ask(&session, &claim.step, &names("value", spelling.text.as_str())).await?;
            if !answer.is_served && values.refused.contains(&spelling.text) {
                return Err(sessions.refused_without(&answer));
            }
            if answer.is_served {
                let again = sessions.ask(&session, &claim.step, &names("value", spelling.text.as_str())).await?;
                let same = if again.is_served { &again.message } else { &answer.message };
                reference = Some(ForbiddenAnswers {
                    pattern: AnswerPattern::of(&answer.message, same),
                    shown: answer_text(sessions, &answer),
                });
                tried.push(TriedSpelling { spelling, compared: None });
            }
            continue;
        }
        if spelling.meaning == Meaning::Same {
            tried.push(TriedSpelling { spelling, compared: None });
            continue;
        }
        let answer = sessions.ask(&session, &claim.step, &names("value", spelling.text.as_str())).await?;
        let compared = reference.as_ref().map(|reference| ComparedAnswer {
            likeness: reference.compare(&spelling, &answer, &others),
            spelling: answer_text(sessions, &answer),
            value: reference.shown.clone(),
        });
        let meaning = compared.as_ref().filter(|_| answer.is_served).map(|compared| compared.likeness.meaning());
        let spelling = DeniedSpelling { meaning: meaning.unwrap_or(Meaning::Unknown), ..spelling };
        tried.push(TriedSpelling { spelling, compared });
    }
    sessions.end(session).await?;
    Ok(tried)
}

/// The first text of an answer, or else its beginning.
fn answer_text(sessions: &SettingSessions<'_>, answer: &SettingAnswer) -> String {
    let text = texts_of(&answer.message["result"]).next().map(|text| format!("{text:?}"));
    beginning(&text.unwrap_or_else(|| sessions.answer_text(answer).to_owned()), SHOWN_ANSWER)
}

/// The answers to a forbidden value without the setting.
struct ForbiddenAnswers {
    pattern: AnswerPattern,
    /// The first one, as it is shown.
    shown: String,
}

impl ForbiddenAnswers {
    fn compare(&self, spelling: &DeniedSpelling, answer: &SettingAnswer, others: &[(&str, SettingAnswer)]) -> Likeness {
        let as_sent = |_: &str, answer: &SettingAnswer| self.pattern.matches(&answer.message);
        let as_echo =
            |sent: &str, answer: &SettingAnswer| self.pattern.matches_echo(&answer.message, sent, &spelling.of);
        let of = |is_like: &dyn Fn(&str, &SettingAnswer) -> bool| AnswerLikeness {
            forbidden: is_like(&spelling.text, answer),
            other: others.iter().any(|(sent, answer)| is_like(sent, answer)),
        };
        Likeness { as_sent: of(&as_sent), as_echo: of(&as_echo) }
    }
}

/// The likeness of the answer to a spelling to that to the forbidden value.
#[derive(Debug, Clone, Copy)]
struct Likeness {
    as_sent: AnswerLikeness,
    /// What was sent counts as the forbidden value where the answer repeats it.
    as_echo: AnswerLikeness,
}

/// The values whose answers without the setting are like that to the forbidden one.
#[derive(Debug, Clone, Copy)]
struct AnswerLikeness {
    /// The spelling.
    forbidden: bool,
    /// A harmless value, or one that no server knows.
    other: bool,
}

impl Likeness {
    /// A spelling means the forbidden value if it is answered like that, and nothing else is.
    fn meaning(self) -> Meaning {
        let is_same = [self.as_sent, self.as_echo].iter().any(|likeness| likeness.forbidden && !likeness.other);
        if is_same { Meaning::Same } else { Meaning::Unknown }
    }

    /// The answers tell the forbidden value from others.
    fn tells(self) -> bool {
        self.meaning() == Meaning::Same || !(self.as_sent.other || self.as_echo.other && self.as_echo.forbidden)
    }
}

fn of_value(claim: &ValueClaim, value: &str, served: &[String]) -> Vec<DeniedSpelling> {
    if claim.is_scope {
        let inside: Vec<&str> = served.iter().map(String::as_str).collect();
        of_outside(claim.kind, value, &inside)
    } else {
        of_denied(claim.kind, value)
    }
}

/// A finding for each value that was served, whatever its spelling.
fn findings(
    sessions: &SettingSessions<'_>,
    claim: &ValueClaim,
    served: &[(&TriedSpelling, SettingAnswer)],
) -> Vec<Finding> {
    let mut found: Vec<Finding> = Vec::new();
    let mut reported: Vec<&str> = Vec::new();
    for (TriedSpelling { spelling, compared }, answer) in served {
        if reported.contains(&spelling.of.as_str()) {
            continue;
        }
        reported.push(&spelling.of);
        let others = served.iter().map(|(other, _)| &other.spelling);
        let others = others.filter(|other| other.of == spelling.of && other.text != spelling.text);
        let others: Vec<String> = others.map(|other| format!("{}: {:?}", other.how, other.text)).collect();
        let finding = finding(sessions, claim, spelling, answer).with_evidence("served, too", others.join("\n"));
        let compared = compared.as_ref().map(|compared| {
            format!(
                "without the setting, {:?}: {}\nand {:?}: {}",
                spelling.of, compared.value, spelling.text, compared.spelling
            )
        });
        found.push(finding.with_evidence("compared", compared.unwrap_or_default()));
    }
    found
}

fn finding(
    sessions: &SettingSessions<'_>,
    claim: &ValueClaim,
    spelling: &DeniedSpelling,
    answer: &SettingAnswer,
) -> Finding {
    let (code, why) =
        if claim.is_scope { ("outside-served", "is outside of the scope") } else { ("denied-served", "is denied") };
    let how = if spelling.is_plain() { String::new() } else { format!(" (here {})", spelling.how) };
    let (value, setting, call) = (&spelling.of, sessions.setting_text(), sessions.call_text(answer));
    let message = format!("started with {setting}, the server serves {call}, although `{value}` {why}{how}");
    let help = if spelling.is_plain() {
        "refuse the value with `isError: true`"
    } else {
        "bring the value into one form before it is compared, and use what was compared"
    };
    Finding { help: Some(help.to_owned()), ..sessions.finding(code, message, answer) }
}

/// An answer has the forbidden value where only another spelling was sent.
fn shows(message: &Value, spelling: &DeniedSpelling) -> bool {
    let Some(result) = message.get("result") else { return false };
    let data = AnswerData::of_result(result);
    let mut values = std::iter::once(result).chain(data.values()).flat_map(outermost_first);
    values.any(|value| value.as_str() == Some(&spelling.of))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn spellings_mean_the_same_if_only_the_forbidden_value_is_answered_so() {
        let [neither, forbidden, other, both] = [(false, false), (true, false), (false, true), (true, true)]
            .map(|(forbidden, other)| AnswerLikeness { forbidden, other });
        for (as_sent, as_echo, meaning, tells) in [
            (forbidden, forbidden, Meaning::Same, true),
            (neither, forbidden, Meaning::Same, true),
            (forbidden, both, Meaning::Same, true),
            (neither, neither, Meaning::Unknown, true),
            (neither, other, Meaning::Unknown, true),
            (neither, both, Meaning::Unknown, false),
            (both, both, Meaning::Unknown, false),
            (other, other, Meaning::Unknown, false),
        ] {
            let likeness = Likeness { as_sent, as_echo };
            assert_eq!((likeness.meaning(), likeness.tells()), (meaning, tells), "{likeness:?}");
        }
    }

    fn tried_spelling(text: &str, likeness: Option<Likeness>) -> TriedSpelling {
        let (text, of, how, meaning) = (text.to_owned(), "rm".to_owned(), "in quotes", Meaning::Unknown);
        let compared =
            likeness.map(|likeness| ComparedAnswer { likeness, spelling: "B".to_owned(), value: "A".to_owned() });
        TriedSpelling { spelling: DeniedSpelling { text, of, how, meaning, is_of_kind: true }, compared }
    }

    #[test]
    fn a_pass_names_what_was_served_and_what_was_compared() {
        let likeness = |other| {
            let likeness = AnswerLikeness { forbidden: other, other };
            Likeness { as_sent: likeness, as_echo: likeness }
        };
        let [told, untold] = [false, true].map(|other| tried_spelling("\"rm\"", Some(likeness(other))));
        for (kind, unknown, expected) in [
            (ValueKind::Command, Vec::new(), Ok("refused as it is written")),
            (
                ValueKind::Command,
                vec![&told],
                Ok(
                    "refused as it is written; served, and not known to mean `rm`: \"\\\"rm\\\"\": without the setting `rm` is \
                    answered A, and \"\\\"rm\\\"\" B",
                ),
            ),
            (ValueKind::Command, vec![&untold], Err("it cannot be told if they run `rm`")),
            (ValueKind::Command, vec![&told, &untold], Ok("refused as it is written; served, and not known to mean")),
            (ValueKind::Word, vec![&untold], Ok("refused as it is written; served, and not known to mean")),
        ] {
            let spellings: Vec<TriedSpelling> = unknown
                .iter()
                .map(|tried: &&TriedSpelling| {
                    tried_spelling(&tried.spelling.text, tried.compared.as_ref().map(|compared| compared.likeness))
                })
                .collect();
            let tried = TriedSpellings { unknown, refused: vec!["as it is written"], ..TriedSpellings::default() };
            match (conclude(kind, &spellings, &tried), expected) {
                (Ok(note), Ok(expected)) => assert!(note.starts_with(expected), "{note}"),
                (Err(end), Err(expected)) => assert!(end.sentence().contains(expected), "{}", end.sentence()),
                (verdict, _) => panic!("{verdict:?}"),
            }
        }
    }

    #[test]
    fn an_answer_shows_the_value_as_a_whole_text() {
        let (text, of, how) = ("ROOT".to_owned(), "root".to_owned(), "in upper case");
        let spelling = DeniedSpelling { text, of, how, meaning: Meaning::Unknown, is_of_kind: true };
        for (message, expected) in [
            (json!({"result": {"structuredContent": {"user": "root"}}}), true),
            (json!({"result": {"content": [{"type": "text", "text": "root"}]}}), true),
            (json!({"result": {"content": [{"type": "text", "text": "{\"users\": [\"root\"]}"}]}}), true),
            (json!({"result": {"content": [{"type": "text", "text": "user ROOT, not root"}]}}), false),
            (json!({"result": {"structuredContent": {"root": 1, "user": "ROOT"}}}), false),
            (json!({"error": {"code": 1, "message": "root"}}), false),
        ] {
            assert_eq!(shows(&message, &spelling), expected, "{message}");
        }
    }

    #[test]
    fn a_spelling_is_told_by_the_answers_of_the_server_without_the_setting() {
        let answer = |text: &str| {
            let message = json!({"result": {"content": [{"type": "text", "text": text}]}});
            SettingAnswer { exchange: 0, is_served: true, message: message.into(), unmet: Vec::new() }
        };
        let spelling = DeniedSpelling {
            text: " rm".to_owned(),
            of: "rm".to_owned(),
            how: "behind a space",
            meaning: Meaning::Unknown,
            is_of_kind: true,
        };
        for (server, value, spelled, harmless, nonsense, expected) in [
            ("trims it", ["removed"; 2], "removed", "a b", "unknown", Meaning::Same),
            ("trims it, and counts", ["1: removed", "2: removed"], "3: removed", "4: a b", "5: unknown", Meaning::Same),
            ("trims it, and repeats the word", ["ran rm"; 2], "ran rm", "ran ls", "unknown", Meaning::Same),
            (
                "runs it, and repeats the word",
                ["rm: done"; 2],
                " rm: done",
                "ls: a b",
                "zq7xkw: unknown",
                Meaning::Same,
            ),
            ("does not know it", ["removed"; 2], "unknown", "a b", "unknown", Meaning::Unknown),
            ("repeats every word", ["ran rm"; 2], "ran  rm", "ran ls", "ran zq7xkw", Meaning::Unknown),
            ("says the same to all", ["done"; 2], "done", "done", "done", Meaning::Unknown),
            // Like a word that no server knows.
            ("knows neither", ["unknown"; 2], "unknown", "a b", "unknown", Meaning::Unknown),
            ("never says the same", ["x 1", "y"], "z", "a b", "c d", Meaning::Unknown),
        ] {
            let [first, second] = value.map(answer);
            let pattern = AnswerPattern::of(&first.message, &second.message);
            let reference = ForbiddenAnswers { pattern, shown: String::new() };
            let others = [("ls", answer(harmless)), (NONSENSE, answer(nonsense))];
            let likeness = reference.compare(&spelling, &answer(spelled), &others);
            assert_eq!(likeness.meaning(), expected, "the server {server}: {likeness:?}");
        }
    }
}
