// Makes the segmenters of the libraries that measure texts when a text first needs one. Node takes about 10 ms for the
// first segmenter of a process, and each command that prints a table would wait for it, though nearly all of its texts
// are ASCII and need none. Throws where a package's text is not what it was.
import * as fs from 'node:fs';

const modules =
  /node_modules\/(?:string-width\/index|wrap-ansi\/index|slice-ansi\/tokenize-ansi)\.js$/;
const made = /^const (\w+) = (new Intl\.Segmenter\(.*\));$/gm;

export const lazySegmenter = {
  name: 'lazy-segmenter',
  setup(build) {
    build.onLoad({ filter: modules }, ({ path }) => {
      const code = fs.readFileSync(path, 'utf8');
      const lazy = code.replace(
        made,
        (_all, name, make) => `let ${name}Made; const ${name} = {
          segment: (text) => (${name}Made ??= ${make}).segment(text),
        };`,
      );
      if (lazy === code)
        throw new Error(
          `cannot patch ${path}: no segmenter found: adapt scripts/lazy-segmenter.mjs`,
        );
      return { contents: lazy };
    });
  },
};
