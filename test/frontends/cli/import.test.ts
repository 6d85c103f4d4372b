import { expect, test } from 'vitest';
import { handBackText } from '../../../src/frontends/cli/commands/session-transfer.ts';
import { cadreOn } from '../../support/cli/cadre.ts';
import { testServer } from '../../support/server.ts';
import { testDirectory } from '../../support/temp.ts';
import { openElsewhere, Transcript } from '../../support/transcripts.ts';

test('Conversations are listed, imported by the beginning of their id, shown and handed back.', async () => {
  const home = testDirectory('import-home');
  const config = `[providers.claude]\nenabled = true\ncommand = "${process.execPath}"\nenv = { HOME = "${home}" }\n`;
  const server = await testServer({ config });
  const cadre = cadreOn(server);
  expect((await cadre(['sessions', 'import', 'list'])).stdout).toBe('');
  const [transcript, held] = [new Transcript(home), new Transcript(home)];
  transcript.turn('tidy the parser', 'It is **tidy**.');
  held.turn('other');
  openElsewhere(home, held.ref, process.pid);
  const listed = await cadre(['sessions', 'import', 'list']);
  expect(listed.stdout).toContain(transcript.ref.slice(0, 13));
  expect(listed.stdout).toContain(`claude ${process.pid} idle`);
  const json = await cadre(['--json', 'sessions', 'import', 'list', '--provider', 'claude']);
  expect(JSON.parse(json.stdout)).toHaveLength(2);

  const refused = await cadre(['sessions', 'import', held.ref]);
  expect(refused.stderr).toContain(`the conversation is open in claude (process ${process.pid}`);
  const unknown = await cadre(['sessions', 'import', 'ffffffff-none']);
  expect(unknown.stderr).toContain('conversation "ffffffff-none" not found');
  const wrong = await cadre(['sessions', 'import', transcript.ref, '--history', '201']);
  expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining('invalid --history')]);

  const imported = await cadre([
    'sessions',
    'import',
    transcript.ref.slice(0, 8),
    '--title',
    'own',
  ]);
  expect(imported.stdout).toMatch(/^Imported session .*own.* \(1 past turn\): continue with/);
  const shown = await cadre(['sessions', 'show', 'own', '--markdown']);
  expect(shown.stdout).toContain('tidy the parser');
  expect(shown.stdout).toContain('It is **tidy**.');
  expect(shown.stdout).toContain('the turn above ran in cli, outside of cadre');
  const exported = await cadre(['sessions', 'export', 'own', '--markdown']);
  expect(exported.stdout).toContain('tidy the parser');
  expect(exported.stdout).toContain('the turn above ran in cli, outside of cadre');
  const back = await cadre(['sessions', 'hand-back', 'own']);
  expect(back.stdout).toBe(`cd ${home} && ${process.execPath} --resume=${transcript.ref}\n`);
});

test('A hand-back to an unknown program prints the id, and names the documentation of the agent.', () => {
  const handed = { session_id: 'sess_1', cwd: '/home/ada', ref: 'own\n', command: [] };
  expect(handBackText(handed)).toBe(
    "Continue the conversation own in the agent's own program, in /home/ada: the documentation of the agent has the command\n",
  );
  expect(handBackText({ ...handed, cwd: '/a b', command: ['gemini', '--resume', 'x'] })).toBe(
    "cd '/a b' && gemini --resume x\n",
  );
});
