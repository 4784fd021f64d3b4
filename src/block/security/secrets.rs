//! Secrets that a server knows from its start or from the headers of requests, and messages that show them.

use crate::plan::CheckContext;
use crate::redact::{Redactor, is_secret};
use crate::source::Node;
use crate::suite::{Auth, Server, ServerKind};
use crate::wire::{Channel, Direction, Frame};

/// Shorter values are not looked for, in characters: they appear by chance.
const SHORTEST: usize = 8;

/// A value that no message of the server may show.
#[derive(Debug)]
pub(crate) struct KnownSecret {
    /// The place of the value, as messages name it: "the variable `TOKEN`".
    pub(crate) place: String,
    value: String,
    /// The value was made for this case, so that nobody else can know it.
    pub(crate) is_canary: bool,
}

impl KnownSecret {
    /// A variable that only this server is started with.
    pub(crate) fn canary(variable: &str, value: String) -> Self {
        Self { place: format!("the variable `{variable}`"), value, is_canary: true }
    }

    /// Those that the suite gives the server: `secrets` with their values under `env`, and credentials for its address.
    pub(crate) fn of_suite(context: &CheckContext<'_>) -> Vec<Self> {
        let server = &context.suite.servers[context.server_name];
        let text = |node: &Node| context.fill(node).and_then(|value| value.as_str().map(str::to_owned));
        let variables = server.env.iter().filter(|(name, _)| server.secrets.contains(&name.value));
        let variables =
            variables.filter_map(|(name, node)| Some((format!("the variable `{}`", name.value), text(node)?)));
        let all = variables.chain(credentials(server, text));
        let all = all.filter(|(_, value)| value.chars().count() >= SHORTEST);
        all.map(|(place, value)| Self { place, value, is_canary: false }).collect()
    }

    /// The first message of the server that shows it. A value that a request had as a parameter may come back.
    pub(crate) fn first_shown<'a>(&self, frames: &'a [Frame]) -> Option<&'a Frame> {
        let search = Redactor::new([self.value.clone()]);
        let is_message = |frame: &&Frame| frame.direction == Direction::Sent && frame.channel == Channel::Protocol;
        if frames.iter().filter(is_message).any(|frame| search.is_in(&frame.text())) {
            return None;
        }
        frames.iter().find(|frame| frame.direction == Direction::Received && search.is_in(&frame.text()))
    }
}

/// Masks all of them.
pub(crate) fn redactor(secrets: &[KnownSecret]) -> Redactor {
    Redactor::new(secrets.iter().map(|secret| secret.value.clone()))
}

/// Headers that carry credentials, without the word for their kind, such as `Bearer`, and the token of `auth`.
fn credentials(server: &Server, text: impl Fn(&Node) -> Option<String>) -> Vec<(String, String)> {
    let ServerKind::Url(http) = &server.kind else { return Vec::new() };
    let headers = http.credentials.headers.iter().filter_map(|(name, node)| {
        let value = text(node).filter(|value| is_secret(&name.value, value))?;
        let token = value.split_once(' ').map_or(value.as_str(), |(_, token)| token).to_owned();
        Some((format!("the header `{}`", name.value), token))
    });
    let token = match &http.credentials.auth {
        Some(Auth::Bearer(token)) => text(token),
        Some(Auth::ClientCredentials(_) | Auth::AuthorizationCode(_) | Auth::DeviceCode(_)) | None => None,
    };
    let token = token.map(|token| ("the token of `auth`".to_owned(), token));
    headers.chain(token).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::tests::read_suite;
    use crate::check::tests::frames;
    use crate::source::Sources;

    const VALUE: &str = "k7Qm2xR9vT4w";

    #[test]
    fn a_secret_is_shown_unless_a_request_has_it_as_a_parameter() {
        use Channel::{Http, Protocol, Stderr};
        use Direction::{Received, Sent};
        let call = (Sent, Protocol, r#"{"id":1,"method":"tools/call"}"#);
        let header = (Sent, Http, "POST /mcp HTTP/1.1\r\nAuthorization: Bearer k7Qm2xR9vT4w");
        let told = (Sent, Protocol, r#"{"id":1,"params":{"q":"k7Qm2xR9vT4w"}}"#);
        let shown = (Received, Protocol, r#"{"id":1,"result":{"q":"k7Qm2xR9vT4w"}}"#);
        let part = (Received, Protocol, r#"{"id":1,"result":{"q":"k7Qm2x"}}"#);
        for (what, lines, expected) in [
            ("nothing", vec![call], None),
            ("the answer", vec![call, shown], Some(2)),
            ("the first of two", vec![call, shown, (Received, Stderr, "k7Qm2xR9vT4w")], Some(2)),
            ("standard error", vec![call, (Received, Stderr, "token: k7Qm2xR9vT4w")], Some(2)),
            // The header is how the client says it, so that no answer may repeat it.
            ("the answer to a request with it as a header", vec![header, call, shown], Some(3)),
            ("the answer to a request with it as a parameter", vec![told, shown], None),
            ("a part", vec![call, part], None),
            ("the request alone", vec![header], None),
        ] {
            let frames = frames(&lines);
            let secret = KnownSecret::canary("TOKEN", VALUE.to_owned());
            let seq = secret.first_shown(&frames).map(|found| frames.iter().position(|frame| frame.seq == found.seq));
            assert_eq!(seq.flatten().map(|at| at + 1), expected, "{what}");
        }
    }

    #[test]
    fn credentials_are_those_of_headers_and_of_the_token() {
        for (server, expected) in [
            ("{ command: [a] }", &[][..]),
            ("{ url: \"http://a/mcp\" }", &[]),
            ("{ url: \"http://a/mcp\", auth: { bearer: k7Qm2xR9vT4w } }", &[("the token of `auth`", VALUE)]),
            (
                "{ url: \"http://a/mcp\", headers: { Authorization: Bearer k7Qm2xR9vT4w } }",
                &[("the header `Authorization`", VALUE)],
            ),
            ("{ url: \"http://a/mcp\", headers: { X-Api-Key: k7Qm2xR9vT4w } }", &[("the header `X-Api-Key`", VALUE)]),
            // It says nothing that is to be kept.
            ("{ url: \"http://a/mcp\", headers: { Accept-Language: de-DE } }", &[]),
        ] {
            let suite =
                format!("{{ suite: s, servers: {{ a: {server} }}, tests: [{{ name: t, call: get, expect: [] }}] }}");
            let read = read_suite(&suite, &[], &mut Sources::default()).expect("a suite");
            let known = credentials(&read.suite.servers["a"], |node| node.to_json().as_str().map(str::to_owned));
            let known: Vec<(&str, &str)> = known.iter().map(|(place, value)| (&**place, &**value)).collect();
            assert_eq!(known, expected, "{server}");
        }
    }
}
