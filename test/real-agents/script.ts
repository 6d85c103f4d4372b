import { randomUUID } from 'node:crypto';

/** One message of a model request, whatever dialect it came in. `other` is a system prompt or an earlier answer. */
export interface Message {
  role: 'user' | 'tool' | 'other';
  text: string;
}

/** A piece of an answer, streamed on its own after `delayMs`. */
export interface Piece {
  kind: 'text' | 'thought';
  text: string;
  delayMs?: number;
}

/** A tool that a model is offered. All but the name is for dialects that know more than one way to call one. */
export interface Tool {
  name: string;
  namespace?: string;
  /** `custom` takes a text in place of arguments; `search` finds more tools. */
  kind?: 'custom' | 'search';
  /** The tool that runs code, out of which alone this one can be called. */
  within?: Tool;
}

/** A call of the model to one of the offered tools. `input` is JSON text, as models write it. */
export interface ToolCall {
  id: string;
  tool: Tool;
  input: string;
}

/** Reaction of the scripted model to a request: it answers, or the API fails with an HTTP status. */
export type Reply =
  | {
      kind: 'answer';
      pieces: readonly Piece[];
      call?: ToolCall;
      /** The code of the error with which it breaks off after its pieces. */
      breaksOff?: string;
    }
  | { kind: 'error'; status: number }
  /** A usage limit that resets after some seconds; the next request is answered. */
  | { kind: 'limit'; seconds: number; next: Reply };

/** Order of the last scripted user message, and the result of the newest tool call made since. */
export interface Instruction {
  script?: string;
  /** The session that said so, where it was a message of a team. */
  sender?: string;
  toolResult?: string;
}

/** Marks the start of a script in a user message; it ends with the line. */
const marker = '@@';

/** Text of the prompt that resumes an agent after an approval: its model then sends the same request again. */
const approved = 'approved while you were not running';

/** Tool output echoed back is cut here, so that a noisy command does not become a noisy transcript. */
const resultLimit = 400;

/**
 * Finds the script in the conversation. An agent repeats the whole conversation in every request and
 * adds user messages of its own, so it is the newest message with a marker that counts.
 */
export function findInstruction(messages: readonly Message[]): Instruction {
  const newest = (words: string) =>
    messages.findLastIndex(({ role, text }) => role === 'user' && text.includes(words));
  const at = newest(marker);
  const instruction = messages[at];
  if (!instruction) return {};
  const script = instruction.text
    .slice(instruction.text.lastIndexOf(marker) + marker.length)
    .split('\n', 1)[0];
  const result = messages
    .slice(Math.max(at, newest(approved)))
    .findLast(({ role }) => role === 'tool');
  const [, sender] = /<team_message [^>]*sender="([^"]*)"/.exec(instruction.text) ?? [];
  return {
    script: script?.trim() ?? '',
    ...(sender !== undefined && { sender }),
    ...(result && { toolResult: result.text }),
  };
}

/**
 * Turns a script into a reply:
 *
 * - `say:TEXT` streams the text word by word
 * - `slow:N:MS` streams N pieces, each MS milliseconds after the one before
 * - `after:MS:TEXT` says the text in one piece, after MS milliseconds
 * - `flood:BYTES` says so many bytes in one piece
 * - `think:TEXT` thinks the text, then says `thought done`
 * - `tool:NAME:JSON` calls the tool of that name (or whose name contains it: agents prefix the tools
 *   of MCP servers), and answers `RESULT[...]` when its output is there
 * - `shell:COMMAND` runs a command, by whichever tool the agent has for that
 * - `reply:TEXT` says the text to the member of a team that the script came from
 * - `err:CODE` fails with that HTTP status
 * - `limit:N:SCRIPT` does as SCRIPT says, but the first answer that calls no tool is refused: by a usage limit that
 *   resets after N seconds
 * - `fail:CODE` begins an answer, and breaks off with that error
 *
 * A script it cannot follow is answered with the reason, where a failing test shows it.
 */
export function planReply(instruction: Instruction, tools: readonly Tool[]): Reply {
  const { script, sender, toolResult } = instruction;
  if (script === undefined) return say('no script');
  const limit = /^limit:(\d+):(.*)$/s.exec(script);
  if (limit) {
    const [, seconds, rest = ''] = limit;
    const next = planReply({ ...instruction, script: rest }, tools);
    const isCall = next.kind === 'answer' && next.call !== undefined;
    return isCall ? next : { kind: 'limit', seconds: Number(seconds), next };
  }
  if (toolResult !== undefined) return say(`RESULT[${toolResult.slice(0, resultLimit)}]`);
  const [verb, rest] = splitOnce(script);
  switch (verb) {
    case 'say':
      return say(rest);
    case 'slow':
      return saySlowly(...splitOnce(rest));
    case 'after':
      return sayAfter(...splitOnce(rest));
    case 'flood':
      return { kind: 'answer', pieces: [{ kind: 'text', text: 'x'.repeat(Number(rest)) }] };
    case 'think':
      return {
        kind: 'answer',
        pieces: [{ kind: 'thought', text: rest }, ...words('thought done')],
      };
    case 'tool':
      return callTool(...splitOnce(rest), tools);
    case 'shell':
      return callShell(rest, tools);
    case 'reply':
      return callTool('cadre_team_message', replyTo(sender, rest), tools);
    case 'err':
      return { kind: 'error', status: Number(rest) };
    case 'fail':
      return { kind: 'answer', pieces: words('it begins '), breaksOff: rest };
    default:
      return say(`unknown script ${script}`);
  }
}

function say(text: string): Reply {
  return { kind: 'answer', pieces: words(text) };
}

function saySlowly(count: string, delay: string): Reply {
  const piece = (_: unknown, index: number): Piece => ({
    kind: 'text',
    text: `c${index} `,
    delayMs: Number(delay),
  });
  return { kind: 'answer', pieces: Array.from({ length: Number(count) }, piece) };
}

function sayAfter(delay: string, text: string): Reply {
  return { kind: 'answer', pieces: [{ kind: 'text', text, delayMs: Number(delay) }] };
}

function callTool(wanted: string, input: string, tools: readonly Tool[]): Reply {
  const found =
    tools.find(({ name }) => name === wanted) ??
    tools.find(({ name, namespace = '' }) => `${namespace}__${name}`.includes(wanted));
  if (found) return call(found, input || '{}');
  const search = tools.find(({ kind }) => kind === 'search');
  // It knows words, and none with an underscore.
  if (search) return call(search, JSON.stringify({ query: wanted.replaceAll('_', ' '), limit: 8 }));
  return say(`no tool ${wanted} among: ${tools.map(({ name }) => name).join(', ')}`);
}

/** Arguments of the tools that run a command, by the name of the tool. Codex asks before one that leaves its sandbox. */
const shells: Record<string, (command: string) => object> = {
  Bash: describedCommand,
  bash: describedCommand,
  run_shell_command: describedCommand,
  exec_command: (cmd) => ({
    cmd,
    sandbox_permissions: 'require_escalated',
    justification: 'it has to be',
  }),
};

function describedCommand(command: string): object {
  return { command, description: 'does as it was told' };
}

function callShell(command: string, tools: readonly Tool[]): Reply {
  const tool = tools.find(({ name }) => name in shells);
  const input = JSON.stringify(shells[tool?.name ?? 'bash']?.(command));
  return callTool(tool?.name ?? 'bash', input, tools);
}

function replyTo(sender: string | undefined, message: string): string {
  return JSON.stringify({ recipient_agent_id: sender, message });
}

function call(tool: Tool, input: string): Reply {
  return {
    kind: 'answer',
    pieces: words('calling tool. '),
    // Random rather than counted: an agent's store outlives this server, and ids must not meet in it.
    call: { id: `call_${randomUUID()}`, tool, input },
  };
}

function words(text: string): Piece[] {
  return text.split(/(?<= )/).map((word) => ({ kind: 'text', text: word }));
}

function splitOnce(text: string): [head: string, rest: string] {
  const at = text.indexOf(':');
  return at === -1 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)];
}
