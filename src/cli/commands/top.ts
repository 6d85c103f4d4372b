import type { Command } from 'commander';
import { type Listing, listAll } from '../../client/listing.ts';
import { durationText } from '../../terminal/time.ts';
import type { Layout } from '../layout.ts';
import { ago, details, mebibytes, shortId, table } from '../output.ts';
import { openScreen } from '../screen.ts';
import { clientAction, type World } from '../world.ts';

/** `cadre top`. */
export function topCommand(program: Command, world: World): void {
  program
    .command('top')
    .description('what goes on, as it goes on: sessions, what waits for an answer, processes')
    .action(
      clientAction(world, async (context) => {
        if (await openScreen(context, { page: 'top' })) return;
        const { client, show, layout } = context;
        const { server, ...listed } = await listAll(client);
        show({ url: client.url, server, ...listed }, () =>
          describe(client.url, { server, ...listed }, { now: world.clock.now(), layout }),
        );
      }),
    );
}

function describe(
  url: string,
  { server, sessions, approvals, processes }: Listing,
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
    table(
      ['WAITS', 'SESSION', 'KIND', 'AGE', 'TITLE'],
      approvals.map(({ id, session_id, kind, created_at, title }) => [
        shortId(id),
        shortId(session_id),
        kind,
        ago(created_at, now),
        title,
      ]),
      layout,
    ),
    table(
      ['SESSION', 'PROVIDER', 'STATUS', 'AGE', 'ACTIVE', 'TITLE', 'CWD'],
      sessions.map(({ id, provider, status, created_at, last_activity_at, title, cwd }) => [
        shortId(id),
        provider,
        status,
        ago(created_at, now),
        ago(last_activity_at, now),
        title ?? '-',
        cwd,
      ]),
      layout,
    ),
    table(
      ['PROCESS', 'STATUS', 'AGE', 'COMMAND'],
      processes.map(({ process_id, status, queued_at, command }) => [
        shortId(process_id),
        status,
        ago(queued_at, now),
        command,
      ]),
      layout,
    ),
  ].join('\n');
}
