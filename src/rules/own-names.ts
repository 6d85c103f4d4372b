/**
 * Files and directories that make git, agents and editors run something. A `*` does not stand for them to allow: who
 * allows changes of all files means those of the project.
 */
const OWN_NAMES = new Set(
  (
    '.git .hg .jj .svn .husky .githooks .envrc .vscode .idea .devcontainer .mcp.json .agents .claude .codex .cursor ' +
    '.gemini .goose .opencode .qwen .zed'
  ).split(' '),
);

/** Whether some name in `words` is such a file, and `written` does not name it as well. Separators are `/`, `=`, `:`, `,`. */
export function reachesOwnName(words: string, written: string): boolean {
  const allowed = new Set(namesIn(written));
  return namesIn(words).some((name) => OWN_NAMES.has(plainName(name)) && !allowed.has(name));
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
