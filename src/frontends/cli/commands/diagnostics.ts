import { endpoints } from '../../../api/index.ts';
import { commandGroup, endpointCommand, type Register } from '../endpoint-command.ts';
import { metricsDocument } from '../metrics-document.ts';
import { details } from '../output.ts';

/** `cadre diagnostics …`. */
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

/** `cadre metrics`. */
export const metricsCommand: Register = endpointCommand({
  name: 'metrics',
  description: 'Print the metrics of the server in Prometheus format',
  endpoint: endpoints.getMetrics,
  document: metricsDocument,
  print: (text) => text,
});
