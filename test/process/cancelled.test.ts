import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { InventoryServer } from '../../mocks/inventory/server.ts';
import { startAgent } from '../../mocks/lab/agent.ts';
import { openSingleHost, type SingleHostPlan } from '../../mocks/lab/single-host.ts';
import { becomes, bundle } from './faulty-run.ts';

interface InstallPlan extends Partial<SingleHostPlan> {
  readonly settings?: Readonly<Record<string, string>>;
  /** Happens once the service has had a report of such a body. */
  readonly after?: { readonly body: RegExp; readonly happens: (service: InventoryServer) => void };
}

async function install({ settings = {}, after, ...plan }: InstallPlan) {
  await using host = await openSingleHost({
    role: 'master',
    isControlPlaneDone: false,
    write: { seconds: 0.2, flushSeconds: 0, lineMillis: 20 },
    token: 'token-of-the-test',
    ...plan,
  });
  const agent = startAgent({
    bundle,
    args: host.words,
    env: { ...host.environment, ...settings },
    logFile: join(host.folder, 'agent.log'),
  });
  if (after !== undefined) {
    await becomes(() => host.inventory.requests.some(({ body }) => after.body.test(body)));
    after.happens(host.inventory);
  }
  const { exitCode } = await agent.ended;
  const programs = new Set(
    // The logs of the failure ask the writer for its version, and the check of the disk whether
    // anybody has it.
    host.machine.ran.flatMap(({ argv }) =>
      ['--version', '--no-act'].some((word) => argv.includes(word)) ? [] : [argv[0]],
    ),
  );
  const log = readFileSync(join(host.folder, 'agent.log'), 'utf8');
  return { exitCode, programs, log, installed: host.machine.installed };
}

/** What changes a disk, or leaves the host. */
const changing = ['wipefs', 'sgdisk', 'coreos-installer', 'shutdown'];

describe('a host that the service has stopped to install', () => {
  it.each([
    ['before its first report', { status: 'cancelled' }],
    // An identical report is accepted whatever the status is; only a new stage is refused.
    [
      'after its first report',
      { status: 'cancelled', stage: 'Starting installation', stageInfo: 'master' },
    ],
    ['because another host failed', { status: 'error', stage: 'Starting installation' }],
  ] as const)('keeps its disk: %s', async (_, own) => {
    const { exitCode, programs, log, installed } = await install({ own });
    expect(log).toContain('install.cancelled');
    expect(log).toContain(`in status ${own.status}`);
    expect(exitCode).toBe(5);
    expect(changing.filter((program) => programs.has(program))).toEqual([]);
    expect(installed).toBeUndefined();
  });

  it('is installed where the settings say so', async () => {
    const settings = { BOOTWRIGHT_SERVICE_STOP_IF_CANCELLED: 'false' };
    const { exitCode, programs } = await install({ own: { status: 'cancelled' }, settings });
    expect(exitCode).toBe(0);
    expect(programs).toContain('shutdown');
  });
});

const ends = [
  ['cancels', 'cancelled', ({ store }: InventoryServer) => store.cancel()],
  ['resets', 'resetting-pending-user-action', ({ store }: InventoryServer) => store.reset()],
] as const;

describe('a host whose installation the service ends meanwhile', () => {
  const slowly = { seconds: 1, flushSeconds: 0, lineMillis: 20 };

  it.each(ends)(
    'is not rebooted where it %s while the disk is written',
    async (_, status, happens) => {
      const { exitCode, programs, log, installed } = await install({
        write: slowly,
        after: { body: /Writing image/, happens },
      });
      expect(log).toContain('install.withdrawn');
      expect(log).toContain(`in status ${status}`);
      expect(exitCode).toBe(5);
      // What was begun is not cut off.
      expect(installed).toBeDefined();
      expect(programs).not.toContain('shutdown');
    },
  );

  it('waits for no control plane where it resets meanwhile', async () => {
    const { exitCode, programs, log } = await install({
      role: 'worker',
      // From here on each report is a new text of one stage, which the service takes in any status.
      after: {
        body: /Waiting for control plane","progress_info/,
        happens: ({ store }) => store.reset(),
      },
    });
    expect(log).toContain('install.withdrawn');
    expect(exitCode).toBe(5);
    expect(programs).not.toContain('shutdown');
  });

  it('is rebooted all the same where the settings say so', async () => {
    const { exitCode, programs } = await install({
      write: slowly,
      after: { body: /Writing image/, happens: ({ store }) => store.reset() },
      settings: { BOOTWRIGHT_SERVICE_STOP_IF_CANCELLED: 'false' },
    });
    expect(exitCode).toBe(0);
    expect(programs).toContain('shutdown');
  });

  it('is rebooted where its stages are refused because it has been in later ones', async () => {
    const { exitCode, programs } = await install({
      own: { status: 'installing-in-progress', stage: 'Done' },
    });
    expect(exitCode).toBe(0);
    expect(programs).toContain('shutdown');
  });
});
