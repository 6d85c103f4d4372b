import { type Comment, type Expression, type Node, parseSync } from 'oxc-parser';

/**
 * Comments of src/core/config/schema.ts by the path of the key: `server.drain_ms`, `servers[].name` of the
 * records in a list, `providers.acp.agents.NAME.command` of a table whose names the user chooses.
 */
export function commentsOf(source: string): ReadonlyMap<string, string> {
  const { program, comments } = parseSync('schema.ts', source);
  const values = new Map<string, Expression>();
  for (const statement of program.body) {
    const declared =
      statement.type === 'ExportNamedDeclaration' ? statement.declaration : statement;
    if (declared?.type !== 'VariableDeclaration') continue;
    for (const { id, init } of declared.declarations)
      if (id.type === 'Identifier' && init) values.set(id.name, init);
  }
  const found = new Map<string, string>();
  walk(values.get('configSchema'), '');
  return found;

  function walk(node: Node | undefined | null, path: string): void {
    if (!node) return;
    if (node.type === 'Identifier') walk(values.get(node.name), path);
    else if (node.type === 'TSSatisfiesExpression') walk(node.expression, path);
    else if (node.type === 'ArrowFunctionExpression') walk(node.body, path);
    else if (node.type === 'CallExpression') walkCall(node, path);
    else if (node.type === 'ObjectExpression')
      for (const one of node.properties) {
        if (one.type === 'SpreadElement') walk(one.argument, path);
        else if (one.key.type === 'Identifier') {
          const below = path ? `${path}.${one.key.name}` : one.key.name;
          const text = textBefore(one.start, source, comments);
          if (text !== undefined) found.set(below, text);
          walk(one.value, below);
        }
      }
  }

  function walkCall(
    { callee, arguments: given }: Extract<Node, { type: 'CallExpression' }>,
    path: string,
  ): void {
    if (callee.type !== 'MemberExpression') return walk(callee, path);
    const method = callee.property.type === 'Identifier' ? callee.property.name : '';
    if (method === 'strictObject') walk(given[0], path);
    else if (method === 'array') walk(given[0], `${path}[]`);
    else if (method === 'record') walk(given[1], `${path}.NAME`);
    else walk(callee.object, path);
  }
}

/** The text of the documentation comment right before an offset. */
function textBefore(
  start: number,
  source: string,
  comments: readonly Comment[],
): string | undefined {
  const comment = comments.find(({ end }) => end < start && source.slice(end, start).trim() === '');
  if (!comment?.value.startsWith('*')) return undefined;
  return comment.value
    .slice(1)
    .replaceAll(/^\s*\* ?/gm, '')
    .replaceAll(/\s+/g, ' ')
    .trim();
}
