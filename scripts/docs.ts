// Writes every generated page: node scripts/docs.ts.
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { format } from 'prettier';
import { configJsonSchema } from '../src/config/show.ts';
import { version } from '../src/model/version.ts';
import { cliPage } from './docs/cli.ts';
import { configurationPage } from './docs/configuration.ts';
import { capiFiles, deployFiles } from './docs/deploy.ts';
import { errorsPage } from './docs/errors.ts';

const top = join(import.meta.dirname, '..');

const json = (value: unknown): Promise<string> =>
  format(JSON.stringify(value), { parser: 'json', printWidth: 100 });

/** Every generated page by its path from the top of the tree. */
export async function generatedPages(): Promise<Readonly<Record<string, string>>> {
  return {
    'docs/cli.md': cliPage(),
    'docs/configuration.md': configurationPage(),
    'docs/configuration.schema.json': await json(configJsonSchema()),
    'docs/errors.md': await errorsPage(),
    ...guides(),
    ...deployFiles(),
    ...capiFiles(),
  };
}

/** The guides, whose examples of output are of this version. */
const guides = (): Readonly<Record<string, string>> =>
  Object.fromEntries(
    globSync('docs/guides/*.md', { cwd: top }).map((path) => [
      path,
      readFileSync(join(top, path), 'utf8').replaceAll(/(?<=\bbootwright )\d+\.\d+\.\d+/g, version),
    ]),
  );

if (import.meta.main) {
  for (const [path, text] of Object.entries(await generatedPages())) {
    mkdirSync(join(top, dirname(path)), { recursive: true });
    writeFileSync(join(top, path), text);
    console.log(`wrote ${path}`);
  }
}
