// Writes the types of the client library to generated/, from the tables of endpoints and event kinds. The sources import
// them as `#generated/…`. `make check` and each build run this first.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { openApi } from './document.ts';
import { interfaceTypes, kindsModule } from './interface.ts';

const root = new URL('../../', import.meta.url);
const { version } = JSON.parse(readFileSync(new URL('package.json', root), 'utf8'));

mkdirSync(new URL('generated/', root), { recursive: true });
write('interface.ts', await interfaceTypes(openApi(version)));
write('event-kinds.ts', await kindsModule());

/** An unchanged file keeps its time. */
function write(name, text) {
  const file = new URL(`generated/${name}`, root);
  if (textOf(file) !== text) writeFileSync(file, text);
}

function textOf(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}
