//! What a person sees who has neither chosen a model nor set a key: one screen with the ways on.

use std::fmt::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use llm::http::RetryPolicy;
use llm::provider::Providers;
use llm::{Capabilities, probe};

use crate::args::RunOptions;
use crate::config::file::NAME;
use crate::{home, terminal};

/// How long a local Ollama may take to say what it has.
const PATIENCE: Duration = Duration::from_millis(300);

/// The most models of Ollama that are named.
const MOST_MODELS: usize = 3;

/// The variables of which one is enough for the model that is built in.
const KEYS: [&str; 3] = [
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "ANTHROPIC_BASE_URL",
];

/// Whether nobody has chosen a model, there is no key for the one that is built in, and a person
/// looks. Where nobody looks, the error of the model says the same in one line.
pub(crate) fn is_due(options: &RunOptions) -> bool {
    let has_key = KEYS
        .iter()
        .any(|name| std::env::var(name).is_ok_and(|value| !value.trim().is_empty()));
    options.model_is_default && !has_key && terminal::is_watched()
}

/// Shows the screen. Nothing was done, so it is no success.
pub(crate) fn run() -> anyhow::Result<ExitCode> {
    let address = ollama_address()?;
    let models = match &address {
        Some(address) => {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .context("the asynchronous runtime cannot start")?;
            // That it is not there is no news.
            runtime
                .block_on(probe::ollama_models(address, PATIENCE))
                .ok()
        }
        None => None,
    };
    let path = home::root()?.join(NAME);
    terminal::lines(&screen(models.as_deref(), &path.display().to_string()));
    Ok(ExitCode::FAILURE)
}

/// Where a local Ollama would be; `None` if it is said to be on another machine, which is not asked
/// without being told to.
fn ollama_address() -> anyhow::Result<Option<String>> {
    let providers = Providers {
        variable: &|name| std::env::var(name).ok(),
        capabilities: &Capabilities::default(),
        retry: &RetryPolicy::never(),
    };
    let address = providers.destination("ollama:any")?.base_url;
    Ok(probe::is_loopback(&address).then_some(address))
}

fn screen(ollama: Option<&[String]>, path: &str) -> String {
    let mut text = String::from(
        "Pod asks a language model, and none is set up yet: ANTHROPIC_API_KEY is not\n\
         set, and no model is chosen.\n\n\
         See what Pod does first, without a key or a network:\n    pod demo\n",
    );
    match ollama {
        Some(models) => {
            let named: Vec<&String> = models.iter().filter(|name| is_plain(name)).collect();
            if let Some(first) = named.first() {
                text.push_str(
                    "\nOllama runs on this machine. Use a model of it, once or always:\n",
                );
                for name in named.iter().take(MOST_MODELS) {
                    let _ = writeln!(
                        text,
                        "    pod --model ollama:{name} \"What does this project do?\""
                    );
                }
                let _ = writeln!(text, "    export POD_MODEL=ollama:{first}");
            } else {
                text.push_str(
                    "\nOllama runs on this machine and has no model yet. Get one, then use it:\n    \
                     ollama pull qwen3\n    pod --model ollama:qwen3 \"What does this project do?\"\n",
                );
            }
        }
        None => text.push_str(
            "\nWith a model on this machine (https://ollama.com, no key needed):\n    \
             pod --model ollama:qwen3 \"What does this project do?\"\n",
        ),
    }
    text.push_str(
        "\nWith a key of Anthropic (https://console.anthropic.com):\n    \
         export ANTHROPIC_API_KEY=...\n\n\
         With a key of OpenAI, or a server that speaks its protocol:\n    \
         export OPENAI_API_KEY=...          # OPENAI_BASE_URL=... for another server\n    \
         export POD_MODEL=openai:NAME\n\n\
         pod doctor checks what is there. What is set for good stands in\n    ",
    );
    text.push_str(path);
    text
}

/// Whether a name can stand in a command as it is.
fn is_plain(name: &str) -> bool {
    !name.is_empty()
        && name
            .chars()
            .all(|it| it.is_ascii_alphanumeric() || "._:/-".contains(it))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ways_on() {
        let path = "/home/ada/.local/share/pod/config.toml";
        let models = ["qwen3:8b", "x'; rm -rf ~'", "b", "c", "d"].map(str::to_owned);
        let screens = [
            screen(None, path),
            screen(Some(&models), path),
            screen(Some(&[]), path),
        ];
        insta::assert_snapshot!(screens.join("\n\n=====\n\n"));
    }
}
