//! The table of everything that is scanned for: one line a rule.

use super::super::Revision;

/// A rule that no server may break, whatever is asked of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scan {
    /// A stable kebab-case name, as findings have it.
    pub code: &'static str,
    /// The forbidden behaviour; completes the sentence "a server must not …".
    pub forbids: &'static str,
    /// The variant of the fault taxonomy that breaking it is.
    pub variant: &'static str,
    /// The specification recommends it, or leaves doubts about it: breaking it is a warning.
    pub is_advice: bool,
    /// The first revision in which it holds.
    pub since: Revision,
    /// The section of the specification that says so for revisions with sessions; empty where it does not hold in them.
    session: &'static str,
    /// The same for 2026-07-28.
    stateless: &'static str,
}

impl Scan {
    /// The section of the specification that says so, such as `basic#messages`; `None` where the rule does not hold.
    pub fn section(&self, revision: Revision) -> Option<&'static str> {
        let section = if revision >= Revision::V2026_07_28 { self.stateless } else { self.session };
        (revision >= self.since && !section.is_empty()).then_some(section)
    }

    /// The rule of that code.
    pub fn of(code: &str) -> Option<&'static Self> {
        SCANS.iter().find(|scan| scan.code == code)
    }
}

macro_rules! scans {
    (@advice) => { false };
    (@advice should) => { true };
    ($($name:ident, $code:literal, $variant:ident, $since:ident, $session:literal, $stateless:literal,
        $forbids:literal $(, $level:ident)?;)+) => {
        /// The rules by name; the number is the place in [`SCANS`].
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum ScanRule { $(#[doc = concat!("`", $code, "`.")] $name),+ }

        /// Everything that is scanned for.
        pub const SCANS: &[Scan] = &[$(Scan {
            code: $code,
            forbids: $forbids,
            variant: $variant,
            is_advice: scans!(@advice $($level)?),
            since: Revision::$since,
            session: $session,
            stateless: $stateless,
        }),+];
    };
}

impl ScanRule {
    /// It looks at what one message holds, whatever was said before.
    pub fn is_about_one_message(self) -> bool {
        self == Self::InvalidMessage || [SCHEMA, CONTENT].contains(&SCANS[self as usize].variant)
    }

    /// Each line or message breaks it alone, whatever was said before.
    pub fn needs_no_past(self) -> bool {
        let of_messages = [NOISE, ENVELOPE, SCHEMA, CONTENT].contains(&SCANS[self as usize].variant);
        of_messages && ![Self::CacheScopeChanges, Self::TaskNotFinal, Self::TaskNotWorking].contains(&self)
    }
}

const NOISE: &str = "PROTO-STDOUT-NOISE";
const ENVELOPE: &str = "PROTO-MALFORMED-ENVELOPE";
pub(crate) const CORRELATION: &str = "PROTO-REPLY-CORRELATION";
const CAPABILITY: &str = "PROTO-CAPABILITY-MISMATCH";
const NOTICE: &str = "PROTO-NOTIFICATION-CONTRACT";
const ERROR: &str = "PROTO-WRONG-ERROR-CODE";
const SCHEMA: &str = "SCHEMA-INVALID-DECLARATION";
const CONTENT: &str = "SCHEMA-INVALID-CONTENT-BLOCK";

scans! {
    // The stream.
    StrayOutput, "stray-output", NOISE, V2024_11_05, "basic/transports#stdio", "basic/transports/stdio#receiving-messages",
        "write to standard output anything but messages";
    SplitMessage, "split-message", ENVELOPE, V2024_11_05, "basic/transports#stdio", "basic/transports/stdio#sending-messages",
        "break a message over several lines";
    // Envelopes.
    MalformedEnvelope, "malformed-envelope", ENVELOPE, V2024_11_05, "basic#messages", "basic#messages",
        "send a message that is not JSON-RPC 2.0 with exactly one of `method`, `result` and `error`";
    BadResult, "bad-result", ENVELOPE, V2024_11_05, "basic#result-responses", "basic#result-responses",
        "answer with a `result` that is not an object";
    IncompleteError, "incomplete-error", ENVELOPE, V2024_11_05, "basic#error-responses", "basic#error-responses",
        "answer with an error that lacks its `code` or its `message`";
    BadErrorCode, "bad-error-code", ENVELOPE, V2024_11_05, "basic#error-responses", "basic#error-responses",
        "answer with an error code that is not an integer";
    NotificationWithId, "notification-with-id", ENVELOPE, V2024_11_05, "basic#notifications", "basic#notifications",
        "give a notification an `id`";
    BadRequestId, "bad-request-id", ENVELOPE, V2024_11_05, "basic#requests", "",
        "send a request whose `id` is neither text nor a whole number";
    ReusedRequestId, "reused-request-id", CORRELATION, V2024_11_05, "basic#requests", "",
        "use an id for two requests of its own";
    // Answers.
    WrongId, "wrong-id", CORRELATION, V2024_11_05, "basic#result-responses", "basic#result-responses",
        "answer with an id that matches no request, or with the same id in another type";
    AnsweredTwice, "answered-twice", CORRELATION, V2024_11_05, "basic#responses", "basic#responses",
        "answer a request twice";
    AnswerWithoutId, "answer-without-id", CORRELATION, V2024_11_05, "basic#error-responses", "basic#error-responses",
        "answer a request that can be read without its id";
    // The beginning.
    EarlyMessage, "early-message", NOTICE, V2024_11_05, "basic/lifecycle#initialization", "",
        "send anything but pings and log messages before it answers `initialize`";
    UnservedCapability, "unserved-capability", CAPABILITY, V2024_11_05, "basic/lifecycle#initialization", "",
        "declare `prompts` or `resources` and answer their list with -32601, as an unknown method";
    HandshakeDemanded, "handshake-demanded", CAPABILITY, V2026_07_28, "", "basic#statelessness",
        "demand `initialize` before it serves a request that names its revision";
    // Requests of the server.
    ServerRequest, "server-request", ENVELOPE, V2026_07_28, "", "basic/patterns#multi-round-trip-requests",
        "send a request";
    UndeclaredRequest, "undeclared-request", CAPABILITY, V2024_11_05, "basic/lifecycle#operation", "",
        "send the client a request that the client did not declare";
    UndeclaredElicitationMode, "undeclared-elicitation-mode", CAPABILITY, V2025_11_25, "client/elicitation#capabilities",
        "client/elicitation#capabilities",
        "elicit in a mode that the client did not declare beside another one";
    UndeclaredSamplingTools, "undeclared-sampling-tools", CAPABILITY, V2025_11_25, "client/sampling#tools-in-sampling",
        "client/sampling#tools-in-sampling",
        "have a model use tools whose client declared sampling without them";
    IncompleteElicitation, "incomplete-elicitation", ENVELOPE, V2025_06_18, "client/elicitation#elicitation-requests",
        "client/elicitation#elicitation-requests",
        "elicit without a `message`, or with a form that has no `requestedSchema`";
    SecretElicitation, "secret-elicitation", ENVELOPE, V2025_06_18, "client/elicitation#user-interaction-model",
        "client/elicitation#user-interaction-model",
        "ask for a password, a key, a token or the number of a card in a form";
    IncompleteUrlElicitation, "incomplete-url-elicitation", ENVELOPE, V2025_11_25,
        "client/elicitation#url-mode-elicitation-requests", "client/elicitation#url-mode-elicitation-requests",
        "elicit in mode `url` without a valid `url` or, in 2025-11-25, without an `elicitationId`";
    BadUrlRequired, "bad-url-required-error", ERROR, V2025_11_25, "client/elicitation#url-elicitation-required-error", "",
        "answer with -32042 without a list of URL elicitations that have an `elicitationId`";
    UnknownElicitation, "unknown-elicitation", NOTICE, V2025_11_25,
        "client/elicitation#completion-notifications-for-url-mode-elicitation", "",
        "report the completion of an elicitation that it never requested";
    UnbalancedToolResults, "unbalanced-tool-results", ENVELOPE, V2025_11_25, "client/sampling#tool-result-messages",
        "client/sampling#tool-result-messages",
        "ask for sampling with messages in which tool results stand beside other content";
    // The contents of messages.
    InvalidMessage, "invalid-message", ENVELOPE, V2024_11_05, "basic#schema", "basic#schema",
        "send a message that the published schema of its revision forbids";
    InvalidContent, "invalid-content", CONTENT, V2024_11_05, "basic#schema", "basic#schema",
        "send a content block of an unknown type, or one that the published schema forbids";
    DoubtfulFormat, "doubtful-format", ENVELOPE, V2024_11_05, "basic#schema", "basic#schema",
        "send a text in another form than the schema names, such as a relative address", should;
    BadMetaKey, "bad-meta-key", ENVELOPE, V2025_06_18, "basic#meta", "basic#meta",
        "send `_meta` with a key that breaks the grammar of prefix and name";
    BadExtensionId, "bad-extension-id", ENVELOPE, V2026_07_28, "", "basic/versioning#extension-negotiation",
        "declare an extension whose id has no prefix or breaks the grammar of `_meta` keys";
    // Schemas.
    NoInputSchema, "no-input-schema", SCHEMA, V2024_11_05, "server/tools#tool", "server/tools#tool",
        "list a tool whose `inputSchema` is missing, or not a schema of the type `object`";
    InvalidSchema, "invalid-schema", SCHEMA, V2025_11_25, "basic#schema-validation", "basic#schema-validation",
        "declare a schema that is invalid in its dialect";
    BadHeaderAnnotation, "bad-header-annotation", SCHEMA, V2026_07_28, "", "server/tools#x-mcp-header",
        "annotate a parameter with an `x-mcp-header` that breaks its constraints";
    // Notifications.
    ProgressNotIncreasing, "progress-not-increasing", NOTICE, V2024_11_05, "basic/utilities/progress#progress-flow",
        "basic/patterns/progress#progress-flow",
        "report progress that does not increase";
    ProgressUnknownToken, "progress-unknown-token", NOTICE, V2024_11_05, "basic/utilities/progress#behavior-requirements",
        "basic/patterns/progress#behavior-requirements",
        "report progress with a token that no request has";
    ProgressAfterAnswer, "progress-after-answer", NOTICE, V2024_11_05, "basic/utilities/progress#implementation-notes",
        "basic/patterns/progress#implementation-notes",
        "report progress of a request that is answered";
    ForeignCancel, "foreign-cancel", NOTICE, V2024_11_05, "basic/utilities/cancellation#behavior-requirements",
        "basic/patterns/cancellation#behavior-requirements",
        "cancel anything but a request of its own or, in 2026-07-28, a `subscriptions/listen`";
    UndeclaredLog, "undeclared-log", CAPABILITY, V2024_11_05, "server/utilities/logging#capabilities",
        "server/utilities/logging#capabilities",
        "send log messages without the capability `logging`";
    UnaskedLog, "unasked-log", NOTICE, V2026_07_28, "", "server/utilities/logging#per-request-log-level",
        "send log messages for a request that names no `logLevel`";
    ListenStray, "listen-stray", NOTICE, V2026_07_28, "", "server/utilities/logging#per-request-log-level",
        "send log messages or progress on the stream of a subscription";
    ListenUntagged, "listen-untagged", NOTICE, V2026_07_28, "", "basic/patterns/subscriptions#receiving-notifications",
        "send notifications of a subscription without its id";
    ListenUnacknowledged, "listen-unacknowledged", NOTICE, V2026_07_28, "", "basic/patterns/subscriptions#acknowledgment",
        "send anything on a subscription before it is acknowledged";
    ListenUnasked, "listen-unasked", NOTICE, V2026_07_28, "", "basic/patterns/subscriptions#opening-a-stream",
        "send notifications of a type that the subscription did not ask for";
    // Tasks.
    BadTaskId, "bad-task-id", ENVELOPE, V2025_11_25, "basic/utilities/tasks#task-id-requirements", "",
        "send a task whose `taskId` is not a text";
    ReusedTaskId, "reused-task-id", CORRELATION, V2025_11_25, "basic/utilities/tasks#task-id-requirements", "",
        "create two tasks with the same `taskId`";
    TaskNotWorking, "task-not-working", ENVELOPE, V2025_11_25, "basic/utilities/tasks#task-status-lifecycle", "",
        "create a task in another status than `working`";
    BadTaskStatus, "bad-task-status", ENVELOPE, V2025_11_25, "basic/utilities/tasks#task-status-lifecycle", "",
        "send a task with an unknown status";
    TaskNotFinal, "task-not-final", ENVELOPE, V2025_11_25, "basic/utilities/tasks#task-status-lifecycle", "",
        "move a task on that is completed, failed or cancelled";
    BadTaskTime, "bad-task-time", ENVELOPE, V2025_11_25, "basic/utilities/tasks#ttl-and-resource-management", "",
        "send a task without `createdAt` and `lastUpdatedAt` in ISO 8601";
    BadTaskTtl, "bad-task-ttl", ENVELOPE, V2025_11_25, "basic/utilities/tasks#ttl-and-resource-management", "",
        "send a task without a `ttl` that is a whole number or null";
    UnrelatedTaskResult, "unrelated-task-result", CORRELATION, V2025_11_25,
        "basic/utilities/tasks#associating-task-related-messages", "",
        "answer `tasks/result` without the task in `_meta`";
    // Content.
    BadBase64, "bad-base64", CONTENT, V2024_11_05, "server/resources#security-considerations",
        "server/resources#security-considerations",
        "send binary data that is not base64";
    BadMediaType, "bad-media-type", CONTENT, V2024_11_05, "server/prompts#image-content", "server/prompts#image-content",
        "send an image or a sound without a valid `mimeType`";
    BadResource, "bad-resource", CONTENT, V2024_11_05, "server/prompts#embedded-resources",
        "server/prompts#embedded-resources",
        "send the contents of a resource without `uri`, or without `text` and `blob`";
    BadUri, "bad-uri", CONTENT, V2024_11_05, "server/resources#custom-uri-schemes", "server/resources#custom-uri-schemes",
        "name a resource by anything but a URI of RFC 3986";
    BadUriTemplate, "bad-uri-template", CONTENT, V2024_11_05, "server/resources#resource-templates",
        "server/resources#resource-templates",
        "list a template that is not a URI template of RFC 6570";
    // Results since 2026-07-28.
    ResultWithoutType, "result-without-type", ENVELOPE, V2026_07_28, "", "basic#result-responses",
        "answer with a result that has no `resultType`, or one that is not a text";
    UnknownResultType, "unknown-result-type", ENVELOPE, V2026_07_28, "", "basic#resulttype",
        "answer with a `resultType` that neither the protocol nor an extension has";
    UndefinedErrorCode, "undefined-error-code", ERROR, V2026_07_28, "", "basic#error-codes",
        "answer with a code from -32020 to -32099 that the specification does not define";
    RetiredErrorCode, "retired-error-code", ERROR, V2026_07_28, "", "basic#error-codes",
        "answer with -32002 or -32042";
    NoCacheHints, "no-cache-hints", ENVELOPE, V2026_07_28, "", "server/utilities/caching#cacheable-results",
        "send a cacheable result without `ttlMs` and `cacheScope`";
    BadTtl, "bad-ttl", ENVELOPE, V2026_07_28, "", "server/utilities/caching#time-to-live-ttl-field",
        "answer with a `ttlMs` that is not an integer of at least 0";
    CacheScopeChanges, "cache-scope-changes", ENVELOPE, V2026_07_28, "",
        "server/utilities/caching#interaction-with-pagination",
        "change the `cacheScope` between the pages of a list";
    InputRequiredElsewhere, "input-required-elsewhere", ENVELOPE, V2026_07_28, "",
        "basic/patterns/mrtr#supported-requests",
        "ask for input outside `tools/call`, `prompts/get` and `resources/read`";
    InputRequiredEmpty, "input-required-empty", ENVELOPE, V2026_07_28, "",
        "basic/patterns/mrtr#server-requirements-basic-workflow",
        "ask for input with neither `inputRequests` nor `requestState`";
    InputRequestKind, "input-request-kind", ENVELOPE, V2026_07_28, "",
        "basic/patterns/mrtr#server-requirements-basic-workflow",
        "ask for input with requests other than elicitation, sampling and roots";
    UndeclaredInput, "undeclared-input", CAPABILITY, V2026_07_28, "",
        "basic/patterns/mrtr#server-requirements-basic-workflow",
        "ask for input that the client did not declare";
}

#[cfg(test)]
mod tests {
    use super::ScanRule::{self, *};

    #[test]
    fn rules_about_one_message_and_rules_with_a_past() {
        let rows: [(ScanRule, bool); 7] = [
            (StrayOutput, true),
            (MalformedEnvelope, true),
            (InvalidSchema, true),
            (BadUri, true),
            (WrongId, false),
            (ProgressNotIncreasing, false),
            (CacheScopeChanges, false),
        ];
        for (rule, expected) in rows {
            assert_eq!(rule.needs_no_past(), expected, "{rule:?}");
        }
    }
}
