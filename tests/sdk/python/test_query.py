"""`query()`: what a program sees of a run."""

import unittest

from claude_agent_sdk import AssistantMessage, StreamEvent, SystemMessage, TextBlock, ThinkingBlock, UserMessage
from harness import Case, init, listed, result, results, user, uses
from mock import call, calls, fail, say, think


class Query(Case):
    async def test_a_run_begins_with_init_and_ends_with_result(self):
        mock = self.mock(say("Hello.", usage={"input_tokens": 1000, "output_tokens": 50,
                                              "cache_read_input_tokens": 200}))
        messages = await self.ask(mock)
        self.assertIsNone(self.error)
        begin, end = init(messages), result(messages)
        self.assertEqual(begin["tools"], mock.tools())
        self.assertEqual(begin["cwd"], str(self.cwd.resolve()))
        self.assertEqual(begin["model"], "claude-sonnet-4-6")
        self.assertEqual(begin["permissionMode"], "default")
        self.assertEqual(begin["session_id"], end.session_id)
        self.assertEqual((end.subtype, end.is_error, end.result), ("success", False, "Hello."))
        self.assertEqual((end.num_turns, end.stop_reason, end.terminal_reason), (1, "end_turn", "completed"))
        self.assertEqual(end.usage["input_tokens"], 1000)
        self.assertEqual(end.usage["cache_read_input_tokens"], 200)
        self.assertEqual(end.usage["output_tokens"], 50)
        # 1000 tokens at $3, 200 at a tenth of it, 50 at $15, a million each.
        self.assertAlmostEqual(end.total_cost_usd, 0.003 + 0.00006 + 0.00075)
        self.assertIn("claude-sonnet-4-6", end.model_usage)

    async def test_an_empty_system_prompt_is_empty(self):
        mock = self.mock()
        await self.ask(mock)
        self.assertNotIn("system", mock.requests[0])
        mock = self.mock()
        await self.ask(mock, system_prompt="Be brief.")
        self.assertEqual(mock.requests[0]["system"][0]["text"], "Be brief.")
        mock = self.mock()
        await self.ask(mock, system_prompt={"type": "preset", "preset": "claude_code", "append": "Be kind."})
        text = mock.requests[0]["system"][0]["text"]
        self.assertIn(str(self.cwd.resolve()), text)
        self.assertTrue(text.endswith("Be kind."), text)

    async def test_one_line_a_block_and_one_a_result(self):
        mock = self.mock(
            calls(*[("TaskCreate", {"subject": f"T{n}", "description": ""}) for n in range(3)], text="Plan."),
            say("Done."))
        messages = await self.ask(mock)
        answers = [m for m in messages if isinstance(m, AssistantMessage)]
        self.assertEqual([len(m.content) for m in answers], [1, 1, 1, 1, 1])
        self.assertEqual(len({m.message_id for m in answers[:4]}), 1)
        self.assertEqual(len({m.uuid for m in answers}), 5)
        users = [m for m in messages if isinstance(m, UserMessage)]
        self.assertEqual([len(m.content) for m in users], [1, 1, 1])
        ids = [block.id for m in answers[1:4] for block in m.content]
        self.assertEqual([m.content[0].tool_use_id for m in users], ids)
        self.assertEqual([m.tool_use_result["task"]["id"] for m in users], ["1", "2", "3"])

    async def test_thoughts_are_shown_with_their_signature(self):
        messages = await self.ask(self.mock(think("Hm.", "Yes.")))
        blocks = [m.content[0] for m in messages if isinstance(m, AssistantMessage)]
        self.assertEqual([type(block) for block in blocks], [ThinkingBlock, TextBlock])
        self.assertEqual((blocks[0].thinking, blocks[0].signature), ("Hm.", "c2lnbmVk"))

    async def test_partial_messages(self):
        mock = self.mock(calls(("TaskList", {}), text="A text that is longer than one delta."), say("Done."))
        messages = await self.ask(mock, include_partial_messages=True)
        events = [m.event for m in messages if isinstance(m, StreamEvent)]
        kinds = [event["type"] for event in events]
        self.assertEqual(kinds.count("message_start"), 2)
        self.assertEqual(kinds.count("message_stop"), 2)
        self.assertEqual(kinds.count("content_block_start"), kinds.count("content_block_stop"))
        texts = [event["delta"]["text"] for event in events if event.get("delta", {}).get("type") == "text_delta"]
        self.assertEqual("".join(texts), "A text that is longer than one delta.Done.")
        stops = [event["delta"]["stop_reason"] for event in events if event["type"] == "message_delta"]
        self.assertEqual(stops, ["tool_use", "end_turn"])
        self.assertFalse([m for m in await self.ask(self.mock()) if isinstance(m, StreamEvent)])

    async def test_the_turn_limit(self):
        turn = call("TaskList")
        mock = self.mock(*[turn] * 5)
        messages = await self.ask(mock, max_turns=3)
        end = result(messages)
        self.assertEqual((end.subtype, end.is_error, end.num_turns), ("error_max_turns", True, 4))
        self.assertEqual((end.stop_reason, end.terminal_reason), ("tool_use", "max_turns"))
        self.assertEqual(end.errors, ["Reached maximum number of turns (3)"])
        self.assertEqual(len(mock.requests), 3)
        self.assertEqual(len(results(messages)), 3, "the tools of the last answer ran")
        self.assertIn("Reached maximum number of turns (3) (exit code: 1)", str(self.error))

    async def test_a_failure_of_the_provider(self):
        messages = await self.ask(self.mock(fail(400, message="the sky is falling")))
        end = result(messages)
        self.assertEqual((end.subtype, end.is_error, end.terminal_reason), ("success", True, "api_error"))
        self.assertEqual(end.api_error_status, 400)
        self.assertTrue(end.result.startswith("API Error: 400"), end.result)
        self.assertIn("the sky is falling", str(self.error))
        last = [m for m in messages if isinstance(m, AssistantMessage)][-1]
        self.assertEqual((last.model, last.content[0].text), ("<synthetic>", end.result))

    async def test_a_failure_that_passes_is_told(self):
        mock = self.mock(fail(529, "overloaded_error", headers={"retry-after": "0"}), say("Now."))
        messages = await self.ask(mock)
        self.assertEqual(result(messages).result, "Now.")
        retry = [m.data for m in messages if isinstance(m, SystemMessage) and m.subtype == "api_retry"]
        self.assertEqual((retry[0]["attempt"], retry[0]["error_status"]), (1, 529))

    async def test_a_budget_ends_the_run(self):
        mock = self.mock(*[calls(("TaskList", {}), usage={"input_tokens": 1_000_000})] * 5)
        messages = await self.ask(mock, max_budget_usd=5.0)
        self.assertEqual(result(messages).subtype, "error_max_budget_usd")
        self.assertEqual(len(mock.requests), 2)

    async def test_long_results_stay_below_the_line_limit(self):
        (self.cwd / "big").write_text("\x01" * 400_000 + "\n")
        mock = self.mock(call("Read", file_path="big"), call("Bash", command="head -c 3000000 /dev/zero | tr '\\0' x"),
                         say("Done."))
        messages = await self.ask(mock, allowed_tools=["Bash"])
        self.assertIsNone(self.error)
        self.assertEqual(len(results(messages)), 2)

    async def test_background_task_messages_are_none_of_the_todos(self):
        mock = self.mock(call("TaskCreate", subject="A", description=""), call("TaskUpdate", taskId="1",
                                                                               status="completed"), say("Done."))
        messages = await self.ask(mock)
        subtypes = [m.subtype for m in messages if isinstance(m, SystemMessage)]
        self.assertEqual(subtypes, ["init"])

    async def test_prompts_that_are_streamed(self):
        async def prompts():
            yield user("One.")
        mock = self.mock(say("First."))
        messages = await self.ask(mock, prompts())
        self.assertEqual(result(messages).result, "First.")

    async def test_a_session_that_cannot_begin_says_why(self):
        await self.ask(self.mock(), model="gpt-of-nowhere", env={"ANTHROPIC_BASE_URL": ""})
        self.assertIn("names no model", str(self.error))

    async def test_print_gives_the_same_lines(self):
        mock = self.mock(call("TaskCreate", subject="A", description=""), say("Done."))
        lines, done = self.pod("-p", "Go.", "--output-format", "stream-json", "--verbose", "--model", "my-model",
                               mock=mock)
        self.assertEqual(done.returncode, 0, done.stderr)
        kinds = [line["type"] for line in lines]
        self.assertEqual(kinds, ["system", "assistant", "user", "assistant", "result"])
        self.assertEqual(lines[2]["tool_use_result"]["task"]["id"], "1")
        self.assertEqual(mock.requests[0]["messages"][0]["content"][0]["text"], "Go.")


if __name__ == "__main__":
    unittest.main()
