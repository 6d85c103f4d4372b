import { clients } from '../cli/commands/clients.ts';
import { runCli } from '../cli/program.ts';

void runCli({ named: clients });
