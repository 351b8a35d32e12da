"""Gives a prompt to Pod and shows how the work gets on.

    python progress.py [--log] PROMPT

With `--log` each change is a line; without, a bar is kept up to date. See README.md.
"""

import asyncio
import os
import shutil
import sys
from dataclasses import dataclass

from claude_agent_sdk import (
    AssistantMessage,
    ClaudeAgentOptions,
    ClaudeSDKClient,
    ResultMessage,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
)

MARKS = {"pending": "+", "in_progress": ">", "completed": "x", "deleted": "-"}


@dataclass
class Task:
    subject: str
    status: str = "pending"
    label: str = ""

    @property
    def shown(self):
        return self.label if self.label and self.status == "in_progress" else self.subject


class Board:
    """The list as the stream tells of it. Only a result says that a call took effect."""

    def __init__(self, show):
        self.tasks = {}
        self.calls = {}
        self.show = show

    def read(self, message):
        if isinstance(message, AssistantMessage):
            for block in message.content:
                if isinstance(block, ToolUseBlock) and block.name.startswith("Task"):
                    self.calls[block.id] = block
        elif isinstance(message, UserMessage) and isinstance(message.content, list):
            for block in message.content:
                if isinstance(block, ToolResultBlock):
                    call = self.calls.pop(block.tool_use_id, None)
                    if call and not block.is_error:
                        self.apply(call, message.tool_use_result)

    def apply(self, call, output):
        sent = call.input
        label = sent.get("activeForm") or sent.get("active_form") or ""
        if call.name == "TaskCreate":
            id = output["task"]["id"]
            self.tasks[id] = Task(output["task"]["subject"], label=label)
            self.show(id, self.tasks[id], self)
        elif call.name == "TaskUpdate":
            id = output["taskId"]
            task = self.tasks.setdefault(id, Task(f"task {id}"))
            task.status = sent.get("status", task.status).replace("inprogress", "in_progress")
            task.subject = sent.get("subject", task.subject)
            task.label = label or task.label
            self.show(id, task, self)
        elif call.name == "TaskList":
            # What is known of labels stays known.
            for row in output["tasks"]:
                task = self.tasks.setdefault(row["id"], Task(row["subject"]))
                task.subject, task.status = row["subject"], row["status"]

    def bar(self, width=20):
        kept = [task for task in self.tasks.values() if task.status != "deleted"]
        done = sum(task.status == "completed" for task in kept)
        if not kept:
            return "working"
        filled = "#" * (width * done // len(kept))
        now = next((task.shown for task in kept if task.status == "in_progress"), "")
        return f"[{filled.ljust(width, '.')}] {done}/{len(kept)} {now}"


def show_line(id, task, _):
    print(f"  {MARKS.get(task.status, '?')} {id} {task.shown}", flush=True)


def show_bar(_id, _task, board):
    width = shutil.get_terminal_size().columns - 1
    print(f"\r\x1b[2K{board.bar()[:width]}", end="", flush=True)


async def main(arguments):
    log = "--log" in arguments
    prompt = " ".join(word for word in arguments if word != "--log")
    if not prompt:
        sys.exit(__doc__)
    board = Board(show_line if log else show_bar)
    resume = os.environ.get("RESUME")
    options = ClaudeAgentOptions(
        cli_path=os.environ.get("POD_CLI") or shutil.which("pod"),
        model=os.environ.get("POD_MODEL") or "claude-sonnet-4-6",
        permission_mode="acceptEdits",
        system_prompt={"type": "preset", "preset": "claude_code"},
        resume=resume,
        env={"CLAUDE_CODE_ENABLE_TODO_TOOLS": "1"},
    )
    async with ClaudeSDKClient(options) as client:
        if resume:
            await client.query("Call TaskList once and say nothing more.")
            async for message in client.receive_response():
                board.read(message)
        await client.query(prompt)
        async for message in client.receive_response():
            board.read(message)
            if isinstance(message, ResultMessage):
                print(f"\n{message.result or '; '.join(message.errors or [])}\n{message.session_id}")
                return 1 if message.is_error else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1:])))
