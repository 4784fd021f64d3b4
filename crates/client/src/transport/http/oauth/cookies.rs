//! The cookies of a login (RFC 6265), by host.

use reqwest::Url;
use reqwest::header::{HeaderMap, SET_COOKIE};

use super::asking::is_secure;
use crate::redact::reads_drawn;

/// The number of cookies that one login keeps.
const MOST: usize = 100;

/// Cookies of one login. A cookie returns to the host that set it, or to the hosts below its domain.
#[derive(Debug, Default)]
pub struct CookieJar {
    kept: Vec<Cookie>,
    /// How many were kept so far, replaced ones included.
    stored: usize,
}

#[derive(Debug, PartialEq, Eq)]
struct Cookie {
    name: String,
    value: String,
    host: String,
    /// It returns to the hosts below its own, too.
    is_for_domain: bool,
    path: String,
    /// It returns over TLS only, or on this machine.
    is_secure: bool,
}

impl CookieJar {
    /// Keeps the cookies of an answer; `learn` is told those that read as if they were drawn.
    pub fn store(&mut self, url: &Url, headers: &HeaderMap, learn: impl Fn(&str)) {
        for header in headers.get_all(SET_COOKIE) {
            let Some((cookie, is_over)) = header.to_str().ok().and_then(|header| read(header, url)) else { continue };
            let is_same =
                |kept: &Cookie| (&kept.name, &kept.host, &kept.path) == (&cookie.name, &cookie.host, &cookie.path);
            self.kept.retain(|kept| !is_same(kept));
            if is_over || self.stored >= MOST {
                continue;
            }
            self.stored += 1;
            if reads_drawn(&cookie.value) {
                learn(&cookie.value);
            }
            self.kept.push(cookie);
        }
    }

    /// The header `cookie` for an address.
    pub fn header(&self, url: &Url) -> Option<String> {
        let kept = self.kept.iter().filter(|cookie| cookie.is_for(url));
        let pairs: Vec<String> = kept.map(|cookie| format!("{}={}", cookie.name, cookie.value)).collect();
        (!pairs.is_empty()).then(|| pairs.join("; "))
    }
}

impl Cookie {
    fn is_for(&self, url: &Url) -> bool {
        let host = url.host_str().unwrap_or_default();
        let is_host = host == self.host
            || self.is_for_domain && host.strip_suffix(&self.host).is_some_and(|rest| rest.ends_with('.'));
        let rest = url.path().strip_prefix(self.path.as_str());
        let is_path = rest.is_some_and(|rest| rest.is_empty() || self.path.ends_with('/') || rest.starts_with('/'));
        is_host && is_path && (!self.is_secure || is_secure(url))
    }
}

/// The cookie of a header `set-cookie`, and true if it is taken back.
fn read(header: &str, url: &Url) -> Option<(Cookie, bool)> {
    let mut parts = header.split(';').map(str::trim);
    let (name, value) = parts.next()?.split_once('=')?;
    let host = url.host_str()?.to_owned();
    let folder = url.path().rsplit_once('/').map_or("/", |(folder, _)| if folder.is_empty() { "/" } else { folder });
    let mut cookie = Cookie {
        name: name.trim().to_owned(),
        value: value.trim().to_owned(),
        host,
        is_for_domain: false,
        path: folder.to_owned(),
        is_secure: false,
    };
    let mut is_over = false;
    for part in parts {
        let (attribute, value) = part.split_once('=').unwrap_or((part, ""));
        match attribute.trim().to_ascii_lowercase().as_str() {
            "path" if value.starts_with('/') => value.clone_into(&mut cookie.path),
            "secure" => cookie.is_secure = true,
            "max-age" => is_over = value.trim().parse::<i64>().is_ok_and(|seconds| seconds <= 0),
            // How servers take a cookie back that know no `max-age`.
            "expires" => is_over = is_over || value.contains("1970"),
            "domain" => {
                let domain = value.trim_start_matches('.').to_ascii_lowercase();
                let is_above =
                    cookie.host.strip_suffix(&domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
                // A cookie for a host that the answer does not come from is not kept.
                if !is_above || !domain.contains('.') && domain != cookie.host {
                    return None;
                }
                cookie.host = domain;
                cookie.is_for_domain = true;
            }
            _ => {}
        }
    }
    Some((cookie, is_over))
}

#[cfg(test)]
mod tests {
    use reqwest::header::HeaderValue;

    use super::*;

    /// Sets cookies at an address one after another, and asks for those of another one.
    fn check(set: &[(&str, &str)], at: &str, expected: Option<&str>) {
        let mut jar = CookieJar::default();
        for (url, header) in set {
            let headers = HeaderMap::from_iter([(SET_COOKIE, HeaderValue::from_str(header).unwrap())]);
            jar.store(&Url::parse(url).unwrap(), &headers, |_| {});
        }
        assert_eq!(jar.header(&Url::parse(at).unwrap()).as_deref(), expected, "{set:?} {at}");
    }

    #[test]
    fn cookies_return_to_their_host() {
        let login = "https://as.test/realm/login";
        check(&[(login, "a=1; Path=/"), (login, "b=2")], "https://as.test/realm/next", Some("a=1; b=2"));
        check(&[(login, "a=1")], "https://as.test/", None);
        check(&[(login, "a=1; path=/realm/")], "https://as.test/realm/x", Some("a=1"));
        check(&[(login, "a=1; Path=/re")], "https://as.test/realm/x", None);
        check(&[(login, "a=1; Path=/")], "https://sub.as.test/", None);
        check(&[(login, "a=1; Path=/")], "https://evil.test/", None);
        check(&[("https://sub.as.test/", "a=1; Domain=.as.test")], "https://other.as.test/", Some("a=1"));
        check(&[("https://sub.as.test/", "a=1; Domain=evil.test")], "https://evil.test/", None);
        check(&[("https://sub.as.test/", "a=1; Domain=test")], "https://evil.test/", None);
    }

    #[test]
    fn cookies_are_replaced_and_taken_back() {
        let url = "http://127.0.0.1:8080/";
        check(&[(url, "a=1"), (url, "a=2")], url, Some("a=2"));
        check(&[(url, "a=1"), (url, "a=; Max-Age=0")], url, None);
        check(&[(url, "a=1"), (url, "a=; Expires=Thu, 01 Jan 1970 00:00:00 GMT")], url, None);
        check(&[(url, "a=b=c; HttpOnly")], url, Some("a=b=c"));
        check(&[(url, "nonsense")], url, None);
        check(&[(url, "a=1; Secure")], url, Some("a=1"));
        check(&[("https://as.test/", "a=1; Secure")], "http://as.test/", None);
        check(&[(url, "a=1")], "http://127.0.0.1:9090/", Some("a=1"));
    }
}
