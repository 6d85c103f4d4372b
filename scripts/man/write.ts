// Writes the man pages, from the command tree, the schema of the configuration and the kinds of events, below a directory:
// man1/cadre.1 and so on. The pages have the date of the commit.
//
//   node scripts/man/write.ts [DIRECTORY]      default: dist/man
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { commands } from '../../src/frontends/cli/commands/index.ts';
import { createProgram } from '../../src/frontends/cli/program.ts';
import type { CommandIo } from '../../src/frontends/cli/command-io.ts';
import { version } from '../../src/core/lib/self.ts';
import { commandPages } from './command-pages.ts';
import { commentsOf } from './config-comments.ts';
import { configPage } from './config-page.ts';
import { eventsPage } from './events-page.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

await writePages(path.resolve(process.argv[2] ?? path.join(root, 'dist/man')));

async function writePages(directory: string): Promise<void> {
  const edition = { version, date: dateOfCommit() };
  const program = await createProgram({} as CommandIo, commands);
  const schema = ['screen-section.ts', 'sandbox-section.ts', 'schema.ts']
    .map((name) => fs.readFileSync(path.join(root, 'src/core/config', name), 'utf8'))
    .join('\n');
  const sections = {
    1: commandPages(program, edition),
    5: new Map([['cadre-config', configPage(commentsOf(schema), edition)]]),
    7: new Map([['cadre-events', eventsPage(edition)]]),
  };
  fs.rmSync(directory, { recursive: true, force: true });
  for (const [section, pages] of Object.entries(sections)) {
    const place = path.join(directory, `man${section}`);
    fs.mkdirSync(place, { recursive: true });
    for (const [name, text] of pages)
      fs.writeFileSync(path.join(place, `${name}.${section}`), text);
  }
}

/** As YYYY-MM-DD; without git, of a source archive, none. */
function dateOfCommit(): string {
  try {
    const line = ['-C', root, 'log', '-1', '--format=%cs'];
    return execFileSync('git', line, { encoding: 'utf8', stdio: 'pipe' }).trim();
  } catch {
    return '';
  }
}
