import { format } from 'prettier';
import { planJsonSchema } from '../../src/cli/plan-data.ts';
import { configJsonSchema } from '../../src/config/show.ts';
import { configurationPage } from './configuration.ts';
import { errorsPage } from './errors.ts';
import { plansPage } from './plans.ts';

const json = (value: unknown): Promise<string> =>
  format(JSON.stringify(value), { parser: 'json', printWidth: 100 });

/** Every generated page by its path from the top of the tree. */
export async function generatedPages(): Promise<Readonly<Record<string, string>>> {
  return {
    'docs/configuration.md': configurationPage(),
    'docs/configuration.schema.json': await json(configJsonSchema()),
    'docs/errors.md': await errorsPage(),
    'docs/plan.schema.json': await json(planJsonSchema()),
    'docs/plans.md': plansPage(),
  };
}
