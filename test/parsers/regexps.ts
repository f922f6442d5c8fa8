// Refuses regular expressions of the product whose time grows faster than their text.
// Run: node test/parsers/regexps.ts
// Where a text cannot be long, or cannot have the form that takes the time, the line or one of
// the two before says `// linear: WHY`.
import { globSync, readFileSync } from 'node:fs';
import { type Expression, parseSync, Visitor } from 'oxc-parser';
import { analyse } from 'scslre';

/** A regular expression that takes too long, where it is. */
export interface RegexpFinding {
  readonly line: number;
  readonly pattern: string;
  readonly growth: string;
}

/**
 * The regular expressions of a source that take too long: its literals, and those made of texts
 * of the same file.
 */
export function findingsIn(path: string, source: string): readonly RegexpFinding[] {
  const constants = new Map<string, Expression>();
  const found: { readonly start: number; readonly pattern: string; readonly flags: string }[] = [];
  const { program } = parseSync(path, source);
  const made: { readonly start: number; readonly parts: readonly Expression[] }[] = [];
  new Visitor({
    VariableDeclarator: ({ id, init }) => {
      if (id.type === 'Identifier' && init !== null) constants.set(id.name, init);
    },
    Literal: (node) => {
      if ('regex' in node) found.push({ start: node.start, ...node.regex });
    },
    NewExpression: ({ start, callee, arguments: parts }) => {
      if (callee.type === 'Identifier' && callee.name === 'RegExp')
        made.push({ start, parts: parts as readonly Expression[] });
    },
  }).visit(program);
  for (const { start, parts } of made) {
    const [pattern = '', flags = ''] = parts.map((part) => textOf(part, constants));
    found.push({ start, pattern, flags });
  }
  const lines = source.split('\n');
  return found.flatMap(({ start, pattern, flags }) => {
    const line = source.slice(0, start).split('\n').length;
    const isExcused = [line - 3, line - 2, line - 1].some(
      (at) => lines[at]?.includes('// linear: ') === true,
    );
    const growth = growthOf(pattern, flags);
    if (isExcused === (growth !== 'linear')) return [];
    return [{ line, pattern, growth: isExcused ? 'linear, and need not be excused' : growth }];
  });
}

/** A text that a source makes of texts; what comes from elsewhere counts as a letter. */
function textOf(node: Expression | undefined, constants: ReadonlyMap<string, Expression>): string {
  const parts = (texts: readonly string[], values: readonly Expression[]): string =>
    texts
      .map((text, index) => text + (index < values.length ? textOf(values[index], constants) : ''))
      .join('');
  switch (node?.type) {
    case 'Literal':
      return String(node.value);
    case 'Identifier':
      return constants.has(node.name) ? textOf(constants.get(node.name), constants) : 'x';
    case 'TemplateLiteral':
      return parts(
        node.quasis.map(({ value }) => value.cooked ?? ''),
        node.expressions,
      );
    case 'TaggedTemplateExpression':
      return parts(
        node.quasi.quasis.map(({ value }) => value.raw),
        node.quasi.expressions,
      );
    default:
      return 'x';
  }
}

/** How the time of a search for a regular expression grows; superlinear is quadratic at least. */
function growthOf(source: string, flags: string): 'linear' | 'superlinear' {
  if (!/[*+]|,\}/.test(source)) return 'linear';
  // With these flags the rest of a text or a line always matches, and nothing is tried again.
  const read = /[ms]/.test(flags)
    ? source.replace(/(?:\.[*+]|\((?:\?<\w+>)?\.[*+]\))\$$/, '')
    : source;
  return analyse({ source: read, flags }).reports.length === 0 ? 'linear' : 'superlinear';
}

if (import.meta.main) {
  const findings = globSync('src/**/*.ts', { exclude: ['**/*.test.ts'] }).flatMap((path) =>
    findingsIn(path, readFileSync(path, 'utf8')).map(
      ({ line, pattern, growth }) => `${path}:${line}: ${growth}: ${pattern}\n`,
    ),
  );
  process.stdout.write(findings.join(''));
  process.exitCode = findings.length === 0 ? 0 : 1;
}
