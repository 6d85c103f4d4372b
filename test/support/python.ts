import { spawnSync } from 'node:child_process';

const { stdout } = spawnSync('python3', ['-ISc', 'import sys; print(sys.executable)']);

/** The Python program itself. The one in PATH may be a script that searches for it at each start, which is slow. */
export const python = String(stdout).trim() || 'python3';
