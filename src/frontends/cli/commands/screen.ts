import { clientCommand } from '../command.ts';
import { commandOn } from '../command-on.ts';
import { serversOf } from '../../../client/routed.ts';
import type { Command } from 'commander';
import { endpoints } from '../../../api/index.ts';
import type { Client } from '../../../client/client.ts';
import { oneLine } from '../../../core/lib/plain.ts';
import { isUnreachable } from '../../../api/errors.ts';
import { askedServers, serverDirectory, type GlobalOptions } from '../context.ts';
import { exitCodes } from '../exit.ts';
import { matches } from '../find.ts';
import { approvals, processes, sessions } from '../record-kinds.ts';
import { openScreen } from '../screen.ts';
import { clientAction, terminalOf, type CommandIo } from '../command-io.ts';
import { type Listing, listAll } from '../../../client/listing.ts';
import { durationText } from '../../terminal/time.ts';
import type { Layout } from '../layout.ts';
import { listedTables } from '../listed-tables.ts';
import { details, mebibytes } from '../output.ts';

interface HomeOptions extends GlobalOptions {
  select?: string;
}

/** `cadre` alone, on a terminal: opens the screen. Where no server runs it offers to start one. */
export function homeCommand(program: Command, io: CommandIo): void {
  program.action(async (options: HomeOptions) => {
    const known = await answeringServer(io, options);
    if (!known && !(await offerServer(io, options))) return;
    const connect = async () => known ?? io.connect(options);
    const open = clientAction({ ...io, connect }, async (context) => {
      const start = await startFor(context.client, options.select);
      await openScreen(context, { page: 'top', ...start }, known !== null);
    });
    await open(program);
  });
}

/** Finds the row that the screen selects first by an id, the end of an id or a title; without one, a notice says so. */
async function startFor(
  client: Client,
  reference: string | undefined,
): Promise<{ select?: string; notice?: string }> {
  if (reference === undefined) return {};
  const found = [
    ...(await matches(sessions, client, reference)).map(({ id }) => id),
    ...(await matches(approvals, client, reference, 'pending')).map(({ id }) => id),
    ...(await matches(processes, client, reference)).map(({ process_id }) => process_id),
  ];
  const [select] = found;
  if (select !== undefined) return { select };
  return {
    notice: `--select: no session, process or approval request "${oneLine(reference)}" found`,
  };
}

/** A server that answers; null where none does. Throws what `connect` throws, unless it can be helped by starting one. */
async function answeringServer(io: CommandIo, options: HomeOptions): Promise<Client | null> {
  let client: Client | undefined;
  try {
    client = await io.connect(options);
    // The screen shows which of several servers answer.
    if (!serversOf(client)) await client.call(endpoints.getVersion, {});
    return client;
  } catch (error) {
    client?.close();
    if (!isUnreachable(error) || (await askedServers(options, io.env)).kind !== 'local')
      throw error;
    return null;
  }
}

/** Asks whether a server shall be started, and starts it. False where the user leaves instead. */
async function offerServer(io: CommandIo, options: HomeOptions): Promise<boolean> {
  const terminal = terminalOf(io);
  if (!terminal) return false;
  const directory = await serverDirectory(options, io.env);
  const { offerServerStart } = await import('../../tui/start-offer.tsx');
  const { ServerStart } = await import('../server-start.ts');
  const { findConfig } = await import('../../../core/config/load.ts');
  const { originOf } = findConfig(options, io.env);
  const freePort = originOf('server.bind_address') === 'default';
  const start = new ServerStart(io, { ...options, freePort }, directory);
  const signal = io.interrupted();
  const { isStarted, interrupted } = await offerServerStart({
    ...terminal,
    env: io.env,
    signal,
    directory,
    log: start.log,
    stopCommand: commandOn('stop', options),
    start: async (isDemo) => void (await start.run(isDemo)),
  });
  if (signal.aborted) io.exit(Number(signal.reason));
  else if (interrupted) io.exit(exitCodes.interrupted);
  return isStarted;
}

export const topCommand = clientCommand({
  name: 'top',
  description: 'Show a live view of sessions, approvals and processes',
  run: async (context) => {
    if (await openScreen(context, { page: 'top' })) return;
    const { client, show, layout, io } = context;
    const servers = serversOf(client);
    if (servers) return (await import('../top-of-all.ts')).showAll(context, servers);
    const { server, ...listed } = await listAll(client);
    show({ url: client.url, server, ...listed }, () =>
      describe(client.url, { server, ...listed }, { now: io.clock.now(), layout }),
    );
  },
});

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
