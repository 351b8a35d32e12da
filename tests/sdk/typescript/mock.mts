// A model that says what a test wants: a small part of Anthropic's Messages API, on loopback.
// A turn is what one request is answered with; when they are used up, the answer is "Done.".

import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export type Block = { type: "text"; text: string } | { type: "tool_use"; name: string; input: unknown };
export type Turn = { blocks: Block[]; hang?: boolean };

export const say = (text: string): Turn => ({ blocks: [{ type: "text", text }] });
export const calls = (...pairs: [string, unknown][]): Turn => ({
  blocks: pairs.map(([name, input]) => ({ type: "tool_use", name, input })),
});
/** An answer that begins and does not end. */
export const hang = (text: string): Turn => ({ ...say(text), hang: true });

let count = 0;

export class Mock {
  readonly requests: any[] = [];
  private waiting: (() => void)[] = [];

  private constructor(private server: Server, private turns: Turn[]) {}

  static async start(...turns: Turn[]): Promise<Mock> {
    const server = createServer();
    const mock = new Mock(server, turns);
    server.on("request", (request, response) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk) => chunks.push(chunk));
      request.on("end", () => mock.answer(JSON.parse(Buffer.concat(chunks).toString()), response));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return mock;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  stop(): void {
    this.server.closeAllConnections();
    this.server.close();
  }

  /** Waits until so many requests have come. */
  async asked(number: number): Promise<void> {
    while (this.requests.length < number) await new Promise<void>((resolve) => this.waiting.push(resolve));
  }

  private answer(body: any, response: ServerResponse): void {
    this.requests.push(body);
    const turn = this.turns.shift() ?? say("Done.");
    response.writeHead(200, { "content-type": "text/event-stream" });
    const send = (type: string, fields: object) =>
      response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`);
    const usage = { input_tokens: 100, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 10 };
    send("message_start", {
      message: {
        id: `msg_${++count}`, type: "message", role: "assistant", content: [], model: body.model,
        stop_reason: null, stop_sequence: null, usage,
      },
    });
    turn.blocks.forEach((block, index) => {
      const isText = block.type === "text";
      const start = isText ? { type: "text", text: "" } : { ...block, id: `toolu_${++count}`, input: {} };
      const delta = isText
        ? { type: "text_delta", text: block.text }
        : { type: "input_json_delta", partial_json: JSON.stringify(block.input) };
      send("content_block_start", { index, content_block: start });
      send("content_block_delta", { index, delta });
      send("content_block_stop", { index });
    });
    this.waiting.splice(0).forEach((resolve) => resolve());
    if (turn.hang) return;
    const stop = turn.blocks.some((block) => block.type === "tool_use") ? "tool_use" : "end_turn";
    send("message_delta", { delta: { stop_reason: stop, stop_sequence: null }, usage });
    send("message_stop", {});
    response.end();
  }
}
