//! The command line as the Agent SDKs write it, made such that it can be parsed.
//!
//! The SDKs send flags that Pod does not have, and values that begin with `-` behind a space. Where
//! the protocol is asked for, a flag that is not known is dropped and told, and such a value is
//! joined to its flag. Any other command line is left as it is, so that a person's typing error is
//! an error.

use std::ffi::OsString;

use clap::CommandFactory as _;

use crate::args::Cli;
use crate::terminal;

/// Flags of the SDKs that Pod does not have and that take a value, which may begin with `-`. Of any
/// other unknown flag, what follows is its value unless it begins with `-`.
const IGNORED_WITH_VALUE: &[&str] = &[
    "agent",
    "betas",
    "debug-file",
    "effort",
    "fallback-model",
    "json-schema",
    "managed-settings",
    "max-buffer-size",
    "permission-prompts",
    "plugin-dir",
    "plugin-dir-no-mcp",
    "project-config-root",
    "resume-drops-turn",
    "sdk-url",
    "task-budget",
    "thinking-display",
];

/// Flags of the SDKs that Pod does not have and that stand alone.
const IGNORED_ALONE: &[&str] = &[
    "allow-dangerously-skip-permissions",
    "debug",
    "debug-to-stderr",
    "include-hook-events",
];

/// The arguments of this process as they can be parsed. What was dropped is told on standard error.
pub(crate) fn prepared() -> Vec<OsString> {
    let argv: Vec<OsString> = std::env::args_os().collect();
    let texts: Option<Vec<&str>> = argv.iter().map(|it| it.to_str()).collect();
    let Some(texts) = texts.filter(|texts| asks_for_protocol(texts)) else {
        return argv;
    };
    let Prepared { argv, notices } = prepare(&texts, &Known::new());
    for notice in notices {
        terminal::notice(&notice);
    }
    argv.into_iter().map(OsString::from).collect()
}

fn asks_for_protocol(argv: &[&str]) -> bool {
    let value = "stream-json";
    let flags = ["--output-format", "--input-format"];
    flags.iter().any(|flag| {
        let joined = format!("{flag}={value}");
        let apart = argv.windows(2).any(|pair| pair == [*flag, value]);
        apart || argv.contains(&joined.as_str())
    })
}

/// What the arguments come to.
#[derive(Debug, PartialEq, Eq)]
struct Prepared {
    argv: Vec<String>,
    notices: Vec<String>,
}

/// The flags that Pod has.
struct Known {
    /// Their long names, and whether a value must follow.
    long: Vec<(String, bool)>,
    short: Vec<char>,
}

impl Known {
    fn new() -> Self {
        let mut command = Cli::command();
        // Adds `--help` and `--version`.
        command.build();
        let mut known = Self {
            long: Vec::new(),
            short: Vec::new(),
        };
        for argument in command.get_arguments() {
            let values = argument.get_num_args();
            let needs_value = argument.get_action().takes_values()
                && values.is_none_or(|values| values.min_values() > 0);
            let names = argument.get_long_and_visible_aliases().unwrap_or_default();
            for name in names {
                known.long.push((name.to_owned(), needs_value));
            }
            known
                .short
                .extend(argument.get_short_and_visible_aliases().unwrap_or_default());
        }
        known
    }

    /// Whether the flag needs a value; `None` if it is not known.
    fn needs_value(&self, name: &str) -> Option<bool> {
        let found = self.long.iter().find(|(known, _)| known == name);
        found.map(|(_, needs_value)| *needs_value)
    }
}

fn prepare(argv: &[&str], known: &Known) -> Prepared {
    let mut prepared = Prepared {
        argv: Vec::new(),
        notices: Vec::new(),
    };
    let mut rest = argv.iter().copied().peekable();
    prepared.argv.extend(rest.next().map(str::to_owned));
    while let Some(token) = rest.next() {
        let Some(flag) = token.strip_prefix("--").filter(|it| !it.is_empty()) else {
            if token == "--" {
                // What follows is no flag, whatever it looks like.
                prepared.argv.push(token.to_owned());
                prepared.argv.extend(rest.by_ref().map(str::to_owned));
            } else if is_unknown_short(token, known) {
                prepared.ignored(token);
            } else {
                prepared.argv.push(token.to_owned());
            }
            continue;
        };
        let (name, has_value) = match flag.split_once('=') {
            Some((name, _)) => (name, true),
            None => (flag, false),
        };
        match known.needs_value(name) {
            Some(true) if !has_value => {
                let value = rest.next_if(|value| value.starts_with('-'));
                prepared.argv.push(match value {
                    Some(value) => format!("{token}={value}"),
                    None => token.to_owned(),
                });
                // A value that does not look like a flag must not be taken for one either.
                if value.is_none() {
                    prepared.argv.extend(rest.next().map(str::to_owned));
                }
            }
            Some(_) => prepared.argv.push(token.to_owned()),
            None => {
                if !has_value && !IGNORED_ALONE.contains(&name) {
                    let any = IGNORED_WITH_VALUE.contains(&name);
                    rest.next_if(|value| any || !value.starts_with('-'));
                }
                prepared.ignored(&format!("--{name}"));
            }
        }
    }
    prepared.repair_mode();
    prepared
}

/// Whether the token is short flags of which the first is not known. `-` alone is standard input.
fn is_unknown_short(token: &str, known: &Known) -> bool {
    let mut characters = token.chars();
    let is_flag = characters.next() == Some('-');
    is_flag
        && characters
            .next()
            .is_some_and(|it| !known.short.contains(&it))
}

impl Prepared {
    fn ignored(&mut self, flag: &str) {
        self.notices
            .push(format!("{flag} is not supported and was ignored"));
    }

    /// `auto` has a model judge each call, which Pod does not do: then it asks.
    fn repair_mode(&mut self) {
        let mut is_value = false;
        for token in &mut self.argv {
            let is_mode = match token.strip_prefix("--permission-mode=") {
                Some(mode) => mode == "auto",
                None => is_value && token == "auto",
            };
            is_value = token == "--permission-mode";
            if is_mode {
                *token = token.replace("auto", "default");
                self.notices.push(String::from(
                    "the permission mode auto is not supported; going on in default, which asks",
                ));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is left of the arguments, and what is told, joined by spaces.
    fn told(line: &[&str]) -> String {
        let mut argv = vec!["pod"];
        argv.extend(line);
        let prepared = prepare(&argv, &Known::new());
        let mut text = format!("{:?}", &prepared.argv[1..]);
        for notice in prepared.notices {
            text.push_str("\n  ");
            text.push_str(&notice);
        }
        text
    }

    #[test]
    fn only_the_protocol_is_lenient() {
        assert!(asks_for_protocol(&[
            "pod",
            "--output-format",
            "stream-json"
        ]));
        assert!(asks_for_protocol(&["pod", "--input-format=stream-json"]));
        assert!(!asks_for_protocol(&["pod", "-p", "stream-json"]));
        assert!(!asks_for_protocol(&["pod", "--output-format", "json"]));
    }

    #[test]
    fn the_lines_of_the_sdks() {
        let lines: &[&[&str]] = &[
            &[
                "--output-format",
                "stream-json",
                "--verbose",
                "--system-prompt",
                "",
                "--max-turns",
                "15",
                "--permission-mode",
                "acceptEdits",
                "--input-format",
                "stream-json",
            ],
            &[
                "--output-format",
                "stream-json",
                "--verbose",
                "--input-format",
                "stream-json",
                "--max-turns=15",
                "--permission-mode=acceptEdits",
            ],
            &[
                "--system-prompt",
                "- be brief",
                "--append-system-prompt",
                "--- more",
            ],
            &["--system-prompt=-x", "--tools", ""],
            &[
                "--resume=0190",
                "--resume-session-at=0191",
                "--setting-sources=",
            ],
            &["--resume", "--fork-session"],
            &["--effort", "high", "--betas", "a,b", "--verbose"],
            &[
                "--effort=high",
                "--debug-file=/tmp/x",
                "--plugin-dir",
                "-odd",
                "--verbose",
            ],
            &[
                "--json-schema",
                "{\"type\":\"object\"}",
                "--task-budget",
                "-1",
                "-p",
                "hello",
            ],
            &["--include-hook-events", "-p", "hello"],
            &["--unheard-of", "--verbose"],
            &["--unheard-of", "value", "--verbose"],
            &["--unheard-of=value", "-d", "-p", "-"],
            &["-p", "hello", "--", "--unheard-of"],
            &["--permission-mode", "auto"],
            &["--permission-mode=auto", "--append-system-prompt", "auto"],
            &[
                "--allowedTools",
                "Bash(ls:*),TaskCreate",
                "--disallowed-tools",
                "Write",
            ],
            &["--mcp-config", "{\"mcpServers\":{}}", "--strict-mcp-config"],
            &["--unicode", "日本語"],
            &["--model"],
        ];
        let text: Vec<String> = lines.iter().map(|line| told(line)).collect();
        insta::assert_snapshot!(text.join("\n"));
    }

    #[test]
    fn every_line_can_be_parsed() {
        use clap::Parser as _;
        for line in [
            vec!["--system-prompt", "- be brief", "--tools", "", "--resume=x"],
            vec![
                "--max-thinking-tokens",
                "0",
                "--setting-sources=",
                "--thinking",
                "disabled",
            ],
            vec![
                "--mcp-config",
                "{}",
                "--settings",
                "{}",
                "--permission-mode",
                "auto",
            ],
            vec!["--unheard-of", "--print", "hello"],
        ] {
            let mut argv = vec!["pod"];
            argv.extend(line);
            let prepared = prepare(&argv, &Known::new());
            Cli::try_parse_from(&prepared.argv).unwrap();
        }
    }
}
