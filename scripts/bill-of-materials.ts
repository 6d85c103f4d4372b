// The bill of materials of an archive: what `npm sbom` says of the packages that are in the executable, and Node.
import { execFileSync } from 'node:child_process';
import type { License } from '../src/frontends/cli/licenses.ts';

interface Component {
  'bom-ref': string;
  name: string;
  version: string;
  scope?: string;
  properties?: unknown;
}

/** The fields that this module reads from a CycloneDX document. */
interface Bill {
  $schema: string;
  bomFormat: string;
  specVersion: string;
  metadata: { timestamp?: string; component: Component };
  components: Component[];
  dependencies: { ref: string; dependsOn: string[] }[];
}

/**
 * A CycloneDX document as JSON. `licenses` lists the licences of everything that is shipped, including Node. The time and
 * the random number that npm gives a document are left out, so that two builds make the same.
 */
export function billOf(root: string, name: string, licenses: readonly License[]): string {
  const whole = bomOf(root);
  const { timestamp: _time, component, ...metadata } = whole.metadata;
  const shipped = new Set(licenses.map((one) => `${one.name}@${one.version}`));
  const node = licenses.find((one) => one.name === 'node');
  if (!node) throw new Error('licence of Node not found');
  const components = whole.components.filter((one) => shipped.delete(keyOf(one))).map(asShipped);
  shipped.delete(`node@${node.version}`);
  if (shipped.size > 0)
    throw new Error(`not in the output of npm sbom: ${[...shipped].join(', ')}`);
  const refs = new Set(components.map((one) => one['bom-ref']));
  const document = {
    $schema: whole.$schema,
    bomFormat: whole.bomFormat,
    specVersion: whole.specVersion,
    version: 1,
    metadata: {
      ...metadata,
      component: {
        ...component,
        type: 'application',
        name: 'cadre',
        properties: [{ name: 'archive', value: name }],
      },
    },
    components: [...components, nodeComponent(node)],
    dependencies: [
      { ref: component['bom-ref'], dependsOn: [...refs, nodeRef(node)] },
      ...whole.dependencies
        .filter(({ ref }) => refs.has(ref))
        .map(({ ref, dependsOn }) => ({
          ref,
          dependsOn: dependsOn.filter((one) => refs.has(one)),
        })),
    ],
  };
  return `${JSON.stringify(document, null, 2)}\n`;
}

function bomOf(root: string): Bill {
  // All that is bundled is for development, which npm leaves out where NODE_ENV is production.
  const line = ['sbom', '--sbom-format', 'cyclonedx', '--package-lock-only', '--include=dev'];
  const text = execFileSync('npm', line, {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 1e8,
    stdio: 'pipe',
  });
  return JSON.parse(text) as Bill;
}

function keyOf({ name, version }: Component): string {
  return `${name}@${version}`;
}

/** All that is bundled is a package for development: whoever installs cadre installs none of them. */
function asShipped({ properties: _development, ...component }: Component): Component {
  return { ...component, scope: 'required' };
}

function nodeRef({ version }: License): string {
  return `node@${version}`;
}

function nodeComponent(node: License): Component & Record<string, string> {
  const { version } = node;
  return {
    'bom-ref': nodeRef(node),
    type: 'platform',
    name: 'node',
    version,
    scope: 'required',
    purl: `pkg:generic/node@${version}`,
  };
}
