// Builds the library `cadre/client`: one module without imports but of Node, and one file with its types, which imports
// nothing. The compiler writes the declarations of each module of the public face; there is no name that two of them
// have, so that the file is these, one after the other, without their imports.
import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { bundledFiles } from './licenses.ts';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const face = 'src/client/public';

/** Writes client.js and client.d.ts to a directory. Returns the files that are in the bundle. */
export async function buildClientLibrary(out, version) {
  const { metafile } = await build({
    metafile: true,
    absWorkingDir: root,
    entryPoints: [`${face}/index.ts`],
    outfile: join(out, 'client.js'),
    bundle: true,
    platform: 'node',
    target: 'node22.12',
    format: 'esm',
    legalComments: 'none',
    logLevel: 'warning',
    banner: { js: `// cadre/client ${version}` },
  });
  fs.writeFileSync(join(out, 'client.d.ts'), declarations(out, version));
  return bundledFiles(metafile);
}

function declarations(out, version) {
  const work = fs.mkdtempSync(join(out, 'types-'));
  try {
    fs.writeFileSync(join(work, 'tsconfig.json'), JSON.stringify(compilerSettings(work)));
    const tsc = createRequire(import.meta.url).resolve('typescript/package.json');
    execFileSync(process.execPath, [join(dirname(tsc), 'bin/tsc'), '-p', work], {
      stdio: ['ignore', 'inherit', 'inherit'],
    });
    const index = fs.readFileSync(join(root, face, 'index.ts'), 'utf8');
    const modules = [...index.matchAll(/ from '(#generated|\.)\/(.+)\.ts';/g)].map(([, at, name]) =>
      join(at === '.' ? face : 'generated', name),
    );
    const texts = modules.map((name) => ownText(join(work, `${name}.d.ts`)));
    return `// cadre/client ${version}\n${texts.join('')}`;
  } finally {
    fs.rmSync(work, { recursive: true, force: true });
  }
}

function compilerSettings(work) {
  return {
    extends: join(root, 'tsconfig.json'),
    compilerOptions: {
      noEmit: false,
      noCheck: true,
      declaration: true,
      emitDeclarationOnly: true,
      rootDir: root,
      outDir: work,
      // A build may go to a directory that is not below this one.
      typeRoots: [join(root, 'node_modules/@types')],
    },
    files: [join(root, face, 'index.ts')],
    include: [],
  };
}

function ownText(file) {
  const text = fs.readFileSync(file, 'utf8').replaceAll(/^import .*;\n/gm, '');
  if (/\bimport[ (]|\bfrom ['"]/.test(text.replaceAll(/\/\*[\s\S]*?\*\//g, '')))
    throw new Error(
      `the types of the client library import a file that is not part of the library: ${file}`,
    );
  return text;
}
