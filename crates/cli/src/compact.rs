//! `pod compact`: compacts the history of a session, or shows what that would do.

use std::process::ExitCode;

use anyhow::Context as _;
use llm::Item;
use pod::{CompactPlan, CompactRecord, Compaction, Event, Pod, PodError, Status};
use tools::task::render::{one_line, short};

use crate::args::CompactOptions;
use crate::{home, models, print, print_line, terminal};

/// Compacts a session.
pub(crate) fn run(options: &CompactOptions) -> anyhow::Result<ExitCode> {
    let store = home::session_store()?;
    let directory = home::working_directory()?;
    let info = home::session(&store, &directory, options.session.as_deref())?;
    let chosen = models::choose(&options.model, print::answers_so_far(&store, &info))?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("the asynchronous runtime cannot start")?;
    let mut builder = Pod::builder(chosen.model)
        .directory(&directory)
        .compact_limits(options.sizes.limits());
    if let Some(home) = dirs::home_dir() {
        builder = builder.home_directory(home);
    }
    let mut pod = builder.resume(&store, &info, false)?;
    for notice in pod.notices() {
        terminal::notice(notice);
    }
    if options.dry_run {
        print_line(&planned(&pod.plan_compaction(), &pod))?;
        return Ok(ExitCode::SUCCESS);
    }
    let outcome = runtime.block_on(async {
        let mut run = pod.compact();
        while let Some(event) = run.next().await {
            if let Event::Compaction(compaction) = &event
                && let Some(text) = told(compaction)
            {
                terminal::notice(&text);
            }
        }
        run.outcome().await
    });
    match &outcome.status {
        Status::Completed => {
            print_line(&pod.tasks().counts().to_string())?;
            Ok(ExitCode::SUCCESS)
        }
        // Why not was told when it happened.
        Status::Failed(PodError::NotCompacted(_)) => Ok(ExitCode::FAILURE),
        Status::Failed(error) => {
            terminal::notice(&error.to_string());
            Ok(ExitCode::FAILURE)
        }
        _ => Ok(ExitCode::FAILURE),
    }
}

/// What a person reads about a compaction; `None` if there is nothing to say.
pub(crate) fn told(compaction: &Compaction) -> Option<String> {
    match compaction {
        Compaction::Started { trigger, tokens } => Some(format!(
            "compacting the history of {tokens} tokens: {trigger}"
        )),
        Compaction::Finished(report) => Some(CompactRecord::from(report).to_string()),
        Compaction::Failed { reason } => Some(format!(
            "not compacted: {reason}; going on with the history as it is"
        )),
        Compaction::Skipped { reason } => Some(format!("not compacted: {reason}")),
        _ => None,
    }
}

fn planned(plan: &CompactPlan, pod: &Pod) -> String {
    let mut lines = vec![
        format!(
            "history: {} tokens of a window of {}",
            plan.tokens, plan.window
        ),
        format!(
            "summarised: {} of {} entries",
            plan.summarised,
            pod.entries().len()
        ),
        format!("carried: {}", pod.tasks().counts()),
        format!(
            "carried beside the summary: about {} tokens",
            plan.carried_tokens
        ),
        format!("kept as they are: {} entries", plan.kept.len()),
    ];
    for entry in &plan.kept {
        let text = match &*entry.item {
            Item::User(message) => format!("user: {}", message.joined_text()),
            Item::Assistant(message) => {
                let calls: Vec<&str> = message.calls().map(|call| call.name.as_str()).collect();
                format!("assistant: {} {}", message.joined_text(), calls.join(", "))
            }
            Item::ToolResult(result) => format!("result: {}", result.summary),
            Item::System(message) => format!("{}: {}", message.origin, message.text),
        };
        lines.push(format!("  {}", short(&one_line(&text), 76)));
    }
    lines.push(match &plan.useless {
        Some(reason) => format!("nothing would be done: {reason}"),
        None => String::from("pod compact does it"),
    });
    terminal::clean(&lines.join("\n"))
}
