//! The text form of a script.

use std::iter::Peekable;
use std::time::Duration;

use serde_json::value::RawValue;

use super::script::{Expectation, ExpectedIn, Script};
use super::{Answer, Fault};
use crate::{Arguments, ModelError, StopReason, Usage};

const WORDS: &str = "assistant, user, expect, fault, usage, stop, delay, lane, model, window";

/// Reads a script in the text form.
pub(super) fn parse(text: &str) -> Result<Script, ModelError> {
    let mut script = Script::default();
    let mut lines = text
        .lines()
        .enumerate()
        .map(|(index, text)| Line {
            number: index + 1,
            text,
        })
        .peekable();
    while let Some(line) = lines.next() {
        if line.is_blank() || line.text.starts_with('#') {
            continue;
        }
        if line.is_indented() {
            return Err(line.wrong("an indented line belongs below an `assistant:` line"));
        }
        let Some((word, rest)) = line.text.split_once(':') else {
            return Err(line.wrong(format!("a line is `WORD: TEXT`; the words are: {WORDS}")));
        };
        let rest = rest.trim();
        if word == "assistant" {
            let answer = read_answer(rest, &block_below(&mut lines))?;
            script.push_answer(line.place(), answer);
        } else {
            read_line(&mut script, line, word, rest).map_err(|what| line.wrong(what))?;
        }
    }
    script.finish()
}

/// Reads a line that stands for itself.
fn read_line(script: &mut Script, line: Line<'_>, word: &str, rest: &str) -> Result<(), String> {
    if rest.is_empty() {
        return Err(format!("`{word}:` needs a text"));
    }
    let mut expect = |source| {
        script.expect(Expectation {
            place: line.place(),
            source,
            text: rest.to_owned(),
        });
    };
    match word {
        "user" => expect(ExpectedIn::LastUserMessage),
        "expect" => expect(ExpectedIn::NewestResults),
        "fault" => {
            let (fault, times) = read_fault(rest)?;
            script.push_faults(&line.place(), fault, times);
        }
        "usage" => {
            let usage = read_usage(rest)?;
            change(script, word, |answer| answer.usage(usage))?;
        }
        "stop" => change(script, word, |answer| answer.stop(StopReason::from(rest)))?,
        "delay" => script.pause = read_pause(rest)?,
        "lane" => script.switch_lane(rest),
        "model" => script.model = Some(rest.to_owned()),
        "window" => {
            let window = rest
                .parse()
                .map_err(|_| format!("`{rest}` is no number of tokens"))?;
            script.window = Some(window);
        }
        _ => return Err(format!("there is no `{word}:`; the words are: {WORDS}")),
    }
    Ok(())
}

fn change(
    script: &mut Script,
    word: &str,
    change: impl FnOnce(Answer) -> Answer,
) -> Result<(), String> {
    if script.change_last_answer(change) {
        Ok(())
    } else {
        Err(format!(
            "`{word}:` belongs right below an `assistant:` block"
        ))
    }
}

fn read_fault(text: &str) -> Result<(Fault, u32), String> {
    let counted = text.rsplit_once(' ');
    let counted = counted.and_then(|(name, times)| Some((name, times.parse().ok()?)));
    let (name, times) = counted.unwrap_or((text, 1));
    if times > MAX_FAULTS {
        return Err(format!("a fault comes at most {MAX_FAULTS} times in a row"));
    }
    Ok((Fault::from_name(name.trim_end())?, times))
}

/// A bound for the count of a fault, since each becomes a step.
pub(super) const MAX_FAULTS: u32 = 1_000;

fn read_usage(text: &str) -> Result<Usage, String> {
    let mut usage = Usage::default();
    for part in text.split_whitespace() {
        let (key, count) = part.split_once('=').unwrap_or((part, ""));
        let field = match key {
            "input" => &mut usage.input,
            "cached" => &mut usage.cache_read,
            "written" => &mut usage.cache_write,
            "output" => &mut usage.output,
            _ => {
                return Err(format!(
                    "there is no usage `{key}`; there are: input, cached, written, output"
                ));
            }
        };
        *field = count
            .parse()
            .map_err(|_| format!("`{part}` is not `NAME=NUMBER`"))?;
    }
    Ok(usage)
}

fn read_pause(text: &str) -> Result<Duration, String> {
    let wrong = || format!("`{text}` is no time such as `50ms` or `2s`");
    let count = |text: &str| text.trim_end().parse::<u32>().map_err(|_| wrong());
    if let Some(text) = text.strip_suffix("ms") {
        Ok(Duration::from_millis(count(text)?.into()))
    } else if let Some(text) = text.strip_suffix('s') {
        Ok(Duration::from_secs(count(text)?.into()))
    } else {
        Err(wrong())
    }
}

#[derive(Clone, Copy)]
struct Line<'a> {
    number: usize,
    text: &'a str,
}

impl Line<'_> {
    fn is_blank(self) -> bool {
        self.text.trim().is_empty()
    }

    fn is_indented(self) -> bool {
        self.text.starts_with([' ', '\t'])
    }

    fn place(self) -> String {
        format!("line {}", self.number)
    }

    fn wrong(self, what: impl std::fmt::Display) -> ModelError {
        ModelError::Script(format!("script line {}: {what}", self.number))
    }
}

/// Takes the indented lines that follow, blank ones between them included, without the indentation
/// that the first of them has.
fn block_below<'a>(lines: &mut Peekable<impl Iterator<Item = Line<'a>>>) -> Vec<Line<'a>> {
    let mut block: Vec<Line<'a>> = Vec::new();
    let mut indentation = "";
    while let Some(line) = lines.next_if(|line| line.is_blank() || line.is_indented()) {
        if indentation.is_empty() && !line.is_blank() {
            let text = line.text.trim_start();
            indentation = line.text.strip_suffix(text).unwrap_or_default();
        }
        let text = line.text.strip_prefix(indentation);
        block.push(Line {
            text: text.unwrap_or_else(|| line.text.trim_start()),
            ..line
        });
    }
    while block.last().is_some_and(|line| line.is_blank()) {
        block.pop();
    }
    block
}

/// Reads the block of an answer. `first` is the text behind `assistant:`.
fn read_answer(first: &str, block: &[Line<'_>]) -> Result<Answer, ModelError> {
    let mut answer = Answer::empty();
    let mut text = Vec::from_iter((!first.is_empty()).then_some(first));
    let mut reasoning: Vec<&str> = Vec::new();
    let mut lines = block.iter();
    while let Some(line) = lines.next() {
        if let Some(call) = line.text.strip_prefix('>') {
            answer = end_text(answer, &mut text);
            answer = end_reasoning(answer, &mut reasoning, None);
            answer = read_call(answer, *line, call.trim_start(), &mut lines)?;
        } else if let Some(thinking) = line.text.strip_prefix("thinking:") {
            answer = end_text(answer, &mut text);
            match thinking.rsplit_once(" | ") {
                Some((thinking, signature)) => {
                    reasoning.push(thinking.trim());
                    let signature = signature.trim().to_owned();
                    answer = end_reasoning(answer, &mut reasoning, Some(signature));
                }
                None => reasoning.push(thinking.trim()),
            }
        } else {
            answer = end_reasoning(answer, &mut reasoning, None);
            text.push(line.text.strip_prefix('\\').unwrap_or(line.text));
        }
    }
    answer = end_reasoning(answer, &mut reasoning, None);
    Ok(end_text(answer, &mut text))
}

/// Ends the text block that was being read. Blank lines around it are only layout.
fn end_text(answer: Answer, text: &mut Vec<&str>) -> Answer {
    let joined = std::mem::take(text).join("\n");
    match joined.trim_matches('\n') {
        "" => answer,
        text => answer.and_text(text),
    }
}

fn end_reasoning(answer: Answer, lines: &mut Vec<&str>, signature: Option<String>) -> Answer {
    if lines.is_empty() {
        return answer;
    }
    answer.reasoning(std::mem::take(lines).join("\n"), signature)
}

/// Reads a call, whose arguments may go on in the lines below.
fn read_call<'a>(
    answer: Answer,
    line: Line<'_>,
    call: &str,
    below: &mut impl Iterator<Item = &'a Line<'a>>,
) -> Result<Answer, ModelError> {
    let (name, rest) = call.split_once(char::is_whitespace).unwrap_or((call, ""));
    let (name, is_raw) = match name.strip_suffix('!') {
        Some(name) => (name, true),
        None => (name, false),
    };
    if name.is_empty() {
        return Err(line.wrong("a call is `> NAME JSON`"));
    }
    let rest = rest.trim();
    let (id, rest) = match rest.strip_prefix('#') {
        Some(rest) => rest.split_once(char::is_whitespace).unwrap_or((rest, "")),
        None => ("", rest),
    };
    let arguments = if is_raw || rest.trim().is_empty() {
        rest.to_owned()
    } else {
        read_json(line, rest, below)?
    };
    Ok(answer.raw_call(id, name, Arguments::new(arguments)))
}

/// Takes lines until they are one whole JSON value, and returns that in one line.
fn read_json<'a>(
    line: Line<'_>,
    first: &str,
    below: &mut impl Iterator<Item = &'a Line<'a>>,
) -> Result<String, ModelError> {
    let mut json = first.trim().to_owned();
    loop {
        match serde_json::from_str::<&RawValue>(&json) {
            // Within a JSON string a line break is an error, so what is left is layout.
            Ok(_) => return Ok(json.replace('\n', " ")),
            Err(error) if error.is_eof() => {
                let Some(next) = below.next() else {
                    return Err(line.wrong(format!(
                        "the JSON of this call has no end ({error}); for broken arguments write `> NAME! TEXT`"
                    )));
                };
                json.push('\n');
                json.push_str(next.text.trim());
            }
            Err(error) => {
                return Err(line.wrong(format!(
                    "the arguments of this call are not JSON ({error}); for broken arguments write `> NAME! TEXT`"
                )));
            }
        }
    }
}
