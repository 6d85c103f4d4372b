// The installed files of a build, below a prefix such as ~/.local. The archives of `make dist` contain the same files.
import * as fs from 'node:fs';
import { join } from 'node:path';
import type { Entry } from './tar.ts';

/** The files with their paths below the prefix. `executable` has the licences beside it, as scripts/package.mjs writes them. */
export function layout(root: string, executable: string): Entry[] {
  const man = join(root, 'dist', 'man');
  const pages = fs.readdirSync(man).flatMap((section) =>
    fs.readdirSync(join(man, section)).map((name) => ({
      from: join(man, section, name),
      to: `share/man/${section}/${name}`,
      mode: 0o644,
    })),
  );
  return [
    { from: executable, to: 'bin/cadre', mode: 0o755 },
    ...Object.entries({
      'completions/cadre.bash': 'share/bash-completion/completions/cadre',
      'completions/_cadre': 'share/zsh/site-functions/_cadre',
      'completions/cadre.fish': 'share/fish/vendor_completions.d/cadre.fish',
      LICENSE: 'share/doc/cadre/LICENSE',
    }).map(([from, to]) => ({ from: join(root, from), to, mode: 0o644 })),
    {
      from: `${executable}.licenses`,
      to: 'share/doc/cadre/THIRD-PARTY-LICENSES',
      mode: 0o644,
    },
    ...pages,
  ];
}
