import { describe, expect, test } from 'vitest';
import { sharedDemo } from '../../support/demo-server.ts';
import { openSession, withSession } from '../../support/turns.ts';
import { hasPty, runInTerminal } from '../../support/tui/pty.ts';

describe.skipIf(!hasPty)('cadre --select', () => {
  const server = sharedDemo();

  test('A title selects the row of its session.', async () => {
    const { client, directory } = await withSession(server(), { title: 'picked by its title' });
    await openSession(client, directory, { title: 'newer' });
    await using terminal = runInTerminal(directory, ['--select', 'picked by its title']);
    const { expectShows } = terminal;
    await expectShows('▌○  picked by its title');
    terminal.type('q');
    expect(await terminal.ended).toMatchObject({ code: 0 });
  });

  test('If nothing has the id or title, a notice says so.', async () => {
    const { directory } = server();
    await using terminal = runInTerminal(directory, ['--select', 'zzzzzz']);
    const { expectShows } = terminal;
    await expectShows('--select: no session, process or approval request "zzzzzz" found');
    terminal.type('q');
    expect(await terminal.ended).toMatchObject({ code: 0 });
  });

  test('In a locale without UTF-8, the screen has only ASCII symbols.', async () => {
    const { directory } = await withSession(server(), { title: 'plain' });
    await using terminal = runInTerminal(directory, ['--select', 'plain'], { LC_ALL: 'C' });
    const { expectShows } = terminal;
    await expectShows('=o  plain');
    await expectShows('- SESSIONS');
    terminal.type('q');
    expect(await terminal.ended).toMatchObject({ code: 0 });
  });
});
