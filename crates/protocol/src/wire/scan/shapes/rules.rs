//! Members that rules of their own are about, and forms of which only the words of the specification speak.

use super::super::table::ScanRule;
use super::table::TextForm;

/// The rules that a member breaks: where it is missing, where it has another type, and where only its form is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MemberBreaches {
    pub(crate) missing: ScanRule,
    pub(crate) wrong: ScanRule,
    pub(crate) form: ScanRule,
}

impl MemberBreaches {
    /// Those of members without a rule of their own.
    pub(crate) const COMMON: Self =
        Self { missing: ScanRule::InvalidMessage, wrong: ScanRule::InvalidMessage, form: ScanRule::DoubtfulFormat };

    const fn all(rule: ScanRule) -> Self {
        Self { missing: rule, wrong: rule, form: rule }
    }
}

/// The rules of a member, and the form that its text must have beside what the schema says.
pub(crate) fn rules_of(definition: &str, member: &str) -> (MemberBreaches, Option<TextForm>) {
    use ScanRule as Rule;
    let common = MemberBreaches::COMMON;
    let content = MemberBreaches { form: Rule::DoubtfulFormat, ..MemberBreaches::all(Rule::InvalidContent) };
    let all = MemberBreaches::all;
    match (definition, member) {
        (_, "resultType") => (all(Rule::ResultWithoutType), None),
        (_, "ttlMs") => (MemberBreaches { missing: Rule::NoCacheHints, ..all(Rule::BadTtl) }, None),
        (_, "cacheScope") => (all(Rule::NoCacheHints), None),
        ("Tool", "inputSchema") | ("Tool.inputSchema", "type") => (all(Rule::NoInputSchema), None),
        ("Resource", "uri") => (MemberBreaches { form: Rule::BadUri, ..common }, None),
        ("ResourceLink", "uri") => (MemberBreaches { form: Rule::BadUri, ..content }, None),
        ("ResourceTemplate", "uriTemplate") => (MemberBreaches { form: Rule::BadUriTemplate, ..common }, None),
        ("TextResourceContents" | "BlobResourceContents", "uri") => {
            (MemberBreaches { form: Rule::BadUri, ..all(Rule::BadResource) }, None)
        }
        ("TextResourceContents", "text") => (all(Rule::BadResource), None),
        ("BlobResourceContents", "blob") => {
            (MemberBreaches { missing: Rule::BadResource, ..all(Rule::BadBase64) }, None)
        }
        ("ImageContent" | "AudioContent", "data") => (all(Rule::BadBase64), None),
        ("ImageContent" | "AudioContent", "mimeType") => (all(Rule::BadMediaType), Some(TextForm::MediaType)),
        ("ElicitRequest.params" | "ElicitRequestFormParams" | "ElicitRequestURLParams", "message")
        | ("ElicitRequest.params" | "ElicitRequestFormParams", "requestedSchema") => {
            (all(Rule::IncompleteElicitation), None)
        }
        ("ElicitRequestURLParams", "url" | "elicitationId") => (all(Rule::IncompleteUrlElicitation), None),
        ("InputRequiredResult", "inputRequests") => (all(Rule::InputRequestKind), None),
        ("Task" | "GetTaskResult" | "CancelTaskResult" | "TaskStatusNotificationParams", member) => match member {
            "taskId" => (all(Rule::BadTaskId), None),
            "status" => (all(Rule::BadTaskStatus), None),
            "createdAt" | "lastUpdatedAt" => (all(Rule::BadTaskTime), Some(TextForm::Timestamp)),
            "ttl" => (all(Rule::BadTaskTtl), None),
            _ => (common, None),
        },
        (_, "lastModified") => (common, Some(TextForm::Timestamp)),
        (
            "TextContent" | "ImageContent" | "AudioContent" | "ResourceLink" | "EmbeddedResource" | "ToolUseContent"
            | "ToolResultContent",
            _,
        )
        | ("CallToolResult" | "PromptMessage" | "SamplingMessage", "content") => (content, None),
        _ => (common, None),
    }
}
