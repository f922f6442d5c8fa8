import { expect, it, vi } from 'vitest';
import { condition } from '../engine/condition.ts';
import { describeRole, type Plan } from '../engine/describe.ts';
import { fact } from '../engine/fact.ts';
import { lanes, role } from '../engine/role.ts';
import { stepsOf } from '../engine/step.ts';
import { minutes } from '../model/duration.ts';
import * as z from 'zod';
import { renderPlan, runPlan } from './plan.ts';

interface SmallConfig {
  readonly token: string;
  readonly hasLogs: boolean;
}

interface Small {
  readonly config: SmallConfig;
  readonly ports: { readonly host: object };
}

const mask = (text: string): string => text.replaceAll('hidden', '***');
const step = stepsOf<Small>();
const done = (): Promise<void> => Promise.resolve();
const Disk = fact('disk.target', z.object({ path: z.string() }));

const findDisk = step({
  id: 'disk/find',
  title: 'Find the disk',
  stage: 'Starting installation',
  uses: ['host'],
  gives: Disk,
  effect: 'reads',
  limit: minutes(1),
  explain: () => 'the only disk there is',
  run: () => Promise.resolve({ path: '/dev/sda' }),
});
const writeDisk = step({
  id: 'disk/write',
  title: 'Write the disk',
  uses: ['host'],
  needs: { disk: Disk },
  effect: 'destroys',
  limit: minutes(90),
  retry: { attempts: 3, every: 0 },
  preview: ({ token }, { disk }) => [['write', '--token', token, `it's`, disk.path]],
  run: done,
});
const waitForMasters = step({
  id: 'cluster/wait',
  title: 'Wait for the masters',
  uses: [],
  effect: 'locks',
  explain: () => 'waits for two masters',
  limit: minutes(60),
  run: done,
});
const sendLogs = step({
  id: 'logs/send',
  title: 'Send the logs',
  uses: [],
  when: condition<SmallConfig>('logs are asked for', ({ hasLogs }) => hasLogs),
  limit: minutes(5),
  run: done,
});
const leave = step({
  id: 'finish/leave',
  title: 'Leave',
  uses: [],
  effect: 'leaves',
  limit: minutes(1),
  run: done,
});

const small = role<Small>('small', {
  title: 'Shows what a plan can show',
  ladder: 'master',
  steps: [findDisk, lanes({ disk: [writeDisk], cluster: [waitForMasters] }), leave],
  always: [sendLogs],
});

const plan: Plan = describeRole(small, { token: 'hidden', hasLogs: false });

it('plan as text renders all properties of steps and lanes', () => {
  expect(renderPlan(plan, 'text', mask)).toMatchInlineSnapshot(`
      "Role small: Shows what a plan can show
      4 steps, 1 skipped by this configuration, 1 can destroy data.

      • disk/find     Find the disk
          reports    Starting installation
          chosen     the only disk there is
          gives      disk.target
          takes      at most 1 min

      ┬ in parallel
      ├─ disk
      │  ! disk/write    Write the disk
      │      needs      disk.target
      │      takes      at most 1 h 30 min, tried up to 3 times
      │      $ write --token *** 'it'\\''s' <disk.target.path>
      │
      ├─ cluster
      │  • cluster/wait  Wait for the masters
      │      waits for  two masters
      │      takes      at most 1 h
      │      if resumed runs again
      │
      ┴ after all lanes finish

      ‣ finish/leave  Leave
          takes      at most 1 min

      At the end of the run, and after a failure:

      – logs/send     Send the logs
          only when logs are asked for

      • step   ! destroys data   ‣ reboots the host   – skipped   $ command on the host
      "
    `);
});

it('plan as JSON has its version and all steps, and no secrets', () => {
  const text = renderPlan(plan, 'json', mask);
  expect(text).not.toContain('hidden');
  expect(JSON.parse(text)).toMatchObject({
    v: 1,
    role: 'small',
    items: [
      { kind: 'step', step: { id: 'disk/find', gives: 'disk.target', isActive: true } },
      { kind: 'lanes', lanes: [{ name: 'disk' }, { name: 'cluster' }] },
      { kind: 'step', step: { id: 'finish/leave', effect: 'leaves' } },
    ],
    always: [{ id: 'logs/send', isActive: false }],
  });
});

it('plan masks the secrets of the configuration', async () => {
  const write = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  const flags = '--role worker --url http://h --cluster-id c --host-id i --boot-device /dev/null';
  const args = '["--append-karg","x=hidden-token"]';
  const environment = { PULL_SECRET_TOKEN: 'hidden-token' };
  const argv = [...flags.split(' '), '--installer-args', args];
  const exitCode = await runPlan({ argv, environment, format: 'text' });
  const text = String(write.mock.calls[0]?.[0]);
  write.mockRestore();
  expect(exitCode).toBe(0);
  expect(text).toContain('--append-karg x=***');
  expect(text).not.toContain('hidden-token');
});
