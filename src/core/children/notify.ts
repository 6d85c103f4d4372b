import { spawn } from 'node:child_process';

/**
 * Sends assignments such as `READY=1` to the service manager at `socket` by the program `systemd-notify`, because Node
 * cannot send datagrams to a Unix socket. Resolves once the manager has read them; the program gives up after 5 seconds.
 * Rejects where it cannot be started or ends with another code than 0.
 */
export function notifyManager(
  program: string,
  socket: string,
  assignments: readonly string[],
): Promise<void> {
  const ended = Promise.withResolvers<void>();
  // Not by the supervisor: it ends by itself, and is started before there is one, and after it has stopped.
  const child = spawn(program, assignments, { stdio: 'ignore', env: { NOTIFY_SOCKET: socket } });
  child.once('error', ended.reject);
  child.once('exit', (code, signal) => {
    if (code === 0) ended.resolve();
    else ended.reject(new Error(`the program ${program} exited with ${code ?? signal}`));
  });
  return ended.promise;
}
