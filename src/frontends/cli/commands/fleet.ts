import type { Command } from 'commander';
import type { FleetVisit } from '../../../core/config/fleet.ts';
import { AppError } from '../../../api/errors.ts';
import type { EngineStatus, FleetNode } from '../../../fleet/index.ts';
import type { GlobalOptions } from '../context.ts';
import { details, listOf, mebibytes } from '../output.ts';
import { layoutOf } from '../layout.ts';
import { asList, layoutFor } from '../output-options.ts';
import { showDocument, type World } from '../world.ts';
import { fleetInit } from './fleet-init.ts';

/** `cadre fleet …`: what is about the fleet itself. */
export function fleetCommands(program: Command, world: World): void {
  const fleet = program
    .command('fleet')
    .description('Combine cadre servers on several machines (over NATS)');
  fleetInit(fleet, world);

  fleet
    .command('status')
    .description('Show the state of the NATS servers of the fleet')
    .action(async (_options: object, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>();
      const { engineStatus, fleetNodes } = await import('../../../fleet/index.ts');
      const found = await onFleet(options, world, async ({ connection, names }) => {
        const nodes = await fleetNodes(connection, names);
        const engine = await engineStatus(connection, names);
        const alive = nodes.filter(({ state }) => state === 'alive').length;
        const not_mirrored = nodes.flatMap(({ node, mirror, detail }) =>
          mirror === 'off' || mirror === 'failing' ? { node, mirror, detail } : [],
        );
        return { fleet: names.fleet, ...engine, nodes: nodes.length, alive, not_mirrored };
      });
      showDocument(world, options, found, () =>
        details(statusFields(found), { layout: layoutOf(world.stdout, world.env) }),
      );
    });

  const nodes = asList(fleet.command('nodes'))
    .description('List the nodes (cadre servers) of the fleet, including offline nodes')
    .action(async (_options: object, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>();
      const { fleetNodes } = await import('../../../fleet/index.ts');
      const nodes = await onFleet(options, world, ({ connection, names }) =>
        fleetNodes(connection, names),
      );
      const layout = layoutFor(world, command);
      showDocument(world, options, nodes, () =>
        nodeTable(nodes, { now: world.clock.now(), layout }),
      );
    });
  nodes
    .command('replace')
    .description(
      'Make the name of a lost node (cadre server) available for a new node (requires the admin key)',
    )
    .argument('<name>', 'Name of the node (cadre server of the fleet)')
    .option('--yes', 'Confirm the command (required)')
    .option(
      '--credentials <file>',
      'Key file of the fleet administrator (default: fleet.person.credentials in the configuration)',
    )
    .action(async (name: string, _options: object, command: Command) => {
      const options = command.optsWithGlobals<ReplaceOptions>();
      const { ADMIN, replaceNode } = await import('../../../fleet/index.ts');
      if (options.yes !== true)
        throw new AppError(
          'usage',
          `the fleet loses the event log of node "${name}" when a new server with this name starts: pass --yes to confirm`,
        );
      const { credentials } = options;
      const as = credentials === undefined ? {} : { name: ADMIN, credentials };
      const replaced = await onFleet(
        options,
        world,
        ({ connection, names }) => replaceNode(connection, names, name),
        as,
      );
      showDocument(world, options, { node: name, replaced }, () =>
        replaced === null ? `Node name ${name} was already free\n` : `Freed node name ${name}\n`,
      );
    });
}

interface ReplaceOptions extends GlobalOptions {
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

interface FleetFound extends EngineStatus {
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
  world: World,
  ask: (deps: Asked) => Promise<T>,
  as: Partial<Pick<FleetVisit, 'name' | 'credentials'>> = {},
): Promise<T> {
  const { fleetVisit } = await import('../fleet.ts');
  const visit = await fleetVisit(options, world.env);
  const { connectTo, namesOf, patiently } = await import('../../../fleet/index.ts');
  const connection = await connectTo({ ...visit, ...as });
  try {
    const asked = { connection, names: namesOf(visit.fleet) };
    return await patiently(world.clock, () => ask(asked));
  } finally {
    await connection.close();
  }
}

type Part = typeof import('../../../fleet/index.ts');
interface Asked {
  connection: Awaited<ReturnType<Part['connectTo']>>;
  names: ReturnType<Part['namesOf']>;
}
