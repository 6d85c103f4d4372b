import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { selfCommand } from '../../../src/core/lib/self.ts';
import { expectEventually } from '../../support/expect-eventually.ts';
import { untilNothingCarries } from '../../support/server.ts';
import { tempDirectory, testDirectory } from '../../support/temp.ts';
import { hasPty, runInTerminal, runProgramInTerminal } from '../../support/tui/pty.ts';

describe.skipIf(!hasPty)('cadre alone, on a terminal', () => {
  test('The command cadre offers to start a server, which keeps running with its log in the data directory.', async () => {
    await using place = tempDirectory('server');
    // A new user has no data directory.
    const directory = path.join(place.path, '.local', 'share', 'cadre');
    const { file, args } = selfCommand();
    const registration = path.join(directory, 'server.json');
    try {
      const env = { CADRE_SERVER_BIND_ADDRESS: '127.0.0.1:0' };
      await using terminal = runProgramInTerminal(place.path, [file, ...args], env);
      await terminal.expectShows('No server is running on');
      await terminal.expectShows(`Log: ${directory}`);
      await terminal.type('d').shows('press n to open one');
      await terminal.type('q').ends(0);
      const { pid } = JSON.parse(readFileSync(registration, 'utf8')) as { pid: number };
      expect(readFileSync(path.join(directory, 'serve.log'), 'utf8')).toContain('listens on');
      process.kill(pid, 'SIGTERM');
      await expectEventually(() => runs(pid)).toBe(false);
    } finally {
      await untilNothingCarries(place.path);
    }
  });

  test('The offer closes with q, and starts no server.', async () => {
    await using terminal = runInTerminal(testDirectory('server'), []);
    await terminal.expectShows('No server is running on');
    terminal.type('q');
    expect(await terminal.ended).toEqual({ code: 0, terminal: 'as it was' });
  });
});

function runs(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
