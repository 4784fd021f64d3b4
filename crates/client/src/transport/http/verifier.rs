//! Code verifiers of OAuth (RFC 7636), and other texts that nobody can guess.

use ring::digest::{SHA256, digest};
use ring::rand::{SecureRandom, SystemRandom};

use crate::redact::base64;

/// The bytes of a verifier before they are encoded (RFC 7636, 4.1).
const VERIFIER_BYTES: usize = 32;

/// A text of 43 characters that nobody can guess; `None` where the system gives no random numbers.
pub fn code_verifier() -> Option<String> {
    let mut bytes = [0; VERIFIER_BYTES];
    SystemRandom::new().fill(&mut bytes).ok()?;
    Some(base64_url(&bytes))
}

/// The code challenge of a verifier, by the method `S256` (RFC 7636, 4.2).
pub fn code_challenge(verifier: &str) -> String {
    base64_url(digest(&SHA256, verifier.as_bytes()).as_ref())
}

/// Bytes in the alphabet for addresses, without padding (RFC 7515, 2).
pub(crate) fn base64_url(bytes: &[u8]) -> String {
    base64(bytes).trim_end_matches('=').replace('+', "-").replace('/', "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_challenge_is_that_of_the_standard() {
        // RFC 7636, appendix B.
        let challenge = code_challenge("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk");
        assert_eq!(challenge, "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
        let verifier = code_verifier().unwrap();
        assert_eq!(verifier.len(), 43);
        assert_ne!(Some(verifier), code_verifier());
    }
}
