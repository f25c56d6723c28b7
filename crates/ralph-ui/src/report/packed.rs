//! Prompts packed into the page: together, because each repeats most of the one before.

use base64::prelude::{BASE64_STANDARD, Engine};
use zlib_rs::{DeflateConfig, compress_bound, compress_slice};

use super::fit::head;
use super::harmless::visible;

/// The part of a page that prompts may take.
const PROMPTS_PART: usize = 4;

/// Returns the texts as the script of the page unpacks them: separated by NUL, as a zlib stream in Base64. If they take
/// too much of `max_size`, each is cut; the second value says at how many bytes. Empty without texts.
pub(super) fn pack(texts: &[&str], max_part: usize, max_size: usize) -> (String, usize) {
    let mut most = max_part;
    while !texts.is_empty() && most > 0 {
        // What `visible` returns has no NUL.
        let shown: Vec<String> = texts.iter().map(|text| visible(head(text, most))).collect();
        let text = shown.join("\0");
        let mut packed = vec![0; compress_bound(text.len())];
        let (packed, _) = compress_slice(&mut packed, text.as_bytes(), DeflateConfig::default());
        let packed = BASE64_STANDARD.encode(packed);
        if packed.len() <= max_size / PROMPTS_PART {
            return (packed, most);
        }
        most /= 4;
    }
    (String::new(), 0)
}

#[cfg(test)]
mod tests {
    use zlib_rs::{InflateConfig, decompress_slice};

    use super::*;

    #[test]
    fn what_is_packed_is_what_the_script_unpacks() {
        let long = "x".repeat(5000);
        for (texts, max_part, expected) in [
            (&["one\0\u{202e}", "two"][..], 100, "one\u{2400}\u{27e8}U+202E\u{27e9}\0two"),
            (&[long.as_str(), "y"], 10, "xxxxxxxxxx\0y"),
        ] {
            let (packed, most) = pack(texts, max_part, 1000);
            let mut text = vec![0; 10_000];
            let bytes = BASE64_STANDARD.decode(packed).unwrap();
            let (text, _) = decompress_slice(&mut text, &bytes, InflateConfig::default());
            assert_eq!((std::str::from_utf8(text).unwrap(), most), (expected, max_part));
        }
    }

    #[test]
    fn prompts_that_are_too_much_are_cut_and_at_last_left_out() {
        let noise: String = (0..4000_u32).map(|n| format!("{:x}", n.wrapping_mul(2_654_435_761))).collect();
        let (packed, most) = pack(&[&noise], 40_000, 10_000);
        assert!(!packed.is_empty() && packed.len() <= 2500 && most < 40_000, "{most}");
        assert_eq!(pack(&[&noise], 40_000, 8), (String::new(), 0));
        assert_eq!(pack(&[], 40_000, 10_000), (String::new(), 0));
    }
}
