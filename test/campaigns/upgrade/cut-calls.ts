// A server of the campaign loads this first (NODE_OPTIONS). It counts the calls that change the files of a store, and
// sends SIGKILL to its process at one of them: CUT_AT=12 is before the 12th call, CUT_AT=12.5 in the middle of it.
import fs from 'node:fs';
import path from 'node:path';
import { syncBuiltinESMExports } from 'node:module';

const directory = process.env.CUT_DIRECTORY ?? '';
const cut = Number(process.env.CUT_AT ?? Infinity);
const calls: string[] = [];

if (process.argv.includes('serve')) {
  watchNames();
  watchFiles();
  syncBuiltinESMExports();
  const { CUT_LOG: log } = process.env;
  if (log !== undefined) process.on('exit', () => fs.writeFileSync(log, calls.join('\n')));
}

/** Whether a name is of the directory itself or of a file of the store. */
function isOfStore(name: unknown): boolean {
  const file = String(name);
  return file === directory || file.startsWith(path.join(directory, 'events.cadre'));
}

/** Counts a call, and dies before it or in its middle if it is the one. */
function count(call: string, name: unknown, half: () => void = () => undefined): void {
  calls.push(`${call} ${path.basename(String(name))}`);
  if (calls.length === cut) process.kill(process.pid, 'SIGKILL');
  if (calls.length + 0.5 !== cut) return;
  half();
  process.kill(process.pid, 'SIGKILL');
}

function watchNames(): void {
  const { copyFileSync, renameSync, rmSync, unlinkSync, writeFileSync } = fs;
  const named = { copyFileSync, renameSync, rmSync, unlinkSync, writeFileSync };
  for (const [call, real] of Object.entries(named) as [string, (...args: unknown[]) => unknown][])
    Object.assign(fs, {
      [call](...args: unknown[]) {
        const name = call === 'copyFileSync' ? args[1] : args[0];
        if (isOfStore(name)) count(call, name, () => half(call, args));
        return real(...args);
      },
    });
  const half = (call: string, args: unknown[]) => {
    if (call !== 'copyFileSync') return;
    const whole = fs.readFileSync(String(args[0]));
    writeFileSync(String(args[1]), whole.subarray(0, whole.length / 2));
  };
}

function watchFiles(): void {
  const { openSync, closeSync, writeSync, ftruncateSync, fsyncSync, fdatasync } = fs;
  const names = new Map<number, string>();
  const counted = (call: string, fd: number, half?: () => void) => {
    const name = names.get(fd);
    if (name !== undefined) count(call, name, half);
  };
  Object.assign(fs, {
    openSync(...args: Parameters<typeof openSync>) {
      const fd = openSync(...args);
      if (isOfStore(args[0])) names.set(fd, String(args[0]));
      return fd;
    },
    closeSync(fd: number) {
      names.delete(fd);
      closeSync(fd);
    },
    writeSync(fd: number, data: Buffer, at: number, length: number, position: number) {
      counted('writeSync', fd, () => void writeSync(fd, data, at, length >> 1, position));
      return writeSync(fd, data, at, length, position);
    },
    ftruncateSync(fd: number, size: number) {
      counted('ftruncateSync', fd);
      ftruncateSync(fd, size);
    },
    fsyncSync(fd: number) {
      counted('fsyncSync', fd);
      fsyncSync(fd);
    },
    fdatasync(fd: number, done: (error: NodeJS.ErrnoException | null) => void) {
      counted('fdatasync', fd);
      fdatasync(fd, done);
    },
  });
}
