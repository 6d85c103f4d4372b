import { hasProc } from '../lib/platform.ts';
import type { ProcessTable } from './process-table.ts';
import { procfs } from './procfs.ts';
import { ps } from './ps.ts';

/** The process table of this machine: /proc, or ps on systems without /proc. */
export const processTable: ProcessTable = hasProc ? procfs : ps;
