import type { Command } from 'commander';
import { type Listing, listAll } from '../../../client/listing.ts';
import { durationText } from '../../terminal/time.ts';
import type { Layout } from '../layout.ts';
import { listedTables } from '../listed-tables.ts';
import { details, mebibytes } from '../output.ts';
import { openScreen } from '../screen.ts';
import { clientAction, type World } from '../world.ts';

/** `cadre top`. */
export function topCommand(program: Command, world: World): void {
  program
    .command('top')
    .description('Show a live view of sessions, approvals and processes')
    .action(
      clientAction(world, async (context) => {
        if (await openScreen(context, { page: 'top' })) return;
        const { client, show, layout } = context;
        const servers = client.servers;
        if (servers) return (await import('../top-of-all.ts')).showAll(context, servers);
        const { server, ...listed } = await listAll(client);
        show({ url: client.url, server, ...listed }, () =>
          describe(client.url, { server, ...listed }, { now: world.clock.now(), layout }),
        );
      }),
    );
}

function describe(
  url: string,
  { server, ...listed }: Omit<Listing, 'seq'>,
  { now, layout }: { now: number; layout: Layout },
) {
  return [
    details(
      {
        server: url,
        status: server.health.status,
        version: server.health.version,
        uptime: durationText(server.health.uptime_ms),
        memory: mebibytes(server.memory.rss_bytes),
        streams: server.streams.followers,
      },
      { layout },
    ),
    ...listedTables(listed, { now, layout }),
  ].join('\n');
}
