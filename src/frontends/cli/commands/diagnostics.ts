import { endpoints } from '../../../api/index.ts';
import { commandGroup, endpointCommand, type Register } from '../endpoint-command.ts';
import { details } from '../output.ts';

/** `cadre diagnostics …`. */
export const diagnosticsCommands = commandGroup('diagnostics', 'how the server is, part by part', [
  endpointCommand({
    name: 'all',
    description: 'everything at once',
    endpoint: endpoints.getDiagnostics,
    print: details,
  }),
  endpointCommand({
    name: 'recovery',
    description: 'what the last start found and mended',
    endpoint: endpoints.getRecovery,
    print: details,
  }),
  endpointCommand({
    name: 'providers',
    description: 'how each provider is, and its agents',
    endpoint: endpoints.getProviderDiagnostics,
    print: (found, call) => found.map((one) => details(one, call)).join('\n'),
  }),
  endpointCommand({
    name: 'processes',
    description: 'how many processes run, wait and ended how',
    endpoint: endpoints.getProcessDiagnostics,
    print: details,
  }),
  endpointCommand({
    name: 'worktrees',
    description: 'how many worktrees there are, by status',
    endpoint: endpoints.getWorktreeDiagnostics,
    print: details,
  }),
  endpointCommand({
    name: 'comms',
    description: 'how many teams, messages and deliveries there are',
    endpoint: endpoints.getCommsDiagnostics,
    print: details,
  }),
  endpointCommand({
    name: 'storage',
    description: 'how much is stored, and how much may be',
    endpoint: endpoints.getStorageDiagnostics,
    print: details,
  }),
]);

/** `cadre metrics`. */
export const metricsCommand: Register = endpointCommand({
  name: 'metrics',
  description: 'the figures of the server, as Prometheus reads them',
  endpoint: endpoints.getMetrics,
  print: (text) => text,
});
