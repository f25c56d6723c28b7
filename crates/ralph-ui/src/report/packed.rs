//! Texts packed into the page: together, because each repeats most of the one before.

use base64::prelude::{BASE64_STANDARD, Engine};
use zlib_rs::{DeflateConfig, compress_bound, compress_slice};

/// Returns texts without NUL as the script of the page unpacks them: separated by it, as a zlib stream in Base64.
/// Empty without texts.
pub(super) fn pack(texts: &[&str]) -> String {
    if texts.is_empty() {
        return String::new();
    }
    let text = texts.join("\0");
    let mut packed = vec![0; compress_bound(text.len())];
    let (packed, _) = compress_slice(&mut packed, text.as_bytes(), DeflateConfig::default());
    BASE64_STANDARD.encode(packed)
}

#[cfg(test)]
mod tests {
    use zlib_rs::{InflateConfig, decompress_slice};

    use super::*;

    #[test]
    fn what_is_packed_is_what_the_script_unpacks() {
        let texts = ["<pre>one</pre>", "", "größe"];
        let bytes = BASE64_STANDARD.decode(pack(&texts)).unwrap();
        let mut text = [0; 100];
        let (text, _) = decompress_slice(&mut text, &bytes, InflateConfig::default());
        assert_eq!(std::str::from_utf8(text).unwrap(), texts.join("\0"));
        assert_eq!(pack(&[]), "");
    }
}
