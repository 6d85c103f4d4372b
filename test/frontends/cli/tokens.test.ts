import { expect, test } from 'vitest';
import { testDemo } from '../../support/demo-server.ts';
import { endpoints } from '../../../src/api/index.ts';
import { cadreOn, testCadre, expectFailure } from '../../support/cli/cadre.ts';

const hint = 'cadre: the secret is shown only once: store it in a safe place\n';

test('cadre tokens create prints only the secret on stdout, and the secret is accepted.', async () => {
  const { server, cadre } = await testCadre();
  const created = await cadre(['tokens', 'create', 'dashboard']);
  expect([created.code, created.stderr]).toEqual([0, hint]);
  expect(created.stdout).toMatch(/^cadre_[\w-]{43}\n$/);
  const env = { CADRE_TOKEN: created.stdout.trim(), CADRE_URL: server.url };
  expect((await cadre(['tokens', 'list', '--json'], { env })).json()).toMatchObject([
    { name: 'dashboard', scope: 'admin' },
  ]);
});

test('cadre tokens create --json prints the whole record.', async () => {
  const server = await testDemo();
  const created = await cadreOn(server)(['tokens', 'create', 'ci', '--scope', 'read', '--json']);
  expect([created.code, created.stderr]).toEqual([0, hint]);
  expect(created.json()).toEqual({
    id: expect.stringMatching(/^tok_[0-9a-f]{32}$/),
    name: 'ci',
    scope: 'read',
    created_at: expect.any(Number),
    expires_at: null,
    permission_mode: null,
    last_used_at: null,
    secret: expect.stringMatching(/^cadre_[\w-]{43}$/),
  });
});

test('A read-only token can list sessions, and other commands end with 5 and the remedy.', async () => {
  const { cadre } = await testCadre();
  const { stdout } = await cadre(['tokens', 'create', 'eyes', '--scope', 'read']);
  const env = { CADRE_TOKEN: stdout.trim() };
  expect((await cadre(['sessions', 'list'], { env })).code).toBe(0);
  for (const args of [
    ['run', 'hello'],
    ['tokens', 'list'],
    ['tokens', 'create', 'more'],
  ]) {
    expectFailure(await cadre(args, { env }), 5, /read-only.*: use a token with the scope admin/);
  }
  const json = await cadre(['tokens', 'list', '--json'], { env });
  expect(JSON.parse(json.stderr)).toMatchObject({
    error: { code: 'forbidden_scope', hint: 'use a token with the scope admin' },
  });
});

test('cadre tokens list is a table or JSON, newest first, and contains no secret.', async () => {
  const { cadre } = await testCadre();
  const secrets = [
    (await cadre(['tokens', 'create', 'one of all'])).stdout.trim(),
    (await cadre(['tokens', 'create', 'two', '--scope', 'read', '--expires', '30d'])).stdout.trim(),
  ];
  const people = await cadre(['tokens', 'list', '--padded']);
  expect(people.stdout).toMatch(
    /^ID +SCOPE +AGE +USED +EXPIRES +NAME\n[0-9a-f]{8} +read +\d+s +- +in (?:29|30)d +two\n[0-9a-f]{8} +admin +\d+s +- +never +one of all\n$/,
  );
  const json = await cadre(['tokens', 'list', '--json']);
  expect(json.json()).toMatchObject([{ name: 'two' }, { name: 'one of all' }]);
  for (const secret of secrets) expect(people.stdout + json.stdout).not.toContain(secret);
});

test('cadre tokens revoke takes an id or its end, and the token is then refused.', async () => {
  const { server, cadre } = await testCadre();
  for (const part of [0, -6]) {
    const created = await server.client.call(endpoints.createToken, {
      body: { name: 'short-lived', scope: 'admin' },
    });
    const revoked = await cadre(['tokens', 'revoke', created.id.slice(part)]);
    expect([revoked.code, revoked.stdout]).toEqual([
      0,
      `Revoked token "short-lived" (${created.id})\n`,
    ]);
    const env = { CADRE_TOKEN: created.secret };
    expectFailure(await cadre(['status'], { env }), 4, /missing or invalid bearer token/);
  }
  expect((await cadre(['tokens', 'list', '--json'])).json()).toEqual([]);
});

test('cadre tokens revoke refuses an unknown id and an id that is too short.', async () => {
  const { cadre } = await testCadre();
  expectFailure(
    await cadre(['tokens', 'revoke', '123456']),
    3,
    /token "123456" not found: see cadre tokens list/,
  );
  expectFailure(
    await cadre(['tokens', 'revoke', '12345']),
    3,
    /token "12345" not found: pass the last 6/,
  );
});

test('cadre tokens create refuses an unknown scope and a name that cannot be shown.', async () => {
  const { cadre } = await testCadre();
  expectFailure(await cadre(['tokens', 'create', 'x', '--scope', 'write']), 2, /read/);
  expectFailure(
    await cadre(['tokens', 'create', 'x', '--expires', 'soon']),
    2,
    /a duration with a unit/,
  );
  expectFailure(await cadre(['tokens', 'create', 'a\nb']), 2, /<name>: /);
  expectFailure(await cadre(['tokens', 'create', '']), 2, /<name>: /);
});
