import type { Endpoint } from '../api/endpoint.ts';
import { endpoints } from '../api/index.ts';

const routes = Object.values(endpoints as Record<string, Endpoint>).map(
  ({ method, path, access }) => ({
    method,
    access,
    path,
    pattern: new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`),
    parameters: path.split('{').length,
  }),
);

/** The routes that a path without a query leads to. One that is written out wins over one with parameters. */
function routesOf(path: string): typeof routes {
  const matching = routes.filter(({ pattern }) => pattern.test(path));
  const fewest = Math.min(...matching.map(({ parameters }) => parameters));
  return matching.filter(({ parameters }) => parameters === fewest);
}

/** The methods that a path has; HEAD is wherever GET is. Empty where there is no such path. */
export function methodsOf(path: string): string[] {
  return routesOf(path).flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
}

/** Who may ask for a path, as it is written in a request; what there is not is open outside /v1 only. */
export function accessOfPath(url: string): Endpoint['access'] {
  const path = url.split('?')[0] ?? url;
  const [known] = routesOf(path);
  return known?.access ?? (/^\/+v1(\/|$)/i.test(path) ? 'token' : 'public');
}

/** Paths with parameters that also lead to where another path, which is written out, leads. */
const overlapping = new Set(
  routes
    .filter(({ path, pattern }) =>
      routes.some((one) => one.path !== path && pattern.test(one.path)),
    )
    .map(({ path }) => path),
);

/**
 * Whether a request was led to a route with parameters although its path is another's, which has not that method:
 * `gc` in DELETE /v1/worktrees/gc is no id.
 */
export function isShadowed(route: string | undefined, method: string, path: string): boolean {
  return route !== undefined && overlapping.has(route) && !methodsOf(path).includes(method);
}
