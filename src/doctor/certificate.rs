//! The certificate of a secure connection: who issued it, and until when it is valid.

use super::Examination;
use crate::source::{shorten, visible_line};

const TLS: &str = "TLS";

/// The number of days before its end at which a certificate is worth a look.
const FEW_DAYS: i64 = 14;

/// Tags of DER (X.690).
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
const VERSION: u8 = 0xa0;

/// The attributes of an issuer that name it best, as encoded object identifiers: organization, common name.
const NAMES: [&[u8]; 2] = [&[0x55, 0x04, 0x0a], &[0x55, 0x04, 0x03]];

/// The facts of a certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CertificateFacts {
    /// The name of its issuer; empty where it has none.
    pub issuer: String,
    /// The day on which it ends, as `2027-01-31`.
    pub until: String,
    /// That day, in days since 1970.
    until_day: i64,
}

impl CertificateFacts {
    /// The day on which it ends, in days since 1970.
    pub(crate) fn end_day(&self) -> i64 {
        self.until_day
    }
}

/// Reads a certificate in DER (RFC 5280, 4.1); `None` where it is none.
pub(crate) fn read_certificate(der: &[u8]) -> Option<CertificateFacts> {
    let certificate = element(der)?.content;
    let mut rest = element(certificate)?.content;
    if element(rest)?.tag == VERSION {
        rest = element(rest)?.rest;
    }
    // The serial number and the algorithm of the signature.
    rest = element(element(rest)?.rest)?.rest;
    let issuer = element(rest)?;
    let validity = element(issuer.rest)?.content;
    let end = element(element(validity)?.rest)?;
    let digits = std::str::from_utf8(end.content).ok()?;
    let (year, rest) = match end.tag {
        // Years below 50 are of this century (RFC 5280, 4.1.2.5.1).
        UTC_TIME => (
            digits.get(..2)?.parse::<i64>().ok().map(|year| if year < 50 { year + 2000 } else { year + 1900 })?,
            digits.get(2..6)?,
        ),
        GENERALIZED_TIME => (digits.get(..4)?.parse().ok()?, digits.get(4..8)?),
        _ => return None,
    };
    let (month, day) = (rest.get(..2)?.parse().ok()?, rest.get(2..)?.parse().ok()?);
    Some(CertificateFacts {
        issuer: name_in(issuer.content).unwrap_or_default(),
        until: format!("{year:04}-{month:02}-{day:02}"),
        until_day: days_since_1970(year, month, day),
    })
}

/// An element of DER, and what follows it.
struct Element<'a> {
    tag: u8,
    content: &'a [u8],
    rest: &'a [u8],
}

fn element(bytes: &[u8]) -> Option<Element<'_>> {
    let (tag, length, rest) = (*bytes.first()?, *bytes.get(1)?, bytes.get(2..)?);
    let (length, rest) = if length < 0x80 {
        (usize::from(length), rest)
    } else {
        let size = usize::from(length & 0x7f);
        let digits = rest.get(..size).filter(|digits| digits.len() <= 4)?;
        (digits.iter().fold(0, |length, digit| length << 8 | usize::from(*digit)), &rest[size..])
    };
    Some(Element { tag, content: rest.get(..length)?, rest: rest.get(length..)? })
}

/// The best name in a distinguished name.
fn name_in(mut names: &[u8]) -> Option<String> {
    let mut found = [None, None];
    while let Some(set) = element(names) {
        names = set.rest;
        let Some(key) = element(set.content).and_then(|pair| element(pair.content)) else { continue };
        let Some(value) = element(key.rest) else { continue };
        if let Some(at) = NAMES.iter().position(|name| *name == key.content) {
            found[at] = Some(String::from_utf8_lossy(value.content).into_owned());
        }
    }
    found.into_iter().flatten().next()
}

/// The number of days between 1970-01-01 and a day of the Gregorian calendar.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    // Years that begin in March end with the day that leap years add.
    let (year, month) = if month < 3 { (year - 1, month + 9) } else { (year, month - 3) };
    year * 365 + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + (month * 153 + 2) / 5 + day
        - 719_469
}

/// Judges the certificate of a connection that is trusted; `today` counts days since 1970.
pub(crate) fn judge_certificate(host: &str, certificate: &CertificateFacts, today: i64) -> Examination {
    let days = certificate.until_day - today;
    let issuer = shorten(&visible_line(&certificate.issuer), 60);
    let by = if issuer.is_empty() { String::new() } else { format!(", from {issuer}") };
    let sentence = format!(
        "the certificate is trusted, for `{}`{by}, and valid until {}: {}",
        visible_line(host),
        certificate.until,
        if days == 1 { "1 more day".to_owned() } else { format!("{days} more days") },
    );
    let judged = if days < FEW_DAYS {
        Examination::doubtful(TLS, sentence, "renew the certificate, and see why that did not happen by itself")
    } else {
        Examination::fine(TLS, sentence)
    };
    judged.with_figure("certificate_days", days)
}

#[cfg(test)]
mod tests {
    use super::super::ExaminationVerdict;
    use super::*;

    fn der(tag: u8, parts: &[Vec<u8>]) -> Vec<u8> {
        let content = parts.concat();
        let length = u8::try_from(content.len()).unwrap();
        let head = if length < 0x80 { vec![tag, length] } else { vec![tag, 0x81, length] };
        [head, content].concat()
    }

    fn certificate(end: Vec<u8>) -> Vec<u8> {
        let attribute = |key: &[u8], value: &str| {
            let pair = [der(0x06, &[key.to_vec()]), der(0x0c, &[value.as_bytes().to_vec()])];
            der(0x31, &[der(0x30, &pair)])
        };
        let issuer = der(0x30, &[attribute(NAMES[1], "R3"), attribute(NAMES[0], "Example Trust")]);
        let begin = der(UTC_TIME, &[b"260101000000Z".to_vec()]);
        let parts = [
            der(VERSION, &[der(0x02, &[vec![2]])]),
            der(0x02, &[vec![7]]),
            der(0x30, &[]),
            issuer,
            der(0x30, &[begin, end]),
        ];
        der(0x30, &[der(0x30, &parts), der(0x30, &[])])
    }

    #[test]
    fn ends_of_certificates() {
        let today = days_since_1970(2026, 11, 27);
        for (tag, end, verdict, words) in [
            (
                UTC_TIME,
                "270201120000Z",
                ExaminationVerdict::Fine,
                "from Example Trust, and valid until 2027-02-01: 66 more days",
            ),
            (GENERALIZED_TIME, "20261201000000Z", ExaminationVerdict::Doubtful, "until 2026-12-01: 4 more days"),
            (GENERALIZED_TIME, "20261128000000Z", ExaminationVerdict::Doubtful, "until 2026-11-28: 1 more day"),
        ] {
            let read = read_certificate(&certificate(der(tag, &[end.as_bytes().to_vec()]))).unwrap();
            let judged = judge_certificate("a.test", &read, today);
            assert_eq!(judged.verdict, verdict);
            assert!(judged.sentence.contains(words), "{}", judged.sentence);
        }
        let whole = certificate(der(UTC_TIME, &[b"270201120000Z".to_vec()]));
        for length in 0..whole.len() {
            assert_eq!(read_certificate(&whole[..length]), None, "{length} bytes of it");
        }
        assert_eq!(read_certificate(b"-----BEGIN CERTIFICATE-----"), None);
    }

    #[test]
    fn days() {
        for (year, month, day, expected) in
            [(1970, 1, 1, 0), (2000, 3, 1, 11_017), (2024, 2, 29, 19_782), (2026, 11, 27, 20_784)]
        {
            assert_eq!(days_since_1970(year, month, day), expected);
        }
    }
}
