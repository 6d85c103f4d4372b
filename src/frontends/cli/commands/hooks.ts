import type { Hook } from '../../../api/hooks.ts';
import { endpoints } from '../../../api/index.ts';
import { AppError } from '../../../api/errors.ts';
import { oneLine } from '../../../core/lib/plain.ts';
import { durationText } from '../../terminal/time.ts';
import { commandGroup, endpointCommand } from '../endpoint-command.ts';
import { exitCodes } from '../exit.ts';
import { ago, listOf } from '../output.ts';

const hook = {
  flags: '<hook>',
  description: 'its name in the configuration',
  field: 'hook_name',
} as const;

/** `cadre hooks …`: who is told of events. */
export const hookCommands = commandGroup(
  'hooks',
  'commands and addresses that are told of events',
  [
    endpointCommand({
      name: 'list',
      description: 'list the hooks, how far behind each is, and what went wrong last',
      endpoint: endpoints.listHooks,
      empty: 'no hooks: [[hooks]] in the configuration makes them',
      print: listOf<Hook>(
        ['NAME', 'STATE', 'WAITING', 'DELIVERED', 'LAST', 'TO', 'NOTE'],
        (one, now) => [
          one.name,
          one.state,
          waitingText(one, now),
          String(one.delivered),
          one.delivered_at === null ? '-' : ago(one.delivered_at, now),
          one.target,
          oneLine(noteOn(one, now)),
        ],
      ),
    }),
    endpointCommand({
      name: 'test',
      description: 'give a hook an example of an event now, and say what came of it',
      endpoint: endpoints.testHook,
      operands: [hook],
      print: ({ ok, error, elapsed_ms }) =>
        ok ? `delivered in ${elapsed_ms} ms\n` : `not delivered: ${oneLine(error ?? '')}\n`,
      after({ ok }, world) {
        if (!ok) world.exit(exitCodes.failed);
      },
    }),
    endpointCommand({
      name: 'skip',
      description: 'have a hook never be given the event that it waits with, or all that wait',
      endpoint: endpoints.skipHook,
      operands: [hook],
      options: [
        {
          flags: '--event <seq>',
          description: 'only if it waits with this event',
          read: (seq: string) => ({ event_seq: seqOf(seq) }),
        },
        { flags: '--all', description: 'all that have happened up to now', field: 'all' },
      ],
      print: ({ name, after_seq, up_to_seq }) =>
        after_seq === up_to_seq
          ? `nothing waits for hook "${name}"\n`
          : `hook "${name}" goes on after event ${up_to_seq}\n`,
    }),
  ],
);

function waitingText({ waiting, waiting_since }: Hook, now: number): string {
  if (waiting === 0 || waiting_since === null) return String(waiting);
  return `${waiting}${waiting === 1000 ? '+' : ''}, ${ago(waiting_since, now)}`;
}

/** What a person has to know of a hook. */
function noteOn({ problem, failure, gap, slowed_since }: Hook, now: number): string {
  const notes = [
    problem,
    failure &&
      `${failure.error} (tried ${times(failure.attempts)}, again ${whenIn(failure.retry_at, now)})`,
    gap && `retention took events up to ${gap.trimmed_seq} before it was given them`,
    slowed_since === null ? null : 'slowed down: it may trigger itself',
  ];
  return notes.filter((note) => note !== null).join('; ') || '-';
}

function times(count: number): string {
  return count === 1 ? 'once' : `${count} times`;
}

function whenIn(at: number, now: number): string {
  return at <= now ? 'now' : `in ${durationText(at - now)}`;
}

function seqOf(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new AppError('usage', `--event: "${text}" is no number of an event`);
}
