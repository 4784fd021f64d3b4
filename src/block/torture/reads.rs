//! Ways to read what a tool wrote: other tools that only read, and resources. Which of them show a write is found by trying.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::canary::{ArgumentTemplate, NumberedCanaries, members_of};
use super::clients::{Clients, Halt, NumberedAnswer, is_served};
use super::{Torture, WritePair};
use crate::plan::CheckContext;
use crate::plan::arguments::valid_arguments;
use crate::plan::witness::known_arguments;
use crate::schema::objection;
use crate::session::SessionReply;
use crate::source::Node;
use crate::wire::Tool;

/// How many resources are tried.
const MOST_RESOURCES: usize = 16;

/// How many reads are used.
const MOST_READS: usize = 4;

/// A way to read.
#[derive(Debug, Clone)]
pub(super) enum Read {
    /// A tool with the same arguments for all writes.
    Tool { name: String, arguments: Value },
    /// A resource.
    Resource(String),
    /// A tool whose arguments are members of the write's answer, such as an `id`.
    ByAnswer { name: String, schema: Value, arguments: Value, members: Vec<String> },
    /// A tool that is asked for the text that was written.
    ByText { name: String, template: ArgumentTemplate },
}

/// The writes that a read does not show.
#[derive(Debug, Default)]
pub(super) struct MissingWrites {
    pub(super) numbers: BTreeSet<u64>,
    /// The first read that does not show one, or the last read where all are shown.
    pub(super) reply: Option<SessionReply>,
}

impl Read {
    /// The ways to read what a tool writes that are worth a try.
    pub(super) fn candidates(context: &CheckContext<'_>, settings: &Torture, tool: &str) -> Vec<Self> {
        let pair = settings.pair(tool);
        let is_meant = |read: &&Tool| match pair {
            Some(WritePair { reads, .. }) => reads.iter().any(|name| name.value == read.name),
            None => read.name != tool && read.only_reads() && read.raw["execution"]["taskSupport"] != "required",
        };
        let tools: Vec<&Tool> = context.catalog.tools.iter().filter(is_meant).collect();
        let uris = context.catalog.resources.iter().filter_map(|resource| resource["uri"].as_str());
        let uris = uris.filter(|_| pair.is_none()).take(MOST_RESOURCES);
        let fixed = tools
            .iter()
            .filter_map(|tool| Some(Self::Tool { name: tool.name.clone(), arguments: arguments(context, tool)? }));
        let by_answer = tools.iter().filter_map(|tool| by_answer(context, tool));
        let by_text = tools.iter().filter_map(|tool| {
            let template = ArgumentTemplate::of_tool(tool, context, settings.seed).ok()?.into_iter().next()?;
            Some(Self::ByText { name: tool.name.clone(), template })
        });
        fixed.chain(uris.map(|uri| Self::Resource(uri.to_owned()))).chain(by_answer).chain(by_text).collect()
    }

    /// The tool or resource.
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Tool { name, .. }
            | Self::ByAnswer { name, .. }
            | Self::ByText { name, .. }
            | Self::Resource(name) => name,
        }
    }

    pub(super) fn title(&self) -> String {
        let method = if let Self::Resource(_) = self { "resources/read" } else { "tools/call" };
        format!("{method} {}", self.name())
    }

    /// Whether one answer shows all writes.
    pub(super) fn shows_all(&self) -> bool {
        matches!(self, Self::Tool { .. } | Self::Resource(_))
    }

    /// Reads a write; `None` where nothing is served.
    async fn read(
        &self,
        clients: &Clients<'_>,
        canary: &str,
        write: Option<&NumberedAnswer>,
    ) -> Result<Option<SessionReply>, Halt> {
        let session = write.map_or(0, |write| write.session);
        let call = |name: &str, arguments: &Value| json!({"name": name, "arguments": arguments});
        let params = match self {
            Self::Tool { name, arguments } => call(name, arguments),
            Self::ByText { name, template } => call(name, &template.with(canary)),
            Self::Resource(uri) => json!({"uri": uri}),
            Self::ByAnswer { name, schema, arguments, members } => {
                let answer = write.map(|write| members_of(&write.reply.message)).unwrap_or_default();
                let mut with = arguments.clone();
                let own: Vec<&String> = members.iter().filter(|member| answer.contains_key(*member)).collect();
                for member in &own {
                    with[member.as_str()] = answer[member.as_str()].clone();
                }
                // A text that was written is not what tells whether it was.
                if own.is_empty() || with.to_string().contains(canary) || objection(schema, &with).is_some() {
                    return Ok(None);
                }
                call(name, &with)
            }
        };
        let method = if let Self::Resource(_) = self { "resources/read" } else { "tools/call" };
        Ok(clients.request(session, method, params).await?.filter(is_served))
    }

    /// Whether it shows a write. A tool that shows every text that it is asked for shows nothing.
    async fn shows(
        &self,
        clients: &Clients<'_>,
        canaries: &NumberedCanaries,
        write: &NumberedAnswer,
    ) -> Result<bool, Halt> {
        let canary = canaries.of(write.number);
        let reply = self.read(clients, &canary, Some(write)).await?;
        if !reply.is_some_and(|reply| text(&reply).contains(&canary)) {
            return Ok(false);
        }
        if !matches!(self, Self::ByText { .. }) {
            return Ok(true);
        }
        let unknown = canaries.of(0);
        let reply = self.read(clients, &unknown, Some(write)).await?;
        Ok(!reply.is_some_and(|reply| text(&reply).contains(&unknown)))
    }

    /// The writes among these that it does not show, each read in the session that wrote.
    pub(super) async fn missing(
        &self,
        clients: &Clients<'_>,
        canaries: &NumberedCanaries,
        writes: &[&NumberedAnswer],
    ) -> Result<MissingWrites, Halt> {
        let mut missing = MissingWrites::default();
        if !self.shows_all() {
            for write in writes {
                let canary = canaries.of(write.number);
                let reply = self.read(clients, &canary, Some(write)).await?;
                let is_shown = reply.as_ref().is_some_and(|reply| text(reply).contains(&canary));
                let hidden = if is_shown { Vec::new() } else { vec![write.number] };
                missing.note(&hidden, reply);
            }
            return Ok(missing);
        }
        let sessions: BTreeSet<usize> = writes.iter().map(|write| write.session).collect();
        for session in sessions {
            let own: Vec<&NumberedAnswer> = writes.iter().copied().filter(|write| write.session == session).collect();
            let reply = self.read(clients, "", own.first().copied()).await?;
            let shown = reply.as_ref().map(|reply| canaries.calls_in(&text(reply))).unwrap_or_default();
            let numbers = own.iter().map(|write| write.number);
            let hidden: Vec<u64> = numbers.filter(|number| shown.binary_search(number).is_err()).collect();
            missing.note(&hidden, reply);
        }
        Ok(missing)
    }
}

impl MissingWrites {
    /// Adds the writes that an answer does not show.
    fn note(&mut self, hidden: &[u64], reply: Option<SessionReply>) {
        if self.numbers.is_empty() {
            self.reply = reply;
        }
        self.numbers.extend(hidden);
    }
}

/// The texts that the reads show before anything is written.
pub(super) async fn texts_before(clients: &Clients<'_>, reads: &[Read]) -> Result<Vec<String>, Halt> {
    let mut texts = Vec::new();
    for read in reads.iter().filter(|read| read.shows_all()) {
        texts.extend(read.read(clients, "", None).await?.map(|reply| text(&reply)));
    }
    Ok(texts)
}

/// The first of these reads that show a write.
pub(super) async fn that_show(
    clients: &Clients<'_>,
    canaries: &NumberedCanaries,
    reads: &[Read],
    write: &NumberedAnswer,
) -> Result<Vec<Read>, Halt> {
    let mut found: Vec<Read> = Vec::new();
    for read in reads {
        if found.len() < MOST_READS && read.shows(clients, canaries, write).await? {
            found.push(read.clone());
        }
    }
    Ok(found)
}

fn text(reply: &SessionReply) -> String {
    reply.message["result"].to_string()
}

/// Arguments of a call that says nothing of a write.
fn arguments(context: &CheckContext<'_>, tool: &Tool) -> Option<Value> {
    let known = known_arguments(context.suite, tool).map(|(_, known)| known);
    let arguments: Node = match known {
        Some(known) => known,
        None => valid_arguments(context.suite, context.server_name, tool).ok()?,
    };
    (context.filled)(&arguments)
}

fn by_answer(context: &CheckContext<'_>, tool: &Tool) -> Option<Read> {
    let properties = tool.input_schema()["properties"].as_object()?;
    Some(Read::ByAnswer {
        name: tool.name.clone(),
        schema: tool.input_schema().clone(),
        arguments: arguments(context, tool)?,
        members: properties.keys().cloned().collect(),
    })
}
