//! Assertions by which a client shows that it has a private key (RFC 7523, 2.2): a signed JSON Web Token (RFC 7515, 7519).

use std::fmt;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use rustls::SignatureScheme;
use rustls::crypto::ring::sign::any_supported_type;
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject;
use rustls::sign::SigningKey;
use serde_json::json;

use super::code::draw;
use crate::transport::http::verifier::base64_url;

/// The time for which an assertion holds, in seconds: long enough for clocks that differ.
const LIFETIME: u64 = 120;

/// A signature algorithm of JSON Web Tokens (RFC 7518, 3.1; RFC 8037).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AssertionAlgorithm {
    name: &'static str,
    scheme: SignatureScheme,
    /// The length of each half of a signature on a curve, in bytes; `None` where the signature is taken as it is.
    half: Option<usize>,
}

/// In the order in which a key that can do several takes them.
const ALGORITHMS: [AssertionAlgorithm; 9] = [
    algorithm("RS256", SignatureScheme::RSA_PKCS1_SHA256, None),
    algorithm("ES256", SignatureScheme::ECDSA_NISTP256_SHA256, Some(32)),
    algorithm("ES384", SignatureScheme::ECDSA_NISTP384_SHA384, Some(48)),
    algorithm("EdDSA", SignatureScheme::ED25519, None),
    algorithm("RS384", SignatureScheme::RSA_PKCS1_SHA384, None),
    algorithm("RS512", SignatureScheme::RSA_PKCS1_SHA512, None),
    algorithm("PS256", SignatureScheme::RSA_PSS_SHA256, None),
    algorithm("PS384", SignatureScheme::RSA_PSS_SHA384, None),
    algorithm("PS512", SignatureScheme::RSA_PSS_SHA512, None),
];

const fn algorithm(name: &'static str, scheme: SignatureScheme, half: Option<usize>) -> AssertionAlgorithm {
    AssertionAlgorithm { name, scheme, half }
}

impl AssertionAlgorithm {
    /// The names of all algorithms.
    pub const NAMES: [&str; ALGORITHMS.len()] = {
        let mut names = [""; ALGORITHMS.len()];
        let mut at = 0;
        while at < names.len() {
            names[at] = ALGORITHMS[at].name;
            at += 1;
        }
        names
    };

    /// The algorithm of that name, such as `ES256`.
    pub fn named(name: &str) -> Option<Self> {
        ALGORITHMS.into_iter().find(|known| known.name == name)
    }
}

/// A private key that signs assertions.
pub struct AssertionKey {
    key: Arc<dyn SigningKey>,
    algorithm: AssertionAlgorithm,
    /// The id by which the authorization server finds its public half.
    id: Option<String>,
}

impl fmt::Debug for AssertionKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("AssertionKey").field("algorithm", &self.algorithm.name).finish_non_exhaustive()
    }
}

impl AssertionKey {
    /// The key in a text in PEM; `Err` says why it signs nothing. Without an algorithm, the first that the key can do.
    pub fn new(pem: &str, algorithm: Option<AssertionAlgorithm>, id: Option<String>) -> Result<Self, String> {
        if pem.contains("ENCRYPTED PRIVATE KEY") || pem.contains("Proc-Type: 4,ENCRYPTED") {
            return Err(
                "it is encrypted with a password; write it without one by `openssl pkey -in KEY -out PLAIN`".to_owned()
            );
        }
        let der = PrivateKeyDer::from_pem_slice(pem.as_bytes());
        let der =
            der.map_err(|_| "it is no private key in PEM, which begins with `-----BEGIN PRIVATE KEY-----`".to_owned())?;
        let key = any_supported_type(&der);
        let key =
            key.map_err(|_| "it is no key that is supported: RSA from 2048 bits, P-256, P-384 or Ed25519".to_owned())?;
        let signs = |algorithm: &AssertionAlgorithm| key.choose_scheme(&[algorithm.scheme]).is_some();
        let wanted = algorithm.map_or(ALGORITHMS.as_slice(), |_| algorithm.as_slice());
        let Some(algorithm) = wanted.iter().copied().find(signs) else {
            let can: Vec<&str> = ALGORITHMS.iter().filter(|known| signs(known)).map(|known| known.name).collect();
            let wanted = algorithm.map_or("", |algorithm| algorithm.name);
            return Err(format!("it cannot sign with `{wanted}`, only with {}", can.join(", ")));
        };
        Ok(Self { key, algorithm, id })
    }

    /// An assertion of the client for an authorization server, which serves once.
    pub(crate) fn assertion(&self, client_id: &str, audience: &str) -> Result<String, String> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        self.signed(client_id, audience, now, &draw()?)
    }

    fn signed(&self, client_id: &str, audience: &str, now: u64, id: &str) -> Result<String, String> {
        let mut header = json!({ "alg": self.algorithm.name, "typ": "JWT" });
        if let Some(id) = &self.id {
            header["kid"] = id.as_str().into();
        }
        let claims = json!({
            "iss": client_id, "sub": client_id, "aud": audience, "iat": now, "exp": now + LIFETIME, "jti": id,
        });
        let part = |value: &serde_json::Value| base64_url(value.to_string().as_bytes());
        let text = format!("{}.{}", part(&header), part(&claims));
        let failed = || "the private key signs nothing".to_owned();
        let signer = self.key.choose_scheme(&[self.algorithm.scheme]).ok_or_else(failed)?;
        let signature = signer.sign(text.as_bytes()).map_err(|_| failed())?;
        let signature = match self.algorithm.half {
            Some(half) => halves(&signature, half).ok_or_else(failed)?,
            None => signature,
        };
        Ok(format!("{text}.{}", base64_url(&signature)))
    }
}

/// Both numbers of a signature on a curve, each with its full length (RFC 7518, 3.4), from their sequence in DER.
fn halves(der: &[u8], half: usize) -> Option<Vec<u8>> {
    let [0x30, length, numbers @ ..] = der else { return None };
    let mut rest = numbers.get(..usize::from(*length))?;
    let mut both = Vec::new();
    for _ in 0..2 {
        let [0x02, length, after @ ..] = rest else { return None };
        let (number, left) = after.split_at_checked(usize::from(*length))?;
        let leading = number.iter().take_while(|byte| **byte == 0).count();
        let number = &number[leading..];
        both.resize(both.len() + half.checked_sub(number.len())?, 0);
        both.extend_from_slice(number);
        rest = left;
    }
    Some(both)
}

#[cfg(test)]
mod tests {
    use rcgen::{KeyPair, PKCS_ECDSA_P256_SHA256, PKCS_ECDSA_P384_SHA384, PKCS_ED25519};

    use super::*;
    use crate::redact::from_base64;

    #[test]
    fn halves_have_their_full_length() {
        let check = |der: &[u8], expected: Option<&[u8]>| assert_eq!(halves(der, 2).as_deref(), expected, "{der:?}");
        check(&[0x30, 8, 2, 2, 1, 2, 2, 2, 3, 4], Some(&[1, 2, 3, 4]));
        check(&[0x30, 8, 2, 3, 0, 0x81, 2, 2, 1, 9], Some(&[0x81, 2, 0, 9]));
        check(&[0x30, 9, 2, 3, 1, 2, 3, 2, 2, 1, 2], None);
        check(&[0x30, 4, 2, 9, 1, 2], None);
        check(&[0x31, 0], None);
        check(&[], None);
    }

    #[test]
    fn assertions_say_who_asks_whom() {
        for (kind, expected) in
            [(&PKCS_ECDSA_P256_SHA256, "ES256"), (&PKCS_ECDSA_P384_SHA384, "ES384"), (&PKCS_ED25519, "EdDSA")]
        {
            let pem = KeyPair::generate_for(kind).unwrap().serialize_pem();
            let key = AssertionKey::new(&pem, None, Some("k1".to_owned())).unwrap();
            let signed = key.signed("me", "https://as.test", 1000, "j1").unwrap();
            let parts: Vec<&str> = signed.split('.').collect();
            let read = |part: &str| String::from_utf8(from_base64(part).unwrap()).unwrap();
            assert_eq!(read(parts[0]), format!(r#"{{"alg":"{expected}","typ":"JWT","kid":"k1"}}"#));
            let claims = r#"{"iss":"me","sub":"me","aud":"https://as.test","iat":1000,"exp":1120,"jti":"j1"}"#;
            assert_eq!(read(parts[1]), claims);
            assert!(parts[2].len() >= 86 && parts.len() == 3, "{signed}");
        }
    }

    #[test]
    fn keys_that_sign_nothing_say_why() {
        let curve = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).unwrap().serialize_pem();
        let check = |pem: &str, algorithm: Option<&str>, expected: &str| {
            let algorithm = algorithm.and_then(AssertionAlgorithm::named);
            let why = AssertionKey::new(pem, algorithm, None).map(drop).unwrap_err();
            assert!(why.contains(expected), "{why}");
        };
        check("", None, "no private key in PEM");
        check("-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----", None, "encrypted");
        check("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----", None, "no key that is supported");
        check(&curve, Some("RS256"), "cannot sign with `RS256`, only with ES256");
    }
}
