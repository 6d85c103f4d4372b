// Writes completions/. A test fails if completions/ is out of date.
import { writeFileSync } from 'node:fs';
import { completionScript } from '../src/frontends/cli/complete/scripts.ts';

// The file names that the shells look for.
const files = { bash: 'cadre.bash', zsh: '_cadre', fish: 'cadre.fish' };

for (const [shell, file] of Object.entries(files)) {
  writeFileSync(new URL(`../completions/${file}`, import.meta.url), completionScript(shell));
}
