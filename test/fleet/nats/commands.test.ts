import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { endpoints } from '../../../src/api/index.ts';
import { runHere } from '../../support/cli/cadre.ts';
import { Cluster, type TestFleet, untilDone, withFleet } from '../../support/fleet/cluster.ts';
import { securedFleet } from './secured.ts';
import { shared } from '../../support/shared.ts';
import { tempDirectory } from '../../support/temp.ts';
import { withRuntime } from '../../support/runtime.ts';

/** NATS with a fleet of one node, `quiet`, whose events are not copied. */
const fleet = shared<TestFleet>('fleet', (use) =>
  withFleet((given) =>
    withRuntime(
      async ({ client }) => {
        await untilDone(async () => {
          const { fleet: own } = await client.call(endpoints.getHealth, {});
          if (own?.state !== 'member') throw new Error(own?.detail ?? 'no member');
        });
        await use(given);
      },
      { config: { fleet: { url: given.urls, name: 'quiet', fleet: 'test', mirror: false } } },
    ),
  ),
);

const secured = securedFleet();

async function cadre(args: readonly string[], urls: readonly string[]) {
  using home = tempDirectory();
  const env = { CADRE_FLEET: urls.join(','), CADRE_FLEET_FLEET: 'test' };
  return await runHere(home.path, args, { env });
}

test.for<[what: string, args: string[], code: number, said: RegExp]>([
  ['two copies', ['--replicas', '2'], 2, /invalid --replicas "2": expected 1, or 3/],
  [
    'more copies than servers',
    ['--replicas', '3', '--max-bytes', '1000'],
    2,
    /too few NATS servers for 3 replicas/,
  ],
  [
    'more bytes than there is room',
    ['--max-bytes', '999999999999'],
    2,
    /pass a smaller --max-bytes, or raise max_file_store/,
  ],
  [
    'a key that is not there',
    ['--credentials', '/nowhere.nk'],
    2,
    /cannot read the file \/nowhere\.nk/,
  ],
])(
  'cadre fleet init with %s is refused, and the error names the next step.',
  async ([, args, code, said]) => {
    await using cluster = await Cluster.start();
    const ended = await cadre(['fleet', 'init', ...args], cluster.urls);
    expect([ended.code, ended.stdout]).toEqual([code, '']);
    expect(ended.stderr).toMatch(said);
  },
);

test('cadre fleet init reports missing JetStream and a NATS server that does not answer.', async () => {
  await using bare = await Cluster.start({ whole: () => 'listen: "0.0.0.0:4222"' });
  const [server] = bare.servers;
  const without = await cadre(['fleet', 'init'], bare.urls);
  expect([without.code, without.stderr]).toEqual([2, expect.stringContaining('JetStream is off')]);
  if (server) await bare.kill(server);
  const gone = await cadre(['fleet', 'init'], bare.urls);
  expect([gone.code, gone.stderr]).toEqual([6, expect.stringContaining('no NATS server answers')]);
});

test('cadre fleet init may run again, and requires the key of the admin.', async () => {
  const again = await cadre(['fleet', 'init'], fleet().urls);
  expect(again).toMatchObject({ code: 0, stdout: 'Fleet test already exists\n' });
  const { urls, ca, keyOf } = secured();
  using home = tempDirectory();
  const file = path.join(home.path, 'cadre.toml');
  fs.writeFileSync(
    file,
    `[fleet]\nurl = "${urls[0]}"\nfleet = "f"\ntls = { ca = "${ca}" }\nperson = { name = "alice", credentials = "${keyOf('alice')}" }\n`,
  );
  const env = { CADRE_CONFIG: file };
  const refused = await runHere(home.path, ['fleet', 'init'], { env });
  expect([refused.code, refused.stderr]).toEqual([
    5,
    expect.stringContaining('pass the admin key with --credentials'),
  ]);
  const nodes = await runHere(home.path, ['fleet', 'nodes', '--json'], { env });
  expect(nodes.json()).toMatchObject([{ node: 'n1', state: 'alive' }]);
});

test('A node whose events are not copied is listed as such, and readers of the fleet get a notice.', async () => {
  const nodes = await cadre(['fleet', 'nodes', '--json'], fleet().urls);
  expect(nodes.json()).toMatchObject([{ node: 'quiet', state: 'alive', mirror: 'off' }]);
  const status = await cadre(['fleet', 'status', '--json'], fleet().urls);
  expect(status.json()).toMatchObject({ not_mirrored: [{ node: 'quiet', mirror: 'off' }] });
  const tail = await cadre(['events', 'tail', '--no-follow'], fleet().urls);
  expect([tail.code, tail.stderr]).toEqual([0, expect.stringContaining('with --on quiet')]);
});

test('A node whose events are not copied shows its events to who asks for it alone.', async () => {
  const tail = await cadre(
    ['events', 'tail', '--no-follow', '--json', '--on', 'quiet'],
    fleet().urls,
  );
  expect([tail.code, tail.stdout]).toEqual([
    0,
    expect.stringContaining('"kind":"runtime.started"'),
  ]);
});

test('The output of a process of a node is shown as it comes, and its end ends the command.', async () => {
  const command = 'echo one; echo two >&2; sleep 0.3; echo three; exit 3';
  const ran = await cadre(['processes', 'run', '--follow', command], fleet().urls);
  expect(ran).toMatchObject({ code: 3, stdout: 'one\nthree\n' });
  expect(ran.stderr).toContain('two\n');
  const [found] = (await cadre(['processes', 'list', '--json'], fleet().urls)).json() as {
    process_id: string;
  }[];
  const logs = await cadre(['processes', 'logs', found?.process_id ?? '', '-f'], fleet().urls);
  expect(logs).toMatchObject({ code: 0, stdout: 'one\nthree\n', stderr: 'two\n' });
});

test.for([
  [['quiet'], 2, 'pass --yes to confirm'],
  [['quiet', '--yes'], 7, 'stop that server first'],
  [['nobody', '--yes'], 3, 'node name "nobody" is already free'],
] as const)('cadre fleet nodes replace %j ends with %i.', async ([args, code, said]) => {
  const ended = await cadre(['fleet', 'nodes', 'replace', ...args], fleet().urls);
  expect([ended.code, ended.stderr]).toEqual([code, expect.stringContaining(said)]);
});

test('A node that is gone and has left nothing ends a command with 6 and its name.', async () => {
  const ended = await cadre(['run', '--on', 'gpu', 'hello'], fleet().urls);
  expect(ended).toMatchObject({ code: 6, stdout: '' });
  expect(ended.stderr).toContain(
    'node "gpu" not found, because the fleet has received no heartbeat',
  );
});
