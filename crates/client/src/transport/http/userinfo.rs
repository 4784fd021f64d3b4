//! Credentials in an address: the one place that makes a header of them.

use percent_encoding::percent_decode_str;
use reqwest::Url;

use crate::redact::{base64, is_secret};

/// The credentials in an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserInfo {
    /// The address without it.
    pub url: String,
    /// The value of the header `authorization` (RFC 7617).
    pub header: String,
    /// The password, as it is written and as it is meant; a lone name that reads like a token is one.
    pub passwords: Vec<String>,
}

/// The credentials in an address, if there are any.
pub fn userinfo(address: &str) -> Option<UserInfo> {
    let mut url = Url::parse(address).ok()?;
    let (user, password) = (url.username().to_owned(), url.password().map(str::to_owned));
    if user.is_empty() && password.is_none() {
        return None;
    }
    let decode = |text: &str| percent_decode_str(text).collect::<Vec<u8>>();
    let secret = decode(password.as_deref().unwrap_or_default());
    let pair = [decode(&user), b":".to_vec(), secret.clone()].concat();
    url.set_username("").ok()?;
    url.set_password(None).ok()?;
    let meant = String::from_utf8_lossy(&secret).into_owned();
    let token = Some(user).filter(|user| password.is_none() && is_secret("", user));
    let passwords = password.into_iter().flat_map(|written| [written, meant.clone()]).chain(token).collect();
    Some(UserInfo { url: url.into(), header: format!("Basic {}", base64(&pair)), passwords })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_and_a_password_become_a_header() {
        let check = |address: &str, expected: Option<(&str, &str, &[&str])>| {
            let found = userinfo(address);
            let found =
                found.as_ref().map(|found| (found.url.as_str(), found.header.as_str(), found.passwords.clone()));
            let expected = expected.map(|(url, header, passwords)| {
                (url, header, passwords.iter().map(|password| (*password).to_owned()).collect())
            });
            assert_eq!(found, expected, "{address}");
        };
        check("http://a/mcp", None);
        check("no address", None);
        check("http://ann:pa55@a/mcp?x=1", Some(("http://a/mcp?x=1", "Basic YW5uOnBhNTU=", &["pa55", "pa55"])));
        check("http://ann@a/", Some(("http://a/", "Basic YW5uOg==", &[])));
        check("http://ghp-12ab34cd@a/", Some(("http://a/", "Basic Z2hwLTEyYWIzNGNkOg==", &["ghp-12ab34cd"])));
        check("http://a%40b:c%3Ad%@h/", Some(("http://h/", "Basic YUBiOmM6ZCU=", &["c%3Ad%", "c:d%"])));
    }
}
