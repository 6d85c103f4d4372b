// Writes src/api/openapi.yaml from the endpoint table, and docs/events.md from the table of kinds. A test fails when it
// was forgotten.
import { readFileSync, writeFileSync } from 'node:fs';
import { openApiYaml } from './document.ts';
import { eventsPage } from './events-page.ts';

const { version } = JSON.parse(
  readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
);
writeFileSync(new URL('../../src/api/openapi.yaml', import.meta.url), openApiYaml(version));
writeFileSync(new URL('../../docs/events.md', import.meta.url), eventsPage());
