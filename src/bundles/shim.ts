import { runShim } from '../core/children/shim/program.ts';

runShim(process.argv.slice(3));
