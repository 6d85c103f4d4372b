import { execFile } from 'node:child_process';
import { cpSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { type TestServer, testServer } from '../../support/server.ts';
import { tempDirectory } from '../../support/temp.ts';
import { nodeModules, pythonTool } from './install.ts';

const run = promisify(execFile);
const description = path.resolve('src/api/openapi.yaml');
const programs = path.join(import.meta.dirname, 'clients');

/** Report of each program about the five routes that it calls. */
const expected = {
  name: 'cadre',
  provider: 'acp',
  turn: 'accepted',
  kinds: ['turn.accepted'],
  tool: ['processes', 'left_out'],
  refusal: 'not_found',
};

test('A client from openapi-typescript compiles with all strict settings, and calls the server.', async () => {
  const server = await testServer();
  using directory = tempDirectory('typescript');
  symlinkSync(nodeModules, path.join(directory.path, 'node_modules'));
  for (const file of ['five-routes.ts', 'tsconfig.json'])
    cpSync(path.join(programs, file), path.join(directory.path, file));
  writeFileSync(path.join(directory.path, 'package.json'), '{"type":"module"}');
  // The compiler would leave its cache behind.
  const env = { PATH: process.env.PATH, NODE_DISABLE_COMPILE_CACHE: '1' };
  const tool = (name: string, ...args: string[]) =>
    run(path.join(nodeModules, '.bin', name), args, { cwd: directory.path, env });
  await tool('openapi-typescript', description, '--output', 'schema.d.ts');
  const { stdout: faults } = await tool('tsc').catch(
    (error: unknown) => error as { stdout: string },
  );
  expect(faults).toBe('');
  const { stdout } = await run(process.execPath, ['five-routes.ts'], {
    cwd: directory.path,
    env: addressOf(server),
  });
  expect(JSON.parse(stdout)).toEqual(expected);
});

test('A client from openapi-python-client can import each of its modules, and calls the server.', async () => {
  const server = await testServer();
  using directory = tempDirectory('python');
  const client = path.join(directory.path, 'cadre_client');
  // It formats what it has made with ruff, which lies beside it.
  const PATH = `${path.dirname(pythonTool('ruff'))}:${process.env.PATH}`;
  const options = ['--path', description, '--output-path', client, '--meta', 'none'];
  await run(pythonTool('openapi-python-client'), ['generate', ...options], {
    cwd: directory.path,
    env: { PATH, HOME: directory.path },
  });
  const { stdout } = await run(pythonTool('python'), [path.join(programs, 'five_routes.py')], {
    cwd: directory.path,
    env: { ...addressOf(server), CADRE_CLIENT: directory.path, PYTHONDONTWRITEBYTECODE: '1' },
  });
  const { modules, ...calls } = JSON.parse(stdout) as { modules: number };
  expect(calls).toEqual(expected);
  expect(modules).toBeGreaterThan(200);
});

function addressOf({ url, token }: TestServer): Record<string, string> {
  return { CADRE_URL: url, CADRE_TOKEN: token };
}
