//! OpenTelemetry's protocol (OTLP) over HTTP: spans and metrics as requests, their delivery, and what is said of it.

use std::time::Duration;

use opentelemetry_proto::tonic::collector::metrics::v1::{ExportMetricsServiceRequest, ExportMetricsServiceResponse};
use opentelemetry_proto::tonic::collector::trace::v1::{ExportTraceServiceRequest, ExportTraceServiceResponse};
use opentelemetry_proto::tonic::common::v1::any_value::Value as AttributeValue;
use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue};
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::number_data_point::Value as Number;
use opentelemetry_proto::tonic::metrics::v1::{
    AggregationTemporality, Gauge, Histogram, HistogramDataPoint, Metric, NumberDataPoint, ResourceMetrics,
    ScopeMetrics, Sum,
};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};
use prost::Message;
use reqwest::header::{CONTENT_TYPE, HeaderMap, RETRY_AFTER};
use reqwest::{Client, Response, StatusCode, Url};

use super::metrics::{BOUNDS, MetricFamily, MetricKind, MetricSample, MetricValue, label_value};

/// The longest answer that is read: all that counts in it is a number.
const LONGEST_ANSWER: usize = 64 * 1024;

/// The longest wait that an endpoint can ask for.
const LONGEST_RETRY_AFTER: Duration = Duration::from_secs(300);

/// What is sent: each has its own path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// Spans.
    Traces,
    /// Figures.
    Metrics,
}

impl Signal {
    /// The word in messages.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Traces => "traces",
            Self::Metrics => "metrics",
        }
    }

    /// The path below the address of an endpoint.
    pub fn path(self) -> &'static str {
        match self {
            Self::Traces => "v1/traces",
            Self::Metrics => "v1/metrics",
        }
    }
}

/// The attributes of a span, a sample or a resource.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Attributes(Vec<KeyValue>);

impl Attributes {
    /// Adds a text that somebody else may have written, as a short line.
    pub fn text(&mut self, key: &str, value: &str) {
        self.detail(key, label_value(value));
    }

    /// Adds a text that is a short line already.
    pub fn detail(&mut self, key: &str, value: String) {
        self.add(key, AttributeValue::StringValue(value));
    }

    /// Adds a number.
    pub fn count(&mut self, key: &str, value: u64) {
        self.add(key, AttributeValue::IntValue(i64::try_from(value).unwrap_or(i64::MAX)));
    }

    /// Adds something that holds or not.
    pub fn flag(&mut self, key: &str, value: bool) {
        self.add(key, AttributeValue::BoolValue(value));
    }

    /// All of them, in order.
    pub fn into_list(self) -> Vec<KeyValue> {
        self.0
    }

    fn add(&mut self, key: &str, value: AttributeValue) {
        let value = Some(AnyValue { value: Some(value) });
        self.0.push(KeyValue { key: key.to_owned(), value, ..KeyValue::default() });
    }
}

/// A time since 1970 in nanoseconds.
pub fn nanos(since_1970: Duration) -> u64 {
    u64::try_from(since_1970.as_nanos()).unwrap_or(u64::MAX)
}

/// The body of a request with spans.
pub fn trace_request(resource: &Attributes, spans: Vec<Span>) -> Vec<u8> {
    let scope_spans = vec![ScopeSpans { scope: Some(scope()), spans, ..ScopeSpans::default() }];
    let resource = Some(resource_of(resource));
    let resource_spans = vec![ResourceSpans { resource, scope_spans, ..ResourceSpans::default() }];
    ExportTraceServiceRequest { resource_spans }.encode_to_vec()
}

/// The body of a request with figures, which are counted from `begun` to `now`.
pub fn metrics_request(resource: &Attributes, families: Vec<MetricFamily>, begun: Duration, now: Duration) -> Vec<u8> {
    let metrics = families.into_iter().map(|family| metric(family, nanos(begun), nanos(now))).collect();
    let scope_metrics = vec![ScopeMetrics { scope: Some(scope()), metrics, ..ScopeMetrics::default() }];
    let resource = Some(resource_of(resource));
    let resource_metrics = vec![ResourceMetrics { resource, scope_metrics, ..ResourceMetrics::default() }];
    ExportMetricsServiceRequest { resource_metrics }.encode_to_vec()
}

/// The families in several lists of at most this many samples, for requests of a size that collectors take.
pub fn batches(families: Vec<MetricFamily>, most: usize) -> Vec<Vec<MetricFamily>> {
    let mut batches: Vec<Vec<MetricFamily>> = Vec::new();
    let mut room = 0;
    for family in families {
        for samples in family.samples.chunks(most) {
            if samples.len() > room {
                batches.push(Vec::new());
                room = most;
            }
            let part = MetricFamily { samples: samples.to_vec(), ..family };
            if let Some(batch) = batches.last_mut() {
                batch.push(part);
            }
            room -= samples.len();
        }
    }
    batches
}

fn scope() -> InstrumentationScope {
    let (name, version) = ("mcprove".to_owned(), env!("CARGO_PKG_VERSION").to_owned());
    InstrumentationScope { name, version, ..InstrumentationScope::default() }
}

fn resource_of(attributes: &Attributes) -> Resource {
    Resource { attributes: attributes.clone().into_list(), ..Resource::default() }
}

/// A family under the name from which collectors make that of Prometheus again: they add units and `_total`.
fn metric(family: MetricFamily, begun: u64, now: u64) -> Metric {
    let MetricFamily { name, kind, help, samples } = family;
    let name = name.strip_suffix("_total").unwrap_or(name);
    let (name, unit) = name.strip_suffix("_seconds").map_or((name, ""), |name| (name, "s"));
    let cumulative = AggregationTemporality::Cumulative.into();
    let data = match kind {
        MetricKind::Gauge => Data::Gauge(Gauge { data_points: numbers(samples, 0, now) }),
        MetricKind::Counter => Data::Sum(Sum {
            data_points: numbers(samples, begun, now),
            aggregation_temporality: cumulative,
            is_monotonic: true,
        }),
        MetricKind::Histogram => Data::Histogram(Histogram {
            data_points: samples.into_iter().filter_map(|sample| histogram(sample, begun, now)).collect(),
            aggregation_temporality: cumulative,
        }),
    };
    Metric {
        name: format!("mcprove.{name}"),
        description: help.to_owned(),
        unit: unit.to_owned(),
        data: Some(data),
        ..Metric::default()
    }
}

fn numbers(samples: Vec<MetricSample>, begun: u64, now: u64) -> Vec<NumberDataPoint> {
    let number = |sample: MetricSample| {
        let value = match sample.value {
            MetricValue::Integer(value) => Number::AsInt(value),
            MetricValue::Seconds(value) => Number::AsDouble(value),
            MetricValue::Times(_) => return None,
        };
        Some(NumberDataPoint {
            attributes: attributes_of(&sample),
            start_time_unix_nano: begun,
            time_unix_nano: now,
            value: Some(value),
            ..NumberDataPoint::default()
        })
    };
    samples.into_iter().filter_map(number).collect()
}

fn histogram(sample: MetricSample, begun: u64, now: u64) -> Option<HistogramDataPoint> {
    let attributes = attributes_of(&sample);
    let MetricValue::Times(times) = sample.value else { return None };
    Some(HistogramDataPoint {
        attributes,
        start_time_unix_nano: begun,
        time_unix_nano: now,
        count: times.total(),
        sum: Some(times.sum.as_secs_f64()),
        bucket_counts: times.counts.into(),
        explicit_bounds: BOUNDS.into(),
        ..HistogramDataPoint::default()
    })
}

fn attributes_of(sample: &MetricSample) -> Vec<KeyValue> {
    let mut attributes = Attributes::default();
    for (name, value) in sample.labels() {
        attributes.detail(name, value.clone());
    }
    attributes.into_list()
}

/// Why an endpoint did not take a request, or not all of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportFailure {
    /// The end of a sentence about it, without the address and without words of the endpoint.
    pub why: String,
    /// Whether the same request may be taken later.
    pub retry: Retry,
}

/// Whether a request is sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    /// It would be refused again.
    Never,
    /// Later, and not before this time has passed if the endpoint says so.
    Later(Option<Duration>),
    /// It was taken but for so many spans or data points, which would be refused again.
    Taken {
        /// At least one.
        refused: u64,
    },
}

impl ExportFailure {
    fn later(why: impl Into<String>) -> Self {
        Self { why: why.into(), retry: Retry::Later(None) }
    }
}

/// Sends a request once.
pub async fn send(
    client: &Client,
    signal: Signal,
    url: &Url,
    headers: &HeaderMap,
    body: Vec<u8>,
    time: Duration,
) -> Result<(), ExportFailure> {
    let request = client.post(url.clone()).headers(headers.clone()).header(CONTENT_TYPE, "application/x-protobuf");
    let response = request.body(body).timeout(time).send().await.map_err(|error| {
        ExportFailure::later(if error.is_timeout() {
            "the endpoint did not answer in time"
        } else if error.is_connect() {
            "no connection to the endpoint"
        } else if url.port() == Some(4317) {
            "the endpoint does not speak HTTP/1.1; port 4317 is for gRPC, and 4318 usually for HTTP"
        } else {
            "the connection to the endpoint broke"
        })
    })?;
    let after = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.trim().parse().ok());
    judge_status(signal, response.status(), after.map(Duration::from_secs))?;
    let refused = refused_of(signal, &beginning(response).await);
    if refused > 0 {
        let why = format!("the endpoint refused {refused} of the {}", parts(signal));
        return Err(ExportFailure { why, retry: Retry::Taken { refused } });
    }
    Ok(())
}

/// The verdict on a request by the status of the answer.
fn judge_status(signal: Signal, status: StatusCode, after: Option<Duration>) -> Result<(), ExportFailure> {
    if status.is_success() {
        return Ok(());
    }
    // The only ones that the specification of OTLP calls passing.
    let retry = match status.as_u16() {
        429 | 502..=504 => Retry::Later(after.map(|after| after.min(LONGEST_RETRY_AFTER))),
        _ => Retry::Never,
    };
    let help = match status.as_u16() {
        401 | 403 => "; set `OTEL_EXPORTER_OTLP_HEADERS`".to_owned(),
        404 => format!(
            "; if it takes no {0}, set `OTEL_{1}_EXPORTER=none`",
            signal.as_str(),
            signal.as_str().to_uppercase()
        ),
        _ => String::new(),
    };
    Err(ExportFailure { why: format!("the endpoint answered {status}{help}"), retry })
}

/// The beginning of an answer; nothing of one that is too long, since it means nothing then.
async fn beginning(mut response: Response) -> Vec<u8> {
    let mut answer = Vec::new();
    while let Ok(Some(piece)) = response.chunk().await {
        answer.extend_from_slice(&piece);
        if answer.len() > LONGEST_ANSWER {
            return Vec::new();
        }
    }
    answer
}

/// The number of spans or data points that an answer says were refused; an answer that cannot be read says nothing.
fn refused_of(signal: Signal, answer: &[u8]) -> u64 {
    let refused = match signal {
        Signal::Traces => ExportTraceServiceResponse::decode(answer)
            .ok()
            .and_then(|answer| Some(answer.partial_success?.rejected_spans)),
        Signal::Metrics => ExportMetricsServiceResponse::decode(answer)
            .ok()
            .and_then(|answer| Some(answer.partial_success?.rejected_data_points)),
    };
    refused.and_then(|refused| u64::try_from(refused).ok()).unwrap_or_default()
}

fn parts(signal: Signal) -> &'static str {
    match signal {
        Signal::Traces => "spans",
        Signal::Metrics => "data points",
    }
}

/// Whether an endpoint takes what it is sent, told once when that changes.
#[derive(Debug, Clone)]
pub struct ExportHealth {
    signal: Signal,
    /// The number of failed requests in a row.
    failures: u32,
    /// The number of spans that were dropped while it failed.
    dropped: u64,
}

impl ExportHealth {
    /// Nothing has failed yet.
    pub fn new(signal: Signal) -> Self {
        Self { signal, failures: 0, dropped: 0 }
    }

    /// Takes in a result, and the number of spans that were dropped meanwhile; returns what is to be said.
    pub fn observe(&mut self, result: Result<(), &str>, dropped: u64) -> Option<String> {
        self.dropped = self.dropped.saturating_add(dropped);
        let signal = self.signal.as_str();
        match result {
            Ok(()) if self.failures > 0 => {
                self.failures = 0;
                let lost = match std::mem::take(&mut self.dropped) {
                    0 => String::new(),
                    1 => "; 1 span is lost".to_owned(),
                    some => format!("; {some} spans are lost"),
                };
                Some(format!("OpenTelemetry: the endpoint takes {signal} again{lost}"))
            }
            Ok(()) => None,
            Err(why) => {
                self.failures = self.failures.saturating_add(1);
                let is_first = self.failures == 1;
                is_first.then(|| {
                    format!(
                        "warning: OpenTelemetry: sending {signal} failed: {why}; the monitor goes on, and keeps sending"
                    )
                })
            }
        }
    }

    /// The wait for the next request: twice as long after each failure in a row, up to a minute.
    pub fn wait(&self, interval: Duration) -> Duration {
        let longest = Duration::from_secs(60).max(interval);
        let factor = 1_u32.checked_shl(self.failures.saturating_sub(1)).unwrap_or(u32::MAX);
        interval.saturating_mul(factor).min(longest)
    }
}

/// An attribute as `key=value`.
#[cfg(test)]
pub(crate) fn shown(attribute: &KeyValue) -> String {
    let value = match attribute.value.as_ref().and_then(|value| value.value.as_ref()) {
        Some(AttributeValue::StringValue(text)) => text.clone(),
        Some(AttributeValue::IntValue(number)) => number.to_string(),
        Some(AttributeValue::BoolValue(flag)) => flag.to_string(),
        other => format!("{other:?}"),
    };
    format!("{}={value}", attribute.key)
}

#[cfg(test)]
mod tests {
    use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsPartialSuccess;
    use opentelemetry_proto::tonic::collector::trace::v1::ExportTracePartialSuccess;

    use super::*;
    use crate::monitor::exposition::exposition;
    use crate::monitor::fold::{RunObservation, TimedCall};
    use crate::monitor::ledger::{Ledger, RunRecord, TargetName};
    use crate::monitor::metrics::families;

    fn ledger() -> Ledger {
        let mut ledger = Ledger::default();
        let name = TargetName { suite: "s.yml".into(), server: "a\"b".into(), revision: "auto".into() };
        ledger.watch("id", &name);
        let calls = vec![TimedCall { tool: "echo".to_owned(), took: Duration::from_millis(30) }; 2];
        let observation = RunObservation {
            calls,
            certificate_end: Some(9),
            took: Duration::from_millis(1500),
            offered: Some(crate::drift::Recorded::default()),
            ..RunObservation::default()
        };
        ledger.record("id", RunRecord { observation, lateness: Duration::ZERO, skipped: 2, now: 5 });
        ledger
    }

    /// The name that collectors give a metric for Prometheus.
    fn translated(metric: &Metric) -> String {
        let unit = if metric.unit == "s" { "_seconds" } else { "" };
        let total = if matches!(metric.data, Some(Data::Sum(_))) { "_total" } else { "" };
        format!("{}{unit}{total}", metric.name.replace('.', "_"))
    }

    #[test]
    fn metrics_are_those_of_prometheus() {
        let ledger = ledger();
        let (begun, now) = (Duration::from_secs(1), Duration::from_secs(7));
        let mut resource = Attributes::default();
        resource.text("service.name", "mcprove");
        let body = metrics_request(&resource, families(&ledger), begun, now);
        let request = ExportMetricsServiceRequest::decode(&body[..]).unwrap();
        let [of_resource] = &request.resource_metrics[..] else { panic!("{request:?}") };
        assert_eq!(shown(&of_resource.resource.as_ref().unwrap().attributes[0]), "service.name=mcprove");
        let metrics = &of_resource.scope_metrics[0].metrics;
        let sent: Vec<String> = metrics.iter().map(translated).collect();
        let text = exposition(&ledger);
        let own: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next()).collect();
        assert_eq!(sent, own);
        let named = |name: &str| metrics.iter().find(|metric| metric.name == name).unwrap().data.clone().unwrap();
        let target = ["suite=s.yml", "server=a\"b", "revision=auto"];
        let Data::Gauge(took) = named("mcprove.run_duration") else { panic!("no gauge") };
        assert_eq!(took.data_points[0].value, Some(Number::AsDouble(1.5)));
        assert_eq!(took.data_points[0].attributes.iter().map(shown).collect::<Vec<_>>(), target);
        let Data::Sum(runs) = named("mcprove.runs") else { panic!("no sum") };
        assert!(runs.is_monotonic && runs.aggregation_temporality == 2);
        let point = &runs.data_points[0];
        assert_eq!((point.start_time_unix_nano, point.time_unix_nano), (1_000_000_000, 7_000_000_000));
        assert_eq!((point.value, shown(&point.attributes[3])), (Some(Number::AsInt(1)), "result=up".to_owned()));
        let Data::Histogram(times) = named("mcprove.tool_duration") else { panic!("no histogram") };
        let point = &times.data_points[0];
        assert_eq!((point.count, point.sum, shown(&point.attributes[3]).as_str()), (2, Some(0.06), "tool=echo"));
        assert_eq!(point.bucket_counts, [0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(point.explicit_bounds.len() + 1, point.bucket_counts.len());
    }

    #[test]
    fn many_samples_are_several_requests() {
        let all = families(&ledger());
        let count = |families: &[MetricFamily]| families.iter().map(|family| family.samples.len()).sum::<usize>();
        for (most, expected) in [(1000, 1), (count(&all), 1), (count(&all) - 1, 2), (1, count(&all))] {
            let parts = batches(all.clone(), most);
            assert_eq!(parts.len(), expected, "{most}");
            assert!(parts.iter().all(|part| (1..=most).contains(&count(part))), "{most}");
            assert_eq!(parts.iter().map(|part| count(part)).sum::<usize>(), count(&all));
        }
        assert_eq!(batches(Vec::new(), 5), Vec::<Vec<MetricFamily>>::new());
    }

    #[test]
    fn statuses() {
        let (never, later) = (Retry::Never, Retry::Later(None));
        for (signal, status, after, why, retry) in [
            (Signal::Traces, 400, None, "the endpoint answered 400 Bad Request", never),
            (Signal::Traces, 302, None, "the endpoint answered 302 Found", never),
            (
                Signal::Traces,
                401,
                None,
                "the endpoint answered 401 Unauthorized; set `OTEL_EXPORTER_OTLP_HEADERS`",
                never,
            ),
            (
                Signal::Metrics,
                404,
                None,
                "the endpoint answered 404 Not Found; if it takes no metrics, set `OTEL_METRICS_EXPORTER=none`",
                never,
            ),
            (Signal::Traces, 500, None, "the endpoint answered 500 Internal Server Error", never),
            (Signal::Traces, 503, None, "the endpoint answered 503 Service Unavailable", later),
            (
                Signal::Traces,
                429,
                Some(7),
                "the endpoint answered 429 Too Many Requests",
                Retry::Later(Some(Duration::from_secs(7))),
            ),
            (
                Signal::Traces,
                429,
                Some(u64::MAX),
                "the endpoint answered 429 Too Many Requests",
                Retry::Later(Some(LONGEST_RETRY_AFTER)),
            ),
        ] {
            let status = StatusCode::from_u16(status).unwrap();
            let judged = judge_status(signal, status, after.map(Duration::from_secs));
            assert_eq!(judged, Err(ExportFailure { why: why.to_owned(), retry }));
        }
        assert_eq!(judge_status(Signal::Traces, StatusCode::ACCEPTED, None), Ok(()));
    }

    #[test]
    fn answers() {
        let spans = ExportTraceServiceResponse {
            partial_success: Some(ExportTracePartialSuccess { rejected_spans: 3, error_message: "no".to_owned() }),
        };
        let points = ExportMetricsServiceResponse {
            partial_success: Some(ExportMetricsPartialSuccess { rejected_data_points: -4, ..Default::default() }),
        };
        for (signal, answer, expected) in [
            (Signal::Traces, Vec::new(), 0),
            (Signal::Traces, spans.encode_to_vec(), 3),
            (Signal::Metrics, points.encode_to_vec(), 0),
            (Signal::Metrics, b"<html>".to_vec(), 0),
        ] {
            assert_eq!(refused_of(signal, &answer), expected, "{signal:?} {answer:?}");
        }
    }

    #[test]
    fn changes_are_told_once() {
        let mut health = ExportHealth::new(Signal::Traces);
        let second = Duration::from_secs(1);
        let mut said = Vec::new();
        for (result, dropped, wait) in
            [(Ok(()), 0, 1), (Err("a"), 2, 1), (Err("b"), 3, 2), (Err("b"), 0, 4), (Ok(()), 0, 1), (Ok(()), 0, 1)]
        {
            said.extend(health.observe(result, dropped));
            assert_eq!(health.wait(second), second * wait, "{result:?} {dropped}");
        }
        assert_eq!(
            said,
            [
                "warning: OpenTelemetry: sending traces failed: a; the monitor goes on, and keeps sending",
                "OpenTelemetry: the endpoint takes traces again; 5 spans are lost",
            ]
        );
        for _ in 0..100 {
            health.observe(Err("down"), 0);
        }
        assert_eq!(health.wait(second), Duration::from_secs(60));
    }
}
