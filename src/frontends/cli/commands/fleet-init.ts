import path from 'node:path';
import type { Command } from 'commander';
import { AppError } from '../../../api/errors.ts';
import { newUuid } from '../../../core/lib/ids.ts';
import type { GlobalOptions } from '../context.ts';
import { count } from '../count.ts';
import { showDocument, type World } from '../world.ts';

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

/** `cadre fleet init`. */
export function fleetInit(fleet: Command, world: World): void {
  fleet
    .command('init')
    .description(
      'Create the NATS stream and buckets for a fleet of servers, or print the NATS configuration',
    )
    .option(
      '--replicas <n>',
      'Number of NATS servers that store each event: 1 or 3 (default: 3 with at least three NATS addresses, otherwise 1)',
      count,
    )
    .option(
      '--max-bytes <n>',
      'Maximum size of the stored events in bytes (above this size, the fleet deletes the oldest events)',
      count,
      4 * 1024 ** 3,
    )
    .option(
      '--print-nats-config',
      'Print the configuration of the NATS servers and create missing keys, but do not create the fleet',
    )
    .option(
      '--keys <directory>',
      'Directory with the key files of the fleet (cadre creates missing keys)',
      'fleet-keys',
    )
    .option(
      '--credentials <file>',
      'Key file of the fleet administrator (default: fleet.person.credentials in the configuration)',
    )
    .option(
      '--host <host>',
      'Host that runs a NATS server (repeat the option for three hosts)',
      several,
      [],
    )
    .option(
      '--node <name>',
      'Name of a cadre server in the fleet (repeat the option for more servers)',
      several,
      [],
    )
    .option(
      '--person <name>',
      'Name of a user with full access to the fleet (repeat the option for more users)',
      several,
      [],
    )
    .option(
      '--reader <name>',
      'Name of a user with read access to the fleet (repeat the option for more users)',
      several,
      [],
    )
    .option(
      '--tls-dir <directory>',
      'Directory with the TLS certificates on each NATS host',
      '/etc/nats/tls',
    )
    .option(
      '--store-dir <directory>',
      'Directory for the data of NATS on each NATS host',
      '/var/lib/nats',
    )
    .action(async (_options: object, command: Command) => {
      const options = command.optsWithGlobals<InitOptions>();
      await (options.printNatsConfig ? printConfig(options, world) : make(options, world));
    });
}

function several(value: string, before: readonly string[]): string[] {
  return [...before, value];
}

/** Prints the configuration. Only the public halves of the keys are in it. */
async function printConfig(options: InitOptions, world: World): Promise<void> {
  const [{ configuration }, part] = await Promise.all([
    import('../context.ts'),
    import('../../../fleet/index.ts'),
  ]);
  const keys = path.resolve(world.cwd(), options.keys);
  const fleet =
    (await configuration(options, world.env))?.fleet.fleet ??
    world.env.CADRE_FLEET_FLEET ??
    'default';
  const plan = {
    fleet,
    hosts: options.host,
    nodes: options.node,
    admins: options.person,
    readers: options.reader,
    tlsDirectory: path.resolve(world.cwd(), options.tlsDir),
    storeDirectory: path.resolve(world.cwd(), options.storeDir),
  };
  const config = part.natsConfig(plan, (name) => part.publicKeyIn(keys, name));
  showDocument(world, options, { config, keys }, () => config);
  if (!options.json)
    world.stderr.write(
      `cadre: the keys are in ${keys}: give each node and user its own key, and keep the others\n`,
    );
}

async function make(options: InitOptions, world: World): Promise<void> {
  const [{ fleetVisit }, part] = await Promise.all([
    import('../fleet.ts'),
    import('../../../fleet/index.ts'),
  ]);
  const visit = await fleetVisit(options, world.env);
  const credentials = options.credentials ?? visit.credentials;
  const replicas = options.replicas ?? (visit.urls.length >= 3 ? 3 : 1);
  if (replicas !== 1 && replicas !== 3)
    throw new AppError(
      'usage',
      `invalid --replicas "${replicas}": expected 1, or 3 for a fleet with three NATS servers`,
    );
  const connection = await part.connectTo({ ...visit, name: part.ADMIN, credentials });
  try {
    const settings = { replicas, maxBytes: options.maxBytes, streamId: newUuid() };
    const made = await part.initFleet(connection, visit.fleet, settings);
    const text =
      made.length === 0
        ? `Fleet ${visit.fleet} already exists\n`
        : `Created fleet ${visit.fleet}: ${made.join(', ')}\n`;
    showDocument(world, options, { fleet: visit.fleet, made }, () => text);
  } finally {
    await connection.close();
  }
}
