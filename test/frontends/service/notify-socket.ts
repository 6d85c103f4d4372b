import { spawn, spawnSync } from 'node:child_process';
import { createInterface } from 'node:readline';
import path from 'node:path';
import { expectEventually } from '../../support/expect-eventually.ts';
import { python } from '../../support/python.ts';

/** Whether messages can be sent and received: Python supports datagrams on Unix sockets, and Node does not. */
export const canNotify =
  spawnSync('systemd-notify', ['--version']).status === 0 &&
  spawnSync(python, ['-ISc', 'import socket; socket.recv_fds']).status === 0;

// A barrier message contains a descriptor, and its sender waits until the descriptor is closed.
const listener = `
import json, os, socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
print(json.dumps(None), flush=True)
while True:
  data, fds, _, _ = socket.recv_fds(s, 65536, 8)
  for fd in fds: os.close(fd)
  print(json.dumps(data.decode()), flush=True)
`;

/** The listening part of a service manager. */
export interface NotifySocket extends AsyncDisposable {
  path: string;
  /** The received assignments of each message, in order. */
  messages: () => string[][];
  /** Resolves once a message has an assignment with this prefix. */
  expect: (assignment: string) => Promise<void>;
}

/** Listens on a socket in a directory. */
export async function listen(directory: string): Promise<NotifySocket> {
  const file = path.join(directory, 'notify');
  const child = spawn(python, ['-ISc', listener, file], { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = new Promise((resolve) => child.once('exit', resolve));
  const lines: (string | null)[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => lines.push(JSON.parse(line)));
  const messages = () =>
    lines
      .slice(1)
      .map((text) => (text ?? '').split('\n').filter(Boolean))
      .filter(([first]) => first !== 'BARRIER=1');
  await expectEventually(() => lines.length).toBeGreaterThan(0);
  return {
    path: file,
    messages,
    async expect(assignment) {
      const assignments = () => messages().flat();
      const isAssigned = () => assignments().some((one) => one.startsWith(assignment));
      await expectEventually(() => isAssigned() || assignments()).toBe(true);
    },
    async [Symbol.asyncDispose]() {
      child.kill();
      await exited;
    },
  };
}
