use super::*;

#[test]
fn the_table() {
    let names = [
        "claude-3-haiku-20240307",
        "claude-3-5-haiku-20241022",
        "claude-3-7-sonnet-latest",
        "claude-opus-4-20250514",
        "claude-opus-4-1",
        "claude-sonnet-4-5",
        "claude-sonnet-4-5[1m]",
        "claude-haiku-4-5@20251001",
        "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
        "anthropic/claude-sonnet-4.6",
        "claude-opus-4-8",
        "claude-sonnet-5",
        "claude-opus-5-5",
        "claude-fable-5-1",
        "claude-next",
        "gpt-5.1-codex",
        "openai/gpt-5",
        "gpt-4o-mini",
        "gpt-4.1",
        "gpt-4",
        "o3-mini",
        "llama3:8b",
        "llama3.2:3b",
        "SmolLM2-135M",
        "my-model",
    ];
    let mut table = Vec::new();
    for name in names {
        let Capability {
            context_window,
            max_output_tokens,
            system_in_conversation,
            forced_tool_choice,
            reasoning_first,
            cache_marks,
            reasoning,
        } = Capability::of(name);
        let flags = [
            (system_in_conversation, "system"),
            (forced_tool_choice, "forced"),
            (reasoning_first, "reasoning-first"),
            (cache_marks, "marks"),
        ];
        let flags: Vec<_> = flags
            .iter()
            .filter(|flag| flag.0)
            .map(|flag| flag.1)
            .collect();
        table.push(format!(
            "{name}: {context_window} {max_output_tokens} {reasoning:?} {}",
            flags.join(" ")
        ));
    }
    insta::assert_snapshot!(table.join("\n"));
}

#[test]
fn a_file_corrects_single_fields() {
    let table = Capabilities::from_json(
        r#"{
            "my-*": {"context_window": 1000, "cache_marks": true},
            "my-model": {"max_output_tokens": 77, "reasoning": "adaptive"},
            "claude-*": {"context_window": 150000}
        }"#,
    )
    .unwrap();
    assert_eq!(table.of("my-model").max_output_tokens, 77);
    assert_eq!(table.of("my-model").reasoning, ReasoningControl::Adaptive);
    assert_eq!(
        table.of("my-model").context_window,
        32_000,
        "the exact row wins"
    );
    assert_eq!(table.of("my-other").context_window, 1000);
    assert_eq!(table.of("other"), Capability::default());
    let claude = table.of("claude-sonnet-4-5");
    assert_eq!(claude.context_window, 150_000);
    assert_eq!(claude.max_output_tokens, 64_000);
}

#[test]
fn a_wrong_file_says_where() {
    let errors: Vec<String> = [
        "",
        "[]",
        r#"{"m": 1}"#,
        r#"{"m": {"contextwindow": 1}}"#,
        r#"{"m": {"context_window": 0}}"#,
        r#"{"m": {"context_window": "big"}}"#,
        r#"{"m": {"context_window": -1}}"#,
        r#"{"m": {"reasoning": "much"}}"#,
    ]
    .iter()
    .map(|text| Capabilities::from_json(text).unwrap_err().to_string())
    .collect();
    insta::assert_snapshot!(errors.join("\n"));
}
