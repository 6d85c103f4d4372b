import type { FleetUserAccess } from '../../../core/config/fleet.ts';
import { usageError } from '../../../api/errors.ts';
import type { NatsStatus, FleetNode } from '../../../fleet/index.ts';
import { commandGroup, localCommand, repeatable } from '../command.ts';
import type { GlobalOptions } from '../context.ts';
import { details, listOf, mebibytes } from '../output.ts';
import { listOptions } from '../output-options.ts';
import type { LocalContext, CommandIo } from '../command-io.ts';
import path from 'node:path';
import { newUuid } from '../../../core/lib/ids.ts';
import { count } from '../option-values.ts';

const credentialsOption =
  '--credentials <file>  Key file of the fleet administrator (default: fleet.person.credentials in the configuration)';

export const fleetCommands = commandGroup(
  'fleet',
  'Combine cadre servers on several machines (over NATS)',
  [
    localCommand({
      name: 'init',
      description:
        'Create the NATS stream and buckets for a fleet of servers, or print the NATS configuration',
      parameters: [
        {
          line: '--replicas <n>  Number of NATS servers that store each event: 1 or 3 (default: 3 with at least three NATS addresses, otherwise 1)',
          parse: count,
        },
        {
          line: '--max-bytes <n>  Maximum size of the stored events in bytes (above this size, the fleet deletes the oldest events)',
          parse: count,
          default: 4 * 1024 ** 3,
        },
        '--print-nats-config  Print the configuration of the NATS servers and create missing keys, but do not create the fleet',
        {
          line: '--keys <directory>  Directory with the key files of the fleet (cadre creates missing keys)',
          default: 'fleet-keys',
        },
        credentialsOption,
        repeatable(
          '--host <host>  Host that runs a NATS server (repeat the option for three hosts)',
        ),
        repeatable(
          '--node <name>  Name of a cadre server in the fleet (repeat the option for more servers)',
        ),
        repeatable(
          '--person <name>  Name of a user with full access to the fleet (repeat the option for more users)',
        ),
        repeatable(
          '--reader <name>  Name of a user with read access to the fleet (repeat the option for more users)',
        ),
        {
          line: '--tls-dir <directory>  Directory with the TLS certificates on each NATS host',
          default: '/etc/nats/tls',
        },
        {
          line: '--store-dir <directory>  Directory for the data of NATS on each NATS host',
          default: '/var/lib/nats',
        },
      ],
      run: (context: LocalContext<InitOptions>) =>
        context.global.printNatsConfig ? printConfig(context) : createFleet(context),
    }),
    localCommand({
      name: 'status',
      description: 'Show the state of the NATS servers of the fleet',
      run: async ({ io, global, show, layout }) => {
        const { natsStatus, fleetNodes } = await import('../../../fleet/index.ts');
        const found = await onFleet(global, io, async ({ connection, names }) => {
          const nodes = await fleetNodes(connection, names);
          const engine = await natsStatus(connection, names);
          const alive = nodes.filter(({ state }) => state === 'alive').length;
          const not_mirrored = nodes.flatMap(({ node, mirror, detail }) =>
            mirror === 'off' || mirror === 'failing' ? { node, mirror, detail } : [],
          );
          return { fleet: names.fleet, ...engine, nodes: nodes.length, alive, not_mirrored };
        });
        show(found, () => details(statusFields(found), { layout }));
      },
    }),
    localCommand({
      name: 'nodes',
      description: 'List the nodes (cadre servers) of the fleet, including offline nodes',
      parameters: listOptions,
      run: async ({ io, global, show, layout }) => {
        const { fleetNodes } = await import('../../../fleet/index.ts');
        const found = await onFleet(global, io, ({ connection, names }) =>
          fleetNodes(connection, names),
        );
        show(found, () => nodeTable(found, { now: io.clock.now(), layout }));
      },
      commands: [
        localCommand({
          name: 'replace',
          description:
            'Make the name of a lost node (cadre server) available for a new node (requires the admin key)',
          parameters: [
            '<name>  Name of the node (cadre server of the fleet)',
            '--yes  Confirm the command (required)',
            credentialsOption,
          ],
          async run({ io, global, show }, name: string, { yes, credentials }: ReplaceOptions) {
            if (yes !== true)
              throw usageError(
                `the fleet loses the event log of node "${name}" when a new server with this name starts: pass --yes to confirm`,
              );
            const fleet = await import('../../../fleet/index.ts');
            const as = credentials === undefined ? {} : { name: fleet.ADMIN, credentials };
            const replaced = await onFleet(
              global,
              io,
              ({ connection, names }) => fleet.replaceNode(connection, names, name),
              as,
            );
            show({ node: name, replaced }, () =>
              replaced === null
                ? `Node name ${name} was already free\n`
                : `Freed node name ${name}\n`,
            );
          },
        }),
      ],
    }),
  ],
);

interface ReplaceOptions {
  yes?: true;
  credentials?: string;
}

const nodeTable = listOf<FleetNode>(
  ['STATE', 'BUSY', 'MIRROR', 'VERSION', 'LABELS'],
  ({ state, live, max_live, mirror, version, labels }) => [
    state,
    live === null || max_live === null ? '-' : `${live}/${max_live}`,
    mirror ?? '-',
    version ?? '-',
    labels?.join(', ') || '-',
  ],
);

interface FleetFound extends NatsStatus {
  fleet: string;
  nodes: number;
  alive: number;
  /** The living nodes of which the fleet gets no events, and why. */
  not_mirrored: Pick<FleetNode, 'node' | 'mirror' | 'detail'>[];
}

function statusFields(found: FleetFound) {
  const { stream } = found;
  return {
    fleet: found.fleet,
    nats: `${found.server} ${found.version}, ${found.rtt_ms} ms away`,
    nodes: `${found.alive} of ${found.nodes} alive`,
    events: `${stream.messages} in ${mebibytes(stream.bytes)} of ${mebibytes(stream.max_bytes)}`,
    ...Object.fromEntries(
      found.not_mirrored.map(({ node, detail }) => [
        `node ${node}`,
        detail ?? 'its events are not mirrored, because fleet.mirror is off',
      ]),
    ),
    copies: stream.replicas,
    ...(stream.leader === null ? {} : { leader: stream.leader }),
    ...(stream.behind.length === 0 ? {} : { behind: stream.behind.join(', ') }),
    'largest request': mebibytes(found.max_payload),
  };
}

/** Connects to the fleet as the person of the configuration, asks, and closes the connection in any case. */
async function onFleet<T>(
  options: GlobalOptions,
  io: CommandIo,
  ask: (deps: Asked) => Promise<T>,
  as: Partial<Pick<FleetUserAccess, 'name' | 'credentials'>> = {},
): Promise<T> {
  const { readFleetUserAccess } = await import('../fleet.ts');
  const access = await readFleetUserAccess(options, io.env);
  const { connectTo, namesOf, retryWhileUnavailable } = await import('../../../fleet/index.ts');
  const connection = await connectTo({ ...access, ...as });
  try {
    const asked = { connection, names: namesOf(access.fleet) };
    return await retryWhileUnavailable(io.clock, () => ask(asked));
  } finally {
    await connection.close();
  }
}

type Part = typeof import('../../../fleet/index.ts');
interface Asked {
  connection: Awaited<ReturnType<Part['connectTo']>>;
  names: ReturnType<Part['namesOf']>;
}

interface InitOptions extends GlobalOptions {
  printNatsConfig?: true;
  keys: string;
  credentials?: string;
  host: string[];
  node: string[];
  person: string[];
  reader: string[];
  tlsDir: string;
  storeDir: string;
  replicas?: number;
  maxBytes: number;
}

/** Prints the configuration. Only the public halves of the keys are in it. */
async function printConfig({
  io,
  global: options,
  show,
}: LocalContext<InitOptions>): Promise<void> {
  const [{ configuration }, part] = await Promise.all([
    import('../context.ts'),
    import('../../../fleet/index.ts'),
  ]);
  const keys = path.resolve(io.cwd(), options.keys);
  const fleet =
    (await configuration(options, io.env))?.fleet.fleet ?? io.env.CADRE_FLEET_FLEET ?? 'default';
  const plan = {
    fleet,
    hosts: options.host,
    nodes: options.node,
    admins: options.person,
    readers: options.reader,
    tlsDirectory: path.resolve(io.cwd(), options.tlsDir),
    storeDirectory: path.resolve(io.cwd(), options.storeDir),
  };
  const config = part.natsConfig(plan, (name) => part.publicKeyIn(keys, name));
  show({ config, keys }, () => config);
  if (!options.json)
    io.stderr.write(
      `cadre: the keys are in ${keys}: give each node and user its own key, and keep the others\n`,
    );
}

async function createFleet({
  io,
  global: options,
  show,
}: LocalContext<InitOptions>): Promise<void> {
  const [{ readFleetUserAccess }, part] = await Promise.all([
    import('../fleet.ts'),
    import('../../../fleet/index.ts'),
  ]);
  const access = await readFleetUserAccess(options, io.env);
  const credentials = options.credentials ?? access.credentials;
  const replicas = options.replicas ?? (access.urls.length >= 3 ? 3 : 1);
  if (replicas !== 1 && replicas !== 3)
    throw usageError(
      `invalid --replicas "${replicas}": expected 1, or 3 for a fleet with three NATS servers`,
    );
  const connection = await part.connectTo({ ...access, name: part.ADMIN, credentials });
  try {
    const settings = { replicas, maxBytes: options.maxBytes, streamId: newUuid() };
    const made = await part.initFleet(connection, access.fleet, settings);
    const text =
      made.length === 0
        ? `Fleet ${access.fleet} already exists\n`
        : `Created fleet ${access.fleet}: ${made.join(', ')}\n`;
    show({ fleet: access.fleet, made }, () => text);
  } finally {
    await connection.close();
  }
}
