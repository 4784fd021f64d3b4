//! Parameters of a query or of a form.

use std::borrow::Cow;

use form_urlencoded::parse;

/// Parameters as they came. One without a value is none (RFC 6749, 3.1).
pub(crate) struct Form(Vec<(String, String)>);

impl Form {
    pub(crate) fn parse(text: &str) -> Self {
        let pairs = parse(text.as_bytes()).filter(|(_, value)| !value.is_empty());
        Self(pairs.map(|(name, value): (Cow<'_, str>, Cow<'_, str>)| (name.into_owned(), value.into_owned())).collect())
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// All parameters, in order.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// A parameter that comes more than once, which none may.
    pub(crate) fn repeated(&self) -> Option<&str> {
        let is_known = |at: usize, name: &str| self.0[..at].iter().any(|(known, _)| known == name);
        self.0.iter().enumerate().find(|(at, (name, _))| is_known(*at, name)).map(|(_, (name, _))| name.as_str())
    }
}

/// An address with parameters behind those that it has.
pub(crate) fn with_parameters(address: &str, parameters: &[(&str, &str)]) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.extend_pairs(parameters);
    let joint = if address.contains('?') { '&' } else { '?' };
    format!("{address}{joint}{}", query.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_read_once() {
        let form = Form::parse("a=1&b=x%20y+z&empty=&a=2");
        assert_eq!((form.get("a"), form.get("b"), form.get("empty")), (Some("1"), Some("x y z"), None));
        assert_eq!(form.repeated(), Some("a"));
        assert_eq!(with_parameters("http://a/?x=1", &[("state", "a b&c")]), "http://a/?x=1&state=a+b%26c");
    }
}
