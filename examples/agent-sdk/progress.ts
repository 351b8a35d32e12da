// Gives a prompt to Pod and shows how the work gets on.
//
//     npx tsx progress.ts [--log] PROMPT
//
// With `--log` each change is a line; without, a bar is kept up to date. See README.md.

import { query, type SDKMessage } from "@anthropic-ai/claude-agent-sdk";

type Task = { subject: string; status: string; label?: string };
type Call = { name: string; input: Record<string, string | undefined> };

const marks: Record<string, string> = { pending: "+", in_progress: ">", completed: "x", deleted: "-" };
const shown = (task: Task) => (task.status === "in_progress" && task.label) || task.subject;

/** The list as the stream tells of it. Only a result says that a call took effect. */
class Board {
  readonly tasks = new Map<string, Task>();
  private readonly calls = new Map<string, Call>();

  constructor(private readonly show: (id: string, task: Task, board: Board) => void) {}

  read(message: SDKMessage): void {
    if (message.type === "assistant") {
      for (const block of message.message.content) {
        if (block.type === "tool_use" && block.name.startsWith("Task")) {
          this.calls.set(block.id, { name: block.name, input: block.input as Call["input"] });
        }
      }
    } else if (message.type === "user" && Array.isArray(message.message.content)) {
      for (const block of message.message.content) {
        if (block.type !== "tool_result") continue;
        const call = this.calls.get(block.tool_use_id);
        this.calls.delete(block.tool_use_id);
        if (call && !block.is_error) this.apply(call, message.tool_use_result);
      }
    }
  }

  bar(width = 20): string {
    const kept = [...this.tasks.values()].filter((task) => task.status !== "deleted");
    if (kept.length === 0) return "working";
    const done = kept.filter((task) => task.status === "completed").length;
    const now = kept.find((task) => task.status === "in_progress");
    const filled = "#".repeat(Math.floor((width * done) / kept.length));
    return `[${filled.padEnd(width, ".")}] ${done}/${kept.length} ${now ? shown(now) : ""}`;
  }

  private apply({ name, input }: Call, output: any): void {
    const label = input.activeForm ?? input.active_form;
    if (name === "TaskCreate") {
      const { id, subject } = output.task;
      this.change(id, { subject, status: "pending", label });
    } else if (name === "TaskUpdate") {
      const id: string = output.taskId;
      const task = this.tasks.get(id) ?? { subject: `task ${id}`, status: "pending" };
      this.change(id, {
        subject: input.subject ?? task.subject,
        status: (input.status ?? task.status).replace("inprogress", "in_progress"),
        label: label ?? task.label,
      });
    } else if (name === "TaskList") {
      // What is known of labels stays known.
      for (const { id, subject, status } of output.tasks) {
        this.tasks.set(id, { ...this.tasks.get(id), subject, status });
      }
    }
  }

  private change(id: string, task: Task): void {
    this.tasks.set(id, task);
    this.show(id, task, this);
  }
}

const words = process.argv.slice(2);
const prompt = words.filter((word) => word !== "--log").join(" ");
if (!prompt) {
  console.error("usage: progress.ts [--log] PROMPT");
  process.exit(2);
}

const board = new Board(
  words.includes("--log")
    ? (id, task) => console.log(`  ${marks[task.status] ?? "?"} ${id} ${shown(task)}`)
    : (_id, _task, board) =>
        process.stdout.write(`\r\x1b[2K${board.bar().slice(0, (process.stdout.columns ?? 80) - 1)}`),
);

async function ask(prompt: string, resume?: string): Promise<string | undefined> {
  let session: string | undefined;
  const run = query({
    prompt,
    options: {
      pathToClaudeCodeExecutable: process.env.POD_CLI ?? "pod",
      model: process.env.POD_MODEL || "claude-sonnet-4-6",
      permissionMode: "acceptEdits",
      systemPrompt: { type: "preset", preset: "claude_code" },
      resume,
      // Here the variables take the place of those of this process.
      env: { ...process.env, CLAUDE_CODE_ENABLE_TODO_TOOLS: "1" },
    },
  });
  for await (const message of run) {
    board.read(message);
    if (message.type === "result") {
      session = message.session_id;
      if (message.subtype === "success") console.log(`\n${message.result}`);
    }
  }
  return session;
}

try {
  const resume = process.env.RESUME;
  if (resume) await ask("Call TaskList once and say nothing more.", resume);
  console.log((await ask(prompt, resume)) ?? "");
} catch (error) {
  // A query that ends in an error throws once its messages are read.
  console.error(`\n${error}`);
  process.exitCode = 1;
}
