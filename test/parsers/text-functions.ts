import { globSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseSync } from 'oxc-parser';

const root = resolve(import.meta.dirname, '../..');

/** An exported function whose first parameter is a text, or the bytes of one. */
export interface TextFunction {
  /** Path from `src`, `#`, name. */
  readonly id: string;
  /** The types of its further required parameters, as the source has them. */
  readonly further: readonly string[];
  readonly takesBytes: boolean;
}

/** Folders without effects, and the adapters that read what other machines send. */
const pattern =
  'src/{lib,model,ignition,cluster,os,layering,steps,reconcile,controllers,config,engine,reporting,adapters/http,adapters/kube}/**/*.ts';

/** Every exported function of the product that a text is handed to. */
export const textFunctions = (): readonly TextFunction[] =>
  globSync(pattern, { cwd: root })
    .filter((path) => !path.endsWith('.test.ts'))
    .sort()
    .flatMap(textFunctionsIn);

interface Parameter {
  readonly start: number;
  readonly end: number;
  readonly type: string;
  readonly optional?: boolean | undefined;
}

function textFunctionsIn(path: string): readonly TextFunction[] {
  const source = readFileSync(resolve(root, path), 'utf8');
  return parseSync(path, source).program.body.flatMap((statement) => {
    if (statement.type !== 'ExportNamedDeclaration') return [];
    const { declaration } = statement;
    const functions =
      declaration?.type === 'FunctionDeclaration'
        ? [{ name: declaration.id?.name ?? '', made: declaration }]
        : declaration?.type === 'VariableDeclaration'
          ? declaration.declarations.flatMap(({ id, init }) =>
              id.type === 'Identifier' && init?.type === 'ArrowFunctionExpression'
                ? [{ name: id.name, made: init }]
                : [],
            )
          : [];
    return functions.flatMap(({ name, made }) => {
      const [first, ...more] = (made.params as readonly Parameter[]).map((parameter) => ({
        text: source.slice(parameter.start, parameter.end),
        isRequired: parameter.type !== 'AssignmentPattern' && parameter.optional !== true,
      }));
      const type = typeIn(first?.text ?? '');
      if (!/^(string|Uint8Array|Buffer)( \| (string|Uint8Array|undefined))*$/.test(type)) return [];
      return [
        {
          id: `${path.slice('src/'.length)}#${name}`,
          further: more.filter(({ isRequired }) => isRequired).map(({ text }) => typeIn(text)),
          takesBytes: !type.includes('string'),
        },
      ];
    });
  });
}

const typeIn = (parameter: string): string =>
  parameter.replace(/^[^:{]*: /s, '').replaceAll(/\s+/g, ' ');
