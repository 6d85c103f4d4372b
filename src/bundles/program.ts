import { commands } from '../cli/commands/index.ts';
import { runCli } from '../cli/program.ts';

void runCli(commands);
