import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { testServer } from '../../support/server.ts';
import { testDirectory } from '../../support/temp.ts';
import { cadreOn } from '../../support/cli/cadre.ts';

const KEY = 'sk-ant-of-a-test';

/** A claude that reports whether it has received the key. */
const claude = `#!/bin/sh
case "$*" in *logout*) exit 0 ;; esac
if [ "$ANTHROPIC_API_KEY" = ${KEY} ]; then echo '{"loggedIn":true,"authMethod":"api_key"}'
else echo '{"loggedIn":false,"authMethod":"none"}'; exit 1; fi
`;

test('A login takes a key from stdin, a logout removes it, and neither shows it.', async () => {
  const own = testDirectory('logins');
  const command = path.join(own, 'claude.sh');
  fs.writeFileSync(command, claude, { mode: 0o755 });
  const home = path.join(own, 'home');
  const config = `[providers.claude]\ncommand = "${command}"\nhome = "${home}"\n`;
  const server = await testServer({ directory: own, config });
  const cadre = cadreOn(server);
  const login = await cadre(['--json', 'providers', 'login', 'claude'], { stdin: `${KEY}\n` });
  expect([login.code, login.stderr]).toEqual([0, '']);
  expect(login.json()).toMatchObject({ authenticated: true, mode: 'api_key' });
  const logout = await cadre(['providers', 'logout', 'claude']);
  expect(logout.stdout).toMatch(/^authenticated +false$/m);
  for (const text of [login.stdout, logout.stdout, server.log()]) expect(text).not.toContain(KEY);

  const nothing = await cadre(['providers', 'login', 'claude'], { stdin: ' \n' });
  expect([nothing.code, nothing.stderr]).toEqual([2, expect.stringContaining('API key')]);
  const file = await cadre(['providers', 'login', 'claude', '--auth-json', 'x']);
  expect([file.code, file.stderr]).toEqual([2, expect.stringContaining('stdin')]);
  const missing = await cadre(['providers', 'login', 'codex', '--auth-json', 'missing.json']);
  expect([missing.code, missing.stderr]).toEqual([2, expect.stringContaining('missing.json')]);
  const managed = await cadre(['providers', 'logout', 'codex']);
  expect([managed.code, managed.stderr]).toEqual([7, expect.stringContaining('codex logout')]);
});
