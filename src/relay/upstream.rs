//! The way to a server over HTTP that runs somewhere else on this machine, and the relay in front of it.

use std::error::Error as _;
use std::future::pending;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{ConnectInfo, Request, State};
use axum::http::uri::{Authority, PathAndQuery, Scheme, Uri};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Version, header};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use tokio::net::TcpListener;

use super::connection::{ConnectionReset, ResettableListener};
use super::http::RequestPlace;
use super::{Relay, RelayStop, http};

/// The most connections to the server that are kept for later requests.
const MOST_IDLE: usize = 64;

/// Headers that are about one connection, and not about the message.
const OF_CONNECTIONS: [&str; 9] = [
    "connection",
    "expect",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "upgrade",
];

/// The address of a server on this machine.
#[derive(Debug, Clone)]
pub struct UpstreamAddress {
    authority: Authority,
    path: String,
}

impl UpstreamAddress {
    /// Reads an address; the error completes "`--upstream` …".
    pub fn parse(text: &str) -> Result<Self, String> {
        let url: Uri =
            text.parse().map_err(|_| "is not a URL; write it like `http://127.0.0.1:3000/mcp`".to_owned())?;
        let (Some(scheme), Some(authority)) = (url.scheme(), url.authority()) else {
            return Err("is not a whole URL; write it like `http://127.0.0.1:3000/mcp`".to_owned());
        };
        if *scheme != Scheme::HTTP {
            return Err(
                "must begin with `http://`: the relay speaks to servers on this machine only, without TLS".to_owned()
            );
        }
        if authority.as_str().contains('@') {
            return Err(
                "has a user name in it, which would end up in logs; send the header `Authorization` instead".to_owned()
            );
        }
        let host = authority.host();
        if !is_loopback(host) {
            return Err(format!(
                "is on another machine (`{host}`), and faults are for servers on this one only; use `127.0.0.1`, `[::1]` or \
                 `localhost`"
            ));
        }
        if url.query().is_some() {
            return Err("has a query (`?…`), which every client has to send itself; leave it out here".to_owned());
        }
        Ok(Self { authority: authority.clone(), path: url.path().to_owned() })
    }

    /// The path at which the server serves the protocol.
    pub fn path(&self) -> &str {
        &self.path
    }
}

impl std::fmt::Display for UpstreamAddress {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "http://{}{}", self.authority, self.path)
    }
}

/// A relay in front of a server; connections to the server are kept and used again.
pub struct Upstream {
    address: UpstreamAddress,
    client: Client<HttpConnector, Body>,
    relay: Arc<Relay>,
}

impl Upstream {
    /// Nothing is connected yet.
    pub fn new(address: UpstreamAddress, relay: Arc<Relay>) -> Self {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        let client = Client::builder(TokioExecutor::new()).pool_max_idle_per_host(MOST_IDLE).build(connector);
        Self { address, client, relay }
    }

    /// Relays until the future is dropped, or a fault or an error ends the relay.
    pub async fn serve(self, listener: TcpListener) -> io::Result<RelayStop> {
        let relay = Arc::clone(&self.relay);
        let service = any(
            |State(upstream): State<Arc<Self>>, ConnectInfo(reset): ConnectInfo<ConnectionReset>, request: Request| async move {
                upstream.respond(request, reset).await
            },
        );
        let router = Router::new().fallback(service).with_state(Arc::new(self));
        let service = router.into_make_service_with_connect_info::<ConnectionReset>();
        tokio::select! {
            served = axum::serve(ResettableListener(listener), service).into_future() => { served?; pending().await }
            stop = relay.wait_for_stop() => Ok(stop),
        }
    }

    async fn respond(self: Arc<Self>, request: Request, reset: ConnectionReset) -> Response {
        let is_endpoint = request.uri().path().trim_end_matches('/') == self.address.path.trim_end_matches('/');
        let place = RequestPlace { is_endpoint, reset: Some(reset) };
        http::answer(&self.relay, request, place, |request| Arc::clone(&self).forward(request)).await
    }

    /// Has a redirect to the server lead to the relay, or the client would go around it.
    fn lead_back(&self, headers: &mut HeaderMap, host: Option<&HeaderValue>) {
        let own = format!("http://{}", self.address.authority);
        let location = headers.get(header::LOCATION).and_then(|location| location.to_str().ok());
        let rest = location.and_then(|location| location.strip_prefix(&own)).filter(|rest| rest.starts_with('/'));
        let (Some(rest), Some(host)) = (rest, host.and_then(|host| host.to_str().ok())) else { return };
        if let Ok(location) = HeaderValue::from_str(&format!("http://{host}{rest}")) {
            headers.insert(header::LOCATION, location);
        }
    }

    /// Sends a request to the server; if it cannot be reached, the response says so.
    async fn forward(self: Arc<Self>, mut request: Request) -> Response {
        let path = request.uri().path_and_query().cloned().unwrap_or_else(|| PathAndQuery::from_static("/"));
        let url = Uri::builder().scheme(Scheme::HTTP).authority(self.address.authority.clone()).path_and_query(path);
        let Ok(url) = url.build() else { return StatusCode::BAD_REQUEST.into_response() };
        *request.uri_mut() = url;
        *request.version_mut() = Version::HTTP_11;
        remove_hops(request.headers_mut());
        // Servers compare it with their own address. A name of another machine passes: refusing it is the server's part.
        let host = request.headers().get(header::HOST).cloned().filter(names_this_machine);
        if host.is_some() {
            request.headers_mut().remove(header::HOST);
        }
        match self.client.request(request).await {
            Ok(response) => {
                let mut response = response.map(Body::new);
                *response.version_mut() = Version::HTTP_11;
                remove_hops(response.headers_mut());
                self.lead_back(response.headers_mut(), host.as_ref());
                response
            }
            Err(error) => {
                let mut reason = error.to_string();
                let mut cause = error.source();
                while let Some(deeper) = cause {
                    reason = deeper.to_string();
                    cause = deeper.source();
                }
                let text = format!("mcprove relay: the server at {} did not answer: {reason}\n", self.address);
                let mut response = (StatusCode::BAD_GATEWAY, text).into_response();
                if error.is_connect() {
                    response.extensions_mut().insert(Unreached);
                }
                response
            }
        }
    }
}

/// Stands at a response of the relay: no connection to the server came about, so that it heard nothing.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Unreached;

/// A `Host` that is a name of this machine, with any port.
fn names_this_machine(host: &HeaderValue) -> bool {
    let authority = host.to_str().ok().and_then(|host| host.parse::<Authority>().ok());
    authority.is_some_and(|authority| is_loopback(authority.host()))
}

fn is_loopback(host: &str) -> bool {
    let host = host.trim_matches(['[', ']']);
    host.eq_ignore_ascii_case("localhost") || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Removes the headers that are about one connection: known ones, and those that `Connection` names.
fn remove_hops(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    for name in named {
        headers.remove(name);
    }
    for name in OF_CONNECTIONS {
        headers.remove(name);
    }
    headers.remove(header::TRANSFER_ENCODING);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_servers_on_this_machine_have_an_address() {
        for good in ["http://127.0.0.1:3000/mcp", "http://localhost/", "http://[::1]:80/a/b", "http://127.9.9.9"] {
            assert!(UpstreamAddress::parse(good).is_ok(), "{good}");
        }
        for (bad, part) in [
            ("http://example.com/mcp", "another machine (`example.com`)"),
            ("http://10.0.0.1/mcp", "another machine"),
            ("http://127.0.0.1.example.com/", "another machine"),
            ("https://127.0.0.1/mcp", "http://"),
            ("http://me:secret@127.0.0.1/", "user name"),
            ("127.0.0.1:3000", "whole URL"),
            ("/mcp", "whole URL"),
            ("http://127.0.0.1/mcp?key=1", "query"),
            ("http://", "URL"),
        ] {
            let error = UpstreamAddress::parse(bad).unwrap_err();
            assert!(error.contains(part), "{bad}: {error}");
        }
    }

    #[test]
    fn headers_of_connections_stay_behind() {
        let mut headers = HeaderMap::new();
        for (name, value) in
            [("connection", "close, X-Own"), ("x-own", "1"), ("te", "trailers"), ("mcp-session-id", "s")]
        {
            headers.insert(name, value.parse().unwrap());
        }
        remove_hops(&mut headers);
        assert_eq!(headers.keys().map(HeaderName::as_str).collect::<Vec<_>>(), ["mcp-session-id"]);
    }
}
