//! Arguments of a tool that only reads, whose text its answers repeat: they show to which call an answer belongs.

use std::time::Duration;

use super::clients::{Clients, NumberedAnswer, NumberedCalls};
use super::template::ArgumentTemplate;
use crate::check::CheckEnd;
use crate::check::canary::Canaries;
use crate::event::Exchange;

/// The number of calls that are made one after another first.
const ALONE: usize = 8;

/// Arguments whose text is in the answer, always and alone.
pub(crate) struct EchoedArguments {
    pub(crate) template: ArgumentTemplate,
    /// The time of the slowest call that was made alone.
    pub(crate) slowest: Duration,
    pub(crate) sample: Option<Exchange>,
    /// The bytes of the longest answer.
    pub(crate) answer_bytes: usize,
}

/// A tool whose answers are studied.
pub(crate) struct EchoStudy<'a> {
    pub(crate) tool: &'a str,
    pub(crate) clients: &'a Clients<'a>,
    pub(crate) canaries: Canaries,
}

impl EchoStudy<'_> {
    /// Finds arguments whose text is in the answer.
    pub(crate) async fn learn(&mut self, templates: &[ArgumentTemplate]) -> Result<Option<EchoedArguments>, CheckEnd> {
        for template in templates {
            let first = self.next_calls(template, 1);
            let answered = self.clients.one_after_another(&first).await?;
            if answered.is_empty() || !answered.iter().all(|call| shows_own_only(call, &self.canaries)) {
                continue;
            }
            let calls = self.next_calls(template, ALONE);
            let more = self.clients.one_after_another(&calls).await?;
            if more.len() == ALONE && more.iter().all(|call| shows_own_only(call, &self.canaries)) {
                let all = || answered.iter().chain(&more);
                return Ok(Some(EchoedArguments {
                    template: template.clone(),
                    slowest: all().map(|call| call.reply.elapsed).max().unwrap_or_default(),
                    sample: answered.first().map(|call| call.exchange(self.tool)),
                    answer_bytes: all().map(|call| call.text().len()).max().unwrap_or_default(),
                }));
            }
        }
        Ok(None)
    }

    pub(crate) fn next_calls(&mut self, template: &ArgumentTemplate, count: usize) -> NumberedCalls {
        self.clients.calls(self.tool, template, &mut self.canaries, count)
    }
}

/// An answer repeats the text of its call and of no other one.
fn shows_own_only(call: &NumberedAnswer, canaries: &Canaries) -> bool {
    call.is_served() && canaries.calls_in(call.text()) == [call.number]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_echo_has_the_text_of_its_call_and_no_other() {
        let canaries = Canaries::of_seed(7);
        let [own, other] = [3, 4].map(|number| canaries.of(number));
        for (text, is_error, expected) in [
            (own.clone(), false, true),
            (format!("{own} and {own}"), false, true),
            (format!("{own} {other}"), false, false),
            (other, false, false),
            ("nothing".to_owned(), false, false),
            (own, true, false),
        ] {
            let result = json!({"content": [{"type": "text", "text": text}], "isError": is_error});
            let answer = NumberedAnswer::of_test(3, &json!({"result": result}));
            assert_eq!(shows_own_only(&answer, &canaries), expected, "{text}");
        }
    }
}
