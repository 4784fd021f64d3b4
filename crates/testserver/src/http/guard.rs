//! Checks if a request may come at all: from where, to which name, in which types.
//!
//! A page in a browser can reach a server on loopback through a name that it controls (DNS rebinding); `Host` and
//! `Origin` give it away.

use axum::http::uri::{Authority, Uri};
use axum::http::{HeaderMap, StatusCode, header};

use super::refused::Refused;

/// Refuses requests of foreign pages, and those to a foreign name.
pub(crate) fn check(headers: &HeaderMap) -> Result<(), Refused> {
    let host =
        super::single(headers, &header::HOST).map_err(|message| Refused::new(StatusCode::BAD_REQUEST, message))?;
    let Some(host) = host else {
        return Err(Refused::new(StatusCode::BAD_REQUEST, "the header `Host` is missing"));
    };
    if !host.parse::<Authority>().is_ok_and(|authority| is_loopback(authority.host())) {
        let message = format!("the header `Host` is `{host}`; the server answers to `localhost` and `127.0.0.1` alone");
        return Err(Refused::new(StatusCode::FORBIDDEN, message));
    }
    for origin in headers.get_all(header::ORIGIN) {
        if !origin.to_str().is_ok_and(is_local_page) {
            let message = "the header `Origin` names a page of another machine; only pages of this one may ask";
            return Err(Refused::new(StatusCode::FORBIDDEN, message));
        }
    }
    Ok(())
}

/// Does `Accept` list this type, with a weight above 0?
///
/// The protocol wants both of its types listed, so wildcards do not count.
pub(crate) fn accepts(headers: &HeaderMap, wanted: &str) -> bool {
    let lines = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    lines.flat_map(|line| line.split(',')).any(|entry| {
        let mut parts = entry.split(';').map(str::trim);
        parts.next().is_some_and(|essence| essence.eq_ignore_ascii_case(wanted)) && !parts.any(is_weight_of_zero)
    })
}

fn is_weight_of_zero(parameter: &str) -> bool {
    parameter.split_once('=').is_some_and(|(name, value)| {
        name.trim().eq_ignore_ascii_case("q") && value.trim().parse::<f32>().is_ok_and(|weight| weight <= 0.0)
    })
}

/// Is the body declared as JSON?
pub(crate) fn brings_json(headers: &HeaderMap) -> bool {
    let declared = super::single(headers, &header::CONTENT_TYPE).ok().flatten().unwrap_or_default();
    let essence = declared.split(';').next().unwrap_or_default();
    essence.trim().eq_ignore_ascii_case("application/json")
}

fn is_local_page(origin: &str) -> bool {
    origin
        .parse::<Uri>()
        .is_ok_and(|uri| matches!(uri.scheme_str(), Some("http" | "https")) && uri.host().is_some_and(is_loopback))
}

/// Is this a name of this machine?
pub(crate) fn is_loopback(host: &str) -> bool {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost")
        || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}
