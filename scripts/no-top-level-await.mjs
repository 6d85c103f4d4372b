// Lets ink into one CommonJS file. esbuild refuses a top-level `await` and warns of `import.meta` there, even in code
// that never runs. ink brings one `await` in yoga-layout, its layout engine, and two in what it does for the developer
// tools of React. Each replacement throws where the package's text is not what it was.
import * as fs from 'node:fs';
import { dirname, join } from 'node:path';

export const noTopLevelAwait = {
  name: 'no-top-level-await',
  setup(build) {
    build.onLoad({ filter: /yoga-layout\/dist\/src\/index\.js$/ }, ({ path }) => {
      const binary = join(dirname(path), '../binaries/yoga-wasm-base64-esm.js');
      return { contents: synchronousYoga(wasmIn(fs.readFileSync(binary, 'utf8'))) };
    });
    build.onLoad({ filter: /yoga-wasm-base64-esm\.js$/ }, ({ path }) => {
      const code = fs.readFileSync(path, 'utf8');
      return { contents: code.replace(wasmIn(code), '') };
    });
    build.onLoad({ filter: /ink\/build\/reconciler\.js$/ }, ({ path }) => ({
      contents: Object.entries(developerTools).reduce(
        (code, [part, by]) => replaced(code, part, by),
        fs.readFileSync(path, 'utf8'),
      ),
    }));
  },
};

const developerTools = {
  "import.meta.resolve('react-devtools-core');": '',
  "await import('./devtools.js');": '',
  'await loadPackageJson()': '{}',
};

/** Compiles the 88 KB of WASM synchronously when the screen is loaded, in a few milliseconds. */
function synchronousYoga(base64) {
  return `
    import loadYoga from '../binaries/yoga-wasm-base64-esm.js';
    import wrapAssembly from './wrapAssembly.js';
    const yoga = {
      instantiateWasm(imports, done) {
        const module = new WebAssembly.Module(Buffer.from('${base64}', 'base64'));
        const instance = new WebAssembly.Instance(module, imports);
        done(instance);
        return instance.exports;
      },
    };
    loadYoga(yoga);
    export default wrapAssembly(yoga);
    export * from './generated/YGEnums.js';`;
}

function wasmIn(code) {
  const [, base64] =
    /data:application\/octet-stream;base64,([A-Za-z0-9+/=]{1000,})/.exec(code) ?? [];
  if (base64 === undefined)
    throw new Error(
      'cannot patch yoga-layout: no WASM found: adapt scripts/no-top-level-await.mjs',
    );
  return base64;
}

function replaced(code, part, by) {
  if (code.split(part).length !== 2)
    throw new Error(`cannot patch ink: "${part}" not found: adapt scripts/no-top-level-await.mjs`);
  return code.replace(part, by);
}
