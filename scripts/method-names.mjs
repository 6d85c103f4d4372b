// Fails if one of these verbs is a public method of more than two classes of src: a reader could not search for its calls.
import { globSync, readFileSync } from 'node:fs';
import { parseSync, Visitor } from 'oxc-parser';

const verbs = ['take', 'follow', 'hear', 'push', 'join', 'tell'];
const most = 2;

/** The classes that have each verb, as `file:line`. */
const classes = new Map(verbs.map((verb) => [verb, /** @type {string[]} */ ([])]));

for (const file of globSync('src/**/*.{ts,tsx}').toSorted()) {
  const source = readFileSync(file, 'utf8');
  const visitor = new Visitor({
    ClassBody({ body }) {
      for (const { key, start, computed, accessibility } of body)
        if (key?.type === 'Identifier' && !computed && accessibility !== 'private')
          classes.get(key.name)?.push(`${file}:${source.slice(0, start).split('\n').length}`);
    },
  });
  visitor.visit(parseSync(file, source).program);
}

const faults = [...classes].filter(([, where]) => where.length > most);
for (const [verb, where] of faults)
  console.error(
    `${verb} is a method of ${where.length} classes, at most ${most} may have it: ${where.join(', ')}`,
  );
process.exitCode = faults.length > 0 ? 1 : 0;
