// Makes it possible to bundle ink into one CommonJS file. esbuild refuses a top-level await in that format, even in
// code that never runs, and ink has three: one in yoga-layout, its layout engine, and two that look for the developer
// tools of React. Each replacement throws if the code of the package has changed.
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
    build.onLoad({ filter: /ink\/build\/reconciler\.js$/ }, ({ path }) => {
      const code = fs.readFileSync(path, 'utf8');
      const quiet = replaced(code, "await import('./devtools.js');", '');
      return { contents: replaced(quiet, 'await loadPackageJson()', '{}') };
    });
    // Under CI, ink draws nothing until it ends. The screen is opened only on a terminal, so it has to draw there, too.
    build.onLoad({ filter: /is-in-ci\/index\.js$/ }, () => ({ contents: 'export default false;' }));
  },
};

/** Compiles the WASM synchronously when the screen is loaded: 88 KB take a few milliseconds. */
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
  if (base64 === undefined) throw new Error('yoga-layout has changed: where is its WASM?');
  return base64;
}

function replaced(code, part, by) {
  if (code.split(part).length !== 2) throw new Error(`ink has changed: where is "${part}"?`);
  return code.replace(part, by);
}
