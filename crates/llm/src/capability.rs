//! What is known of each model family.
//!
//! The table is conservative: a name that it does not know gets [`Capability::default`], and a wrong
//! row can be corrected by a file without a new version of the program.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

/// What a model can do, as far as it changes what Pod sends.
#[derive(Clone, Debug, PartialEq)]
pub struct Capability {
    /// The context window in tokens.
    pub context_window: u32,
    /// The most tokens that one answer may have.
    pub max_output_tokens: u32,
    /// Whether `role: "system"` messages are accepted anywhere in a conversation. Claude models are not
    /// among these: the newer ones take them at some places, which a growing conversation cannot
    /// promise to keep.
    pub system_in_conversation: bool,
    /// Whether a single tool can be forced by `tool_choice`.
    pub forced_tool_choice: bool,
    /// Whether the last assistant turn with a tool call must begin with reasoning when reasoning is
    /// on (Anthropic's older `thinking: enabled`).
    pub reasoning_first: bool,
    /// Whether cache marks are understood.
    pub cache_marks: bool,
    /// How reasoning is asked for, on the wires that can do so.
    pub reasoning: ReasoningControl,
}

/// How reasoning is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReasoningControl {
    /// Not at all: the parameter would be refused.
    #[default]
    None,
    /// With a number of tokens (`thinking: {"type": "enabled", "budget_tokens": n}`).
    Budget,
    /// With a switch; the model finds the number (`thinking: {"type": "adaptive"}`).
    Adaptive,
    /// With a level on the wire of OpenAI Responses (`reasoning: {"effort": "medium"}`). Such a model
    /// also gives its reasoning in sealed form, and takes it back.
    Effort,
}

impl Default for Capability {
    /// What holds for a model of which nothing is known: nothing is taken for granted.
    fn default() -> Self {
        Self {
            context_window: 32_000,
            max_output_tokens: 4_096,
            system_in_conversation: false,
            forced_tool_choice: false,
            reasoning_first: false,
            cache_marks: false,
            reasoning: ReasoningControl::None,
        }
    }
}

impl Capability {
    /// What the built-in table knows of a model. A name may carry a path (`openai/gpt-5`), a
    /// provider's prefix (`us.anthropic.claude-...`), a tag (`llama3.2:3b`) and the suffix `[1m]`.
    pub fn of(model: &str) -> Self {
        let (name, is_million) = match model.strip_suffix("[1m]") {
            Some(name) => (name, true),
            None => (model, false),
        };
        let name = name.rsplit('/').next().unwrap_or(name).to_ascii_lowercase();
        let mut capability = match name.find("claude-").and_then(|start| name.get(start..)) {
            Some(claude) => claude_family(claude),
            None => other_family(&name),
        };
        if is_million {
            capability.context_window = 1_000_000;
        }
        capability
    }
}

/// Claude models, by kind and generation. Windows, output limits and ways of thinking: Anthropic's
/// pages "Models overview", "Extended thinking" and "Adaptive thinking". Forced tool choice: the model
/// catalogue of rig-core 0.44, which says that the newest of generation 5 refuse it.
fn claude_family(name: &str) -> Capability {
    let (kind, generation) = kind_and_generation(name);
    let thinks = generation >= (3, 7);
    let is_adaptive = generation >= (4, 6);
    Capability {
        context_window: 200_000,
        max_output_tokens: if generation < (3, 5) {
            4_096
        } else if !thinks {
            8_192
        } else if kind == "opus" && generation < (4, 5) {
            32_000
        } else {
            64_000
        },
        system_in_conversation: false,
        forced_tool_choice: generation > (0, 0) && generation < (5, 0),
        reasoning_first: thinks && !is_adaptive,
        cache_marks: true,
        reasoning: match (thinks, is_adaptive) {
            (false, _) => ReasoningControl::None,
            (true, false) => ReasoningControl::Budget,
            (true, true) => ReasoningControl::Adaptive,
        },
    }
}

/// The kind and the generation of a Claude model, such as `("opus", (4, 1))`, by its name in any of
/// the forms that [`Capability::of`] takes. `None` if the name is of no such model; `(0, 0)` if it
/// holds no generation.
pub fn claude_generation(model: &str) -> Option<(&str, (u32, u32))> {
    let start = model.find("claude-")?;
    let name = model.get(start..)?;
    Some(kind_and_generation(
        name.strip_suffix("[1m]").unwrap_or(name),
    ))
}

/// The kind and the generation in a name such as `claude-3-5-haiku-20241022`, `claude-opus-4-1` or
/// `claude-sonnet-4.5`. A number of more than two digits is a date.
fn kind_and_generation(name: &str) -> (&str, (u32, u32)) {
    let parts = || name.split(['-', '.', '@', ':', '_']).skip(1);
    let kind = parts()
        .find(|part| part.chars().next().is_some_and(char::is_alphabetic))
        .unwrap_or_default();
    let number = |part: &str| {
        let is_short = part.len() <= 2;
        part.parse::<u32>().ok().filter(|_| is_short)
    };
    let mut numbers = parts()
        .skip_while(|part| number(part).is_none())
        .map_while(number);
    let major = numbers.next().unwrap_or(0);
    (kind, (major, numbers.next().unwrap_or(0)))
}

/// The row of the longest prefix that fits.
fn other_family(name: &str) -> Capability {
    let fitting = FAMILIES.iter().filter(|row| name.starts_with(row.prefix));
    let Some(row) = fitting.max_by_key(|row| row.prefix.len()) else {
        return Capability::default();
    };
    Capability {
        context_window: row.window,
        max_output_tokens: row.output,
        system_in_conversation: row.is_openai,
        forced_tool_choice: row.is_openai,
        reasoning: if row.is_openai && reasons(name) {
            ReasoningControl::Effort
        } else {
            ReasoningControl::None
        },
        ..Capability::default()
    }
}

/// Whether it is one of OpenAI's models that reason (its page "Models"). Of the chat-tuned ones of the
/// family `gpt-5` that is not taken for granted.
fn reasons(name: &str) -> bool {
    let families = ["gpt-5", "o1", "o3", "o4"];
    families.iter().any(|family| name.starts_with(family)) && !name.contains("-chat")
}

struct Family {
    prefix: &'static str,
    window: u32,
    output: u32,
    /// Whether it is OpenAI's own, of which the rules of the conversation are known.
    is_openai: bool,
}

const fn family(prefix: &'static str, window: u32, output: u32, is_openai: bool) -> Family {
    Family {
        prefix,
        window,
        output,
        is_openai,
    }
}

/// Other models. OpenAI's numbers are those of its page "Models", the hosted ones those of their
/// vendors. Of a model that people run themselves the server's setting decides and not the model, so
/// only windows below the default of 32k stand here.
const FAMILIES: &[Family] = &[
    family("gpt-5", 400_000, 128_000, true),
    family("gpt-4.1", 1_000_000, 32_768, true),
    family("gpt-4o", 128_000, 16_384, true),
    family("chatgpt-4o", 128_000, 16_384, true),
    family("gpt-4-turbo", 128_000, 4_096, true),
    family("gpt-4", 8_192, 4_096, true),
    family("gpt-3.5-turbo", 16_385, 4_096, true),
    family("o1", 200_000, 100_000, true),
    family("o3", 200_000, 100_000, true),
    family("o4-mini", 200_000, 100_000, true),
    family("deepseek-chat", 128_000, 8_192, false),
    family("deepseek-reasoner", 128_000, 32_768, false),
    family("gemini-", 1_000_000, 8_192, false),
    family("grok-", 128_000, 8_192, false),
    family("mistral-large", 128_000, 8_192, false),
    family("mistral-medium", 128_000, 8_192, false),
    family("gemma2", 8_192, 2_048, false),
    family("gemma-2-", 8_192, 2_048, false),
    family("llama2", 4_096, 1_024, false),
    family("llama3:", 8_192, 2_048, false),
    family("phi3", 4_096, 1_024, false),
    family("smollm", 8_192, 2_048, false),
    family("tinyllama", 2_048, 512, false),
];

/// The built-in table together with the corrections of a person.
#[derive(Clone, Debug, Default)]
pub struct Capabilities {
    corrections: BTreeMap<String, Correction>,
}

/// A row of the file: what stands in it replaces what the built-in table says.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Correction {
    context_window: Option<u32>,
    max_output_tokens: Option<u32>,
    system_in_conversation: Option<bool>,
    forced_tool_choice: Option<bool>,
    reasoning_first: Option<bool>,
    cache_marks: Option<bool>,
    reasoning: Option<ReasoningControl>,
}

/// What is wrong with a capability file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CapabilityError {
    /// It is no JSON object.
    #[error(
        "the capability file is no JSON object of models, such as \
         {{\"my-model\": {{\"context_window\": 131072}}}}: {0}"
    )]
    Format(String),
    /// A row is wrong.
    #[error("the capability file is wrong at `{model}`: {reason}")]
    Row {
        /// The name that the row has.
        model: String,
        /// What is wrong, with the name of the field.
        reason: String,
    },
}

impl Capabilities {
    /// Reads corrections: an object whose keys are names of models (a `*` at the end stands for
    /// any rest) and whose values have some fields of [`Capability`].
    ///
    /// # Errors
    /// Names the row and the field that are wrong.
    pub fn from_json(text: &str) -> Result<Self, CapabilityError> {
        let rows: serde_json::Map<String, Value> = serde_json::from_str(text)
            .map_err(|error| CapabilityError::Format(error.to_string()))?;
        let rows = rows.into_iter().map(|(model, row)| match correction(&row) {
            Ok(correction) => Ok((model, correction)),
            Err(reason) => Err(CapabilityError::Row { model, reason }),
        });
        Ok(Self {
            corrections: rows.collect::<Result<_, _>>()?,
        })
    }

    /// What is known of a model. Among the rows that fit, the exact name wins, then the longest.
    pub fn of(&self, model: &str) -> Capability {
        let fits = |pattern: &str| match pattern.strip_suffix('*') {
            Some(prefix) => model.starts_with(prefix),
            None => model == pattern,
        };
        let fitting = self.corrections.iter().filter(|(pattern, _)| fits(pattern));
        let best = fitting.max_by_key(|(pattern, _)| (!pattern.ends_with('*'), pattern.len()));
        let capability = Capability::of(model);
        match best {
            Some((_, correction)) => correction.apply(&capability),
            None => capability,
        }
    }
}

fn correction(row: &Value) -> Result<Correction, String> {
    // The fields one by one, since serde does not name the field of a wrong value.
    for (field, value) in row.as_object().ok_or("its value is no object")? {
        let alone = serde_json::json!({ field: value });
        serde_json::from_value::<Correction>(alone).map_err(|error| {
            let error = error.to_string();
            if error.starts_with("unknown field") {
                error
            } else {
                format!("`{field}`: {error}")
            }
        })?;
    }
    let correction: Correction =
        serde_json::from_value(row.clone()).map_err(|error| error.to_string())?;
    for (field, value) in [
        ("context_window", correction.context_window),
        ("max_output_tokens", correction.max_output_tokens),
    ] {
        if value == Some(0) {
            return Err(format!("`{field}`: it must be more than 0"));
        }
    }
    Ok(correction)
}

impl Correction {
    fn apply(&self, known: &Capability) -> Capability {
        Capability {
            context_window: self.context_window.unwrap_or(known.context_window),
            max_output_tokens: self.max_output_tokens.unwrap_or(known.max_output_tokens),
            system_in_conversation: self
                .system_in_conversation
                .unwrap_or(known.system_in_conversation),
            forced_tool_choice: self.forced_tool_choice.unwrap_or(known.forced_tool_choice),
            reasoning_first: self.reasoning_first.unwrap_or(known.reasoning_first),
            cache_marks: self.cache_marks.unwrap_or(known.cache_marks),
            reasoning: self.reasoning.unwrap_or(known.reasoning),
        }
    }
}

#[cfg(test)]
#[path = "capability_tests.rs"]
mod tests;
