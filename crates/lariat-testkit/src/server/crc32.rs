//! CRC-32 as AWS event streams use it (IEEE 802.3, reflected), bit by bit: slow, and short enough to be seen right.
//!
//! Owns the checksum only. Invariant: the check value of the standard holds.

/// The checksum of `bytes`.
pub(crate) fn crc32(bytes: &[u8]) -> u32 {
    let mut remainder = u32::MAX;
    for &byte in bytes {
        remainder ^= u32::from(byte);
        for _ in 0..8 {
            let carry = remainder & 1;
            remainder >>= 1;
            if carry == 1 {
                remainder ^= 0xedb8_8320;
            }
        }
    }
    !remainder
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_check_value_of_the_standard_holds() {
        assert_eq!(super::crc32(b"123456789"), 0xcbf4_3926);
        assert_eq!(super::crc32(b""), 0);
    }
}
