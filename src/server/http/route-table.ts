import type { Endpoint } from '../../api/endpoint.ts';
import { endpoints } from '../../api/index.ts';

const routes = Object.values(endpoints as Record<string, Endpoint>).map(
  ({ method, path, access }) => ({
    method,
    access,
    path,
    pattern: patternOf(path),
    parameters: path.split('{').length,
  }),
);

/** Returns the pattern of the paths that a route matches, whose parameters are in braces. */
function patternOf(path: string): RegExp {
  return new RegExp(`^${path.replaceAll('.', String.raw`\.`).replaceAll(/\{\w+\}/g, '[^/]+')}$`);
}

/** Returns the routes that match a path without a query. A literal path has precedence over one with parameters. */
function routesOf(path: string): typeof routes {
  const matching = routes.filter(({ pattern }) => pattern.test(path));
  const fewest = Math.min(...matching.map(({ parameters }) => parameters));
  return matching.filter(({ parameters }) => parameters === fewest);
}

/** Returns the methods of a path, with HEAD for each GET; empty if there is no such path. */
export function methodsOf(path: string): string[] {
  return routesOf(path).flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
}

/** Returns who may request a path, written as in a request; unknown paths are public outside /v1 only. */
export function accessOfPath(url: string): Endpoint['access'] {
  const path = url.split('?')[0] ?? url;
  const [route] = routesOf(path);
  return route?.access ?? (/^\/+v1(\/|$)/i.test(path) ? 'token' : 'public');
}

/** The paths with parameters that also match another, literal path: looked for as each is first requested. */
const overlaps = new Map<string, boolean>();

function isOverlapping(path: string): boolean {
  const known = overlaps.get(path);
  if (known !== undefined) return known;
  const own = routes.find((one) => one.path === path);
  const found = routes.some((one) => one.path !== path && own?.pattern.test(one.path) === true);
  overlaps.set(path, found);
  return found;
}

/**
 * Whether a request was routed to a path with parameters although its literal path exists without that method: `gc` in
 * DELETE /v1/worktrees/gc is not an id.
 */
export function isShadowed(route: string | undefined, method: string, path: string): boolean {
  return route !== undefined && isOverlapping(route) && !methodsOf(path).includes(method);
}
