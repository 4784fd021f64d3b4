//! Streams of events, as the server writes them and as faults leave them.

/// Splits bytes into events as they come.
#[derive(Debug, Default)]
pub(super) struct Splitter {
    rest: Vec<u8>,
}

/// One event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) id: Option<String>,
    pub(super) data: Vec<u8>,
    /// Its other lines.
    others: Vec<String>,
}

impl Splitter {
    /// The events that are complete with these bytes.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Vec<Event> {
        self.rest.extend_from_slice(bytes);
        let mut events = Vec::new();
        while let Some(end) = self.rest.windows(2).position(|pair| pair == b"\n\n") {
            let block: Vec<u8> = self.rest.drain(..end + 2).collect();
            events.push(Event::read(&block));
        }
        events
    }
}

impl Event {
    /// An event that brings a message.
    pub(super) fn message(data: Vec<u8>) -> Self {
        Self { id: None, data, others: vec!["event: message".to_owned()] }
    }

    /// The same event with another message.
    pub(super) fn with(&self, data: Vec<u8>) -> Self {
        Self { data, ..self.clone() }
    }

    fn read(block: &[u8]) -> Self {
        let mut event = Self::default();
        for line in block.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
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
        event
    }

    /// The event as it is written, in the order of the correct server.
    pub(super) fn write(&self) -> Vec<u8> {
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
        for text in ["id: 0-0\nretry: 1000\ndata:\n\n", "id: 0-1\nevent: message\ndata: {}\n\n", "data: a\ndata: b\n\n"]
        {
            let mut splitter = Splitter::default();
            assert_eq!(splitter.push(&text.as_bytes()[..7]), []);
            let events = splitter.push(&text.as_bytes()[7..]);
            assert_eq!(events.iter().map(Event::write).collect::<Vec<_>>().concat(), text.as_bytes());
        }
    }
}
