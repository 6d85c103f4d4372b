import { clientCommand } from '../command.ts';
import { serversOf } from '../../../client/routed.ts';
import type { FleetStatus, SandboxStatus } from '../../../api/runtime.ts';
import { endpoints } from '../../../api/index.ts';
import { durationText } from '../../terminal/time.ts';
import { details, mebibytes } from '../output.ts';
import { counted } from '../../../core/lib/counted.ts';

export const statusCommand = clientCommand({
  name: 'status',
  description: 'Show the state of the server',
  run: async (context) => {
    const { client, show, layout } = context;
    const servers = serversOf(client);
    if (servers) return (await import('../top-of-all.ts')).showStatus(context, servers);
    const found = await client.call(endpoints.getDiagnostics, {});
    const { checks, fleet, sandbox } = found.health;
    const { store, hooks } = checks;
    show(found, () =>
      details(
        {
          server: client.url,
          status: found.health.status,
          ...(store.detail === undefined ? {} : { store: store.detail }),
          ...(hooks?.detail === undefined ? {} : { hooks: hooks.detail }),
          ...(fleet === undefined || fleet.state === 'off' ? {} : { fleet: fleetText(fleet) }),
          ...(sandbox === undefined || sandbox.level === 'off'
            ? {}
            : { sandbox: sandboxText(sandbox) }),
          version: found.health.version,
          uptime: durationText(found.health.uptime_ms),
          events: found.storage.latest_seq,
          database: mebibytes(found.storage.database_bytes),
          agents: found.providers.reduce((sum, { sessions }) => sum + sessions, 0),
          ...waitingText(found.agents?.waiting ?? []),
          followers: found.streams.followers,
          ...Object.fromEntries(found.providers.map(({ id, detail }) => [id, detail])),
        },
        { layout },
      ),
    );
  },
});

/** The turns that wait for an agent, with the reason of the one that has waited longest. */
function waitingText(waiting: readonly { session_id: string; reason: string }[]) {
  const [first] = waiting;
  if (!first) return {};
  const turns = counted(waiting.length, 'turn');
  return { waiting: `${turns} for an agent, first session ${first.session_id}: ${first.reason}` };
}

function sandboxText({ level, detail }: SandboxStatus): string {
  return detail === undefined ? level : `${level}: ${detail}`;
}

function fleetText({ state, detail }: FleetStatus): string {
  const words = state.replaceAll('_', ' ');
  return detail === undefined ? words : `${words}: ${detail}`;
}
