//! CRC-32 as used by AWS event streams (IEEE 802.3, reflected), computed bit by bit: slow, but obviously
//! correct.

/// Returns the checksum of `bytes`.
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
    fn computes_the_check_value_of_the_standard() {
        assert_eq!(super::crc32(b"123456789"), 0xcbf4_3926);
        assert_eq!(super::crc32(b""), 0);
    }
}
