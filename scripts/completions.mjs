// Writes completions/ from the command tree. A test fails if completions/ is out of date.
import { writeFileSync } from 'node:fs';
import { describeTree } from '../src/cli/commands/completion.ts';
import { completionScript } from '../src/cli/completions.ts';
import { createProgram } from '../src/cli/program.ts';

// The file names that the shells look for.
const files = { bash: 'cadre.bash', zsh: '_cadre', fish: 'cadre.fish' };

// The tree is only described and no command runs, so the environment of the commands can be empty.
const tree = describeTree(await createProgram({}));
for (const [shell, file] of Object.entries(files)) {
  writeFileSync(new URL(`../completions/${file}`, import.meta.url), completionScript(shell, tree));
}
