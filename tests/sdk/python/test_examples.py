"""The programs of `examples/agent-sdk`."""

import os
import pathlib
import subprocess
import sys
import unittest

from harness import POD, ROOT, Case
from mock import call, calls, say

EXAMPLES = ROOT / "examples" / "agent-sdk"


class Examples(Case):
    TURNS = [
        calls(("TaskCreate", {"subject": "Parser", "description": "", "activeForm": "Writing the parser"}),
              ("TaskCreate", {"subject": "Tests", "description": ""})),
        call("TaskUpdate", taskId="1", status="in_progress"),
        calls(("TaskUpdate", {"id": "1", "status": "completed"}), ("TaskUpdate", {"taskId": "9", "status": "completed"})),
        call("TaskUpdate", taskId="2", status="deleted"),
        say("All is done."),
    ]
    LOG = ["  + 1 Parser", "  + 2 Tests", "  > 1 Writing the parser", "  x 1 Parser", "  - 2 Tests"]

    def run_example(self, mock, *command, **env):
        done = subprocess.run(command, cwd=self.cwd, capture_output=True, text=True, timeout=60,
                              env={**os.environ, **self.environment(mock), "POD_CLI": POD, **env})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def check(self, *program):
        mock = self.mock(*self.TURNS)
        text = self.run_example(mock, *program, "--log", "Build", "it.")
        lines = text.splitlines()
        self.assertEqual([line for line in lines if line.startswith("  ")], self.LOG)
        self.assertIn("All is done.", lines)
        session = lines[-1]
        mock.turns[:] = [call("TaskList"), say(""), call("TaskUpdate", taskId="1", status="in_progress"), say("More.")]
        text = self.run_example(mock, *program, "Go", "on.", RESUME=session)
        self.assertIn("[....................] 0/1 ", text)

    def test_python(self):
        self.check(sys.executable, str(EXAMPLES / "progress.py"))

    def test_typescript(self):
        packages = pathlib.Path(sys.prefix).parent / "ts"
        # Node looks for packages from where the program is.
        copy = self.enterContext(__import__("tempfile").TemporaryDirectory(dir=packages))
        program = pathlib.Path(copy) / "progress.mts"
        program.write_bytes((EXAMPLES / "progress.ts").read_bytes())
        self.check(str(packages / "node_modules" / ".bin" / "tsx"), str(program))


if __name__ == "__main__":
    unittest.main()
