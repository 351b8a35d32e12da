"""`ClaudeSDKClient`: a conversation over one process, and what can be asked meanwhile."""

import asyncio
import time
import unittest

from claude_agent_sdk import ClaudeSDKClient, ResultMessage, SystemMessage, UserMessage
from harness import Case, init, request, result, results, user
from mock import call, calls, hang, say


async def until_result(client):
    return [message async for message in client.receive_response()]


class Client(Case):
    def client(self, mock, **options):
        return ClaudeSDKClient(options=self.options(mock, **options))

    async def test_a_conversation(self):
        mock = self.mock(say("One."), say("Two."))
        async with self.client(mock) as client:
            await client.query("First.")
            first = await until_result(client)
            await client.query("Second.")
            second = await until_result(client)
        self.assertEqual((result(first).result, result(second).result), ("One.", "Two."))
        self.assertEqual(init(first)["session_id"], init(second)["session_id"])
        texts = [message["content"][0]["text"] for message in mock.requests[1]["messages"]]
        self.assertEqual(texts, ["First.", "One.", "Second."])

    async def test_an_interrupt_in_an_answer(self):
        mock = self.mock(hang(text="Let me think about"), say("Back."))
        async with self.client(mock) as client:
            await client.query("Go.")
            await asyncio.to_thread(mock.asked)
            begin = time.monotonic()
            await client.interrupt()
            messages = await until_result(client)
            self.assertLess(time.monotonic() - begin, 5)
            await client.query("And now?")
            after = await until_result(client)
        end = result(messages)
        self.assertEqual((end.subtype, end.is_error, end.terminal_reason),
                         ("error_during_execution", True, "aborted_streaming"))
        marks = [m for m in messages if isinstance(m, UserMessage)]
        self.assertEqual(marks[-1].content[0].text, "[Request interrupted by user]")
        self.assertEqual(result(after).result, "Back.")

    async def test_an_interrupt_in_a_tool(self):
        mock = self.mock(calls(("TaskCreate", {"subject": "A", "description": ""}), ("Bash", {"command": "sleep 30"}),
                               ("TaskCreate", {"subject": "B", "description": ""})),
                         call("TaskList"), say("Back."))
        async with self.client(mock, permission_mode="bypassPermissions") as client:
            await client.query("Go.")
            await asyncio.to_thread(mock.asked)
            await asyncio.sleep(0.5)
            await client.interrupt()
            messages = await until_result(client)
            await client.query("And now?")
            after = await until_result(client)
        self.assertEqual(result(messages).terminal_reason, "aborted_tools")
        self.assertEqual([error for error, _, _ in results(messages)], [False, True, True])
        marks = [m for m in messages if isinstance(m, UserMessage)]
        self.assertEqual(marks[-1].content[0].text, "[Request interrupted by user for tool use]")
        # What was confirmed stands, what was not does not.
        self.assertEqual([task["subject"] for task in results(after)[0][2]["tasks"]], ["A"])

    async def test_another_model_and_mode(self):
        mock = self.mock(call("Write", file_path="a", content="1"), say("One."),
                         call("Write", file_path="b", content="2"), say("Two."))
        async with self.client(mock) as client:
            await client.query("First.")
            first = await until_result(client)
            await client.set_model("claude-haiku-4-5")
            await client.set_permission_mode("acceptEdits")
            await client.query("Second.")
            second = await until_result(client)
            with self.assertRaisesRegex(Exception, "there is no permission mode"):
                await client.set_permission_mode("whatever")
        self.assertEqual([request["model"] for request in mock.requests],
                         ["claude-sonnet-4-6"] * 2 + ["claude-haiku-4-5"] * 2)
        self.assertEqual((init(second)["model"], init(second)["permissionMode"]), ("claude-haiku-4-5", "acceptEdits"))
        self.assertEqual(len(result(first).permission_denials), 1)
        self.assertEqual(result(second).permission_denials, [])
        self.assertEqual(sorted(path.name for path in self.cwd.iterdir()), ["b"])

    async def test_a_change_of_mode_while_a_run_goes_on(self):
        mock = self.mock({**call("TaskList"), "delay": 1.0}, call("Write", file_path="a", content="1"), say("Done."))
        async with self.client(mock) as client:
            await client.query("Go.")
            await asyncio.to_thread(mock.asked)
            await client.set_permission_mode("acceptEdits")
            messages = await until_result(client)
        self.assertEqual(result(messages).permission_denials, [])

    async def test_messages_that_wait_become_one_turn(self):
        mock = self.mock({**say("One."), "delay": 1.0}, say("Both."))
        async with self.client(mock) as client:
            await client.query("first")
            await asyncio.to_thread(mock.asked)
            await client.query("second")
            await client.query("third")
            first = await until_result(client)
            second = await until_result(client)
        self.assertEqual((result(first).result, result(second).result), ("One.", "Both."))
        last = [block["text"] for block in mock.requests[1]["messages"][-1]["content"]]
        self.assertEqual("\n".join(last), "second\nthird")
        self.assertEqual(len(mock.requests), 2)

    async def test_what_can_be_asked(self):
        mock = self.mock(say("One.", usage={"input_tokens": 5000, "output_tokens": 100}))
        async with self.client(mock) as client:
            info = await client.get_server_info()
            self.assertEqual(info["output_style"], "default")
            self.assertEqual([command["name"] for command in info["commands"]], ["compact"])
            self.assertEqual(await client.get_mcp_status(), {"mcpServers": []})
            await client.query("Go.")
            await until_result(client)
            usage = await client.get_context_usage()
            self.assertEqual((usage["totalTokens"], usage["maxTokens"]), (5100, 200_000))
            with self.assertRaisesRegex(Exception, "keeps no copies of files"):
                await client.rewind_files("0190")
            with self.assertRaisesRegex(Exception, "Server not found: x"):
                await client.reconnect_mcp_server("x")
            await client.stop_task("nothing")

    async def test_compact_by_hand_carries_the_list(self):
        mock = self.mock(
            calls(*[("TaskCreate", {"subject": f"T{n}", "description": "x" * 200}) for n in range(5)]),
            call("TaskUpdate", taskId="2", status="in_progress"), say("Planned. " + "word " * 4000),
            call("write_summary", text="Five tasks were planned; the second is in progress."), say("Summarised."),
            call("TaskList"), say("Seen."))
        async with self.client(mock) as client:
            await client.query("Plan. " + "word " * 4000)
            await until_result(client)
            await client.query("/compact")
            compacted = await until_result(client)
            mock.turns[:] = [call("TaskList"), say("Seen.")]
            await client.query("What is left?")
            after = await until_result(client)
        subtypes = [m.subtype for m in compacted if isinstance(m, SystemMessage)]
        self.assertEqual(subtypes, ["init", "status", "status", "compact_boundary"], self.stderr)
        boundary = [m.data for m in compacted if isinstance(m, SystemMessage)][-1]["compact_metadata"]
        self.assertEqual(boundary["trigger"], "manual")
        self.assertLess(boundary["post_tokens"], boundary["pre_tokens"])
        # Pod shows the model the list by a call of its own, which programs see too.
        shown = [m for m in compacted if getattr(m, "model", "") == "pod"]
        self.assertEqual([m.content[0].name for m in shown], ["TaskList"])
        tasks = results(after)[-1][2]["tasks"]
        self.assertEqual([(task["id"], task["status"]) for task in tasks],
                         [("1", "pending"), ("2", "in_progress"), ("3", "pending"), ("4", "pending"), ("5", "pending")])
        self.assertEqual(result(compacted).subtype, "success")

    async def test_nothing_to_compact_is_an_answer(self):
        async with self.client(self.mock()) as client:
            await client.query("/compact")
            end = result(await until_result(client))
        self.assertFalse(end.is_error)
        self.assertIn("not compacted", end.result)

    async def test_twenty_queries_at_once(self):
        async def one(number):
            subject = f"Task of {number}"
            mock = self.mock(call("TaskCreate", subject=subject, description=""), call("TaskList"), say(f"{number}."))
            messages = []
            from claude_agent_sdk import query
            async for message in query(prompt="Go.", options=self.options(mock)):
                messages.append(message)
            return messages

        async with asyncio.timeout(120):
            runs = await asyncio.gather(*[one(number) for number in range(20)])
        for number, messages in enumerate(runs):
            self.assertEqual(result(messages).result, f"{number}.")
            tasks = results(messages)[-1][2]["tasks"]
            self.assertEqual([(task["id"], task["subject"]) for task in tasks], [("1", f"Task of {number}")])
        self.assertEqual(len({result(messages).session_id for messages in runs}), 20)


class Control(Case):
    """The protocol without an SDK in between."""

    def answers(self, lines):
        return {line["response"]["request_id"]: line["response"] for line in lines if line["type"] == "control_response"}

    def test_what_is_not_known_is_an_error_with_a_code(self):
        lines, done = self.raw(self.mock(), request("1", "initialize"), request("2", "dance"), request("3", "interrupt"),
                               request("4", "set_max_thinking_tokens", max_thinking_tokens=100),
                               request("5", "rewind_files", user_message_id="x", dry_run=True),
                               request("6", "set_permission_mode", mode="x"), request("7", "set_model", model="gpt"),
                               request("8", "initialize"))
        self.assertEqual(done.returncode, 0, done.stderr)
        answers = self.answers(lines)
        self.assertEqual(answers["2"], {"subtype": "error", "request_id": "2", "error_code": "unsupported_request",
                                        "error": "Unsupported control request subtype: dance"})
        self.assertEqual(answers["3"]["response"], {"still_queued": []})
        self.assertEqual(answers["4"], {"subtype": "success", "request_id": "4"})
        self.assertFalse(answers["5"]["response"]["canRewind"])
        self.assertEqual(answers["6"]["error_code"], "invalid_mode")
        self.assertEqual(answers["7"]["subtype"], "success", "behind a gateway any name may be a model")
        self.assertFalse(answers["8"]["response"]["hooks_applied"])

    def test_the_state_of_the_session_is_told_to_those_who_ask(self):
        env = {"CLAUDE_CODE_SDK_READS_SESSION_STATE": "1"}
        lines, _ = self.raw(self.mock(), request("1", "initialize"), user("Go."), env=env)
        states = [(line["state"], line["sdk_host_only"]) for line in lines if line.get("state")]
        self.assertEqual(states, [("running", True), ("idle", True)])
        self.assertEqual(lines[-1]["subtype"], "session_state_changed")
        self.assertEqual(lines[-2]["type"], "result")
        lines, _ = self.raw(self.mock(), request("1", "initialize"), user("Go."))
        self.assertFalse([line for line in lines if line.get("state")])

    def test_nothing_follows_an_error_but_the_state(self):
        mock = self.mock(call("TaskList"), call("TaskList"))
        lines, done = self.raw(mock, user("Go."), flags=["--max-turns=1"], env={"CLAUDE_CODE_SDK_READS_SESSION_STATE": "1"})
        self.assertEqual(done.returncode, 1)
        self.assertEqual([line.get("subtype") for line in lines[-2:]], ["error_max_turns", "session_state_changed"])

    def test_the_exit_code_is_that_of_the_last_result(self):
        from mock import fail
        lines, done = self.raw(self.mock(fail(400), say("Good.")), user("One."), flags=["--replay-user-messages"])
        self.assertEqual(done.returncode, 1)

    def test_flags_that_are_not_known_are_told(self):
        lines, done = self.raw(self.mock(), user("Go."), flags=["--effort", "high", "--of-tomorrow=1", "--betas", "-x"])
        self.assertEqual(done.returncode, 0, done.stderr)
        for flag in ["--effort", "--of-tomorrow", "--betas"]:
            self.assertIn(f"{flag} is not supported", done.stderr)


if __name__ == "__main__":
    unittest.main()
