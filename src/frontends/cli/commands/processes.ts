import { endpoints } from '../../../api/index.ts';
import type { Process } from '../../../api/processes.ts';
import { commandGroup, endpointCommand } from '../endpoint-command.ts';
import { ago, details, labelOf, listOf, shortId } from '../output.ts';
import { limit, process, reason, sessionAs } from '../parameters.ts';
import { durationText } from '../../terminal/time.ts';
import { statusText } from '../process-text.ts';
import { processLogs } from './process-logs.ts';
import { processRun } from './process-run.ts';
import { processWait } from './process-wait.ts';

/** `cadre processes …`. */
export const processCommands = commandGroup(
  'processes',
  'Run commands on the server, and show their output',
  [
    processRun,
    endpointCommand({
      name: 'list',
      alias: 'ps',
      description: 'List processes, newest first',
      endpoint: endpoints.listProcesses,
      options: [
        sessionAs('session_id', '--session <session>', 'Show only processes of this session'),
        {
          flags: '-s, --status <status>',
          description: 'Show only processes with this status',
          field: 'status',
        },
        limit,
      ],
      empty: 'no processes: start a process with cadre processes run COMMAND',
      print: listOf<Process>(
        ['ID', 'STATUS', 'EXIT', 'AGE', 'RAN', 'SESSION', 'COMMAND'],
        (one, now) => [
          shortId(one.process_id),
          one.status,
          one.exit_code === null ? (one.signal ?? '-') : String(one.exit_code),
          ago(one.queued_at, now),
          one.started_at === null ? '-' : ago(one.started_at, one.ended_at ?? now),
          one.session_id === null ? '-' : shortId(one.session_id),
          one.command,
        ],
      ),
    }),
    endpointCommand({
      name: 'show',
      alias: 'get',
      description: 'Show the state of a process',
      endpoint: endpoints.getProcess,
      operands: [process],
      print: (process, shown) => details(withLimit(process), shown),
    }),
    processLogs,
    processWait,
    endpointCommand({
      name: 'stop',
      alias: 'kill',
      description: 'Stop a process and all its child processes',
      endpoint: endpoints.killProcess,
      operands: [process],
      options: [reason],
      confirm: (said) => `stop process "${said}" and its child processes?`,
      document: ({ process }) => process,
      print: ({ process }) =>
        process.ended_at === null
          ? `Stopping process ${labelOf(process.process_id, process.command)}\n`
          : `Process ${labelOf(process.process_id, process.command)} had already exited: ${statusText(process)}\n`,
    }),
    endpointCommand({
      name: 'restart',
      description: 'Stop a process, and run the command of the process again as a new process',
      endpoint: endpoints.restartProcess,
      operands: [process],
      document: ({ process }) => process,
      print: ({ process }) => `${process.process_id}\n`,
    }),
  ],
);

/** A process as people see it: with its time limit in words. */
function withLimit({ timeout_ms, ...process }: Process): object {
  return { ...process, time_limit: timeout_ms === 0 ? 'none' : durationText(timeout_ms) };
}
