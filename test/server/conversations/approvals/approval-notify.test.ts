import fs from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import type { Approval } from '../../../../src/api/approvals.ts';
import { completed } from '../../../support/scripted-provider.ts';
import { tempDirectory, testDirectory } from '../../../support/temp.ts';
import { Fifo } from '../../../support/sessions/fifo.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { endOf, withHarness, type Harness } from '../../../support/sessions/harness.ts';

/** A runtime whose command is run by time that goes by itself. */
function withCommand(command: string, test: (harness: Harness) => Promise<void>): Promise<void> {
  const clock = new ManualClock();
  clock.runFree();
  return withHarness(test, { clock, config: { approvals: { notify_command: command } } });
}

it('The approval command gets the approval as JSON on its stdin, and nothing of it in its arguments.', async () => {
  await using directory = tempDirectory('notify');
  using done = new Fifo(path.join(directory.path, 'done'));
  const file = (name: string) => path.join(directory.path, name);
  const command =
    `cat > '${file('stdin')}'; tr '\\0' '\\n' < /proc/$$/cmdline > '${file('argv')}'; ` +
    `tr '\\0' '\\n' < /proc/$$/environ > '${file('env')}'; echo done > '${done.path}'`;
  await withCommand(command, async (harness) => {
    const said = done.said();
    const { session, turn } = await harness.atWork();
    void turn.ask({ title: 'it\'s $(id) `id` \n; rm -rf "x"' });
    const approval = await harness.asked(session.id);
    expect(await said).toBe('done\n');
    const stdin = fs.readFileSync(file('stdin'), 'utf8');
    expect(JSON.parse(stdin) as Approval).toEqual(approval);
    // The text of a command begins with the spawn barrier, at which its shell waits.
    const argv = fs.readFileSync(file('argv'), 'utf8').trimEnd();
    expect(argv).toMatch(/^\/bin\/sh\n-c\n[^\n]*CADRE_GATE; cat /);
    expect(argv.endsWith(`; ${command}`)).toBe(true);
    expect(argv).not.toContain(approval.id);
    const environment = fs.readFileSync(file('env'), 'utf8');
    expect(environment).not.toContain(approval.id);
    expect(environment).not.toContain(harness.given.token);
  });
});

it('The approval command runs once for each approval.', async () => {
  using done = new Fifo(path.join(testDirectory('notify'), 'done'));
  await withCommand(`grep -o '"title":"[^"]*"' > '${done.path}'`, async (harness) => {
    const { turn } = await harness.atWork();
    const titles: string[] = [];
    for (const title of ['first', 'second']) {
      const said = done.said();
      void turn.ask({ title });
      titles.push((await said).trim());
    }
    expect(titles).toEqual(['"title":"first"', '"title":"second"']);
  });
});

it('The approval command runs for one approval at a time, in order, and not for a resolved approval.', async () => {
  const own = testDirectory('notify');
  const file = (name: string) => path.join(own, name);
  using begun = new Fifo(file('begun'));
  using go = new Fifo(file('go'));
  // Each run reports its start through one pipe, and waits for its end at another one.
  const command =
    `mkdir '${file('busy')}' || echo two at once >> '${file('faults')}'; ` +
    `grep -o '"title":"[^"]*"' > '${begun.path}'; read -r go < '${go.path}'; rmdir '${file('busy')}'`;
  await withCommand(command, async (harness) => {
    const { session, turn } = await harness.atWork();
    const first = begun.said();
    for (const title of ['one', 'two', 'three', 'four']) {
      void turn.ask({ title });
    }
    const asked = [];
    for (let nth = 1; nth <= 4; nth++) asked.push(await harness.asked(session.id, nth));
    expect((await first).trim()).toBe('"title":"one"');
    await harness.decide(asked[1] as Approval, 'accept');
    await harness.decide(asked[2] as Approval, 'decline');
    const second = begun.said();
    await fs.promises.writeFile(go.path, 'go\n');
    expect((await second).trim()).toBe('"title":"four"');
    await fs.promises.writeFile(go.path, 'go\n');
    expect(fs.existsSync(file('faults'))).toBe(false);
  });
});

it.each([
  ['fails', 'cat > /dev/null; exit 3', 3],
  ['does not exist', 'no-such-program-anywhere', 127],
  ['reads nothing', 'exec < /dev/null; exit 4', 4],
])('A notify command that %s harms nothing.', (_how, command, code) =>
  withCommand(command, async (harness) => {
    const { session, turn, turnId } = await harness.atWork();
    const answer = turn.ask({ request: { text: 'x'.repeat(300_000) } });
    const { id } = (await harness.asked(session.id)) ?? {};
    expect(await harness.logged('notify_command failed')).toMatchObject({ code, approval_id: id });
    const [pending] = await harness.approvals();
    expect((await harness.decide(pending as Approval, 'accept')).status).toBe(200);
    expect((await answer).decision).toBe('accept');
    turn.end(completed);
    expect((await harness.until(endOf(turnId))).kind).toBe('turn.completed');
  }),
);
