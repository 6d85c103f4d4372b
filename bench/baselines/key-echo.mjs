// The minimum of a program with keys: it writes a mark for each key, in a terminal in raw mode.
process.stdin.setRawMode(true);
process.stdin.on('data', () => process.stdout.write('\r▌'));
process.stdout.write('ready');
