// Writes completions/ from the command tree. A test fails when it was forgotten.
import { writeFileSync } from 'node:fs';
import { describeTree } from '../src/cli/commands/completion.ts';
import { completionScript } from '../src/cli/completions.ts';
import { createProgram } from '../src/cli/program.ts';

// Where each shell looks for a file of this name.
const files = { bash: 'cadre.bash', zsh: '_cadre', fish: 'cadre.fish' };

// The tree is described, nothing in it is run: its world is never asked.
const tree = describeTree(await createProgram({}));
for (const [shell, file] of Object.entries(files)) {
  writeFileSync(new URL(`../completions/${file}`, import.meta.url), completionScript(shell, tree));
}
