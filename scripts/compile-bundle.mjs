// Compiles the functions of a bundle that have run, without running them, and writes what V8 has compiled; see code-cache.mjs.
//
//   compile-bundle.mjs DIRECTORY PLACE BUNDLE
import * as fs from 'node:fs';
import { Session } from 'node:inspector';
import { join } from 'node:path';
import v8 from 'node:v8';
import { Script } from 'node:vm';
import { recordOf, sourceOf, TAG_BYTES } from './code-cache.mjs';

const [directory, place, bundle] = process.argv.slice(2);
const source = sourceOf(directory, bundle);
// The name is part of what is compiled. A start gives another, which V8 then uses.
const script = new Script(source, { filename: `${bundle}.cjs` });
script.runInThisContext(); // only makes the function around the bundle, so that the debugger knows the script
const session = new Session();
session.connect();
const positionOf = positionsIn(source, idOf(`${bundle}.cjs`));
for (const end of JSON.parse(fs.readFileSync(recordOf(place, bundle), 'utf8')))
  compileFunction(positionOf(end - 1), positionOf(end));
session.disconnect();

// The compiled code names the options of V8. A start has no options, so they are reset here.
for (const option of ['--hash-seed=0', '--flush-bytecode']) v8.setFlagsFromString(option);
const tag = fs.readFileSync(join(directory, `${bundle}.cjs`)).subarray(-TAG_BYTES);
const name = `${bundle}.${process.versions.v8}-${process.arch}.compiled`;
fs.writeFileSync(join(directory, name), Buffer.concat([script.createCachedData(), tag]));

function idOf(file) {
  let id;
  session.on('Debugger.scriptParsed', ({ params }) => {
    if (params.url === file) id = params.scriptId;
  });
  session.post('Debugger.enable');
  if (id === undefined) throw new Error(`${file} is not loaded in the debugger`);
  return id;
}

/** The debugger compiles a function to say where in it one could stop; the function is the innermost one at its last character. */
function compileFunction(start, end) {
  const where = { start, end, restrictToFunction: true };
  session.post('Debugger.getPossibleBreakpoints', where, (error) => {
    if (error) throw error;
  });
}

function positionsIn(source, scriptId) {
  const starts = [...source.matchAll(/^/gm)].map(({ index }) => index);
  return (offset) => {
    let [lineNumber, behind] = [0, starts.length];
    while (behind - lineNumber > 1) {
      const middle = (lineNumber + behind) >> 1;
      if (starts[middle] > offset) behind = middle;
      else lineNumber = middle;
    }
    return { scriptId, lineNumber, columnNumber: offset - starts[lineNumber] };
  };
}
