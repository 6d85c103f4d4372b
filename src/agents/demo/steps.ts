import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type CreateElicitationRequest,
  type PermissionOptionKind,
  RequestError,
  type RequestPermissionRequest,
  type StopReason,
  type ToolCall,
  methods,
} from '@agentclientprotocol/sdk/unstable';
import { errorMessage } from '../../core/lib/error-message.ts';
import type { Command, CommandName, CommandNamed } from './script.ts';
import { type AnnouncedToolCall, type Turn, announceToolCall, withBlanks } from './turn.ts';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, resolve, sep } from 'node:path';

/** Executes one command. A stop reason ends the turn, even if commands are left. */
export async function runStep(command: Command, turn: Turn): Promise<StopReason | void> {
  // The type of the table binds each step to its command; a lookup by a variable loses that.
  const step = steps[command.name] as Step<CommandName>;
  return step(command, turn);
}

type Step<Name extends CommandName> = (
  command: CommandNamed<Name>,
  turn: Turn,
) => Promise<StopReason | void> | StopReason | void;

// The type lists every command, so that a command without a step does not compile.
const steps: { readonly [Name in CommandName]: Step<Name> } = {
  say: ({ text }, turn) => turn.say(text),
  think,
  repeat,
  flood,
  longline: ({ bytes }, turn) => turn.sayChunk(turn.newId('message'), 'x'.repeat(bytes)),
  late,
  async tool({ title, output }, turn) {
    const call = await announceToolCall(turn, title);
    await call.start();
    await call.complete(output ?? 'did not run: this is a demo');
  },
  ask: ({ title }, turn) => askForTool(turn, title),
  // All requests are sent before any is answered.
  async 'ask-all'({ titles }, turn) {
    const ends = await Promise.all(titles.map((title) => askForTool(turn, title)));
    return ends.find((end) => end !== undefined);
  },
  edit: ({ path, text }, turn) => askForEdit(turn, path, text),
  question: ({ entries: [text = '', ...options] }, turn) => askQuestion(turn, text, options),
  plan,
  title: ({ text }, turn) => turn.update({ sessionUpdate: 'session_info_update', title: text }),
  notice: ({ text }, turn) =>
    turn.update({ sessionUpdate: 'notice', severity: 'info', title: text }),
  commands: ({ entries }, turn) =>
    turn.update({
      sessionUpdate: 'available_commands_update',
      availableCommands: entries.map((name) => ({
        name,
        description: 'Does nothing: this is a demo',
        input: { hint: 'anything' },
      })),
    }),
  async usage({ used, size }, turn) {
    turn.usage = { used, size };
    await turn.update({ sessionUpdate: 'usage_update', used, size });
  },
  image(_command, turn) {
    const { images } = turn.prompt;
    const each = images.map(({ mimeType, bytes }) => ` (${mimeType}, ${bytes} bytes)`);
    return turn.say(`images: ${images.length}${each.join('')}`);
  },
  history(_command, turn) {
    const { turnCount, turns } = turn.session.history;
    const before = turns.at(-2);
    const last = before ? `; last prompt: ${before.prompt}` : '';
    return turn.say(`earlier turns: ${turnCount - 1}${last}`);
  },
  env: ({ variable }, turn) => turn.say(turn.host.env[variable] ?? '(unset)'),
  pid: (_command, turn) => turn.say(String(turn.host.pid)),
  // The working directory of a session can differ from the working directory of the process.
  cwd: (_command, turn) => turn.say(turn.session.history.cwd),
  mode: (_command, turn) => turn.say(turn.session.history.mode),
  wait: ({ ms }, turn) => turn.host.sleep(ms, turn.signal),
  async silent(_command, turn) {
    if (!turn.signal.aborted) await once(turn.signal, 'abort');
  },
  'ignore-cancel': (_command, turn) => turn.ignoreCancel(),
  fail({ text }) {
    throw new RequestError(internalError, text);
  },
  limit,
  crash: ({ code }, turn) => turn.host.exit(code),
  garbage: (_command, turn) => turn.host.writeRaw('this line is not JSON\n'),
  async spawn({ ms }, turn) {
    const pid = await turn.host.startSleeper(ms);
    await turn.say(`spawned ${pid}`);
  },
};

async function think({ text }: CommandNamed<'think'>, turn: Turn): Promise<void> {
  const messageId = turn.newId('message');
  for (const word of withBlanks(text)) {
    turn.signal.throwIfAborted();
    const content = { type: 'text' as const, text: word };
    await turn.update({ sessionUpdate: 'agent_thought_chunk', messageId, content });
  }
}

async function repeat({ count, ms, text }: CommandNamed<'repeat'>, turn: Turn): Promise<void> {
  const messageId = turn.newId('message');
  for (let sent = 0; sent < count; sent += 1) {
    if (sent > 0) await sleep(ms, undefined, { signal: turn.signal });
    await turn.sayChunk(messageId, text);
  }
}

/** Each chunk begins with its number, so that a lost or repeated chunk is noticed. */
async function flood({ count, bytes }: CommandNamed<'flood'>, turn: Turn): Promise<void> {
  const messageId = turn.newId('message');
  for (let sent = 0; sent < count; sent += 1) {
    await turn.sayChunk(messageId, `${sent} `.padEnd(bytes, '.').slice(0, bytes));
  }
}

const lateMs = 50;

/** Sends a chunk after the turn has ended, when no client expects it. */
function late({ text }: CommandNamed<'late'>, turn: Turn): StopReason {
  const messageId = turn.newId('message');
  turn.afterwards = async () => {
    // The timer does not keep the process alive: the client may disconnect first.
    await sleep(lateMs, undefined, { ref: false });
    await turn.sayChunk(messageId, text);
  };
  return 'end_turn';
}

/** Sends one update for each state, from nothing done to everything done. */
async function plan({ entries }: CommandNamed<'plan'>, turn: Turn): Promise<void> {
  for (let done = 0; done <= entries.length; done += 1) {
    turn.signal.throwIfAborted();
    await turn.update({
      sessionUpdate: 'plan',
      entries: entries.map((content, index) => ({
        content,
        priority: 'medium',
        status: index < done ? 'completed' : index === done ? 'in_progress' : 'pending',
      })),
    });
  }
}

const internalError = -32_603;

/** Reports a usage limit as the ACP agent for claude does. Each session meets it once. */
async function limit({ ms }: CommandNamed<'limit'>, turn: Turn): Promise<void> {
  const { session } = turn;
  if (session.hasMetLimit) return;
  session.hasMetLimit = true;
  // The agent stands for a foreign program, which has a clock of its own.
  // oxlint-disable-next-line eslint/no-restricted-properties
  const resetsAt = Math.ceil((Date.now() + ms) / 1000);
  const reported = { status: 'rejected', resetsAt, rateLimitType: 'five_hour' };
  const { tokens: used } = session.history;
  const _meta = { '_claude/rateLimit': reported };
  await turn.update({ sessionUpdate: 'usage_update', used, size: 200_000, _meta });
  throw new RequestError(internalError, "You've hit your usage limit", { errorKind: 'rate_limit' });
}

/** Asks to give a file a new content, with the change, and writes it. `\\n` in the text is a line break. */
function askForEdit(turn: Turn, path: string, text: string): Promise<StopReason | void> {
  const { cwd } = turn.session.history;
  const file = resolve(cwd, path);
  const newText = text === '' ? '' : `${withLineBreaks(text)}\n`;
  const asked: Partial<ToolCall> = {
    kind: 'edit',
    rawInput: undefined,
    content: [{ type: 'diff', path: file, oldText: contentOf(file), newText }],
  };
  return askForTool(turn, `Edit ${path}`, asked, {
    isInWorkspace: file.startsWith(cwd + sep),
    run: () => {
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, newText);
    },
  });
}

/** The change of a tool call. A change in the working directory needs no approval in the mode `workspace_write`. */
interface Change {
  readonly isInWorkspace: boolean;
  readonly run: () => void;
}

/** Asks each time: `allow_always` is reported, but not remembered, so that a script always behaves the same. */
async function askForTool(
  turn: Turn,
  title: string,
  more: Partial<ToolCall> = commandIn(title),
  change?: Change,
): Promise<StopReason | void> {
  const call = await announceToolCall(turn, withLineBreaks(title), more);
  const { mode } = turn.session.history;
  const isAllowed =
    mode === 'full_access' || (mode === 'workspace_write' && change?.isInWorkspace === true);
  const choice = isAllowed ? mode : await askPermission(turn, call);
  if (choice === 'cancelled') {
    await call.fail('cancelled');
    return 'cancelled';
  }
  if (choice.startsWith('reject')) {
    await call.fail(`rejected (${choice})`);
    await turn.say(`rejected (${choice}): ${title}`);
    return;
  }
  await call.start();
  try {
    change?.run();
  } catch (error) {
    return call.fail(errorMessage(error));
  }
  await call.complete(`allowed (${choice})`);
  await turn.say(`allowed (${choice}): ${title}`);
}

/** The input of a call whose title names a command, as in `run: make`. */
function commandIn(title: string): Partial<ToolCall> {
  const command = /^run:\s*(.+)$/su.exec(title)?.[1];
  return command === undefined ? {} : { rawInput: { command: withLineBreaks(command) } };
}

function withLineBreaks(text: string): string {
  return text.replaceAll('\\n', '\n');
}

/** Returns null if there is no such file, or it cannot be read. */
function contentOf(file: string): string | null {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return null;
  }
}

const optionNames: Record<PermissionOptionKind, string> = {
  allow_once: 'Allow once',
  allow_always: 'Always allow',
  reject_once: 'Reject once',
  reject_always: 'Always reject',
};

async function askPermission(turn: Turn, call: AnnouncedToolCall): Promise<string> {
  const kinds = Object.keys(optionNames) as PermissionOptionKind[];
  const question: RequestPermissionRequest = {
    sessionId: turn.session.history.sessionId,
    toolCall: call.announced,
    options: kinds.map((kind) => ({ optionId: kind, kind, name: optionNames[kind] })),
  };
  try {
    const { outcome } = await turn.client.request(
      methods.client.session.requestPermission,
      question,
      // A cancelled turn ends at once; it does not wait for an answer.
      { cancellationSignal: turn.signal, stopWaitingOnCancel: true },
    );
    return outcome.outcome === 'selected' ? outcome.optionId : 'cancelled';
  } catch (error) {
    if (turn.signal.aborted) return 'cancelled';
    await call.fail('the client did not answer the permission request');
    throw error;
  }
}

/** Asks the user to choose an option, or to type a text if no options are given, and prints the answer. */
async function askQuestion(
  turn: Turn,
  text: string,
  options: readonly string[],
): Promise<StopReason | void> {
  const asked: CreateElicitationRequest = {
    sessionId: turn.session.history.sessionId,
    mode: 'form',
    message: text,
    requestedSchema: {
      type: 'object',
      required: ['answer'],
      properties: {
        answer: {
          type: 'string',
          description: text,
          ...(options.length > 0 ? { enum: [...options] } : {}),
        },
      },
    },
  };
  try {
    const answer = await turn.client.request(methods.client.elicitation.create, asked, {
      cancellationSignal: turn.signal,
      stopWaitingOnCancel: true,
    });
    const content = 'content' in answer ? JSON.stringify(answer.content) : '';
    await turn.say(`${answer.action} ${content}`.trim());
  } catch (error) {
    if (turn.signal.aborted) return 'cancelled';
    throw error;
  }
}
