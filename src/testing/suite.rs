//! A suite and the servers to run it on.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use rmcp::{RoleServer, Service};
use tokio::io::{AsyncRead, AsyncWrite};

use super::run::ReportedRun;
use super::{Error, Run, serve};
use crate::block;
use crate::plan::{self, Block, Filter, Selection};
use crate::recorded;
use crate::runner::{self, InProcess, Options, Purpose, Snapshots, Stop, Thresholds};
use crate::source::{Color, Diagnostic, Node, Sources, Style, Value, did_you_mean, file, render_all};
use crate::suite::{self, LoadedSuite, Server, ServerKind, Servers, SuiteSource};
use crate::taxonomy::Registry;

/// The name under which messages mention a suite that is no file.
const INLINE: &str = "<inline>";

/// The name of a server that the suite writes under `server:`, or not at all.
const ONLY: &str = "server";

/// The number of columns of a report.
const WIDTH: usize = 100;

/// A suite that was read without a mistake, and the servers that stand in for those that it names.
#[derive(Debug)]
pub struct Suite {
    read: suite::Suite,
    blocks: Vec<Block>,
    sources: Sources,
    warnings: Vec<Diagnostic>,
    given: Vec<(Option<String>, GivenServer)>,
    environment: BTreeMap<String, String>,
    filters: Vec<String>,
    parallel: usize,
    threshold: Option<f64>,
    style: Style,
}

/// A server in the place of one that the suite names.
#[derive(Debug)]
enum GivenServer {
    InProcess(InProcess),
    /// A program and its arguments.
    Command(Vec<String>),
}

impl Suite {
    /// Reads a suite file with everything that it includes.
    ///
    /// Relative paths start at the current folder, which `cargo test` sets to that of the package.
    ///
    /// # Errors
    ///
    /// Fails with every mistake in the suite, or where a file cannot be read.
    ///
    /// ```
    /// use mcprove::testing::Suite;
    ///
    /// let suite = Suite::load("examples/users.yml")?;
    /// # Ok::<(), mcprove::testing::Error>(())
    /// ```
    pub fn load(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::load_file_or(path.as_ref(), None)
    }

    /// Reads a suite from text; what it includes is read from the current folder.
    ///
    /// A suite that only ever runs in a test needs no `server:`.
    ///
    /// # Errors
    ///
    /// Fails with every mistake in the suite.
    pub fn parse(yaml: &str) -> Result<Self, Error> {
        Self::load_file_or(Path::new(INLINE), Some(yaml))
    }

    fn load_file_or(path: &Path, inline: Option<&str>) -> Result<Self, Error> {
        let files = |path: &Path| match inline {
            Some(text) if path == Path::new(INLINE) => Ok(text.to_owned()),
            Some(_) | None => file::read_text(path, file::WRITTEN),
        };
        let style = Style::new(Color::Never, WIDTH);
        let (mut sources, mut warnings) = (Sources::default(), Vec::new());
        let from = SuiteSource { path, servers: Servers::Given, files: &files, grammar: &block::GRAMMAR };
        let LoadedSuite { suite: read, blocks } = suite::load(&from, &mut sources, &mut warnings)
            .map_err(|mistakes| Error::new(mistakes, &sources, style))?;
        let (given, environment, filters) = (Vec::new(), BTreeMap::new(), Vec::new());
        let (parallel, threshold) = (1, None);
        Ok(Self { read, blocks, sources, warnings, given, environment, filters, parallel, threshold, style })
    }

    /// The warnings about the suite, as text; empty without any.
    pub fn warnings(&self) -> String {
        render_all(&self.warnings, &self.sources, "", self.style)
    }

    /// Runs the suite's only server in this process: every session gets a fresh one.
    ///
    /// A server is any rmcp service: a `ServerHandler`, or a type with rmcp's routers.
    #[must_use]
    pub fn server<F, S>(self, make: F) -> Self
    where
        F: Fn() -> S + Send + Sync + 'static,
        S: Service<RoleServer>,
    {
        self.give(None, GivenServer::InProcess(serve::service(make)))
    }

    /// Runs one of several servers in this process, by its name under `servers:`.
    #[must_use]
    pub fn server_named<F, S>(self, name: &str, make: F) -> Self
    where
        F: Fn() -> S + Send + Sync + 'static,
        S: Service<RoleServer>,
    {
        self.give(Some(name), GivenServer::InProcess(serve::service(make)))
    }

    /// Speaks to the suite's only server, of whatever make, over a fresh pair of streams for every session: what it
    /// writes is read from the first, and what it is to read goes to the second, one message a line.
    ///
    /// ```
    /// # use mcprove::testing::Suite;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), mcprove::testing::Error> {
    /// let suite = Suite::load("examples/users.yml")?.connect(|| {
    ///     let (ours, theirs) = tokio::io::duplex(64 * 1024);
    ///     let (reader, writer) = tokio::io::split(theirs);
    ///     // Here stands your server.
    ///     tokio::spawn(mcprove::testserver::serve(reader, writer));
    ///     tokio::io::split(ours)
    /// });
    /// suite.run().await?.assert_passed();
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn connect<F, R, W>(self, open: F) -> Self
    where
        F: Fn() -> (R, W) + Send + Sync + 'static,
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        self.give(None, GivenServer::InProcess(serve::streams(open)))
    }

    /// The same for one of several servers, by its name under `servers:`.
    #[must_use]
    pub fn connect_named<F, R, W>(self, name: &str, open: F) -> Self
    where
        F: Fn() -> (R, W) + Send + Sync + 'static,
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        self.give(Some(name), GivenServer::InProcess(serve::streams(open)))
    }

    /// Starts a program as the suite's only server, over stdio; what else the suite says of the server, such as `env`,
    /// still holds.
    ///
    /// Cargo builds the binaries of a package before its integration tests, and names their files:
    ///
    /// ```no_run
    /// use mcprove::testing::Suite;
    ///
    /// # const SERVER: &str = "target/debug/server";
    /// // In a test of a package with the binary `server`: env!("CARGO_BIN_EXE_server")
    /// let suite = Suite::load("tests/users.mcprove.yml")?.command([SERVER, "--in-memory"]);
    /// suite.run_blocking()?.assert_passed();
    /// # Ok::<(), mcprove::testing::Error>(())
    /// ```
    #[must_use]
    pub fn command<W: Into<String>>(self, words: impl IntoIterator<Item = W>) -> Self {
        self.give(None, GivenServer::Command(words.into_iter().map(Into::into).collect()))
    }

    /// Starts a program as one of several servers, by its name under `servers:`.
    #[must_use]
    pub fn command_named<W: Into<String>>(self, name: &str, words: impl IntoIterator<Item = W>) -> Self {
        self.give(Some(name), GivenServer::Command(words.into_iter().map(Into::into).collect()))
    }

    fn give(mut self, name: Option<&str>, server: GivenServer) -> Self {
        self.given.push((name.map(str::to_owned), server));
        self
    }

    /// Sets a variable for `{{ env.NAME }}`, whose value is kept out of everything that a run shows, and for servers that
    /// are started; the variables of this process are not read.
    #[must_use]
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.environment.insert(name.into(), value.into());
        self
    }

    /// Sets several variables.
    ///
    /// A server that is started is found on this `PATH`, and gets the variables that `mcprove run` would pass on.
    #[must_use]
    pub fn envs<N: Into<String>, V: Into<String>>(mut self, variables: impl IntoIterator<Item = (N, V)>) -> Self {
        self.environment.extend(variables.into_iter().map(|(name, value)| (name.into(), value.into())));
        self
    }

    /// Runs only the cases that an expression such as `tag(smoke) & !name(/slow/)` picks; several must all hold.
    #[must_use]
    pub fn filter(mut self, expression: &str) -> Self {
        self.filters.push(expression.to_owned());
        self
    }

    /// Runs so many cases at a time where the suite does not say; without this one at a time, in declared order.
    #[must_use]
    pub fn parallel(mut self, cases: usize) -> Self {
        self.parallel = cases;
        self
    }

    /// Fails the run if it exercises less than this share of the faults, in percent; see [`Run::exercised_score`].
    #[must_use]
    pub fn threshold(mut self, percent: f64) -> Self {
        self.threshold = Some(percent);
        self
    }

    /// Runs the cases, with the servers of the suite that no other was given for; every session has ended when this
    /// returns.
    ///
    /// Answers are compared with the snapshots beside the suite; `mcprove run --update` writes them.
    ///
    /// Dropping the future ends the run and its servers.
    ///
    /// # Errors
    ///
    /// Fails where a server has no place in the suite or the suite has none, where the registry lacks what the suite
    /// judges, and on a wrong filter. Cases that fail, also because a server does not start, are no error: see [`Run`].
    pub async fn run(mut self) -> Result<Run, Error> {
        let style = self.style;
        let mut mistakes = Vec::new();
        let in_process = self.place_servers(&mut mistakes);
        let selection = self.selection(&mut mistakes);
        let Self { mut read, blocks, sources, environment, parallel, threshold, .. } = self;
        let environment = Arc::new(environment);
        read.environment = Some(Arc::clone(&environment));
        if !mistakes.is_empty() {
            return Err(Error::new(mistakes, &sources, style));
        }
        let sources = Arc::new(sources);
        let plan = plan::build(
            vec![LoadedSuite { suite: read, blocks }],
            selection,
            Registry::builtin(),
            Arc::clone(&sources),
        )
        .map_err(|mistakes| Error::new(mistakes, &sources, style))?;
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
        let options = Options {
            processors: parallel,
            environment,
            in_process,
            thresholds: Thresholds { plain: threshold, weighted: None },
            snapshots: Arc::new(Snapshots { known: recorded::read_texts(&plan), purpose: Purpose::Compare }),
            ..Options::new(now, Stop::new().1)
        };
        let mut seen = ReportedRun::default();
        let summary = runner::run(plan, options, Registry::builtin(), &mut seen).await;
        Ok(Run::new(seen, summary, style))
    }

    /// Does the same without a runtime, in a plain `#[test]`.
    ///
    /// # Errors
    ///
    /// Fails where [`Suite::run`] does.
    ///
    /// # Panics
    ///
    /// Panics inside of a runtime, where `run().await` is the way, and where the system has no resources for one.
    pub fn run_blocking(self) -> Result<Run, Error> {
        match tokio::runtime::Builder::new_current_thread().enable_all().build() {
            Ok(runtime) => runtime.block_on(self.run()),
            Err(error) => panic!("no runtime for the suite: {error}"),
        }
    }

    /// Puts the given servers in their places; returns those in this process, by the names that the suite has for them.
    /// It takes over names where it has none.
    fn place_servers(&mut self, mistakes: &mut Vec<Diagnostic>) -> BTreeMap<String, InProcess> {
        if self.read.servers.is_empty() {
            let span = self.read.name.span;
            let names = self.given.iter().map(|(name, _)| name.clone().unwrap_or_else(|| ONLY.to_owned()));
            self.read.servers = names.map(|name| (name, Server::external(span))).collect();
        }
        let mut in_process = BTreeMap::new();
        for (name, given) in std::mem::take(&mut self.given) {
            match (self.place_of(name), given) {
                (Ok(name), GivenServer::InProcess(server)) => drop(in_process.insert(name, server)),
                (Ok(name), GivenServer::Command(words)) => self.start(&name, words),
                (Err(mistake), _) => mistakes.push(mistake),
            }
        }
        if self.read.servers.is_empty() {
            let none = Diagnostic::error("missing-server", "the suite has no server to test", self.read.name.span);
            mistakes.push(none.with_help("give it one with `.server(|| …)` or `.command([…])`".to_owned()));
        }
        in_process
    }

    /// Has a server of the suite started by this command.
    fn start(&mut self, name: &str, words: Vec<String>) {
        if let Some(server) = self.read.servers.get_mut(name) {
            let word = |text| Node { value: Value::Text(text), span: server.span };
            server.kind = ServerKind::Command(words.into_iter().map(word).collect());
        }
    }

    /// The name that the suite has for a given server.
    fn place_of(&self, name: Option<String>) -> Result<String, Diagnostic> {
        let known = || self.read.servers.keys().map(String::as_str);
        match name {
            Some(name) if self.read.servers.contains_key(&name) => Ok(name),
            Some(name) => {
                let message = format!("the suite has no server `{name}`");
                Err(Diagnostic::error("unknown-server", message, self.read.name.span)
                    .with_help(did_you_mean(&name, known())))
            }
            None => match self.read.servers.keys().next() {
                Some(only) if self.read.servers.len() == 1 => Ok(only.clone()),
                _ => {
                    let message = "the suite has several servers, and one is given without a name";
                    let names: Vec<String> = known().map(|name| format!("`{name}`")).collect();
                    let help = format!("say which of {} it is, as in `.server_named(…)`", names.join(" and "));
                    Err(Diagnostic::error("unknown-server", message, self.read.name.span).with_help(help))
                }
            },
        }
    }

    fn selection(&mut self, mistakes: &mut Vec<Diagnostic>) -> Selection {
        let parsed: Vec<_> = self.filters.iter().map(|text| Filter::parse(text, &mut self.sources)).collect();
        let mut filters = Vec::new();
        for filter in parsed {
            match filter {
                Ok(filter) => filters.push(filter),
                Err(mistake) => mistakes.push(mistake),
            }
        }
        Selection { filters, ..Selection::default() }
    }
}
