import { layeringFailure } from '../failures.ts';

/** Characters that yaml.v2 refuses in its input and that encoding/json does not escape. */
const REFUSED = /[\u007f-\u0084\u0086-\u009f\ufffe\uffff]/;

/**
 * What becomes of a string that Go writes as JSON and reads again as YAML, which the operator's YAML library
 * does before it writes it as YAML. JSON leaves NEL (U+0085) as it is; YAML takes it for a line break within
 * quotes, drops the spaces around it and folds it. Everything else comes back unchanged.
 * @throws AgentError `layering.no-name` for what the library cannot read back: the operator fails with it too
 */
export function throughJson(text: string): string {
  const wellFormed = text.toWellFormed();
  const refused = REFUSED.exec(wellFormed);
  if (refused !== null) throw unnameable(wellFormed, refused);
  const marker = /\u0085(?:---|\.\.\.)(?=[ \u0085])/.exec(wellFormed);
  if (marker !== null) throw unnameable(wellFormed, marker);
  return wellFormed.replaceAll(/ *\u0085[ \u0085]*/g, (run) => {
    const breaks = run.replaceAll(' ', '').length;
    return breaks === 1 ? ' ' : '\n'.repeat(breaks - 1);
  });
}

function unnameable(text: string, { 0: found, index }: RegExpExecArray): Error {
  const code = (found.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
  const line = text.slice(0, index).split('\n').length;
  return layeringFailure(
    'layering.no-name',
    `the character U+${code} in line ${line} of a text cannot be hashed by the Machine Config Operator`,
    { context: { character: `U+${code}`, line } },
  );
}
