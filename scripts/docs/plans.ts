import { checkConfig } from '../../src/config/load.ts';
import { describeRole } from '../../src/engine/describe.ts';
import { renderPlan } from '../../src/cli/plan.ts';
import { readSettings } from '../../src/config/sources.ts';
import { allRoles } from '../../src/roles/choose.ts';

const line =
  '--url https://service:6008 --cluster-id CLUSTER --host-id HOST --boot-device /dev/disk/by-id/DISK';

/** The page with the plan of every role, for the shortest line of an install. */
export function plansPage(): string {
  const { config } = checkConfig(readSettings(line.split(' '), {}).layers);
  return [
    '# Plans',
    '',
    'This page is written by `npm run docs`. It shows what each role does for the shortest line of',
    'an install; `bootwright plan` with the flags of another install shows it for that one.',
    '',
    '```',
    `bootwright -r ROLE ${line}`,
    '```',
    '',
    ...allRoles.map((role) => renderPlan(describeRole(role, config), 'markdown')),
  ].join('\n');
}
