import { endpoints } from '../../../api/index.ts';
import { commandGroup, type Register } from '../command.ts';
import { endpointCommand } from '../endpoint-command.ts';
import { details } from '../output.ts';

export const diagnosticsCommands = commandGroup(
  'diagnostics',
  'Show the state of the server in detail',
  [
    endpointCommand({
      name: 'all',
      description: 'Show all diagnostics of the server',
      endpoint: endpoints.getDiagnostics,
      print: details,
    }),
    endpointCommand({
      name: 'recovery',
      description: 'Show the problems that the server found and repaired when it last started',
      endpoint: endpoints.getRecovery,
      print: details,
    }),
    endpointCommand({
      name: 'providers',
      description: 'Show the state of all providers and agents',
      endpoint: endpoints.getProviderDiagnostics,
      print: (found, call) => found.map((one) => details(one, call)).join('\n'),
    }),
    endpointCommand({
      name: 'processes',
      description: 'Show the number of processes by status',
      endpoint: endpoints.getProcessDiagnostics,
      print: details,
    }),
    endpointCommand({
      name: 'worktrees',
      description: 'Show the number of worktrees by status',
      endpoint: endpoints.getWorktreeDiagnostics,
      print: details,
    }),
    endpointCommand({
      name: 'comms',
      description: 'Count the teams, team messages and message deliveries',
      endpoint: endpoints.getCommsDiagnostics,
      print: details,
    }),
    endpointCommand({
      name: 'storage',
      description: 'Show the size of the stored data, and the storage limits of the server',
      endpoint: endpoints.getStorageDiagnostics,
      print: details,
    }),
  ],
);

export const metricsCommand: Register = endpointCommand({
  name: 'metrics',
  description: 'Print the metrics of the server in Prometheus format',
  endpoint: endpoints.getMetrics,
  document: metricsDocument,
  print: (text) => text,
});

/** A metric of a server, with a sample for each set of labels. */
interface Metric {
  name: string;
  type: string | null;
  help: string | null;
  samples: { name: string; labels: Record<string, string>; value: number | string }[];
}

/** The metrics in a text of Prometheus. A value that JSON has no number for, such as NaN, stays a text. */
export function metricsDocument(text: string): Metric[] {
  const metrics: Metric[] = [];
  const metricOf = (name: string) => {
    const last = metrics.at(-1);
    if (last?.name === name) return last;
    const metric: Metric = { name, type: null, help: null, samples: [] };
    metrics.push(metric);
    return metric;
  };
  for (const line of text.split('\n')) {
    const [, key, about, rest = ''] = /^# (HELP|TYPE) (\S+) ?(.*)$/.exec(line) ?? [];
    if (about !== undefined) metricOf(about)[key === 'HELP' ? 'help' : 'type'] = rest;
    const [, name, labels = '', value] = /^(\w[\w:]*)(?:\{(.*)\})? (\S+)/.exec(line) ?? [];
    if (name === undefined || value === undefined) continue;
    const { name: last = '' } = metrics.at(-1) ?? {};
    const isPart = name.replace(/_(bucket|sum|count)$/, '') === last;
    const number = Number(value);
    metricOf(isPart ? last : name).samples.push({
      name,
      labels: labelsIn(labels),
      value: Number.isFinite(number) ? number : value,
    });
  }
  return metrics;
}

function labelsIn(text: string): Record<string, string> {
  const pairs = text.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g);
  return Object.fromEntries(
    Array.from(pairs, ([, name = '', value = '']) => [name, JSON.parse(`"${value}"`) as string]),
  );
}
