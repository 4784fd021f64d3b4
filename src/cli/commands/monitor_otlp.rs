//! The endpoint of OpenTelemetry that a monitor sends traces and metrics to; neither holds up a run.

use std::hash::{BuildHasher as _, RandomState};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use parking_lot::Mutex;
use percent_encoding::percent_decode_str;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Url};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::parsing::now;
use crate::cli::console::Console;
use crate::cli::environment::Environment;
use crate::cli::exit::Exit;
use crate::monitor::ledger::Ledger;
use crate::monitor::metrics::families;
use crate::monitor::otlp::{
    Attributes, ExportFailure, ExportHealth, Retry, Signal, batches, metrics_request, send, trace_request,
};
use crate::monitor::span_queue::SpanQueue;
use crate::monitor::spans::{TracedRun, spans};
use crate::source::file::{WRITTEN, read_bytes};
use crate::transport::http::{TrustedRoots, bare_client};

const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
const HEADERS: &str = "OTEL_EXPORTER_OTLP_HEADERS";
const CERTIFICATE: &str = "OTEL_EXPORTER_OTLP_CERTIFICATE";
const REQUEST_TIMEOUT: &str = "OTEL_EXPORTER_OTLP_TIMEOUT";
const TRACE_INTERVAL: &str = "OTEL_BSP_SCHEDULE_DELAY";
const METRIC_INTERVAL: &str = "OTEL_METRIC_EXPORT_INTERVAL";
const SERVICE_NAME: &str = "OTEL_SERVICE_NAME";
const RESOURCE_ATTRIBUTES: &str = "OTEL_RESOURCE_ATTRIBUTES";

/// The most spans of a request.
const MOST_SPANS: usize = 512;

/// The most samples of a request: a few megabytes, of which collectors take 20.
const MOST_SAMPLES: usize = 20_000;

/// Where traces and metrics are sent.
#[derive(Debug, Args)]
pub(crate) struct OtlpArgs {
    /// The endpoint of OpenTelemetry (OTLP over HTTP) to which traces and metrics are sent, such as `http://127.0.0.1:4318`; otherwise that of `OTEL_EXPORTER_OTLP_ENDPOINT`, if it is set.
    #[arg(long, value_name = "URL")]
    otlp_endpoint: Option<String>,
}

/// An endpoint that takes traces, metrics or both.
#[derive(Debug, Clone)]
pub(crate) struct OtlpExporter {
    /// The flag or variable that names the endpoint.
    named_by: String,
    client: Client,
    traces: Option<SignalExport>,
    metrics: Option<SignalExport>,
    headers: HeaderMap,
    request_timeout: Duration,
    resource: Attributes,
}

/// Where and how often something is sent.
#[derive(Debug, Clone)]
struct SignalExport {
    url: Url,
    interval: Duration,
}

impl OtlpArgs {
    /// The endpoint, if there is one; an error does not show the address.
    pub(crate) fn read(&self, console: &Console) -> Result<Option<OtlpExporter>, Exit> {
        let environment = &console.environment;
        let of_environment = environment.get(ENDPOINT).filter(|_| !is_disabled(environment));
        let (from, text) = match (&self.otlp_endpoint, of_environment) {
            (Some(url), _) => ("`--otlp-endpoint`".to_owned(), url.as_str()),
            (None, Some(url)) => (format!("the variable `{ENDPOINT}`"), url),
            (None, None) => return Ok(None),
        };
        let refuse = |why: String, help| console.fail(Exit::Usage, why, Some(help));
        let base = base_address(text).map_err(|help| refuse(format!("{from} holds no address"), help))?;
        let headers = environment.get(HEADERS).map_or(Ok(HeaderMap::new()), |text| {
            let help = "write `NAME=VALUE,NAME=VALUE`, with `%2C` for a comma, such as `api-key=abc`";
            headers(text).ok_or_else(|| refuse(format!("the variable `{HEADERS}` holds no headers"), help))
        })?;
        let time = |name: &str, default: u64| {
            let help = "write a number of milliseconds from 10 to 3600000";
            let parsed = environment.get(name).map_or(Some(default), milliseconds);
            let time = parsed.ok_or_else(|| refuse(format!("the variable `{name}` holds no time"), help))?;
            Ok(Duration::from_millis(time))
        };
        let export = |signal: Signal, exporter: &str, interval| {
            let is_wanted = environment.get(exporter) != Some("none");
            is_wanted.then(|| SignalExport { url: below(&base, signal.path()), interval })
        };
        let roots = environment.get(CERTIFICATE).map_or(Ok(TrustedRoots::System), |file| {
            let pem = read_bytes(Path::new(file), WRITTEN);
            let why = |error| format!("cannot read the certificates that `{CERTIFICATE}` names: {error}");
            pem.map(TrustedRoots::Roots).map_err(|error| console.fail(Exit::Environment, why(error), None))
        })?;
        let client = bare_client(&roots, base.scheme());
        let exporter = OtlpExporter {
            named_by: from.clone(),
            client: client.map_err(|error| console.fail(Exit::Environment, error, None))?,
            traces: export(Signal::Traces, "OTEL_TRACES_EXPORTER", time(TRACE_INTERVAL, 5_000)?),
            metrics: export(Signal::Metrics, "OTEL_METRICS_EXPORTER", time(METRIC_INTERVAL, 60_000)?),
            headers,
            request_timeout: time(REQUEST_TIMEOUT, 10_000)?,
            resource: resource(environment.get(SERVICE_NAME), environment.get(RESOURCE_ATTRIBUTES)),
        };
        Ok(Some(exporter))
    }
}

/// Returns true if the environment asks for no telemetry at all.
fn is_disabled(environment: &Environment) -> bool {
    environment.get("OTEL_SDK_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true"))
}

/// The address below which the paths of traces and metrics are; otherwise what to write.
fn base_address(text: &str) -> Result<Url, &'static str> {
    let url = text.parse().ok().filter(|url: &Url| matches!(url.scheme(), "http" | "https") && url.has_host());
    let mut url = url.ok_or("write an address such as `http://127.0.0.1:4318`")?;
    let path = url.path().trim_end_matches('/').to_owned();
    if path.ends_with("/v1/traces") || path.ends_with("/v1/metrics") {
        return Err("leave out `/v1/traces` and `/v1/metrics`, which are added");
    }
    url.set_path(&format!("{path}/"));
    Ok(url)
}

/// The address of a path below a base, whose query it keeps.
fn below(base: &Url, path: &str) -> Url {
    let mut url = base.clone();
    url.set_path(&format!("{}{path}", base.path()));
    url
}

/// Pairs of names and values, in which characters are encoded as in addresses; `None` if one is no pair.
fn pairs(text: &str) -> Option<Vec<(String, String)>> {
    let pair = |pair: &str| {
        let (name, value) = pair.split_once('=')?;
        let value = percent_decode_str(value.trim()).decode_utf8().ok()?.into_owned();
        Some((name.trim().to_owned(), value))
    };
    text.split(',').filter(|pair| !pair.trim().is_empty()).map(pair).collect()
}

fn headers(text: &str) -> Option<HeaderMap> {
    let header = |(name, value): (String, String)| {
        let mut value = HeaderValue::from_str(&value).ok()?;
        value.set_sensitive(true);
        Some((HeaderName::from_bytes(name.as_bytes()).ok()?, value))
    };
    pairs(text)?.into_iter().map(header).collect()
}

fn milliseconds(text: &str) -> Option<u64> {
    text.trim().parse().ok().filter(|time| (10..=3_600_000).contains(time))
}

/// What sends: the name and version of the program, and what the environment says of it. Attributes that cannot be read
/// are left out, as by every program with OpenTelemetry.
fn resource(service_name: Option<&str>, attributes: Option<&str>) -> Attributes {
    let mut said = attributes.and_then(pairs).unwrap_or_default();
    let mut own = |name: &str, value: Option<&str>, default: String| {
        let given = said.iter().position(|(one, _)| one == name).map(|place| said.remove(place).1);
        (name.to_owned(), value.map(str::to_owned).or(given).unwrap_or(default))
    };
    let instance = format!("{:032x}", u128::from_be_bytes(random_id()));
    let all = [
        own("service.name", service_name, "mcprove".to_owned()),
        own("service.version", None, env!("CARGO_PKG_VERSION").to_owned()),
        own("service.instance.id", None, instance),
    ];
    let mut resource = Attributes::default();
    for (name, value) in all.iter().chain(&said) {
        resource.text(name, value);
    }
    resource
}

/// A random id, which is not zero.
fn random_id() -> [u8; 16] {
    // Each state has a key of its own, which the standard library draws.
    let [one, other] = [(); 2].map(|()| RandomState::new().hash_one(()).max(1));
    (u128::from(one) << 64 | u128::from(other)).to_be_bytes()
}

/// Takes in runs for an endpoint that takes traces.
#[derive(Debug, Clone)]
pub(crate) struct SpanSender(Arc<Mutex<SpanQueue>>);

impl SpanSender {
    /// Has the spans of a run sent, if there is room.
    pub(crate) fn send(&self, run: &TracedRun) {
        self.0.lock().push(spans(run, random_id()));
    }
}

/// The tasks that send.
pub(crate) struct OtlpTasks {
    tasks: JoinSet<()>,
    end: watch::Sender<bool>,
}

impl OtlpTasks {
    /// Has everything sent that waits; the tasks are over at the latest after this time.
    pub(crate) async fn finish(mut self, most: Duration) {
        let _ = self.end.send(true);
        let all = async { while self.tasks.join_next().await.is_some() {} };
        let _ = timeout(most, all).await;
    }
}

impl OtlpExporter {
    /// Returns true if runs are to be traced.
    pub(crate) fn takes_traces(&self) -> bool {
        self.traces.is_some()
    }

    /// Says what is sent: an endpoint of the environment must surprise nobody.
    pub(crate) fn introduce(&self, console: &Console) {
        let signals = match (&self.traces, &self.metrics) {
            (Some(_), Some(_)) => "traces and metrics",
            (Some(_), None) => "traces",
            (None, Some(_)) => "metrics",
            (None, None) => "neither traces nor metrics",
        };
        console.note(&format!("{signals} are sent by OTLP to the endpoint of {}", self.named_by));
    }

    /// Begins to send.
    pub(crate) fn start(self, ledger: &Arc<Mutex<Ledger>>, console: &Console) -> (SpanSender, OtlpTasks) {
        let (end, over) = watch::channel(false);
        let mut tasks = JoinSet::new();
        let queue = Arc::new(Mutex::new(SpanQueue::default()));
        let link = |signal, export: &SignalExport| ExportLink {
            export: export.clone(),
            exporter: self.clone(),
            signal,
            health: ExportHealth::new(signal),
            ledger: Arc::clone(ledger),
            console: console.clone(),
            over: over.clone(),
        };
        if let Some(export) = &self.traces {
            tasks.spawn(link(Signal::Traces, export).send_traces(Arc::clone(&queue)));
        }
        if let Some(export) = &self.metrics {
            tasks.spawn(link(Signal::Metrics, export).send_metrics(now()));
        }
        (SpanSender(queue), OtlpTasks { tasks, end })
    }
}

/// The requests with all figures, which count from `begun` to `now`.
fn metrics_requests(resource: &Attributes, ledger: &Ledger, begun: Duration, now: Duration) -> Vec<Vec<u8>> {
    let batches = batches(families(ledger), MOST_SAMPLES).into_iter();
    batches.map(|batch| metrics_request(resource, batch, begun, now)).collect()
}

/// The way of one signal to the endpoint.
struct ExportLink {
    export: SignalExport,
    exporter: OtlpExporter,
    signal: Signal,
    health: ExportHealth,
    ledger: Arc<Mutex<Ledger>>,
    console: Console,
    over: watch::Receiver<bool>,
}

impl ExportLink {
    async fn send_traces(mut self, queue: Arc<Mutex<SpanQueue>>) {
        let mut after = None;
        loop {
            let goes_on = self.wait(after.take()).await;
            loop {
                let batch = queue.lock().take(MOST_SPANS);
                if batch.is_empty() {
                    break;
                }
                let sent = self.send(trace_request(&self.exporter.resource, batch.clone())).await;
                match &sent {
                    Ok(()) => {}
                    Err(ExportFailure { retry: Retry::Later(time), .. }) if goes_on => {
                        after = *time;
                        queue.lock().put_back(batch);
                    }
                    Err(failure) => queue.lock().drop_some(&batch, failure.retry),
                }
                let dropped = queue.lock().take_dropped();
                if !self.observe(&sent, dropped) {
                    break;
                }
            }
            if !goes_on {
                return;
            }
        }
    }

    async fn send_metrics(mut self, begun: Duration) {
        let mut after = None;
        loop {
            let goes_on = self.wait(after.take()).await;
            let requests = metrics_requests(&self.exporter.resource, &self.ledger.lock(), begun, now());
            for request in requests {
                let sent = self.send(request).await;
                if let Err(ExportFailure { retry: Retry::Later(time), .. }) = &sent {
                    after = *time;
                }
                if !self.observe(&sent, 0) {
                    break;
                }
            }
            if !goes_on {
                return;
            }
        }
    }

    /// Waits for the next turn, and no less than an endpoint asked for; returns false if it is the last one.
    async fn wait(&mut self, after: Option<Duration>) -> bool {
        let time = self.health.wait(self.export.interval).max(after.unwrap_or_default());
        timeout(time, self.over.wait_for(|is_over| *is_over)).await.is_err()
    }

    async fn send(&self, body: Vec<u8>) -> Result<(), ExportFailure> {
        let OtlpExporter { client, headers, request_timeout, .. } = &self.exporter;
        send(client, self.signal, &self.export.url, headers, body, *request_timeout).await
    }

    /// Counts a request, and says what changed; returns true if it was taken.
    fn observe(&mut self, sent: &Result<(), ExportFailure>, dropped: u64) -> bool {
        {
            let mut ledger = self.ledger.lock();
            ledger.otlp_exports.add(sent.is_ok());
            ledger.spans_dropped = ledger.spans_dropped.saturating_add(dropped);
        }
        let result = sent.as_ref().map(|&()| ()).map_err(|failure| failure.why.as_str());
        if let Some(line) = self.health.observe(result, dropped) {
            self.console.note(&line);
        }
        sent.is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::monitor::otlp::shown;

    #[test]
    fn addresses() {
        for (text, expected) in [
            ("http://127.0.0.1:4318", Ok("http://127.0.0.1:4318/v1/traces")),
            ("http://127.0.0.1:4318/", Ok("http://127.0.0.1:4318/v1/traces")),
            ("https://example.org/otlp/?key=a", Ok("https://example.org/otlp/v1/traces?key=a")),
            ("127.0.0.1:4318", Err("write an address such as `http://127.0.0.1:4318`")),
            ("grpc://example.org", Err("write an address such as `http://127.0.0.1:4318`")),
            ("http://a.example/v1/traces", Err("leave out `/v1/traces` and `/v1/metrics`, which are added")),
        ] {
            let found = base_address(text).map(|base| below(&base, Signal::Traces.path()).to_string());
            assert_eq!(found, expected.map(str::to_owned), "{text}");
        }
    }

    #[test]
    fn headers_of_the_environment() {
        for (text, expected) in [
            ("api-key=a", Some(vec![("api-key", "a")])),
            (" Authorization = Basic%20abc= , x=1%2C2,", Some(vec![("authorization", "Basic abc="), ("x", "1,2")])),
            ("", Some(vec![])),
            ("secret", None),
            ("a b=c", None),
            ("a=%0A", None),
        ] {
            let found = headers(text);
            let found = found.as_ref().map(|found| {
                found.iter().map(|(name, value)| (name.as_str(), value.to_str().unwrap())).collect::<Vec<_>>()
            });
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn resources() {
        for (name, attributes, expected) in [
            (None, None, "service.name=mcprove"),
            (Some("own"), Some("service.name=theirs,a=b%20c"), "service.name=own a=b c"),
            (None, Some("service.name=theirs,service.instance.id=1"), "service.name=theirs service.instance.id=1"),
            (None, Some("nonsense"), "service.name=mcprove"),
        ] {
            let attributes = resource(name, attributes).into_list();
            let said: Vec<String> = attributes.iter().map(shown).collect();
            let own = said.iter().filter(|said| !said.ends_with(env!("CARGO_PKG_VERSION")));
            let given = own.filter(|said| said.len() < 30).map(String::as_str);
            assert_eq!(given.collect::<Vec<_>>().join(" "), expected);
        }
        assert_ne!(random_id(), random_id());
    }
}
