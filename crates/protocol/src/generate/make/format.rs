//! Texts of the formats that JSON Schema knows, and of some that are in wide use.

use crate::generate::rng::Rng;

const WORDS: [&str; 12] =
    ["ann", "bob", "data", "example", "item", "list", "main", "note", "page", "report", "test", "user"];

/// A format, an example, and texts of it.
struct TextFormat {
    names: &'static [&'static str],
    example: &'static str,
    text: fn(&mut Rng) -> String,
}

const fn of(names: &'static [&'static str], example: &'static str, text: fn(&mut Rng) -> String) -> TextFormat {
    TextFormat { names, example, text }
}

static FORMATS: &[TextFormat] = &[
    of(&["email", "idn-email"], "ann@example.com", |rng| format!("{}{}@{}", word(rng), rng.below(100), host(rng))),
    of(&["uri-reference", "iri-reference"], "https://example.com/", |rng| {
        if rng.chance(50) { format!("/{}?{}={}", word(rng), word(rng), rng.below(9)) } else { uri(rng) }
    }),
    of(&["uri", "url", "iri"], "https://example.com/", uri),
    of(&["uri-template"], "https://example.com/{id}", |rng| format!("https://{}/{{{}}}", host(rng), word(rng))),
    of(&["date"], "2026-01-31", date),
    of(&["time"], "12:00:00Z", time),
    of(&["date-time"], "2026-01-31T12:00:00Z", |rng| format!("{}T{}", date(rng), time(rng))),
    of(&["duration"], "P1D", duration),
    of(&["uuid"], "123e4567-e89b-42d3-a456-426614174000", uuid),
    of(&["ipv4"], "127.0.0.1", |rng| {
        format!("{}.{}.{}.{}", rng.below(256), rng.below(256), rng.below(256), rng.below(256))
    }),
    of(&["ipv6"], "::1", ipv6),
    of(&["hostname", "idn-hostname"], "example.com", host),
    of(&["json-pointer"], "/a/0", |rng| {
        format!("/{}/{}{}", word(rng), rng.below(10), ["", "/~0", "/~1"][rng.below(3)])
    }),
    of(&["relative-json-pointer"], "0/a", |rng| format!("{}{}", rng.below(5), ["", "#", "/a"][rng.below(3)])),
    of(&["regex"], "^a+$", |rng| ["^a+$", "[0-9]{2}", "x|y", "", "\\d*"][rng.below(5)].to_owned()),
    of(&["byte", "base64"], "dGV4dA==", |rng| ["", "dGV4dA==", "AA==", "/+8="][rng.below(4)].to_owned()),
];

fn find_format(format: &str) -> Option<&'static TextFormat> {
    FORMATS.iter().find(|known| known.names.contains(&format))
}

/// The text of a format that is shown first; `None` for formats that are not known.
pub(crate) fn example(format: &str) -> Option<&'static str> {
    find_format(format).map(|known| known.example)
}

/// A text of a format; `None` for formats that are not known.
pub(crate) fn text(format: &str, rng: &mut Rng) -> Option<String> {
    find_format(format).map(|known| (known.text)(rng))
}

fn word(rng: &mut Rng) -> &'static str {
    rng.pick(&WORDS).copied().unwrap_or("text")
}

fn host(rng: &mut Rng) -> String {
    let end = ["com", "org", "test"][rng.below(3)];
    if rng.chance(30) { format!("{}-{}.example.{end}", word(rng), rng.below(10)) } else { format!("example.{end}") }
}

fn uri(rng: &mut Rng) -> String {
    let host = host(rng);
    match rng.below(6) {
        0 => format!("http://{host}"),
        1 => format!("https://{host}:8{:03}/{}", rng.below(1000), word(rng)),
        2 => format!("https://{host}/{}?{}={}#{}", word(rng), word(rng), rng.below(100), word(rng)),
        3 => format!("urn:{}:{}", word(rng), rng.below(1000)),
        4 => format!("https://{host}/a%20b/{}", word(rng)),
        _ => format!("https://{host}/{}", word(rng)),
    }
}

fn date(rng: &mut Rng) -> String {
    const EDGES: [&str; 4] = ["1970-01-01", "2000-02-29", "1999-12-31", "9999-12-31"];
    if rng.chance(25) {
        return EDGES[rng.below(4)].to_owned();
    }
    format!("{}-{:02}-{:02}", rng.between(1900, 2100), rng.between(1, 12), rng.between(1, 28))
}

fn time(rng: &mut Rng) -> String {
    let end = ["Z", "+02:00", "-08:30", ".5Z", ".123456Z", "+00:00"][rng.below(6)];
    format!("{:02}:{:02}:{:02}{end}", rng.below(24), rng.below(60), rng.below(60))
}

fn duration(rng: &mut Rng) -> String {
    let number = rng.between(1, 99);
    let written = ["PT#S", "P#D", "P1Y2M#D", "PT1H#M", "P#W"][rng.below(5)];
    written.replace('#', &number.to_string())
}

fn uuid(rng: &mut Rng) -> String {
    if rng.chance(5) {
        return "00000000-0000-0000-0000-000000000000".to_owned();
    }
    let (high, low) = (rng.bits(), rng.bits());
    let (first, second, third) = (high >> 32, (high >> 16) & 0xffff, high & 0xfff);
    format!("{first:08x}-{second:04x}-4{third:03x}-a{:03x}-{:012x}", low >> 52, low & 0xffff_ffff_ffff)
}

fn ipv6(rng: &mut Rng) -> String {
    match rng.below(4) {
        0 => "::".to_owned(),
        1 => format!("2001:db8::{:x}", rng.below(65_536)),
        2 => format!("::ffff:{}.0.2.{}", rng.below(256), rng.below(256)),
        _ => (0..8).map(|_| format!("{:x}", rng.below(65_536))).collect::<Vec<_>>().join(":"),
    }
}
