import fs from 'node:fs';
import path from 'node:path';

const OUT = path.join(import.meta.dirname, '../../../out');

/** Keeps the data of a failed campaign for whoever looks into it; answers where. */
export function keepForInspection(directory: string, name: string, report: string): string {
  const kept = path.join(OUT, name);
  fs.rmSync(kept, { recursive: true, force: true });
  fs.mkdirSync(kept, { recursive: true });
  fs.cpSync(directory, path.join(kept, 'data'), { recursive: true });
  fs.writeFileSync(path.join(kept, 'report.txt'), report);
  return kept;
}
