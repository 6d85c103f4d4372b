/**
 * The words that a command has to have, one by one. `*` is any word, or any part of the word that it is in; `**` at the
 * end is any number of words.
 */
export interface CommandPattern {
  readonly words: readonly string[];
}

/** How strictly a `*` is taken. To allow, it has to be harmless what it stands for; to deny or ask, it is anything. */
export type Strictness = 'strict' | 'any';

/** Programs that run what their arguments say: any other argument is another command. */
const RUNNERS = new Set(
  (
    'ash awk bash busybox bun builtin bunx chroot chrt command coproc crontab csh dash deno doas docker emacs ' +
    'env eval exec expect fish flock gawk gdb ionice irb java jshell ksh lua make mawk nawk nc ' +
    'ncat nice nohup node nodejs npx nsenter nvim osascript parallel perl php pkexec pnpx podman powershell ' +
    'psql pwsh python python2 python3 rbash rlwrap rsync ruby run-parts runuser scp screen script sed ' +
    'setarch setpriv setsid sh socat source ssh sqlite3 start-stop-daemon stdbuf strace su sudo systemd-run ' +
    'taskset tclsh telnet time timeout tmux trap ts-node tsx tar uv uvx unshare valgrind vi view vim watch xargs xterm yarn zsh . ['
  ).split(' '),
);

/** Programs whose first argument chooses what they do: some choices run anything. */
const WITH_SUBCOMMANDS = new Set(
  (
    'apt apt-get brew bundle cargo composer conda dotnet gem gh git go gradle helm hg jj just kubectl mvn nix npm pip ' +
    'pip3 pipx pnpm poetry rake rustup svn systemctl terraform'
  ).split(' '),
);

/** Subcommands that run what their further arguments say. */
const RUNNING_SUBCOMMANDS = new Set(
  (
    'bundle exec|cargo run|cargo install|composer exec|conda run|dotnet exec|dotnet run|dotnet tool|gh alias|gh api|gh codespace|' +
    'gh extension|git bisect|git clone|git config|git difftool|git filter-branch|git mergetool|git submodule|go generate|go run|' +
    'go tool|kubectl exec|kubectl run|nix run|nix shell|nix develop|nix eval|nix build|npm exec|npm explore|npm install|npm i|npm config|' +
    'npm run|npm run-script|pip install|pip3 install|pipx run|pnpm dlx|pnpm exec|pnpm run|poetry run|rustup run|svn diff'
  ).split('|'),
);

/** Reads a pattern. Returns why it cannot be one, where it cannot. */
export function readPattern(
  text: string,
  strictness: Strictness,
): CommandPattern | { why: string } {
  const words = text.split(/[ \t]+/).filter((word) => word !== '');
  const rest = words.indexOf('**');
  if (rest >= 0 && rest !== words.length - 1)
    return { why: '`**` stands for all further words, so it has to be the last one' };
  if (strictness === 'any') return { words };
  return dangerIn(words) ?? { words };
}

/** Whether the words of a command fit the pattern. */
export function fits(
  { words: pattern }: CommandPattern,
  words: readonly string[],
  strictness: Strictness,
): boolean {
  const isOpen = pattern.at(-1) === '**';
  const fixed = isOpen ? pattern.slice(0, -1) : pattern;
  if (isOpen ? words.length < fixed.length : words.length !== fixed.length) return false;
  return words.every((word, at) => {
    const wanted = fixed[at] ?? '*';
    return at === 0 && strictness === 'any'
      ? fitsWord(wanted, word, 'any') || fitsWord(wanted, nameOf(word), 'any')
      : fitsWord(wanted, word, strictness);
  });
}

/** Why a pattern would allow more than its words say; null where it does not. */
function dangerIn(words: readonly string[]): { why: string } | null {
  const open = words.findIndex((word) => word.includes('*'));
  if (open < 0) return null;
  const [program = '', subcommand = ''] = words;
  if (open === 0) return { why: 'the first word has to name the program' };
  if (RUNNERS.has(nameOf(program)))
    return {
      why: `${program} runs what its arguments say: give all words of the command, without *`,
    };
  if (WITH_SUBCOMMANDS.has(nameOf(program)) && (open === 1 || subcommand.startsWith('-')))
    return { why: `what ${program} does depends on its first argument: name that, without *` };
  if (RUNNING_SUBCOMMANDS.has(`${nameOf(program)} ${subcommand}`))
    return {
      why: `${program} ${subcommand} runs what its arguments say: give all words of the command, without *`,
    };
  return null;
}

function nameOf(program: string): string {
  return program.slice(program.lastIndexOf('/') + 1);
}

function fitsWord(wanted: string, word: string, strictness: Strictness): boolean {
  if (!wanted.includes('*')) return wanted === word;
  if (strictness === 'strict' && !(wanted === '*' ? isHarmless(word) : staysInside(word)))
    return false;
  const parts = wanted.split('*').map((part) => part.replaceAll(/[\\^$.*+?()[\]{}|/]/g, '\\$&'));
  return new RegExp(`^${parts.join('.*')}$`, 'su').test(word);
}

/** Whether a word is none that programs take as an option, a setting or a file that holds arguments, and leads nowhere else. */
function isHarmless(word: string): boolean {
  return (
    word !== '' &&
    !/^[-+@/]/.test(word) &&
    !/^[^/]*=/.test(word) &&
    !/^\w+::/.test(word) &&
    staysInside(word)
  );
}

function staysInside(word: string): boolean {
  return !word.split(/[/=:,]/).includes('..');
}
