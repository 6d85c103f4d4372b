import { endpoints } from '../../../api/index.ts';
import type { Session } from '../../../api/sessions.ts';
import type { Client } from '../../../client/client.ts';
import { replayBefore } from '../../../client/replay.ts';
import { slashMatches } from '../../../client/slash.ts';
import { usageError } from '../../../api/errors.ts';
import { conversation } from '../../terminal/conversation.ts';
import { conversationLines } from '../../terminal/conversation-lines.ts';
import { fileMatches } from '../../../client/file-mentions.ts';
import { shorten } from '../../../core/lib/shorten.ts';
import { find } from '../find.ts';
import { sessions } from '../record-kinds.ts';
import { plain, shortId } from '../output.ts';
import { type TurnSettingOptions, turnSettings } from '../turn-settings.ts';
import { askerOf } from './ask.ts';
import { assertPermissionMode } from './assert-mode.ts';
import { Attached } from './attached.ts';
import { promptHistory } from './defaults.ts';
import { InputLine, type LineActions } from './input-line.ts';
import { latestHere } from './latest.ts';
import { readConversation } from './read-conversation.ts';
import { markSeen } from './seen.ts';
import { sessionEvents } from './session-events.ts';
import { SilenceNote } from './silence.ts';
import { TurnText } from './turn-text.ts';
import type { CommandContext } from '../command-io.ts';

const TURNS = 3;

/** The exit codes for the signals that end it. */
const LEAVING = { SIGTERM: 143, SIGHUP: 129 } as const;

export interface AttachOptions extends Pick<TurnSettingOptions, 'permissionMode' | 'agentMode'> {
  verbose?: boolean;
}

/**
 * Shows the end of a conversation, follows it, and sends each line that is typed, until somebody leaves with Ctrl-D or the
 * session is closed. Throws `usage` without a terminal, and where `reference` names no session, as `find`.
 */
export async function attach(
  context: CommandContext,
  reference: string | undefined,
  { verbose = false, ...options }: AttachOptions,
): Promise<void> {
  const { io, client, layout, global } = context;
  const { stdin, stdout } = io;
  if (global.json || !stdin.isTTY || !stdout.isTTY)
    throw usageError(
      'not a terminal: use cadre sessions send, cadre sessions show, cadre sessions wait or cadre events tail',
    );
  const found =
    reference === undefined
      ? await latestHere(client, io.cwd())
      : await find(sessions, client, reference);
  await assertPermissionMode(context, found, options.permissionMode);
  const leaving = new AbortController();
  const leave = (code: number) => leaving.abort(code);
  const history = await promptHistory(context);
  const actions: LineActions = {
    submit: (text) => attached.say(text),
    interrupt: () => void attached.interrupt(),
    leave: () => leave(0),
    complete: (typed) => completionsOf(client, found, typed),
  };
  const line = new InputLine(
    stdin as NodeJS.ReadStream,
    stdout as NodeJS.WriteStream,
    actions,
    history,
  );
  const asker = askerOf(context, line, { stopped: leaving.signal, onLeave: () => leave(0) });
  const text = new TurnText({
    turnOutput: line,
    asker,
    palette: layout.palette,
    isVerbose: verbose,
  });
  const { session, after } = await showTail(context, found.id);
  const attached = new Attached(context, {
    id: session.id,
    turnOutput: line,
    text,
    running: session.active_turn_id,
    settings: turnSettings(options),
  });
  using _signals = signals(() => void attached.interrupt(), leave);
  line.open();
  asker.askedIn(session.id);
  const events = sessionEvents(context, {
    sessionId: session.id,
    after,
    reconnectMs: undefined,
    signal: leaving.signal,
    report: (what) => line.status(what),
    onReturn: () => asker.askedIn(session.id),
  });
  using silence = new SilenceNote(context, session.id, line);
  try {
    for await (const event of events) {
      silence.take(event);
      if (!attached.showEvent(event)) break;
    }
  } finally {
    leave(0);
    await asker.idle();
    line.close();
  }
  // A server that is gone cannot say so.
  const waiting = await attached.waiting().catch(() => 0);
  if (waiting > 0)
    context.note(
      `${waiting === 1 ? '1 prompt stays' : `${waiting} prompts stay`} in the queue: see cadre queue list --session ${shortId(session.id)}`,
    );
  context.note(`attach again with cadre sessions attach ${shortId(session.id)}`);
  io.exit(Number(leaving.signal.reason));
}

/** The completions of a typed text: commands of the agent after a slash, else files of the directory of the session. */
async function completionsOf(client: Client, { id, cwd }: Session, typed: string) {
  if (!typed.startsWith('/')) return fileMatches(typed, cwd);
  const commands = await client.call(endpoints.listCommands, { params: { session_id: id } });
  return slashMatches(typed, commands).map(({ name }) => `/${name} `);
}

/** Shows the last turns that have ended. Returns the seq after which the events contain everything else. */
async function showTail(
  context: CommandContext,
  session_id: string,
): Promise<{ session: Session; after: number }> {
  const { io, client, layout, note } = context;
  const { value: session, headers } = await client.ask(endpoints.getSession, {
    params: { session_id },
  });
  const seq = Number(headers['x-seq'] ?? 0);
  const running = session.active_turn_id;
  const { turns, approvals, notices } = await readConversation(client, session, TURNS + 1);
  const ended = turns.filter(({ turn }) => turn.turn_id !== running && turn.ended_at !== null);
  const columns = Number.isFinite(layout.columns) ? layout.columns : 80;
  const shape = { columns, palette: layout.palette, folded: true };
  const lines = conversationLines(conversation(ended.slice(-TURNS), approvals, notices), shape);
  for (const line of lines) io.stdout.write(`${line}\n`);
  const title = shorten(plain(session.title ?? shortId(session_id)), 40);
  note(`${title}: Ctrl-C interrupts a turn, Ctrl-D leaves`);
  await markSeen(context, session_id, seq);
  if (running === null) return { session, after: seq };
  const scope = { sessionId: session_id, kinds: ['turn.accepted'] };
  const [accepted] = await replayBefore(client, scope, seq + 1, 1);
  return { session, after: (accepted?.seq ?? seq + 1) - 1 };
}

function signals(interrupt: () => void, leave: (code: number) => void): Disposable {
  const end = (name: NodeJS.Signals) => leave(LEAVING[name as keyof typeof LEAVING]);
  const ending = Object.keys(LEAVING) as (keyof typeof LEAVING)[];
  process.on('SIGINT', interrupt);
  for (const name of ending) process.on(name, end);
  return {
    [Symbol.dispose]() {
      process.off('SIGINT', interrupt);
      for (const name of ending) process.off(name, end);
    },
  };
}
