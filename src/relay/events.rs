//! Streams of events, as the server writes them and as faults leave them.

use super::MOST_READ;

/// Splits bytes into events as they come.
#[derive(Debug, Default)]
pub(crate) struct EventSplitter {
    rest: Vec<u8>,
    /// The length of the beginning of the rest that holds no end of an event.
    scanned: usize,
}

/// One event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct RelayedEvent {
    pub(crate) data: Vec<u8>,
    id: Option<String>,
    /// Its other lines.
    others: Vec<String>,
    /// The bytes that it had, as long as nothing changed it.
    bytes: Option<Vec<u8>>,
}

impl EventSplitter {
    /// The events that are complete with these bytes.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Vec<RelayedEvent> {
        self.rest.extend_from_slice(bytes);
        let mut events = Vec::new();
        while let Some(end) = self.next_end() {
            let block: Vec<u8> = self.rest.drain(..end).collect();
            events.push(RelayedEvent::parse(block));
        }
        if self.rest.len() > MOST_READ {
            // It passes in pieces, and no fault sees it.
            self.scanned = 0;
            events.push(RelayedEvent { bytes: Some(std::mem::take(&mut self.rest)), ..RelayedEvent::default() });
        }
        events
    }

    /// The bytes after the last event.
    pub(crate) fn rest(self) -> Vec<u8> {
        self.rest
    }

    /// The end of the next event: after an empty line, whatever ends the lines.
    fn next_end(&mut self) -> Option<usize> {
        const ENDS: [&[u8]; 3] = [b"\n\n", b"\r\n\r\n", b"\r\r"];
        let from = self.scanned;
        let found = (from..self.rest.len())
            .find_map(|at| ENDS.iter().find(|end| self.rest[at..].starts_with(end)).map(|end| at + end.len()));
        self.scanned = if found.is_some() { 0 } else { self.rest.len().saturating_sub(3) };
        found
    }
}

impl RelayedEvent {
    /// The end of an event that was changed, behind its last line.
    pub(crate) const END: &[u8] = b"\n\n";

    /// An event that brings a message.
    pub(crate) fn message(data: Vec<u8>) -> Self {
        Self { data, others: vec!["event: message".to_owned()], ..Self::default() }
    }

    /// The same event with another message.
    pub(crate) fn with(&self, data: Vec<u8>) -> Self {
        Self { data, bytes: None, ..self.clone() }
    }

    /// The id of the event.
    pub(crate) fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// Gives the event another id, or takes it away.
    pub(crate) fn put_id(&mut self, id: Option<String>) {
        (self.id, self.bytes) = (id, None);
    }

    fn parse(block: Vec<u8>) -> Self {
        let mut event = Self::default();
        for line in block.split(|byte| matches!(byte, b'\n' | b'\r')).filter(|line| !line.is_empty()) {
            if let Some(data) = line.strip_prefix(b"data:") {
                if !event.data.is_empty() {
                    event.data.push(b'\n');
                }
                event.data.extend_from_slice(data.strip_prefix(b" ").unwrap_or(data));
                continue;
            }
            let line = String::from_utf8_lossy(line);
            match line.strip_prefix("id:") {
                Some(id) => event.id = Some(id.trim_start().to_owned()),
                None => event.others.push(line.into_owned()),
            }
        }
        event.bytes = Some(block);
        event
    }

    /// The event as it came, or, where it was changed, in the order of the demo server.
    pub(crate) fn write(self) -> Vec<u8> {
        if let Some(bytes) = self.bytes {
            return bytes;
        }
        let mut bytes = Vec::new();
        if let Some(id) = &self.id {
            bytes.extend_from_slice(format!("id: {id}\n").as_bytes());
        }
        for other in &self.others {
            bytes.extend_from_slice(format!("{other}\n").as_bytes());
        }
        for line in self.data.split(|byte| *byte == b'\n') {
            bytes.extend_from_slice(if line.is_empty() { b"data:" } else { b"data: " });
            bytes.extend_from_slice(line);
            bytes.push(b'\n');
        }
        bytes.push(b'\n');
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_written_as_they_were() {
        for text in [
            "id: 0-0\nretry: 1000\ndata:\n\n",
            "id: 0-1\nevent: message\ndata: {}\n\n",
            "data: a\ndata: b\n\n",
            ": note\r\ndata:{}\r\nid:1\r\n\r\n",
            "data: a\r\rdata: b\r\r",
        ] {
            let mut splitter = EventSplitter::default();
            let mut events: Vec<RelayedEvent> = text.bytes().flat_map(|byte| splitter.push(&[byte])).collect();
            assert!(!events.is_empty() && splitter.rest().is_empty(), "{text:?}");
            assert_eq!(events.iter().cloned().flat_map(RelayedEvent::write).collect::<Vec<_>>(), text.as_bytes());
            // What is changed is written anew.
            let changed = events.remove(0).with(b"new".to_vec()).write();
            assert!(String::from_utf8_lossy(&changed).ends_with("data: new\n\n"));
        }
    }
}
