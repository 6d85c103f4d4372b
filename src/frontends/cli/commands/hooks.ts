import type { Hook } from '../../../api/hooks.ts';
import { endpoints } from '../../../api/index.ts';
import { oneLine } from '../../../core/lib/plain.ts';
import { durationText } from '../../terminal/time.ts';
import { commandGroup } from '../command.ts';
import { endpointCommand } from '../endpoint-command.ts';
import { count } from '../option-values.ts';
import { valueOf } from '../parameters.ts';
import { exitCodes } from '../exit.ts';
import { ago, listOf } from '../output.ts';

const hook = valueOf('hook_name', '<hook>  Name of the hook in the configuration');

export const hookCommands = commandGroup('hooks', 'Send events to commands and URLs', [
  endpointCommand({
    name: 'list',
    description:
      'List hooks (commands and URLs that receive events), with pending events and the last error',
    endpoint: endpoints.listHooks,
    empty: 'no hooks: add a hook as a [[hooks]] section to the configuration',
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
    description: 'Send a test event to a hook and show the result',
    endpoint: endpoints.testHook,
    parameters: [hook],
    print: ({ ok, error, elapsed_ms }) =>
      ok ? `Delivered in ${elapsed_ms} ms\n` : `Not delivered: ${oneLine(error ?? '')}\n`,
    after({ ok }, io) {
      if (!ok) io.exit(exitCodes.failed);
    },
  }),
  endpointCommand({
    name: 'skip',
    description:
      'Skip the event that a hook repeatedly fails to deliver, or all pending events of the hook',
    endpoint: endpoints.skipHook,
    parameters: [
      hook,
      {
        line: '--event <seq>  Skip only the event with this sequence number (if another event is next, skip nothing)',
        parse: count,
        field: 'event_seq',
      },
      '--all  Skip all pending events of the hook',
    ],
    print: ({ name, after_seq, up_to_seq }) =>
      after_seq === up_to_seq
        ? `No events are pending for hook "${name}"\n`
        : `Skipped hook "${name}" to event ${up_to_seq}\n`,
  }),
]);

function waitingText({ waiting, waiting_since }: Hook, now: number): string {
  if (waiting === 0 || waiting_since === null) return String(waiting);
  return `${waiting}${waiting === 1000 ? '+' : ''}, ${ago(waiting_since, now)}`;
}

function noteOn({ problem, failure, gap, slowed_since }: Hook, now: number): string {
  const notes = [
    problem,
    failure &&
      `${failure.error} (tried ${times(failure.attempts)}, next try ${whenIn(failure.retry_at, now)})`,
    gap && `events up to ${gap.trimmed_seq} were removed by retention before delivery`,
    slowed_since === null ? null : 'throttled: the hook may trigger itself',
  ];
  return notes.filter((note) => note !== null).join('; ') || '-';
}

function times(count: number): string {
  return count === 1 ? 'once' : `${count} times`;
}

function whenIn(at: number, now: number): string {
  return at <= now ? 'now' : `in ${durationText(at - now)}`;
}
