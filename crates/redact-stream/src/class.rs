//! Kinds of bytes that keys and tokens consist of.

/// Classes of bytes that can continue a secret.
pub(super) type Class = fn(u8) -> bool;

pub(super) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

pub(super) fn upper(byte: u8) -> bool {
    byte.is_ascii_uppercase() || byte.is_ascii_digit()
}

pub(super) fn digit(byte: u8) -> bool {
    byte.is_ascii_digit()
}

pub(super) fn alphanumeric(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
}

pub(super) fn hexadecimal(byte: u8) -> bool {
    byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte)
}

/// Hexadecimal in groups, as UUIDs are.
pub(super) fn grouped(byte: u8) -> bool {
    hexadecimal(byte) || byte == b'-'
}

pub(super) fn dashed(byte: u8) -> bool {
    is_word(byte) || byte == b'-'
}

pub(super) fn dotted(byte: u8) -> bool {
    dashed(byte) || byte == b'.'
}

pub(super) fn tilded(byte: u8) -> bool {
    dotted(byte) || byte == b'~'
}

pub(super) fn slashed(byte: u8) -> bool {
    dashed(byte) || b"/@+".contains(&byte)
}

pub(super) fn base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+/=".contains(&byte)
}

/// Base64 of either alphabet, with dots and escapes of addresses.
pub(super) fn encoded(byte: u8) -> bool {
    dotted(byte) || b"+/=%".contains(&byte)
}

/// A set of ASCII bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Set(u128);

impl Set {
    pub(super) const ALL: Self = Self(u128::MAX);

    /// One byte.
    pub(super) fn one(byte: u8) -> Self {
        Self(1 << (byte & 127))
    }

    /// One byte, in either case.
    pub(super) fn either(byte: u8) -> Self {
        Self::one(byte.to_ascii_lowercase()).or(Self::one(byte.to_ascii_uppercase()))
    }

    pub(super) fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) fn has(self, byte: u8) -> bool {
        byte.is_ascii() && self.0 >> byte & 1 == 1
    }

    /// Those of which a bit is set.
    pub(super) fn from_bits(bits: u128) -> Self {
        Self(bits)
    }

    /// The bytes of a class, all of which are ASCII.
    pub(super) fn of(class: Class) -> Self {
        Self((0..128).filter(|&byte| class(byte)).fold(0, |set, byte| set | 1 << byte))
    }

    /// Its bytes with the bit set by which small letters differ from capital ones.
    pub(super) fn folded(self) -> Self {
        const WITHOUT_BIT: u128 = 0xFFFF_FFFF_0000_0000_FFFF_FFFF;
        Self(self.0 & !WITHOUT_BIT | (self.0 & WITHOUT_BIT) << 32)
    }
}

/// Shannon's measure of `text`, in bits for each byte: 0 for one letter repeatedly, 6 for the best base64.
pub(super) fn entropy(text: &[u8]) -> f64 {
    let mut counts = [0_u32; 256];
    for &byte in text {
        counts[usize::from(byte)] += 1;
    }
    let length = u32::try_from(text.len()).unwrap_or(u32::MAX);
    let part = |&count: &u32| f64::from(count) / f64::from(length);
    -counts.iter().filter(|&&count| count > 0).map(part).map(|part| part * part.log2()).sum::<f64>()
}
