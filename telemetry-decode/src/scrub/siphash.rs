//! SipHash-2-4 of Aumasson and Bernstein: a hash of 64 bits with a key of 128 bits, which
//! cannot be computed or undone without the key.

/// Returns the hash of bytes.
pub(super) fn siphash(key: &[u8; 16], bytes: &[u8]) -> u64 {
    let word = |bytes: &[u8]| {
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        u64::from_le_bytes(word)
    };
    let (k0, k1) = (word(&key[..8]), word(&key[8..]));
    let mut state = State([
        k0 ^ 0x736f_6d65_7073_6575,
        k1 ^ 0x646f_7261_6e64_6f6d,
        k0 ^ 0x6c79_6765_6e65_7261,
        k1 ^ 0x7465_6462_7974_6573,
    ]);
    let (words, rest) = bytes.as_chunks::<8>();
    for bytes in words {
        state.take(u64::from_le_bytes(*bytes));
    }
    state.take(word(rest) | (bytes.len() as u64) << 56);
    state.0[2] ^= 0xff;
    state.rounds(4);
    state.0.iter().fold(0, |hash, word| hash ^ word)
}

struct State([u64; 4]);

impl State {
    fn take(&mut self, word: u64) {
        self.0[3] ^= word;
        self.rounds(2);
        self.0[0] ^= word;
    }

    fn rounds(&mut self, number: u32) {
        let [a, b, c, d] = &mut self.0;
        for _ in 0..number {
            *a = a.wrapping_add(*b);
            *b = b.rotate_left(13) ^ *a;
            *a = a.rotate_left(32);
            *c = c.wrapping_add(*d);
            *d = d.rotate_left(16) ^ *c;
            *a = a.wrapping_add(*d);
            *d = d.rotate_left(21) ^ *a;
            *c = c.wrapping_add(*b);
            *b = b.rotate_left(17) ^ *c;
            *c = c.rotate_left(32);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::siphash;

    /// The vectors of the reference implementation: the bytes are 0, 1, 2 and so on.
    #[test]
    fn it_is_siphash_2_4() {
        let key = std::array::from_fn(|index| index as u8);
        let bytes: Vec<u8> = (0..64).collect();
        for (len, expected) in [
            (0, 0x726f_db47_dd0e_0e31),
            (1, 0x74f8_39c5_93dc_67fd),
            (7, 0xab02_00f5_8b01_d137),
            (8, 0x93f5_f579_9a93_2462),
            (15, 0xa129_ca61_49be_45e5),
            (63, 0x958a_324c_eb06_4572),
        ] {
            assert_eq!(siphash(&key, &bytes[..len]), expected, "{len} bytes");
        }
    }
}
