import { hasProc } from '../lib/platform.ts';
import type { ProcessTable } from './process-table.ts';
import { procfs } from './procfs.ts';
import { ps } from './ps.ts';

/** The processes of this machine, by the way that it offers. */
export const processTable: ProcessTable = hasProc ? procfs : ps;
