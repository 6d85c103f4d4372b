import { catalogue } from '../../../../agents/acp/catalogue.ts';

/**
 * Files and directories that make git, agents, editors and shells run something, in addition to the catalogue. A `*` does
 * not stand for them to allow: a rule that allows changes of all files means the files of the project.
 */
const OWN_NAMES = new Set([
  ...(
    '.agents .asdfrc .bash_login .bash_profile .bashrc .cadre .cargo .claude .codex .devcontainer .devcontainer.json .direnv ' +
    '.exrc .flox .gdbinit .git .gitattributes .gitconfig .githooks .github .gitlab-ci.yml .gitmodules .hg .hgrc ' +
    '.idea .irbrc .jj .lefthook .lldbinit .mcp.json .mise .npmrc .nvimrc .overcommit.yml .pdbrc .pnpmfile.cjs .profile ' +
    '.ssh .svn .tool-versions .vimrc .vscode .worktreeinclude .yarn .yarnrc .yarnrc.yml .zed .zprofile .zshenv .zshrc ' +
    'captainhook.json devbox.json devenv.nix mise prek.toml sitecustomize.py usercustomize.py'
  ).split(' '),
  ...catalogue.flatMap(({ files }) => files),
]);

/** The same files of programs that have a name for each format, environment or machine. */
const OWN_FAMILIES = [
  /^\.autoenv\b/,
  /^\.envrc\b/,
  /^\.husky(rc)?\b|^husky\.config\.\w+$/,
  /^\.?lefthook(-local)?\.(json|toml|ya?ml)$/,
  /^\.?lint-?staged(rc|\.config)(\.\w+)?$/,
  /^\.?mise(\.[\w-]+)*\.toml$/,
  /^\.pre-commit-(config|hooks)\.ya?ml$/,
  /^\.?simple-git-hooks(\.\w+)?$/,
];

function isOwnName(name: string): boolean {
  const plain = plainName(name);
  return OWN_NAMES.has(plain) || OWN_FAMILIES.some((family) => family.test(plain));
}

/** Whether a name in `words` is such a file and is not also in `written`. Separators are `/`, `=`, `:`, `,`. */
export function reachesOwnName(words: string, written: string): boolean {
  const allowed = new Set(namesIn(written));
  return namesIn(words).some((name) => isOwnName(name) && !allowed.has(name));
}

/** Whether a name in `words` is such a file or a hidden file, and is not also in `written`. */
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
