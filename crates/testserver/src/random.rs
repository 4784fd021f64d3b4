//! Names that nobody can guess, for sessions and tasks.

/// A name of 128 bits; nothing where the system gives no random numbers.
pub fn name() -> Option<String> {
    let mut bytes = [0; 16];
    rustls::crypto::ring::default_provider().secure_random.fill(&mut bytes).ok()?;
    Some(format!("{:032x}", u128::from_ne_bytes(bytes)))
}
