import path from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { sharedDemo } from '../../support/demo-server.ts';
import { endpoints } from '../../../src/api/index.ts';
import { widthOf } from '../../../src/frontends/terminal/width.ts';
import { someOf } from '../../support/at-length.ts';
import { cadreOn } from '../../support/cli/cadre.ts';
import { openSession, withSession } from '../../support/turns.ts';
import { makeRepository } from '../../support/worktrees/work.ts';
import { hasPty, runInTerminal } from '../../support/tui/pty.ts';

const wide = '漢字'.repeat(60);

describe.skipIf(!hasPty)('lists on a terminal', () => {
  const server = sharedDemo();
  let processId = '';

  /** Runs a command for a terminal of this width, and returns its output with and without colours. */
  async function shown(args: readonly string[], columns: number, env: Record<string, string> = {}) {
    const options = { isTerminal: true, columns, env: { TERM: 'xterm-256color', ...env } };
    const { stdout, stderr } = await cadreOn(server())(args, options);
    return asShown(stdout + stderr);
  }

  /** Runs a command in a real terminal. */
  async function really(args: readonly string[], columns: number) {
    await using terminal = runInTerminal(server().directory, args, {}, { rows: 40, columns });
    await terminal.ended;
    return asShown(terminal.emulator.written);
  }

  beforeAll(async () => {
    const { client, id } = await withSession(server());
    const body = { command: `sleep 1000 # ${wide}`, session_id: id };
    const { process } = await client.call(endpoints.createProcess, { body });
    processId = process.process_id;
  });

  test.for(someOf([40, 80, 200], 3))(
    'Tables are cut to %i columns instead of wrapping, by the width of wide characters.',
    async (columns) => {
      const { lines } = await really(['processes', 'list'], columns);
      const others = ['providers list', 'mcp tools', 'sessions list'];
      const tables = await Promise.all(others.map((list) => shown(list.split(' '), columns)));
      for (const line of [lines, ...tables.map((table) => table.lines)].flat())
        expect(widthOf(line)).toBeLessThanOrEqual(columns);
      expect(lines).toHaveLength(2);
      expect(lines[1]).toContain(processId.slice(-8));
      expect(lines[1]).toMatch(/…$/);
    },
  );

  test('A table in a pipe is not cut.', async () => {
    const { stdout } = await cadreOn(server())(['processes', 'list']);
    expect(stdout).toContain(wide);
  });

  test('A record has times with their age and durations with units, and no JSON.', async () => {
    const { lines } = await shown(['processes', 'show', processId.slice(-8)], 200);
    const text = lines.join('\n');
    expect(text).toMatch(/^queued_at +\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ \(\d+s ago\)$/m);
    expect(text).toMatch(/^time_limit +10m$/m);
    expect(text).not.toMatch(/\b\d{13}\b|[{}]/);
    expect((await shown(['status'], 200)).lines.join('\n')).toMatch(/^uptime +\d+(s|ms|m \d+s)$/m);
  });

  test('AGE is the time since a process was asked for, and RAN how long it ran.', async () => {
    const [heading = ''] = (await shown(['processes', 'list'], 120)).lines;
    expect(heading).toMatch(/^ID +STATUS +EXIT +AGE +RAN +SESSION +COMMAND$/);
  });

  test('States have colours, which NO_COLOR and TERM=dumb switch off.', async () => {
    expect((await really(['processes', 'list'], 80)).written).toContain('\u001b[36mrunning');
    expect((await shown(['doctor'], 80)).written).toContain('\u001b[32mok');
    const colorless: [command: string, env: Record<string, string>][] = [
      ['processes list', { NO_COLOR: '1' }],
      ['doctor', { NO_COLOR: '1' }],
      ['processes list', { TERM: 'dumb' }],
      ['doctor', { TERM: 'dumb' }],
    ];
    for (const [command, env] of someOf(colorless, 2))
      expect((await shown(command.split(' '), 80, env)).written).not.toContain('\u001b[');
  });

  test('The command worktrees create shows the name, the end of the id and the path.', async () => {
    const repo = makeRepository(path.join(server().directory, 'repo'));
    const { id } = await openSession(server().client, repo, { title: 'for a worktree' });
    const words = ['worktrees', 'create', 'fix-login', '--session', 'for a worktree'];
    const text = (await shown(words, 200)).lines.join('\n');
    const [, end = ''] = /worktree fix-login, id ([0-9a-f]{8})$/m.exec(text) ?? [];
    expect(text).toMatch(/^\/.*\/fix-login$/m);
    const cadre = cadreOn(server());
    const found = await cadre(['worktrees', 'show', 'fix-login', '--json']);
    expect(found.json()).toMatchObject({ id: expect.stringContaining(end), source_session_id: id });
    const release = ['worktrees', 'release', 'fix-login', '--session', id];
    expect((await cadre(release)).stdout).toMatch(/: cleaned$/m);
  });

  test('An empty list names the command that fills it.', async () => {
    const { lines } = await shown(['worktrees', 'list', '--status', 'missing'], 80);
    expect(lines.at(-1)).toMatch(
      /^cadre: no worktrees: create a worktree with cadre worktrees create/,
    );
    const { stderr } = await cadreOn(server())(['worktrees', 'list', '--status', 'missing']);
    expect(stderr).toBe('');
  });
});

function asShown(written: string) {
  const text = written.replaceAll(/\u001b\[\d*m|\r/g, '').trimEnd();
  return { written, lines: text.split('\n') };
}
