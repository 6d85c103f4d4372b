// Writes src/api/openapi.yaml and docs/reference.md from the endpoint table, and docs/events.md from the table of kinds. A
// test fails if a file is not current.
import { readFileSync, writeFileSync } from 'node:fs';
import { openApiYaml } from './document.ts';
import { eventsPage } from './events-page.ts';
import { referencePage } from './reference-page.ts';

const { version } = JSON.parse(
  readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
);
const written = {
  'src/api/openapi.yaml': openApiYaml(version),
  'docs/events.md': eventsPage(),
  'docs/reference.md': referencePage(version),
};
for (const [name, text] of Object.entries(written))
  writeFileSync(new URL(`../../${name}`, import.meta.url), text);
