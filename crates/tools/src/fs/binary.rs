//! What is not text, told by its beginning.

/// How much of a file decides, in bytes.
const SAMPLE: usize = 8 * 1024;

/// How formats that are not text begin.
const SIGNATURES: &[(&[u8], &str)] = &[
    (b"\x89PNG", "a PNG image"),
    (b"\xFF\xD8\xFF", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"%PDF-", "a PDF document"),
    (b"PK\x03\x04", "a ZIP archive"),
    (b"\x1F\x8B", "a gzip archive"),
    (b"\x28\xB5\x2F\xFD", "a Zstandard archive"),
    (b"\xFD7zXZ", "an XZ archive"),
    (b"\x7FELF", "an ELF program or library"),
    (b"\xCF\xFA\xED\xFE", "a Mach-O program or library"),
    (b"\0asm", "a WebAssembly module"),
    (b"SQLite format 3", "an SQLite database"),
    (b"\xFF\xFE", "UTF-16 text"),
    (b"\xFE\xFF", "UTF-16 text"),
];

/// What the content is, such as "a PNG image", if it is not text. Text has no NUL and at most one
/// byte in ten that is not UTF-8.
pub(super) fn kind(content: &[u8]) -> Option<&'static str> {
    let sample = content.get(..SAMPLE).unwrap_or(content);
    let is_binary = sample.contains(&0);
    if !is_binary && invalid(sample) * 10 <= sample.len() {
        return None;
    }
    let signature = SIGNATURES
        .iter()
        .find(|(signature, _)| sample.starts_with(signature));
    Some(match signature {
        Some((_, kind)) => kind,
        None if is_binary => "a binary file",
        None => "a file that is not UTF-8 text,",
    })
}

/// How many bytes are not UTF-8. A character that is cut at the end counts at most 3.
fn invalid(sample: &[u8]) -> usize {
    sample.utf8_chunks().map(|it| it.invalid().len()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_told_from_the_rest() {
        let long = "é".repeat(SAMPLE);
        let late_zero = [vec![b'x'; SAMPLE], vec![0]].concat();
        for (content, expected) in [
            (b"".as_slice(), None),
            (b"fn main() {}\n", None),
            ("日本語".as_bytes(), None),
            (b"a caf\xE9 in Latin-1", None),
            (long.as_bytes(), None),
            (&late_zero, None),
            (b"\x89PNG\r\n\x1a\n\0\0", Some("a PNG image")),
            (b"%PDF-1.4 and text only", None),
            (b"\xFF\xFEa\0b\0", Some("UTF-16 text")),
            (b"ab\0c", Some("a binary file")),
            (
                b"\xCF\xF0\xE8\xE2\xE5\xF2",
                Some("a file that is not UTF-8 text,"),
            ),
        ] {
            assert_eq!(kind(content), expected, "{:?}", content.get(..10));
        }
    }
}
