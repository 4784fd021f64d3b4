//! Servers.

use crate::source::grammar::Shape;
use crate::source::{Located, Node, settings};
use crate::suite::model::{
    AuthorizationCode, ClientCredentials, DeviceCode, HttpFlavour, NeededVariable, Protocol, WrittenStore,
};
use crate::suite::server_file::DescribedServer;

use super::NEEDED_VARIABLES;

/// Keys of servers that mcprove starts; a built-in one may take the place of a command for a while.
const PROCESS: &[&str] = &["command", "builtin", "config"];

/// Keys of servers over HTTP.
const HTTP: &[&str] = &["url", "config"];

settings! {
    /// How to reach a server: a command, a URL, or a built-in one.
    pub(crate) struct ServerKeys as "a server", at span {
        /// The program and its arguments; one string is split the way a shell splits words. Paths are relative to the suite's
        /// file.
        pub(crate) command: Option<Node> => alternative() cure("write for example `command: [node, dist/index.js]`")
            shape(Shape::Either(&[Shape::NonEmpty(&Shape::List(&SCALAR)), Shape::Text])),
        /// The address of a server over HTTP. With `command`, mcprove starts the server first, and `{{ port }}` in both is a
        /// free port.
        pub(crate) url: Option<Node> => alternative() shape(Shape::Text),
        /// The transport of the `url`: `auto` uses streamable HTTP, and HTTP+SSE of 2024-11-05 for servers that support
        /// nothing else.
        pub(crate) transport: HttpFlavour => default("auto") beside(HTTP),
        /// A server that is part of mcprove and runs in process.
        pub(crate) builtin: Option<String> => alternative() shape(Shape::Choice(&["demo"])) without(&["command", "url"]),
        /// A file that describes the server, relative to the suite's file: `mcp.json` of a client, `server.json` of the MCP
        /// registry, or another suite. Keys beside it add to what it says, or replace it.
        pub(crate) config: Option<Located<String>> => alternative() without(&["command", "url", "builtin"]),
        /// The name of the server in the `config`, if that describes several.
        pub(crate) name: Option<Located<String>> => beside(&["config"]),
        /// Environment variables for the server. It gets only these and PATH, HOME, LANG, TMPDIR.
        pub(crate) env: Vec<(Located<String>, Node)> => shape(Shape::Map(&SCALAR)) beside(PROCESS),
        /// Whether the server gets the whole environment.
        pub(crate) inherit_env: bool => default("false") beside(PROCESS),
        /// Variables whose values appear in no output: those under `env`, or with `inherit_env` any other.
        pub(crate) secrets: Vec<Located<String>>,
        /// HTTP headers of every request to the `url`; the values of those that carry credentials appear in no output.
        pub(crate) headers: Vec<(Located<String>, Node)> => shape(Shape::Map(&Shape::Text)) beside(HTTP),
        /// The token for the server at the `url`, or how to get one.
        pub(crate) auth: Option<AuthKeys> => beside(HTTP),
        /// Users of the server at the `url`, by name, each with credentials of their own, which are sent in place of those of
        /// the server. Where the server has none, ordinary cases speak as the first user.
        pub(crate) users: Vec<(Located<String>, UserKeys)> => beside(HTTP)
            shape(Shape::NonEmpty(&Shape::Map(&Shape::Object(&UserKeys::KEYS)))),
        /// How the certificate of an `https` server is checked.
        pub(crate) tls: Option<TlsKeys> => beside(HTTP),
        /// The folder in which the server starts, relative to the suite's file; by default the suite's folder.
        pub(crate) cwd: Option<Node> => shape(Shape::Text) beside(PROCESS),
        /// Whether the server's data may be changed: generated cases then call tools that write, but no destructive ones.
        pub(crate) scratch: bool,
        /// The file or folder in which the server keeps its data. Every process that mcprove starts gets a copy of its own in
        /// the place of that path, so the data may be changed.
        pub(crate) store: Option<WrittenStore> => beside(PROCESS),
        /// The server's sources: files, folders, and patterns such as `../src/**/*.py`, relative to the suite's file. When
        /// one of them changes, `mcprove run --watch` runs the suite again, on a server that is started anew.
        pub(crate) watch: Vec<Located<String>>,
        /// Variables of the environment, such as `env.TOKEN`; if one is not set, every case on this server is skipped.
        pub(crate) needs: Vec<NeededVariable> => shape(NEEDED_VARIABLES),
        /// The protocol revision: `auto` detects it; a list runs every case once per revision.
        pub(crate) protocol: Vec<Protocol> => default("auto")
            shape(Shape::Either(&[Protocol::WORDS, Shape::Set(&Protocol::WORDS)])),
    } with {
        /// The server in the `config`.
        pub(crate) described: Option<DescribedServer>,
    }
}

settings! {
    /// The token for a server over HTTP: a known one, or one that is fetched.
    pub(crate) struct AuthKeys as "auth", at span {
        /// The token; it appears in no output.
        pub(crate) bearer: Option<Node> => alternative() shape(Shape::Text) choice("token")
            cure("write for example `auth: { bearer: \"{{ env.TOKEN }}\" }`"),
        /// Fetches a token with the client credentials grant of OAuth, once, and again after the server refused one.
        pub(crate) client_credentials: Option<ClientCredentials> => alternative() choice("token"),
        /// Fetches a token with the authorization code grant of OAuth: logs in as the user that `login` describes, without a
        /// browser, and refreshes the token or logs in again when it has expired or the server refused it. Without `login`,
        /// takes the token of the person who ran `mcprove login`, and refreshes it.
        pub(crate) authorization_code: Option<AuthorizationCode> => alternative() choice("token"),
        /// Fetches a token with the device grant of OAuth, and refreshes it in the same way.
        pub(crate) device_code: Option<DeviceCode> => alternative() choice("token"),
    }
}

settings! {
    /// A user of a server over HTTP, told from others by what the requests carry.
    pub(crate) struct UserKeys as "a user" {
        /// HTTP headers of the user's requests, in place of the server's headers of the same names.
        pub(crate) headers: Vec<(Located<String>, Node)> => alternative() shape(Shape::Map(&Shape::Text)),
        /// The user's token, or how to get one.
        pub(crate) auth: Option<AuthKeys> => alternative(),
    }
}

settings! {
    /// How the certificate of an `https` server is checked.
    pub(crate) struct TlsKeys as "tls" {
        /// A PEM file with the certificates to trust, instead of the system's; relative to the suite's file.
        pub(crate) ca: Option<Node> => shape(Shape::Text),
    }
}

const SCALAR: Shape = Shape::Either(&[Shape::Text, Shape::Number, Shape::Flag]);

/// The number of retries.
pub(crate) const RETRIES: Shape = Shape::Range(0, 1000);
