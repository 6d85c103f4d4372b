import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import type { NatsConnection } from '@nats-io/transport-node';
import { endpoints } from '../../../src/api/index.ts';
import { connectTo } from '../../../src/fleet/connection.ts';
import { initFleet } from '../../../src/fleet/init.ts';
import { publicKeyIn } from '../../../src/fleet/keys.ts';
import { namesOf } from '../../../src/fleet/names.ts';
import { natsConfig } from '../../../src/fleet/nats-config.ts';
import { withRuntime } from '../../support/runtime.ts';
import { shared } from '../../support/shared.ts';
import { tempDirectory } from '../../support/temp.ts';
import { Cluster, untilDone } from '../../support/fleet/cluster.ts';

/** The fleet of `securedFleet`. */
export const names = namesOf('f');

/** NATS as `cadre fleet init --print-nats-config` configures it, with TLS and nkeys; n1 is a real server. */
export interface Secured {
  /** Connects as a node or person, with its own key. */
  as(who: string): Promise<NatsConnection>;
  /** Returns the file with the key of a node or person. */
  keyOf(who: string): string;
  urls: string[];
  ca: string;
}

/** One fleet for a test file: nodes n1 (a server) and n2, and the persons alice (scope admin) and bob (scope read). */
export function securedFleet(): () => Secured {
  return shared<Secured>('secured fleet', (use) => withSecured(use));
}

async function withSecured(use: (given: Secured) => Promise<void>): Promise<void> {
  await using place = tempDirectory('secured');
  const tls = path.join(place.path, 'tls');
  makeCertificates(tls);
  const ca = path.join(tls, 'ca.pem');
  const keys = path.join(place.path, 'keys');
  const plan = {
    fleet: 'f',
    hosts: ['127.0.0.1'],
    nodes: ['n1', 'n2'],
    admins: ['alice'],
    readers: ['bob'],
    tlsDirectory: tls,
    storeDirectory: path.join(place.path, 'store'),
  };
  const text = natsConfig(plan, (name) => publicKeyIn(keys, name));
  await using cluster = await Cluster.start({ scheme: 'tls', whole: () => text });
  const { urls } = cluster;
  const files: Record<string, string> = {
    admin: 'admin',
    n1: 'node-n1',
    n2: 'node-n2',
    alice: 'person-alice',
    bob: 'person-bob',
  };
  const keyOf = (who: string) => path.join(keys, `${files[who]}.nk`);
  const as = (who: string) =>
    connectTo({
      urls,
      fleet: 'f',
      name: who,
      credentials: keyOf(who),
      tls: { ca, cert: null, key: null },
    });
  const admin = await as('admin');
  await untilDone(() => initFleet(admin, 'f', { replicas: 1, maxBytes: 2 ** 28, streamId: 's' }));
  await admin.close();
  const member = {
    url: urls,
    name: 'n1',
    fleet: 'f',
    credentials: path.join(keys, 'node-n1.nk'),
    tls: { ca },
    mirror: false,
  };
  await withRuntime(
    async ({ client }) => {
      await untilDone(async () => {
        const { fleet } = await client.call(endpoints.getHealth, {});
        if (fleet?.state !== 'member') throw new Error(fleet?.detail ?? 'no member');
      });
      await use({ as, keyOf, urls, ca });
    },
    { config: { fleet: member } },
  );
}

/** Makes certificates with the commands that the printed configuration names. */
function makeCertificates(directory: string): void {
  fs.mkdirSync(directory);
  const openssl = (...args: string[]) =>
    execFileSync('openssl', args, { cwd: directory, stdio: 'ignore' });
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
  openssl(
    'req',
    '-x509',
    ...curve,
    '-days',
    '2',
    '-subj',
    '/CN=cadre fleet',
    '-keyout',
    'ca.key',
    '-out',
    'ca.pem',
  );
  openssl('req', ...curve, '-subj', '/CN=127.0.0.1', '-keyout', 'server.key', '-out', 'server.csr');
  fs.writeFileSync(
    path.join(directory, 'server.ext'),
    'subjectAltName=IP:127.0.0.1\nextendedKeyUsage=serverAuth,clientAuth\n',
  );
  const signed = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-days', '2'];
  openssl(
    'x509',
    '-req',
    '-in',
    'server.csr',
    ...signed,
    '-extfile',
    'server.ext',
    '-out',
    'server.pem',
  );
}
