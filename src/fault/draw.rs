//! Draws that depend on what is asked and on nothing else.
//!
//! The same question always draws the same number, whatever was asked before it and in whatever order: so a share of
//! 0.2 strikes the same calls at any concurrency, and after another fault is added.

use serde_json::Value;

use crate::wire::canonical;

/// Everything that a draw depends on, beside the seed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FaultDrawKey<'a> {
    /// The name of the fault.
    pub fault: &'a str,
    /// The name of the server.
    pub server: &'a str,
    /// The method that was asked.
    pub method: &'a str,
    /// The tool that was called; empty for other methods.
    pub tool: &'a str,
    /// The parameters that were sent; the order of members and `_meta` make no difference.
    pub arguments: &'a Value,
    /// The number of equal requests before.
    pub occurrence: u32,
}

/// A number from 0 up to, but not including, 1.
pub fn draw(seed: u64, key: &FaultDrawKey<'_>) -> f64 {
    let arguments = canonical(key.arguments);
    let mut bytes = joined(&[key.fault, key.server, key.method, key.tool, &arguments]);
    bytes.extend_from_slice(&key.occurrence.to_le_bytes());
    let high = siphash([seed, 0x6d63_7072_6f76_6521], &bytes) >> 11;
    #[expect(clippy::cast_precision_loss, reason = "53 bits are what a double holds")]
    let share = high as f64 / (1_u64 << 53) as f64;
    share
}

/// The chance that the next one is within a burst, given whether the one before it was: a chain with two states whose
/// share in bursts is `share`, and whose bursts are `length` long on average (Gilbert 1960, "Capacity of a burst-noise
/// channel").
pub fn burst_chance(share: f64, length: f64, before: Option<bool>) -> f64 {
    match before {
        _ if share >= 1.0 => 1.0,
        None => share,
        Some(true) => 1.0 - 1.0 / length,
        Some(false) => share / (length * (1.0 - share)),
    }
}

/// The greatest share below 1 that bursts of a length reach: above it, every pause between two of them would have to be
/// shorter than one exchange.
pub fn greatest_burst_share(length: f64) -> f64 {
    length / (length + 1.0)
}

/// The parts one after the other.
fn joined(parts: &[&str]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for part in parts {
        // With its length in front no part can pose as the end of another one.
        bytes.extend_from_slice(&(part.len() as u64).to_le_bytes());
        bytes.extend_from_slice(part.as_bytes());
    }
    bytes
}

/// A number that depends on a text alone.
pub(crate) fn text_draw(text: &str) -> u64 {
    siphash([0, 0x6d63_7072_6f76_6521], text.as_bytes())
}

/// A number that depends on a seed and on texts.
pub(crate) fn seeded_draw(seed: u64, parts: &[&str]) -> u64 {
    siphash([seed, 0x6d63_7072_6f76_6521], &joined(parts))
}

/// A word of letters and digits that depends on a seed and on a text.
pub(crate) fn drawn_word(seed: u64, text: &str) -> String {
    const LETTERS: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
    let draw = seeded_draw(seed, &[text]);
    (0..10).map(|at| char::from(LETTERS[(draw >> (5 * at) & 31) as usize])).collect()
}

/// SipHash-2-4: short, keyed, and the same on every machine and in every release.
fn siphash(key: [u64; 2], bytes: &[u8]) -> u64 {
    let mut state = [
        key[0] ^ 0x736f_6d65_7073_6575,
        key[1] ^ 0x646f_7261_6e64_6f6d,
        key[0] ^ 0x6c79_6765_6e65_7261,
        key[1] ^ 0x7465_6462_7974_6573,
    ];
    let mut chunks = bytes.chunks_exact(8);
    for chunk in &mut chunks {
        absorb(&mut state, word(chunk));
    }
    absorb(&mut state, word(chunks.remainder()) | (bytes.len() as u64) << 56);
    state[2] ^= 0xff;
    (0..4).for_each(|_| round(&mut state));
    state[0] ^ state[1] ^ state[2] ^ state[3]
}

/// Up to eight bytes as a number, the first byte lowest.
fn word(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
}

fn absorb(state: &mut [u64; 4], word: u64) {
    state[3] ^= word;
    round(state);
    round(state);
    state[0] ^= word;
}

fn round(state: &mut [u64; 4]) {
    let [mut a, mut b, mut c, mut d] = *state;
    a = a.wrapping_add(b);
    b = b.rotate_left(13) ^ a;
    a = a.rotate_left(32);
    c = c.wrapping_add(d);
    d = d.rotate_left(16) ^ c;
    a = a.wrapping_add(d);
    d = d.rotate_left(21) ^ a;
    c = c.wrapping_add(b);
    b = b.rotate_left(17) ^ c;
    c = c.rotate_left(32);
    *state = [a, b, c, d];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_the_published_one() {
        let key = [0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908];
        assert_eq!(siphash(key, &[]), 0x726f_db47_dd0e_0e31);
        let message: Vec<u8> = (0..15).collect();
        assert_eq!(siphash(key, &message), 0xa129_ca61_49be_45e5);
    }
}
