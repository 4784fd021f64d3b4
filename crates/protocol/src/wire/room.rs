//! Room for large messages while they are read.

/// The number of bytes from which on a message is large.
pub const LARGE_MESSAGE: usize = 4 << 20;

/// Gives the buffer of a large message room for `most` bytes at once; one that doubles would leave as much again behind.
///
/// The system provides the memory only as it is written to.
pub fn reserve_for_large(buffer: &mut Vec<u8>, most: usize) {
    if buffer.len() >= LARGE_MESSAGE {
        buffer.reserve_exact(most.saturating_sub(buffer.len()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_large_messages_get_all_their_room() {
        let most = 2 * LARGE_MESSAGE;
        for (length, has_room) in [(0, false), (LARGE_MESSAGE - 1, false), (LARGE_MESSAGE, true), (most, true)] {
            let mut buffer = vec![0; length];
            reserve_for_large(&mut buffer, most);
            assert_eq!(buffer.capacity() >= most, has_room, "{length}");
            assert_eq!(buffer.len(), length);
        }
        let mut beyond = vec![0; most + 1];
        reserve_for_large(&mut beyond, most);
        assert_eq!(beyond.len(), most + 1);
    }
}
