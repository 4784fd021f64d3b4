//! Responses over HTTP that are not read for a while, and another session meanwhile.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::time::Instant;

use super::clients::{Clients, ToolRequest, some_unanswered};
use super::slow_reader::SlowReaderFault;
use super::template::ArgumentTemplate;
use crate::check::CheckEnd;
use crate::check::canary::Canaries;
use crate::event::Finding;
use crate::session::RawExchange;
use crate::transport::http::{ExchangeEnd, ReadUntil};

/// The number of responses that are not read.
const RESPONSES: usize = 2;

/// The time that a server has to fill what lies between it and a client that does not read.
const FILLING: Duration = Duration::from_millis(500);

/// The length of the texts of the calls, the longest that the tool takes.
const TEXT_BYTES: [usize; 4] = [512 << 10, 64 << 10, 4 << 10, 0];

/// Calls of a tool whose answers are read late.
pub(crate) struct UnreadPosts<'a> {
    pub(crate) clients: &'a Clients<'a>,
    pub(crate) tool: &'a str,
    pub(crate) template: &'a ArgumentTemplate,
    pub(crate) canaries: &'a mut Canaries,
    pub(crate) patience: Duration,
}

/// The result of a round.
pub(crate) struct UnreadRound {
    pub(crate) responses: usize,
    /// The bytes of each response.
    pub(crate) bytes: usize,
    pub(crate) fault: Option<SlowReaderFault>,
}

/// The outcome of calls while responses were not read.
#[derive(Debug, Clone, Copy)]
struct SeenPosts {
    /// A call in another session was answered while the responses were not read, and one after they were.
    is_served_meanwhile: bool,
    is_served_after: bool,
    /// The number of responses that were whole.
    whole: usize,
}

/// The verdict on a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PostVerdict {
    Right,
    /// No other session is served meanwhile.
    Blocked,
    /// A response is not whole.
    Torn,
    /// The other session is not served afterwards either, so it may not be the reader that matters.
    Unclear,
}

impl SeenPosts {
    fn judge(self) -> PostVerdict {
        match (self.is_served_meanwhile, self.is_served_after) {
            (_, false) => PostVerdict::Unclear,
            (false, true) => PostVerdict::Blocked,
            (true, true) if self.whole < RESPONSES => PostVerdict::Torn,
            (true, true) => PostVerdict::Right,
        }
    }
}

impl UnreadPosts<'_> {
    /// Posts calls, makes one in the last session, and reads the responses.
    pub(crate) async fn round(&mut self) -> Result<UnreadRound, CheckEnd> {
        let size = self.longest_text().await?;
        let (session, owner) = self.clients.first();
        let deadline = Instant::now() + self.patience * 2 + FILLING;
        let (mut begins, mut reading, mut texts) = (Vec::new(), Vec::new(), Vec::new());
        for number in self.canaries.take(RESPONSES) {
            let text = self.canaries.of(number);
            let params = self.params(&text, size);
            let (_, line) = session.request_line("tools/call", params);
            let mut request = session.post_request(&[line], ReadUntil::Answer, deadline);
            let begin = Arc::new(Notify::new());
            request.reading = Some(Arc::clone(&begin));
            begins.push(begin);
            texts.push(text);
            reading.push(async move { session.exchange_raw(owner, &request).await });
        }
        let others = self.canaries.take(2);
        let meanwhile = async {
            self.clients.wait(FILLING).await;
            let served = self.is_other_served(others.start).await;
            for begin in &begins {
                begin.notify_one();
            }
            served
        };
        let (first, second, served) = {
            let mut reading = reading.into_iter();
            let (Some(first), Some(second)) = (reading.next(), reading.next()) else {
                return Err(self.clients.limits().out_of_time());
            };
            tokio::join!(first, second, meanwhile)
        };
        let read = [first, second];
        let is_whole = |(read, text): &(&Result<RawExchange, _>, &String)| {
            read.as_ref().is_ok_and(|read| is_whole_answer(read, text))
        };
        let whole = read.iter().zip(&texts).filter(is_whole).count();
        let bytes = read.iter().flatten().map(|read| read.response.received.len()).max().unwrap_or_default();
        let is_served_after = self.is_other_served(others.end - 1).await?;
        let seen = SeenPosts { is_served_meanwhile: served?, is_served_after, whole };
        let fault = match seen.judge() {
            PostVerdict::Unclear => return Err(some_unanswered(self.tool)),
            PostVerdict::Blocked => Some(blocking_finding(self.tool)),
            PostVerdict::Torn => Some(torn_answer_finding(self.tool, whole)),
            PostVerdict::Right => None,
        };
        let fault = fault.map(|finding| SlowReaderFault { finding, calls: RESPONSES });
        Ok(UnreadRound { responses: RESPONSES, bytes, fault })
    }

    fn params(&self, canary: &str, size: usize) -> Value {
        let text = format!("{canary}{}", "x".repeat(size));
        json!({"name": self.tool, "arguments": self.template.with(&text)})
    }

    /// The greatest length of a text that the tool repeats.
    async fn longest_text(&mut self) -> Result<usize, CheckEnd> {
        for size in TEXT_BYTES {
            let number = self.canaries.take(1).start;
            let text = self.canaries.of(number);
            let params = self.params(&text, size);
            let reply = self.clients.request(0, ToolRequest { method: "tools/call", params }).await?;
            let is_whole = |message: &str| message.contains(&text) && message.len() > size;
            if reply.is_some_and(|reply| reply.is_served() && is_whole(&reply.message.to_string())) {
                return Ok(size);
            }
        }
        Ok(0)
    }

    /// A call in the last session is answered.
    async fn is_other_served(&self, number: u64) -> Result<bool, CheckEnd> {
        let request = ToolRequest { method: "tools/call", params: self.params(&self.canaries.of(number), 0) };
        match self.clients.request(self.clients.sessions() - 1, request).await {
            Ok(reply) => Ok(reply.is_some()),
            Err(CheckEnd::Unanswered(failure)) if failure.is_timeout() => Ok(false),
            Err(halt) => Err(halt),
        }
    }
}

/// The response came to its end, and answers the call with this text.
fn is_whole_answer(read: &RawExchange, text: &str) -> bool {
    read.ended == ExchangeEnd::Complete && read.messages().iter().any(|message| message.to_string().contains(text))
}

fn blocking_finding(tool: &str) -> Finding {
    let message = format!("no other session is served while a client does not read the answers of `{tool}`");
    let help =
        "write each response in a task or thread of its own, so that one that cannot be written holds up no other";
    let found = Finding::new("slow-reader-blocks", message)
        .with_evidence("unread", format!("{RESPONSES} responses"))
        .with_evidence("control", "once they are read, the other session is served");
    Finding { help: Some(help.to_owned()), ..found }
}

fn torn_answer_finding(tool: &str, whole: usize) -> Finding {
    let message = format!("`{tool}` leaves calls without a whole answer when a client reads its answers late");
    let help = "wait until the connection takes an answer, and give up none that is slow";
    let found =
        Finding::new("answer-missing", message).with_evidence("whole", format!("{whole} of {RESPONSES} responses"));
    Finding { help: Some(help.to_owned()), ..found }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::tests::response;

    #[test]
    fn a_session_that_waits_for_a_slow_reader_is_blocked() {
        use PostVerdict::{Blocked, Right, Torn, Unclear};
        for (is_served_meanwhile, is_served_after, whole, expected) in [
            (true, true, RESPONSES, Right),
            (true, true, RESPONSES - 1, Torn),
            (true, true, 0, Torn),
            (false, true, RESPONSES, Blocked),
            (false, true, 0, Blocked),
            (false, false, RESPONSES, Unclear),
            (true, false, RESPONSES, Unclear),
        ] {
            let seen = SeenPosts { is_served_meanwhile, is_served_after, whole };
            assert_eq!(seen.judge(), expected, "{seen:?}");
        }
    }

    #[test]
    fn an_answer_is_whole_if_it_came_to_its_end_with_its_text() {
        let json =
            |text: &str| response(200, "application/json", &format!(r#"{{"id": 1, "result": {{"text": "{text}"}}}}"#));
        let stream = |text: &str| {
            let event = format!("data: {{\"id\": 1, \"result\": {{\"text\": \"{text}\"}}}}\n\n");
            response(200, "text/event-stream", &event)
        };
        for (answer, read, expected) in [
            ("whole", json("zq1xxx"), true),
            ("whole in a stream", stream("zq1xxx"), true),
            ("that of another call", json("zq2xxx"), false),
            ("cut off", RawExchange { ended: ExchangeEnd::Closed, ..json("zq1xxx") }, false),
            ("no JSON", response(200, "application/json", "{\"text\": \"zq1xxx"), false),
            ("empty", response(500, "text/plain", ""), false),
        ] {
            assert_eq!(is_whole_answer(&read, "zq1"), expected, "the answer is {answer}");
        }
    }
}
