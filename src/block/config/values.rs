//! Values that a setting forbids, in spellings of which each means the same, and values that it allows.
//!
//! A spelling is judged only where it surely means the forbidden value: because of what its kind is, because the server
//! without the setting answers both in the same way, or because the server shows that it took one for the other.

use serde_json::Value;

use super::ValueClaim;
use super::sides::{SideAnswer, Sides, names};
use super::spellings::{DeniedSpelling, Meaning, of_denied, of_outside};
use crate::check::CheckEnd;
use crate::check::answer_data::{AnswerData, outermost_first};
use crate::check::shown_state::result_of;
use crate::event::Finding;
use crate::source::Node;
use crate::source::template::text_of;

/// A value that no server knows: what is answered to it as well says nothing of a spelling.
const NONSENSE: &str = "zq7xkw";

/// The number of spellings that a note names.
const SHOWN: usize = 6;

/// The values of a claim, with their templates filled in.
struct GivenValues {
    refused: Vec<String>,
    served: Vec<String>,
}

fn fill_templates(sides: &Sides<'_>, values: &[Node]) -> Result<Vec<String>, CheckEnd> {
    let fill = |value: &Node| {
        let unfilled = || CheckEnd::inconclusive(format!("`{}` uses a name that nothing provides", value.to_text()));
        (sides.run.context.filled)(value).map(|filled| text_of(&filled)).ok_or_else(unfilled)
    };
    values.iter().map(fill).collect()
}

pub(crate) async fn judge(sides: &mut Sides<'_>, claim: &ValueClaim) -> Result<String, CheckEnd> {
    let values =
        GivenValues { refused: fill_templates(sides, &claim.refused)?, served: fill_templates(sides, &claim.served)? };
    let same = spellings_to_judge(sides, claim, &values).await?;
    let session = sides.with().await?;
    let mut harmless = Vec::new();
    for value in &values.served {
        let answer = sides.ask(&session, &claim.step, &names("value", value.as_str())).await?;
        if !answer.is_served {
            return Err(sides.refused_with(&answer));
        }
        harmless.push(answer);
    }
    let mut served: Vec<(&DeniedSpelling, SideAnswer)> = Vec::new();
    let mut tried = Vec::new();
    for spelling in &same {
        let answer = sides.ask(&session, &claim.step, &names("value", spelling.text.as_str())).await?;
        // An answer that names what is denied whatever it was asked for says nothing.
        let is_shown =
            shows(&answer.message, spelling) && !harmless.iter().any(|other| shows(&other.message, spelling));
        let is_judged = spelling.meaning == Meaning::Same || is_shown;
        if answer.is_served && is_judged {
            served.push((spelling, answer));
        } else if !answer.is_served && !tried.contains(&spelling.how) {
            tried.push(spelling.how);
        }
    }
    let found = findings(sides, claim, &served);
    if !found.is_empty() {
        return Err(sides.fail(session, found).await);
    }
    sides.end(session).await?;
    let more = if tried.len() > SHOWN { format!(" and {} more", tried.len() - SHOWN) } else { String::new() };
    tried.truncate(SHOWN);
    Ok(format!("refused {}{more}", tried.join(", ")))
}

/// The spellings to judge. Without the setting everything must be served; spellings that may mean something else are
/// the same where the server answers them in the same way, and a harmless value in another one.
async fn spellings_to_judge(
    sides: &mut Sides<'_>,
    claim: &ValueClaim,
    values: &GivenValues,
) -> Result<Vec<DeniedSpelling>, CheckEnd> {
    let spellings: Vec<DeniedSpelling> =
        values.refused.iter().flat_map(|value| of_value(claim, value, &values.served)).collect();
    let Some(session) = sides.without().await? else {
        return Ok(spellings.into_iter().filter(|spelling| spelling.meaning == Meaning::Same).collect());
    };
    let harmless = match values.served.first() {
        Some(value) => Some(sides.ask(&session, &claim.step, &names("value", value.as_str())).await?),
        None => None,
    };
    let unknown = sides.ask(&session, &claim.step, &names("value", NONSENSE)).await?;
    let mut judged = Vec::new();
    let mut plain: Option<SideAnswer> = None;
    for spelling in spellings {
        if spelling.is_plain() {
            let answer = sides.ask(&session, &claim.step, &names("value", spelling.text.as_str())).await?;
            let is_written = values.refused.contains(&spelling.text);
            if !answer.is_served && is_written {
                return Err(sides.refused_without(&answer));
            }
            if answer.is_served {
                plain = Some(answer);
                judged.push(spelling);
            }
            continue;
        }
        if spelling.meaning == Meaning::Same {
            judged.push(spelling);
            continue;
        }
        let answer = sides.ask(&session, &claim.step, &names("value", spelling.text.as_str())).await?;
        let is_like = |other: Option<&SideAnswer>| {
            other.is_some_and(|other| result_of(&other.message) == result_of(&answer.message))
        };
        let likeness = Likeness {
            forbidden: is_like(plain.as_ref()),
            harmless: is_like(harmless.as_ref()),
            unknown: is_like(Some(&unknown)),
        };
        let meaning = if answer.is_served { likeness.meaning() } else { Meaning::Unknown };
        judged.push(DeniedSpelling { meaning, ..spelling });
    }
    sides.end(session).await?;
    Ok(judged)
}

/// The values whose answers without the setting are like that to a spelling.
#[derive(Debug, Clone, Copy)]
struct Likeness {
    forbidden: bool,
    harmless: bool,
    /// A value that no server knows.
    unknown: bool,
}

impl Likeness {
    /// A spelling means the forbidden value if it is answered like that, and nothing else is.
    fn meaning(self) -> Meaning {
        if self.forbidden && !self.harmless && !self.unknown { Meaning::Same } else { Meaning::Unknown }
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
fn findings(sides: &Sides<'_>, claim: &ValueClaim, served: &[(&DeniedSpelling, SideAnswer)]) -> Vec<Finding> {
    let mut found: Vec<Finding> = Vec::new();
    let mut reported: Vec<&str> = Vec::new();
    for (spelling, answer) in served {
        if reported.contains(&spelling.of.as_str()) {
            continue;
        }
        reported.push(&spelling.of);
        let others = served.iter().filter(|(other, _)| other.of == spelling.of && other.text != spelling.text);
        let others: Vec<String> = others.map(|(other, _)| format!("{}: {:?}", other.how, other.text)).collect();
        found.push(finding(sides, claim, spelling, answer).with_evidence("served, too", others.join("\n")));
    }
    found
}

fn finding(sides: &Sides<'_>, claim: &ValueClaim, spelling: &DeniedSpelling, answer: &SideAnswer) -> Finding {
    let (code, why) =
        if claim.is_scope { ("outside-served", "is outside of the scope") } else { ("denied-served", "is denied") };
    let how = if spelling.is_plain() { String::new() } else { format!(" (here {})", spelling.how) };
    let (value, setting, call) = (&spelling.of, sides.setting_text(), sides.call_text(answer));
    let message = format!("started with {setting}, the server serves {call}, although `{value}` {why}{how}");
    let help = if spelling.is_plain() {
        "refuse the value with `isError: true`"
    } else {
        "bring the value into one form before it is compared, and use what was compared"
    };
    Finding { help: Some(help.to_owned()), ..sides.finding(code, message, answer) }
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
        for (forbidden, harmless, unknown, expected) in [
            (true, false, false, Meaning::Same),
            (true, true, false, Meaning::Unknown),
            (true, false, true, Meaning::Unknown),
            (false, false, false, Meaning::Unknown),
            (false, true, true, Meaning::Unknown),
        ] {
            let likeness = Likeness { forbidden, harmless, unknown };
            assert_eq!(likeness.meaning(), expected, "{likeness:?}");
        }
    }

    #[test]
    fn an_answer_shows_the_value_as_a_whole_text() {
        let (text, of, how) = ("ROOT".to_owned(), "root".to_owned(), "in upper case");
        let spelling = DeniedSpelling { text, of, how, meaning: Meaning::Unknown };
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
}
