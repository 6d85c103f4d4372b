import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import {
  type CreateElicitationRequest,
  methods,
  type PermissionOptionKind,
  type RequestPermissionRequest,
  type StopReason,
  type ToolCall,
} from '@agentclientprotocol/sdk/unstable';
import { announceToolCall, type AnnouncedToolCall, type Turn } from './turn.ts';

/** Asks to give a file a new content, with the change. `\\n` in the text is a line break. No file is changed. */
export function askForEdit(turn: Turn, path: string, text: string): Promise<StopReason | void> {
  const file = resolve(turn.session.history.cwd, path);
  const newText = text === '' ? '' : `${withLineBreaks(text)}\n`;
  return askForTool(turn, `Edit ${path}`, {
    kind: 'edit',
    rawInput: undefined,
    content: [{ type: 'diff', path: file, oldText: contentOf(file), newText }],
  });
}

/** Asks each time: `allow_always` is reported, but not remembered, so that a script always behaves the same. */
export async function askForTool(
  turn: Turn,
  title: string,
  more: Partial<ToolCall> = commandIn(title),
): Promise<StopReason | void> {
  const call = await announceToolCall(turn, withLineBreaks(title), more);
  const { mode } = turn.session.history;
  const choice = mode === 'full_access' ? mode : await askPermission(turn, call);
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
export async function askQuestion(
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
