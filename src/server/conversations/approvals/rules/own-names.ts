import { catalogue } from '../../../../agents/acp/catalogue.ts';

/**
 * Files and directories that make git, agents, editors and shells run something, beside those of the catalogue. A `*` does
 * not stand for them to allow: who allows changes of all files means those of the project.
 */
const OWN_NAMES = new Set([
  ...(
    '.agents .bash_login .bash_profile .bashrc .cadre .cargo .claude .codex .devcontainer .devcontainer.json .direnv ' +
    '.envrc .exrc .gdbinit .git .gitattributes .gitconfig .githooks .github .gitlab-ci.yml .gitmodules .hg .hgrc .husky ' +
    '.idea .jj .lefthook .lldbinit .mcp.json .mise.toml .npmrc .nvimrc .pnpmfile.cjs .pre-commit-config.yaml .profile ' +
    '.ssh .svn .tool-versions .vimrc .vscode .worktreeinclude .yarn .yarnrc .yarnrc.yml .zed .zprofile .zshenv .zshrc ' +
    'lefthook-local.json lefthook-local.toml lefthook-local.yaml lefthook-local.yml lefthook.json lefthook.toml ' +
    'lefthook.yaml lefthook.yml mise.local.toml mise.toml'
  ).split(' '),
  ...catalogue.flatMap(({ files }) => files),
]);

/** Whether some name in `words` is such a file, and `written` does not name it as well. Separators are `/`, `=`, `:`, `,`. */
export function reachesOwnName(words: string, written: string): boolean {
  const allowed = new Set(namesIn(written));
  return namesIn(words).some((name) => OWN_NAMES.has(plainName(name)) && !allowed.has(name));
}

/** Whether some name in `words` is such a file or a hidden one, and `written` does not name it as well. */
export function reachesUnwritten(words: string, written: string): boolean {
  const allowed = new Set(namesIn(written));
  return (
    reachesOwnName(words, written) ||
    namesIn(words).some((name) => isHidden(name) && !allowed.has(name))
  );
}

/** Whether a name begins with a `.`, so that shells and file managers do not show it. */
export function isHidden(name: string): boolean {
  return /^\.(?!\.?$)/.test(plainName(name));
}

function namesIn(text: string): string[] {
  return text.split(/[/=:,]/);
}

/** A name as file systems compare it that ignore case, width and invisible characters. */
function plainName(name: string): string {
  return name
    .normalize('NFKC')
    .replaceAll(/\p{Cf}/gu, '')
    .toLowerCase();
}
