import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { markdownHtml, exportHtml } from '../../../src/frontends/cli/export/html.ts';
import { runHere } from '../../support/cli/cadre.ts';
import { sharedDemo } from '../../support/demo-server.ts';
import { testDirectory } from '../../support/temp.ts';

const server = sharedDemo();
const env = () => ({ CADRE_URL: server().runtime.url, CADRE_TOKEN: server().runtime.token });

const secret = 'sk-ant-abcdefghijklmnopqrstuvwxyz';

async function makeSession(): Promise<[home: string, id: string]> {
  const home = testDirectory();
  const prompt = `think why; tool read a.ts => key ${secret}; say **Done** <script>alert(1)</script>`;
  const made = ['sessions', 'create', '--title', 'fix <b>', '--cwd', home];
  const id = (await runHere(home, made, { env: env() })).stdout.trim();
  await runHere(home, ['sessions', 'send', id, prompt], { env: env() });
  await runHere(home, ['sessions', 'wait', id], { env: env() });
  return [home, id];
}

test('An export is one HTML document with collapsed thoughts and tools, and without scripts.', async () => {
  const [home, id] = await makeSession();
  const { code, stdout } = await runHere(home, ['sessions', 'export', id], { env: env() });
  expect(code).toBe(0);
  expect(stdout).toMatch(/^<!doctype html>[\s\S]*<\/html>\n$/);
  expect(stdout).toContain('<h1>fix &#60;b&#62;</h1>');
  expect(stdout).toMatch(/<details><summary>Reasoning<\/summary>/);
  expect(stdout).toMatch(/<details><summary>.*read a\.ts/);
  expect(stdout).toContain('<strong>Done</strong>');
  expect(stdout).not.toContain('<script');
  expect(stdout).not.toMatch(/(?:src|href)="(?!https?:)/);
  expect(stdout).toContain(secret);
});

test('An export with --redact replaces secrets in every format.', async () => {
  const [home, id] = await makeSession();
  for (const format of ['--html', '--markdown', '--json']) {
    const args = ['sessions', 'export', id, '--redact', format];
    const { code, stdout } = await runHere(home, args, { env: env() });
    expect([code, stdout.includes(secret)]).toEqual([0, false]);
    expect(stdout).toContain('fix');
  }
});

test('An export with --json is the document of sessions show.', async () => {
  const [home, id] = await makeSession();
  const exported = await runHere(home, ['--json', 'sessions', 'export', id], { env: env() });
  const shown = await runHere(home, ['--json', 'sessions', 'show', id], { env: env() });
  const [one, other] = [exported.json(), shown.json()] as { turns: unknown }[];
  expect(one?.turns).toEqual(other?.turns);
  expect(Object.keys(one ?? {})).toEqual(['session', 'turns', 'approvals', 'notices']);
});

test('An export to a file is private, and replaces a file only with --force.', async () => {
  const [home, id] = await makeSession();
  const args = ['sessions', 'export', id, '--file', 'talk.html'];
  const file = path.join(home, 'talk.html');
  const first = await runHere(home, args, { env: env() });
  expect([first.code, first.stdout, first.stderr]).toEqual([0, '', `cadre: wrote ${file}\n`]);
  expect(fs.statSync(file).mode & 0o777).toBe(0o600);
  const text = fs.readFileSync(file, 'utf8');
  const second = await runHere(home, args, { env: env() });
  const refusal = `cadre: the file ${file} already exists: pass --force to replace the file\n`;
  expect([second.code, second.stderr]).toEqual([7, refusal]);
  fs.chmodSync(file, 0o644);
  expect((await runHere(home, [...args, '--force'], { env: env() })).code).toBe(0);
  expect(fs.statSync(file).mode & 0o777).toBe(0o600);
  expect(fs.readFileSync(file, 'utf8')).toBe(text);
});

test('An export refuses two formats at once.', async () => {
  const [home, id] = await makeSession();
  const args = ['sessions', 'export', id, '--html', '--markdown'];
  expect((await runHere(home, args, { env: env() })).code).toBe(2);
});

test('An export of a team has the turns of all members in order, each with its speaker.', async () => {
  const [home, lead] = await makeSession();
  const create = ['sessions', 'create', '--title', 'helper', '--cwd', home];
  const member = (await runHere(home, create, { env: env() })).stdout.trim();
  await runHere(home, ['sessions', 'send', member, 'say I help'], { env: env() });
  await runHere(home, ['sessions', 'wait', member], { env: env() });
  const team = ['teams', 'create', 'shop', '--lead', lead, '--member', member];
  const id = (await runHere(home, team, { env: env() })).stdout.trim();
  const { code, stdout } = await runHere(home, ['teams', 'export', id], { env: env() });
  expect(code).toBe(0);
  const speakers = [...stdout.matchAll(/<h2>(.*?)<\/h2>/g)].map(([, name]) => name);
  expect(speakers.slice(0, 2)).toEqual(['fix &#60;b&#62;', 'helper']);
  const markdown = ['teams', 'export', id, '--markdown'];
  const text = (await runHere(home, markdown, { env: env() })).stdout;
  expect(text).toMatch(/^# shop\n[\s\S]*^## helper\n\nI help$/m);
});

test.each([
  ['<img src=x onerror=alert(1)>', '<img'],
  ['a <b onclick="x()">c</b>', '<b '],
  ['[x](javascript:alert(1))', 'javascript'],
  ['[x](data:text/html,hi)', 'href'],
  ['![x](https://example.org/x.png)', '<img'],
  ['```"><script>\nx\n```', '<script'],
  ['[x](https://example.org/"onmouseover="x)', '"onmouseover'],
  ['<https://example.org/?a="b>', '"b'],
  ['| <script> |\n|---|\n| <i> |', '<i>'],
  ['*'.repeat(300) + '<u>', '<u>'],
])('The HTML never contains markup of the text %s.', (text, markup) => {
  expect(markdownHtml(text)).not.toContain(markup);
});

test('The HTML colours the diff of a tool, and shows invisible characters as code points.', () => {
  const output = '--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+n\u202Eew <i>';
  const tool = {
    type: 'tool',
    key: 'k',
    status: 'completed',
    title: 'edit',
    input: null,
  } as const;
  const turns = [{ speaker: null, blocks: [{ ...tool, output }] }];
  const html = [...exportHtml({ title: 't', facts: [], turns })].join('');
  expect(html).toContain('<details open>');
  expect(html).toContain('<span class="removed">-old</span>');
  expect(html).toMatch(/<span class="added">\+n.*ew &#60;i&#62;<\/span>/);
  expect(html).not.toContain('\u202E');
});
