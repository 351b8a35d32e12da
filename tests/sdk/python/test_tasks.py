"""The task tools in the dialect of the Agent SDK, and which of them a session gets."""

import unittest

from harness import Case, init, listed, request, result, results, user, uses
from mock import call, calls, say

FOUR = ["TaskCreate", "TaskList", "TaskGet", "TaskUpdate"]
LIST_TOOLS = {*FOUR, "TodoWrite"}


class Dialect(Case):
    async def test_the_life_of_a_task(self):
        mock = self.mock(
            call("TaskCreate", subject="Log in", description="With a key", activeForm="Logging in"),
            call("TaskUpdate", taskId="1", status="in_progress"),
            call("TaskUpdate", taskId="1", status="completed", subject="Log in quickly"),
            call("TaskGet", taskId="1"),
            call("TaskUpdate", taskId="1", status="deleted"),
            call("TaskList"),
            say("Done."))
        messages = await self.ask(mock)
        self.assertEqual([error for error, _, _ in results(messages)], [False] * 6)
        created, begun, done, seen, dropped, all_tasks = [data for _, _, data in results(messages)]
        self.assertEqual(created, {"task": {"id": "1", "subject": "Log in", "description": "With a key"}})
        self.assertEqual(begun, {"success": True, "taskId": "1", "updatedFields": ["status"],
                                 "statusChange": {"from": "pending", "to": "in_progress"}})
        self.assertEqual(done["updatedFields"], ["status", "subject"])
        self.assertEqual(seen["task"], {"id": "1", "subject": "Log in quickly", "description": "With a key",
                                        "status": "completed", "blocks": [], "blockedBy": [],
                                        "activeForm": "Logging in"})
        self.assertEqual(dropped["updatedFields"], ["deleted"])
        self.assertEqual(dropped["statusChange"], {"from": "completed", "to": "deleted"})
        self.assertEqual(all_tasks, {"tasks": []})

    async def test_keys_that_are_nearly_right_are_repaired_and_shown_raw(self):
        mock = self.mock(
            call("TaskCreate", subject="A", description="", active_form="Doing A"),
            calls(("TaskUpdate", {"id": "1", "status": "in_progress"}),
                  ("TaskUpdate", {"task_id": "1", "active_form": "Still doing A"}),
                  ("TaskUpdate", {"taskId": 1, "status": "IN_PROGRESS"})),
            call("TaskGet", task_id="1"),
            say("Done."))
        messages = await self.ask(mock)
        self.assertEqual([error for error, _, _ in results(messages)], [False] * 5)
        self.assertEqual(results(messages)[-1][2]["task"]["activeForm"], "Still doing A")
        self.assertEqual([sorted(arguments) for _, arguments in uses(messages)],
                         [["active_form", "description", "subject"], ["id", "status"],
                          ["active_form", "task_id"], ["status", "taskId"], ["task_id"]])
        # What is sent back to the model is what it said.
        self.assertIn("active_form", str(mock.requests[-1]["messages"]))

    async def test_what_cannot_be_done_is_an_error_and_changes_nothing(self):
        mock = self.mock(
            call("TaskCreate", subject="A", description=""),
            calls(("TaskUpdate", {"taskId": "7", "status": "completed"}), ("TaskGet", {"taskId": "7"}),
                  ("TaskUpdate", {"taskId": "1"}), ("TaskUpdate", {"taskId": "1", "status": "finished"}),
                  ("TaskUpdate", {"taskId": "1", "id": "1", "status": "completed"}), ("TaskCreate", {}),
                  ("TaskCreate", {"subject": "B", "description": "", "owner": "me"}), ("TaskList", {"status": "x"})),
            call("TaskList"), say("Done."))
        messages = await self.ask(mock)
        failed = results(messages)[1:-1]
        self.assertEqual([error for error, _, _ in failed], [True] * 8)
        for _, text, data in failed:
            self.assertEqual(text, data, "on an error the data is the text")
            self.assertLess(len(text), 300)
        self.assertEqual(results(messages)[-1][2]["tasks"],
                         [{"id": "1", "subject": "A", "status": "pending", "blockedBy": []}])

    async def test_a_read_sees_the_writes_of_its_own_message(self):
        mock = self.mock(calls(("TaskCreate", {"subject": "A", "description": ""}), ("TaskList", {}),
                               ("TaskUpdate", {"taskId": "1", "status": "in_progress"}), ("TaskGet", {"taskId": "1"}),
                               ("TaskList", {})), say("Done."))
        _, first, _, one, last = [data for _, _, data in results(await self.ask(mock))]
        self.assertEqual(first["tasks"][0]["status"], "pending")
        self.assertEqual(one["task"]["status"], "in_progress")
        self.assertEqual(last["tasks"][0]["status"], "in_progress")

    async def test_descriptions_say_when_to_keep_a_list(self):
        mock = self.mock()
        await self.ask(mock)
        tools = {tool["name"]: tool for tool in mock.requests[0]["tools"]}
        text = tools["TaskCreate"]["description"]
        for case in ["three or more steps", "runs long", "several things", "asks for one", "single simple step"]:
            self.assertIn(case, text)
        update = tools["TaskUpdate"]["input_schema"]
        self.assertEqual(update["properties"]["taskId"], {"type": "string"})
        self.assertEqual(update["properties"]["status"]["enum"], ["pending", "in_progress", "completed", "deleted"])

    async def test_todo_write_keeps_the_same_store(self):
        def todo(content, status):
            return {"content": content, "status": status, "activeForm": f"Doing {content}"}

        mock = self.mock(
            call("TodoWrite", todos=[todo("A", "in_progress"), todo("B", "pending")]),
            call("TodoWrite", todos=[todo("A", "completed"), todo("C", "in_progress")]),
            say("Done."))
        env = {"CLAUDE_CODE_ENABLE_TASKS": "0"}
        messages = await self.ask(mock, env=env)
        self.assertIn("TodoWrite", mock.tools())
        self.assertFalse(set(FOUR) & set(mock.tools()))
        first, second = [data for _, _, data in results(messages)]
        self.assertEqual(first["oldTodos"], [])
        self.assertEqual(second["oldTodos"], first["newTodos"])
        self.assertEqual(second["newTodos"], [todo("A", "completed"), todo("C", "in_progress")])
        # The four tools see it, in a later process: ids stay, what was left out is deleted.
        self.assertEqual(await listed(self, mock, resume=result(messages).session_id),
                         [("1", "completed", "A"), ("3", "in_progress", "C")])


class Offer(Case):
    """The tools that a session has, by model, variables and flags."""

    def offered(self, model, *flags, **variables):
        mock = self.mock()
        env = {f"CLAUDE_CODE_ENABLE_{name}": value for name, value in variables.items()}
        flags = ["--output-format", "stream-json", "--input-format", "stream-json", "--model", model, *flags]
        lines, done = self.pod(*flags, mock=mock, env=env,
                               stdin=[request("1", "initialize", hooks=None), user("Go.")])
        self.assertEqual(done.returncode, 0, done.stderr)
        begin = next(line for line in lines if line.get("subtype") == "init")
        self.assertEqual(begin["tools"], mock.tools(), "init tells what the model is offered")
        return [name for name in mock.tools() if name in LIST_TOOLS]

    def test_by_model(self):
        for model in ["claude-opus-4-5", "claude-opus-4-7", "claude-sonnet-4-6[1m]", "claude-haiku-4-5",
                      "claude-3-5-haiku-20241022", "us.anthropic.claude-sonnet-4-5-20250929-v1:0"]:
            with self.subTest(model):
                self.assertEqual(self.offered(model), FOUR)
        for model in ["claude-opus-4-8", "claude-opus-5-5", "claude-sonnet-5", "claude-haiku-5", "opus", "sonnet",
                      "my-local-model"]:
            with self.subTest(model):
                self.assertEqual(self.offered(model), [])

    def test_by_opt_in(self):
        model = "my-local-model"
        self.assertEqual(self.offered(model, TODO_TOOLS="1"), FOUR)
        self.assertEqual(self.offered(model, TODO_TOOLS="0"), [])
        self.assertEqual(self.offered(model, "--allowedTools", "TaskGet"), FOUR)
        self.assertEqual(self.offered(model, "--allowedTools=TodoWrite,Read"), FOUR)
        self.assertEqual(self.offered(model, "--allowedTools", "TaskStop,Read"), [])
        self.assertEqual(self.offered(model, "--tools", "default"), [])
        self.assertEqual(self.offered("claude-sonnet-4-6", TODO_TOOLS="0"), FOUR)

    def test_by_name(self):
        self.assertEqual(self.offered("my-local-model", "--tools", "TaskCreate,TaskUpdate"), ["TaskCreate", "TaskUpdate"])
        self.assertEqual(self.offered("my-local-model", "--tools=Read,TaskList"), ["TaskList"])
        self.assertEqual(self.offered("claude-sonnet-4-6", "--tools", "", TODO_TOOLS="1"), [])
        self.assertEqual(self.offered("claude-sonnet-4-6", "--tools", "TodoWrite"), [])
        self.assertEqual(self.offered("claude-sonnet-4-6", "--disallowedTools", "TaskGet,TaskList"),
                         ["TaskCreate", "TaskUpdate"])

    def test_todo_write_in_their_place(self):
        self.assertEqual(self.offered("claude-sonnet-4-6", TASKS="0"), ["TodoWrite"])
        self.assertEqual(self.offered("claude-sonnet-4-6", TASKS="1"), FOUR)
        self.assertEqual(self.offered("my-local-model", TASKS="0"), [])
        self.assertEqual(self.offered("my-local-model", TASKS="0", TODO_TOOLS="true"), ["TodoWrite"])
        self.assertEqual(self.offered("my-local-model", "--tools", "TodoWrite", TASKS="0"), ["TodoWrite"])
        self.assertEqual(self.offered("my-local-model", "--tools", "TaskCreate", TASKS="0"), [])

    async def test_a_call_of_a_tool_that_is_not_offered_fails_and_the_run_goes_on(self):
        mock = self.mock(call("TaskCreate", subject="A", description=""), say("Without a list, then."))
        messages = await self.ask(mock, model="my-local-model")
        self.assertTrue(results(messages)[0][0])
        self.assertIn("TaskCreate", results(messages)[0][1])
        self.assertEqual(result(messages).result, "Without a list, then.")

    async def test_only_the_usual_variables_are_needed(self):
        import os
        import subprocess
        mock = self.mock()
        env = {"HOME": str(self.home), "PATH": os.environ["PATH"], "ANTHROPIC_BASE_URL": mock.url,
               "ANTHROPIC_API_KEY": "x"}
        from harness import POD
        done = subprocess.run([POD, "-p", "Go.", "--output-format", "stream-json"], env=env, cwd=self.cwd,
                              capture_output=True, text=True, timeout=30)
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main()
