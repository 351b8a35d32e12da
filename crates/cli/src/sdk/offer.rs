//! Which task tools a session gets.
//!
//! The rules are those of the page "Todo tracking" of the Agent SDK, as measured in `agent-sdk.md`
//! 2.1: by default on models that are known to need a list, elsewhere on request.

use pod::{Rule, TaskTools};
use tools::task::{self, Dialect};

/// What decides.
pub(super) struct Wish<'a> {
    /// The model, as it was named.
    pub(super) model: &'a str,
    /// What `--tools` names, if it is there.
    pub(super) tools: Option<&'a [String]>,
    /// The rules of `--allowedTools`.
    pub(super) allowed: &'a [Rule],
    /// Looks up a variable of the environment.
    pub(super) variable: &'a dyn Fn(&str) -> Option<String>,
}

/// The task tools that a session gets, before single ones are taken away by `--tools` and
/// `--disallowedTools`.
pub(super) fn task_tools(wish: &Wish<'_>) -> TaskTools {
    let variable = |name| (wish.variable)(name).map(|value| value.trim().to_ascii_lowercase());
    let is_off = |value: &str| matches!(value, "0" | "false" | "no" | "off");
    let is_on = |value: &str| matches!(value, "1" | "true" | "yes" | "on");
    let todo_write = variable("CLAUDE_CODE_ENABLE_TASKS").is_some_and(|value| is_off(&value));
    let names = wish.tools.unwrap_or_default();
    let lists_tools = wish.tools.is_some() && !names.iter().any(|name| name == "default");
    let due = if lists_tools {
        names.iter().any(|name| task::is_reserved(name))
    } else {
        let asked = variable("CLAUDE_CODE_ENABLE_TODO_TOOLS").is_some_and(|value| is_on(&value));
        let named = wish
            .allowed
            .iter()
            .any(|rule| task::is_reserved(rule.tool()));
        asked || named || has_list_by_default(wish.model)
    };
    match (due, todo_write) {
        (false, _) => TaskTools::None,
        (true, true) => TaskTools::TodoWrite,
        (true, false) => TaskTools::Four(Dialect::AgentSdk),
    }
}

/// Whether the page names the model, or it is an earlier one: Opus up to 4.7, Sonnet up to 4.6, Haiku
/// up to 4.5. Short names such as `opus` and names of other vendors count as unknown.
fn has_list_by_default(model: &str) -> bool {
    let Some((kind, generation)) = llm::capability::claude_generation(model) else {
        return false;
    };
    match kind {
        "opus" => generation <= (4, 7),
        "sonnet" => generation <= (4, 6),
        "haiku" => generation <= (4, 5),
        // Before there were kinds, and between: `claude-2.1`, `claude-instant-1`.
        _ => generation > (0, 0) && generation < (3, 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tools of a session with the line `MODEL [VARIABLE=VALUE ...] [allowed:RULES] [tools:NAMES]`.
    fn offered(line: &str) -> &'static str {
        let mut words = line.split(' ');
        let model = words.next().unwrap();
        let mut variables = Vec::new();
        let mut allowed = Vec::new();
        let mut tools = None;
        for word in words {
            if let Some(rules) = word.strip_prefix("allowed:") {
                allowed = Rule::parse_list(rules).unwrap();
            } else if let Some(names) = word.strip_prefix("tools:") {
                tools = Some(names.split(',').map(str::to_owned).collect::<Vec<_>>());
            } else {
                variables.push(word.split_once('=').unwrap());
            }
        }
        let variable = |name: &str| {
            let found = variables
                .iter()
                .find(|(key, _)| format!("CLAUDE_CODE_ENABLE_{key}") == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        match task_tools(&Wish {
            model,
            tools: tools.as_deref(),
            allowed: &allowed,
            variable: &variable,
        }) {
            TaskTools::None => "-",
            TaskTools::TodoWrite => "todo",
            TaskTools::Four(dialect) => {
                assert_eq!(dialect, Dialect::AgentSdk);
                "four"
            }
        }
    }

    #[test]
    fn as_the_page_says() {
        for (line, expected) in [
            // By default.
            ("claude-opus-4-5", "four"),
            ("claude-opus-4-6", "four"),
            ("claude-opus-4-7", "four"),
            ("claude-opus-4-7[1m]", "four"),
            ("claude-opus-4-20250514", "four"),
            ("us.anthropic.claude-opus-4-6-v1:0", "four"),
            ("claude-sonnet-4-5", "four"),
            ("claude-sonnet-4-6", "four"),
            ("claude-sonnet-4-6[1m]", "four"),
            ("claude-haiku-4-5", "four"),
            ("claude-haiku-4-5-20251001", "four"),
            ("claude-3-5-haiku", "four"),
            ("claude-3-5-haiku-20241022", "four"),
            ("claude-3-7-sonnet-20250219", "four"),
            ("claude-2.1", "four"),
            ("claude-opus-4-8", "-"),
            ("claude-opus-5", "-"),
            ("claude-opus-5-5", "-"),
            ("claude-sonnet-5", "-"),
            ("claude-sonnet-5-5", "-"),
            ("claude-haiku-5", "-"),
            ("claude-fable-5", "-"),
            ("claude-of-tomorrow", "-"),
            ("opus", "-"),
            ("sonnet", "-"),
            ("haiku", "-"),
            ("my-local-model", "-"),
            ("openai:gpt-5", "-"),
            ("ollama:llama3.2:3b", "-"),
            // On request.
            ("my-local-model TODO_TOOLS=1", "four"),
            ("my-local-model TODO_TOOLS=true", "four"),
            ("my-local-model TODO_TOOLS=0", "-"),
            ("my-local-model TODO_TOOLS=", "-"),
            ("claude-sonnet-4-6 TODO_TOOLS=0", "four"),
            ("my-local-model allowed:TaskCreate", "four"),
            ("my-local-model allowed:TaskGet,Read", "four"),
            ("my-local-model allowed:TodoWrite", "four"),
            ("my-local-model allowed:TaskStop,Read", "-"),
            ("my-local-model tools:default", "-"),
            // TodoWrite in their place.
            ("claude-sonnet-4-6 TASKS=0", "todo"),
            ("claude-sonnet-4-6 TASKS=1", "four"),
            ("my-local-model TASKS=0", "-"),
            ("my-local-model TASKS=0 TODO_TOOLS=1", "todo"),
            ("my-local-model TASKS=0 allowed:TaskList", "todo"),
            // By name. Which of them there are, the list of names says.
            ("my-local-model tools:TaskCreate,TaskUpdate", "four"),
            ("claude-sonnet-4-6 tools:Read", "-"),
            ("claude-sonnet-4-6 tools: TODO_TOOLS=1", "-"),
            ("my-local-model tools:TaskCreate TASKS=0", "todo"),
            ("my-local-model tools:TodoWrite", "four"),
            ("my-local-model tools:TodoWrite TASKS=0", "todo"),
        ] {
            assert_eq!(offered(line), expected, "{line}");
        }
    }
}
