//! Why a secure connection could not be made, in words.

use std::error::Error;

use rustls::CertificateError;

use super::failure::io_error;
use crate::source::visible;

/// A TLS error itself, or one inside errors of the system's, of which one may hold another.
pub(super) fn error_in(cause: &(dyn Error + 'static)) -> Option<rustls::Error> {
    let own = cause.downcast_ref::<rustls::Error>().cloned();
    own.or_else(|| error_in(io_error(cause)?.get_ref()?))
}

/// Describes the problem of a secure connection to a host, as a sentence.
#[expect(clippy::wildcard_enum_match_arm, reason = "both enums are open, and the rest speaks for itself")]
pub(super) fn sentence(error: &rustls::Error, host: &str) -> String {
    use CertificateError as Bad;
    let rustls::Error::InvalidCertificate(reason) = error else {
        return match error {
            rustls::Error::InvalidMessage(_) => {
                format!("`{host}` does not speak TLS; the URL may need `http://` instead of `https://`")
            }
            _ => format!("no secure connection to `{host}`: {error}"),
        };
    };
    let certificate = format!("the certificate of `{host}`");
    match reason {
        Bad::Expired | Bad::ExpiredContext { .. } => format!("{certificate} has expired"),
        Bad::NotValidYet | Bad::NotValidYetContext { .. } => format!("{certificate} is not valid yet"),
        Bad::Revoked => format!("{certificate} was revoked"),
        Bad::UnknownIssuer => {
            format!("{certificate} is self-signed, or signed by an authority that this machine does not trust")
        }
        Bad::NotValidForName => format!("{certificate} is for another host"),
        Bad::NotValidForNameContext { presented, .. } if presented.is_empty() => {
            format!("{certificate} names no host")
        }
        Bad::NotValidForNameContext { presented, .. } => {
            let bare = |name: &String| name.trim_start_matches("DnsName(\"").trim_end_matches("\")").to_owned();
            let hosts: Vec<String> = presented.iter().map(bare).collect();
            format!("{certificate} is for another host: {}", visible(&hosts.join(", ")))
        }
        // How rustls says that an authority's certificate stands where a server's should.
        other if format!("{other:?}").contains("CaUsedAsEndEntity") => {
            format!("{certificate} is self-signed: it is the certificate of an authority")
        }
        other => format!("{certificate} is not accepted: {other}"),
    }
}
