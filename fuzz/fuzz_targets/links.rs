#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| specify_ralph_fuzz::links(input));
