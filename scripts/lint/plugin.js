// The project's own lint rules, loaded by oxlint.config.ts: the import map, the reading of foreign files, calls of Date that
// no native rule covers, names of types that say nothing, names that the glossary refuses, schemas in functions, and times
// that tests compare.
import { isBuiltin } from 'node:module';
import { basename, dirname, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as foreign from '../foreign-files.mjs';
import { nameCheck, readGlossary } from '../glossary.ts';
import { folders, libraries, topFolders, upward } from '../import-map.mjs';
import * as testClocks from '../test-clocks.mjs';
import { exceptions } from '../vocabulary.ts';

const src = fileURLToPath(new URL('../../src', import.meta.url));
const table = 'scripts/import-map.mjs';

const importMap = {
  create(context) {
    const file = place(context.filename);
    const from = topFolderOf(file);
    const check = (node, specifier, kind) => {
      const message = refuse({ file, from, specifier, kind, filename: context.filename });
      if (message) context.report({ node, message });
    };
    const declaration = (node) => {
      const erased = (node.importKind ?? node.exportKind) === 'type';
      if (node.source) check(node.source, node.source.value, erased ? 'types' : 'may');
    };
    return {
      Program(node) {
        if (!from)
          context.report({
            node,
            message: `src/${file} is not in a folder of ${table}: move it into one`,
          });
      },
      ImportDeclaration: declaration,
      ExportNamedDeclaration: declaration,
      ExportAllDeclaration: declaration,
      ImportExpression(node) {
        const specifier = literal(node.source);
        if (specifier === undefined)
          context.report({
            node,
            message: 'import() needs a string literal: esbuild and the import map read it',
          });
        else check(node.source, specifier, 'lazily');
      },
      TSImportType: (node) => check(node.source, literal(node.source), 'types'),
      TSExternalModuleReference: (node) => check(node.expression, literal(node.expression), 'may'),
      CallExpression(node) {
        const required = node.callee.name === 'require' ? literal(node.arguments[0]) : undefined;
        if (required !== undefined) check(node, required, 'may');
      },
    };
  },
};

/** The reason why this import is refused, or undefined if it is allowed. */
function refuse({ file, from, specifier, kind, filename }) {
  if (!from) return undefined; // reported once, at the top of the file
  return specifier.startsWith('.')
    ? refusePlace(file, place(resolve(dirname(filename), specifier)), kind)
    : refuseLibrary(
        file,
        from,
        isBuiltin(specifier) ? `node:${specifier.replace(/^node:/, '')}` : packageOf(specifier),
      );
}

function refusePlace(file, target, kind) {
  if (target.replace(/\.json$/, '') === '../package') return undefined;
  if (target.startsWith('..'))
    return `src/${file} may not import ${target.slice(3)}: files outside src are not in the bundle`;
  const { allowed, name, because } = rulesOf(file, target);
  if (!allowed || within(target, allowed.may ?? [])) return undefined;
  const up = upward.filter(({ from, to }) => within(file, [from]) && within(target, to));
  if (up.some(({ any }) => any)) return undefined;
  if (within(target, allowed.types ?? []) || up.length > 0) {
    if (kind === 'types' || (up.length > 0 && kind === 'lazily')) return undefined;
    return `src/${file} may only \`import type\`${up.length > 0 ? ' or import()' : ''} from src/${target}: ${because}`;
  }
  if (within(target, allowed.lazily ?? []))
    return kind === 'may'
      ? `src/${file} may load src/${target} only by import() on demand: ${because}`
      : undefined;
  const { may = [], types = [], lazily = [] } = allowed;
  return `src/${file} may not import src/${target}: ${because}. ${name} may import ${list([...may, ...types, ...lazily])} (${table})`;
}

/** The imports that a file may take from the top-level folder of `target`, and the reason. All imports if `allowed` is null. */
function rulesOf(file, target) {
  const own = topFolderOf(file);
  const rows = Object.entries(folders).filter(([name]) => within(file, [name]));
  if (topFolderOf(target) === own) {
    const [[name, row] = []] = rows;
    const isHome = !row || within(target, [name]);
    return { allowed: isHome ? null : row, name, because: row?.because };
  }
  const [name, row] = rows.find(([, { outside }]) => outside) ?? [];
  return row
    ? { allowed: row.outside, name, because: row.because }
    : { allowed: topFolders[own], name: own, because: topFolders[own].because };
}

function refuseLibrary(file, from, library) {
  const { only, because } = topFolders[from];
  if (only && !only.includes(library))
    return `src/${from} may not import ${library}: ${because} (${table})`;
  const rule =
    libraries[library] ??
    libraries[
      Object.keys(libraries).find(
        (key) => key.endsWith('*') && library.startsWith(key.slice(0, -1)),
      )
    ];
  if (!rule)
    return library.startsWith('node:')
      ? undefined
      : `${library} is not in ${table}: add the folders that may import it and the reason`;
  if (rule.in.includes('*') || within(file, rule.in)) return undefined;
  return `${library} may only be imported by ${rule.in.map((name) => `src/${name}`).join(' and ')}: ${rule.because} (${table})`;
}

const FS = new Set(['fs', 'node:fs', 'fs/promises', 'node:fs/promises']);

/** Forbids functions that open a file by its path in the folders that handle foreign files, and synchronous ones in the server. */
const foreignFiles = {
  create(context) {
    const file = place(context.filename);
    const isForeign = within(file, foreign.folders);
    const isServed =
      within(file, foreign.served) && !within(file, Object.keys(foreign.synchronous));
    if (!isForeign && !isServed) return {};
    const excepted = Object.entries(foreign.exceptions).filter(([name]) => within(file, [name]));
    const allowed = new Set([...foreign.harmless, ...excepted.flatMap(([, { may }]) => may)]);
    /** The local names of the whole module `fs` in this file. */
    const modules = new Set();
    const check = (node, name) => {
      if (isServed && name?.endsWith('Sync'))
        context.report({
          node,
          message: `src/${file} may not call fs.${name}: ${foreign.blocking} (scripts/foreign-files.mjs)`,
        });
      if (!isForeign || !/^(read|open|createReadStream)/.test(name ?? '')) return;
      if (allowed.has(name)) return;
      context.report({
        node,
        message: `src/${file} may not call fs.${name}: ${foreign.because} (scripts/foreign-files.mjs)`,
      });
    };
    const isModule = (node) =>
      node?.type === 'Identifier'
        ? modules.has(node.name)
        : node?.type === 'MemberExpression' && isModule(node.object) && nameOf(node) === 'promises';
    return {
      ImportDeclaration(node) {
        if (!FS.has(node.source.value) || node.importKind === 'type') return;
        for (const specifier of node.specifiers) {
          const { imported, local } = specifier;
          if (!imported || ['default', 'promises'].includes(imported.name)) modules.add(local.name);
          else check(specifier, imported.name);
        }
      },
      MemberExpression(node) {
        if (isModule(node.object)) check(node, nameOf(node));
      },
      VariableDeclarator(node) {
        if (!isModule(node.init) || node.id.type !== 'ObjectPattern') return;
        for (const property of node.id.properties) check(property, property.key?.name);
      },
      ImportExpression(node) {
        if (isForeign && FS.has(literal(node.source)))
          context.report({
            node,
            message: `import fs with a declaration, not with import(): ${foreign.because}`,
          });
      },
    };
  },
};

/** The name of the accessed member; undefined if it is computed at run time. */
function nameOf({ computed, property }) {
  return computed ? literal(property) : property.name;
}

const noBareDate = {
  create(context) {
    const message = '`new Date()` reads the system clock: take a Clock and pass its value to Date';
    const check = (node) => {
      if (
        node.callee.name === 'Date' &&
        (node.arguments.length === 0 || node.type === 'CallExpression')
      )
        context.report({ node, message });
    };
    return { NewExpression: check, CallExpression: check };
  },
};

/** A schema that a function builds is compiled for each call, which takes much longer than to read a message with it. */
const noSchemaInFunction = {
  create(context) {
    return {
      CallExpression(node) {
        if (node.callee.object?.name !== 'z') return;
        const isInFunction = context.sourceCode
          .getAncestors(node)
          .some(({ type }) => /Function/.test(type));
        if (isInFunction)
          context.report({ node, message: 'build the schema once, outside of the function' });
      },
    };
  },
};

const VAGUE = new Set(['Given', 'How', 'Known', 'Place', 'Told', 'Wanted']);

/** A type has the name of the thing that it describes: these would fit any. */
const noVagueTypes = {
  create(context) {
    const check = ({ id }) => {
      if (id && VAGUE.has(id.name))
        context.report({
          node: id,
          message: `type name ${id.name} is too general: name the thing that the type describes`,
        });
    };
    return {
      TSInterfaceDeclaration: check,
      TSTypeAliasDeclaration: check,
      ClassDeclaration: check,
    };
  },
};

const refusalOf = nameCheck(readGlossary());

/** Refuses the names of docs/glossary.md in the names of files, of what they export, and of public methods. */
const vocabulary = {
  create(context) {
    const file = place(context.filename);
    const excepted = new Map(
      exceptions.filter((one) => one.in === file).map((one) => [one.name, { isNeeded: false }]),
    );
    const check = (node, name) => {
      const refusal = refusalOf(name);
      const exception = refusal && excepted.get(name);
      if (exception) exception.isNeeded = true;
      else if (refusal)
        context.report({
          node,
          message: `${name}: the glossary refuses \`${refusal.not}\` in names and has the term "${refusal.term}" (docs/glossary.md)`,
        });
    };
    const checkMember = (node) => {
      if (node.computed || node.key.type !== 'Identifier' || node.accessibility === 'private')
        return;
      check(node.key, node.key.name);
    };
    const checkDeclared = (node) => {
      for (const { id } of node.declarations ?? [node])
        for (const name of namesIn(id)) check(name, name.name);
    };
    return {
      Program(node) {
        check(node, basename(file));
      },
      ExportNamedDeclaration(node) {
        if (node.declaration) checkDeclared(node.declaration);
        for (const { exported } of node.specifiers)
          if (exported.name) check(exported, exported.name);
      },
      ExportDefaultDeclaration(node) {
        if (node.declaration.id) checkDeclared(node.declaration);
      },
      MethodDefinition: checkMember,
      TSAbstractMethodDefinition: checkMember,
      'Program:exit'(node) {
        for (const [name, { isNeeded }] of excepted)
          if (!isNeeded)
            context.report({
              node,
              message: `the exception for ${name} is not needed: remove it from scripts/vocabulary.ts`,
            });
      },
    };
  },
};

const CLOCKS = new Map([
  ['Date', ['now']],
  ['performance', ['now']],
  ['process', ['cpuUsage', 'hrtime', 'uptime']],
]);

/** Reports whether an expression reads a clock of the machine. */
function readsClock({ type, callee, arguments: args }) {
  if (type === 'NewExpression') return callee.name === 'Date' && args.length === 0;
  if (type !== 'CallExpression' || callee.type !== 'MemberExpression') return false;
  // `process.hrtime.bigint()`
  const member = callee.object.type === 'MemberExpression' ? callee.object : callee;
  return CLOCKS.get(member.object.name)?.includes(nameOf(member)) === true;
}

/** Forbids tests to compare times, and to compare anything after a time. */
const noClockInExpect = {
  create(context) {
    const file = relative(dirname(src), context.filename).replaceAll('\\', '/');
    const excepted = Object.keys(testClocks.exceptions).find((name) => within(file, [name]));
    if (excepted !== undefined && excepted !== file) return {};
    /** Whether each variable holds a time, by the function that declares it and its name. */
    const scopes = new Map();
    const assignments = [];
    const expectations = [];
    const declare = (node, name) => {
      const scope = functionAround(node);
      if (!scopes.has(scope)) scopes.set(scope, new Map());
      const names = scopes.get(scope);
      if (!names.has(name)) names.set(name, false);
    };
    const scopeOf = (node) => {
      for (let scope = functionAround(node); scope; scope = functionAround(scope))
        if (scopes.get(scope)?.has(node.name)) return scopes.get(scope);
      return undefined;
    };
    const holdsTime = (node) => isTime(node, (one) => scopeOf(one)?.get(one.name) === true);
    const isExpect = ({ callee }) =>
      callee.type === 'Identifier' && callee.name.startsWith('expect');
    return {
      VariableDeclarator({ id, init }) {
        for (const { name } of namesIn(id)) declare(id, name);
        if (init && id.type === 'Identifier') assignments.push([id, init]);
      },
      AssignmentExpression({ left, right }) {
        if (left.type === 'Identifier') assignments.push([left, right]);
      },
      CallExpression(node) {
        if (isExpect(node)) expectations.push(node);
        if (node.callee.name !== 'setTimeout') return;
        if (some(node.arguments[0], (one) => one.type === 'CallExpression' && isExpect(one)))
          context.report({ node, message: `expect in setTimeout: ${testClocks.because}` });
      },
      'Program:exit'(program) {
        for (let isNew = true; isNew;) {
          isNew = false;
          for (const [target, value] of assignments) {
            const scope = scopeOf(target);
            if (!scope || scope.get(target.name) || !holdsTime(value)) continue;
            scope.set(target.name, true);
            isNew = true;
          }
        }
        const found = expectations.filter((node) =>
          [...node.arguments, ...matched(node)].some(holdsTime),
        );
        if (excepted === file && found.length === 0)
          context.report({
            node: program,
            message: `the exception for ${file} is not needed: remove it from scripts/test-clocks.mjs`,
          });
        if (excepted !== undefined) return;
        for (const node of found)
          context.report({ node, message: `expect compares a time: ${testClocks.because}` });
      },
    };
  },
};

/** The arguments of the matchers behind a call of expect: `limit` of `expect(took).not.toBeGreaterThan(limit)`. */
function matched(node) {
  const args = [];
  for (
    let at = node.parent;
    at?.type === 'MemberExpression' || at?.type === 'CallExpression';
    at = at.parent
  ) {
    if (at.type === 'CallExpression' && at.callee.type !== 'MemberExpression') break;
    if (at.type === 'CallExpression') args.push(...at.arguments);
  }
  return args;
}

/** The function, or the file, in which a node is. */
function functionAround({ parent }) {
  for (let at = parent; at; at = at.parent) if (/Function|Program/.test(at.type)) return at;
  return undefined;
}

/** Reports whether an expression is a time: what a clock says, a variable that holds it, or a sum of such. */
function isTime(node, holdsTime) {
  if (readsClock(node)) return true;
  switch (node.type) {
    case 'Identifier':
      return holdsTime(node);
    case 'BinaryExpression':
      return (
        /^[-+*/]$/.test(node.operator) &&
        [node.left, node.right].some((one) => isTime(one, holdsTime))
      );
    case 'CallExpression':
      return (
        node.callee.object?.name === 'Math' && node.arguments.some((one) => isTime(one, holdsTime))
      );
    case 'MemberExpression':
      // `process.cpuUsage().user`
      return readsClock(node.object);
    default:
      return false;
  }
}

/** Reports whether a node or one below it is as wanted. */
function some(node, isWanted) {
  if (node === null || typeof node !== 'object') return false;
  if (Array.isArray(node)) return node.some((one) => some(one, isWanted));
  if (typeof node.type !== 'string') return false;
  if (isWanted(node)) return true;
  return Object.entries(node).some(([key, value]) => key !== 'parent' && some(value, isWanted));
}

/** The identifiers that a declaration binds. */
function namesIn(pattern) {
  if (pattern?.type === 'Identifier') return [pattern];
  if (pattern?.type === 'ObjectPattern')
    return pattern.properties.flatMap((one) => namesIn(one.value ?? one.argument));
  if (pattern?.type === 'ArrayPattern') return pattern.elements.flatMap(namesIn);
  return pattern?.type === 'AssignmentPattern' ? namesIn(pattern.left) : [];
}

/** The path of a file relative to src, without its extension; outside src it begins with `..`. */
function place(path) {
  return relative(src, path)
    .replaceAll('\\', '/')
    .replace(/\.(?:[cm]?[jt]sx?|json)$/, '');
}

const topFolderOf = (file) => Object.keys(topFolders).find((name) => within(file, [name]));
/** `a/b` has the file of that name and all files below that folder; `a/*` has the files of the folder `a` alone. */
const within = (file, names) =>
  names.some((name) =>
    name.endsWith('/*')
      ? dirname(file) === name.slice(0, -2)
      : file === name || file.startsWith(`${name}/`),
  );
const packageOf = (specifier) =>
  specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
const list = (names) => (names.length === 0 ? 'no folder of src' : names.join(', '));
/** The value of a string literal or of a template without expressions; undefined for anything else. */
function literal(node) {
  if (node?.type === 'TemplateLiteral' && node.expressions.length === 0)
    return node.quasis[0].value.cooked;
  return typeof node?.value === 'string' ? node.value : undefined;
}

export default {
  meta: { name: 'cadre' },
  rules: {
    'import-map': importMap,
    'foreign-files': foreignFiles,
    'no-bare-date': noBareDate,
    'no-clock-in-expect': noClockInExpect,
    'no-schema-in-function': noSchemaInFunction,
    'no-vague-types': noVagueTypes,
    vocabulary,
  },
};
