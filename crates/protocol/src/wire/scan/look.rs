//! The check of one message against the rules.

use std::collections::BTreeSet;

use super::super::{Frame, Id, Revision};
use super::ProtocolViolation;
use super::memory::MAX_NAMES;
use super::table::{CORRELATION, SCANS, ScanRule};

/// The number of occasions on which each rule could have been broken.
pub(crate) type RuleCounts = [u32; SCANS.len()];

/// Reported violations outside of exchanges, as codes and messages; each is reported once.
pub(crate) type ReportedMessages = BTreeSet<(&'static str, String)>;

/// Which stream brought a message, and whether its place in there can be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageStream {
    /// The only one, in which everything stands in its order.
    Only,
    /// One of several over HTTP, that belongs to no request.
    Common,
    /// The response to the request that was sent in that frame.
    Response(u32),
}

/// One message that is checked against the rules.
pub(crate) struct MessageCheck<'a> {
    pub frame: &'a Frame,
    pub stream: MessageStream,
    pub revision: Revision,
    /// The request that it answers, where it answers one.
    pub request: Option<Id>,
    pub seen: &'a mut RuleCounts,
    pub reported: &'a mut ReportedMessages,
    pub found: &'a mut Vec<ProtocolViolation>,
}

impl MessageCheck<'_> {
    /// A rule holds in the revision that is spoken.
    pub(crate) fn holds(&self, code: ScanRule) -> bool {
        SCANS[code as usize].section(self.revision).is_some()
    }

    /// Counts one check of a rule, and reports a violation where it fails.
    pub(crate) fn require(&mut self, code: ScanRule, is_right: bool, message: impl FnOnce() -> String) {
        if !self.holds(code) {
            return;
        }
        self.count(code);
        if !is_right {
            self.tell(code, message(), None);
        }
    }

    /// Counts one check of a rule that holds.
    pub(crate) fn count(&mut self, code: ScanRule) {
        let seen = &mut self.seen[code as usize];
        *seen = seen.saturating_add(1);
    }

    /// Reports a violation at a place of the message, which is named without indexes.
    pub(crate) fn report_at(&mut self, code: ScanRule, message: String, place: &str) {
        self.tell(code, message, Some(place.into()));
    }

    /// Reports a violation; one outside of exchanges is reported once per message text or place, unless it is stray output.
    fn tell(&mut self, code: ScanRule, message: String, place: Option<Box<str>>) {
        let Self { frame, request, .. } = self;
        let is_noise = matches!(code, ScanRule::StrayOutput | ScanRule::SplitMessage | ScanRule::MalformedEnvelope);
        let is_of_answer = request.is_some() || SCANS[code as usize].variant == CORRELATION;
        if !is_noise && !is_of_answer {
            let kind = place.as_deref().map_or_else(|| message.clone(), str::to_owned);
            let is_first = self.reported.len() < MAX_NAMES && self.reported.insert((SCANS[code as usize].code, kind));
            if !is_first {
                return;
            }
        }
        let violation = ProtocolViolation::new(code, message, frame.seq);
        self.found.push(ProtocolViolation { place, request: request.clone(), ..violation });
    }
}
