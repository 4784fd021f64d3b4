//! A hash that is the same on every machine and in every release; the standard library's may change.

/// The initial value of a hash.
pub const FNV: u64 = 0xcbf2_9ce4_8422_2325;

/// FNV-1a over some bytes, on top of what was hashed before: finds accidents, not forgers.
pub fn fnv(begun: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(begun, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

/// A hash as text, always of the same length.
pub fn hash_text(hash: u64) -> String {
    format!("{hash:016x}")
}

/// Makes every bit of a hash depend on all of them: the finaliser of `SplitMix64`.
pub fn mix_hash(hash: u64) -> u64 {
    let hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}

#[cfg(test)]
mod tests {
    use super::{FNV, fnv};

    #[test]
    fn the_hash_is_the_published_one() {
        for (text, expected) in [("", FNV), ("a", 0xaf63_dc4c_8601_ec8c), ("foobar", 0x8594_4171_f739_67e8)] {
            assert_eq!(fnv(FNV, text.as_bytes()), expected, "{text}");
        }
        assert_eq!(fnv(fnv(FNV, b"foo"), b"bar"), fnv(FNV, b"foobar"));
    }
}
