import { listEach, type ServerState } from '../../client/list-each.ts';
import type { Servers } from '../../client/servers.ts';
import { durationText } from '../terminal/time.ts';
import type { Layout } from './layout.ts';
import { listedTables } from './listed-tables.ts';
import { ago, mebibytes, table } from './output.ts';
import type { CommandContext } from './command-io.ts';

/** `cadre top` of several servers, without a screen. */
export async function showAll(
  { io, show, layout }: CommandContext,
  servers: Servers,
): Promise<void> {
  const states = await listEach(servers);
  sayWhoIsAway(states, io);
  const listed = {
    sessions: states.flatMap((state) => withServer(state, state.sessions)),
    approvals: states.flatMap((state) => withServer(state, state.approvals)),
    processes: states.flatMap((state) => withServer(state, state.processes)),
  };
  const document = { servers: states.map(recordOf), ...listed };
  const at = { now: io.clock.now(), layout };
  show(document, () => [serverTable(states, at), ...listedTables(listed, at)].join('\n'));
}

/** `cadre status` of several servers. */
export async function showStatus(
  { io, show, layout }: CommandContext,
  servers: Servers,
): Promise<void> {
  const states = await listEach(servers);
  sayWhoIsAway(states, io);
  show(states.map(recordOf), () => serverTable(states, { now: io.clock.now(), layout }));
}

function sayWhoIsAway(states: readonly ServerState[], { stderr }: CommandContext['io']): void {
  for (const { entry } of states)
    if (!entry.client) stderr.write(`cadre: ${entry.detail ?? `${entry.name} is unreachable`}\n`);
}

function recordOf({ entry: { name, url, state, detail }, server, at }: ServerState) {
  return { node: name, url, state, detail, last_known_at: at, server };
}

/** Records with the name of their server, and if the server does not answer, with the time when they were read. */
function withServer<T extends object>(
  { entry, at }: ServerState,
  records: readonly T[],
): (T & { node: string })[] {
  const known = at === null ? {} : { last_known_at: at };
  return records.map((one) => ({ node: entry.name, ...one, ...known }));
}

function serverTable(
  states: readonly ServerState[],
  { now, layout }: { now: number; layout: Layout },
): string {
  return table(
    ['NODE', 'STATUS', 'SESSIONS', 'APPROVALS', 'UPTIME', 'MEMORY', 'VERSION', 'URL'],
    states.map(({ entry, server, at, sessions, approvals }) => [
      entry.name,
      server?.health.status ?? 'unreachable',
      String(sessions.length),
      String(approvals.length),
      server
        ? durationText(server.health.uptime_ms)
        : at === null
          ? '-'
          : `seen ${ago(at, now)} ago`,
      server ? mebibytes(server.memory.rss_bytes) : '-',
      server?.health.version ?? '-',
      entry.url,
    ]),
    layout,
  );
}
