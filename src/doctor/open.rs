//! The order of a checkup: what is tried with the server, and what makes the rest impossible.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::Value;

use super::card::CardPlace;
use super::start::ServerOutput;
use super::{Checkup, Examination, ExaminationVerdict};
use super::{
    address, authorization, card, certificate, environment, era, http_answer, lists, program, shutdown, start,
};
use crate::event::Finding;
use crate::plan::arguments::ConfigSource;
use crate::session::{
    CallFailure, ClientAnswers, Connector, Disturbance, FailureReason, NotOpened, OpenFailure, ServerIdentity, Session,
    SessionSettings,
};
use crate::transport::http::{self, HttpAddress};
use crate::transport::stdio::ServerCommand;
use crate::transport::{FirstSignal, HttpFailure, ShutdownOrder, TransportKind};
use crate::wire::{Era, Frame, Revision};

/// The time for a process to end once its input has.
const END_TIMEOUT: Duration = Duration::from_secs(2);

/// The time for `server/discover`, beyond that which the server took to get ready.
const DISCOVER_TIMEOUT: Duration = Duration::from_secs(5);

/// The path at which most servers over HTTP have their endpoint.
const USUAL_PATH: &str = "/mcp";

/// The time for a server at another path than the one that was asked for.
const ELSEWHERE_TIMEOUT: Duration = Duration::from_secs(3);

const SECONDS_OF_DAY: u64 = 86_400;

/// The way to a server.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ServerAccess<'a> {
    /// A program, over its standard streams.
    Program(&'a ServerCommand),
    /// A server over HTTP that runs already.
    Address(&'a HttpAddress),
    /// A server over HTTP that is started for every connection.
    StartedAddress,
    /// A server in this process.
    Inside,
}

/// A server, and how to connect to it.
#[derive(Clone, Copy)]
pub(crate) struct ServerUnderExamination<'a> {
    /// Its name in the suite.
    pub(crate) name: &'a str,
    pub(crate) kind: ServerAccess<'a>,
    /// Makes a connection to a fresh server.
    pub(crate) connect: &'a Connector<'a>,
    pub(crate) start_timeout: Duration,
    pub(crate) request_timeout: Duration,
    /// The revision that was asked for; `None` if any will do.
    pub(crate) wanted: Option<Revision>,
    /// The `server.json` of the registry that describes it.
    pub(crate) registered: Option<&'a Value>,
    /// The environment of this program.
    pub(crate) environment: &'a BTreeMap<String, String>,
    /// Where the server is written.
    pub(crate) config_source: ConfigSource,
    /// Is told what is done next.
    pub(crate) doing: &'a (dyn Fn(String) + Sync),
}

/// Examines a server.
pub(crate) async fn examine(server: ServerUnderExamination<'_>) -> Checkup {
    let checkup = Checkup { server: server.name.to_owned(), ..Checkup::default() };
    let mut run = CheckupRun { server, checkup, stray_lines: 0 };
    run.run().await;
    run.checkup
}

/// A checkup under way.
struct CheckupRun<'a> {
    server: ServerUnderExamination<'a>,
    checkup: Checkup,
    /// The number of lines on standard output that were no messages when the session opened.
    stray_lines: usize,
}

impl CheckupRun<'_> {
    fn add(&mut self, examination: impl Into<Option<Examination>>) {
        self.checkup.examinations.extend(examination.into());
    }

    fn is_hopeless(&self) -> bool {
        self.checkup.verdict() == ExaminationVerdict::Wrong
    }

    fn leave_out(&mut self, names: &[&'static str]) {
        let is_done = |name: &&str| self.checkup.examinations.iter().any(|examination| examination.name == *name);
        self.checkup.not_reached = names.iter().copied().filter(|name| !is_done(name)).collect();
    }

    /// The examinations of such a server, in order.
    fn all(&self) -> &'static [&'static str] {
        match self.server.kind {
            ServerAccess::Program(_) => &[
                "program",
                "start",
                "output",
                "initialize",
                "lists",
                "second start",
                "end of input",
                "server/discover",
            ],
            ServerAccess::Address(_) => {
                &["port", "HTTP", "initialize", "session", "lists", "second session", "server/discover"]
            }
            ServerAccess::StartedAddress | ServerAccess::Inside => {
                &["initialize", "lists", "second session", "server/discover"]
            }
        }
    }

    async fn run(&mut self) {
        self.look_from_outside().await;
        if self.is_hopeless() {
            return self.leave_out(self.all());
        }
        (self.server.doing)("waiting for the answer to `initialize`".to_owned());
        let opened = self.open(Era::Session, self.server.start_timeout).await;
        let failed = match opened {
            Ok(session) => {
                let took = session.server.ready;
                self.judge_opened(&session, Era::Session).await;
                let transport = session.server.transport;
                let spoken = session.server.revision;
                self.use_up(session).await;
                if transport != TransportKind::Sse {
                    self.discover(Some(spoken), took).await;
                }
                return;
            }
            Err(failed) => *failed,
        };
        if was_answered(&failed.failure)
            && let Ok(session) = self.open(Era::Stateless, self.server.start_timeout).await
        {
            self.judge_opened(&session, Era::Stateless).await;
            let discovered = era::judge_discovery(Ok(&session.server), false, self.server.config_source);
            let spoken = session.server.revision;
            self.use_up(session).await;
            self.add(discovered);
            return self.compare_revision(&[spoken]);
        }
        self.judge_failed(&failed).await;
        self.leave_out(self.all());
    }

    /// What can be seen before anything is sent.
    async fn look_from_outside(&mut self) {
        match self.server.kind {
            ServerAccess::Program(command) => {
                self.add(program::judge_program(&command.program, &program::find_program(command)));
            }
            ServerAccess::Address(address) => {
                let Ok(url) = address.url.parse::<reqwest::Url>() else { return };
                (self.server.doing)("connecting to its port".to_owned());
                let reach = address::reach(&url).await;
                let name = address::judge_name(&reach);
                let is_named = name.as_ref().is_none_or(|name| name.verdict != ExaminationVerdict::Wrong);
                self.add(name);
                if is_named {
                    self.add(address::judge_proxy(&url, self.server.environment));
                    self.add(address::judge_port(&reach));
                }
            }
            ServerAccess::StartedAddress | ServerAccess::Inside => {}
        }
    }

    async fn open(&self, era: Era, start_timeout: Duration) -> Result<Session, Box<NotOpened>> {
        let settings = settings(era, start_timeout, self.server.request_timeout);
        Box::pin(Session::open(self.server.connect, settings)).await
    }

    /// The start of a session that opened, before it is used.
    async fn judge_opened(&mut self, session: &Session, era: Era) {
        let frames = session.frames();
        match self.server.kind {
            ServerAccess::Program(command) => {
                self.add(start::judge_start(None, self.server.config_source));
                let output = ServerOutput::of(&frames);
                self.stray_lines = output.stray.len();
                self.add(start::judge_output(&output));
                if let Some(lack) = environment::find_lack(&session.stderr_tail(), &|name| has(command, name)) {
                    let own = self.server.environment;
                    self.add(environment::judge_lack(&lack, true, own, self.server.config_source));
                }
            }
            ServerAccess::Address(address) => {
                let secure = tls(address, None).await;
                self.add(secure);
                self.add(http_answer::judge_answer(&frames));
            }
            ServerAccess::StartedAddress | ServerAccess::Inside => {}
        }
        if era == Era::Session {
            let output = ServerOutput::default();
            self.add(start::judge_initialize(Ok(&session.server), &output, self.server.config_source));
        } else {
            self.add(era::judge_newer_only(&session.server));
        }
        if let ServerAccess::Address(_) = self.server.kind
            && era == Era::Session
        {
            self.add(http_answer::judge_session(&frames));
        }
        self.compare_cards(&session.server).await;
    }

    /// What others read about the server before they connect, beside what it says itself.
    async fn compare_cards(&mut self, own: &ServerIdentity) {
        let mut url = None;
        if let ServerAccess::Address(address) = self.server.kind {
            url = Some(address.url.as_str());
            (self.server.doing)("asking for its server card".to_owned());
            let served = card::find_card(address).await;
            self.add(served.map(|served| card::judge_card(CardPlace::Served, &served, own, url)));
        }
        self.add(self.server.registered.map(|entry| card::judge_card(CardPlace::File, entry, own, url)));
    }

    /// Lists what the server offers, opens a second session beside this one, and ends this one.
    async fn use_up(&mut self, session: Session) {
        (self.server.doing)("asking for its lists".to_owned());
        match session.catalog().await {
            Ok(catalog) => self.add(lists::judge_lists(&lists::ListSizes::of(&catalog))),
            Err(failure) => {
                let found = Finding::from(&failure);
                let cure = "answer every list that the capabilities declare, and all of its pages";
                self.add(
                    Examination::wrong("lists", found.message, cure).with_evidence(start::last_lines(&failure.stderr)),
                );
            }
        }
        (self.server.doing)("opening a second session beside the first".to_owned());
        let second = self.open(session.server.revision.era(), self.server.start_timeout).await;
        let name = if matches!(self.server.kind, ServerAccess::Program(_)) { "second start" } else { "second session" };
        let failed = second.as_ref().err().map(|failed| &failed.failure);
        self.add(era::judge_second(name, failed, self.server.config_source));
        if let Ok(second) = second {
            second.close(Duration::ZERO).await;
        }
        if !matches!(self.server.kind, ServerAccess::Program(_)) {
            session.close(Duration::ZERO).await;
            return;
        }
        self.add(start::judge_late_output(&ServerOutput::of(&session.frames()).since(self.stray_lines)));
        (self.server.doing)("waiting for its end".to_owned());
        let order = ShutdownOrder { first: FirstSignal::EndOfInput, grace: END_TIMEOUT };
        let closed = session.shut_down(order).await;
        self.add(closed.shutdown.as_ref().map(shutdown::judge_shutdown));
    }

    /// Tries the newer era with a server that speaks the older one.
    async fn discover(&mut self, spoken: Option<Revision>, took: Duration) {
        (self.server.doing)("waiting for the answer to `server/discover`".to_owned());
        let discovered = self.open(Era::Stateless, DISCOVER_TIMEOUT + took * 2).await;
        let answered = match &discovered {
            Ok(session) => Ok(&session.server),
            Err(failed) => Err(&failed.failure),
        };
        self.add(era::judge_discovery(answered, true, self.server.config_source));
        let newer = discovered.as_ref().ok().map(|session| session.server.revision);
        if let Ok(session) = discovered {
            session.close(Duration::ZERO).await;
        }
        self.compare_revision(&spoken.into_iter().chain(newer).collect::<Vec<_>>());
    }

    fn compare_revision(&mut self, spoken: &[Revision]) {
        self.add(self.server.wanted.map(|wanted| era::judge_revision(wanted, spoken)));
    }

    /// The reason why there is no session.
    async fn judge_failed(&mut self, failed: &NotOpened) {
        let frames: Vec<Frame> =
            failed.connections.iter().flat_map(|connection| connection.frames.iter().cloned()).collect();
        let config_source = self.server.config_source;
        match self.server.kind {
            ServerAccess::Program(command) => {
                let stderr = stderr_of(&failed.failure);
                let is_known = start::cure_of_lines(stderr).is_some();
                let lack = environment::find_lack(stderr, &|name| has(command, name)).filter(|_| !is_known);
                let mut started = start::judge_start(Some(&failed.failure), config_source);
                let has_started = started.verdict == ExaminationVerdict::Fine;
                if let Some(lack) = &lack {
                    self.add(environment::judge_lack(lack, has_started, self.server.environment, config_source));
                    if !has_started {
                        // The reason stands above.
                        started.cure = None;
                        started.evidence.clear();
                    }
                }
                self.add(started);
                let output = ServerOutput::of(&frames);
                self.add(start::judge_output(&output));
                if has_started {
                    self.add(start::judge_initialize(Err(&failed.failure), &output, config_source));
                }
            }
            ServerAccess::Address(address) => self.judge_failed_address(address, &failed.failure).await,
            ServerAccess::StartedAddress | ServerAccess::Inside => {
                let output = ServerOutput::default();
                self.add(start::judge_initialize(Err(&failed.failure), &output, config_source));
            }
        }
    }

    async fn judge_failed_address(&mut self, address: &HttpAddress, failed: &OpenFailure) {
        let OpenFailure::Handshake(CallFailure { reason: FailureReason::Http(failure), .. }) = failed else {
            let secure = tls(address, None).await;
            self.add(secure);
            let output = ServerOutput::default();
            return self.add(start::judge_initialize(Err(failed), &output, self.server.config_source));
        };
        let secure = tls(address, Some(failure)).await;
        self.add(secure);
        if self.is_hopeless() {
            return;
        }
        if let HttpFailure::AuthRequired(refusal) | HttpFailure::TokenRefused(refusal) = failure {
            let sends_some = address.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization"));
            self.add(authorization::judge_refusal(refusal, sends_some || address.tokens.is_some()));
            (self.server.doing)("asking for the metadata of its authorization".to_owned());
            let metadata = authorization::find_metadata(address, refusal).await;
            return self.add(metadata.as_ref().map(authorization::judge_metadata));
        }
        let works_at = if http_answer::may_be_elsewhere(failure) { self.find_elsewhere(address).await } else { None };
        self.add(http_answer::judge_failure(failure, &address.url, works_at.as_deref()));
    }

    /// The usual path at the same host, if a server answers there.
    async fn find_elsewhere(&self, address: &HttpAddress) -> Option<String> {
        let mut url: reqwest::Url = address.url.parse().ok()?;
        if url.path() == USUAL_PATH {
            return None;
        }
        url.set_path(USUAL_PATH);
        // A query may hold a token.
        (self.server.doing)(format!("looking for a server at the path `{USUAL_PATH}`"));
        let elsewhere = HttpAddress { url: url.to_string(), ..address.clone() };
        let connect: &Connector<'_> = &|| Box::pin(std::future::ready(http::connect(&elsewhere)));
        let opened = Session::open(connect, settings(Era::Session, ELSEWHERE_TIMEOUT, ELSEWHERE_TIMEOUT));
        match Box::pin(opened).await {
            Ok(session) => {
                session.close(Duration::ZERO).await;
                Some(elsewhere.url)
            }
            Err(_) => None,
        }
    }
}

fn settings(era: Era, start_timeout: Duration, request_timeout: Duration) -> SessionSettings {
    let (revision, known) = match era {
        // Any revision that the server answers with will do.
        Era::Session => (None, Some(Revision::NEWEST_WITH_SESSION)),
        Era::Stateless => (Some(Revision::NEWEST), None),
    };
    SessionSettings {
        revision,
        known,
        start_timeout,
        request_timeout,
        answers: ClientAnswers::default(),
        performs_handshake: true,
        keeps_frames: false,
        disturbance: Disturbance::None,
        answered: None,
    }
}

/// The secure connection, for an address that has one.
async fn tls(address: &HttpAddress, failure: Option<&HttpFailure>) -> Option<Examination> {
    let url = address.url.parse::<reqwest::Url>().ok().filter(|url| url.scheme() == "https")?;
    let host = url.host_str().unwrap_or_default();
    if let Some(judged) = failure.and_then(http_answer::judge_tls) {
        return Some(judged);
    }
    let shown = http::certificate(&address.tls, &url).await;
    let today = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs() / SECONDS_OF_DAY;
    let read = shown.as_deref().and_then(certificate::read_certificate);
    // Where none was seen, nothing is said.
    read.map(|read| certificate::judge_certificate(host, &read, today.cast_signed()))
}

fn has(command: &ServerCommand, name: &str) -> bool {
    command.env.iter().any(|(known, value)| known == name && !value.is_empty())
}

/// The server answered `initialize`, though with a refusal: the newer era may be the one that it speaks.
fn was_answered(failure: &OpenFailure) -> bool {
    match failure {
        OpenFailure::Refused { .. } | OpenFailure::NotSpoken { .. } => true,
        OpenFailure::Handshake(CallFailure { reason: FailureReason::Http(failure), .. }) => {
            failure.bare_status().is_some()
        }
        OpenFailure::Handshake(_) | OpenFailure::Connect(_) => false,
    }
}

fn stderr_of(failure: &OpenFailure) -> &[String] {
    match failure {
        OpenFailure::Handshake(failure) => &failure.stderr,
        OpenFailure::Refused { stderr, .. } => stderr,
        OpenFailure::Connect(_) | OpenFailure::NotSpoken { .. } => &[],
    }
}
