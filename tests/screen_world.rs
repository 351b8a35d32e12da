//! The program on a pseudo terminal, with a parser of terminals on the other side.

use std::io::{Read as _, Write as _};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};

use crate::program::World;

/// How long anything may take. Only a test that fails waits so long.
const PATIENCE: Duration = Duration::from_mins(1);

/// The program, and what its terminal shows.
pub(crate) struct Screen {
    master: Box<dyn MasterPty + Send>,
    keys: Box<dyn std::io::Write + Send>,
    child: Box<dyn Child + Send + Sync>,
    shown: Arc<Mutex<Shown>>,
}

struct Shown {
    parser: vt100::Parser,
    /// Everything that was written, as it came.
    raw: Vec<u8>,
}

impl Screen {
    /// Starts the program in a terminal of this size, with these variables beside the usual ones.
    pub(crate) fn start(
        world: &World,
        (columns, rows): (u16, u16),
        arguments: &[&str],
        variables: &[(&str, &str)],
    ) -> Self {
        let size = size(columns, rows);
        let pair = native_pty_system().openpty(size).unwrap();
        // The same environment as without a terminal.
        let plain = world.command(arguments);
        let mut command = CommandBuilder::new(plain.get_program());
        command.args(plain.get_args());
        command.cwd(world.work());
        command.env_clear();
        for (name, value) in plain.get_envs() {
            if let Some(value) = value {
                command.env(name, value);
            }
        }
        command.env("TERM", "xterm-256color");
        for (name, value) in variables {
            command.env(name, value);
        }
        let child = pair.slave.spawn_command(command).unwrap();
        drop(pair.slave);
        let mut reader = pair.master.try_clone_reader().unwrap();
        let keys = pair.master.take_writer().unwrap();
        let shown = Arc::new(Mutex::new(Shown {
            parser: vt100::Parser::new(rows, columns, 0),
            raw: Vec::new(),
        }));
        let told = Arc::clone(&shown);
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(length @ 1..) = reader.read(&mut buffer) {
                let mut shown = told.lock().unwrap();
                shown.parser.process(&buffer[..length]);
                shown.raw.extend_from_slice(&buffer[..length]);
            }
        });
        Self {
            master: pair.master,
            keys,
            child,
            shown,
        }
    }

    /// Presses keys, as a terminal sends them.
    pub(crate) fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
        self.keys.flush().unwrap();
    }

    /// Types a line and sends it.
    pub(crate) fn send(&mut self, line: &str) {
        self.press(line);
        self.wait_for(&line[line.len().saturating_sub(20)..]);
        self.press("\r");
    }

    pub(crate) fn resize(&self, columns: u16, rows: u16) {
        self.shown
            .lock()
            .unwrap()
            .parser
            .screen_mut()
            .set_size(rows, columns);
        self.master.resize(size(columns, rows)).unwrap();
    }

    /// What the terminal shows, a line a row.
    pub(crate) fn text(&self) -> String {
        let text = self.shown.lock().unwrap().parser.screen().contents();
        let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
        lines.join("\n")
    }

    pub(crate) fn raw(&self) -> Vec<u8> {
        self.shown.lock().unwrap().raw.clone()
    }

    /// Whether the alternate screen is shown, and whether the cursor is.
    pub(crate) fn modes(&self) -> (bool, bool) {
        let shown = self.shown.lock().unwrap();
        let screen = shown.parser.screen();
        (screen.alternate_screen(), !screen.hide_cursor())
    }

    /// Whether lines are edited by the system again and letters echoed, as a shell expects it.
    pub(crate) fn is_cooked(&self) -> bool {
        let termios = self.master.get_termios().unwrap();
        let flags = format!("{:?}", termios.local_flags);
        flags.contains("ICANON") && flags.contains("ECHO")
    }

    pub(crate) fn wait_for(&self, wanted: &str) {
        self.wait(wanted, |text| text.contains(wanted));
    }

    pub(crate) fn wait(&self, what: &str, is_there: impl Fn(&str) -> bool) {
        let begin = Instant::now();
        loop {
            let text = self.text();
            if is_there(&text) {
                return;
            }
            assert!(
                begin.elapsed() < PATIENCE,
                "{what:?} did not come; the terminal shows:\n{text}"
            );
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Presses Ctrl-C twice, until that has come through in time.
    pub(crate) fn leave(&mut self) {
        while self.child.try_wait().unwrap().is_none() {
            // Behind the end nobody reads it.
            let _ = self.keys.write_all(b"\x03\x03");
            std::thread::sleep(Duration::from_millis(300));
        }
    }

    /// Waits for the end of the program and gives its exit code.
    pub(crate) fn wait_for_end(&mut self) -> u32 {
        let begin = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                // What it wrote last is read a moment later.
                std::thread::sleep(Duration::from_millis(50));
                return status.exit_code();
            }
            assert!(
                begin.elapsed() < PATIENCE,
                "the program goes on:\n{}",
                self.text()
            );
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        let id = i32::try_from(self.child.process_id().unwrap()).unwrap();
        let id = rustix::process::Pid::from_raw(id).unwrap();
        rustix::process::kill_process(id, signal).unwrap();
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn size(columns: u16, rows: u16) -> PtySize {
    PtySize {
        rows,
        cols: columns,
        pixel_width: 0,
        pixel_height: 0,
    }
}
