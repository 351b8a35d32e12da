"""Who may run what: modes, rules, `can_use_tool`, hooks, and tools that live in the program."""

import asyncio
import unittest

from claude_agent_sdk import (ClaudeSDKClient, HookMatcher, PermissionResultAllow, PermissionResultDeny,
                              create_sdk_mcp_server, tool)
from claude_agent_sdk.types import PermissionRuleValue, PermissionUpdate
from harness import Case, init, listed, result, results, user
from mock import call, calls, say


def write(name, content="1"):
    return call("Write", file_path=str(name), content=content)


class Modes(Case):
    async def denied(self, *turns, **options):
        """The tools that were denied, and the messages."""
        mock = self.mock(*turns, say("Done."))
        messages = await self.ask(mock, **options)
        self.assertIsNone(self.error)
        self.assertEqual(result(messages).subtype, "success")
        return [denial["tool_name"] for denial in result(messages).permission_denials], messages

    async def test_accept_edits_is_for_the_working_directory(self):
        outside = self.scratch / "outside"
        denied, messages = await self.denied(write("inside"), write(outside), call("Bash", command="true"),
                                             permission_mode="acceptEdits")
        self.assertEqual(denied, ["Write", "Bash"])
        self.assertEqual([error for error, _, _ in results(messages)], [False, True, True])
        self.assertTrue((self.cwd / "inside").exists())
        self.assertFalse(outside.exists())
        denial = result(messages).permission_denials[0]
        self.assertEqual(denial["tool_input"]["file_path"], str(outside))

    async def test_one_more_directory(self):
        more = self.scratch / "more"
        more.mkdir()
        denied, _ = await self.denied(write(more / "a"), permission_mode="acceptEdits", add_dirs=[more])
        self.assertEqual(denied, [])
        self.assertTrue((more / "a").exists())

    async def test_modes_that_deny(self):
        for mode in ["default", "plan", "dontAsk"]:
            with self.subTest(mode):
                denied, _ = await self.denied(write("a"), call("Bash", command="touch b"), permission_mode=mode)
                self.assertEqual(denied, ["Write", "Bash"])
                self.assertEqual(list(self.cwd.iterdir()), [])

    async def test_a_mode_that_asks_nothing(self):
        denied, _ = await self.denied(write("a"), call("Bash", command="touch b"), permission_mode="bypassPermissions")
        self.assertEqual(denied, [])
        self.assertEqual(sorted(path.name for path in self.cwd.iterdir()), ["a", "b"])

    async def test_task_tools_never_ask(self):
        for mode in ["default", "plan", "dontAsk", "acceptEdits"]:
            with self.subTest(mode):
                async def never(*_):
                    raise AssertionError("asked")
                mock = self.mock(call("TaskCreate", subject="A", description=""),
                                 call("TaskUpdate", taskId="1", status="completed"), say("Done."))
                messages = await self.ask(mock, prompts("Go."), permission_mode=mode, can_use_tool=never)
                self.assertEqual([error for error, _, _ in results(messages)], [False, False])

    async def test_rules(self):
        denied, _ = await self.denied(
            call("Bash", command="ls"), call("Bash", command="ls -l"), call("Bash", command="ls; touch a"),
            call("Bash", command="touch a"), allowed_tools=["Bash(ls:*)"])
        self.assertEqual(denied, ["Bash", "Bash"])
        denied, _ = await self.denied(write("a"), write("b"), permission_mode="acceptEdits",
                                      disallowed_tools=["Write(b)"])
        self.assertEqual(denied, ["Write"])
        _, messages = await self.denied(call("Bash", command="ls"), disallowed_tools=["Bash"],
                                        permission_mode="bypassPermissions")
        self.assertNotIn("Bash", init(messages)["tools"])

    async def test_settings(self):
        denied, _ = await self.denied(call("Bash", command="ls"), call("Bash", command="id"),
                                      settings='{"permissions": {"allow": ["Bash(ls:*)"]}, "env": {}}')
        self.assertEqual(denied, ["Bash"])
        self.assertIn("the setting env is not supported", " ".join(self.stderr))


async def prompts(*texts):
    for text in texts:
        yield user(text)


class CanUseTool(Case):
    async def test_allow_deny_and_change(self):
        asked = []

        async def decide(name, arguments, context):
            asked.append((name, dict(arguments), context.tool_use_id.startswith("toolu_")))
            if name == "Bash":
                return PermissionResultDeny(message="Not today.")
            return PermissionResultAllow(updated_input={**arguments, "content": "changed"})

        mock = self.mock(write("a"), call("Bash", command="id"), call("Read", file_path="a"), say("Done."))
        messages = await self.ask(mock, prompts("Go."), can_use_tool=decide)
        self.assertEqual([name for name, _, _ in asked], ["Write", "Bash"])
        self.assertTrue(all(known for _, _, known in asked))
        self.assertEqual((self.cwd / "a").read_text(), "changed")
        self.assertIn("Not today.", results(messages)[1][1])
        self.assertEqual([denial["tool_name"] for denial in result(messages).permission_denials], ["Bash"])

    async def test_a_denial_may_end_the_run(self):
        async def decide(*_):
            return PermissionResultDeny(message="Stop.", interrupt=True)

        mock = self.mock(calls(("Bash", {"command": "id"}), ("Bash", {"command": "id"})), say("More."))
        messages = await self.ask(mock, prompts("Go."), can_use_tool=decide)
        self.assertEqual(result(messages).subtype, "error_during_execution")
        self.assertEqual(len(mock.requests), 1)

    async def test_permission_for_later_calls(self):
        count = 0

        async def decide(name, arguments, context):
            nonlocal count
            count += 1
            rules = [PermissionRuleValue(tool_name="Bash", rule_content="true")]
            return PermissionResultAllow(updated_permissions=[
                PermissionUpdate(type="addRules", rules=rules, behavior="allow", destination="session")])

        mock = self.mock(*[call("Bash", command="true")] * 3, call("Bash", command="id"), say("Done."))
        await self.ask(mock, prompts("Go."), can_use_tool=decide)
        self.assertEqual(count, 2)

    async def test_an_error_of_the_program_is_a_denial(self):
        async def decide(*_):
            raise ValueError("lost")

        mock = self.mock(call("Bash", command="id"), say("Done."))
        messages = await self.ask(mock, prompts("Go."), can_use_tool=decide)
        self.assertIn("lost", results(messages)[0][1])
        self.assertEqual(result(messages).result, "Done.")

    async def test_an_interrupt_takes_the_question_back(self):
        waiting, cancelled = asyncio.Event(), asyncio.Event()

        async def decide(*_):
            waiting.set()
            try:
                await asyncio.sleep(30)
            except asyncio.CancelledError:
                cancelled.set()
                raise

        mock = self.mock(call("Bash", command="id"), say("Back."))
        async with ClaudeSDKClient(options=self.options(mock, can_use_tool=decide)) as client:
            await client.query("Go.")
            async with asyncio.timeout(20):
                reader = asyncio.create_task(self.read(client))
                await waiting.wait()
                await client.interrupt()
                messages = await reader
                await cancelled.wait()
        self.assertEqual(result(messages).terminal_reason, "aborted_tools")

    async def read(self, client):
        return [message async for message in client.receive_response()]


class Hooks(Case):
    async def hooked(self, hooks, *turns, **options):
        self.seen = []

        def matcher(event, pattern, answer, **fields):
            async def hook(given, call_id, _):
                self.seen.append((event, given, call_id))
                return answer(given) if callable(answer) else answer
            return HookMatcher(matcher=pattern, hooks=[hook], **fields)

        sets = {}
        for event, pattern, answer, *rest in hooks:
            sets.setdefault(event, []).append(matcher(event, pattern, answer, **(rest[0] if rest else {})))
        self.server = self.mock(*turns, say("Done."))
        return await self.ask(self.server, prompts("Go."), hooks=sets, **options)

    async def test_before_a_tool_deny_and_change(self):
        def before(given):
            if given["tool_name"] == "Bash":
                return {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny",
                                               "permissionDecisionReason": "No shell."}}
            changed = {**given["tool_input"], "subject": "By the hook"}
            return {"hookSpecificOutput": {"hookEventName": "PreToolUse", "updatedInput": changed}}

        messages = await self.hooked([("PreToolUse", "Bash|TaskCreate", before)], call("Bash", command="id"),
                                     call("TaskCreate", subject="By the model", description=""), call("TaskList"),
                                     permission_mode="bypassPermissions")
        denied, created, all_tasks = results(messages)
        self.assertEqual((denied[0], denied[1]), (True, "No shell."))
        self.assertEqual(created[2]["task"]["subject"], "By the hook")
        self.assertEqual(all_tasks[2]["tasks"][0]["subject"], "By the hook")
        self.assertEqual([given["tool_name"] for _, given, _ in self.seen], ["Bash", "TaskCreate"])
        given = self.seen[0][1]
        self.assertEqual((given["hook_event_name"], given["permission_mode"]), ("PreToolUse", "bypassPermissions"))
        self.assertEqual(given["session_id"], result(messages).session_id)
        self.assertEqual(given["cwd"], str(self.cwd.resolve()))
        self.assertEqual(given["tool_use_id"], self.seen[0][2])
        # The change is in the log: the list is the same when it is read from there.
        self.assertEqual(await listed(self, self.server, resume=result(messages).session_id),
                         [("1", "pending", "By the hook")])

    async def test_before_a_tool_allow(self):
        allow = {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow"}}
        messages = await self.hooked([("PreToolUse", "Write", allow)], write("a"), call("Bash", command="touch b"))
        self.assertEqual(sorted(path.name for path in self.cwd.iterdir()), ["a"])
        self.assertEqual([d["tool_name"] for d in result(messages).permission_denials], ["Bash"])

    async def test_after_a_tool(self):
        context = {"hookSpecificOutput": {"hookEventName": "PostToolUse", "additionalContext": "Mind the gap."}}
        messages = await self.hooked([("PostToolUse", None, context), ("PostToolUseFailure", None, {})],
                                     calls(("TaskCreate", {"subject": "A", "description": "a"}),
                                           ("TaskGet", {"taskId": "9"})))
        (_, after, _), (_, failed, _) = self.seen
        self.assertEqual(after["tool_response"], results(messages)[0][2])
        self.assertEqual(after["tool_input"]["subject"], "A")
        self.assertIn("does not exist", failed["error"])
        self.assertIn("Mind the gap.", str(self.server.requests[1]["messages"][-1]))

    async def test_a_prompt_is_accompanied_or_refused(self):
        context = {"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": "It is Monday."}}
        messages = await self.hooked([("UserPromptSubmit", None, context)])
        self.assertEqual(self.seen[0][1]["prompt"], "Go.")
        self.assertIn("It is Monday.", str(self.server.requests[0]["messages"]))
        messages = await self.hooked([("UserPromptSubmit", None, {"decision": "block", "reason": "Not that."})])
        self.assertEqual((result(messages).result, self.server.requests), ("Not that.", []))

    async def test_at_the_end(self):
        def stop(given):
            return {} if given["stop_hook_active"] else {"decision": "block", "reason": "Check the tests too."}

        messages = await self.hooked([("Stop", None, stop)], say("I am done."), say("Now really."))
        self.assertEqual(result(messages).result, "Now really.")
        self.assertEqual([given["stop_hook_active"] for _, given, _ in self.seen], [False, True])
        self.assertIn("Check the tests too.", str(self.server.requests[1]["messages"][-1]))

    async def test_all_work_may_be_stopped(self):
        messages = await self.hooked([("PreToolUse", None, {"continue_": False, "stopReason": "Enough."})],
                                     call("TaskList"))
        end = result(messages)
        self.assertEqual((end.subtype, end.is_error, end.result, end.terminal_reason),
                         ("success", False, "Enough.", "hook_stopped"))
        self.assertEqual(len(self.server.requests), 1)

    async def test_a_hook_that_fails(self):
        def fail(given):
            raise ValueError("broken hook")

        messages = await self.hooked([("PreToolUse", "TaskList", fail)], call("TaskList"))
        self.assertFalse(results(messages)[0][0], "by default a failure does not matter")
        messages = await self.hooked([("PreToolUse", "TaskList", fail, {"on_failure": "block"})], call("TaskList"))
        self.assertTrue(results(messages)[0][0])

    async def test_a_hook_that_takes_too_long(self):
        async def slow(given, call_id, _):
            await asyncio.sleep(20)
            return {}

        self.server = self.mock(call("TaskList"), say("Done."))
        hooks = {"PreToolUse": [HookMatcher(hooks=[slow], timeout=0.3)]}
        messages = await self.ask(self.server, prompts("Go."), hooks=hooks)
        self.assertFalse(results(messages)[0][0])
        self.assertIn("no answer within 0.3 s", " ".join(self.stderr))

    async def test_before_a_compaction(self):
        hooks = [("PreCompact", None, {"decision": "block", "reason": "Keep it all."})]
        self.seen = []

        async def hook(given, *_):
            self.seen.append(given)
            return hooks[0][2]

        mock = self.mock(say("word " * 20_000), say("more " * 20_000))
        options = self.options(mock, hooks={"PreCompact": [HookMatcher(hooks=[hook])]})
        async with ClaudeSDKClient(options=options) as client:
            for prompt in ["One.", "Two.", "/compact"]:
                await client.query(prompt)
                messages = [message async for message in client.receive_response()]
        self.assertEqual(self.seen[0]["trigger"], "manual")
        self.assertIn("Keep it all.", result(messages).result)


class ProgramTools(Case):
    def server(self):
        @tool("add", "Adds two numbers", {"a": float, "b": float})
        async def add(arguments):
            self.called.append(arguments)
            return {"content": [{"type": "text", "text": str(arguments["a"] + arguments["b"])}]}

        @tool("fail", "Fails", {})
        async def fail(_):
            return {"content": [{"type": "text", "text": "out of numbers"}], "is_error": True}

        self.called = []
        return create_sdk_mcp_server("calc", "1.0", [add, fail])

    async def test_a_tool_of_the_program(self):
        mock = self.mock(calls(("mcp__calc__add", {"a": 1, "b": 2}), ("mcp__calc__fail", {})), say("Three."))
        messages = await self.ask(mock, mcp_servers={"calc": self.server()}, allowed_tools=["mcp__calc"])
        self.assertIsNone(self.error)
        self.assertIn("mcp__calc__add", init(messages)["tools"])
        self.assertEqual(init(messages)["mcp_servers"], [{"name": "calc", "status": "connected"}])
        self.assertEqual(init(messages)["tools"], mock.tools())
        schema = next(it for it in mock.requests[0]["tools"] if it["name"] == "mcp__calc__add")
        self.assertEqual(schema["description"], "Adds two numbers")
        self.assertEqual(set(schema["input_schema"]["properties"]), {"a", "b"})
        self.assertEqual(self.called, [{"a": 1, "b": 2}])
        first, second = results(messages)
        self.assertEqual((first[0], float(first[1])), (False, 3.0))
        self.assertEqual((second[0], second[1]), (True, "out of numbers"))

    async def test_it_needs_permission_as_others_do(self):
        mock = self.mock(call("mcp__calc__add", a=1, b=2), say("Done."))
        messages = await self.ask(mock, mcp_servers={"calc": self.server()})
        self.assertEqual(self.called, [])
        self.assertEqual([d["tool_name"] for d in result(messages).permission_denials], ["mcp__calc__add"])
        mock = self.mock(call("mcp__calc__add", a=1, b=2), call("mcp__calc__fail"), say("Done."))
        messages = await self.ask(mock, mcp_servers={"calc": self.server()}, allowed_tools=["mcp__calc__add"])
        self.assertEqual(len(self.called), 1)
        self.assertEqual([d["tool_name"] for d in result(messages).permission_denials], ["mcp__calc__fail"])

    async def test_built_in_tools_may_be_left_out(self):
        mock = self.mock()
        await self.ask(mock, mcp_servers={"calc": self.server()}, tools=["TaskList"])
        self.assertEqual(mock.tools(), ["TaskList", "mcp__calc__add", "mcp__calc__fail"])

    async def test_servers_outside_the_program_are_told_as_failed(self):
        mock = self.mock()
        messages = await self.ask(mock, mcp_servers={"web": {"type": "http", "url": "http://127.0.0.1:1"}})
        self.assertEqual(init(messages)["mcp_servers"], [{"name": "web", "status": "failed"}])
        self.assertIn("servers of type http are not supported", " ".join(self.stderr))


if __name__ == "__main__":
    unittest.main()
