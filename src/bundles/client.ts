import { clients } from '../frontends/cli/commands/clients.ts';
import { runCli } from '../frontends/cli/program.ts';

void runCli({ named: clients });
