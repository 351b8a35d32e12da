"""What every test needs: a directory to work in, a home for sessions, a model, and the SDK set up to
start Pod."""

import asyncio
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from claude_agent_sdk import (AssistantMessage, ClaudeAgentOptions, ResultMessage, SystemMessage,
                              ToolResultBlock, ToolUseBlock, UserMessage, query)
from mock import Mock

ROOT = pathlib.Path(__file__).resolve().parents[3]
POD = os.environ.get("POD_CLI") or str(ROOT / "target" / "debug" / "pod")
MODEL = "claude-sonnet-4-6"


class Case(unittest.IsolatedAsyncioTestCase):
    """A test in a scratch directory."""

    def setUp(self):
        self.scratch = pathlib.Path(tempfile.mkdtemp(prefix="pod-sdk-"))
        self.addCleanup(shutil.rmtree, self.scratch, ignore_errors=True)
        self.cwd = self.scratch / "work"
        self.cwd.mkdir()
        self.home = self.scratch / "home"
        self.home.mkdir()
        self.stderr = []

    def mock(self, *turns):
        """A model that says these turns."""
        return self.enterContext(Mock(turns))

    def environment(self, mock, **more):
        """The variables that Pod is started with."""
        return {"ANTHROPIC_BASE_URL": mock.url, "ANTHROPIC_API_KEY": "a-key-of-nobody", "HOME": str(self.home),
                # The SDK looks for sessions in the home of its own process.
                "CLAUDE_CONFIG_DIR": str(self.home / ".claude"), "POD_HOME": str(self.home / "pod"), "POD_MODEL": "", **more}

    def options(self, mock, **options):
        """The SDK's options."""
        env = self.environment(mock, **options.pop("env", {}))
        options.setdefault("model", MODEL)
        return ClaudeAgentOptions(cli_path=POD, cwd=str(options.pop("cwd", self.cwd)), env=env,
                                  stderr=self.stderr.append, **options)

    async def ask(self, mock, prompt="Go.", **options):
        """All messages of a single query. An error ends it; it is kept in `self.error`."""
        self.error = None
        messages = []
        try:
            async with asyncio.timeout(60):
                async for message in query(prompt=prompt, options=self.options(mock, **options)):
                    messages.append(message)
        except Exception as error:
            self.error = error
        return messages

    def pod(self, *arguments, mock, stdin=None, timeout=60, env=None):
        """Runs Pod itself; gives its lines, as data, and what it ended with."""
        environment = {**os.environ, **self.environment(mock), **(env or {})}
        text = None if stdin is None else "".join(
            (line if isinstance(line, str) else json.dumps(line)) + "\n" for line in stdin)
        done = subprocess.run([POD, *arguments], input=text, capture_output=True, text=True, cwd=self.cwd,
                              env=environment, timeout=timeout)
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        return lines, done

    def raw(self, mock, *stdin, flags=(), env=None):
        """Runs Pod as the SDKs do, with these lines on its standard input."""
        return self.pod("--output-format", "stream-json", "--input-format", "stream-json", "--model", MODEL,
                        *flags, mock=mock, stdin=stdin, env=env)


def user(text, **fields):
    """A line with a message of the user."""
    return {"type": "user", "session_id": "", "message": {"role": "user", "content": text},
            "parent_tool_use_id": None, **fields}


def request(id, subtype, **fields):
    """A line with a request."""
    return {"type": "control_request", "request_id": id, "request": {"subtype": subtype, **fields}}


def result(messages):
    """The last message, which must be the result."""
    assert isinstance(messages[-1], ResultMessage), messages[-1]
    return messages[-1]


def init(messages):
    """What the first message tells."""
    found = [m for m in messages if isinstance(m, SystemMessage) and m.subtype == "init"]
    return found[0].data


def uses(messages):
    """The calls that a program sees: name and input."""
    return [(block.name, block.input) for message in messages if isinstance(message, AssistantMessage)
            for block in message.content if isinstance(block, ToolUseBlock)]


def results(messages):
    """The results that a program sees: error, text, data."""
    found = []
    for message in messages:
        if isinstance(message, UserMessage) and isinstance(message.content, list):
            for block in message.content:
                if isinstance(block, ToolResultBlock):
                    found.append((bool(block.is_error), block.content, message.tool_use_result))
    return found


async def listed(case, mock, **options):
    """The task list of a session as `TaskList` shows it to a program, in a query of its own."""
    from mock import call, say
    mock.turns[:] = [call("TaskList"), say("Seen.")]
    messages = await case.ask(mock, "What is left?", **options)
    if case.error:
        raise case.error
    return [(task["id"], task["status"], task["subject"]) for task in results(messages)[-1][2]["tasks"]]
