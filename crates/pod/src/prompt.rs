//! The system prompt.

use std::path::Path;

use tools::Registry;
use tools::task;

/// The system prompt: Pod's own text or the one given, where the work is done, the instructions of
/// the project, and what was appended.
///
/// It holds nothing that changes from one day or one run to the next, so that a resumed session
/// finds the provider's cache warm. An empty text that is given is an empty prompt.
pub(crate) fn system_prompt(
    replacement: Option<&str>,
    appended: Option<&str>,
    instructions: Option<&str>,
    directory: &Path,
    registry: &Registry,
) -> String {
    let mut parts = Vec::new();
    if let Some(text) = replacement {
        parts.push(text.to_owned());
    } else {
        parts.push(include_str!("prompt.md").trim_end().to_owned());
        // Nothing that the model reads may speak of tools that it does not have.
        let needed = [task::create::NAME, task::update::NAME];
        if needed.iter().all(|name| registry.get(name).is_some()) {
            parts.push(include_str!("prompt_tasks.md").trim_end().to_owned());
        }
        parts.push(format!(
            "Working directory: {}\nPlatform: {}",
            directory.display(),
            std::env::consts::OS
        ));
    }
    parts.extend(instructions.map(str::to_owned));
    parts.extend(appended.map(str::to_owned));
    parts.retain(|part| !part.is_empty());
    parts.join("\n\n")
}
