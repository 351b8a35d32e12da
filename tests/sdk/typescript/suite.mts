// What a TypeScript program sees of Pod through the Claude Agent SDK.

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  createSdkMcpServer, query, tool, type Options, type SDKMessage, type SDKUserMessage,
} from "@anthropic-ai/claude-agent-sdk";
import { z } from "zod";
import { Mock, calls, hang, say, type Turn } from "./mock.mjs";

const pod = process.env.POD_CLI!;

type Bench = { mock: Mock; cwd: string; options: (more?: Options) => Options };
const tests: [string, Turn[], (bench: Bench) => Promise<void>][] = [];
const test = (name: string, turns: Turn[], run: (bench: Bench) => Promise<void>) => tests.push([name, turns, run]);

const create = (subject: string): [string, unknown] => ["TaskCreate", { subject, description: "" }];

async function all(messages: AsyncIterable<SDKMessage>): Promise<any[]> {
  const read: any[] = [];
  for await (const message of messages) read.push(message);
  return read;
}

const results = (messages: any[]): any[] =>
  messages.filter((it) => it.type === "user" && Array.isArray(it.message.content))
    .flatMap((it) => it.message.content
      .filter((block: any) => block.type === "tool_result")
      .map((block: any) => ({ isError: block.is_error === true, text: block.content, data: it.tool_use_result })));

/** Prompts that are sent one after the other, by hand. */
class Prompts implements AsyncIterable<SDKUserMessage> {
  private waiting: SDKUserMessage[] = [];
  private wake: () => void = () => {};
  private ended = false;

  send(text: string): void {
    this.waiting.push({ type: "user", message: { role: "user", content: text }, parent_tool_use_id: null } as SDKUserMessage);
    this.wake();
  }

  end(): void {
    this.ended = true;
    this.wake();
  }

  async *[Symbol.asyncIterator]() {
    while (true) {
      while (this.waiting.length) yield this.waiting.shift()!;
      if (this.ended) return;
      await new Promise<void>((resolve) => (this.wake = resolve));
    }
  }
}

async function untilResult(run: AsyncIterator<SDKMessage>): Promise<any[]> {
  const read: any[] = [];
  while (true) {
    const { value, done } = await run.next();
    if (done) return read;
    read.push(value);
    if (value.type === "result") return read;
  }
}

test("a run begins with init and ends with result", [say("Hello.")], async ({ mock, options }) => {
  const messages = await all(query({ prompt: "Go.", options: options() }));
  assert.deepEqual(messages.map((it) => it.type), ["system", "assistant", "result"]);
  assert.deepEqual(messages[0].tools, mock.requests[0].tools.map((it: any) => it.name));
  const end = messages.at(-1);
  assert.equal(end.result, "Hello.");
  assert.equal(end.is_error, false);
  assert.deepEqual(end.permission_denials, []);
  assert.equal(mock.requests[0].system, undefined, "no system prompt was set");
});

test("system prompts", [], async ({ mock, options }) => {
  await all(query({ prompt: "Go.", options: options({ systemPrompt: "Be brief." }) }));
  await all(query({ prompt: "Go.", options: options({
    systemPrompt: { type: "preset", preset: "claude_code", append: "Be kind." } }) }));
  assert.equal(mock.requests[0].system[0].text, "Be brief.");
  assert.match(mock.requests[1].system[0].text, /Working directory[^]*Be kind\.$/);
});

test("tasks live, with repaired keys", [
  calls(create("A"), create("B")),
  calls(["TaskUpdate", { id: "1", status: "in_progress", active_form: "Doing A" }], ["TaskUpdate", { task_id: "2", status: "deleted" }],
    ["TaskUpdate", { taskId: "9", status: "completed" }], ["TaskList", {}]),
], async ({ options }) => {
  const messages = await all(query({ prompt: "Go.", options: options() }));
  const [first, second, begun, dropped, unknown, list] = results(messages);
  assert.deepEqual([first.data.task.id, second.data.task.id], ["1", "2"]);
  assert.deepEqual(begun.data.statusChange, { from: "pending", to: "in_progress" });
  assert.deepEqual(dropped.data.updatedFields, ["deleted"]);
  assert.equal(unknown.isError, true);
  assert.deepEqual(list.data.tasks, [{ id: "1", subject: "A", status: "in_progress", blockedBy: [] }]);
});

test("the four on request, or TodoWrite", [], async ({ mock, options }) => {
  const offered = async (more: Options, env: Record<string, string> = {}) => {
    const set = options({ model: "my-local-model", ...more });
    await all(query({ prompt: "Go.", options: { ...set, env: { ...set.env, ...env } } }));
    return mock.requests.at(-1).tools?.map((it: any) => it.name).filter((name: string) => /^(Task|Todo)/.test(name)) ?? [];
  };
  const four = ["TaskCreate", "TaskList", "TaskGet", "TaskUpdate"];
  assert.deepEqual(await offered({}), []);
  assert.deepEqual(await offered({}, { CLAUDE_CODE_ENABLE_TODO_TOOLS: "1" }), four);
  assert.deepEqual(await offered({ allowedTools: ["TaskCreate"] }), four);
  assert.deepEqual(await offered({ tools: ["TaskCreate"] }), ["TaskCreate"]);
  assert.deepEqual(await offered({}, { CLAUDE_CODE_ENABLE_TODO_TOOLS: "1", CLAUDE_CODE_ENABLE_TASKS: "0" }), ["TodoWrite"]);
});

test("the turn limit", Array.from({ length: 3 }, () => calls(["TaskList", {}])), async ({ options }) => {
  const read: any[] = [];
  await assert.rejects(async () => {
    for await (const message of query({ prompt: "Go.", options: options({ maxTurns: 2 }) })) read.push(message);
  }, /Claude Code returned an error result: Reached maximum number of turns \(2\)/);
  assert.equal(read.at(-1).subtype, "error_max_turns");
});

test("partial messages", [say("Hello.")], async ({ options }) => {
  const messages = await all(query({ prompt: "Go.", options: options({ includePartialMessages: true }) }));
  const events = messages.filter((it) => it.type === "stream_event").map((it) => it.event.type);
  assert.deepEqual(events, ["message_start", "content_block_start", "content_block_delta", "content_block_stop",
    "message_delta", "message_stop"]);
});

test("a conversation, another model, another mode, an interrupt", [
  say("One."), calls(["Write", { file_path: "a", content: "1" }]), say("Two."), hang("Let me"), say("Back."),
], async ({ mock, cwd, options }) => {
  const prompts = new Prompts();
  const run = query({ prompt: prompts, options: options() });
  const messages = run[Symbol.asyncIterator]();
  prompts.send("First.");
  assert.equal((await untilResult(messages)).at(-1).result, "One.");
  await run.setModel("claude-haiku-4-5");
  await run.setPermissionMode("acceptEdits");
  prompts.send("Second.");
  assert.equal((await untilResult(messages)).at(-1).result, "Two.");
  assert.deepEqual(readdirSync(cwd), ["a"]);
  assert.deepEqual(mock.requests.map((it) => it.model), ["claude-sonnet-4-6", "claude-haiku-4-5", "claude-haiku-4-5"]);
  prompts.send("Third.");
  const interrupted = untilResult(messages);
  await mock.asked(4);
  await run.interrupt();
  assert.equal((await interrupted).at(-1).subtype, "error_during_execution");
  prompts.send("Fourth.");
  assert.equal((await untilResult(messages)).at(-1).result, "Back.");
  prompts.end();
  assert.deepEqual(await untilResult(messages), []);
});

test("what can be asked", [say("One.")], async ({ options }) => {
  const prompts = new Prompts();
  const run = query({ prompt: prompts, options: options() });
  assert.deepEqual((await run.supportedCommands()).map((it) => it.name), ["compact"]);
  assert.equal((await run.supportedModels()).length, 3);
  assert.deepEqual(await run.mcpServerStatus(), []);
  await assert.rejects(run.setPermissionMode("whatever" as any), /no permission mode/);
  prompts.send("Go.");
  await untilResult(run[Symbol.asyncIterator]());
  prompts.end();
});

test("canUseTool", [calls(["Write", { file_path: "a", content: "1" }], ["Bash", { command: "id" }])],
  async ({ cwd, options }) => {
    const asked: string[] = [];
    const messages = await all(query({ prompt: "Go.", options: options({
      canUseTool: async (name, input) => {
        asked.push(name);
        return name === "Write"
          ? { behavior: "allow", updatedInput: { ...input, content: "changed" } }
          : { behavior: "deny", message: "Not today." };
      },
    }) }));
    assert.deepEqual(asked, ["Write", "Bash"]);
    assert.equal(readFileSync(join(cwd, "a"), "utf8"), "changed");
    assert.match(results(messages)[1].text, /Not today\./);
    assert.equal(messages.at(-1).permission_denials[0].tool_name, "Bash");
  });

test("hooks", [calls(["Bash", { command: "id" }], create("A"))], async ({ mock, options }) => {
  const seen: string[] = [];
  const messages = await all(query({ prompt: "Go.", options: options({
    permissionMode: "bypassPermissions", allowDangerouslySkipPermissions: true,
    hooks: {
      UserPromptSubmit: [{ hooks: [async (input: any) => {
        seen.push(`prompt ${input.prompt}`);
        return { hookSpecificOutput: { hookEventName: "UserPromptSubmit", additionalContext: "It is Monday." } };
      }] }],
      PreToolUse: [{ matcher: "Bash", hooks: [async () => ({ hookSpecificOutput: {
        hookEventName: "PreToolUse", permissionDecision: "deny", permissionDecisionReason: "No shell." } })] }],
      PostToolUse: [{ matcher: "TaskCreate", hooks: [async (input: any) => {
        seen.push(`created ${input.tool_response.task.id}`);
        return {};
      }] }],
      Stop: [{ hooks: [async (input: any) => { seen.push(`stop ${input.stop_hook_active}`); return {}; }] }],
    },
  }) }));
  assert.deepEqual(seen, ["prompt Go.", "created 1", "stop false"]);
  assert.equal(results(messages)[0].text, "No shell.");
  assert.match(JSON.stringify(mock.requests[0].messages), /It is Monday\./);
});

test("tools of the program", [calls(["mcp__calc__add", { a: 1, b: 2 }])], async ({ options }) => {
  const add = tool("add", "Adds", { a: z.number(), b: z.number() }, async ({ a, b }) => ({
    content: [{ type: "text", text: String(a + b) }],
  }));
  const calc = createSdkMcpServer({ name: "calc", version: "1.0.0", tools: [add] });
  const messages = await all(query({ prompt: "Go.", options: options({
    mcpServers: { calc }, allowedTools: ["mcp__calc__add"] }) }));
  assert.deepEqual(messages[0].mcp_servers, [{ name: "calc", status: "connected" }]);
  assert.deepEqual(results(messages).map((it) => [it.isError, it.text]), [[false, "3"]]);
});

test("resume and fork", [
  calls(create("A")), say("Begun."), calls(create("B")), say("More."), calls(["TaskList", {}]), say("Seen."),
  calls(["TaskList", {}]), say("Seen."),
], async ({ options }) => {
  const session = (await all(query({ prompt: "Go.", options: options() }))).at(-1).session_id;
  const forked = await all(query({ prompt: "More.", options: options({ resume: session, forkSession: true }) }));
  assert.equal(results(forked)[0].data.task.id, "2");
  const list = async (resume: string) =>
    results(await all(query({ prompt: "?", options: options({ resume }) })))[0].data.tasks.map((it: any) => it.subject);
  assert.deepEqual(await list(session), ["A"]);
  assert.deepEqual(await list(forked.at(-1).session_id), ["A", "B"]);
});

test("an unknown session", [], async ({ options }) => {
  const resume = "00000000-0000-4000-8000-000000000000";
  await assert.rejects(all(query({ prompt: "Go.", options: options({ resume }) })),
    /No conversation found with session ID/);
});

test("twenty queries at once", [], async ({ options }) => {
  const ends = await Promise.all(Array.from({ length: 20 }, async () =>
    (await all(query({ prompt: "Go.", options: options() }))).at(-1)));
  assert.deepEqual(new Set(ends.map((it) => it.result)), new Set(["Done."]));
  assert.equal(new Set(ends.map((it) => it.session_id)).size, 20);
});

let passed = 0;
let failed = 0;
for (const [name, turns, run] of tests) {
  const scratch = mkdtempSync(join(tmpdir(), "pod-sdk-"));
  const cwd = mkdtempSync(join(scratch, "work-"));
  const mock = await Mock.start(...turns);
  const options = (more: Options = {}): Options => ({
    cwd, model: "claude-sonnet-4-6", pathToClaudeCodeExecutable: pod,
    env: { HOME: scratch, PATH: process.env.PATH, POD_HOME: join(scratch, "pod"),
      ANTHROPIC_BASE_URL: mock.url, ANTHROPIC_API_KEY: "a-key-of-nobody" },
    ...more,
  });
  const late = new Promise<never>((_, reject) => setTimeout(() => reject(new Error("it takes too long")), 120_000).unref());
  try {
    await Promise.race([run({ mock, cwd, options }), late]);
    passed++;
    console.log(`ok   ${name}`);
  } catch (error) {
    failed++;
    console.log(`FAIL ${name}\n${(error as Error).stack ?? error}`);
  }
  mock.stop();
  rmSync(scratch, { recursive: true, force: true });
}
console.log(`typescript: ${passed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
