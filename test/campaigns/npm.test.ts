import { execFile } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from 'vitest';
import { sharedDemo } from '../support/demo-server.ts';
import { sharedCode } from '../support/server.ts';
import { shared } from '../support/shared.ts';
import { tempDirectory } from '../support/temp.ts';

const run = promisify(execFile);
const root = path.join(import.meta.dirname, '../..');

/** An empty project into which the package was installed, without a network. */
interface Project {
  directory: string;
  /** The package that was installed. */
  archive: string;
  /** The files of the package. */
  files: string[];
  env: Record<string, string>;
}

const project = shared<Project>('project', async (use) => {
  await using own = tempDirectory('npm');
  const directory = path.join(own.path, 'project');
  fs.mkdirSync(directory);
  const env = { PATH: process.env.PATH ?? '', HOME: own.path, npm_config_offline: 'true' };
  const npm = (...args: string[]) =>
    run('npm', [...args, '--loglevel=error'], { cwd: directory, env });
  // The scripts would build once more: the bundles are there, and the man pages are written as `prepack` does.
  await run(process.execPath, [path.join(root, 'scripts/man/write.ts')]);
  const packed = await npm(
    'pack',
    '--ignore-scripts',
    '--json',
    '--pack-destination',
    own.path,
    root,
  );
  const [{ filename, files }] = JSON.parse(packed.stdout) as [
    { filename: string; files: { path: string }[] },
  ];
  fs.writeFileSync(path.join(directory, 'package.json'), '{ "type": "module" }\n');
  const archive = path.join(own.path, filename);
  await npm('install', '--no-audit', '--no-fund', archive);
  await use({ directory, archive, files: files.map((file) => file.path), env });
});

/** The pages that npm installs, by package.json. */
const { man: manPages } = JSON.parse(fs.readFileSync(path.join(root, 'package.json'), 'utf8')) as {
  man: string[];
};

/** The programs of the page, each with what it prints. */
const page = fs.readFileSync(path.join(root, 'docs/client.md'), 'utf8');
const programs = [...page.matchAll(/```ts file=(\S+)\n([\s\S]*?)```\n```\n([\s\S]*?)```/g)].map(
  ([, name = '', code = '', prints = '']) => ({ name, code, prints }),
);

test('The npm package has the bundles, their assets and the completions, but no compiled code and no sources.', () => {
  const { files } = project();
  for (const name of [
    'bin/cadre.js',
    'bin/package.json',
    'dist/cadre.cjs',
    'dist/serve.cjs',
    'dist/fleet.cjs',
    'dist/jq.cjs',
    'dist/assets/jq.wasm',
    'dist/assets/sql-wasm.wasm',
    'dist/assets/empty.cadre',
    'dist/assets/commands.json',
    'dist/assets/openapi.yaml',
    'dist/assets/cadre.bash',
    'dist/assets/_cadre',
    'dist/assets/cadre.fish',
    'dist/library/client.js',
    'dist/library/client.d.ts',
    'dist/THIRD-PARTY-LICENSES',
    'dist/man/man1/cadre-serve.1',
    ...manPages,
    'completions/cadre.bash',
    'docs/client.md',
    'README.md',
    'LICENSE',
  ])
    expect(files).toContain(name);
  expect(
    files.filter((name) => /\.compiled$|^(src|test|scripts|node_modules)\//.test(name)),
  ).toEqual([]);
});

test('The npm package installs no other package, and its command runs.', async () => {
  const { directory, env } = project();
  expect(fs.readdirSync(path.join(directory, 'node_modules')).toSorted()).toEqual([
    '.bin',
    '.package-lock.json',
    'cadre',
  ]);
  const cadre = path.join(directory, 'node_modules/.bin/cadre');
  const { stdout } = await run(cadre, ['config', 'path'], { env: { ...env, ...sharedCode() } });
  expect(stdout).toBe(`${env.HOME}/.config/cadre/config.toml\n`);
});

test('The command under an old Node ends with an error that names the required version.', async () => {
  const { directory, env } = project();
  const file = path.join(directory, 'node_modules/cadre/bin/cadre.js');
  const old = "Object.defineProperty(process.versions, 'node', { value: '20.9.0' })";
  const ended = run(process.execPath, ['-e', `${old}; require(${JSON.stringify(file)})`], {
    env,
  });
  await expect(ended).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringMatching(
      /^cadre: Node v\S+ \(.*\) is too old: install Node 22\.12 or newer, or .*\n$/,
    ),
  });
});

describe('cadre/client in another project', () => {
  const demo = sharedDemo();
  const inProject = (...args: string[]) => {
    const { directory, env } = project();
    const own = { ...env, ...sharedCode(), CADRE_DATA_ROOT_DIR: demo().directory };
    return run(process.execPath, args, { cwd: directory, env: own });
  };

  beforeAll(() => {
    const { directory } = project();
    for (const { name, code } of programs) fs.writeFileSync(path.join(directory, name), code);
  });

  // A page's program may use Node; what the library itself needs, a browser's types have as well.
  test.for([
    { types: 'of browsers', lib: ['es2024', 'dom', 'dom.asynciterable'], node: [] },
    { types: 'of Node', lib: ['es2024'], node: ['node'] },
  ])(
    'The types of cadre/client compile with the strictest settings and the types $types, and check routes and kinds.',
    async ({ lib, node }) => {
      const { directory } = project();
      const settings = {
        compilerOptions: {
          target: 'es2024',
          module: 'nodenext',
          strict: true,
          exactOptionalPropertyTypes: true,
          noUncheckedIndexedAccess: true,
          noUnusedLocals: true,
          noEmit: true,
          skipLibCheck: false,
          lib,
          types: node,
          typeRoots: [path.join(root, 'node_modules/@types')],
        },
        files: [
          'wrong.ts',
          ...programs.flatMap(({ name, code }) =>
            node.length === 0 && code.includes("'node:") ? [] : [name],
          ),
        ],
      };
      fs.writeFileSync(path.join(directory, 'tsconfig.json'), JSON.stringify(settings));
      fs.writeFileSync(path.join(directory, 'wrong.ts'), wrong);
      const compiled = inProject(path.join(root, 'node_modules/typescript/bin/tsc'), '-p', '.');
      await expect(compiled).resolves.toMatchObject({ stdout: '' });
    },
  );

  test.for(programs)(
    'The program $name of docs/client.md prints the output on the page.',
    async ({ name, prints }) => {
      expect((await inProject(name)).stdout).toBe(prints);
    },
  );

  test('A call of `require` loads cadre/client, too.', async () => {
    const { stdout } = await inProject('-p', "typeof require('cadre/client').createClient");
    expect(stdout).toBe('function\n');
  });
});

/** Lines that the compiler has to refuse. */
const wrong = `
import { createClient } from 'cadre/client';
const cadre = createClient({ url: 'http://127.0.0.1:1', token: 'x' });
// @ts-expect-error There is no such route.
void cadre.request('GET /v1/nothing');
// @ts-expect-error The route needs its parameter.
void cadre.request('GET /v1/sessions/{session_id}');
// @ts-expect-error There is no such provider.
void cadre.request('POST /v1/sessions', { body: { provider: 'none' } });
// @ts-expect-error The route has no list.
void cadre.list('GET /v1/health');
// @ts-expect-error There is no such kind.
void cadre.streamEvents({ kinds: ['turn.done'] });
for await (const event of cadre.streamEvents({ kinds: ['turn.*'] })) {
  // @ts-expect-error No kind of turns has a process.
  if (event.kind === 'process.started') console.log(event.payload);
  if (event.kind === 'turn.accepted') console.log(event.payload.turn.source satisfies string);
}
`;
