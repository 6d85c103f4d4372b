import { installTools } from './install.ts';

await installTools();
