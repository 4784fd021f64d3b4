//! Servers, run options and answers.

use crate::source::grammar::{Key, Object, Shape, alternative, key, required};
use crate::suite::model::MOST_PARALLEL;

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

/// How mcprove starts a server itself; a built-in one may take the place of a command for a while.
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
            Shape::Object(&CLIENT_CREDENTIALS),
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

static CLIENT_CREDENTIALS: Object = Object {
    name: "client_credentials",
    doc: "The parameters for an authorization server. Without `issuer` and `token_url` the tested server names it.",
    keys: &[&[
        key("issuer", Shape::Text, "The authorization server; its metadata have the token endpoint.")
            .choice("endpoint"),
        key("token_url", Shape::Text, "The token endpoint, if metadata do not name it.").choice("endpoint"),
        required("client_id", Shape::Text, "The id of the client."),
        required(
            "client_secret",
            Shape::Text,
            "The secret of the client; it appears in no output, nor does the token.",
        ),
        key("scopes", Shape::List(&Shape::Text), "The scopes of the token; by default those that the server requires."),
        key("resource", Shape::Text, "The resource that the token is for; by default the `url` of the server."),
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

pub(crate) static RUN_OPTIONS: Object =
    Object { name: "run_options", doc: "How the cases are run.", keys: &[RUN_OPTION_KEYS] };

static RUN_OPTION_KEYS: &[Key] = &[
    key(
        "restart_policy",
        Shape::Choice(&["per_suite", "per_test", "never"]),
        "`per_suite` shares one session, `per_test` gives every case a fresh server, or a fresh session if the server has a `url` and no `command`, and `never` does not restart a crashed server.",
    )
    .default("per_suite"),
    key(
        "parallel",
        Shape::Range(1, MOST_PARALLEL as u64),
        "The number of cases that run at a time. By default hand-written cases run one after another, and as many generated ones as there are processors.",
    ),
    key("timeout", Shape::Timeout, "The time that a case may take.").default("30s"),
    key("request_timeout", Shape::Timeout, "The time that one request may take; while a request with `progress` and without a `timeout` of its own reports \
         progress, it begins anew.").default("10s"),
    key("start_timeout", Shape::Timeout, "The time that a server may take to start and shake hands.").default("30s"),
    key("retries", RETRIES, "The number of retries of a failed case; a case that passes then is flaky.").default("0"),
    key(
        "order",
        Shape::Choice(&["declared", "shuffled"]),
        "The order of the cases: as written, or shuffled with a seed, which the run prints and `--shuffle=SEED` repeats.",
    )
    .default("declared"),
];

/// How often something is retried.
pub(crate) const RETRIES: Shape = Shape::Range(0, 1000);

pub(crate) static ANSWERS: Object = Object {
    name: "answers",
    doc: "The answers of the client when the server asks.",
    keys: &[&[
        key(
            "sampling",
            ANSWER,
            "The result of `sampling/createMessage`, or its text; a list has one answer per request.",
        ),
        key(
            "elicitation",
            ANSWER,
            "The result of `elicitation/create`, or the content of an accepted form; a list has one answer per request.",
        ),
        key(
            "roots",
            Shape::List(&Shape::Any),
            "The roots: folders, relative to the suite's file, URIs, or `{ uri, name }`.",
        ),
    ]],
};

const ANSWER: Shape = Shape::Any;
