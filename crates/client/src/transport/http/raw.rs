//! A request on a connection of its own, byte for byte as somebody wrote it.
//!
//! Repairs nothing and adds nothing; whether the response is good is for others to say.

use std::future::pending;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use parking_lot::Mutex;
use reqwest::Url;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, split};
use tokio::net::{TcpSocket, TcpStream, lookup_host};
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};
use tokio_rustls::TlsConnector;

use super::failure::{HttpFailure, host_and_port, tls_error_in, tls_failure};
use super::oauth::TokenRequest;
use super::response::{RawResponse, ReadUntil};
use super::segments::limit_segments;
use super::{HttpAddress, HttpConnection, NegotiatedSession, TrustedRoots};
use crate::transport::{Owner, pieces};

/// The room for bytes that a slow reader has not read.
const SMALL_BUFFER: u32 = 4096;

/// The largest segment that is asked for then: the system makes room for ten, which are 650 KB on loopback otherwise.
const SMALL_SEGMENT: u32 = 536;

/// The endpoint of a session's server, for requests beside the session.
#[derive(Clone)]
pub struct Endpoint {
    address: HttpAddress,
    url: Url,
    session: Arc<Mutex<NegotiatedSession>>,
    /// This program started the server.
    is_ours: bool,
    interceptor: Option<Arc<dyn ResponseInterceptor>>,
}

/// Sees the responses to requests beside a session, and may change them.
pub trait ResponseInterceptor: Send + Sync {
    /// The response that the client gets in the place of one that came; `owner` is who asked.
    fn on_response(&self, owner: &Owner, request: &RawRequest, response: RawResponse) -> RawResponse;
}

impl std::fmt::Debug for Endpoint {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Endpoint").field("url", &self.url.as_str()).finish_non_exhaustive()
    }
}

/// A request, ready to be written.
#[derive(Debug, Clone)]
pub struct RawRequest {
    /// The bytes, in separate writes.
    pub pieces: Vec<Vec<u8>>,
    /// Its method; a response to `HEAD` has no body.
    pub method: String,
    /// The action after the last byte.
    pub after: AfterRequest,
    /// The part of the response that is read.
    pub until: ReadUntil,
    /// The time for all of it.
    pub deadline: Instant,
    /// Ends it sooner, as if the time were over.
    pub enough: Option<Arc<Notify>>,
    /// Nothing is read before this, and little fits between server and client until then; at once without one.
    pub reading: Option<Arc<Notify>>,
}

/// The action after the last byte of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterRequest {
    /// Nothing.
    Open,
    /// The end of our side of the connection.
    CloseWrite,
    /// The end of the connection, without a response.
    Abort,
}

/// The end of an exchange.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExchangeEnd {
    /// With what was wanted of the response.
    Complete,
    /// The server ended the connection before.
    Closed,
    /// The time was over.
    TimedOut,
    /// We cut it off.
    Aborted,
    /// The response cannot be read.
    Failed(HttpFailure),
}

impl Endpoint {
    pub(crate) fn new(address: &HttpAddress, shared: &HttpConnection) -> Self {
        let (url, session) = (shared.url.clone(), Arc::clone(&shared.session));
        Self { address: address.clone(), url, session, is_ours: shared.is_ours, interceptor: None }
    }

    /// The same with somebody who sees every whole response.
    #[must_use]
    pub fn with_interceptor(self, interceptor: Arc<dyn ResponseInterceptor>) -> Self {
        Self { interceptor: Some(interceptor), ..self }
    }

    /// This program started the server, and will see its exit.
    pub fn is_ours(&self) -> bool {
        self.is_ours
    }

    /// The address of the server.
    pub fn address(&self) -> &HttpAddress {
        &self.address
    }

    /// The address of the endpoint.
    pub fn url(&self) -> &str {
        self.url.as_str()
    }

    /// Path and query, where messages are posted.
    pub fn target(&self) -> String {
        let session = self.session.lock();
        path_and_query(session.endpoint.as_ref().unwrap_or(&self.url))
    }

    /// Path and query of the address itself, where a stream is opened.
    pub fn own_target(&self) -> String {
        path_and_query(&self.url)
    }

    /// The path of the address itself.
    pub fn path(&self) -> &str {
        self.url.path()
    }

    /// The value of the header `Host`.
    pub fn host(&self) -> String {
        let host = self.url.host_str().unwrap_or_default();
        self.url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
    }

    /// The header with the token that was fetched for the server, if one was.
    pub fn token_header(&self) -> Option<(String, String)> {
        let token = self.address.tokens.as_ref()?.last_token()?;
        Some(("Authorization".to_owned(), format!("Bearer {token}")))
    }

    /// Fetches a token where the server wants one and nobody has fetched any. Where that fails, the answer to the first
    /// request says that it is missing.
    pub async fn fetch_token(&self) {
        let Some(tokens) = self.address.tokens.as_ref().filter(|tokens| tokens.last_token().is_none()) else { return };
        let Ok(client) = tokens.client(&self.address.tls) else { return };
        let needed = TokenRequest { url: &self.url, client: &client, challenge: None };
        let _ = tokens.refreshed_token(&needed, None).await;
    }

    /// Renews the token where its time is over, before a request that is not sent again if it is refused.
    ///
    /// # Errors
    ///
    /// Says why there is no other token.
    pub async fn renew_token(&self) -> Result<(), HttpFailure> {
        match &self.address.tokens {
            Some(tokens) => tokens.renew_expired(&self.url, &self.address.tls).await,
            None => Ok(()),
        }
    }

    /// Headers of every request to the server, but for a token that was fetched.
    pub fn headers(&self) -> &[(String, String)] {
        &self.address.headers
    }

    /// The id that the server gave the session.
    pub fn session_id(&self) -> Option<String> {
        self.session.lock().id.clone()
    }

    /// Connects, writes, reads, for a case; `Err` says why there was no connection.
    pub async fn exchange(
        &self,
        owner: &Owner,
        request: &RawRequest,
    ) -> Result<(RawResponse, ExchangeEnd), HttpFailure> {
        let mut response = RawResponse::new(request.until, &request.method);
        let Ok(connected) = timeout_at(request.deadline, self.connect(request)).await else {
            let reason = "it did not accept the connection in time".to_owned();
            return Err(HttpFailure::Unreachable { address: host_and_port(&self.url), reason });
        };
        let stream = connected?;
        let ended = if self.url.scheme() == "https" {
            let host = self.url.host_str().unwrap_or_default();
            let Ok(secured) = timeout_at(request.deadline, self.connect_tls(stream, host)).await else {
                return Err(HttpFailure::Tls(format!("`{host}` did not finish the TLS handshake in time")));
            };
            exchange_on(secured?, request, &mut response).await
        } else {
            exchange_on(stream, request, &mut response).await
        };
        Ok(match &self.interceptor {
            Some(interceptor) if ended == ExchangeEnd::Complete => {
                (interceptor.on_response(owner, request, response), ended)
            }
            Some(_) | None => (response, ended),
        })
    }

    async fn connect(&self, request: &RawRequest) -> Result<TcpStream, HttpFailure> {
        let host = self.url.host_str().unwrap_or_default().trim_matches(['[', ']']);
        let port = self.url.port_or_known_default().unwrap_or_default();
        let unknown = |_| HttpFailure::Dns { host: host.to_owned() };
        let addresses: Vec<SocketAddr> = lookup_host((host, port)).await.map_err(unknown)?.collect();
        let connected = if request.reading.is_some() {
            connect_with_small_buffer(&addresses).await
        } else {
            TcpStream::connect(addresses.as_slice()).await
        };
        let stream = connected.map_err(|error| {
            let address = host_and_port(&self.url);
            if error.kind() == io::ErrorKind::ConnectionRefused {
                return HttpFailure::ConnectionRefused { address };
            }
            HttpFailure::Unreachable { address, reason: error.to_string() }
        })?;
        // Pieces travel as they are written.
        let _ = stream.set_nodelay(true);
        if request.after == AfterRequest::Abort {
            // The connection is reset when it is dropped; where that does not work, it ends more politely.
            let _ = stream.set_zero_linger();
        }
        Ok(stream)
    }

    async fn connect_tls(
        &self,
        stream: TcpStream,
        host: &str,
    ) -> Result<tokio_rustls::client::TlsStream<TcpStream>, HttpFailure> {
        let tls_failure = |error: &rustls::Error| tls_failure(error, host);
        let config = config(&self.address.tls).map_err(|error| tls_failure(&error))?;
        let name = ServerName::try_from(host.trim_matches(['[', ']']).to_owned())
            .map_err(|_| HttpFailure::Tls(format!("`{host}` is not a host name that a certificate can have")))?;
        TlsConnector::from(Arc::new(config)).connect(name, stream).await.map_err(|error| match tls_error_in(&error) {
            Some(reason) => tls_failure(&reason),
            None => HttpFailure::Tls(format!("`{host}` closed the connection during the TLS handshake")),
        })
    }
}

/// Connects to the first address that accepts, with as little room for what is not read as the system allows.
async fn connect_with_small_buffer(addresses: &[SocketAddr]) -> io::Result<TcpStream> {
    let mut refused = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for address in addresses {
        let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
        socket.set_recv_buffer_size(SMALL_BUFFER)?;
        // The room on the other side follows from it; where it cannot be set, more fits.
        limit_segments(&socket, SMALL_SEGMENT);
        match socket.connect(*address).await {
            Ok(stream) => return Ok(stream),
            Err(error) => refused = error,
        }
    }
    Err(refused)
}

fn path_and_query(url: &Url) -> String {
    url.query().map_or_else(|| url.path().to_owned(), |query| format!("{}?{query}", url.path()))
}

fn config(tls: &TrustedRoots) -> Result<ClientConfig, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    let builder = match tls {
        TrustedRoots::System => builder.with_platform_verifier()?,
        TrustedRoots::Roots(pem) => {
            let mut roots = RootCertStore::empty();
            // A file without a certificate was refused when the session began.
            roots.add_parsable_certificates(CertificateDer::pem_slice_iter(pem).filter_map(Result::ok));
            builder.with_root_certificates(roots)
        }
    };
    Ok(builder.with_no_client_auth())
}

async fn exchange_on<S>(mut stream: S, request: &RawRequest, response: &mut RawResponse) -> ExchangeEnd
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    if request.after == AfterRequest::Abort {
        let _ = timeout_at(request.deadline, write_pieces(&mut stream, &request.pieces)).await;
        return ExchangeEnd::Aborted;
    }
    let (reader, mut writer) = split(stream);
    let writing = async {
        // A server may refuse before it has read everything; its answer is still to be read.
        if write_pieces(&mut writer, &request.pieces).await.is_ok() && request.after == AfterRequest::CloseWrite {
            let _ = writer.shutdown().await;
        }
        pending::<ExchangeEnd>().await
    };
    let both = async {
        tokio::select! {
            ended = writing => ended,
            ended = read_response(reader, request.reading.as_deref(), response) => ended,
        }
    };
    let enough = async {
        match &request.enough {
            Some(enough) => enough.notified().await,
            None => pending().await,
        }
    };
    tokio::select! {
        ended = timeout_at(request.deadline, both) => ended.unwrap_or(ExchangeEnd::TimedOut),
        () = enough => ExchangeEnd::TimedOut,
    }
}

async fn write_pieces<W: AsyncWrite + Unpin>(writer: &mut W, pieces: &[Vec<u8>]) -> io::Result<()> {
    for (number, piece) in pieces.iter().enumerate() {
        pieces::pause(number).await;
        writer.write_all(piece).await?;
        writer.flush().await?;
    }
    Ok(())
}

async fn read_response<R: AsyncRead + Unpin>(
    mut reader: R,
    begin: Option<&Notify>,
    response: &mut RawResponse,
) -> ExchangeEnd {
    if let Some(begin) = begin {
        begin.notified().await;
    }
    let mut buffer = vec![0; 64 << 10];
    loop {
        let piece = match reader.read(&mut buffer).await {
            Ok(0) if response.ends_with_connection() => return ExchangeEnd::Complete,
            Ok(0) | Err(_) => return ExchangeEnd::Closed,
            Ok(length) => &buffer[..length],
        };
        match response.push(piece) {
            Ok(false) => {}
            Ok(true) => return ExchangeEnd::Complete,
            Err(failure) => return ExchangeEnd::Failed(failure),
        }
    }
}
