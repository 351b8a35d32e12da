//! `pod config`: what holds, and where it comes from.

use std::path::Path;
use std::process::ExitCode;

use pod::{CompactLimits, PermissionMode, REMIND_AFTER};

use super::file::{File, NAME};
use super::{KEYS, Key};
use crate::args::DEFAULT_MODEL;
use crate::tasks::text::pad;
use crate::{home, print_line, terminal};

/// Shows the configuration of a run without flags.
pub(crate) fn run() -> anyhow::Result<ExitCode> {
    let root = home::root()?;
    let file = File::load(&root)?;
    let variable = |name: &str| std::env::var(name).ok().filter(|it| !it.is_empty());
    print_line(&text(&root, &file, &variable))?;
    Ok(ExitCode::SUCCESS)
}

fn text(root: &Path, file: &File, variable: &dyn Fn(&str) -> Option<String>) -> String {
    let path = root.join(NAME);
    let mut lines = vec![match &file.path {
        Some(path) => format!("file: {}", path.display()),
        None => format!("file: {} (not there)", path.display()),
    }];
    let mut rows = Vec::new();
    for key in &KEYS {
        rows.extend(values(key, file, variable));
    }
    let columns = |of: fn(&Row) -> &str| {
        let widths = rows.iter().map(|row| crate::tasks::text::width(of(row)));
        widths.max().unwrap_or(0).min(60)
    };
    let names = columns(|row| row.name);
    let contents = columns(|row| &row.value);
    for row in &rows {
        lines.push(format!(
            "{}  {}  {}",
            pad(row.name, names),
            pad(&row.value, contents),
            row.source
        ));
    }
    lines.push(String::from(
        "A flag of a run wins over the variable, the variable over the file; rules of the file hold in any case.",
    ));
    terminal::clean(&lines.join("\n"))
}

struct Row {
    name: &'static str,
    value: String,
    source: String,
}

/// What holds for a key. Rules have a row for each place that they come from.
fn values(key: &Key, file: &File, variable: &dyn Fn(&str) -> Option<String>) -> Vec<Row> {
    let row = |value: String, source: &str| Row {
        name: key.name,
        value,
        source: source.to_owned(),
    };
    let given = variable(key.variable);
    if key.name == "permissions.allow" || key.name == "permissions.deny" {
        let rules = if key.name == "permissions.allow" {
            &file.allow
        } else {
            &file.deny
        };
        let mut rows = Vec::new();
        rows.extend(given.map(|value| row(value, key.variable)));
        if !rules.is_empty() {
            rows.push(row(rules.join(", "), NAME));
        }
        if rows.is_empty() {
            rows.push(row(String::from("none"), "default"));
        }
        return rows;
    }
    if let Some(value) = given {
        return vec![row(value, key.variable)];
    }
    let limits = CompactLimits::default();
    let (of_file, default) = match key.name {
        "model" => (file.model.clone(), DEFAULT_MODEL.to_owned()),
        "compact_threshold" => (
            file.compact_threshold.map(|it| it.to_string()),
            limits.after_run.to_string(),
        ),
        "compact_request_threshold" => (
            file.compact_request_threshold.map(|it| it.to_string()),
            limits.between_requests.to_string(),
        ),
        "remind_after" => (
            file.remind_after.map(|it| it.to_string()),
            REMIND_AFTER.to_string(),
        ),
        _ => (
            file.mode.map(|it| it.to_string()),
            PermissionMode::Default.to_string(),
        ),
    };
    vec![match of_file {
        Some(value) => row(value, NAME),
        None => row(default, "default"),
    }]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_value_says_where_it_comes_from() {
        let file = File {
            path: Some("/home/ada/.local/share/pod/config.toml".into()),
            ..File::parse(
                "model = \"ollama:qwen3\"\ncompact_threshold = 0.6\nremind_after = 0\n[permissions]\n\
                 mode = \"plan\"\nallow = [\"Edit\", \"Bash(cargo test:*)\"]\n",
            )
            .unwrap()
        };
        let variable = |name: &str| match name {
            "POD_MODEL" => Some(String::from("claude-x")),
            "POD_ALLOWED_TOOLS" => Some(String::from("Write")),
            _ => None,
        };
        let root = Path::new("/home/ada/.local/share/pod");
        let both = text(root, &file, &variable);
        let none = text(root, &File::default(), &|_| None);
        insta::assert_snapshot!(format!("{both}\n\n{none}"));
    }
}
