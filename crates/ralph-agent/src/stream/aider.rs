//! The text that `aider --message-file` prints.

use super::failure::class_of;
use super::text::show_line;
use super::transcript::{Failure, Transcript};
use ralph_core::record::{FailureClass, Tokens};

/// Maximum number of bytes of an error that are read. It is wrapped into lines.
const MAX_ERROR_BYTES: usize = 4 << 10;

#[derive(Debug, Default)]
pub(super) struct AiderParser {
    /// The lines of the last error.
    error: Option<String>,
    is_in_error: bool,
}

impl AiderParser {
    pub(super) fn line(&mut self, line: &[u8], transcript: &mut Transcript) {
        self.words(String::from_utf8_lossy(line).trim_end(), transcript);
        show_line(line, transcript);
    }

    pub(super) fn finish(&self, transcript: &mut Transcript) {
        if let Some(words) = &self.error {
            transcript.set_failure(Failure::new(class_of_exception(words), words));
        }
    }

    fn words(&mut self, line: &str, transcript: &mut Transcript) {
        if self.is_in_error && line.starts_with("Retrying in") {
            let error = self.error.take().unwrap_or_default();
            transcript.retry(&format!("{line} ({error})"));
            self.is_in_error = false;
        } else if line.starts_with("litellm.") {
            transcript.reopen();
            self.is_in_error = true;
            self.error = Some(line.to_owned());
        } else if let Some(error) = self.error.as_mut().filter(|_| self.is_in_error && !line.is_empty()) {
            if error.len() < MAX_ERROR_BYTES {
                error.push(' ');
                error.push_str(line);
            }
        } else if let Some((tokens, cost)) = report(line) {
            self.error = None;
            transcript.complete();
            transcript.cost_usd = cost.or(transcript.cost_usd);
            transcript.add_tokens(&tokens);
        } else if let Some(model) = model(line).filter(|_| transcript.model.is_none()) {
            transcript.model = Some(model.to_owned());
            // The text before is about aider itself.
            transcript.clear_final_message();
        } else {
            self.is_in_error = false;
            transcript.add_to_final_message(line);
            transcript.add_to_final_message("\n");
        }
    }
}

/// `Model: NAME with whole edit format`, or `Main model: ...`
fn model(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("Model: ").or_else(|| line.strip_prefix("Main model: "))?;
    rest.split(" with ").next()
}

/// `Tokens: 1.5k sent, 40 received. Cost: $0.01 message, $0.02 session.`: rounded, as everything it prints.
fn report(line: &str) -> Option<(Tokens, Option<f64>)> {
    let rest = line.strip_prefix("Tokens: ")?;
    let (counts, costs) = rest.split_once(" Cost: ").unwrap_or((rest, ""));
    let mut tokens = Tokens::default();
    for part in counts.trim_end_matches('.').split(", ") {
        let (count, what) = part.split_once(' ')?;
        match what {
            "sent" => tokens.input = number(count),
            "cache write" => tokens.cache_write = number(count),
            "cache hit" => tokens.cache_read = number(count),
            "received" => tokens.output = number(count),
            _ => return None,
        }
    }
    // Whether the sent tokens include cached ones depends on the model's provider.
    if tokens.cache_read.is_some() || tokens.cache_write.is_some() {
        tokens.input = None;
    }
    let session = costs.split(", ").find_map(|cost| cost.trim_end_matches('.').strip_suffix(" session"));
    let cost = session.and_then(|cost| cost.trim_start_matches('$').parse().ok());
    tokens.output.map(|_| (tokens, cost))
}

fn number(count: &str) -> Option<u64> {
    let (digits, factor) = match count.strip_suffix('k') {
        Some(thousands) => (thousands, 1000.0),
        None => (count.strip_suffix('M').unwrap_or(count), if count.ends_with('M') { 1e6 } else { 1.0 }),
    };
    let number = digits.parse::<f64>().ok()? * factor;
    // In halves of the last digit it cannot matter how this rounds.
    (0.0..1e15).contains(&number).then(|| format!("{number:.0}").parse().ok()).flatten()
}

fn class_of_exception(words: &str) -> FailureClass {
    let name = words.trim_start_matches("litellm.").split([':', ' ']).next().unwrap_or_default();
    match name {
        "AuthenticationError" | "PermissionDeniedError" => FailureClass::Auth,
        "NotFoundError" => FailureClass::Model,
        "ContextWindowExceededError" => FailureClass::Context,
        "RateLimitError" => class_of(Some(429), words),
        "InternalServerError" | "ServiceUnavailableError" => FailureClass::Overloaded,
        "APIConnectionError" | "Timeout" => FailureClass::Network,
        _ => class_of(None, words),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_are_read_as_far_as_they_mean_one_thing() {
        let tokens =
            |input, cache_read, cache_write, output| Tokens { input, cache_read, cache_write, output };
        for (line, wanted) in [
            ("Tokens: 2.5k sent, 77 received.", Some((tokens(Some(2500), None, None, Some(77)), None))),
            (
                "Tokens: 12k sent, 1.0k cache write, 3.1k cache hit, 300 received. Cost: $0.01 message, $0.02 session.",
                Some((tokens(None, Some(3100), Some(1000), Some(300)), Some(0.02))),
            ),
            ("Tokens: many", None),
            ("Tokens: 5 sent, 6 lost.", None),
            ("All tokens", None),
        ] {
            assert_eq!(report(line), wanted, "{line}");
        }
    }
}
