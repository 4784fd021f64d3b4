//! Spans that wait to be sent: a limited number, so that an endpoint that takes none costs no memory.

use std::collections::VecDeque;

use opentelemetry_proto::tonic::trace::v1::Span;

use super::otlp::Retry;

/// The most spans that wait.
const MOST_WAITING: usize = 4096;

/// Spans in the order in which they ended.
#[derive(Debug, Default)]
pub struct SpanQueue {
    waiting: VecDeque<Span>,
    dropped: u64,
}

impl SpanQueue {
    /// Adds the spans of a trace, or none of them where there is no room: half a trace misleads.
    pub fn push(&mut self, trace: Vec<Span>) {
        if self.waiting.len() + trace.len() > MOST_WAITING {
            self.drop_all(&trace);
        } else {
            self.waiting.extend(trace);
        }
    }

    /// Takes out the oldest spans, at most this many.
    pub fn take(&mut self, most: usize) -> Vec<Span> {
        let count = self.waiting.len().min(most);
        self.waiting.drain(..count).collect()
    }

    /// Returns spans that could not be sent, as far as there is room.
    pub fn put_back(&mut self, spans: Vec<Span>) {
        let room = MOST_WAITING.saturating_sub(self.waiting.len());
        let kept = spans.len().min(room);
        self.drop_all(&spans[kept..]);
        for span in spans.into_iter().take(kept).rev() {
            self.waiting.push_front(span);
        }
    }

    /// Counts spans that nobody will send.
    pub fn drop_all(&mut self, spans: &[Span]) {
        self.dropped = self.dropped.saturating_add(u64::try_from(spans.len()).unwrap_or(u64::MAX));
    }

    /// Counts those of a request that failed for good: all of them, unless it was taken but for some.
    pub fn drop_some(&mut self, sent: &[Span], retry: Retry) {
        let all = u64::try_from(sent.len()).unwrap_or(u64::MAX);
        let lost = match retry {
            Retry::Taken { refused } => refused.min(all),
            Retry::Never | Retry::Later(_) => all,
        };
        self.dropped = self.dropped.saturating_add(lost);
    }

    /// The number of spans that were dropped since this was asked last.
    pub fn take_dropped(&mut self) -> u64 {
        std::mem::take(&mut self.dropped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(from: usize, count: usize) -> Vec<Span> {
        (from..from + count).map(|number| Span { name: number.to_string(), ..Span::default() }).collect()
    }

    fn names(spans: &[Span]) -> Vec<&str> {
        spans.iter().map(|span| span.name.as_str()).collect()
    }

    #[test]
    fn what_comes_back_goes_first() {
        let mut queue = SpanQueue::default();
        queue.push(spans(0, 3));
        let sent = queue.take(2);
        queue.push(spans(3, 1));
        queue.put_back(sent);
        assert_eq!(names(&queue.take(9)), ["0", "1", "2", "3"]);
        assert_eq!(queue.take_dropped(), 0);
    }

    #[test]
    fn what_an_endpoint_took_is_not_lost() {
        for (retry, expected) in [
            (Retry::Never, 5),
            (Retry::Later(None), 5),
            (Retry::Taken { refused: 3 }, 3),
            (Retry::Taken { refused: u64::MAX }, 5),
        ] {
            let mut queue = SpanQueue::default();
            queue.drop_some(&spans(0, 5), retry);
            assert_eq!(queue.take_dropped(), expected, "{retry:?}");
        }
    }

    #[test]
    fn a_full_queue_drops_whole_traces_and_counts_their_spans() {
        let mut queue = SpanQueue::default();
        queue.push(spans(0, MOST_WAITING - 1));
        queue.push(spans(0, 2));
        assert_eq!((queue.waiting.len(), queue.take_dropped()), (MOST_WAITING - 1, 2));
        queue.put_back(spans(7, 5));
        assert_eq!((queue.waiting.len(), queue.take_dropped(), queue.take_dropped()), (MOST_WAITING, 4, 0));
    }
}
