#!/usr/bin/env node
// Node 10 must be able to read this file: an old Node gets no further than here, and says what to do. So it is CommonJS,
// by the package.json beside it.
'use strict';

// Before all else: on this signal Node would open its debugger to whoever reaches the loopback (src/core/lib/self.ts).
if (process.platform !== 'win32') process.on('SIGUSR1', () => undefined);

const { existsSync } = require('fs');
const path = require('path');
const [major, minor] = process.versions.node.split('.').map(Number);

// Shells ask for completions at each key, so these do not wait for another Node where this one will do.
const completes =
  process.argv[process.argv.indexOf('__complete', 2) + 1] === '--' &&
  process.argv.indexOf('__complete', 2) > 1;

if (major > 22 || (major === 22 && minor >= 12)) start('cadre.cjs');
else if (completes && (major > 20 || (major === 20 && minor >= 12))) start('complete.cjs');
else startAgain(pinnedNode());

function start(name) {
  const bundle = path.join(__dirname, '../dist', name);
  if (!existsSync(bundle)) fail(`dist/${name} not found: run npm run build`);
  require(bundle);
}

// The Node of a checkout: an installed package has none.
function pinnedNode() {
  try {
    return require.resolve(`node-${process.platform}-${process.arch}/bin/node`);
  } catch {
    return fail(
      `Node ${process.version} (${process.execPath}) is too old: install Node 22.12 or newer, ` +
        'or use the cadre executable, which includes Node',
    );
  }
}

// As near as an old Node comes to exec: same arguments, files and signals, same end.
function startAgain(node) {
  // These two take a tenth of the time to start, and only an old Node needs them.
  const { spawn } = require('child_process');
  const { isatty } = require('tty');
  const self = ['--disable-sigusr1', __filename];
  const child = spawn(node, self.concat(process.argv.slice(2)), { stdio: 'inherit' });
  // A terminal sends Ctrl-C to the child as well, and a second one would mean "stop without draining".
  const atTerminal = [0, 1, 2].some((fd) => isatty(fd));
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.on(signal, () => (signal === 'SIGINT' && atTerminal) || child.kill(signal));
  }
  child.on('error', (error) => fail(`cannot start "${node}": ${error.message}`));
  child.on('exit', (code, signal) => {
    if (signal === null) process.exit(code);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}

function fail(message) {
  process.stderr.write(`cadre: ${message}\n`);
  process.exit(1);
}
