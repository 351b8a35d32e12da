//! A permission rule, as people write it.

use std::fmt;
use std::str::FromStr;

use tools::{Effect, Tool};

use super::path::Bases;
use super::{command, path};

/// A rule: a tool, or the calls of a tool that are about what the pattern says.
///
/// | rule | what it is about |
/// | --- | --- |
/// | `Bash` | every call of `Bash` |
/// | `Bash(git status)` | that command |
/// | `Bash(git log:*)`, `Bash(git log *)` | `git log` with any arguments |
/// | `Bash(npm run * --fix)` | commands that have any text where the `*` stands |
/// | `Edit(src/**)` | files below `src` in the working directory |
/// | `Edit(/srv/data)` | that file, or everything below that directory |
/// | `Edit(~/notes/**)` | files below `notes` in the home directory, if that is known |
/// | `Read(.env)`, `Read(*.pem)` | a pattern without `/`: files of this name in any directory |
///
/// A rule that allows is read narrowly: a command that holds several commands, redirects or runs
/// one inside another is allowed only by its exact text, and a path by where it leads once links
/// are followed. A rule that forbids is read broadly: it sees each command of a line, also behind
/// `sudo` or inside quotes, and a path by what it says as well as by where it leads. It guards
/// against mistakes; a shell has too many ways to say a thing for it to be a wall.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    tool: String,
    pattern: Option<String>,
}

/// How the pattern of a rule is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    /// Narrowly: what is not surely meant is not allowed.
    Allowing,
    /// Broadly: what may be meant is forbidden.
    Forbidding,
}

impl Rule {
    /// The name of the tool.
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// Whether the rule is about every call of its tool.
    pub fn is_whole_tool(&self) -> bool {
        self.pattern.is_none()
    }

    /// Splits a list of rules at commas and spaces, but not inside parentheses.
    pub fn parse_list(text: &str) -> Result<Vec<Self>, String> {
        let mut rules = Vec::new();
        let mut depth = 0_usize;
        let mut current = String::new();
        for character in text.chars() {
            match character {
                '(' => depth += 1,
                ')' => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 && (character == ',' || character.is_whitespace()) {
                if !current.is_empty() {
                    rules.push(current.parse()?);
                    current.clear();
                }
            } else {
                current.push(character);
            }
        }
        if !current.is_empty() {
            rules.push(current.parse()?);
        }
        Ok(rules)
    }

    /// Whether the rule is about a call. `target` is what the call is about, if it says so.
    pub(super) fn matches(
        &self,
        tool: &dyn Tool,
        target: Option<&str>,
        bases: Bases<'_>,
        reading: Reading,
    ) -> bool {
        if self.tool != tool.name() {
            return false;
        }
        match (&self.pattern, target) {
            (None, _) => true,
            (Some(_), None) => reading == Reading::Forbidding,
            (Some(pattern), Some(target)) if tool.effect() == Effect::Execute => match reading {
                Reading::Allowing => command::is_allowed(pattern, target),
                Reading::Forbidding => command::is_forbidden(pattern, target),
            },
            (Some(pattern), Some(target)) => match reading {
                Reading::Allowing => path::is_allowed(pattern, target, bases),
                Reading::Forbidding => path::is_forbidden(pattern, target, bases),
            },
        }
    }
}

impl FromStr for Rule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let malformed =
            || format!("`{text}` is no permission rule; write `Tool` or `Tool(pattern)`");
        let text = text.trim();
        let (tool, pattern) = match text.split_once('(') {
            None => (text, None),
            Some((tool, rest)) => {
                let pattern = rest.strip_suffix(')').ok_or_else(malformed)?.trim();
                if pattern.is_empty() {
                    return Err(format!(
                        "`{text}` has an empty pattern; write `{tool}` for every call of the tool"
                    ));
                }
                (tool, Some(pattern).filter(|it| !["*", ":*"].contains(it)))
            }
        };
        let is_name = |character: char| !character.is_whitespace() && !"(),".contains(character);
        if tool.is_empty() || !tool.chars().all(is_name) {
            return Err(malformed());
        }
        Ok(Self {
            tool: tool.to_owned(),
            pattern: pattern.map(str::to_owned),
        })
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.pattern {
            None => formatter.write_str(&self.tool),
            Some(pattern) => write!(formatter, "{}({pattern})", self.tool),
        }
    }
}
