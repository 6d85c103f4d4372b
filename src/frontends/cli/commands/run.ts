import path from 'node:path';
import type { Command } from 'commander';
import { endpoints } from '../../../api/index.ts';
import { isAppError, usageError } from '../../../api/errors.ts';
import type { Goal } from '../../../api/goals.ts';
import { shorten } from '../../../core/lib/shorten.ts';
import { command } from '../command.ts';
import { sessionId } from '../find.ts';
import { plain, shortId } from '../output.ts';
import { type FollowOptions, followOptions } from '../session/follow-options.ts';
import { followTurn } from '../session/follow-turn.ts';
import { idempotencyKey } from '../option-values.ts';
import { promptHistory } from '../session/defaults.ts';
import { latestHere } from '../session/latest.ts';
import { type OpenOptions, openBody, openOptions } from '../session/open-session.ts';
import { promptParameters, readInput } from '../session/prompt.ts';
import { sendTurn } from '../session/send.ts';
import { turnSettings } from '../turn-settings.ts';
import {
  assertNoGoalOptions,
  goalBody,
  type GoalOptions,
  goalOptions,
} from './session-conditions.ts';
import { clientAction, type CommandContext } from '../command-io.ts';
import type { InputItem } from '../../../api/input.ts';

interface RunOptions extends OpenOptions, FollowOptions, GoalOptions {
  image: string[];
  continue?: boolean;
  session?: string;
  until?: string;
  template?: string;
  /** The name of the team of a template, which the new session joins. */
  team?: string;
  key?: string;
}

/** `cadre run "text"`: sends one turn to a new session, or to an earlier one, and streams it. */
export const runCommand = command({
  name: 'run',
  description: 'Send a prompt to an agent and stream its answer',
  parameters: [
    ...promptParameters,
    '-c, --continue  Continue the latest session in the current directory, or in a worktree of the same repository',
    '--session <session>  Send the prompt to this session instead of a new session',
    ...openOptions,
    '--template <template>  Template of the repository to use as the prompt (pass variables of the template as NAME=VALUE; if the template names a team, the session joins the team)',
    {
      line: '--key <key>  Key that makes the command safe to repeat: for 24 hours, the same key gives the same session and turn',
      parse: idempotencyKey,
    },
    '--until <command>  Shell command line that is checked after each turn; while it fails, its output is sent as the next prompt',
    ...goalOptions(', requires --until'),
    ...followOptions,
  ],
  action: (io) => async (words: string[], options: RunOptions, self: Command) => {
    if (options.template !== undefined) {
      const send = (context: CommandContext) => runTemplate(context, words, options);
      return clientAction(io, send)(self);
    }
    // Before the server is looked for, because without a prompt there is nothing to ask of it.
    const typed = untangled(words, options);
    const input = await readInput(typed.words, typed.options, io);
    const send = (context: CommandContext) => run(context, input, typed.options);
    await clientAction(io, send)(self);
  },
});

/** The words and the options. `--worktree "fix the login"` is a text: no name of a worktree has white space. */
function untangled(words: string[], options: RunOptions): { words: string[]; options: RunOptions } {
  const { worktree } = options;
  const isText = typeof worktree === 'string' && /\s/.test(worktree) && words.length === 0;
  return isText
    ? { words: [worktree], options: { ...options, worktree: true } }
    : { words, options };
}

async function runTemplate(
  context: CommandContext,
  words: readonly string[],
  flags: RunOptions,
): Promise<void> {
  const { template: name = '', cwd: directory = '.' } = flags;
  assertNewSession(flags);
  const [{ optionsWith }, { useTemplate }] = await Promise.all([
    import('../template.ts'),
    import('../session/use-template.ts'),
  ]);
  const template = await useTemplate(context, { directory, name, words });
  const input = await readInput([template.prompt], flags, context.io);
  await run(context, input, optionsWith(template, flags));
}

async function run(
  context: CommandContext,
  input: InputItem[],
  options: RunOptions,
): Promise<void> {
  if (options.until === undefined) assertNoGoalOptions(options, '--until');
  const earlier = await earlierSession(context, options);
  const session_id = earlier ?? (await open(context, options));
  const turnOnly = earlier === null ? {} : turnSettings(options);
  const sending = sendWithGoal(context, session_id, { input, ...turnOnly }, options);
  const { goal, accepted } = await sending.catch(async (error: unknown) => {
    const isRefused = isAppError(error, 'invalid');
    // Nothing was sent to the new session. With a key, the command can be repeated in that session.
    if (isRefused && earlier === null && options.key === undefined)
      await closeUnused(context, session_id);
    throw error;
  });
  if (options.template === undefined) await keepPrompt(context, input);
  await followTurn(context, accepted, options, goal);
  const short = shortId(session_id);
  context.note(
    `continue with cadre run --session ${short} TEXT, or cadre sessions attach ${short}`,
  );
}

async function sendWithGoal(
  context: CommandContext,
  session_id: string,
  body: Parameters<typeof sendTurn>[2],
  options: RunOptions,
) {
  const goal = await setGoal(context, session_id, options);
  try {
    return { goal, accepted: await sendTurn(context, session_id, body, keyFor('turn', options)) };
  } catch (error) {
    // With a key, the command can be repeated, and then sends the turn for the goal.
    if (goal && options.key === undefined)
      await context.client
        .call(endpoints.cancelGoal, { params: { session_id } })
        .catch(() => undefined);
    throw error;
  }
}

async function closeUnused({ client }: CommandContext, session_id: string): Promise<void> {
  const body = { reason: 'the prompt was refused' };
  await client
    .call(endpoints.closeSession, { params: { session_id }, body })
    .catch(() => undefined);
}

/** Sets the goal before the turn is sent, so that the end of the turn is checked. */
async function setGoal(
  { client }: CommandContext,
  session_id: string,
  { until, ...options }: RunOptions,
): Promise<Goal | null> {
  if (until === undefined) return null;
  const input = { params: { session_id }, body: goalBody(until, options) };
  return client.call(endpoints.setGoal, input, undefined, keyFor('goal', options));
}

/** The Idempotency-Key of one request of the command. */
function keyFor(
  step: 'session' | 'team' | 'goal' | 'turn',
  { key }: RunOptions,
): string | undefined {
  return key === undefined ? undefined : `${key}.${step}`;
}

/** Keeps what a person has typed; a script types nothing. */
async function keepPrompt(context: CommandContext, input: readonly InputItem[]): Promise<void> {
  if (!context.io.stdin.isTTY) return;
  const [first] = input;
  if (first?.type === 'text') (await promptHistory(context))?.add(first.text);
}

/**
 * The earlier session of the prompt; null for a new session. Throws `usage` for options that apply only to a new
 * session.
 */
async function earlierSession(
  { client, note, io }: CommandContext,
  options: RunOptions,
): Promise<string | null> {
  const { session, cwd = '.' } = options;
  if (session === undefined && !options.continue) return null;
  if (session !== undefined && options.continue)
    throw usageError('pass either --continue or --session, not both');
  assertNewSession(options);
  if (session !== undefined) return sessionId(client, session);
  const here = path.resolve(io.cwd(), cwd);
  const { id, title, cwd: there } = await latestHere(client, here);
  const elsewhere = there === here ? '' : ` in ${there}`;
  note(plain(`continuing session "${shorten(title ?? '', 40)}" (${shortId(id)})${elsewhere}`));
  return id;
}

/** Throws `usage` for options that apply only to a new session, if an earlier one is named. */
function assertNewSession(options: RunOptions): void {
  if (options.session === undefined && !options.continue) return;
  const onlyForNew = ['provider', 'agent', 'title', 'worktree', 'template'] as const;
  const misplaced = onlyForNew.find((name) => options[name] !== undefined);
  if (misplaced !== undefined)
    throw usageError(
      `--${misplaced} applies only to a new session: leave the option out, or start a new session`,
    );
}

async function open(context: CommandContext, options: RunOptions): Promise<string> {
  const { modeLimit: wanted, permissionMode } = options;
  const body = await openBody(context, options);
  const { permission_mode: mode = null } = body;
  if (wanted !== undefined && permissionMode === undefined && mode !== wanted)
    context.io.stderr.write(
      `cadre: the permission mode is ${mode ?? 'not set'}, because a template can only make it stricter: pass --permission-mode ${wanted} for the mode of the template\n`,
    );
  const key = keyFor('session', options);
  const { id } = await context.client.call(endpoints.createSession, { body }, undefined, key);
  if (options.team !== undefined) {
    const { joinTeam } = await import('../session/use-template.ts');
    await joinTeam(context, id, options.team, keyFor('team', options));
  }
  return id;
}
