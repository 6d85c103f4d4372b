import type { Session } from '../../api/sessions.ts';
import { endpoints } from '../../api/index.ts';
import type { Client } from '../../client/client.ts';
import { labelledId } from '../../core/lib/labelled-id.ts';

/** Returns the mode that was chosen for the agent of a session, by id and name; null if none was chosen. */
export async function chosenMode(
  client: Client,
  { provider, agent, agent_mode: mode }: Session,
): Promise<string | null> {
  if (mode === null) return null;
  const { agents = [] } =
    (await client.call(endpoints.listProviders, {})).find(({ id }) => id === provider) ?? {};
  const names = agents.find(({ name }) => name === agent)?.mode_names ?? {};
  // A mode may have been chosen by its name.
  const [id, name] = Object.entries(names).find((pair) => pair.includes(mode)) ?? [mode, mode];
  return labelledId(id, name);
}
