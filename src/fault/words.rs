//! Words of faults that stand for one of a few things.

use crate::source::choice;

choice! {
    /// The kind of message that a condition names.
    pub(crate) enum KindCondition {
        /// With an id.
        Request = "request",
        /// Without an id.
        Notification = "notification",
        /// An answer to the server.
        Response = "response",
        /// A list.
        Batch = "batch",
        /// JSON that is no message.
        Malformed = "malformed",
        /// No JSON.
        Unparsable = "unparsable",
        /// The text of a raw step, whatever it is.
        Raw = "raw",
        /// The start of a session over streams.
        Start = "start",
        /// The end of the client's messages over streams.
        End = "end",
    }
}

choice! {
    /// The way in which a message arrives that does not arrive once and whole.
    pub enum Arrival {
        /// It does not arrive.
        Nothing = "nothing",
        /// It arrives twice.
        Twice = "twice",
        /// Half of it arrives, as a message.
        Truncate = "truncate",
        /// Half of it arrives, and then the client is gone.
        Torn = "torn",
        /// It arrives in pieces, with pauses between them.
        Pieces = "pieces",
        /// Its cancellation follows at once.
        Cancelled = "cancelled",
    }
}

choice! {
    /// When a server is killed.
    pub(crate) enum KillMoment {
        /// Before it hears of the message.
        Unheard = "unheard",
        /// As soon as it has the message.
        Heard = "heard",
        /// When its answer is on the way, which does not come.
        Answered = "answered",
    }
}

choice! {
    /// The scope of a count.
    pub(crate) enum CountScope {
        /// A conversation over streams, or a session over HTTP.
        Session = "session",
        /// All of the server.
        Server = "server",
    }
}

choice! {
    /// The unit of a burst.
    pub(crate) enum BurstUnit {
        /// Exchanges.
        Calls = "calls",
        /// The tasks that clients name: all exchanges of one are struck, or none.
        Tasks = "tasks",
    }
}

choice! {
    /// Whose exchange it is.
    pub(crate) enum ExchangeOwner {
        /// A case's.
        Cases = "cases",
        /// That of a handshake, or of asking what there is.
        Discovery = "discovery",
        /// Anybody's.
        Any = "any",
    }
}

choice! {
    /// The kind of answer.
    pub(crate) enum AnswerCondition {
        /// A result, `isError` or not.
        Result = "result",
        /// An error of the protocol, or a status that says no.
        Error = "error",
        /// A result with `isError`.
        Failed = "failed",
        /// Error or failed.
        Refused = "refused",
        /// A result without `isError`.
        Served = "served",
        /// Nothing.
        Nothing = "nothing",
    }
}

choice! {
    /// The relation of a call's arguments to the schema of the tool.
    pub(crate) enum ArgumentFit {
        /// They fit.
        Valid = "valid",
        /// They do not, in whatever way.
        Invalid = "invalid",
        /// A required one is not there.
        Missing = "missing",
        /// One is of another type, and cannot be read as one of the right type either.
        Mistyped = "mistyped",
        /// One has the right type and a value that is not allowed.
        OutOfRange = "out_of_range",
        /// One is not declared, and others are forbidden.
        Extra = "extra",
        /// They would fit if texts were read as the numbers and the like that they spell.
        Loose = "loose",
    }
}

choice! {
    /// The kind of tool that was called.
    pub(crate) enum ToolKind {
        /// One that is listed.
        Known = "known",
        /// One that is not.
        Unknown = "unknown",
        /// One that does not say that it only reads.
        Mutating = "mutating",
        /// One that says that it writes, or has a name that says so.
        Writing = "writing",
        /// One that writes, and whose name says that it adds something each time.
        Adding = "adding",
        /// One that says that it only reads.
        ReadOnly = "read_only",
        /// One that writes, and whose name says that it takes something away.
        Deleting = "deleting",
        /// One whose results have a list, by its output schema; without one, by its name.
        Listing = "listing",
        /// One that only reads: it says so, or has a name that says so.
        Reading = "reading",
        /// One that only reads, of the things that another tool writes: `list_users` beside `create_user`.
        ReadsStored = "reads_stored",
    }
}

choice! {
    /// The part of a list that the arguments of a call ask for.
    pub(crate) enum PageRequest {
        /// A number of items at most.
        Limit = "limit",
        /// A page after the first one.
        LaterPage = "later_page",
    }
}

choice! {
    /// The way in which a page of a list is wrong.
    pub(crate) enum PageFault {
        /// It has one item more than the call asked for.
        Overfull = "overfull",
        /// It begins one item too late.
        Skips = "skips",
        /// It begins with the last item of the page before.
        Repeats = "repeats",
        /// The cursor of the next page is its own.
        Stuck = "stuck",
    }
}

choice! {
    /// The first of equal requests in a session, or a later one.
    pub(crate) enum Occurrence {
        /// It was not.
        First = "first",
        /// It was.
        Later = "later",
    }
}

choice! {
    /// The scope in which another exchange is searched.
    pub(crate) enum SearchScope {
        /// In the same session of the same case.
        Session = "session",
        /// In another session of the same case.
        OtherSession = "other_session",
        /// In the same case.
        Case = "case",
        /// Anywhere.
        Run = "run",
    }
}

choice! {
    /// The transport.
    pub(crate) enum FaultTransport {
        /// Streams, in process or between processes.
        Stream = "stream",
        /// HTTP.
        Http = "http",
    }
}

choice! {
    /// Whose answer is given instead.
    pub(crate) enum AnswerSource {
        /// That of a good call of the same tool, or of reading the same.
        Served = "served",
        /// The first, other answer to the same question in the session.
        Earlier = "earlier",
        /// That to the same tool with other arguments.
        Other = "other",
        /// That to another question of the session, the nearest one.
        Neighbour = "neighbour",
        /// That to a question of the same kind in another session.
        Foreign = "foreign",
        /// That to the same question in another case or session.
        Elsewhere = "elsewhere",
        /// That of a call of the same tool that was refused.
        Refused = "refused",
        /// That which the same question got before the deletion that came last, as if nothing had been deleted.
        Undeleted = "undeleted",
    }
}

choice! {
    /// The way in which structured content breaks its schema.
    pub(crate) enum SchemaBreach {
        /// A value has another type.
        Type = "type",
        /// A required member is gone.
        Missing = "missing",
        /// A member is there that is not allowed.
        Extra = "extra",
        /// A value is null.
        Null = "null",
        /// A value is outside its range.
        Range = "range",
        /// The whole stands in a list.
        Wrapped = "wrapped",
    }
}

choice! {
    /// The change of an answer's id.
    pub(crate) enum IdEdit {
        /// A number becomes text.
        Text = "text",
        /// Text becomes a number.
        Number = "number",
        /// It becomes null.
        Null = "null",
        /// It is left out.
        Missing = "missing",
        /// It becomes one that no request has.
        Other = "other",
    }
}

choice! {
    /// The place of a message beside an answer.
    pub(crate) enum Side {
        /// Before.
        Before = "before",
        /// After.
        After = "after",
    }
}

choice! {
    /// The answer to a cancelled request.
    pub(crate) enum LateReply {
        /// An error.
        Error = "error",
        /// A result.
        Result = "result",
        /// Progress.
        Progress = "progress",
    }
}

choice! {
    /// Effects that need nothing further.
    pub(crate) enum PlainEffect {
        /// The call is answered as if all were well.
        Accept = "accept",
        /// The answer is left out; over HTTP the response has no body.
        Nothing = "nothing",
        /// The answer does not come, and the client waits.
        Never = "never",
        /// Nothing comes.
        Silence = "silence",
        /// The answer comes twice.
        Duplicate = "duplicate",
        /// Half of the answer comes, as a line.
        Truncate = "truncate",
        /// Half of the answer comes, then the end.
        Torn = "torn",
        /// Half of the answer comes, and its connection is reset; a stream ends.
        Reset = "reset",
        /// The values of a result have other types, in structured content and in its texts.
        Drift = "drift",
        /// The answer stands on several lines.
        Indent = "indent",
        /// A notification stands on the line of the answer.
        Glue = "glue",
        /// The answer stands in a list.
        Batch = "batch",
        /// Bytes that are not text come instead of the answer.
        Garbage = "garbage",
        /// A notification is answered.
        Reply = "reply",
        /// Arguments in the answer are placeholders again.
        Unfill = "unfill",
        /// The server says nothing more and takes nothing in.
        Stall = "stall",
        /// The server closes its output or the connection.
        End = "end",
    }
}

choice! {
    /// Changes to values that need nothing but their paths.
    pub(crate) enum ValueEdit {
        Remove = "remove",
        Null = "null",
        Retype = "retype",
        Change = "change",
        ChangeBack = "change_back",
        Cut = "cut",
        Empty = "empty",
        Wrap = "wrap",
        Reverse = "reverse",
        Double = "double",
        Ascii = "ascii",
        Misdeclare = "misdeclare",
    }
}
