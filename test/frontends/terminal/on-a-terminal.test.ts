import { describe, expect, test } from 'vitest';
import { sharedDemo } from '../../support/demo-server.ts';
import { openSession, runTurn } from '../../support/turns.ts';
import { hasPty, inTerminal } from '../../support/tui/pty.ts';

const server = sharedDemo();

describe.skipIf(!hasPty)('output on a terminal', () => {
  test('Bidi overrides and zero-width characters do not reach the terminal.', async () => {
    const { directory } = server();
    const said = 'say safe\u202egnp\u2066.exe\u200b\u{e0061} \u{1f468}\u200d\u{1f469} end';
    await using terminal = inTerminal(directory, ['run', '--provider', 'acp', said]);
    expect((await terminal.ended).code).toBe(0);
    const { written } = terminal.glass;
    expect(written).toContain('safegnp.exe \u{1f468}\u200d\u{1f469} end');
    expect(written.replaceAll('\u{1f468}\u200d\u{1f469}', '')).not.toMatch(/\p{Cf}/u);
  });

  test('Search on the screen says how much it covered, and highlights what it found.', async () => {
    const { client, directory } = server();
    const { id } = await openSession(client, directory);
    await runTurn(client, id, 'say a needle');
    await using terminal = inTerminal(directory, ['events', 'tail', '--session', id]);
    const { glass, expectShows, type } = terminal;
    await expectShows(/message\.completed +a needle/);
    type('/');
    await expectShows(/^\/$/m);
    type('needle\r');
    await expectShows(/"needle": \d of \d in all \d+ rows/);
    expect(glass.written).toContain('\u001b[7mneedle\u001b[27m');
  });
});
