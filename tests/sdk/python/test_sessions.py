"""Sessions: the task list follows wherever one goes on."""

import unittest
import uuid

from claude_agent_sdk import (InMemorySessionStore, get_session_messages_from_store, list_sessions_from_store,
                              project_key_for_directory)
from harness import Case, init, listed, result, results, user
from mock import call, calls, say


def create(subject):
    return call("TaskCreate", subject=subject, description="")


class Begun(Case):
    """Sessions with something in them."""

    async def begin(self, mock, **options):
        """A session with two tasks of which one is in progress; its id."""
        mock.turns[:] = [calls(("TaskCreate", {"subject": "A", "description": ""}),
                               ("TaskCreate", {"subject": "B", "description": ""})),
                         call("TaskUpdate", taskId="1", status="in_progress"), say("Begun.")]
        messages = await self.ask(mock, **options)
        self.assertIsNone(self.error)
        self.messages = messages
        return result(messages).session_id

    BOTH = [("1", "in_progress", "A"), ("2", "pending", "B")]


class Sessions(Begun):
    async def test_resume_and_continue(self):
        mock = self.mock()
        session = await self.begin(mock)
        self.assertEqual(await listed(self, mock, resume=session), self.BOTH)
        self.assertEqual(await listed(self, mock, continue_conversation=True), self.BOTH)
        mock.turns[:] = [create("C"), say("Done.")]
        messages = await self.ask(mock, resume=session)
        self.assertEqual(results(messages)[0][2]["task"]["id"], "3", "ids go on")
        self.assertEqual(result(messages).session_id, session)

    async def test_continue_where_there_is_nothing_begins(self):
        mock = self.mock(say("New."))
        self.assertEqual(result(await self.ask(mock, continue_conversation=True)).result, "New.")

    async def test_fork_leaves_the_session_as_it_is(self):
        mock = self.mock()
        session = await self.begin(mock)
        mock.turns[:] = [call("TaskUpdate", taskId="2", status="completed"), create("F"), say("Done.")]
        messages = await self.ask(mock, resume=session, fork_session=True)
        fork = result(messages).session_id
        self.assertNotEqual(fork, session)
        self.assertEqual(results(messages)[1][2]["task"]["id"], "3")
        self.assertEqual(await listed(self, mock, resume=session), self.BOTH)
        self.assertEqual(await listed(self, mock, resume=fork),
                         [("1", "in_progress", "A"), ("2", "completed", "B"), ("3", "pending", "F")])

    async def test_a_session_may_be_given_its_id(self):
        mock = self.mock()
        id = str(uuid.uuid4())
        self.assertEqual(await self.begin(mock, session_id=id), id)
        await self.ask(mock, session_id=id)
        self.assertIn("exists already", str(self.error))

    async def test_going_back_to_a_message_takes_the_list_back(self):
        mock = self.mock()
        session = await self.begin(mock)
        # The answer before the update: a message of two calls, told in two lines.
        answers = [m for m in self.messages if type(m).__name__ == "AssistantMessage"]
        creates = [m for m in answers if getattr(m.content[0], "name", "") == "TaskCreate"]
        users = [m for m in self.messages if type(m).__name__ == "UserMessage"]
        for line in creates:
            # Each line of an answer leads back to it; its calls have no result there.
            rows = await listed(self, mock, resume=session, fork_session=True, resume_session_at=line.uuid)
            self.assertEqual(rows, [])
        rows = await listed(self, mock, resume=session, fork_session=True, resume_session_at=users[1].uuid)
        self.assertEqual(rows, [("1", "pending", "A"), ("2", "pending", "B")])
        self.assertEqual(await listed(self, mock, resume=session, resume_session_at=users[0].uuid),
                         [("1", "pending", "A")])
        await self.ask(mock, resume=session, resume_session_at=str(uuid.uuid4()))
        self.assertIn("has no entry", str(self.error))

    async def test_an_unknown_session(self):
        id = str(uuid.uuid4())
        await self.ask(self.mock(), resume=id)
        self.assertIn(f"No conversation found with session ID: {id}", str(self.error))
        lines, done = self.raw(self.mock(), user("Go."), flags=[f"--resume={id}"])
        self.assertEqual([(line["type"], line["subtype"], line["num_turns"]) for line in lines],
                         [("result", "error_during_execution", 0)])
        self.assertEqual(done.returncode, 1)
        self.assertIn("No conversation found", done.stderr)

    async def test_without_persistence_nothing_is_left(self):
        mock = self.mock()
        session = await self.begin(mock, extra_args={"no-session-persistence": None})
        self.assertFalse(list(self.home.rglob("*.jsonl")))
        await self.ask(mock, resume=session)
        self.assertIn("No conversation found", str(self.error))
        # A session that is kept can be gone on with, and is not changed.
        session = await self.begin(mock)
        before = {path: path.read_bytes() for path in self.home.rglob("*.jsonl")}
        rows = await listed(self, mock, resume=session, extra_args={"no-session-persistence": None})
        self.assertEqual(rows, self.BOTH)
        self.assertEqual(before, {path: path.read_bytes() for path in self.home.rglob("*.jsonl")})

    async def test_the_log_of_a_session_is_in_order(self):
        mock = self.mock()
        session = await self.begin(mock)
        import os
        import subprocess
        from harness import POD
        env = {**os.environ, **self.environment(mock)}
        done = subprocess.run([POD, "verify", session], env=env, cwd=self.cwd, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


class Store(Begun):
    """The SDK's own session store: another machine has only what the store gives."""

    async def test_the_list_is_there_on_another_machine(self):
        store = InMemorySessionStore()
        mock = self.mock()
        session = await self.begin(mock, session_store=store)
        there = {"POD_HOME": str(self.scratch / "there"), "HOME": str(self.scratch / "elsewhere")}
        self.assertEqual(await listed(self, mock, resume=session, session_store=store, env=there), self.BOTH)
        # What is done there is in the store, and so on a third machine, and back here.
        mock.turns[:] = [call("TaskUpdate", taskId="2", status="completed"), create("日本語 C"), say("Done.")]
        messages = await self.ask(mock, resume=session, session_store=store, env=there)
        self.assertEqual(results(messages)[1][2]["task"]["id"], "3")
        expected = [("1", "in_progress", "A"), ("2", "completed", "B"), ("3", "pending", "日本語 C")]
        third = {"POD_HOME": str(self.scratch / "third"), "HOME": str(self.scratch / "nowhere")}
        self.assertEqual(await listed(self, mock, resume=session, session_store=store, env=third), expected)
        self.assertEqual(await listed(self, mock, resume=session, session_store=store), expected)
        self.assertEqual(await listed(self, mock, continue_conversation=True, session_store=store, env=third), expected)

    async def test_a_fork_goes_to_the_store_too(self):
        store = InMemorySessionStore()
        mock = self.mock()
        session = await self.begin(mock, session_store=store)
        mock.turns[:] = [create("F"), say("Done.")]
        fork = result(await self.ask(mock, resume=session, fork_session=True, session_store=store)).session_id
        there = {"POD_HOME": str(self.scratch / "there")}
        self.assertEqual(await listed(self, mock, resume=fork, session_store=store, env=there),
                         [*self.BOTH, ("3", "pending", "F")])

    async def test_the_sdk_can_list_and_show_what_is_in_the_store(self):
        store = InMemorySessionStore()
        mock = self.mock()
        session = await self.begin(mock, session_store=store, prompt="Make a plan.")
        found = await list_sessions_from_store(store, str(self.cwd))
        self.assertEqual([(info.session_id, info.first_prompt) for info in found], [(session, "Make a plan.")])
        messages = await get_session_messages_from_store(store, session, str(self.cwd))
        self.assertEqual([message.type for message in messages],
                         ["user", "assistant", "assistant", "user", "user", "assistant", "user", "assistant"])

    async def test_a_store_that_is_behind_or_ahead(self):
        store = InMemorySessionStore()
        mock = self.mock()
        session = await self.begin(mock, session_store=store)
        # Without the store, this machine goes ahead of it; nothing of that is lost.
        mock.turns[:] = [create("C"), say("Done.")]
        await self.ask(mock, resume=session)
        rows = await listed(self, mock, resume=session, session_store=store)
        self.assertEqual(rows, [*self.BOTH, ("3", "pending", "C")])
        # Elsewhere the store goes on from what it has. Then the two have gone apart, and that is said.
        there = {"POD_HOME": str(self.scratch / "there")}
        rows = await listed(self, mock, resume=session, session_store=store, env=there)
        self.assertEqual(rows, [*self.BOTH, ("3", "pending", "C")])

    async def test_what_has_gone_apart_is_not_mixed(self):
        store = InMemorySessionStore()
        mock = self.mock()
        session = await self.begin(mock, session_store=store)
        mock.turns[:] = [create("here"), say("Done.")]
        await self.ask(mock, resume=session)
        mock.turns[:] = [create("there"), say("Done.")]
        there = {"POD_HOME": str(self.scratch / "there")}
        await self.ask(mock, resume=session, session_store=store, env=there)
        self.assertIsNone(self.error)
        await self.ask(mock, resume=session, session_store=store)
        self.assertIn("cannot be brought to this machine", str(self.error))

    async def test_project_keys_are_those_of_the_sdk(self):
        store = InMemorySessionStore()
        mock = self.mock()
        deep = self.cwd / ("x" * 120) / ("日本 " * 20) / ("y" * 90)
        deep.mkdir(parents=True)
        session = await self.begin(mock, session_store=store, cwd=deep)
        key = {"project_key": project_key_for_directory(str(deep)), "session_id": session}
        self.assertTrue(await store.load(key))


if __name__ == "__main__":
    unittest.main()
