//! Ways to read what a tool wrote: other tools that only read, and resources. Which of them show a write is found by trying.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::clients::{Clients, NumberedAnswer, ToolRequest};
use super::template::ArgumentTemplate;
use super::{Torture, WritePair};
use crate::check::CheckEnd;
use crate::check::answer_data::AnswerData;
use crate::check::canary::Canaries;
use crate::check::evidence::exchange;
use crate::event::Exchange;
use crate::plan::CheckContext;
use crate::plan::witness::filled_arguments;
use crate::schema::objection;
use crate::session::SessionReply;
use crate::wire::Tool;

/// The number of resources that are tried.
const MOST_RESOURCES: usize = 16;

/// The number of reads that are used.
const MOST_READS: usize = 4;

/// The number of writes of a round that are looked for one by one, and of suspects besides.
const MOST_SINGLE: usize = 128;

/// A way to read.
#[derive(Debug, Clone)]
pub(crate) enum Read {
    /// A tool with the same arguments for all writes.
    Tool { name: String, arguments: Value },
    /// A resource.
    Resource(String),
    /// A tool whose arguments are members of the write's answer, such as an `id`.
    ByAnswer { name: String, schema: Value, arguments: Value, members: Vec<String> },
    /// A tool that is asked for the text that was written.
    ByText { name: String, template: ArgumentTemplate },
}

/// The writes that a read shows.
#[derive(Debug, Default)]
pub(crate) struct ReadBack {
    /// The writes that were looked for.
    pub(crate) looked_for: BTreeSet<u64>,
    /// The number of times that each of them is shown that is.
    pub(crate) shown: BTreeMap<u64, usize>,
    /// The first answer that does not show one, or the last where all are shown.
    pub(crate) call: Option<Exchange>,
    /// The read.
    title: String,
}

/// Which sessions look for writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Readers {
    /// The first that wrote, and the others only where it does not show what they wrote.
    AsFewAsPossible,
    /// Also every session whose own writes another one did not show.
    Own,
}

impl Read {
    /// The ways to read what a tool writes that are worth a try.
    pub(crate) fn candidates(context: &CheckContext<'_>, settings: &Torture, tool: &str) -> Vec<Self> {
        let pair = settings.pair(tool);
        let is_meant = |read: &&Tool| match pair {
            Some(WritePair { read: reads, .. }) => reads.iter().any(|name| name.value == read.name),
            None => read.name != tool && read.only_reads() && !read.is_task_only(),
        };
        let tools: Vec<&Tool> = context.catalog.tools.iter().filter(is_meant).collect();
        let uris = context.catalog.resources.iter().filter_map(|resource| resource["uri"].as_str());
        let uris = uris.filter(|_| pair.is_none()).take(MOST_RESOURCES);
        let fixed = tools.iter().filter_map(|tool| {
            Some(Self::Tool { name: tool.name.clone(), arguments: filled_arguments(context, tool).ok()? })
        });
        let by_answer = tools.iter().filter_map(|tool| by_answer(context, tool));
        let by_text = tools.iter().filter_map(|tool| {
            let template = ArgumentTemplate::of_tool(tool, context).ok()?.into_iter().next()?;
            Some(Self::ByText { name: tool.name.clone(), template })
        });
        fixed.chain(uris.map(|uri| Self::Resource(uri.to_owned()))).chain(by_answer).chain(by_text).collect()
    }

    /// Its answer is the record of one write, rather than a list, which may leave out fields of its records.
    pub(crate) fn shows_one_record(&self) -> bool {
        matches!(self, Self::ByAnswer { .. })
    }

    /// The tool or resource.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Tool { name, .. }
            | Self::ByAnswer { name, .. }
            | Self::ByText { name, .. }
            | Self::Resource(name) => name,
        }
    }

    pub(crate) fn title(&self) -> String {
        let method = if let Self::Resource(_) = self { "resources/read" } else { "tools/call" };
        format!("{method} {}", self.name())
    }

    /// One answer shows all writes.
    pub(crate) fn shows_all(&self) -> bool {
        matches!(self, Self::Tool { .. } | Self::Resource(_))
    }

    /// The request that reads a write; `None` where the answer to the write does not say how.
    pub(crate) fn request(&self, canary: &str, write: Option<&NumberedAnswer>) -> Option<ToolRequest> {
        let call = |name: &str, arguments: &Value| json!({"name": name, "arguments": arguments});
        let params = match self {
            Self::Tool { name, arguments } => call(name, arguments),
            Self::ByText { name, template } => call(name, &template.with(canary)),
            Self::Resource(uri) => json!({"uri": uri}),
            Self::ByAnswer { name, schema, arguments, members } => {
                let answer =
                    write.map(|write| AnswerData::of(&write.reply.whole().message).members()).unwrap_or_default();
                let mut with = arguments.clone();
                let own: Vec<&String> = members.iter().filter(|member| answer.contains_key(*member)).collect();
                for member in &own {
                    with[member.as_str()] = answer[member.as_str()].clone();
                }
                // A text that was written is not what tells whether it was.
                if own.is_empty() || with.to_string().contains(canary) || objection(schema, &with).is_some() {
                    return None;
                }
                call(name, &with)
            }
        };
        let method = if let Self::Resource(_) = self { "resources/read" } else { "tools/call" };
        Some(ToolRequest { method, params })
    }

    /// Reads a write; `None` where nothing is answered.
    async fn read(
        &self,
        clients: &Clients<'_>,
        canary: &str,
        write: Option<&NumberedAnswer>,
    ) -> Result<Option<SessionReply>, CheckEnd> {
        let Some(request) = self.request(canary, write) else { return Ok(None) };
        let session = write.map_or(0, |write| write.session);
        clients.request(session, request).await
    }

    /// It shows a text without an answer that says where to look.
    pub(crate) async fn shows_text(&self, clients: &Clients<'_>, canary: &str) -> Result<bool, CheckEnd> {
        Ok(self.read(clients, canary, None).await?.is_some_and(|reply| text(&reply).contains(canary)))
    }

    /// It shows a write. A tool that shows every text that it is asked for shows nothing.
    async fn shows(
        &self,
        clients: &Clients<'_>,
        canaries: &Canaries,
        write: &NumberedAnswer,
    ) -> Result<bool, CheckEnd> {
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

    /// Looks for writes. A read of single writes looks for a sample of them, and for `suspects`.
    pub(crate) async fn look_for(
        &self,
        clients: &Clients<'_>,
        canaries: &Canaries,
        writes: &[&NumberedAnswer],
        suspects: &BTreeSet<u64>,
        readers: Readers,
    ) -> Result<ReadBack, CheckEnd> {
        let mut back = ReadBack { title: self.title(), ..ReadBack::default() };
        if !self.shows_all() {
            for write in sample(writes, suspects) {
                let canary = canaries.of(write.number);
                let reply = self.read(clients, &canary, Some(write)).await?;
                back.take(reply, &[write.number], canaries);
            }
            return Ok(back);
        }
        let numbers_of = |session: usize| -> Vec<u64> {
            writes.iter().filter(|write| write.session == session).map(|write| write.number).collect()
        };
        let sessions: BTreeSet<usize> = writes.iter().map(|write| write.session).collect();
        let Some(first) = writes.first() else { return Ok(back) };
        let all: Vec<u64> = writes.iter().map(|write| write.number).collect();
        back.take(self.read(clients, "", Some(first)).await?, &all, canaries);
        let own = numbers_of(first.session);
        let is_shared = back.shown.keys().any(|number| !own.contains(number));
        for session in sessions.into_iter().filter(|session| *session != first.session) {
            let numbers = numbers_of(session);
            let is_complete = numbers.iter().all(|number| back.shown.contains_key(number));
            if is_complete || is_shared && readers == Readers::AsFewAsPossible {
                continue;
            }
            let write = writes.iter().copied().find(|write| write.session == session);
            back.take(self.read(clients, "", write).await?, &numbers, canaries);
        }
        Ok(back)
    }
}

/// Writes that are looked for one by one: some from all over, and the first suspects.
fn sample<'a>(writes: &[&'a NumberedAnswer], suspects: &BTreeSet<u64>) -> Vec<&'a NumberedAnswer> {
    let step = writes.len().div_ceil(MOST_SINGLE).max(1);
    let first: BTreeSet<u64> = suspects.iter().take(MOST_SINGLE).copied().collect();
    let is_chosen = |(at, write): &(usize, &&NumberedAnswer)| at % step == 0 || first.contains(&write.number);
    writes.iter().enumerate().filter(is_chosen).map(|(_, write)| *write).collect()
}

impl ReadBack {
    /// A read that shows some of the writes that were looked for, each so often.
    #[cfg(test)]
    pub(crate) fn of_test(looked_for: &[u64], shown: &[(u64, usize)]) -> Self {
        let (looked_for, shown) = (looked_for.iter().copied().collect(), shown.iter().copied().collect());
        Self { looked_for, shown, ..Self::default() }
    }

    /// Adds an answer in which writes were looked for.
    fn take(&mut self, reply: Option<SessionReply>, numbers: &[u64], canaries: &Canaries) {
        let counted = reply.as_ref().map(|reply| canaries.counted_in(&text(reply))).unwrap_or_default();
        if self.is_complete() {
            self.call = reply.map(|reply| exchange(&self.title, &reply));
        }
        self.looked_for.extend(numbers);
        self.shown.extend(numbers.iter().filter_map(|number| Some((*number, *counted.get(number)?))));
    }

    /// The writes that are not shown.
    pub(crate) fn missing(&self) -> BTreeSet<u64> {
        self.looked_for.iter().filter(|number| !self.shown.contains_key(number)).copied().collect()
    }

    /// It shows everything that was looked for.
    pub(crate) fn is_complete(&self) -> bool {
        self.looked_for.len() == self.shown.len()
    }

    /// The number of times that it shows each write, where that is equally often.
    pub(crate) fn times(&self) -> Option<usize> {
        let times: BTreeSet<usize> = self.shown.values().copied().collect();
        times.first().copied().filter(|_| times.len() == 1 && self.is_complete())
    }
}

/// The writes that none of the reads shows that looked for them.
pub(crate) fn missing_everywhere(backs: &[ReadBack]) -> BTreeSet<u64> {
    let missing: Vec<BTreeSet<u64>> = backs.iter().map(ReadBack::missing).collect();
    let is_hidden = |number: &u64| {
        let mut reads = backs.iter().zip(&missing);
        reads.all(|(back, missing)| missing.contains(number) || !back.looked_for.contains(number))
    };
    missing.iter().flatten().filter(|number| is_hidden(number)).copied().collect()
}

/// A write that one of the reads shows in part, and the exchange.
pub(crate) async fn torn_record(
    clients: &Clients<'_>,
    reads: &[Read],
    canaries: &Canaries,
) -> Result<Option<(String, Exchange)>, CheckEnd> {
    for read in reads.iter().filter(|read| read.shows_all()) {
        let Some(reply) = read.read(clients, "", None).await? else { continue };
        if let Some(torn) = canaries.torn_in(&text(&reply)) {
            return Ok(Some((torn, exchange(&read.title(), &reply))));
        }
    }
    Ok(None)
}

/// The texts that the reads show before anything is written.
pub(crate) async fn texts_before(clients: &Clients<'_>, reads: &[Read]) -> Result<Vec<String>, CheckEnd> {
    let mut texts = Vec::new();
    for read in reads.iter().filter(|read| read.shows_all()) {
        texts.extend(read.read(clients, "", None).await?.map(|reply| text(&reply)));
    }
    Ok(texts)
}

/// The first of these reads that show a write.
pub(crate) async fn that_show(
    clients: &Clients<'_>,
    canaries: &Canaries,
    reads: &[Read],
    write: &NumberedAnswer,
) -> Result<Vec<Read>, CheckEnd> {
    let mut found: Vec<Read> = Vec::new();
    for read in reads {
        if found.len() < MOST_READS && read.shows(clients, canaries, write).await? {
            found.push(read.clone());
        }
    }
    Ok(found)
}

/// The result as text, where there is one: an error that repeats a text shows nothing.
fn text(reply: &SessionReply) -> String {
    if reply.is_served() { reply.message["result"].to_string() } else { String::new() }
}

fn by_answer(context: &CheckContext<'_>, tool: &Tool) -> Option<Read> {
    let properties = tool.input_schema()["properties"].as_object()?;
    Some(Read::ByAnswer {
        name: tool.name.clone(),
        schema: tool.input_schema().clone(),
        arguments: filled_arguments(context, tool).ok()?,
        members: properties.keys().cloned().collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_is_complete_where_it_shows_all_and_regular_where_equally_often() {
        for (shown, missing, times) in [
            (&[(1, 1), (2, 1), (3, 1)][..], &[][..], Some(1)),
            (&[(1, 2), (2, 2), (3, 2)], &[], Some(2)),
            (&[(1, 1), (2, 2), (3, 1)], &[], None),
            (&[(1, 1), (3, 1)], &[2], None),
            (&[], &[1, 2, 3], None),
        ] {
            let back = ReadBack::of_test(&[1, 2, 3], shown);
            assert_eq!(back.missing().into_iter().collect::<Vec<_>>(), missing, "{shown:?}");
            assert_eq!((back.is_complete(), back.times()), (missing.is_empty(), times), "{shown:?}");
        }
    }

    #[test]
    fn a_write_is_missing_everywhere_where_no_read_that_looked_shows_it() {
        let back = |looked_for: &[u64], shown: &[u64]| {
            let shown: Vec<(u64, usize)> = shown.iter().map(|number| (*number, 1)).collect();
            ReadBack::of_test(looked_for, &shown)
        };
        for (backs, expected) in [
            (vec![back(&[1, 2], &[1, 2])], &[][..]),
            (vec![back(&[1, 2], &[1])], &[2]),
            (vec![back(&[1, 2], &[1]), back(&[1, 2], &[2])], &[]),
            (vec![back(&[1, 2], &[1]), back(&[1, 2], &[1])], &[2]),
            // A sample does not have all.
            (vec![back(&[1, 2, 3], &[1]), back(&[1, 3], &[1, 3])], &[2]),
            (vec![], &[]),
        ] {
            assert_eq!(missing_everywhere(&backs).into_iter().collect::<Vec<_>>(), expected, "{backs:?}");
        }
    }

    #[test]
    fn samples_are_from_all_over_and_have_the_suspects() {
        let all: Vec<NumberedAnswer> = (0..300).map(|number| NumberedAnswer::of_test(number, &Value::Null)).collect();
        let all: Vec<&NumberedAnswer> = all.iter().collect();
        let numbers = |writes: &[&NumberedAnswer], suspects: &[u64]| -> Vec<u64> {
            let suspects = suspects.iter().copied().collect();
            sample(writes, &suspects).iter().map(|write| write.number).collect()
        };
        assert_eq!(numbers(&all[..3], &[]), [0, 1, 2]);
        let sampled = numbers(&all, &[4, 299, 7]);
        assert!(sampled.len() <= MOST_SINGLE + 3 && sampled.iter().is_sorted(), "{sampled:?}");
        assert!([0, 3, 4, 7, 297, 299].iter().all(|number| sampled.contains(number)), "{sampled:?}");
        let many: Vec<u64> = (0..300).collect();
        assert!(numbers(&all, &many).len() < 2 * MOST_SINGLE);
    }

    #[test]
    fn answers_count_only_texts_that_were_looked_for() {
        let canaries = Canaries::of_seed(7);
        let reply = |result: Value| NumberedAnswer::of_test(1, &json!({"result": result})).reply.whole();
        let list =
            json!({"content": [{"type": "text", "text": format!("{0} {0} {1}", canaries.of(1), canaries.of(9))}]});
        let mut back = ReadBack::default();
        back.take(Some(reply(list.clone())), &[1, 2], &canaries);
        assert_eq!((back.shown.clone(), back.missing()), ([(1, 2)].into(), [2].into()));
        // An error that repeats a text shows nothing.
        let mut failed = list;
        failed["isError"] = true.into();
        let mut back = ReadBack::default();
        back.take(Some(reply(failed)), &[1], &canaries);
        back.take(None, &[2], &canaries);
        assert_eq!((back.shown.len(), back.looked_for.len()), (0, 2));
    }

    #[test]
    fn a_write_is_read_by_members_of_its_answer() {
        let schema = json!({"type": "object", "properties": {"id": {"type": "integer"}, "name": {"type": "string"}}});
        let members = ["id", "name"].map(str::to_owned).to_vec();
        let read = |arguments: Value| Read::ByAnswer {
            name: "get".to_owned(),
            schema: schema.clone(),
            arguments,
            members: members.clone(),
        };
        let write = |record: Value| NumberedAnswer::of_test(1, &json!({"result": {"structuredContent": record}}));
        for (record, expected) in [
            (json!({"id": 7}), Some(json!({"id": 7}))),
            (json!({"user": {"id": 7}, "total": 3}), Some(json!({"id": 7}))),
            (json!({"id": "u7"}), None),
            (json!({"total": 3}), None),
            // A text that was written is not what tells whether it was.
            (json!({"id": 7, "name": "zq1"}), None),
        ] {
            let request = read(json!({"id": 1})).request("zq1", Some(&write(record.clone())));
            assert_eq!(request.map(|request| request.params["arguments"].clone()), expected, "{record}");
        }
        assert!(read(json!({})).request("zq1", None).is_none());
    }

    #[test]
    fn reads_are_named_by_their_tool_or_resource() {
        let tool = Read::Tool { name: "list".to_owned(), arguments: json!({"limit": 9}) };
        let resource = Read::Resource("notes://all".to_owned());
        let request = |read: &Read| read.request("zq1", None).map(|request| (request.method, request.params));
        let call = json!({"name": "list", "arguments": {"limit": 9}});
        assert_eq!(request(&tool), Some(("tools/call", call)));
        assert_eq!(request(&resource), Some(("resources/read", json!({"uri": "notes://all"}))));
        assert_eq!(
            (tool.title(), resource.title()),
            ("tools/call list".to_owned(), "resources/read notes://all".to_owned())
        );
        assert!(tool.shows_all() && resource.shows_all());
    }
}
