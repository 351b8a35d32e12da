//! What a session has used and cost so far.

use llm::{Capability, Price, Usage};
use serde_json::{Map, Value, json};

use super::message::usage_fields;

/// The tokens of each model, and what they cost. They add up over all runs of this process.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    models: Vec<Account>,
}

#[derive(Debug)]
struct Account {
    model: String,
    usage: Usage,
    capability: Capability,
}

impl Account {
    fn cost(&self) -> f64 {
        Price::of(&self.model).map_or(0.0, |price| price.cost(&self.usage))
    }
}

impl Ledger {
    /// Takes note of a request.
    pub(super) fn add(&mut self, model: &str, usage: Usage) {
        if usage == Usage::default() {
            return;
        }
        match self.models.iter_mut().find(|it| it.model == model) {
            Some(account) => account.usage += usage,
            None => self.models.push(Account {
                model: model.to_owned(),
                usage,
                capability: Capability::of(model),
            }),
        }
    }

    /// What all models together have cost, in US dollars; a model without a known price counts as
    /// nothing.
    pub(super) fn cost(&self) -> f64 {
        // Not `sum`, which is -0.0 for nothing.
        self.models
            .iter()
            .fold(0.0, |sum, account| sum + account.cost())
    }

    /// `modelUsage` of a result.
    pub(super) fn by_model(&self) -> Value {
        let models: Map<String, Value> = self
            .models
            .iter()
            .map(|account| {
                let usage = usage_fields(&account.usage);
                let value = json!({
                    "inputTokens": usage["input_tokens"],
                    "outputTokens": usage["output_tokens"],
                    "cacheReadInputTokens": usage["cache_read_input_tokens"],
                    "cacheCreationInputTokens": usage["cache_creation_input_tokens"],
                    "webSearchRequests": 0,
                    "costUSD": account.cost(),
                    "contextWindow": account.capability.context_window,
                    "maxOutputTokens": account.capability.max_output_tokens,
                });
                (account.model.clone(), value)
            })
            .collect();
        Value::Object(models)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(input: u64, output: u64) -> Usage {
        Usage {
            input,
            output,
            ..Usage::default()
        }
    }

    #[test]
    fn requests_add_up_by_model() {
        let mut ledger = Ledger::default();
        assert!(ledger.cost().is_sign_positive());
        ledger.add("claude-sonnet-4-6", usage(1_000_000, 0));
        ledger.add("my-model", usage(5, 7));
        ledger.add("claude-sonnet-4-6", usage(0, 100_000));
        ledger.add("unused", Usage::default());
        assert!((ledger.cost() - 4.5).abs() < 1e-9);
        let models = ledger.by_model();
        assert_eq!(models["my-model"]["inputTokens"], 5);
        assert_eq!(models["my-model"]["costUSD"], 0.0);
        assert_eq!(models.as_object().unwrap().len(), 2);
    }
}
