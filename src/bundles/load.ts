import { readFileSync } from 'node:fs';
import { createRequire, enableCompileCache } from 'node:module';
import path from 'node:path';
import { getRawAsset, isSea } from 'node:sea';
import { fileURLToPath } from 'node:url';
import { Script } from 'node:vm';
import type { Bundle } from './choose.ts';

/** Directory of the bundle, or of the executable. */
const directory = path.dirname(fileURLToPath(import.meta.url));

/**
 * The text around a module for V8. It is the same in scripts/code-cache.mjs, because compiled code fits only the text
 * that it was compiled from.
 */
const [before, after] = ['(function (exports, require, module, __filename, __dirname) {', '\n})'];

/** The number of bytes at the end of a bundle and of its compiled code that are equal if both belong to one build. */
const TAG_BYTES = 32;

/**
 * Runs a bundle, which does the rest by itself. The build has run each bundle once and kept the functions that V8
 * compiled for that; they fit one version of V8 on one kind of machine. Under another, Node keeps its own. V8 would run
 * code that was compiled from another text of the same length, so such code is not passed to it.
 */
export function startBundle(name: Bundle): void {
  const file = path.join(directory, `${name}.cjs`);
  const require = createRequire(file);
  const text = bytesOf(`${name}.cjs`);
  const compiled = compiledFor(name, text);
  if (!compiled && !isSea()) {
    keepCompiled();
    require(file);
    return;
  }
  const source = Buffer.concat([Buffer.from(before), text, Buffer.from(after)]).toString('latin1');
  const script = new Script(source, {
    filename: file,
    ...(compiled && { cachedData: compiled }),
  });
  const module = { exports: {} };
  const run = script.runInThisContext() as (...args: unknown[]) => void;
  run(module.exports, require, module, isSea() ? process.execPath : file, directory);
}

function compiledFor(name: Bundle, text: Buffer): Buffer | undefined {
  try {
    const bytes = bytesOf(`${name}.${process.versions.v8}-${process.arch}.compiled`);
    const isOfText = bytes.subarray(-TAG_BYTES).equals(text.subarray(-TAG_BYTES));
    return isOfText ? bytes.subarray(0, -TAG_BYTES) : undefined;
  } catch {
    return undefined;
  }
}

/** Throws where there is no such file. */
function bytesOf(name: string): Buffer {
  return isSea() ? Buffer.from(getRawAsset(name)) : readFileSync(path.join(directory, name));
}

/** In the user's own directory: the default is shared, and compiled code is run without being checked. */
function keepCompiled(): void {
  const { HOME, XDG_CACHE_HOME: named = '' } = process.env;
  const caches = path.isAbsolute(named) ? named : HOME && path.join(HOME, '.cache');
  if (caches) enableCompileCache(path.join(caches, 'cadre'));
}
