import type { Command } from 'commander';
import { endpoints } from '../../api/index.ts';
import type { GlobalOptions } from '../context.ts';
import { details } from '../output.ts';
import { show, type World } from '../world.ts';

/** `cadre status`. */
export function statusCommand(program: Command, world: World): void {
  program
    .command('status')
    .description('how the server is doing')
    .action(async (_options: object, command: Command) => {
      const global = command.optsWithGlobals<GlobalOptions>();
      const client = await world.connect(global);
      const found = await client.call(endpoints.getDiagnostics, {});
      show(world, global, found, () =>
        details({
          server: client.url,
          status: found.health.status,
          version: found.health.version,
          uptime: `${Math.round(found.health.uptime_ms / 1000)} s`,
          events: found.storage.latest_seq,
          agents: found.children.live,
          followers: found.streams.followers,
          ...Object.fromEntries(found.providers.map(({ id, detail }) => [id, detail])),
        }),
      );
      client.close();
    });
}
