const USUAL_PORTS: ReadonlySet<number> = new Set([80, 443]);

/** The addresses that a host may have. `public`: none of this machine or of a private network. */
export type Reach = 'public' | 'any';

/**
 * Returns what a list of hosts allows for a host; null: nothing. Only an entry with a whole name and a port allows addresses
 * of this machine and of private networks, because any name of the Internet can resolve to them.
 */
export function reachOf(hosts: Iterable<string>, asked: string, port: number): Reach | null {
  let reach: Reach | null = null;
  for (const entry of hosts) {
    const [, host = '', number] = /^(\[.*\]|[^:]*)(?::(\d+))?$/.exec(entry) ?? [];
    const name = normalHost(host);
    if (!(number === undefined ? USUAL_PORTS.has(port) : Number(number) === port)) continue;
    if (!isNamed(name, asked)) continue;
    if (number !== undefined && !name.startsWith('*')) return 'any';
    reach = 'public';
  }
  return reach;
}

function isNamed(name: string, host: string): boolean {
  if (name === '*') return true;
  return name.startsWith('*.') ? host.endsWith(name.slice(1)) : host === name;
}

/** Returns a host of a request as `reachOf` compares it. */
export function normalHost(host: string): string {
  return host
    .toLowerCase()
    .replace(/^\[|\]$/g, '')
    .replace(/\.$/, '');
}

/** Returns the hosts of the base URLs in the environment of an agent, each with its port. */
export function hostsOfBaseUrls(env: Readonly<Record<string, string>>): string[] {
  return Object.entries(env).flatMap(([name, value]) => {
    const url = name.endsWith('_BASE_URL') ? URL.parse(value) : null;
    if (url === null || !/^https?:$/.test(url.protocol)) return [];
    return [`${url.hostname}:${url.port || (url.protocol === 'https:' ? 443 : 80)}`];
  });
}
