//! Seeded numbers: the same seed gives the same test.

/// The generator splitmix64 (Steele, Lea, Flood 2014).
#[derive(Debug, Clone)]
pub struct Numbers(u64);

impl Numbers {
    /// Numbers from a seed; prints it, so that a failure can be repeated. `MEMORY_TEST_SEED` replaces `seed`.
    pub fn seeded(seed: u64) -> Self {
        let seed = std::env::var("MEMORY_TEST_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(seed);
        println!("seed {seed}: repeat with MEMORY_TEST_SEED={seed}");
        Self(seed)
    }

    /// The next number.
    #[expect(clippy::should_implement_trait, reason = "a generator without an end is no iterator")]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`, which is not 0.
    pub fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end as u64).unwrap()
    }

    /// One of `items`, which are not empty.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }
}
