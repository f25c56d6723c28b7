//! A copy of an output in which everything that would steer a terminal is shown as a sign of its own.

use std::io::{self, Write};

use super::style::{is_unseen, picture};

/// Writes to `out` what is written to it, shown. [`Shown::finish`] writes what is still held back.
#[derive(Debug)]
pub struct Shown<W> {
    out: W,
    /// The begin of a character, or of a line end, whose rest is not here yet.
    rest: Vec<u8>,
}

impl<W: Write> Shown<W> {
    pub fn new(out: W) -> Self {
        Self { out, rest: Vec::new() }
    }

    pub fn finish(mut self) -> io::Result<()> {
        let rest = std::mem::take(&mut self.rest);
        let text = String::from_utf8_lossy(&rest);
        self.out.write_all(text.chars().map(sign).collect::<String>().as_bytes())?;
        self.out.flush()
    }
}

impl<W: Write> Write for Shown<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.rest.extend_from_slice(bytes);
        let held = std::mem::take(&mut self.rest);
        let mut text = String::with_capacity(held.len());
        let mut left = held.len();
        for chunk in held.utf8_chunks() {
            let mut chars = chunk.valid().chars().peekable();
            left -= chunk.valid().len() + chunk.invalid().len();
            while let Some(c) = chars.next() {
                match (c, chars.peek()) {
                    ('\r', Some('\n')) => {}
                    ('\r', None) if left == 0 && chunk.invalid().is_empty() => self.rest.push(b'\r'),
                    _ => text.push(sign(c)),
                }
            }
            let is_begun =
                std::str::from_utf8(chunk.invalid()).is_err_and(|error| error.error_len().is_none());
            if is_begun && left == 0 {
                self.rest.extend_from_slice(chunk.invalid());
            } else if !chunk.invalid().is_empty() {
                text.push('\u{fffd}');
            }
        }
        self.out.write_all(text.as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

fn sign(c: char) -> char {
    match c {
        '\n' | '\t' => c,
        c if is_unseen(c) => '\u{fffd}',
        c => picture(c).unwrap_or(c),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shown<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> String {
        let mut out = Vec::new();
        let mut shown = Shown::new(&mut out);
        for part in parts {
            shown.write_all(part).unwrap();
        }
        shown.finish().unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn what_would_be_obeyed_is_a_sign_and_the_rest_is_as_it_was() {
        for (bytes, expected) in [
            (&b"\x1b]0;title\x07 a\tb\n"[..], "␛]0;title␇ a\tb\n"),
            (b"a\r\n10%\r20%\r", "a\n10%␍20%␍"),
            ("日本\u{9b}31m\u{202e}x".as_bytes(), "日本\u{fffd}31m\u{fffd}x"),
            (b"a\xff\xfeb\xe6", "a\u{fffd}\u{fffd}b\u{fffd}"),
        ] {
            assert_eq!(shown([bytes]), expected);
        }
    }

    proptest! {
        #[test]
        fn however_it_is_cut_it_is_shown_alike(bytes in proptest::collection::vec(any::<u8>(), 0..200), text in ".{0,40}", size in 1_usize..9) {
            let all = [text.as_bytes(), &bytes, b"\r\n", text.as_bytes()].concat();
            let whole = shown([&all[..]]);
            prop_assert_eq!(shown(all.chunks(size)), &whole[..]);
            prop_assert!(!whole.chars().any(|c| c.is_control() && c != '\n' && c != '\t'));
        }
    }
}
