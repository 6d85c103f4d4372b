import { commands } from '../frontends/cli/commands/index.ts';
import { runCli } from '../frontends/cli/program.ts';

void runCli(commands);
