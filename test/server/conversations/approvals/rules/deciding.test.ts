import fs from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { ApprovalRule, RuleDecision } from '../../../../../src/api/approval-rules.ts';
import { catalogue } from '../../../../../src/agents/acp/catalogue.ts';
import { storeOldRules } from '../../../../support/old-rules.ts';
import type { AgentRequest } from '../../../../../src/agents/provider.ts';
import { hunksDetail } from '../../../../../src/agents/details.ts';
import { diffDetail } from '../../../../support/diff-detail.ts';
import { completed } from '../../../../support/scripted-provider.ts';
import {
  withHarness,
  sharedHarness,
  type Harness,
  testHarness,
} from '../../../../support/sessions/harness.ts';
import { testDirectory } from '../../../../support/temp.ts';
import type { UntypedEvent } from '../../../../support/untyped-events.ts';

const RULES = '/v1/approval-rules';

async function add(harness: Harness, body: object): Promise<ApprovalRule> {
  const { status, body: added } = await harness.post<ApprovalRule>(RULES, body);
  expect(status).toBe(200);
  return added;
}

function running(
  command: string,
  cwd: string,
  ...more: AgentRequest['details']
): Partial<AgentRequest> {
  return { kind: 'command', title: command, details: [{ type: 'command', command, cwd }, ...more] };
}

function writing(file: string, ...more: AgentRequest['details']): Partial<AgentRequest> {
  return { kind: 'file_change', title: file, details: [diffDetail(file, 'a\n', 'b\n'), ...more] };
}

/** A turn whose agent can ask. */
async function openActive(harness: Harness) {
  const session = await harness.open({ cwd: harness.directory });
  return { session, turn: await harness.startTurn(session) };
}

/** Whether a request is put to a person. */
async function isAsked(
  harness: Harness,
  { session, turn }: Awaited<ReturnType<typeof openActive>>,
  request: Partial<AgentRequest>,
) {
  const withdrawal = new AbortController();
  const answer = turn.ask(request, withdrawal.signal);
  const first = await Promise.race([answer, pending(harness, session.id, withdrawal.signal)]);
  withdrawal.abort();
  await answer;
  return first === 'asked';
}

/** Waits until an approval of a session is pending, or `signal` aborts. It does not poll, because requests delay lookups. */
async function pending(
  harness: Harness,
  sessionId: string,
  signal: AbortSignal,
): Promise<'asked' | null> {
  const looked = new Set<number>();
  const isNew = ({ kind, session_id, seq }: UntypedEvent) =>
    kind === 'approval.requested' && session_id === sessionId && !looked.has(seq);
  while (!signal.aborted) {
    const event = await harness.until(isNew).catch(() => null);
    if (event) looked.add(event.seq);
    if ((await harness.approvals(`?session_id=${sessionId}`)).length > 0) return 'asked';
  }
  return null;
}

it('An allowed request is accepted once at once, and its approval and event name the rule.', async () => {
  const harness = await testHarness();
  const rule = await add(harness, { effect: 'allow', command: 'git status' });
  const active = await openActive(harness);
  const answer = await active.turn.ask(running('git status', harness.directory));
  expect(answer).toEqual({ decision: 'accept', scope: 'once', answers: null });
  const [approval] = await harness.approvals('?status=accepted');
  expect(approval).toMatchObject({
    decided_by: rule.id,
    scope: 'once',
    held: false,
    reason: 'an approval rule decided the request: allow command git status',
  });
  const events = await harness.events(active.session.id);
  expect(events.map(({ kind }) => kind)).not.toContain('approval.requested');
  const resolved = events.find(({ kind }) => kind === 'approval.resolved');
  expect(resolved?.payload).toMatchObject({ approval: { id: approval?.id, decided_by: rule.id } });
  expect((await harness.session(active.session.id)).status).toBe('running');
});

it('The log has the text of an agent before the approval of its next request that a rule decides.', async () => {
  const harness = await testHarness();
  await add(harness, { effect: 'allow', command: 'git status' });
  const { turn } = await openActive(harness);
  void turn.sink.update({ type: 'message', text: 'I look ' });
  void turn.sink.update({ type: 'message', text: 'around.' });
  await turn.ask(running('git status', harness.directory));
  await harness.times('message.delta', 2);
  await harness.times('approval.resolved', 1);
  const kinds = harness.seen.map(({ kind }) => kind);
  expect(kinds.slice(-3)).toEqual(['message.delta', 'message.delta', 'approval.resolved']);
});

it('An allowed request may change files that all match the path of the rule.', async () => {
  const harness = await testHarness();
  await add(harness, { effect: 'allow', path: 'docs/**' });
  const active = await openActive(harness);
  const at = (file: string) => path.join(harness.directory, file);
  expect(await isAsked(harness, active, writing(at('docs/a/b.md')))).toBe(false);
  expect(await isAsked(harness, active, writing(at('docs/.hidden')))).toBe(true);
  expect(await isAsked(harness, active, writing(at('src/a.ts')))).toBe(true);
  const both = {
    ...writing(at('docs/a.md')),
    details: [diffDetail(at('docs/a.md'), 'a', 'b'), diffDetail(at('src/a'), 'a', 'b')],
  };
  expect(await isAsked(harness, active, both)).toBe(true);
});

it('An allowed request may use a tool that its agent names.', async () => {
  const harness = await testHarness();
  await add(harness, { effect: 'allow', tool: 'WebFetch' });
  const active = await openActive(harness);
  expect(await isAsked(harness, active, { kind: 'tool', tool: 'WebFetch', details: [] })).toBe(
    false,
  );
  expect(await isAsked(harness, active, { kind: 'tool', tool: 'WebSearch', details: [] })).toBe(
    true,
  );
  expect(await isAsked(harness, active, { kind: 'tool', details: [] })).toBe(true);
  expect(await isAsked(harness, active, { ...running('id', '/'), tool: 'WebFetch' })).toBe(true);
});

describe('an allowed command or file that still needs an approval', () => {
  const rules = [
    { effect: 'allow', command: 'npm test' },
    { effect: 'allow', command: 'rm *' },
    { effect: 'allow', path: 'src/**' },
  ];
  const given = sharedHarness();
  beforeAll(async () => {
    const harness = given();
    for (const rule of rules) await add(harness, rule);
    await add(harness, { effect: 'allow', command: 'make', directory: harness.directory });
    fs.mkdirSync(path.join(harness.directory, 'src'));
    fs.mkdirSync(path.join(harness.directory, '.git'));
    fs.symlinkSync('../.git', path.join(harness.directory, 'src/hidden'));
    fs.symlinkSync('/tmp', path.join(harness.directory, 'src/out'));
    fs.symlinkSync('/tmp/not/there', path.join(harness.directory, 'src/nowhere'));
  });

  it.each<[string, (directory: string) => Partial<AgentRequest>]>([
    ['the command is more than one', (cwd) => running('npm test; id', cwd)],
    [
      'the request says more',
      (cwd) => running('npm test', cwd, { type: 'input', name: 'sandbox', value: 'off' }),
    ],
    [
      'a part is not shown',
      (cwd) => running('npm test', cwd, { type: 'omitted', name: 'x', bytes: 1 }),
    ],
    [
      'the agent does not offer to accept once',
      (cwd) => ({ ...running('npm test', cwd), scopes: ['session'] }),
    ],
    ['the request is a question', (cwd) => ({ ...running('npm test', cwd), kind: 'question' })],
    ['the agent names no command', () => ({ kind: 'command', title: 'npm test', details: [] })],
    ['the command runs in another directory', (cwd) => running('npm test', path.join(cwd, 'src'))],
    [
      'a model names the directory in the input of a tool',
      (cwd) => running('make', path.join(cwd, 'src')),
    ],
    [
      'a field with a usual name has an unusual value',
      (cwd) => running('npm test', cwd, { type: 'input', name: 'timeout', value: { env: 'x' } }),
    ],
    [
      'the tool is another one',
      (cwd) => running('npm test', cwd, { type: 'input', name: 'tool', value: 'remote' }),
    ],
    [
      'a tool of another kind takes the command',
      (cwd) => ({ ...running('npm test', cwd), kind: 'tool' }),
    ],
    [
      'a tool of another kind shows a diff',
      (cwd) => ({ ...writing(path.join(cwd, 'src/a')), kind: 'command' }),
    ],
    ['a file of the command is behind a link', (cwd) => running('rm src/out/x', cwd)],
    ['a file of the command is git’s, by a link', (cwd) => running('rm src/hidden/config', cwd)],
    ['the file is elsewhere', (cwd) => writing(`${cwd}/src/../../x`)],
    ['the name of the file is relative', () => writing('src/a')],
    ['the name begins with a home directory', () => writing('~/src/a')],
    ['the name ends with a blank', (cwd) => writing(`${cwd}/src/a `)],
    ['the file is git’s', (cwd) => writing(`${cwd}/src/.git/config`)],
    ['the file is git’s on other file systems', (cwd) => writing(`${cwd}/src/.GI\u200dT/config`)],
    ['the file is an agent’s', (cwd) => writing(`${cwd}/src/.claude/settings.json`)],
    [
      'the file is moved elsewhere',
      (cwd) => ({
        kind: 'file_change',
        details: [{ type: 'diff', path: `${cwd}/src/a`, diff: `--- ${cwd}/src/a\n+++ /etc/x\n` }],
      }),
    ],
    [
      'the file is moved to a name with a tab',
      (cwd) => ({
        kind: 'file_change',
        details: [hunksDetail(`${cwd}/src/a`, '@@ -1 +1 @@\n', `${cwd}/src/b\t/../../../x`)],
      }),
    ],
    ...['\r', '\u2028'].map((character): [string, (directory: string) => Partial<AgentRequest>] => [
      `the file is moved to a name with ${JSON.stringify(character)}`,
      (cwd) => ({
        kind: 'file_change',
        details: [
          hunksDetail(`${cwd}/src/a`, '@@ -1 +1 @@\n', `${cwd}/src/b${character}/../../../x`),
        ],
      }),
    ]),
    [
      'the agent asks for a whole directory, too',
      (cwd) => writing(`${cwd}/src/a`, { type: 'input', name: 'grantRoot', value: '/' }),
    ],
    ['a symbolic link leads elsewhere', (cwd) => writing(`${cwd}/src/out/x`)],
    ['a symbolic link leads to nothing', (cwd) => writing(`${cwd}/src/nowhere`)],
  ])(
    'An approval is requested although a rule allows the request, if %s.',
    async (_title, request) => {
      const harness = given();
      const active = await openActive(harness);
      expect(await isAsked(harness, active, request(harness.directory))).toBe(true);
      active.turn.end(completed);
    },
  );
});

it('A deny rule takes precedence over an ask rule, and an ask rule over an allow rule.', async () => {
  const harness = await testHarness();
  const active = await openActive(harness);
  const asks = (command: string) => isAsked(harness, active, running(command, harness.directory));
  await add(harness, { effect: 'allow', command: 'rm *' });
  expect(await asks('rm a')).toBe(false);
  const asking = await add(harness, { effect: 'ask', command: 'rm **' });
  expect(await asks('rm a')).toBe(true);
  const denying = await add(harness, { effect: 'deny', command: 'rm a', reason: 'a is needed' });
  expect(await active.turn.ask(running('rm a', harness.directory))).toEqual({
    decision: 'decline',
    reason: 'a is needed',
  });
  const [declined] = await harness.approvals('?status=declined');
  expect(declined?.decided_by).toBe(denying.id);
  for (const { id } of [asking, denying])
    expect((await harness.del(`${RULES}/${id}`)).status).toBe(200);
  expect(await asks('rm a')).toBe(false);
});

it('A rule for a directory applies there and below, by the directory of the command.', async () => {
  const harness = await testHarness();
  const inner = path.join(harness.directory, 'inner');
  fs.mkdirSync(path.join(inner, 'deep'), { recursive: true });
  fs.mkdirSync(`${inner}-not`);
  await add(harness, { effect: 'allow', command: 'make', directory: inner });
  const active = await openActive(harness);
  const asks = (cwd: string, tool = 'cadre_process_run') =>
    isAsked(harness, active, { ...running('make', cwd), tool });
  expect(await asks(inner)).toBe(false);
  expect(await asks(path.join(inner, 'deep'))).toBe(false);
  expect(await asks(`${inner}-not`)).toBe(true);
  // The model names the directory.
  expect(await isAsked(harness, active, running('make', inner))).toBe(true);
  expect(await asks(harness.directory)).toBe(true);
});

it('A rule to deny in a directory looks at the directory that a model names, and at the directory of the session.', async () => {
  const harness = await testHarness();
  const inner = path.join(harness.directory, 'inner');
  fs.mkdirSync(inner);
  await add(harness, { effect: 'deny', command: 'make', directory: inner });
  const active = await openActive(harness);
  expect((await active.turn.ask(running('make', inner))).decision).toBe('decline');
  expect(await isAsked(harness, active, running('make', path.dirname(harness.directory)))).toBe(
    true,
  );
});

it('An outdated rule to allow asks, an outdated rule to deny still denies, and both report what to do.', async () => {
  const own = testDirectory('rules');
  const directory = path.join(own, 'data');
  await storeOldRules(directory, [
    { id: 'rule_a', effect: 'allow', command: 'git push **' },
    { id: 'rule_b', effect: 'allow', command: 'ls; rm' },
    { id: 'rule_c', effect: 'deny', command: 'curl "**' },
    { id: 'rule_d', effect: 'allow', command: 'cat **' },
    { id: 'rule_e', effect: 'allow', command: 'cat  **' },
  ]);
  const harness = await testHarness({ directory });
  const { body: rules } = await harness.get<ApprovalRule[]>(RULES);
  expect(rules.map(({ id, effect, refused }) => [id, effect, refused])).toEqual([
    ['rule_e', 'allow', null],
    ['rule_d', 'allow', null],
    ['rule_c', 'deny', expect.stringContaining('rules do not read quotes')],
    [
      'rule_b',
      'ask',
      expect.stringContaining(
        'the rule was added with effect allow, but now asks instead: a rule with',
      ),
    ],
    ['rule_a', 'ask', expect.stringContaining('can reach any address')],
  ]);
  const active = await openActive(harness);
  const asks = (command: string) => isAsked(harness, active, running(command, harness.directory));
  expect(await asks('git push origin')).toBe(true);
  expect(await asks('cat a')).toBe(false);
  const test = (await harness.post<RuleDecision>(`${RULES}/test`, { command: 'git push x' })).body;
  expect(test).toMatchObject({ effect: 'ask', rule: { id: 'rule_a' } });
  expect(test.why).toContain('now asks instead: git push can reach any address');
  // Two rules of the same conditions end together.
  expect((await harness.del(`${RULES}/rule_d`)).status).toBe(200);
  expect(await asks('cat a')).toBe(true);
  // A rule that is confirmed now allows again, under its id.
  expect((await harness.get<ApprovalRule[]>(RULES)).body).toHaveLength(3);
});

it('A rule for an unlisted program needs a confirmation, and then does not allow protected files.', async () => {
  const harness = await testHarness();
  const body = { effect: 'allow', command: 'something-new **' };
  const refused = await harness.post(RULES, body);
  expect([refused.status, refused.body.error]).toEqual([
    400,
    expect.stringMatching(/^body\.command: something-new is not on the list .* i_know$/),
  ]);
  expect(await add(harness, { ...body, i_know: true })).toMatchObject({
    effect: 'allow',
    i_know: true,
  });
  const active = await openActive(harness);
  expect(await isAsked(harness, active, running('something-new a', harness.directory))).toBe(false);
  expect(await isAsked(harness, active, running('something-new .env', harness.directory))).toBe(
    true,
  );
});

it('A rule that is added twice is one rule, which ends when it is removed.', async () => {
  const harness = await testHarness();
  const body = { effect: 'allow', command: 'ls docs', directory: harness.directory };
  const first = await add(harness, body);
  const others = await Promise.all([
    add(harness, { ...body, command: '  ls   docs ' }),
    add(harness, { ...body, directory: `${harness.directory}/.` }),
    add(harness, { ...body, reason: 'a new one' }),
  ]);
  expect(others.map(({ id }) => id)).toEqual([first.id, first.id, first.id]);
  expect((await harness.get<ApprovalRule[]>(RULES)).body).toEqual([
    { ...first, reason: 'a new one' },
  ]);
  const different = await Promise.all([
    add(harness, { effect: 'allow', command: 'ls docs' }),
    add(harness, { ...body, effect: 'ask' }),
    add(harness, { ...body, provider: 'acp' }),
    add(harness, { effect: 'deny', path: './a/**' }),
  ]);
  expect(new Set([first, ...different].map(({ id }) => id)).size).toBe(5);
  expect((await add(harness, { effect: 'deny', path: 'a/**' })).id).toBe(different[3]?.id);
  for (const { id } of [first, ...different])
    expect((await harness.del(`${RULES}/${id}`)).status).toBe(200);
  const test = await harness.post<RuleDecision>(`${RULES}/test`, {
    command: 'ls docs',
    cwd: harness.directory,
  });
  expect(test.body.effect).toBe('ask');
});

it('A request that names more files than are looked up is put to a person.', async () => {
  const harness = await testHarness();
  await add(harness, { effect: 'allow', path: '**' });
  const active = await openActive(harness);
  const file = path.join(harness.directory, 'a');
  const header = (count: number) => `--- ${file}\n${`+++ ${file}\n`.repeat(count)}`;
  const change = (count: number) => ({
    ...writing(file),
    details: [hunksDetail(file, `${header(count)}@@ -1 +1 @@\n-a\n+b\n`)],
  });
  const many = Array.from({ length: 20_000 }, (_, at) => `+++ ${file}${at}\n`).join('');
  const asked = hunksDetail(file, `--- ${file}\n${many}@@ -1 +1 @@\n-a\n+b\n`);
  expect(await isAsked(harness, active, change(2))).toBe(false);
  expect(await isAsked(harness, active, { ...writing(file), details: [asked] })).toBe(true);
});

it('A rule to allow by path names each file that configures an agent of the catalogue.', async () => {
  const harness = await testHarness();
  await add(harness, { effect: 'allow', path: '**' });
  await add(harness, { effect: 'allow', path: '**/.*' });
  await add(harness, { effect: 'allow', command: 'tee *' });
  const test = async (body: object) =>
    (await harness.post<RuleDecision>(`${RULES}/test`, { ...body, cwd: harness.directory })).body
      .effect;
  expect(await test({ path: 'a/b.ts' })).toBe('allow');
  // The name of the directory protects every file in the directory.
  expect(await test({ path: '.config/mise/config.toml' })).toBe('ask');
  for (const path of ['a/promise.toml', 'mise.ts', 'husky.ts', 'docs/lefthook.md', 'envrc'])
    expect([path, await test({ path })]).toEqual([path, 'allow']);
  expect(catalogue.filter(({ files }) => files.length === 0)).toEqual([]);
  const general = [
    '.git',
    '.cadre',
    '.vscode',
    '.bashrc',
    '.gitmodules',
    'lefthook.yml',
    'mise.toml',
    'mise.ci.local.toml',
    '.mise.toml',
    'mise',
    '.mise',
    '.envrc',
    '.envrc.local',
    '.tool-versions',
    '.asdfrc',
    '.autoenv.zsh',
    '.husky',
    '.huskyrc.json',
    'husky.config.js',
    '.lintstagedrc.js',
    '.lefthook-local.yml',
    '.pre-commit-config.yaml',
    '.pre-commit-hooks.yaml',
    '.simple-git-hooks.json',
    'devenv.nix',
    'sitecustomize.py',
  ];
  for (const name of [...general, ...catalogue.flatMap(({ files }) => files)]) {
    expect([name, await test({ path: name })]).toEqual([name, 'ask']);
    expect([name, await test({ path: `a/${name.toUpperCase()}/b` })]).toEqual([name, 'ask']);
    expect([name, await test({ command: `tee a/${name}` })]).toEqual([name, 'ask']);
  }
});

const none = sharedHarness();

it('Rules survive a restart.', async () => {
  const own = testDirectory('rules');
  const directory = path.join(own, 'data');
  const rule = await withHarness(
    (harness) => add(harness, { effect: 'allow', command: 'git status' }),
    {
      directory,
    },
  );
  const harness = await testHarness({ directory });
  expect((await harness.get<ApprovalRule[]>(RULES)).body).toEqual([rule]);
  const active = await openActive(harness);
  expect(await isAsked(harness, active, running('git status', harness.directory))).toBe(false);
});

it.each([
  [{ effect: 'allow' }, 'requires a command, a path, a tool or a directory'],
  [
    { effect: 'allow', directory: '/' },
    'a rule with effect allow requires a command, a path or a tool',
  ],
  [{ effect: 'allow', command: 'sh *' }, 'runs a command from its arguments'],
  [{ effect: 'allow', command: 'a', path: 'b' }, 'add one rule for each'],
  [{ effect: 'deny', directory: 'relative' }, 'is not an absolute path'],
  [{ effect: 'deny', directory: '/no/such/directory' }, 'does not exist'],
  [{ effect: 'permit', command: 'a' }, 'effect'],
  [{ effect: 'deny', command: 'a\nb' }, 'control characters'],
  [{ effect: 'deny', command: 'ls; rm' }, 'more than one simple command'],
  [{ effect: 'deny', path: '~/x' }, 'use the absolute path'],
  [{ effect: 'deny', path: '/a//b' }, 'the path has to be written as /a/b'],
  [{ effect: 'ask', path: 'docs/' }, 'use docs/** for all files'],
  [{ effect: 'allow', path: '.' }, 'is a directory'],
  [{ effect: 'allow', path: 'a/*/../b' }, 'after *'],
  [{ effect: 'allow', path: '"a/**"' }, 'rules do not read quotes'],
])('The invalid rule %o is refused.', async (body, why) => {
  const { status, body: refusal } = await none().post(RULES, body);
  expect([status, refusal.code, refusal.error]).toEqual([
    400,
    'invalid',
    expect.stringContaining(why),
  ]);
  expect((await none().get(RULES)).body).toEqual([]);
});

it('The test of a rule returns its decision and the reason.', async () => {
  const harness = await testHarness();
  const rule = await add(harness, { effect: 'allow', command: 'git log **' });
  const test = async (body: object) =>
    (await harness.post<RuleDecision>(`${RULES}/test`, body)).body;
  expect(await test({ command: 'git log main' })).toEqual({
    effect: 'allow',
    rule,
    why: 'allow command git log **',
  });
  expect(await test({ command: 'git log > x' })).toEqual({
    effect: 'ask',
    rule: null,
    why: 'the command is not one simple command, or is ambiguous: ">"',
  });
  expect(await test({ command: 'git log --output=x' })).toMatchObject({
    effect: 'ask',
    why: '"--output=x" is an option, which * does not match (allow command git log **)',
  });
  expect(await test({ command: 'git log ../x' })).toMatchObject({
    why: '"../x" leads out of the directory, which * does not match (allow command git log **)',
  });
  expect(await test({ command: 'git push' })).toMatchObject({
    why: '"push" does not match "log" (allow command git log **)',
  });
  expect(await test({ command: 'ls' })).toMatchObject({ why: 'no rule matches' });
  expect(await test({ path: '.git/config' })).toMatchObject({
    why: expect.stringContaining('is hidden, or belongs to git or an agent') as unknown,
  });
  expect(await test({ path: 'x' })).toMatchObject({ effect: 'ask', why: 'no rule matches' });
});

it('An agent may not read or change rules.', async () => {
  const harness = await testHarness();
  const { session } = await openActive(harness);
  const headers = { authorization: `Bearer ${harness.tokenOf(session)}` };
  const { status } = await harness.post(RULES, { effect: 'allow', command: 'id' }, headers);
  expect(status).toBeGreaterThanOrEqual(401);
  expect((await harness.get(RULES)).body).toEqual([]);
});
