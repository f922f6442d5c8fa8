import { readFileSync } from 'node:fs';

/** Values by the names that a template has in `$(NAME)`. */
export type TemplateValues = Readonly<Record<string, string | number>>;

/**
 * The text of a file in which values replace `$(NAME)`.
 * @throws RangeError for a name without a value
 */
export function filledTemplate(path: string, values: TemplateValues): string {
  return readFileSync(path, 'utf8').replaceAll(/\$\((\w+)\)/g, (_, name: string) => {
    const value = values[name];
    if (value === undefined) throw new RangeError(`${path}: nothing is given for ${name}`);
    return String(value);
  });
}
