import { type Address, ask, createSession } from '../client/http.ts';
import { load } from '../client/load.ts';
import { withBareServer, withServer } from '../subject.ts';
import { type Measures, workload } from '../workload.ts';

const CLIENTS = 16;
const SESSIONS = 50;
/** The bytes of the answers of cadre, to which the baseline's are alike. */
const BYTES = { health: 15, session: 700, list: 35_000 };

interface Size {
  small: number;
  large: number;
}

/** Requests that only read. */
export const plainRequests = workload<Size>({
  about: `the rate at which ${CLIENTS} clients read /health, one session, and a list of ${SESSIONS} sessions. The baseline is a minimal HTTP server with responses of the same size`,
  needs: 'server',
  units: { health: '/s', session: '/s', 'session, p99': 'ms', [`${SESSIONS} sessions`]: '/s' },
  sizes: { short: { small: 6000, large: 600 }, full: { small: 30_000, large: 3000 } },
  server: (context, size) =>
    withServer(context, async (server) => {
      const ids: string[] = [];
      for (let n = 0; n < SESSIONS; n++) ids.push(await createSession(server, context.directory));
      await ask(server, 'GET', '/v1/version');
      return measure(server, size, {
        health: '/health',
        session: `/v1/sessions/${ids[0]}`,
        list: `/v1/sessions?limit=${SESSIONS}`,
      });
    }),
  bare: (directory, size) =>
    withBareServer(directory, (server) =>
      measure(server, size, {
        health: `/bytes?n=${BYTES.health}`,
        session: `/bytes?n=${BYTES.session}`,
        list: `/bytes?n=${BYTES.list}`,
      }),
    ),
});

async function measure(
  server: Address,
  { small, large }: Size,
  paths: Record<'health' | 'session' | 'list', string>,
): Promise<Measures> {
  const get = { method: 'GET', clients: CLIENTS } as const;
  // The code of both sides is optimised first.
  await load(server, { ...get, path: paths.session, count: small });
  const health = await load(server, { ...get, path: paths.health, count: small });
  const session = await load(server, { ...get, path: paths.session, count: small });
  const list = await load(server, { ...get, path: paths.list, count: large });
  return {
    health: health.perSecond,
    session: session.perSecond,
    'session, p99': session.p99,
    [`${SESSIONS} sessions`]: list.perSecond,
  };
}
