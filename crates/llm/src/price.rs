//! What models cost.

use crate::Usage;
use crate::capability::claude_generation;

/// The price of a model, in US dollars for a million tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Price {
    /// Of tokens of the prompt that no cache held.
    pub input: f64,
    /// Of tokens of the answer.
    pub output: f64,
}

/// What a token that is read from the cache costs, as a part of one of the prompt.
const CACHE_READ: f64 = 0.1;

/// What a token that is written to the cache for five minutes costs, as a part of one of the prompt.
const CACHE_WRITE: f64 = 1.25;

impl Price {
    /// The price of a model; `None` where it is not known. Nothing is guessed for newer models.
    ///
    /// Claude's: Anthropic's page "Pricing", without discounts and without the surcharge for prompts
    /// of more than 200,000 tokens.
    pub fn of(model: &str) -> Option<Self> {
        let (kind, generation) = claude_generation(model)?;
        let (input, output) = match (kind, generation) {
            ("opus", (4, 5..=8)) => (5.0, 25.0),
            ("opus", (3, 0) | (4, 0 | 1)) => (15.0, 75.0),
            ("sonnet", (3, _) | (4, 0..=6)) => (3.0, 15.0),
            ("haiku", (4, 5)) => (1.0, 5.0),
            ("haiku", (3, 5)) => (0.8, 4.0),
            ("haiku", (3, 0)) => (0.25, 1.25),
            _ => return None,
        };
        Some(Self { input, output })
    }

    /// What so many tokens cost, in US dollars.
    pub fn cost(&self, usage: &Usage) -> f64 {
        let cached = usage.cache_read + usage.cache_write;
        let input = tokens(usage.input.saturating_sub(cached))
            + tokens(usage.cache_read) * CACHE_READ
            + tokens(usage.cache_write) * CACHE_WRITE;
        (input * self.input + tokens(usage.output) * self.output) / 1e6
    }
}

#[expect(clippy::cast_precision_loss, reason = "no request has 2^52 tokens")]
fn tokens(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_known_has_a_price() {
        let price = |model| Price::of(model).map(|price| (price.input, price.output));
        assert_eq!(price("claude-opus-4-5"), Some((5.0, 25.0)));
        assert_eq!(price("claude-opus-4-1-20250805"), Some((15.0, 75.0)));
        assert_eq!(price("claude-sonnet-4-6[1m]"), Some((3.0, 15.0)));
        assert_eq!(price("claude-3-5-haiku-20241022"), Some((0.8, 4.0)));
        for unknown in ["claude-opus-9", "claude-x", "sonnet", "openai:gpt-5"] {
            assert_eq!(price(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn the_cache_is_cheaper_to_read_and_dearer_to_write() {
        let price = Price {
            input: 10.0,
            output: 100.0,
        };
        let usage = Usage {
            input: 1_000_000,
            cache_read: 500_000,
            cache_write: 400_000,
            output: 10_000,
            reasoning: 10_000,
        };
        let cost = price.cost(&usage);
        assert!((cost - (1.0 + 0.5 + 5.0 + 1.0)).abs() < 1e-9, "{cost}");
    }
}
