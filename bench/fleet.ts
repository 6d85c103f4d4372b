import { parseArgs } from 'node:util';
import { catchUp } from './fleet/catch-up.ts';
import { manyNodes } from './fleet/many-nodes.ts';
import { memory, requests } from './fleet/requests.ts';
import { withAndWithout } from './fleet/with-and-without.ts';

/**
 * Measures a fleet with real NATS servers, which `make test-fleet` installs: what its mirror costs the server, how late events
 * come, how fast it catches up, what a request through it takes, and the memory of a member. Only figures of one run can be compared.
 */
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string', default: '3' },
    events: { type: 'string', default: '50000' },
    nodes: { type: 'string', default: '20' },
    rate: { type: 'string', default: '100' },
  },
});
const parts: Record<string, () => Promise<void>> = {
  writes: () => withAndWithout(Number(values.rounds), ['writes']),
  turns: () => withAndWithout(Number(values.rounds), ['turns']),
  requests: () => requests(Number(values.rounds)),
  memory: () => memory(Number(values.rounds)),
  async 'catch-up'() {
    await catchUp(Number(values.events), 1);
    await catchUp(Number(values.events), 3);
  },
  nodes: () => manyNodes(Number(values.nodes), Number(values.rate)),
};
for (const name of positionals.length > 0 ? positionals : Object.keys(parts)) {
  const part = parts[name];
  if (!part) throw new Error(`no part "${name}"; there are: ${Object.keys(parts).join(', ')}`);
  await part();
}
