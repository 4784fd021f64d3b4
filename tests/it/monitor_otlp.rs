//! Traces and metrics of a monitor at an endpoint of OpenTelemetry, and endpoints that take none.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message as _;

use crate::harness::{Running, Scene};

/// A probe that passes, and one that fails and whose answer holds a secret.
const SUITE: &str = r"
suite: Watched
server: { command: ['{{ env.MCPROVE }}', serve, demo] }
tests:
  - { name: echoes, probe: true, call: echo, args: { message: hello }, expect: [{ is_error: false }] }
  - name: tells
    probe: true
    call: echo
    args: { message: '{{ env.WORD }}' }
    expect: [{ text: { equals: nothing } }]
";

/// Only the first of them.
fn passing() -> String {
    SUITE.split("  - name: tells").next().unwrap().to_owned()
}

/// A request to a collector.
struct Post {
    path: String,
    headers: String,
    body: Vec<u8>,
}

impl Post {
    fn spans(&self) -> Vec<Span> {
        let request = ExportTraceServiceRequest::decode(&self.body[..]).unwrap();
        let scopes = request.resource_spans.into_iter().flat_map(|resource| resource.scope_spans);
        scopes.flat_map(|scope| scope.spans).collect()
    }
}

/// Reads a request; `None` where a connection was closed.
fn read(reader: &mut BufReader<TcpStream>) -> Option<Post> {
    let mut path = String::new();
    reader.read_line(&mut path).ok().filter(|length| *length > 0)?;
    let (mut headers, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        if line.trim().is_empty() {
            break;
        }
        let line = line.to_ascii_lowercase();
        if let Some(value) = line.strip_prefix("content-length: ") {
            length = value.trim().parse().unwrap();
        }
        headers += &line;
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Post { path: path.split(' ').nth(1).unwrap().to_owned(), headers, body })
}

/// A collector: each request goes to the test and is answered by `answer`, which knows how many came before it.
fn collector(answer: fn(usize, &mut TcpStream) -> std::io::Result<()>) -> (String, Receiver<Post>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (sender, posts) = channel();
    std::thread::spawn(move || {
        for (stream, number) in listener.incoming().zip(0..) {
            let sender: Sender<Post> = sender.clone();
            std::thread::spawn(move || {
                let mut reader = BufReader::new(stream.unwrap());
                let Some(post) = read(&mut reader) else { return };
                let _ = sender.send(post);
                let _ = answer(number, &mut reader.into_inner());
            });
        }
    });
    (url, posts)
}

fn accept(_: usize, stream: &mut TcpStream) -> std::io::Result<()> {
    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
}

fn refuse(_: usize, stream: &mut TcpStream) -> std::io::Result<()> {
    stream.write_all(b"HTTP/1.1 500 Oops\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
}

/// Begins a monitor of some runs that sends as often as it can.
fn begin(scene: &Scene, url: &str, more: &str, variables: &[(&str, &str)]) -> Running {
    let line = format!("monitor suite.yml --listen 127.0.0.1:0 --every 50ms --otlp-endpoint {url} {more}");
    let often = [("OTEL_BSP_SCHEDULE_DELAY", "10"), ("OTEL_METRIC_EXPORT_INTERVAL", "10")];
    scene.begin_joined(line.trim_end(), &[&often[..], variables].concat())
}

fn text(attributes: &[KeyValue], key: &str) -> Option<String> {
    let found = attributes.iter().find(|attribute| attribute.key == key)?;
    if let Value::StringValue(text) = found.value.as_ref()?.value.as_ref()? { Some(text.clone()) } else { None }
}

#[test]
fn a_collector_gets_a_trace_of_each_run_and_the_metrics() {
    let scene = Scene::new("monitor/otlp");
    scene.write("suite.yml", SUITE);
    let (url, posts) = collector(accept);
    let variables = [
        ("WORD", "correct horse 81"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", url.as_str()),
        ("OTEL_EXPORTER_OTLP_HEADERS", "api-key=open%20sesame%207"),
        ("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test"),
    ];
    let seen = scene.begin_with("monitor suite.yml --listen 127.0.0.1:0 --runs 2 --every 50ms", &variables).finish();
    assert_eq!(seen.status, 1, "{}", seen.text());
    let told = "traces and metrics are sent by OTLP to the endpoint of the variable `OTEL_EXPORTER_OTLP_ENDPOINT`\n";
    assert!(seen.stderr.contains(told), "{}", seen.text());
    // All was sent before the monitor ended.
    let posts: Vec<Post> = posts.try_iter().collect();
    for post in &posts {
        assert!(post.headers.contains("content-type: application/x-protobuf\r\n"), "{}", post.headers);
        assert!(post.headers.contains("api-key: open sesame 7\r\n"), "{}", post.headers);
        let body = String::from_utf8_lossy(&post.body);
        assert!(!body.contains("correct horse") && !body.contains("sesame"), "{body}");
    }
    let of_path = |path: &'static str| posts.iter().filter(move |post| post.path == path);
    let spans: Vec<Span> = of_path("/v1/traces").flat_map(Post::spans).collect();
    let roots: Vec<&Span> = spans.iter().filter(|span| span.parent_span_id.is_empty()).collect();
    assert_eq!(roots.len(), 2, "{spans:?}");
    assert_ne!(roots[0].trace_id, roots[1].trace_id);
    let root = roots[0];
    assert_eq!(root.name, "probe suite.yml@server/auto");
    assert_eq!(text(&root.attributes, "mcprove.result").as_deref(), Some("failed"));
    assert_eq!(root.status.as_ref().unwrap().code, 2);
    let message = &root.status.as_ref().unwrap().message;
    assert!(message.starts_with("`tells`: ") && message.contains("[redacted]"), "{message}");
    let below = |parent: &Span| -> Vec<&Span> {
        spans.iter().filter(|span| span.parent_span_id == parent.span_id && span.trace_id == parent.trace_id).collect()
    };
    let named = |name: &str| *below(root).iter().find(|span| span.name == name).unwrap();
    let status = |case: &Span| text(&case.attributes, "test.case.result.status").unwrap();
    assert_eq!([status(named("test echoes")), status(named("test tells"))], ["pass", "fail"]);
    assert!(below(root).iter().any(|span| span.name == "tools/list"), "{spans:?}");
    let [call] = below(named("test echoes"))[..] else { panic!("{spans:?}") };
    assert_eq!(call.name, "tools/call echo");
    assert_eq!(text(&call.attributes, "gen_ai.tool.name").as_deref(), Some("echo"));
    assert_eq!(text(&call.attributes, "mcp.method.name").as_deref(), Some("tools/call"));
    assert!(root.start_time_unix_nano <= call.start_time_unix_nano, "{call:?}");
    assert!(call.start_time_unix_nano < call.end_time_unix_nano, "{call:?}");
    let last = of_path("/v1/metrics").next_back().unwrap();
    let request = ExportMetricsServiceRequest::decode(&last.body[..]).unwrap();
    let resource = request.resource_metrics[0].resource.as_ref().unwrap();
    assert_eq!(text(&resource.attributes, "service.name").as_deref(), Some("mcprove"));
    assert_eq!(text(&resource.attributes, "deployment.environment.name").as_deref(), Some("test"));
    let metrics = &request.resource_metrics[0].scope_metrics[0].metrics;
    let tools = metrics.iter().find(|metric| metric.name == "mcprove.tool_duration").unwrap();
    let Some(Data::Histogram(tools)) = &tools.data else { panic!("{tools:?}") };
    assert_eq!(tools.data_points[0].count, 4);
    scene.assert_nothing_survives();
}

#[test]
fn an_endpoint_that_fails_is_told_once_and_again_when_it_works() {
    let scene = Scene::new("monitor/otlp-fails");
    scene.write("suite.yml", &passing());
    let (url, posts) = collector(|number, stream| {
        if number < 4 {
            return stream.write_all(b"HTTP/1.1 503 Busy\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
        }
        accept(number, stream)
    });
    let mut running = begin(&scene, &url, "", &[("OTEL_METRICS_EXPORTER", "none")]);
    running.until("traces are sent by OTLP to the endpoint of `--otlp-endpoint`\n");
    let why = "the endpoint answered 503 Service Unavailable";
    running.until(&format!(
        "warning: OpenTelemetry: sending traces failed: {why}; the monitor goes on, and keeps sending\n"
    ));
    let meanwhile = running.until("OpenTelemetry: the endpoint takes traces again\n");
    assert!(!meanwhile.contains("warning"), "{meanwhile}");
    running.signal("TERM");
    assert_eq!(running.finish().status, 0);
    // What was refused for the time being came again.
    let posts: Vec<Post> = posts.try_iter().collect();
    let [first, .., last] = &posts[..] else { panic!("{} requests", posts.len()) };
    assert!(posts.iter().all(|post| post.path == "/v1/traces"));
    let again = posts[1..].iter().filter(|post| post.spans()[0] == first.spans()[0]).count();
    assert_eq!(again, 4, "{:?}", last.spans());
}

#[test]
fn no_endpoint_delays_a_run() {
    let down = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let endless = |_: usize, stream: &mut TcpStream| {
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: application/x-protobuf\r\n\r\n")?;
        loop {
            stream.write_all(&[0; 8192])?;
        }
    };
    let silent = |_: usize, stream: &mut TcpStream| stream.read(&mut [0; 1]).map(drop);
    for (name, url, why) in [
        ("refuses", collector(refuse).0, "the endpoint answered 500 Internal Server Error"),
        ("is down", format!("http://{down}"), "no connection to the endpoint"),
        ("is endless", collector(endless).0, ""),
        ("is silent", collector(silent).0, "the endpoint did not answer in time"),
    ] {
        let scene = Scene::new(&format!("monitor/otlp-{}", name.replace(' ', "-")));
        scene.write("suite.yml", &passing());
        let running = begin(&scene, &url, "--runs 20", &[("OTEL_EXPORTER_OTLP_TIMEOUT", "100")]);
        let (seen, peak) = running.finish_weighed();
        assert_eq!(seen.status, 0, "{name}: {}", seen.text());
        for signal in ["traces", "metrics"] {
            let line = format!("warning: OpenTelemetry: sending {signal} failed: {why}");
            let count = usize::from(!why.is_empty());
            assert_eq!(seen.stdout.matches(&line).count(), count, "{name}: {}", seen.text());
        }
        assert!(peak < 200, "{name}: {peak} MiB");
        scene.assert_nothing_survives();
    }
}

#[test]
fn mistakes_do_not_show_what_they_are_about() {
    let scene = Scene::new("monitor/otlp-mistakes");
    scene.write("suite.yml", &passing());
    let once = "monitor suite.yml --listen 127.0.0.1:0 --runs 1";
    for (flag, variables, expected) in [
        (" --otlp-endpoint ftp://secret-host", vec![], "`--otlp-endpoint` holds no address"),
        ("", vec![("OTEL_EXPORTER_OTLP_ENDPOINT", "secret-host")], "`OTEL_EXPORTER_OTLP_ENDPOINT` holds no address"),
        (
            " --otlp-endpoint http://127.0.0.1:1",
            vec![("OTEL_EXPORTER_OTLP_HEADERS", "secret-key")],
            "`OTEL_EXPORTER_OTLP_HEADERS` holds no headers",
        ),
    ] {
        let seen = scene.begin_with(&format!("{once}{flag}"), &variables).finish();
        assert_eq!(seen.status, 2, "{}", seen.text());
        assert!(seen.stderr.contains(expected) && !seen.stderr.contains("secret"), "{}", seen.text());
    }
    let disabled = [("OTEL_EXPORTER_OTLP_ENDPOINT", "secret-host"), ("OTEL_SDK_DISABLED", "true")];
    let seen = scene.begin_with(once, &disabled).finish();
    assert!(seen.status == 0 && !seen.stderr.contains("OTLP"), "{}", seen.text());
}
