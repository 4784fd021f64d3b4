//! Equal requests between which nothing was written: what their answers differ in changes by itself.

use std::collections::BTreeMap;

use serde_json::Value;

use super::recording::RequestKey;
use crate::fault::{ClientMessage, MessageExchange};
use crate::path::DottedPath;
use crate::transport::Owner;
use crate::wire::{Catalog, is_served};

/// For each exchange whose request was made again with nothing written in between, the first and the last of them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct EqualRequests(BTreeMap<usize, (usize, usize)>);

impl EqualRequests {
    /// The equal calls of tools among some exchanges.
    pub(crate) fn of(exchanges: &[MessageExchange], catalog: &Catalog) -> Self {
        let writes = WriteLog::of(exchanges, catalog);
        let mut by_request: BTreeMap<RequestKey, Vec<usize>> = BTreeMap::new();
        for (at, exchange) in exchanges.iter().enumerate().filter(|(_, exchange)| exchange.tool().is_some()) {
            by_request.entry(RequestKey::of(&exchange.sent)).or_default().push(at);
        }
        let runs = by_request.values().flat_map(|same| same.chunk_by(|one, other| !writes.lie_between(*one, *other)));
        let repeated = runs.filter(|run| run.len() > 1);
        Self(repeated.flat_map(|run| run.iter().map(|at| (*at, (run[0], run[run.len() - 1])))).collect())
    }

    /// An equal request got another value of a field, though nothing had been written: no client could rely on the value.
    pub(crate) fn differ(&self, at: usize, field: &str, value: &Value, exchanges: &[MessageExchange]) -> bool {
        let Some((first, last)) = self.0.get(&at) else { return false };
        [*first, *last].into_iter().filter(|other| *other != at).any(|other| {
            let found = answer_value(&exchanges[other], field);
            found.is_some_and(|found| found != *value)
        })
    }
}

/// The value of a field of an answer: in its structured content, or in its result.
fn answer_value(exchange: &MessageExchange, field: &str) -> Option<Value> {
    let message = exchange.answer()?;
    let place = |prefix: &str| DottedPath::parse(&format!("{prefix}{field}")).ok()?.find(message);
    place("result.structuredContent.").or_else(|| place("result.content[0].text.json().")).or_else(|| place("result."))
}

/// The writes among the exchanges of a server.
struct WriteLog {
    /// The number of writes before each exchange, and before the end.
    before: Vec<usize>,
    /// The exchange with which the connection of each exchange begins.
    begins: Vec<usize>,
}

impl WriteLog {
    fn of(exchanges: &[MessageExchange], catalog: &Catalog) -> Self {
        let mut log = Self { before: vec![0], begins: Vec::new() };
        let (mut count, mut begin) = (0, 0);
        for (at, exchange) in exchanges.iter().enumerate() {
            let is_handshake = matches!(exchange.method(), Some("initialize" | "server/discover"));
            if is_handshake && exchange.owner == Owner::Session {
                begin = at;
            }
            count += usize::from(may_have_written(exchange, catalog));
            log.before.push(count);
            log.begins.push(begin);
        }
        log
    }

    /// Something was written from one exchange on until another one; what comes over another connection may come from
    /// another process, so that there the writes before the first one count, too.
    fn lie_between(&self, one: usize, other: usize) -> bool {
        let from = if self.begins[one] == self.begins[other] { one } else { self.begins[one] };
        self.before[other] > self.before[from]
    }
}

/// A call of a tool that writes, unless it was refused; nobody knows what raw bytes do.
fn may_have_written(exchange: &MessageExchange, catalog: &Catalog) -> bool {
    if matches!(exchange.sent, ClientMessage::Raw(_)) {
        return true;
    }
    let tool = exchange.tool().and_then(|name| catalog.tool(name));
    tool.is_some_and(crate::wire::Tool::writes) && exchange.answer().is_none_or(is_served)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::fault::{ReplyContent, ServerReply};
    use crate::wire::Tool;

    /// `read 1` is a call with the argument 1, `write!` one that is refused, `hello` a handshake.
    fn exchange(words: &str) -> MessageExchange {
        let (tool, argument) = words.split_once(' ').unwrap_or((words, ""));
        if tool == "raw" {
            return MessageExchange::new(ClientMessage::Raw(b"{}".to_vec()));
        }
        let (method, owner) =
            if tool == "hello" { ("initialize", Owner::Session) } else { ("tools/call", Owner::of_case("case")) };
        let params = json!({"name": tool.trim_end_matches('!'), "arguments": {"id": argument}});
        let answer = json!({"id": 1, "result": {"isError": tool.ends_with('!')}});
        let sent = ClientMessage::Message { id: Some(json!(1)), method: method.to_owned(), params };
        let replies = vec![ServerReply::now(ReplyContent::Message(answer), None)];
        MessageExchange { owner, replies, ..MessageExchange::new(sent) }
    }

    /// The runs of equal requests, as the first and the last of each.
    fn check(exchanges: &[&str], expected: &[(usize, usize)]) {
        let tool = |name: &str, reads: bool| Tool::new(json!({"name": name, "annotations": {"readOnlyHint": reads}}));
        let catalog = Catalog { tools: vec![tool("read", true), tool("write", false)], ..Catalog::default() };
        let recorded: Vec<MessageExchange> = exchanges.iter().map(|words| exchange(words)).collect();
        let mut runs: Vec<(usize, usize)> = EqualRequests::of(&recorded, &catalog).0.into_values().collect();
        runs.dedup();
        runs.sort_unstable();
        runs.dedup();
        assert_eq!(runs, expected, "{exchanges:?}");
    }

    #[test]
    fn equal_requests_run_until_something_is_written() {
        check(&["read 1", "read 2", "read 1", "read 1"], &[(0, 3)]);
        check(&["read 1", "write", "read 1"], &[]);
        check(&["read 1", "write!", "read 1"], &[(0, 2)]);
        check(&["read 1", "raw", "read 1"], &[]);
        check(&["write 1", "write 1"], &[]);
        check(&["read 1", "read 1", "write", "read 1", "read 1"], &[(0, 1), (3, 4)]);
    }

    #[test]
    fn what_another_process_wrote_before_counts() {
        check(&["hello", "read 1", "hello", "read 1"], &[(1, 3)]);
        check(&["hello", "write", "read 1", "hello", "read 1"], &[]);
        check(&["hello", "write", "hello", "read 1", "read 1"], &[(3, 4)]);
    }
}
