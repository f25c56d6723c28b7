//! Bytes in words.

/// Returns bytes as digits of base 16, two each.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
