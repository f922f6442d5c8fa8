import fc from 'fast-check';
import type { Fields } from '../../src/layering/api/schema.ts';

const indent = ' '.repeat(6);
const piece = fc.constantFrom(
  ...Array.from('ab \t:#"\'\\\u00a0\u00e4\u007f\u0007\u2028\ufeff\ufffe'),
  ...['\n', '\r\n', '\r', '\u0085', '\n\n'].map((lineBreak) => lineBreak + indent),
  ...['\u{1f600}', 'RUN x', '\\r', '\\x85', '\\u2028', '\\ud83d\\ude00', '\\ud800', '\\U0001f600'],
);
const text = fc.array(piece, { maxLength: 10 }).map((pieces) => pieces.join(''));

/** The text of a Containerfile in the ways in which YAML can hold it, often in one that no parser takes. */
const content = fc.oneof(
  text.map((written) => `|\n${indent}a${written}\n`),
  text.map((written) => `|2+\n${indent}a${written}\n`),
  text.map((written) => `>-\n${indent}a${written}\n`),
  text.map((written) => `"a${written}"\n`),
  text.map((written) => `'a${written}'\n`),
);

/** The file of a MachineOSConfig with one such text. */
export const osConfigFile = (name: string): fc.Arbitrary<string> =>
  content.map(
    (written) => `apiVersion: machineconfiguration.openshift.io/v1
kind: MachineOSConfig
metadata: {name: ${name}}
spec:
  machineConfigPool: {name: ${name}}
  imageBuilder: {imageBuilderType: Job}
  renderedImagePushSecret: {name: push}
  renderedImagePushSpec: registry.example.com/ocl/${name}:latest
  containerFile:
  - content: ${written}`,
  );

/** The text that an object has in its first file. */
export function contentOf(object: Fields): unknown {
  const { spec } = object as { readonly spec: { readonly containerFile: readonly Fields[] } };
  return spec.containerFile[0]?.['content'];
}
