//! Addresses of servers over HTTP.

use url::Url;

/// Reads an address of HTTP; `Err` is what to say after its name.
pub fn address(text: &str) -> Result<Url, &'static str> {
    let url = Url::parse(text).map_err(|_| "is not a URL; write it like `http://127.0.0.1:3000/mcp`")?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err("is not an HTTP URL; it must begin with `http://` or `https://`");
    }
    Ok(url)
}
