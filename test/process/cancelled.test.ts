import { expect, it } from 'vitest';
import type { InventoryServer } from '../../mocks/inventory/server.ts';
import type { SingleHostPlan } from '../../mocks/lab/single-host.ts';
import { becomes, logOf, openHost, startOn } from './faulty-run.ts';

/** @param onWrite called once the service knows that the image is being written */
async function install(
  plan: Partial<SingleHostPlan>,
  onWrite?: (service: InventoryServer) => void,
) {
  const write = { seconds: 1, flushSeconds: 0, lineMillis: 20 };
  await using host = await openHost({ isControlPlaneDone: false, write, ...plan });
  const agent = startOn(host);
  if (onWrite !== undefined) {
    await becomes(() => host.inventory.requests.some(({ body }) => body.includes('Writing image')));
    onWrite(host.inventory);
  }
  const { exitCode } = await agent.ended;
  const programs = new Set(
    // The logs of the failure ask the writer for its version, and the check of the disk asks
    // whether it is in use.
    host.machine.ran.flatMap(({ argv }) =>
      ['--version', '--no-act'].some((word) => argv.includes(word)) ? [] : [argv[0]],
    ),
  );
  return { exitCode, programs, log: logOf(host), installed: host.machine.installed };
}

it('a cancelled host does not touch its disk, even after an earlier run', async () => {
  // The service accepts an identical report in any status; it refuses only a new stage.
  const own = {
    status: 'cancelled',
    stage: 'Starting installation',
    stageInfo: 'master',
  } as const;
  const { exitCode, programs, log, installed } = await install({ own });
  expect(log).toContain('install.cancelled');
  expect(log).toContain('in status cancelled');
  expect(exitCode).toBe(5);
  for (const program of ['wipefs', 'sgdisk', 'coreos-installer', 'shutdown'])
    expect(programs).not.toContain(program);
  expect(installed).toBeUndefined();
});

it('a host that is reset during the write is not rebooted', async () => {
  const { exitCode, programs, log, installed } = await install({}, ({ store }) => store.reset());
  expect(log).toContain('install.withdrawn');
  expect(log).toContain('in status resetting-pending-user-action');
  expect(exitCode).toBe(5);
  // The write under way is not interrupted.
  expect(installed).toBeDefined();
  expect(programs).not.toContain('shutdown');
});
