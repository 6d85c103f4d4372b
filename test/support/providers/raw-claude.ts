import type net from 'node:net';
import { until } from './calls.ts';
import {
  inHome,
  type AgentHarnessOptions,
  agentHarnesses,
  envOf,
  type Fields,
  ScriptedProcess,
  type Hello,
} from './scripted-agent.ts';
import { argumentsOf } from '../processes/command-line.ts';

/** The behaviour of a `claude` process, where it differs from a correct one. */
export interface ClaudeBehavior {
  /** Called before the first answer; may end the process. */
  begins?: (claude: RawClaude) => void;
  /** Response to a control request, by subtype. An exception is sent as an error. */
  requests?: Record<string, (request: Fields, claude: RawClaude) => unknown>;
  /** Behaviour for a prompt, by its text. The process echoes all other prompts. */
  turns?: Record<string, (claude: RawClaude) => unknown>;
}

/** The test's side of one `claude` process. */
export class RawClaude extends ScriptedProcess {
  readonly args = argumentsOf(this.pid);
  readonly env = envOf(this.pid);
  readonly #behavior: ClaudeBehavior;
  #messages = 0;

  constructor(socket: net.Socket, hello: Hello, behavior: ClaudeBehavior) {
    super(socket, hello);
    this.#behavior = behavior;
    behavior.begins?.(this);
  }

  send(...messages: object[]): void {
    this.write(messages.map((one) => `${JSON.stringify(one)}\n`).join(''));
  }

  /** Sends a text as one delta of a stream. */
  say(text: string, usage: object = {}): void {
    const id = `msg_${++this.#messages}`;
    const delta = { type: 'text_delta', text };
    this.stream({ type: 'message_start', message: { id, usage } });
    this.stream({ type: 'content_block_delta', index: 0, delta });
    this.stream({ type: 'message_delta', delta: {}, usage });
  }

  stream(event: object): void {
    this.send({ type: 'stream_event', event, parent_tool_use_id: null });
  }

  /** Starts a tool call without reporting its end. */
  call(id: string, name: string, input: object): void {
    const content = [{ type: 'tool_use', id, name, input }];
    this.send({ type: 'assistant', message: { id: `of_${id}`, content } });
  }

  /** Requests permission; resolves with the response. */
  async ask(id: string, tool: string, input: object, more: object = {}): Promise<Fields> {
    const call = { tool_name: tool, input, tool_use_id: `t_${id}` };
    const request = { subtype: 'can_use_tool', ...call, ...more };
    this.send({ type: 'control_request', request_id: id, request });
    await until(`${id} is answered`, () => this.answerTo(id) !== undefined);
    return this.answerTo(id) ?? {};
  }

  answerTo(id: string): Fields | undefined {
    const answers = this.received.map(({ response }) => response as Fields | undefined);
    return answers.find((answer) => answer?.request_id === id);
  }

  /** Ends a turn, successfully unless `more` differs. */
  result(more: object = {}): void {
    this.send({ type: 'result', subtype: 'success', is_error: false, ...more });
  }

  /** Returns the control requests of a subtype that cadre has sent. */
  requests(subtype: string): Fields[] {
    return this.received
      .map(({ request }) => request as Fields | undefined)
      .filter((request) => request?.subtype === subtype) as Fields[];
  }

  protected override handle(message: Fields): void {
    if (message.type === 'control_request') void this.#answer(message);
    if (message.type === 'user') void this.#turn(message);
  }

  async #answer({ request_id, request }: Fields): Promise<void> {
    const asked = request as Fields;
    const subtype = String(asked.subtype);
    const handler = this.#behavior.requests?.[subtype] ?? good[subtype];
    try {
      const answer = await handler?.(asked, this);
      const response = { subtype: 'success', request_id, response: answer };
      this.send({ type: 'control_response', response });
    } catch (error) {
      const response = { subtype: 'error', request_id, error: (error as Error).message };
      this.send({ type: 'control_response', response });
    }
  }

  async #turn(message: Fields): Promise<void> {
    const { content } = message.message as { content: { text?: string }[] };
    const text = content[0]?.text ?? '';
    const permissionMode = this.requests('set_permission_mode').at(-1)?.mode ?? 'default';
    this.send({ type: 'system', subtype: 'init', permissionMode });
    const handler = this.#behavior.turns?.[text];
    if (handler) {
      await handler(this);
      return;
    }
    this.say(text, { input_tokens: 3, output_tokens: 1 });
    this.result({ usage: { input_tokens: 3, output_tokens: 1 }, total_cost_usd: 1 });
  }
}

const good: NonNullable<ClaudeBehavior['requests']> = {
  initialize: () => ({
    claude_code_version: '9.9',
    models: [{ value: 'opus', displayName: 'Opus', supportedEffortLevels: ['low', 'high'] }],
    commands: [
      { name: 'review', description: 'reviews a change', argumentHint: '[pr]' },
      { name: 'clear', description: 'forgets', argumentHint: '' },
      { description: 'without a name' },
    ],
  }),
  get_settings: () => ({ applied: { model: 'claude-usual' } }),
};

export interface ClaudeHarnessOptions extends AgentHarnessOptions {
  /** More keys of `[providers.claude]`. */
  claude?: Fields;
  /** More environment variables of the agents. */
  env?: Record<string, string>;
}

export const { forTest: testRawClaude, shared: sharedRawClaude } = agentHarnesses(
  (behavior: ClaudeBehavior, { claude, env, ...given }: Partial<ClaudeHarnessOptions>) => ({
    ...given,
    provider: 'claude',
    connect: (socket, hello) => new RawClaude(socket, hello, behavior),
    section: inHome({ ...claude, env }),
  }),
);
