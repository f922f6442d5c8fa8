import type { MutantsByFile } from './mutant.ts';

/** Mutants of `ignition lint`: what is refused that Ignition takes, and what is passed over. */
export const lintMutants: MutantsByFile = {
  'src/ignition/lint-rules.ts': [
    {
      means: 'partitions that stand one around the other pass',
      from: '(start < first && end > last)',
      to: '(start < first && end < last)',
    },
    {
      means: 'a partition that is placed by sgdisk overlaps another',
      from: 'if (startMiB === 0 || sizeMiB === undefined) return [];',
      to: 'if (sizeMiB === undefined) return [];',
    },
    {
      means: 'what came with a later spec passes in an earlier one',
      from: "format !== '' && (formats.get(format)?.since ?? Infinity) > minor",
      to: "format !== '' && !formats.has(format)",
    },
    {
      means: 'labels are measured in characters',
      from: 'Buffer.byteLength(text) > bytes',
      to: 'Array.from(text).length > bytes',
    },
    {
      means: 'a comment that is continued ends with its line',
      from: String.raw`/[#;](?:[^\n]*\\ ?\n)*[^\n]*/y`,
      to: String.raw`/[#;][^\n]*/y`,
    },
    {
      means: 'what Ignition warns of is an error',
      from: "warned.has(rule) ? 'warning' : 'error'",
      to: "warned.has(rule) ? 'error' : 'error'",
    },
  ],
  'src/layering/manifests/lint-machine-config.ts': [
    {
      means: 'a masked unit of the operator passes',
      from: "contents === '' && mask !== true",
      to: "contents === ''",
    },
    {
      means: 'every setting of core counts as one that a node takes',
      from: "name === 'core' && Object.keys(others).length > 0",
      to: "name === 'core' && Object.keys(others).length > 99",
    },
    {
      means: "what the operator renders overrides the operator's files",
      from: 'config === undefined || isOperators || isBelowDefaults(name)',
      to: 'config === undefined || isBelowDefaults(name)',
    },
    {
      means: 'a file of another role takes the effect of one',
      from: 'winners.set(`${one.role} ${path}`, one);',
      to: 'winners.set(path, one);',
    },
  ],
};
