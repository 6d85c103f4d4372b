// Parts of the program that are bundles of their own, for what few need: dist/<name>.cjs holds a folder of src, with that
// name, and its libraries. Everything else of src it takes from the bundle that loads it, so that no class is there twice. In the
// sources, a part is loaded by `import('…/<part>/index.ts')`, as from the tests.
import * as fs from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const src = join(dirname(dirname(fileURLToPath(import.meta.url))), 'src');

/** The parts, by their folders. */
export const parts = ['fleet', 'frontends/cli/jq'];

/** The file of a part in dist. */
export function partFile(part) {
  return `${basename(part)}.cjs`;
}

/** How esbuild bundles a part. `shared` collects the modules that the part takes from the bundle that loads it. */
export function partOptions(part, shared) {
  return {
    // A library may ask for its own file, but reads nothing beside it.
    banner: {
      js: `module.exports=(__shared)=>{const module={exports:{}};const __moduleUrl=require('node:url').pathToFileURL(process.execPath).href;`,
    },
    footer: { js: 'return module.exports};' },
    plugins: [takesFromLoader(part, shared), onlyAscii],
  };
}

/** The plugin of the bundle that loads parts. `shared` has, for each part, the modules that it takes. */
export function loadsParts(shared) {
  return {
    name: 'loads-parts',
    setup(build) {
      build.onResolve({ filter: /\/index\.ts$/ }, ({ path, resolveDir }) => {
        const part = relative(src, dirname(resolve(resolveDir, path)));
        return parts.includes(part) ? { path: part, namespace: 'part' } : undefined;
      });
      build.onLoad({ filter: /.*/, namespace: 'part' }, ({ path: part }) => ({
        contents: loader(part, shared[part]),
        resolveDir: src,
      }));
    },
  };
}

/** Beside the bundle the part is a file; in the executable it is an asset, which Node compiles. */
function loader(part, modules) {
  const table = modules.map((name) => `${JSON.stringify(name)}: () => require('./${name}')`);
  return `
    const shared = { ${table.join(', ')} };
    const { getRawAsset, isSea } = require('node:sea');
    function fromAsset() {
      const text = Buffer.from(getRawAsset('${partFile(part)}')).toString('latin1');
      const module = {};
      require('node:vm').compileFunction(text, ['module', 'require'], { filename: '${partFile(part)}' })(module, require);
      return module.exports;
    }
    const make = isSea() ? fromAsset() : require(require('node:path').join(__dirname, '${partFile(part)}'));
    module.exports = make((name) => shared[name]());`;
}

function takesFromLoader(part, shared) {
  return {
    name: 'takes-from-loader',
    setup(build) {
      build.onResolve({ filter: /^\.\.?\// }, ({ path, resolveDir }) => {
        const name = relative(src, resolve(resolveDir, path));
        if (name.startsWith('..') || name.startsWith(`${part}/`)) return undefined;
        shared.add(name);
        return { path: name, namespace: 'shared' };
      });
      build.onLoad({ filter: /.*/, namespace: 'shared' }, ({ path: name }) => ({
        contents: `module.exports = __shared(${JSON.stringify(name)});`,
      }));
    },
  };
}

/** The libraries of NATS have two characters beyond ASCII, one of them in a regular expression, where esbuild leaves it. */
const onlyAscii = {
  name: 'only-ascii',
  setup(build) {
    build.onLoad({ filter: /@nats-io\/.*\.js$/ }, ({ path }) => ({
      contents: fs
        .readFileSync(path, 'utf8')
        .replaceAll(
          /[^\x00-\x7f]/g,
          (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`,
        ),
    }));
  },
};
