//! The environment of the commands: that of the process, without its keys.

use std::ffi::{OsStr, OsString};

/// A variable with one of these in its name holds a key to a service.
const KEY_WORDS: &[&str] = &["API_KEY", "APIKEY", "API_TOKEN", "API_SECRET", "AUTH_TOKEN"];

/// How the variables begin that are about a model provider.
const PROVIDERS: &[&str] = &[
    "ANTHROPIC_",
    "CLAUDE_",
    "OPENAI_",
    "OPENROUTER_",
    "OLLAMA_",
    "HF_",
];

/// How the variables of a provider end that hold a key, or may hold one.
const ENDINGS: &[&str] = &["KEY", "TOKEN", "SECRET", "PASSWORD", "HEADERS"];

/// What tells programs that nobody is there to page, to edit, to answer or to see colours.
const SETTINGS: &[(&str, &str)] = &[
    ("TERM", "dumb"),
    ("NO_COLOR", "1"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("GIT_EDITOR", "true"),
    ("GIT_TERMINAL_PROMPT", "0"),
];

/// The variables that a command gets, out of those that the process has.
///
/// The keys of model providers and of other programming interfaces are left out. Others stay, even
/// where they are secret (`GITHUB_TOKEN`, `PGPASSWORD`): they are there so that commands use them.
pub(super) fn for_commands(
    variables: impl IntoIterator<Item = (OsString, OsString)>,
) -> Vec<(OsString, OsString)> {
    variables
        .into_iter()
        .filter(|(name, _)| !is_key(name))
        .chain(
            SETTINGS
                .iter()
                .map(|(name, value)| (name.into(), value.into())),
        )
        .collect()
}

fn is_key(name: &OsStr) -> bool {
    let name = name.to_string_lossy().to_ascii_uppercase();
    let is_of_provider = PROVIDERS.iter().any(|it| name.starts_with(it));
    KEY_WORDS.iter().any(|it| name.contains(it))
        || is_of_provider && ENDINGS.iter().any(|it| name.ends_with(it))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passed(name: &str) -> bool {
        let variables = for_commands([(name.into(), "value".into())]);
        variables
            .iter()
            .any(|(it, value)| it == name && value == "value")
    }

    #[test]
    fn keys_are_left_out() {
        for name in [
            "ANTHROPIC_API_KEY",
            "ANTHROPIC_AUTH_TOKEN",
            "ANTHROPIC_CUSTOM_HEADERS",
            "CLAUDE_CODE_OAUTH_TOKEN",
            "OPENAI_API_KEY",
            "OPENAI_API_KEY_2",
            "OPENAI_KEY",
            "openai_api_key",
            "OPENROUTER_API_KEY",
            "GEMINI_API_KEY",
            "MY_APIKEY",
            "API_KEY",
            "SOME_AUTH_TOKEN",
            "NPM_AUTH_TOKEN",
            "HF_TOKEN",
        ] {
            assert!(!passed(name), "{name}");
        }
    }

    #[test]
    fn the_rest_is_passed() {
        for name in [
            "PATH",
            "HOME",
            "ANTHROPIC_BASE_URL",
            "OPENAI_BASE_URL",
            "OLLAMA_HOST",
            "GITHUB_TOKEN",
            "PGPASSWORD",
            "KEYBOARD",
            "SSH_AUTH_SOCK",
            "変数",
        ] {
            assert!(passed(name), "{name}");
        }
    }

    #[test]
    fn the_settings_win() {
        let variables = for_commands([("PAGER".into(), "less".into())]);
        let last = variables.iter().rfind(|(name, _)| name == "PAGER");
        assert_eq!(
            last.map(|(_, value)| value.as_os_str()),
            Some("cat".as_ref())
        );
    }
}
