//! Iterations as they are once their records are read, to build the context of a prompt from.

use ralph_core::record::{FACTS_VERSION, Facts, Failing, Iteration, Outcome, SessionId, Timestamp};

use super::synthetic::{self, BEGIN, Random, synthetic_iteration};

/// So many iterations, as they are once their records are read: two of three failed, each for one of fifty causes.
pub fn past(count: u32) -> Vec<Iteration> {
    let mut random = Random(7);
    let session = SessionId::new(Timestamp::from_seconds(BEGIN), 1);
    let mut past = Vec::new();
    for number in 1..=count {
        let mut iteration = synthetic_iteration(&session, number, BEGIN + i64::from(number), &mut random);
        if iteration.outcome == Outcome::Failure {
            let cause = random.below(50);
            let message = format!("assertion failed: {} is {cause}, not {}", random.word(), random.word());
            iteration.fingerprint = Some(format!("{cause:08x}"));
            iteration.approaches = vec![format!("Changed the {} of the {}", random.word(), random.word())];
            iteration.facts = Facts {
                version: FACTS_VERSION,
                excerpt: synthetic::test_output(number, 1_000),
                errors: vec![Failing {
                    tool: "libtest".to_owned(),
                    id: format!("login::{}", random.word()),
                    message,
                    file: format!("src/{}.rs", random.word()),
                    ..Failing::default()
                }],
                ..Facts::default()
            };
        }
        past.push(iteration);
    }
    past
}
