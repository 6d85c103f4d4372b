import path from 'node:path';
import type { BodyInputOf } from '../../../api/endpoint.ts';
import type { endpoints } from '../../../api/index.ts';
import { repeated } from '../command.ts';
import { sandboxMode, sandboxNetwork, type SessionSandbox } from '../../../api/session-sandbox.ts';

/** The options of the commands that open a session, for its sandbox. */
export interface SandboxOptions {
  sandbox?: SessionSandbox['mode'];
  network?: SessionSandbox['network'];
  allowHost?: string[];
  writable?: string[];
}

export const sandboxOptions = [
  {
    line: '--sandbox [mode]  Run the agent and its processes in a sandbox: require, auto (only if this machine supports it) or off (default: from the configuration; without a mode: require)',
    choices: sandboxMode.options,
    preset: 'require',
  },
  {
    line: '--network <network>  Hosts that programs in the sandbox can connect to: none, the hosts of --allow-host and of the configuration (hosts), further hosts after your approval (ask), or all',
    choices: sandboxNetwork.options,
  },
  {
    line: '--allow-host <host>  Host that programs in the sandbox can connect to with the network hosts or ask, such as example.com or localhost:5432 (repeat the option for several hosts)',
    parse: repeated,
  },
  {
    line: '--writable <directory>  Further directory that programs in the sandbox can write (repeat the option for several directories)',
    parse: repeated,
  },
];

/** The sandbox in a request for these options; undefined without any of them. Paths are relative to `cwd`. */
export function sandboxOf(
  { sandbox, network: reached, allowHost, writable }: SandboxOptions,
  cwd: string,
): BodyInputOf<typeof endpoints.createSession>['sandbox'] {
  if ((sandbox ?? reached ?? allowHost ?? writable) === undefined) return undefined;
  return {
    mode: sandbox,
    network: reached,
    hosts: allowHost,
    write: writable?.map((one) => path.resolve(cwd, one)),
  };
}

/** Returns the sandbox of a session as one line. */
export function sandboxLine({ mode: own, network: reached, hosts, write }: SessionSandbox): string {
  const parts = [
    own,
    ...(reached ? [`network ${reached}`] : []),
    ...(hosts.length === 0 ? [] : [`hosts ${hosts.join(', ')}`]),
    ...(write.length === 0 ? [] : [`writes ${write.join(', ')}`]),
  ];
  return parts.join('; ');
}
