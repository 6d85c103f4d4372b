import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, it } from 'vitest';
import { selfCommand } from '../../../src/core/lib/self.ts';
import { tempDirectory } from '../../support/temp.ts';

const root = path.join(import.meta.dirname, '../../..');
const [bundle = ''] = selfCommand().args.slice(-1);

/** How a server may be started; the executable only where it was built. */
const forms: [name: string, file: string, args: string[]][] = [
  ['the way cadre starts itself', selfCommand().file, selfCommand().args],
  ['bin/cadre.js', process.execPath, [path.join(root, 'bin/cadre.js')]],
  ['the bundle by itself', process.execPath, [bundle]],
  ['the executable', path.join(root, 'out/cadre'), []],
];

/** The ports that a process listens on. */
function listening(pid: number): number[] {
  const links = new Set(
    fs.readdirSync(`/proc/${pid}/fd`).map((fd) => {
      try {
        return fs.readlinkSync(`/proc/${pid}/fd/${fd}`);
      } catch {
        return '';
      }
    }),
  );
  const lines = fs.readFileSync(`/proc/${pid}/net/tcp`, 'utf8').trim().split('\n').slice(1);
  return lines
    .map((line) => line.trim().split(/\s+/))
    .filter(([, , , state, , , , , , inode]) => state === '0A' && links.has(`socket:[${inode}]`))
    .map(([, address = '']) => Number.parseInt(address.split(':')[1] ?? '', 16));
}

async function ready(child: ChildProcess): Promise<string> {
  if (!child.stdout) throw new Error('no stdout');
  const lines = createInterface({ input: child.stdout });
  const [line] = (await Promise.race([
    once(lines, 'line'),
    once(child, 'exit').then(([code, signal]) => {
      throw new Error(`the server ended with ${code ?? signal} before it was ready`);
    }),
  ])) as [string];
  return (JSON.parse(line) as { url: string }).url;
}

/** Ends a child, which may have ended by itself. */
async function killed(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGKILL');
  await once(child, 'exit');
}

describe.skipIf(process.platform !== 'linux')('SIGUSR1', () => {
  it.each(forms.filter(([, file]) => fs.existsSync(file)))(
    'SIGUSR1 opens no debugger and ends no server in %s.',
    async (_name, file, args) => {
      await using directory = tempDirectory('debugger');
      const { path: place } = directory;
      const child = spawn(
        file,
        [
          ...args,
          '--json',
          '--data-dir',
          path.join(place, 'data'),
          'serve',
          '--demo',
          '--port',
          '0',
        ],
        {
          stdio: ['ignore', 'pipe', 'pipe'],
          env: { PATH: process.env.PATH ?? '', TMPDIR: process.env.TMPDIR ?? '/tmp', HOME: place },
        },
      );
      let said = '';
      child.stderr?.setEncoding('utf8').on('data', (text: string) => (said += text));
      try {
        const url = await ready(child);
        const own = Number(new URL(url).port);
        for (let i = 0; i < 20; i++) {
          child.kill('SIGUSR1');
          expect((await fetch(`${url}/health`)).status).toBe(200);
          expect(listening(child.pid ?? 0)).toEqual([own]);
        }
        expect(said).not.toContain('Debugger');
      } finally {
        await killed(child);
      }
    },
  );

  it('SIGUSR1 during the start opens no debugger and does not end the server.', async () => {
    await using directory = tempDirectory('debugger');
    const args = [bundle, '--json', '--data-dir', directory.path, 'serve', '--demo', '--port', '0'];
    const child = spawn(process.execPath, args, {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        PATH: process.env.PATH ?? '',
        TMPDIR: process.env.TMPDIR ?? '/tmp',
        HOME: directory.path,
      },
    });
    child.stderr?.resume();
    try {
      // From here on Node has its handler; the program has not run yet.
      await untilNodeHasHandler(child.pid ?? 0);
      child.kill('SIGUSR1');
      const own = Number(new URL(await ready(child)).port);
      expect(listening(child.pid ?? 0)).toEqual([own]);
    } finally {
      await killed(child);
    }
  });
});

/** Until SIGUSR1 (10) is caught. */
async function untilNodeHasHandler(pid: number): Promise<void> {
  for (;;) {
    const caught = /SigCgt:\t([0-9a-f]+)/.exec(fs.readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    if ((BigInt(`0x${caught}`) >> 9n) & 1n) return;
    await new Promise((resolve) => setImmediate(resolve));
  }
}
