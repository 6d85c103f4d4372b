/** Programs that run what their arguments say: any other argument is another command. */
const RUNNERS = new Set(
  (
    'ash at awk bash batch bazel busybox bun builtin bunx bwrap cadre chroot chrt claude cmake codex command coproc crontab ' +
    'csh ctest dash deno direnv doas docker ed elvish emacs entr env eval ex exec expect firejail fish flock gawk gdb ' +
    'gemini ghci gmake goose gradle gradlew gtk-launch guile hyperfine ionice ipython irb java jshell julia just ksh lldb ' +
    'lua ltrace make mawk meson mksh mvn mvnw nawk nc ncat nice ninja node nodejs nohup npx nsenter nu numactl nvim octave open ' +
    'opencode osascript parallel perf perl php pkexec pnpx podman powershell prlimit proot psql pwsh pypy python qwen rake rbash ' +
    'rlwrap rscript rsh rsync ruby run-parts runghc runuser scp screen script sed setarch setpriv setsid sh socat ' +
    'source sqlite ssh start-stop-daemon stdbuf strace su sudo swift systemd-run task taskset tcc tclsh tcsh telnet time ' +
    'timeout tmux toybox trap ts-node tsx tar unbuffer unshare uv uvx valgrind vi view vim watch xargs xdg-open xonsh xterm yarn ' +
    'yash zsh . ['
  ).split(' '),
);

/** Programs that change the shell that later commands run in, where an agent keeps one. */
const CHANGING = new Set(
  'alias cd chdir enable export hash popd pushd readonly set shopt typeset unalias unset'.split(
    ' ',
  ),
);

/** Programs whose first argument chooses what they do: some choices run anything. */
const WITH_SUBCOMMANDS = new Set(
  (
    'apt apt-get brew bundle cargo composer conda dotnet gem gh git go helm hg jj kubectl nix npm pip pipx pnpm poetry ' +
    'rustup svn systemctl terraform'
  ).split(' '),
);

/** Subcommands that run what their further arguments say. */
const RUNNING_SUBCOMMANDS = new Set(
  (
    'bundle exec|cargo run|cargo install|composer exec|composer require|composer run-script|conda run|dotnet exec|dotnet run|' +
    'dotnet tool|gem exec|gem install|gh alias|gh api|gh codespace|gh extension|git bisect|git clone|git config|git difftool|' +
    'git filter-branch|git mergetool|git submodule|go generate|go install|go run|go tool|helm plugin|kubectl exec|kubectl run|' +
    'nix run|nix shell|nix develop|nix eval|nix build|npm add|npm config|npm create|npm exec|npm explore|npm i|npm init|' +
    'npm install|npm link|npm pkg|npm run|npm run-script|npm rum|npm set|npm urn|npm x|pip install|pipx install|pipx run|' +
    'pnpm add|pnpm config|pnpm create|pnpm dlx|pnpm exec|pnpm install|pnpm run|poetry add|poetry run|rustup run|svn diff'
  ).split('|'),
);

/** Programs that run the command behind their options. */
const WRAPPERS = new Set(
  (
    'builtin chrt command doas env exec ionice nice nohup setpriv setsid stdbuf strace sudo systemd-run taskset time ' +
    'timeout unshare xargs'
  ).split(' '),
);

/** Why a pattern of these words, with `*` in the word at `open`, would allow more than its words say; null if not. */
export function dangerIn(words: readonly string[], open: number): string | null {
  const [program = '', subcommand = ''] = words;
  if (open === 0) return 'the first word has to name the program';
  const name = kindOf(program);
  if (CHANGING.has(name))
    return `${program} changes what later commands do, or where they run: give their directory with the rule`;
  if (open < 0) return null;
  if (RUNNERS.has(name))
    return `${program} runs what its arguments say: give all words of the command, without *`;
  if (WITH_SUBCOMMANDS.has(name) && (open === 1 || subcommand.startsWith('-')))
    return `what ${program} does depends on its first argument: name that, without *`;
  if (RUNNING_SUBCOMMANDS.has(`${name} ${subcommand}`))
    return `${program} ${subcommand} runs what its arguments say: give all words of the command, without *`;
  return null;
}

/** The number of words behind a program in which another command is looked for. */
const LOOKED_AT = 20;

/**
 * The commands that a command is as well, for rules to deny and ask: without the directory of its program, without the
 * options before its subcommand, and what comes behind `sudo`, `env` and the like. It is rather too many than too few.
 */
export function formsOf(words: readonly string[]): (readonly string[])[] {
  const [program = '', ...rest] = words;
  const name = nameOf(program);
  const begin = rest.slice(0, LOOKED_AT);
  const named = [words, [name, ...rest]];
  const inner = WRAPPERS.has(name)
    ? begin.flatMap((word, at) => [rest.slice(at), [nameOf(word), ...rest.slice(at + 1)]])
    : [];
  const all = [...named, ...inner];
  return [...all, ...all.flatMap(withoutOptions)];
}

/** `git push` of `git -C directory push`: each option may have a value in the next word. */
function withoutOptions([program = '', ...rest]: readonly string[]): (readonly string[])[] {
  if (!WITH_SUBCOMMANDS.has(program)) return [];
  const isOption = (at: number) => rest[at]?.startsWith('-') === true;
  const end = rest.findIndex(
    (_word, at) => at === LOOKED_AT || (!isOption(at) && !isOption(at - 1)),
  );
  return Array.from({ length: end < 0 ? rest.length : end }, (_, at) => [
    program,
    ...rest.slice(at + 1),
  ]);
}

function nameOf(program: string): string {
  return program.slice(program.lastIndexOf('/') + 1);
}

/** The name of a program without its version: `python` of `/usr/bin/python3.12`. */
function kindOf(program: string): string {
  const name = nameOf(program).toLowerCase();
  return name.replace(/-?\d[\d.]*$/, '') || name;
}
