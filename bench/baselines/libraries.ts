// A server that has nothing but the libraries with which cadre serves: commander reads its command line, zod checks a body,
// fastify has as many routes as cadre, and sql.js opens a database with one table. No server with these libraries starts in
// less time, or has less memory.
//
// bench/subject.ts bundles it, and Node keeps the code that V8 compiled of it, as for cadre.
import fs from 'node:fs';
import path from 'node:path';
import { Command } from 'commander';
import { fastify } from 'fastify';
import initSqlJs from 'sql.js';
import { z } from 'zod';

const ROUTES = 154;
const { PORT, DIRECTORY = '', WASM = '' } = process.env;

process.on('SIGTERM', () => process.exit(0));
new Command().command('serve').action(serve).parent?.parse();

async function serve(): Promise<void> {
  const file = path.join(DIRECTORY, 'libraries.db');
  const { Database } = await initSqlJs({ locateFile: () => WASM });
  const database = new Database(fs.existsSync(file) ? fs.readFileSync(file) : null);
  database.run('CREATE TABLE IF NOT EXISTS starts (id INTEGER PRIMARY KEY, at TEXT)');
  database.run('INSERT INTO starts (at) VALUES (?)', [new Date().toISOString()]);
  fs.writeFileSync(file, database.export());

  const body = z.object({ input: z.array(z.object({ text: z.string() })) });
  const app = fastify();
  app.get('/health', () => ({ status: 'ok' }));
  for (let n = 0; n < ROUTES; n++)
    app.post(`/v1/group${n % 20}/:id/part${n}`, ({ body: given }) => body.parse(given));
  await app.listen({ host: '127.0.0.1', port: Number(PORT) });
}
