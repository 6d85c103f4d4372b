import { problemOfAddress } from '../lib/nats-files.ts';

/** The keys of `[fleet]` that depend on each other. */
interface FleetSection {
  url: string | readonly string[] | null;
  name: string | null;
  credentials: string | null;
  person: { name: string | null; credentials: string | null };
}

/** Returns the contradictions in `[fleet]`: the key of each problem, the problem and its solution. */
export function fleetContradictions(fleet: FleetSection): { path: string[]; message: string }[] {
  const { url, name, credentials, person } = fleet;
  const problems = urlsOf(url ?? []).map((one) => ({
    path: ['url'],
    message: problemOfAddress(one),
  }));
  const isPerson = person.name !== null || person.credentials !== null;
  if (url !== null && problems.length === 0)
    problems.push({
      path: ['url'],
      message: 'no NATS address is given: expected nats://HOST:PORT',
    });
  if (url === null && name !== null)
    problems.push({
      path: ['name'],
      message:
        'fleet.name is set without fleet.url: set fleet.url to the NATS address, or remove fleet.name',
    });
  if (name === null && credentials !== null)
    problems.push({
      path: ['credentials'],
      message:
        'fleet.credentials is set without fleet.name: set fleet.name to the name of this node, or use fleet.person.credentials',
    });
  else if (url !== null && name === null && !isPerson)
    problems.push({
      path: ['url'],
      message:
        'fleet.url is set, but neither fleet.name nor [fleet.person] is set: set fleet.name to let this server join the fleet, or add [fleet.person] to use the fleet only in commands',
    });
  return problems.flatMap(({ path, message }) => (message === null ? [] : { path, message }));
}

/** One address, several separated by commas, or a list. */
export function urlsOf(url: string | readonly string[]): string[] {
  return [url].flat().flatMap((one) =>
    one
      .split(',')
      .map((part) => part.trim())
      .filter(Boolean),
  );
}
