import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { startAgent } from '../../mocks/lab/agent.ts';
import { openSingleHost, type SingleHostPlan } from '../../mocks/lab/single-host.ts';

const bundle = resolve(import.meta.dirname, '../../dist/bootwright.mjs');

async function install(own: NonNullable<SingleHostPlan['own']>, settings = {}) {
  await using host = await openSingleHost({
    role: 'master',
    isControlPlaneDone: false,
    write: { seconds: 0.2, flushSeconds: 0, lineMillis: 20 },
    token: 'token-of-the-test',
    own,
  });
  const agent = startAgent({
    bundle,
    args: host.words,
    env: { ...host.environment, ...settings },
    logFile: join(host.folder, 'agent.log'),
  });
  const { exitCode } = await agent.ended;
  const programs = new Set(
    // The logs of the failure ask the writer for its version.
    host.machine.ran.flatMap(({ argv }) => (argv[1] === '--version' ? [] : [argv[0]])),
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
    const { exitCode, programs, log, installed } = await install(own);
    expect(log).toContain('install.cancelled');
    expect(log).toContain(`in status ${own.status}`);
    expect(exitCode).toBe(5);
    expect(changing.filter((program) => programs.has(program))).toEqual([]);
    expect(installed).toBeUndefined();
  });

  it('is installed where the settings say so', async () => {
    const settings = { BOOTWRIGHT_SERVICE_STOP_IF_CANCELLED: 'false' };
    const { exitCode, programs } = await install({ status: 'cancelled' }, settings);
    expect(exitCode).toBe(0);
    expect(programs).toContain('shutdown');
  });
});
