import { spawnSync } from 'node:child_process';

const { stdout } = spawnSync('python3', ['-ISc', 'import sys; print(sys.executable)']);

/** Python itself: what PATH has may be a script that looks for it anew each time, which takes longer than it. */
export const python = String(stdout).trim() || 'python3';
