//! Patterns of rules against shell commands.

/// Characters with which a shell joins commands, redirects, or runs one inside another.
const JOINS: &[char] = &[
    ';', '&', '|', '`', '$', '(', ')', '<', '>', '{', '}', '\n', '\r',
];

/// What a shell takes for space between words.
const BLANKS: &[char] = &[' ', '\t'];

/// Words behind which another command begins.
const WRAPPERS: &[&str] = &[
    "!", "bash", "builtin", "busybox", "command", "dash", "do", "doas", "elif", "else", "env",
    "eval", "exec", "if", "nice", "nohup", "setsid", "sh", "stdbuf", "sudo", "then", "time",
    "timeout", "until", "while", "xargs", "zsh",
];

/// Whether the whole command is one that the pattern surely means.
pub(super) fn is_allowed(pattern: &str, command: &str) -> bool {
    let command = command.trim_matches(BLANKS).trim_end_matches('\n');
    command == pattern || (!command.contains(JOINS) && matches(pattern, command))
}

/// Whether the command, or one that it holds, may be one that the pattern means.
pub(super) fn is_forbidden(pattern: &str, command: &str) -> bool {
    // Quotes and backslashes say nothing about which command runs.
    let bare: String = command
        .replace("\\\n", "")
        .chars()
        .filter(|character| !['\'', '"', '\\'].contains(character))
        .collect();
    let whole = |text: &str| matches(pattern, text.trim());
    whole(command)
        || whole(&bare)
        || bare
            .split(JOINS)
            .any(|part| begins_forbidden(pattern, part))
}

/// Whether the pattern means this command without joins, or one that it wraps.
fn begins_forbidden(pattern: &str, command: &str) -> bool {
    let words: Vec<&str> = command.split_whitespace().collect();
    let mut wrapped = false;
    for (index, word) in words.iter().enumerate() {
        let rest = words.get(index..).unwrap_or_default().join(" ");
        // A program may be named by its path.
        let named = rest.get(word.rfind('/').map_or(0, |slash| slash + 1)..);
        if matches(pattern, &rest) || named.is_some_and(|named| matches(pattern, named)) {
            return true;
        }
        let name = word.rsplit('/').next().unwrap_or(word);
        let assigns = word.contains('=');
        wrapped |= WRAPPERS.contains(&name);
        // Behind a wrapper any word may begin the command: its options take values or do not.
        if !assigns && !wrapped {
            return false;
        }
    }
    false
}

/// Whether a pattern fits a command. `PREFIX:*` and `PREFIX *` fit the prefix with any arguments, or
/// none; elsewhere a `*` fits any text.
fn matches(pattern: &str, command: &str) -> bool {
    let prefix = [":*", " *"]
        .iter()
        .find_map(|end| pattern.strip_suffix(end));
    match prefix {
        None => fits(pattern, command),
        Some(prefix) => {
            let with_arguments = |blank: &char| fits(&format!("{prefix}{blank}*"), command);
            fits(prefix, command) || BLANKS.iter().any(with_arguments)
        }
    }
}

/// Whether a text is what a pattern says, in which a `*` stands for any text.
fn fits(pattern: &str, text: &str) -> bool {
    let mut pieces = pattern.split('*');
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else {
        return false;
    };
    let Some(last) = pieces.next_back() else {
        return rest.is_empty();
    };
    for piece in pieces {
        let Some((_, behind)) = rest.split_once(piece) else {
            return false;
        };
        rest = behind;
    }
    rest.ends_with(last)
}
