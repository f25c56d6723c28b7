//! Numbers that look random, and are the same for the same seed.

use std::hash::{BuildHasher, RandomState};

#[derive(Debug)]
pub struct Random(u64);

impl Random {
    pub fn of(seed: u64) -> Self {
        // Neighbours among the seeds shall have nothing in common, and nought stays nought.
        Self((seed ^ 0x9e37_79b9_7f4a_7c15).wrapping_mul(0xbf58_476d_1ce4_e5b9) | 1)
    }

    /// From 0 up to 1.
    pub fn next(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        f64::from((self.0 >> 32) as u32) / f64::from(u32::MAX)
    }
}

/// `RALPH_TEST_SEED` plays an earlier run again, as far as the machine's pace allows.
pub fn seed() -> u64 {
    let given = std::env::var("RALPH_TEST_SEED").ok();
    // Short enough to be typed.
    given.map_or_else(|| RandomState::new().hash_one(0) >> 32, |given| given.parse().unwrap())
}
