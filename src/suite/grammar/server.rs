//! Servers, run options and answers.

use crate::source::grammar::{Object, Shape, alternative, key};
use crate::source::settings::Setting;
use crate::suite::model::ClientCredentials;

pub(crate) static SERVER: Object = Object {
    name: "a server",
    doc: "How to reach a server: a command, a URL, or a built-in one.",
    keys: &[&[
        alternative(
            "command",
            Shape::Either(&[Shape::NonEmpty(&Shape::List(&Shape::Text)), Shape::Text]),
            "The program and its arguments; one string is split the way a shell splits words. Paths are relative to the suite's file.",
        )
        .cure("write for example `command: [node, dist/index.js]`"),
        alternative(
            "url",
            Shape::Text,
            "The address of a server over HTTP. With `command`, mcprove starts the server first, and `{{ port }}` in both is a free port.",
        ),
        key(
            "transport",
            Shape::Choice(&["auto", "streamable-http", "sse"]),
            "The transport of the `url`: `auto` uses streamable HTTP, and HTTP+SSE of 2024-11-05 for servers that support nothing else.",
        )
        .default("auto")
        .beside(&["url"]),
        alternative("builtin", Shape::Choice(&["demo"]), "A server that is part of mcprove and runs in process.")
            .without(&["command", "url"]),
        key(
            "env",
            Shape::Map(&SCALAR),
            "Environment variables for the server. It gets only these and PATH, HOME, LANG, TMPDIR.",
        )
        .beside(PROCESS),
        key("inherit_env", Shape::Flag, "Whether the server gets the whole environment.").default("false").beside(PROCESS),
        key(
            "secrets",
            Shape::List(&Shape::Text),
            "Variables whose values appear in no output: those under `env`, or with `inherit_env` any other.",
        ),
        key(
            "headers",
            Shape::Map(&Shape::Text),
            "HTTP headers of every request to the `url`; the values of those that carry credentials appear in no output.",
        )
        .beside(&["url"]),
        key("auth", Shape::Object(&AUTH), "The token for the server at the `url`, or how to get one.").beside(&["url"]),
        key(
            "users",
            Shape::NonEmpty(&Shape::Map(&Shape::Object(&USER))),
            "Users of the server at the `url`, by name, each with credentials of their own, which are sent in place of those \
             of the server. Where the server has none, ordinary cases speak as the first user.",
        )
        .beside(&["url"]),
        key("tls", Shape::Object(&TLS), "How the certificate of an `https` server is checked.").beside(&["url"]),
        key(
            "cwd",
            Shape::Text,
            "The folder in which the server starts, relative to the suite's file; by default the suite's folder.",
        )
        .beside(PROCESS),
        key(
            "scratch",
            Shape::Flag,
            "Whether the server's data may be changed: generated cases then call tools that write, but no destructive ones.",
        ),
        key(
            "protocol",
            Shape::Either(&[Shape::Choice(REVISIONS), Shape::Set(&Shape::Choice(REVISIONS))]),
            "The protocol revision: `auto` detects it; a list runs every case once per revision.",
        )
        .default("auto"),
    ]],
};

/// Keys of servers that mcprove starts; a built-in one may take the place of a command for a while.
const PROCESS: &[&str] = &["command", "builtin"];

static AUTH: Object = Object {
    name: "auth",
    doc: "The token for a server over HTTP: a known one, or one that is fetched.",
    keys: &[&[
        alternative("bearer", Shape::Text, "The token; it appears in no output.")
            .choice("token")
            .cure("write for example `auth: { bearer: \"{{ env.TOKEN }}\" }`"),
        alternative(
            "client_credentials",
            ClientCredentials::SHAPE,
            "Fetches a token with the client credentials grant of OAuth, once, and again after the server refused one.",
        )
        .choice("token"),
    ]],
};

static USER: Object = Object {
    name: "a user",
    doc: "A user of a server over HTTP, told from others by what the requests carry.",
    keys: &[&[
        alternative(
            "headers",
            Shape::Map(&Shape::Text),
            "HTTP headers of the user's requests, in place of the server's headers of the same names.",
        ),
        alternative("auth", Shape::Object(&AUTH), "The user's token, or how to get one."),
    ]],
};

static TLS: Object = Object {
    name: "tls",
    doc: "How the certificate of an `https` server is checked.",
    keys: &[&[key(
        "ca",
        Shape::Text,
        "A PEM file with the certificates to trust, instead of the system's; relative to the suite's file.",
    )]],
};

const REVISIONS: &[&str] = &["auto", "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];

static SCALAR: Shape = Shape::Either(&[Shape::Text, Shape::Number, Shape::Flag]);

/// The number of retries.
pub(crate) const RETRIES: Shape = Shape::Range(0, 1000);
