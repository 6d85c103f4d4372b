import fs from 'node:fs';
import { expect, test } from 'vitest';
import { type TestServer, testServer } from '../../../support/server.ts';
import { openSession } from '../../../support/turns.ts';
import { ranTo, stdout } from '../../../support/processes/work.ts';

/** The environment that a process of this server really has. */
async function environmentSeen(server: TestServer, more: { session_id?: string } = {}) {
  const over = await ranTo(server, 'cat /proc/self/environ', more);
  const lines = (await stdout(server, over)).split('\0').filter(Boolean);
  const seen = Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
  );
  return { over, seen };
}

const secrets = {
  CADRE_LOG_LEVEL: 'info',
  CADRE_TOKEN: 'ours',
  NODE_EXTRA_CA_CERTS: '/nowhere',
  npm_config_registry: 'x',
  OPENAI_API_KEY: 'x',
  OPENAI_BASE_URL: 'x',
  CODEX_HOME: 'x',
  ANTHROPIC_MODEL: 'x',
  CLAUDECODE: 'x',
  CLAUDE_CODE_ENTRYPOINT: 'x',
  GEMINI_MODEL: 'x',
  MISTRAL_API_KEY: 'x',
  MY_REMOVED: 'x',
  AGENT_SECRET: 'x',
};

const kept = {
  LANG: 'C.UTF-8',
  HTTP_PROXY: 'http://proxy',
  MY_KEPT: 'mine = "this" 漢',
  API_KEY_FILE: 'kept',
  XNODE_ENV: 'kept',
};

const config = `
[processes]
env_remove = ["MY_REMOVED"]
[providers.acp]
command = "true"
env = { AGENT_SECRET = "another" }
`;

test('The environment of a process is the environment of the server without variables of cadre, keys and configured names.', async () => {
  const server = await testServer({ config, env: { ...secrets, ...kept } });
  const { over, seen } = await environmentSeen(server);
  expect(Object.keys(seen).filter((name) => name in secrets)).toEqual([]);
  expect(seen).toMatchObject({ ...kept, HOME: server.directory });
  expect(
    Object.keys(seen)
      .filter((name) => name.startsWith('CADRE_'))
      .toSorted(),
  ).toEqual(['CADRE_PROCESS_ID', 'CADRE_RUN']);
  expect(seen.CADRE_PROCESS_ID).toBe(over.process_id);
  const all = fs.readFileSync(`/proc/${server.pid}/environ`, 'utf8');
  expect(all).toContain('AGENT_SECRET');
});

test('A process of a session has the environment of agents and the configured variables.', async () => {
  const server = await testServer({
    config: config.replace(
      '[processes]',
      '[processes]\nenv_pass = ["MY_KEPT", "MY_REMOVED", "NOT_THERE"]',
    ),
    env: {
      ...secrets,
      ...kept,
      GITHUB_TOKEN: 'x',
      AWS_SECRET_ACCESS_KEY: 'x',
      DATABASE_URL: 'x',
    },
  });
  const { id: session_id } = await openSession(server.client, server.directory);
  const { over, seen } = await environmentSeen(server, { session_id });
  const { CADRE_RUN: _marker, PWD: _pwd, ...rest } = seen;
  expect(rest).toEqual({
    PATH: process.env.PATH,
    TMPDIR: process.env.TMPDIR,
    HOME: server.directory,
    LANG: 'C.UTF-8',
    HTTP_PROXY: 'http://proxy',
    MY_KEPT: kept.MY_KEPT,
    NODE_EXTRA_CA_CERTS: secrets.NODE_EXTRA_CA_CERTS,
    CADRE_PROCESS_ID: over.process_id,
    CADRE_SESSION_ID: session_id,
  });
});

test('The environment of a process names its session.', async () => {
  const server = await testServer();
  const { id: session_id } = await openSession(server.client, server.directory);
  const { over, seen } = await environmentSeen(server, { session_id });
  expect(seen).toMatchObject({
    CADRE_PROCESS_ID: over.process_id,
    CADRE_SESSION_ID: session_id,
  });
});
