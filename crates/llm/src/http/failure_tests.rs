use super::*;

fn service(vendor: Vendor, key: Option<&str>) -> Service {
    let (address, model) = match vendor {
        Vendor::Anthropic => ("api.anthropic.com", "claude-x"),
        Vendor::OpenAi => ("api.openai.com", "gpt-x"),
        Vendor::Ollama => ("127.0.0.1:11434", "llama-x"),
    };
    Service {
        vendor,
        address: address.to_owned(),
        url: format!("https://{address}/v1/x"),
        model: model.to_owned(),
        secrets: key.map(Secret::new).into_iter().collect(),
        key_variable: vendor.key_variable(),
    }
}

fn kind(error: &ModelError) -> &'static str {
    match error {
        ModelError::Authentication(_) => "authentication",
        ModelError::UnknownModel(_) => "unknown model",
        ModelError::PromptTooLong(_) => "too long",
        ModelError::Overloaded { .. } => "overloaded",
        ModelError::Provider { .. } => "provider",
        ModelError::InvalidRequest { .. } => "invalid",
        _ => "other",
    }
}

/// Bodies as the providers send them; the snapshot shows the error of each.
#[test]
fn every_refusal_says_what_to_do() {
    use Vendor::{Anthropic, Ollama, OpenAi};
    let cases: &[(Vendor, u16, &str)] = &[
        (
            Anthropic,
            401,
            r#"{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}"#,
        ),
        (
            Anthropic,
            403,
            r#"{"type":"error","error":{"type":"permission_error","message":"not for you"}}"#,
        ),
        (
            Anthropic,
            404,
            r#"{"type":"error","error":{"type":"not_found_error","message":"model: claude-x"}}"#,
        ),
        (Anthropic, 404, "<html>Not Found</html>"),
        (
            Anthropic,
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}"#,
        ),
        (
            Anthropic,
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"input length and `max_tokens` exceed context limit: 190000 + 32000 > 200000"}}"#,
        ),
        (
            Anthropic,
            413,
            r#"{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}"#,
        ),
        (
            Anthropic,
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the API."}}"#,
        ),
        (
            Anthropic,
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"messages.1: bad"}}"#,
        ),
        (
            Anthropic,
            529,
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
        ),
        (
            Anthropic,
            500,
            r#"{"type":"error","error":{"type":"api_error","message":"Internal server error"}}"#,
        ),
        (
            OpenAi,
            401,
            r#"{"error":{"message":"Incorrect API key provided: sk-1234.","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}"#,
        ),
        (
            OpenAi,
            404,
            r#"{"error":{"message":"The model `gpt-x` does not exist","type":"invalid_request_error","param":null,"code":"model_not_found"}}"#,
        ),
        (
            OpenAi,
            400,
            r#"{"error":{"message":"This model's maximum context length is 128000 tokens.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}"#,
        ),
        (
            OpenAi,
            429,
            r#"{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}"#,
        ),
        (
            OpenAi,
            429,
            r#"{"error":{"message":"Rate limit reached","type":"requests","param":null,"code":"rate_limit_exceeded"}}"#,
        ),
        (
            OpenAi,
            402,
            r#"{"error":{"message":"Insufficient credits","code":402}}"#,
        ),
        (
            OpenAi,
            400,
            r#"{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 5000","type":"BadRequestError","param":null,"code":400}"#,
        ),
        (
            OpenAi,
            400,
            r#"{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error","n_prompt_tokens":9000,"n_ctx":4096}}"#,
        ),
        (
            OpenAi,
            503,
            r#"{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}"#,
        ),
        (OpenAi, 502, "<html>\n<title>Bad gateway</title></html>"),
        (OpenAi, 418, ""),
        (
            Ollama,
            404,
            r#"{"error":{"message":"model 'llama-x' not found","type":"not_found_error"}}"#,
        ),
        (
            Ollama,
            400,
            r#"{"error":"the input length exceeds the context length"}"#,
        ),
    ];
    let mut lines = Vec::new();
    for (vendor, status, body) in cases {
        let refusal = Refusal::from_body(*status, body.as_bytes());
        let error = refusal.into_error(&service(*vendor, Some("sk-1234")), None);
        lines.push(format!("{}: {error}", kind(&error)));
    }
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn without_a_key_the_variable_is_named() {
    let refusal = Refusal::from_body(401, br#"{"error":{"message":"No auth"}}"#);
    let error = refusal.into_error(&service(Vendor::OpenAi, None), None);
    insta::assert_snapshot!(error, @"api.openai.com wants a key: No auth; set OPENAI_API_KEY");
}

#[test]
fn inside_a_stream_the_type_stands_for_the_status() {
    let mut lines = Vec::new();
    for body in [
        r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
        r#"{"type":"error","error":{"type":"api_error","message":"Oops"}}"#,
        r#"{"type":"error","error":{"type":"rate_limit_error","message":"Slow down"}}"#,
        r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long"}}"#,
        r#"{"error":{"code":500,"message":"failed to process image","type":"server_error"}}"#,
        r#"{"error":"llama runner process has terminated"}"#,
        r#"{"error":{}}"#,
    ] {
        let value = serde_json::from_str(body).unwrap();
        let error =
            Refusal::from_stream(&value).into_error(&service(Vendor::Anthropic, None), None);
        lines.push(format!(
            "{} retryable={}: {error}",
            kind(&error),
            error.is_retryable()
        ));
    }
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn the_request_id_is_kept() {
    let refusal = Refusal::from_body(500, br#"{"error":{"message":"Oops"}}"#);
    let refusal = refusal.with_request_id(Some("req_1")).with_request_id(None);
    let error = refusal.into_error(&service(Vendor::Anthropic, None), None);
    assert_eq!(
        error.to_string(),
        "the provider failed (HTTP 500): Oops (request id req_1)"
    );
}
