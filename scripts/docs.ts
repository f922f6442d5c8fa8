// Writes every generated page: node scripts/docs.ts.
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { format } from 'prettier';
import * as z from 'zod';
import { renderPlan } from '../src/cli/plan.ts';
import { outputJsonSchema } from '../src/cli/documents.ts';
import { PlanDocument } from '../src/cli/plan-data.ts';
import { DoctorDocument } from '../src/cli/doctor/doctor.ts';
import { StatusDocument } from '../src/cli/status.ts';
import { checkConfig } from '../src/config/load.ts';
import { configJsonSchema } from '../src/config/show.ts';
import { readSettings } from '../src/config/sources.ts';
import { describeRole } from '../src/engine/describe.ts';
import { version } from '../src/model/version.ts';
import { allRoles } from '../src/roles/choose.ts';
import { cliPage, manPage } from './docs/cli.ts';
import { configurationPage } from './docs/configuration.ts';
import { capiFiles } from './docs/capi.ts';
import { deployFiles } from './docs/deploy.ts';
import { errorsPage } from './docs/errors.ts';
import { eventsPage, StreamedEvent } from './docs/events.ts';
import { faultsPage } from './docs/faults.ts';
import { pageOf } from './docs/markdown.ts';
import { architecturePage } from './docs/rooms.ts';
import { waitsPage } from './docs/waits.ts';

const top = join(import.meta.dirname, '..');

const json = (value: unknown): Promise<string> =>
  format(JSON.stringify(value), { parser: 'json', printWidth: 100 });

/** JSON Schema (draft 2020-12) of what a program reads of Bootwright. */
const schema = (id: string, title: string, form: z.ZodType): Promise<string> =>
  json({ $id: `urn:bootwright:${id}`, title, ...z.toJSONSchema(form) });

/** Every generated page by its path from the top of the tree. */
export async function generatedPages(): Promise<Readonly<Record<string, string>>> {
  return {
    'docs/architecture.md': await architecturePage(),
    'docs/bootwright.1': manPage(),
    'docs/cli.md': cliPage(),
    'docs/configuration.md': configurationPage(),
    'docs/configuration.schema.json': await json(configJsonSchema()),
    'docs/doctor.schema.json': await schema(
      'doctor',
      'Findings of bootwright doctor',
      DoctorDocument,
    ),
    'docs/errors.md': await errorsPage(),
    'docs/events.md': eventsPage(),
    'docs/events.schema.json': await schema('events', 'Event of a Bootwright run', StreamedEvent),
    'docs/faults.md': await faultsPage(),
    'docs/output.schema.json': await json(outputJsonSchema()),
    'docs/plan.schema.json': await schema('plan', 'Plan of a Bootwright role', PlanDocument),
    'docs/plans.md': plansPage(),
    'docs/status.schema.json': await schema('status', 'Status of a Bootwright run', StatusDocument),
    'docs/waits.md': await waitsPage(),
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

const line =
  '--url https://service:6008 --cluster-id CLUSTER --host-id HOST --boot-device /dev/disk/by-id/DISK';

/** The page with the plan of every role, for the shortest line of an install. */
function plansPage(): string {
  const { config } = checkConfig(readSettings(line.split(' '), {}).layers);
  const roles = allRoles.map((role) => renderPlan(describeRole(role, config), 'markdown'));
  return pageOf('plans', { line, roles: roles.join('\n').trimEnd() });
}

if (import.meta.main) {
  for (const [path, text] of Object.entries(await generatedPages())) {
    mkdirSync(join(top, dirname(path)), { recursive: true });
    writeFileSync(join(top, path), text);
    console.log(`wrote ${path}`);
  }
}
