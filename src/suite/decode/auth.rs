//! The token that a server wants, or how to get one.

use crate::source::{Diagnostic, Node};
use crate::suite::model::{Auth, ClientCredentials};

pub(super) fn auth(server: &Node, found: &mut Vec<Diagnostic>) -> Option<Auth> {
    let node = server.get("auth")?;
    let headers = server.get("headers").map(Node::entries).unwrap_or_default();
    if let Some((name, _)) = headers.iter().find(|(name, _)| name.value.eq_ignore_ascii_case("authorization")) {
        found.push(
            Diagnostic::error("two-ways", "a server has either `auth` or a header `Authorization`", name.span)
                .with_other(node.span, "the other one is here"),
        );
    }
    match (node.get("bearer"), node.get("client_credentials")) {
        (Some(token), None) => Some(Auth::Bearer(token.clone())),
        (None, Some(credentials)) => client_credentials(credentials, found),
        (Some(_), Some(_)) => {
            let message = "`auth` has one way to a token, this one has `bearer` and `client_credentials`";
            found.push(Diagnostic::error("two-ways", message, node.span));
            None
        }
        (None, None) => {
            found.push(
                Diagnostic::error("missing-key", "`auth` needs `bearer` or `client_credentials`", node.span)
                    .with_help("for example `auth: { bearer: \"{{ env.TOKEN }}\" }`".to_owned()),
            );
            None
        }
    }
}

fn client_credentials(node: &Node, found: &mut Vec<Diagnostic>) -> Option<Auth> {
    if let (Some(issuer), Some(token_url)) = (node.get("issuer"), node.get("token_url")) {
        found.push(
            Diagnostic::error("two-ways", "`client_credentials` has either `issuer` or `token_url`", token_url.span)
                .with_other(issuer.span, "the other one is here"),
        );
    }
    Some(Auth::ClientCredentials(Box::new(ClientCredentials {
        issuer: node.get("issuer").cloned(),
        token_url: node.get("token_url").cloned(),
        client_id: node.get("client_id")?.clone(),
        client_secret: node.get("client_secret")?.clone(),
        scopes: node.get("scopes").map(Node::items).unwrap_or_default().to_vec(),
        resource: node.get("resource").cloned(),
    })))
}
