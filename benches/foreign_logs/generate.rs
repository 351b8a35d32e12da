//! Logs as Claude Code writes them, of any length, always the same for the same seed.
//!
//! The mix of lines is that of `real-logs.md` sections 1, 4 and 5: the median line has 569 bytes and one
//! in a hundred 32 KB, some are images of up to 1.9 MB; a quarter of the bytes are progress lines; about
//! two in a hundred bytes have to do with tasks; of two creates one comes with others in one message;
//! one create goes with two updates, a tenth of a list and a twentieth of a get.

use std::io::{self, Write};

/// Numbers that look random (`SplitMix64`).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below the bound.
    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound.max(1)
    }

    fn one_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }
}

/// Writes a session until it has about this many bytes. Tells how many it has, and how many tasks.
pub(crate) fn session(out: &mut impl Write, bytes: u64, seed: u64) -> io::Result<(u64, u64)> {
    let mut session = Session {
        out,
        random: Random::new(seed),
        written: 0,
        clock: 0,
        calls: 0,
        tasks: 0,
        id: format!(
            "{:08x}-0000-4000-8000-{:012x}",
            seed as u32,
            seed & 0xffff_ffff_ffff
        ),
    };
    session.user("Please do all of it.")?;
    while session.written < bytes {
        session.turn()?;
    }
    Ok((session.written, session.tasks))
}

struct Session<'a, W> {
    out: &'a mut W,
    random: Random,
    written: u64,
    /// Milliseconds since the session began.
    clock: u64,
    calls: u64,
    tasks: u64,
    id: String,
}

impl<W: Write> Session<'_, W> {
    /// Some work, and now and then something about tasks. The sizes give the mix of the corpus.
    fn turn(&mut self) -> io::Result<()> {
        if self.random.one_in(22) {
            self.creates()?;
        }
        for _ in 0..=self.random.below(4) {
            if self.random.one_in(9) && self.tasks > 0 {
                self.update()?;
            }
            self.work()?;
        }
        if self.random.one_in(60) {
            self.list()?;
        }
        if self.random.one_in(120) && self.tasks > 0 {
            self.get()?;
        }
        if self.random.one_in(90) {
            self.reminder()?;
        }
        if self.random.one_in(1500) {
            self.compaction()?;
        }
        Ok(())
    }

    /// A call of another tool with its result, and the progress of a sub-agent or hook.
    fn work(&mut self) -> io::Result<()> {
        let id = self.call_id();
        let command = self.text(60, 160);
        self.assistant(&format!(
            r#"{{"type":"tool_use","id":"{id}","name":"Bash","input":{{"command":"{command}"}}}}"#
        ))?;
        for _ in 0..self.random.below(4) {
            self.progress()?;
        }
        let output = match self.random.below(3000) {
            // An image, as base64.
            0 => self.base64(200_000, 1_900_000),
            1..120 => self.text(20_000, 60_000),
            120..750 => self.text(2_000, 9_000),
            _ => self.text(10, 400),
        };
        self.result(
            &id,
            &output,
            &format!(r#"{{"stdout":"{output}","stderr":"","interrupted":false}}"#),
        )
    }

    fn creates(&mut self) -> io::Result<()> {
        let together = if self.random.one_in(2) {
            1
        } else {
            4 + self.random.below(4)
        };
        let mut results = Vec::new();
        for _ in 0..together {
            self.tasks += 1;
            let (id, task) = (self.call_id(), self.tasks);
            let (subject, description) = (self.text(30, 60), self.text(60, 190));
            let active_form = self.text(20, 40);
            self.assistant(&format!(
                r#"{{"type":"tool_use","id":"{id}","name":"TaskCreate","input":{{"subject":"{subject}","description":"{description}","activeForm":"{active_form}"}}}}"#
            ))?;
            results.push((id, task, subject));
        }
        for (id, task, subject) in results {
            self.result(
                &id,
                &format!("Task #{task} created successfully: {subject}"),
                &format!(r#"{{"task":{{"id":"{task}","subject":"{subject}"}}}}"#),
            )?;
        }
        Ok(())
    }

    fn update(&mut self) -> io::Result<()> {
        let id = self.call_id();
        let task = self.tasks - self.random.below(self.tasks.min(8));
        let (from, to) = if self.random.one_in(2) {
            ("pending", "in_progress")
        } else {
            ("in_progress", "completed")
        };
        self.assistant(&format!(
            r#"{{"type":"tool_use","id":"{id}","name":"TaskUpdate","input":{{"taskId":"{task}","status":"{to}"}}}}"#
        ))?;
        self.result(
            &id,
            &format!("Updated task #{task} status"),
            &format!(
                r#"{{"success":true,"taskId":"{task}","updatedFields":["status"],"statusChange":{{"from":"{from}","to":"{to}"}}}}"#
            ),
        )
    }

    fn list(&mut self) -> io::Result<()> {
        let id = self.call_id();
        self.assistant(&format!(
            r#"{{"type":"tool_use","id":"{id}","name":"TaskList","input":{{}}}}"#
        ))?;
        let rows: Vec<String> = self
            .last_tasks()
            .map(|task| {
                format!(
                    r#"{{"id":"{task}","subject":"Task {task}","status":"pending","blockedBy":[]}}"#
                )
            })
            .collect();
        let rows = rows.join(",");
        self.result(
            &id,
            "see the structured result",
            &format!(r#"{{"tasks":[{rows}]}}"#),
        )
    }

    fn get(&mut self) -> io::Result<()> {
        let (id, task) = (self.call_id(), self.tasks);
        self.assistant(&format!(
            r#"{{"type":"tool_use","id":"{id}","name":"TaskGet","input":{{"taskId":"{task}"}}}}"#
        ))?;
        self.result(
            &id,
            &format!("Task #{task}: Task {task}"),
            &format!(r#"{{"task":{{"id":"{task}","subject":"Task {task}","description":"d","status":"pending","blocks":[],"blockedBy":[]}}}}"#),
        )
    }

    fn reminder(&mut self) -> io::Result<()> {
        let rows: Vec<String> = self
            .last_tasks()
            .map(|task| {
                format!(r#"{{"id":"{task}","subject":"Task {task}","description":"d","status":"pending","blocks":[],"blockedBy":[]}}"#)
            })
            .collect();
        let (rows, count) = (rows.join(","), rows.len());
        self.line(&format!(
            r#""attachment":{{"type":"task_reminder","content":[{rows}],"itemCount":{count}}},"type":"attachment""#
        ))
    }

    /// A real session has a handful of tasks in its store, however many there were before.
    fn last_tasks(&self) -> std::ops::RangeInclusive<u64> {
        self.tasks.saturating_sub(7).max(1)..=self.tasks
    }

    fn compaction(&mut self) -> io::Result<()> {
        self.line(r#""type":"system","subtype":"compact_boundary","content":"Conversation compacted","compactMetadata":{"trigger":"auto","preTokens":155000}"#)?;
        let summary = self.text(3_000, 9_000);
        self.line(&format!(
            r#""type":"user","message":{{"role":"user","content":"{summary}"}},"isCompactSummary":true"#
        ))
    }

    fn progress(&mut self) -> io::Result<()> {
        let output = self.text(100, 1_800);
        if self.random.one_in(2) {
            self.line(&format!(
                r#""type":"progress","data":{{"type":"bash_progress","output":"{output}","elapsedTimeSeconds":3}}"#
            ))
        } else {
            let id = self.call_id();
            self.line(&format!(
                r#""type":"progress","data":{{"type":"agent_progress","agentId":"a0853aa","message":{{"type":"user","message":{{"role":"user","content":[{{"tool_use_id":"{id}","type":"tool_result","content":"{output}"}}]}}}}}}"#
            ))
        }
    }

    fn user(&mut self, text: &str) -> io::Result<()> {
        self.line(&format!(
            r#""type":"user","message":{{"role":"user","content":"{text}"}}"#
        ))
    }

    fn assistant(&mut self, block: &str) -> io::Result<()> {
        let message = self.calls;
        self.line(&format!(
            r#""message":{{"model":"claude-sonnet-4-6","id":"msg_{message:024}","type":"message","role":"assistant","content":[{block}],"stop_reason":null,"usage":{{"input_tokens":3,"cache_read_input_tokens":54321,"output_tokens":123}}}},"requestId":"req_{message:024}","type":"assistant""#
        ))
    }

    fn result(&mut self, id: &str, text: &str, value: &str) -> io::Result<()> {
        self.line(&format!(
            r#""type":"user","message":{{"role":"user","content":[{{"tool_use_id":"{id}","type":"tool_result","content":"{text}"}}]}},"toolUseResult":{value}"#
        ))
    }

    /// A record with these fields and those that each has.
    fn line(&mut self, fields: &str) -> io::Result<()> {
        self.clock += self.random.below(4_000);
        let (seconds, millis) = (self.clock / 1000, self.clock % 1000);
        let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
        let uuid = self.random.next();
        let line = format!(
            "{{\"parentUuid\":\"{:016x}\",\"isSidechain\":false,\"userType\":\"external\",\"cwd\":\"/home/user/project\",\"sessionId\":\"{}\",\"version\":\"2.1.62\",\"gitBranch\":\"main\",{fields},\"uuid\":\"{uuid:016x}\",\"timestamp\":\"2026-{:02}-{:02}T{:02}:{:02}:{:02}.{millis:03}Z\"}}\n",
            uuid ^ 1,
            self.id,
            1 + days / 28 % 12,
            1 + days % 28,
            hours % 24,
            minutes % 60,
            seconds % 60,
        );
        self.written += line.len() as u64;
        self.out.write_all(line.as_bytes())
    }

    fn call_id(&mut self) -> String {
        self.calls += 1;
        format!("toolu_{:024x}", self.random.next())
    }

    /// Words as code and its output have them, escaped as JSON has them.
    fn text(&mut self, least: u64, most: u64) -> String {
        const WORDS: [&str; 24] = [
            "error",
            "the",
            "function",
            "value",
            "\\n",
            "return",
            "tests",
            "self",
            "task",
            "and",
            "\\\"name\\\":",
            "struct",
            "String",
            "crate",
            "update",
            "list",
            "=",
            "()",
            "{",
            "}",
            "component",
            "plan",
            "status",
            "Task",
        ];
        let length = least + self.random.below(most - least);
        let mut text = String::with_capacity(length as usize + 16);
        while (text.len() as u64) < length {
            let word = self.random.below(WORDS.len() as u64) as usize;
            text.push_str(WORDS[word]);
            text.push(' ');
        }
        text
    }

    fn base64(&mut self, least: u64, most: u64) -> String {
        const LETTERS: &[u8; 64] =
            b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let length = least + self.random.below(most - least);
        let mut text = String::with_capacity(length as usize + 16);
        while (text.len() as u64) < length {
            let mut bits = self.random.next();
            for _ in 0..10 {
                text.push(char::from(LETTERS[(bits & 63) as usize]));
                bits >>= 6;
            }
        }
        text
    }
}
