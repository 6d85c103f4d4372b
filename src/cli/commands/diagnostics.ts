import type { Command } from 'commander';
import { endpoints } from '../../api/index.ts';
import { details } from '../output.ts';
import { clientAction, type World } from '../world.ts';

/** What can be asked for by itself, and what it tells. */
const parts = {
  recovery: ['what the last start found and mended', endpoints.getRecovery],
  providers: ['how each provider is, and its agents', endpoints.getProviderDiagnostics],
  processes: ['how many processes run, wait and ended how', endpoints.getProcessDiagnostics],
  worktrees: ['how many worktrees there are, by status', endpoints.getWorktreeDiagnostics],
  comms: ['how many teams, messages and deliveries there are', endpoints.getCommsDiagnostics],
  storage: ['how much is stored, and how much may be', endpoints.getStorageDiagnostics],
} as const;

/** `cadre diagnostics …`. */
export function diagnosticsCommands(program: Command, world: World): void {
  const diagnostics = program.command('diagnostics').description('how the server is, part by part');
  diagnostics
    .command('all')
    .description('everything at once')
    .action(
      clientAction(world, async ({ client, show }) => {
        const found = await client.call(endpoints.getDiagnostics, {});
        show(found, () => details(found));
      }),
    );
  for (const [name, [description, endpoint]] of Object.entries(parts))
    diagnostics
      .command(name)
      .description(description)
      .action(
        clientAction(world, async ({ client, show }) => {
          const found: Record<string, unknown> | Record<string, unknown>[] = await client.call(
            endpoint,
            {},
          );
          show(found, () => [found].flat().map(details).join('\n'));
        }),
      );
}

/** `cadre metrics`. */
export function metricsCommand(program: Command, world: World): void {
  program
    .command('metrics')
    .description('the figures of the server, as Prometheus reads them')
    .action(
      clientAction(world, async ({ client, show }) => {
        const text = await client.call(endpoints.getMetrics, {});
        show(text, () => text);
      }),
    );
}
