import { expect, test } from 'vitest';
import { billOf } from '../../scripts/bill-of-materials.ts';
import { licensesIn } from '../../src/frontends/cli/licenses.ts';
import { LICENSES_FILE, readAsset } from '../../src/core/lib/self.ts';

test('The bill of materials lists what is bundled, and Node, without a time or a random number.', () => {
  const bundled = licensesIn(new TextDecoder().decode(readAsset(LICENSES_FILE)));
  const node = { name: 'node', version: '24.0.0', license: 'MIT', text: '' };
  const text = billOf(process.cwd(), 'cadre-1', [...bundled, node]);
  const bill = JSON.parse(text) as {
    metadata: { component: { name: string } };
    components: { name: string; version: string }[];
  };
  const names = bill.components.map(({ name, version }) => `${name} ${version}`);
  const expected = [...bundled, node].map(({ name, version }) => `${name} ${version}`);
  expect(names.toSorted()).toEqual(expected.toSorted());
  expect(bill.metadata.component.name).toBe('cadre');
  expect(text).not.toMatch(/timestamp|serialNumber/);
});
