import { ownEntry } from '../../../../core/lib/own-entry.ts';
/** Programs that run what their arguments say: any other argument is another command. */
const RUNNERS = new Set(
  (
    '. [ abduco act anacron and ansible ansible-playbook asdf ash at awk bash batch bazel bmake builtin bun ' +
    'bunx busybox bwrap byobu cabal cadre catchsegv cgexec choom chpst chroot chrt claude clj clojure cmake ' +
    'code codex colima command coproc cpulimit crontab crystal csh ctest cu dagger dart dash dbus-launch ' +
    'dbus-run-session deno devbox devenv direnv distrobox doas docker docker-compose dtach dune dzdo earthly ' +
    'eatmydata ed elixir elvish emacs emacsclient entr env erl es esy eval ex exec expect fab fakechroot ' +
    'fakeroot faketime fcron firejail fish flatpak flock fnm ftp gawk gdb gemini gforth ghc ghci git-shell ' +
    'gmake gnuplot goose gosu gradle gradlew gtk-launch guile hatch hg-ssh hx hyperfine i386 inv invoke ' +
    'ionice ip ipython irb java jest jshell julia just kak ksh ld-linux ld.so lein less lftp lima linux32 ' +
    'linux64 lldb ltrace lua lxc lxc-attach lxc-execute m4 machinectl mage make man mawk meson micro mill ' +
    'minicom mise mix mksh mocha mono more mosh most mvn mvnw nawk nc ncat nerdctl newgrp nice nim ninja ' +
    'nix-shell nmake nocorrect node nodejs nodenv noglob nohup not nox npx nsenter nu numactl nvim nvm ' +
    'octave oil opam open opencode or osascript osh parallel pdm perf perl pexec php pipenv pixi pkexec ' +
    'please pmake pnpx podman podman-compose powershell prlimit proot proxychains proxychains4 psql pwsh ' +
    'pyenv pypy python qwen racket rake rbash rbenv rc rlwrap rr rscript rsh rsync ruby run-parts runghc ' +
    'runuser rvm rye s6-setuidgid sbcl sbt scons scp screen script sed setarch setpriv setsid setuidgid sftp ' +
    'sg sh socat softlimit source sqlite ssh ssh-agent sshpass stack start-stop-daemon stdbuf strace su ' +
    'su-exec subl sudo swift swipl systemd-inhibit systemd-nspawn systemd-run tar task taskset tcc tclsh ' +
    'tcsh telnet time timeout tmux toolbox torify torsocks tox toybox trap ts-node tsocks tsx unbuffer ' +
    'unshare uv uvx vagrant valgrind vi view vim vite-node vitest volta waf watch wine x86_64 xargs xdg-open ' +
    'xonsh xterm xvfb-run yadm yarn yash ysh zellij zig zsh'
  ).split(' '),
);

/** Programs that change the shell that later commands run in, where an agent keeps one. */
const CHANGING = new Set(
  'alias cd chdir enable export hash popd pushd readonly set shopt typeset unalias unset'.split(
    ' ',
  ),
);

/** Programs that take a word without a scheme as an address, too. */
const REACHING = new Set('aria2c curl http https lynx w3m wget xh'.split(' '));

/** Programs whose first argument chooses what they do: some choices run anything. */
const WITH_SUBCOMMANDS = new Set(
  (
    'apt apt-get brew bundle cargo composer conda dotnet gem gh git go helm hg jj kubectl nix npm pip pipx pnpm poetry ' +
    'rustup svn systemctl terraform'
  ).split(' '),
);

/** Subcommands that run a command behind them. */
const EXECUTING_SUBCOMMANDS =
  'bundle exec|cargo run|composer exec|conda run|dotnet exec|gem exec|git bisect|git filter-branch|git submodule|' +
  'kubectl debug|kubectl exec|kubectl run|nix develop|nix run|nix shell|npm exec|npm explore|npm x|pipx run|pnpm dlx|' +
  'pnpm exec|poetry run|rustup run';

/** Subcommands that run what their further arguments say. */
const RUNNING_SUBCOMMANDS = new Set(
  (
    `${EXECUTING_SUBCOMMANDS}|` +
    'brew install|cargo install|composer require|composer run-script|dotnet run|dotnet tool|gem install|gh alias|gh api|' +
    'gh codespace|gh config|gh extension|git clone|git config|git difftool|git hook|git merge-index|git mergetool|' +
    'git remote|go generate|go install|go run|go tool|helm plugin|nix build|nix eval|npm add|npm c|npm ci|npm config|' +
    'npm create|npm i|npm in|npm init|npm install|npm install-test|npm isntall|npm it|npm link|npm pkg|npm run|' +
    'npm run-script|npm rum|npm set|npm urn|pip download|pip install|pip wheel|pipx install|pnpm add|pnpm config|' +
    'pnpm create|pnpm install|pnpm run|poetry add|svn diff'
  ).split('|'),
);

const EXECUTING = new Set(EXECUTING_SUBCOMMANDS.split('|'));

/** Programs whose management commands may stand before a subcommand: `docker container run`. */
const WITH_GROUPS = new Set(['docker', 'nerdctl', 'podman']);
const GROUPS = new Set(['container', 'image', 'system', 'builder', 'buildx']);

/**
 * Returns the reason why a pattern would allow more than it shows; null if it does not. `isConfirmed`: the user has
 * confirmed that the program is safe.
 */
export function dangerIn(words: readonly string[], isConfirmed: boolean): string | null {
  const [program = '', subcommand = ''] = words;
  const open = words.findIndex((word) => word.includes('*'));
  if (open === 0) return 'the first word has to name the program';
  const name = kindOf(program);
  if (CHANGING.has(name))
    return `${program} changes later commands or their directory: set the directory of the rule instead`;
  if (open < 0) return null;
  if (RUNNERS.has(name))
    return `${program} runs a command from its arguments: write all words of the command, without *`;
  const isReaching = REACHING.has(name);
  if (isReaching && words.some((word) => word.includes('*') && !/^https?:\/\//i.test(word)))
    return `${program} can send data to any address: name the address, as in https://example.com/*`;
  if (WITH_SUBCOMMANDS.has(name) && (open === 1 || subcommand.startsWith('-')))
    return `the effect of ${program} depends on its first argument: write that argument without *`;
  if (RUNNING_SUBCOMMANDS.has(`${name} ${subcommand}`))
    return `${program} ${subcommand} runs a command from its arguments: write all words of the command, without *`;
  const running = runningOption(name, words);
  if (running !== undefined)
    return `${program} ${running} runs a command from its arguments: write all words of the command, without *`;
  if (mayReachAnywhere(name, words))
    return `${program} ${subcommand} can reach any address: add the name of the remote, as in ${program} ${subcommand} origin *`;
  if (isConfirmed || isReaching) return null;
  if (!isKnownSafe(words))
    return `${program} is not on the list of programs for which * is known to be harmless: write all words of the command, or confirm the rule with i_know`;
  const option = words.find((word) => /^-[^=]*\*/.test(word));
  return option === undefined
    ? null
    : `${option} may match other options: write the options in full, or confirm the rule with i_know`;
}

export function isWrapper([program = '', subcommand = '']: readonly string[]): boolean {
  const name = kindOf(program);
  return RUNNERS.has(name) || EXECUTING.has(`${name} ${subcommand}`);
}

/** Whether options, with their values, may stand before the subcommand of a program. */
export function hasSubcommands(program: string): boolean {
  const name = kindOf(program);
  return WITH_SUBCOMMANDS.has(name) || WITH_GROUPS.has(name);
}

/** Whether a word is only a group of subcommands, so that the subcommand follows it. */
export function isGroup(program: string, word: string): boolean {
  return WITH_GROUPS.has(kindOf(program)) && GROUPS.has(word);
}

/** The names of a program that a rule may have for it: `python3.12` and `python` of `/usr/bin/python3.12`. */
export function namesOf(program: string): readonly string[] {
  return [program, nameOf(program), kindOf(program)];
}

function nameOf(program: string): string {
  return program.slice(program.lastIndexOf('/') + 1);
}

/** The name of a program without its version: `python` of `/usr/bin/python3.12`. */
function kindOf(program: string): string {
  const name = nameOf(program).toLowerCase();
  if (/^ld-(?:linux|musl)/.test(name)) return 'ld.so';
  return name.replace(/-?\d[\d.]*$/, '') || name;
}

/**
 * Programs that run nothing and ask no other machine, whatever words they get that are not options: a rule to allow may
 * have a `*` behind them. With a second word, only that subcommand.
 */
const KNOWN_SAFE = new Set(
  (
    'b2sum|base32|base64|basename|cargo bench|cargo build|cargo check|cargo clippy|cargo doc|cargo test|cargo tree|cat|' +
    'cksum|cmp|column|comm|cp|cut|df|diff|diff3|dir|dirname|du|echo|egrep|expand|fd|fgrep|file|find|fmt|fold|git add|' +
    'git blame|git branch|git cat-file|git checkout|git cherry|git commit|git describe|git diff|git diff-tree|' +
    'git fetch|git for-each-ref|git grep|git log|git ls-files|git ls-remote|git ls-tree|git merge-base|git mv|' +
    'git name-rev|git pull|git push|git reset|git restore|git rev-list|git rev-parse|git rm|git shortlog|git show|' +
    'git show-ref|git status|git switch|git tag|go doc|go vet|gofmt|grep|head|hexdump|jq|join|ls|md5sum|mkdir|mv|nl|' +
    'npm explain|npm ls|npm outdated|od|paste|pip list|pip show|readlink|realpath|rg|rm|rmdir|rustfmt|sha1sum|sha224sum|' +
    'sha256sum|sha384sum|sha512sum|shellcheck|sort|stat|strings|sum|tac|tail|tee|touch|tr|tree|tsc|uniq|vdir|wc|which'
  ).split('|'),
);

/** Subcommands that ask another machine, by a name that a repository has for it or by any address. */
const REMOTE = new Set(
  'git fetch|git ls-remote|git pull|git push|hg id|hg identify|hg in|hg incoming|hg out|hg outgoing|hg pull|hg push'.split(
    '|',
  ),
);

/** Options of these subcommands that have no value in the next word, and name no machine and no program. */
const REMOTE_OPTIONS = new Set(
  (
    '-4 -6 -a -f -n -p -q -t -u -v --all --atomic --delete --dry-run --exit-code --ff-only --follow-tags --force ' +
    '--force-with-lease --heads --no-rebase --no-tags --no-verify --porcelain --progress --prune --quiet --rebase --refs ' +
    '--set-upstream --symref --tags --unshallow --verbose'
  ).split(' '),
);

/** Options that run what follows them, by their program. */
const RUNNING_OPTIONS: Readonly<Record<string, readonly string[]>> = {
  cargo: ['--config', '--manifest-path', '-C', '-Z'],
  fd: ['-x', '-X', '--exec', '--exec-batch'],
  find: ['-exec', '-execdir', '-ok', '-okdir'],
  git: ['-O', '--open-files-in-pager', '--upload-pack', '--receive-pack', '--exec'],
  rg: ['--pre', '--hostname-bin'],
  sort: ['--compress-program'],
};

/** Whether the words of a pattern begin with a program, by its plain name, that a `*` is known to be harmless for. */
function isKnownSafe(words: readonly string[]): boolean {
  const [program = '', subcommand = ''] = words;
  const name = program.replace(/^\/(?:usr\/)?(?:local\/)?bin\//, '');
  if (!KNOWN_SAFE.has(name) && !KNOWN_SAFE.has(`${name} ${subcommand}`)) return false;
  // A directory to search is in words that find may also take for something else.
  return (
    name !== 'find' ||
    words.every((word, at) => !word.includes('*') || (word !== '**' && isOption(words[at - 1])))
  );
}

/** Whether a program takes a word as an address that has a `:` before any `/`. */
export function takesAddresses(words: readonly string[]): boolean {
  const [program = '', subcommand = ''] = words;
  return !isKnownSafe(words) || REMOTE.has(`${program} ${subcommand}`);
}

/** The option of a pattern that runs what follows it; undefined if there is none. */
function runningOption(name: string, words: readonly string[]): string | undefined {
  return words.find((word) => isRunningOption(name, word));
}

/**
 * Whether a word is an option whose value the program runs as a command. The value is the next word or the rest of the same
 * word.
 */
export function isRunningOption(name: string, word: string): boolean {
  const [option = ''] = word.split('=');
  return (ownEntry(RUNNING_OPTIONS, name) ?? []).some(
    (one) =>
      one === option ||
      (/^--../.test(option) && one.startsWith(option)) ||
      (/^-\w$/.test(one) && word.startsWith(one)),
  );
}

/** Whether a `*` of a pattern can match a host that is not a remote in the pattern. */
function mayReachAnywhere(name: string, words: readonly string[]): boolean {
  const [, subcommand = '', ...others] = words;
  if (!REMOTE.has(`${name} ${subcommand}`)) return false;
  const remote = others.find((word) => !REMOTE_OPTIONS.has(word));
  if (remote === undefined || remote.includes('*') || isOption(remote)) return true;
  return others.some((word) => isOption(word) && !REMOTE_OPTIONS.has(word));
}

function isOption(word = ''): boolean {
  return word.startsWith('-');
}
