// Writes src/api/openapi.yaml from the endpoint table, and docs/events.md from the table of kinds. A test fails when it
// was forgotten.
import { readFileSync, writeFileSync } from 'node:fs';
import { openApiYaml } from './document.ts';
import { eventsPage } from './events-page.ts';

const { version } = JSON.parse(
  readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
);
const written = {
  'src/api/openapi.yaml': openApiYaml(version),
  'docs/events.md': eventsPage(),
};
for (const [name, text] of Object.entries(written))
  writeFileSync(new URL(`../../${name}`, import.meta.url), text);
