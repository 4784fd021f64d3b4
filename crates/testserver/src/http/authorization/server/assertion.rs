//! Assertions with which clients prove who they are: signed JWTs (RFC 7523, 3; RFC 7515).

use mcprove_protocol::redact::from_base64;
use ring::signature::{ECDSA_P256_SHA256_FIXED, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents, UnparsedPublicKey};
use serde_json::Value;

use super::client::Client;

/// An assertion may be valid for so many seconds at most.
const LONGEST_LIFETIME: u64 = 3600;

/// Clocks may differ by so many seconds.
const CLOCK_SKEW: u64 = 60;

/// An assertion whose signature nobody has checked.
pub(crate) struct Assertion<'a> {
    header: Value,
    claims: Value,
    signed: &'a str,
    signature: Vec<u8>,
}

impl<'a> Assertion<'a> {
    /// Reads the three parts of a JWT.
    pub(crate) fn read(text: &'a str) -> Option<Self> {
        let (signed, signature) = text.rsplit_once('.')?;
        let (header, claims) = signed.split_once('.')?;
        let json = |part: &str| serde_json::from_slice(&from_base64(part)?).ok();
        Some(Self { header: json(header)?, claims: json(claims)?, signed, signature: from_base64(signature)? })
    }

    /// The client that it is about.
    pub(crate) fn subject(&self) -> String {
        self.claims["sub"].as_str().unwrap_or_default().to_owned()
    }

    fn is_signed_with(&self, key: &Value) -> bool {
        let wanted = &self.header["kid"];
        if !wanted.is_null() && !key["kid"].is_null() && *wanted != key["kid"] {
            return false;
        }
        let part = |name: &str| key[name].as_str().and_then(from_base64).unwrap_or_default();
        let signed = self.signed.as_bytes();
        match (self.header["alg"].as_str(), key["kty"].as_str()) {
            (Some("ES256"), Some("EC")) => {
                let point = [&[4], part("x").as_slice(), part("y").as_slice()].concat();
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point).verify(signed, &self.signature).is_ok()
            }
            (Some("RS256"), Some("RSA")) => {
                let key = RsaPublicKeyComponents { n: part("n"), e: part("e") };
                key.verify(&RSA_PKCS1_2048_8192_SHA256, signed, &self.signature).is_ok()
            }
            _ => false,
        }
    }

    fn is_for(&self, audiences: &[String]) -> bool {
        let named = &self.claims["aud"];
        let mut named = named.as_array().map_or(std::slice::from_ref(named), Vec::as_slice).iter();
        named.any(|named| audiences.iter().any(|audience| *named == **audience))
    }
}

/// Checks an assertion of a client at a time in seconds since 1970, and returns the id by which it is known again.
pub(crate) fn check(text: &str, client: &Client, audiences: &[String], now: u64) -> Result<Option<String>, String> {
    let assertion = Assertion::read(text).ok_or("the assertion is no JWT")?;
    if !client.keys.iter().any(|key| assertion.is_signed_with(key)) {
        return Err("the assertion is not signed with a key of the client, by ES256 or RS256".to_owned());
    }
    let claims = &assertion.claims;
    if claims["iss"] != *client.id || claims["sub"] != *client.id {
        return Err("`iss` and `sub` of the assertion must be the id of the client".to_owned());
    }
    if !assertion.is_for(audiences) {
        return Err("`aud` of the assertion names neither the issuer nor the token endpoint".to_owned());
    }
    let is_valid = claims["exp"]
        .as_u64()
        .is_some_and(|end| end.saturating_add(CLOCK_SKEW) > now && end <= now + LONGEST_LIFETIME + CLOCK_SKEW);
    let has_begun = claims["nbf"].as_u64().is_none_or(|begin| begin <= now + CLOCK_SKEW);
    if !is_valid || !has_begun {
        return Err("the assertion has expired, is not valid yet, or is valid for more than an hour".to_owned());
    }
    Ok(claims["jti"].as_str().map(str::to_owned))
}

#[cfg(test)]
mod tests {
    use mcprove_protocol::redact::base64;
    use ring::rand::SystemRandom;
    use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
    use serde_json::json;

    use super::super::client::known;
    use super::*;

    fn encode(bytes: &[u8]) -> String {
        base64(bytes).replace('+', "-").replace('/', "_").trim_end_matches('=').to_owned()
    }

    #[test]
    fn only_fresh_assertions_of_the_client_count() {
        let random = SystemRandom::new();
        let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, document.as_ref(), &random).unwrap();
        let (x, y) = pair.public_key().as_ref()[1..].split_at(32);
        let key = json!({ "kty": "EC", "crv": "P-256", "x": encode(x), "y": encode(y) });
        let [_, _, signer] = known();
        let client = Client { keys: vec![key], ..signer.clone() };
        let good =
            json!({ "iss": "demo-signer", "sub": "demo-signer", "aud": "http://a/oauth", "exp": 1100, "jti": "1" });
        let with = |name: &str, value: Value| {
            let mut claims = good.clone();
            claims[name] = value;
            claims
        };
        let sign = |algorithm: &str, claims: &Value| {
            let header = json!({ "alg": algorithm }).to_string();
            let content = format!("{}.{}", encode(header.as_bytes()), encode(claims.to_string().as_bytes()));
            let signature = pair.sign(&random, content.as_bytes()).unwrap();
            format!("{content}.{}", encode(signature.as_ref()))
        };
        let audiences = ["http://a/oauth".to_owned(), "http://a/oauth/token".to_owned()];
        for (text, expected) in [
            (sign("ES256", &good), Ok(())),
            (sign("ES256", &with("aud", json!(["http://b", "http://a/oauth/token"]))), Ok(())),
            (sign("RS256", &good), Err("not signed")),
            (sign("none", &good), Err("not signed")),
            (sign("ES256", &with("iss", json!("demo-app"))), Err("`iss` and `sub`")),
            (sign("ES256", &with("aud", json!("http://b"))), Err("`aud`")),
            (sign("ES256", &with("exp", json!(900))), Err("expired")),
            (sign("ES256", &with("exp", json!(9000))), Err("more than an hour")),
            (sign("ES256", &with("nbf", json!(1090))), Err("not valid yet")),
            ("e30.e30.".to_owned(), Err("not signed")),
            ("e30".to_owned(), Err("no JWT")),
        ] {
            let checked = check(&text, &client, &audiences, 1000);
            match expected {
                Ok(()) => assert_eq!(checked, Ok(Some("1".to_owned()))),
                Err(words) => {
                    assert!(checked.as_ref().is_err_and(|error| error.contains(words)), "{checked:?} {words}");
                }
            }
            assert!(check(&text, &signer, &audiences, 1000).is_err());
        }
    }
}
