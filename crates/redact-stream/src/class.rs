//! Kinds of bytes that keys and tokens consist of.

/// Classes of bytes that can continue a secret.
pub(super) type Class = fn(u8) -> bool;

pub(super) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

pub(super) fn digit(byte: u8) -> bool {
    byte.is_ascii_digit()
}

pub(super) fn dashed(byte: u8) -> bool {
    is_word(byte) || byte == b'-'
}

pub(super) fn dotted(byte: u8) -> bool {
    dashed(byte) || byte == b'.'
}

pub(super) fn base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+/=".contains(&byte)
}

/// Base64 of either alphabet, with dots and escapes of addresses.
pub(super) fn encoded(byte: u8) -> bool {
    dotted(byte) || b"+/=%".contains(&byte)
}

/// Shannon's measure of `text`, in bits for each byte: 0 for one letter repeatedly, 6 for the best base64.
pub(super) fn entropy(text: &[u8]) -> f64 {
    let mut counts = [0_u32; 256];
    for &byte in text {
        counts[usize::from(byte)] += 1;
    }
    let length = f64::from(u32::try_from(text.len()).unwrap_or(u32::MAX));
    let parts = counts.into_iter().filter(|count| *count > 0).map(|count| f64::from(count) / length);
    -parts.map(|part| part * part.log2()).sum::<f64>()
}
