//! Texts of the formats that JSON Schema knows, and of some that are in wide use.

use crate::generate::draw::Rng;

const WORDS: [&str; 12] =
    ["ann", "bob", "data", "example", "item", "list", "main", "note", "page", "report", "test", "user"];

/// The text of a format that is shown first; `None` for formats that are not known.
pub(super) fn example(format: &str) -> Option<&'static str> {
    Some(match format {
        "email" | "idn-email" => "ann@example.com",
        "uri" | "url" | "iri" | "uri-reference" | "iri-reference" => "https://example.com/",
        "uri-template" => "https://example.com/{id}",
        "date" => "2026-01-31",
        "time" => "12:00:00Z",
        "date-time" => "2026-01-31T12:00:00Z",
        "duration" => "P1D",
        "uuid" => "123e4567-e89b-42d3-a456-426614174000",
        "ipv4" => "127.0.0.1",
        "ipv6" => "::1",
        "hostname" | "idn-hostname" => "example.com",
        "json-pointer" => "/a/0",
        "relative-json-pointer" => "0/a",
        "regex" => "^a+$",
        "byte" | "base64" => "dGV4dA==",
        _ => return None,
    })
}

/// A text of a format; `None` for formats that are not known.
pub(super) fn text(format: &str, draw: &mut Rng) -> Option<String> {
    Some(match format {
        "email" | "idn-email" => format!("{}{}@{}", word(draw), draw.below(100), host(draw)),
        "uri-reference" | "iri-reference" if draw.chance(50) => {
            format!("/{}?{}={}", word(draw), word(draw), draw.below(9))
        }
        "uri" | "url" | "iri" | "uri-reference" | "iri-reference" => uri(draw),
        "uri-template" => format!("https://{}/{{{}}}", host(draw), word(draw)),
        "date" => date(draw),
        "time" => time(draw),
        "date-time" => format!("{}T{}", date(draw), time(draw)),
        "duration" => duration(draw),
        "uuid" => uuid(draw),
        "ipv4" => format!("{}.{}.{}.{}", draw.below(256), draw.below(256), draw.below(256), draw.below(256)),
        "ipv6" => ipv6(draw),
        "hostname" | "idn-hostname" => host(draw),
        "json-pointer" => format!("/{}/{}{}", word(draw), draw.below(10), ["", "/~0", "/~1"][draw.below(3)]),
        "relative-json-pointer" => format!("{}{}", draw.below(5), ["", "#", "/a"][draw.below(3)]),
        "regex" => ["^a+$", "[0-9]{2}", "x|y", "", "\\d*"][draw.below(5)].to_owned(),
        "byte" | "base64" => ["", "dGV4dA==", "AA==", "/+8="][draw.below(4)].to_owned(),
        _ => return None,
    })
}

fn word(draw: &mut Rng) -> &'static str {
    draw.pick(&WORDS).copied().unwrap_or("text")
}

fn host(draw: &mut Rng) -> String {
    let end = ["com", "org", "test"][draw.below(3)];
    if draw.chance(30) { format!("{}-{}.example.{end}", word(draw), draw.below(10)) } else { format!("example.{end}") }
}

fn uri(draw: &mut Rng) -> String {
    let host = host(draw);
    match draw.below(6) {
        0 => format!("http://{host}"),
        1 => format!("https://{host}:8{:03}/{}", draw.below(1000), word(draw)),
        2 => format!("https://{host}/{}?{}={}#{}", word(draw), word(draw), draw.below(100), word(draw)),
        3 => format!("urn:{}:{}", word(draw), draw.below(1000)),
        4 => format!("https://{host}/a%20b/{}", word(draw)),
        _ => format!("https://{host}/{}", word(draw)),
    }
}

fn date(draw: &mut Rng) -> String {
    const EDGES: [&str; 4] = ["1970-01-01", "2000-02-29", "1999-12-31", "9999-12-31"];
    if draw.chance(25) {
        return EDGES[draw.below(4)].to_owned();
    }
    format!("{}-{:02}-{:02}", draw.between(1900, 2100), draw.between(1, 12), draw.between(1, 28))
}

fn time(draw: &mut Rng) -> String {
    let end = ["Z", "+02:00", "-08:30", ".5Z", ".123456Z", "+00:00"][draw.below(6)];
    format!("{:02}:{:02}:{:02}{end}", draw.below(24), draw.below(60), draw.below(60))
}

fn duration(draw: &mut Rng) -> String {
    let number = draw.between(1, 99);
    let written = ["PT#S", "P#D", "P1Y2M#D", "PT1H#M", "P#W"][draw.below(5)];
    written.replace('#', &number.to_string())
}

fn uuid(draw: &mut Rng) -> String {
    if draw.chance(5) {
        return "00000000-0000-0000-0000-000000000000".to_owned();
    }
    let (high, low) = (draw.bits(), draw.bits());
    let (first, second, third) = (high >> 32, (high >> 16) & 0xffff, high & 0xfff);
    format!("{first:08x}-{second:04x}-4{third:03x}-a{:03x}-{:012x}", low >> 52, low & 0xffff_ffff_ffff)
}

fn ipv6(draw: &mut Rng) -> String {
    match draw.below(4) {
        0 => "::".to_owned(),
        1 => format!("2001:db8::{:x}", draw.below(65_536)),
        2 => format!("::ffff:{}.0.2.{}", draw.below(256), draw.below(256)),
        _ => (0..8).map(|_| format!("{:x}", draw.below(65_536))).collect::<Vec<_>>().join(":"),
    }
}
