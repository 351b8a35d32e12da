//! `--settings` and `--mcp-config`: JSON, or a file of it.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use pod::{PermissionMode, Rule};
use serde_json::Value;

use super::mcp::Server;
use crate::{Usage, terminal};

/// What Pod reads of the settings.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Settings {
    pub(super) allow: Vec<Rule>,
    pub(super) deny: Vec<Rule>,
    pub(super) mode: Option<PermissionMode>,
    pub(super) directories: Vec<PathBuf>,
}

/// Reads the settings. What Pod does not have is told.
pub(super) fn read(text: &str) -> anyhow::Result<Settings> {
    let value = json("--settings", text)?;
    let mut settings = Settings::default();
    for (key, value) in value.as_object().into_iter().flatten() {
        if key == "permissions" {
            settings.permissions(value)?;
        } else if key != "$schema" {
            ignored(key);
        }
    }
    Ok(settings)
}

impl Settings {
    fn permissions(&mut self, permissions: &Value) -> anyhow::Result<()> {
        for (key, value) in permissions.as_object().into_iter().flatten() {
            let texts = || {
                value
                    .as_array()
                    .into_iter()
                    .flatten()
                    .filter_map(Value::as_str)
            };
            let rules = || {
                texts()
                    .map(|text| text.parse().map_err(Usage))
                    .collect::<Result<_, _>>()
            };
            match key.as_str() {
                "allow" => self.allow = rules()?,
                "deny" => self.deny = rules()?,
                "defaultMode" => {
                    let mode = value.as_str().unwrap_or_default();
                    self.mode = Some(mode.parse().map_err(Usage)?);
                }
                "additionalDirectories" => {
                    self.directories = texts().map(PathBuf::from).collect();
                }
                key => ignored(&format!("permissions.{key}")),
            }
        }
        Ok(())
    }
}

fn ignored(key: &str) {
    terminal::notice(&format!(
        "the setting {key} is not supported and was ignored"
    ));
}

/// The tool servers of `--mcp-config`: those that live in the program by name, and those that Pod
/// cannot use.
pub(super) fn servers(configs: &[String]) -> anyhow::Result<(Vec<String>, Vec<Server>)> {
    let mut inside = Vec::new();
    let mut failed = Vec::new();
    for config in configs {
        let config = json("--mcp-config", config)?;
        let servers = config.get("mcpServers").unwrap_or(&config);
        for (name, server) in servers.as_object().into_iter().flatten() {
            if server["type"] == "sdk" {
                inside.push(name.clone());
            } else {
                let kind = server["type"].as_str().unwrap_or("stdio");
                let reason =
                    format!("servers of type {kind} are not supported, only those of type sdk");
                terminal::notice(&format!("the tool server {name} is not used: {reason}"));
                failed.push(Server::failed(name, reason));
            }
        }
    }
    Ok((inside, failed))
}

/// The object that the text is, or that the file which it names holds.
fn json(flag: &str, text: &str) -> anyhow::Result<Value> {
    let text = text.trim();
    let text = if text.starts_with('{') {
        text.to_owned()
    } else {
        std::fs::read_to_string(Path::new(text)).with_context(|| {
            format!("{flag} is neither JSON nor a file that can be read: {text}")
        })?
    };
    let value: Value =
        serde_json::from_str(&text).with_context(|| format!("{flag} is not JSON"))?;
    if value.is_object() {
        Ok(value)
    } else {
        Err(Usage(format!("{flag} is not a JSON object")).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permissions_are_read_and_the_rest_is_no_error() {
        let settings = read(
            r#"{"permissions": {"allow": ["Bash(ls:*)", "Read"], "deny": ["Write"],
                "defaultMode": "plan", "additionalDirectories": ["/srv"], "ask": []},
                "env": {"A": "1"}, "sandbox": {}}"#,
        )
        .unwrap();
        let rules = |rules: &[Rule]| rules.iter().map(Rule::to_string).collect::<Vec<_>>();
        assert_eq!(rules(&settings.allow), ["Bash(ls:*)", "Read"]);
        assert_eq!(rules(&settings.deny), ["Write"]);
        assert_eq!(settings.mode, Some(PermissionMode::Plan));
        assert_eq!(settings.directories, [PathBuf::from("/srv")]);
    }

    #[test]
    fn what_cannot_be_read_is_an_error() {
        for text in [
            "{",
            "no such file",
            "",
            r#"{"permissions": {"allow": ["a("]}}"#,
        ] {
            assert!(read(text).is_err(), "{text}");
        }
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "[1]").unwrap();
        assert!(read(&file.path().display().to_string()).is_err());
    }

    #[test]
    fn only_servers_inside_the_program_are_used() {
        let config = r#"{"mcpServers": {"calc": {"type": "sdk", "name": "calc"},
            "web": {"type": "http", "url": "http://x"}, "old": {"command": "x"}}}"#;
        let (inside, failed) = servers(&[config.to_owned()]).unwrap();
        assert_eq!(inside, ["calc"]);
        let names: Vec<&str> = failed.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, ["web", "old"]);
        assert_eq!(failed[0].status(), "failed");
    }
}
