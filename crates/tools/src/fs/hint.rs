//! What to say about a text that was not found but nearly is.

/// What is nearly there, in under 120 bytes.
pub(super) fn nearest(content: &[u8], old: &str) -> Option<String> {
    if old.lines().all(has_line_number) {
        return Some(String::from("Leave out the line numbers that Read shows"));
    }
    if old.contains('\u{FFFD}') {
        let hint = "It has U+FFFD, which stands for bytes that are not text; leave them out";
        return Some(String::from(hint));
    }
    let content = String::from_utf8_lossy(content);
    let trimmed: Vec<&str> = content.lines().map(str::trim).collect();
    let wanted: Vec<&str> = old.trim().lines().map(str::trim).collect();
    let first = wanted.first().filter(|line| !line.is_empty())?;

    let mut windows = trimmed.windows(wanted.len());
    if let Some(at) = windows.position(|lines| lines == wanted) {
        return Some(match (at + 1, at + wanted.len()) {
            (start, end) if start == end => {
                format!("Line {start} differs from it in whitespace only")
            }
            (start, end) => format!("Lines {start}-{end} differ from it in whitespace only"),
        });
    }
    let at = trimmed.iter().position(|line| line.contains(first))?;
    let there = "Its first line is there, on line";
    Some(format!("{there} {}; what follows differs", at + 1))
}

/// Whether the line starts as the lines that Read shows do.
fn has_line_number(line: &str) -> bool {
    line.split_once('\t').is_some_and(|(number, _)| {
        let number = number.trim();
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_nearly_there_is_said() {
        let content = "fn main() {\n    let a = 1;\n\tlet b = 2;\n}\n\n# 名前\n";
        let mut said = String::new();
        for old in [
            "1\tfn main() {\n2\t    let a = 1;",
            "     3\tx",
            "  let a = 1;\n  let b = 2;",
            "let a = 1; \n",
            "\n    let a = 1;\nlet c = 3;",
            " 名前 \nx",
            "let z",
            "caf\u{FFFD}",
            "\n",
            " ",
            "{\n\n}",
        ] {
            said = format!("{said}{old:?}: {:?}\n", nearest(content.as_bytes(), old));
        }
        insta::assert_snapshot!(said);
    }
}
