// Run by npm before it installs the package: under an old Node it refuses, where npm itself only warns. In a checkout any
// Node will do, because npm brings the pinned one (toolchain/package.json). Node 10 must be able to read this file.
'use strict';

const { existsSync } = require('fs');
const path = require('path');
const [major, minor] = process.versions.node.split('.').map(Number);

exports.tooOld =
  `Node ${process.version} (${process.execPath}) is too old: install Node 22.12 or newer, ` +
  'or use the cadre executable, which includes Node';

const isInstalling = require.main === module;
const isCheckout = existsSync(path.join(__dirname, '../toolchain/package.json'));
const isTooOld = major < 22 || (major === 22 && minor < 12);
if (isInstalling && isTooOld && !isCheckout) {
  process.stderr.write(`cadre: ${exports.tooOld}\n`);
  process.exit(1);
}
