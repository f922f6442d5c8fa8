import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, it } from 'vitest';
import { Fault } from '../../mocks/http/fault.ts';
import { startAgent } from '../../mocks/lab/agent.ts';
import { openSingleHost, singleIds } from '../../mocks/lab/single-host.ts';

const bundle = resolve(import.meta.dirname, '../../dist/bootwright.mjs');
const token = 'token-of-the-test';

/** Installs a master, and reads what lies at the top of its root file system afterwards. */
async function install(faults: readonly Fault[]) {
  await using host = await openSingleHost({
    role: 'master',
    isControlPlaneDone: false,
    write: { seconds: 0.2, flushSeconds: 0, lineMillis: 20 },
    token,
  });
  for (const fault of faults) host.inventory.faults.add(fault);
  const agent = startAgent({
    bundle,
    args: host.words,
    env: host.environment,
    logFile: join(host.folder, 'agent.log'),
  });
  const { exitCode } = await agent.ended;
  const partitions = join(host.folder, 'root', '.partitions');
  const folders = existsSync(partitions)
    ? readdirSync(partitions).map((name) => join(partitions, name, 'bootwright'))
    : [];
  const [kept] = folders.filter((folder) => existsSync(folder));
  const files = kept === undefined ? [] : readdirSync(kept).toSorted();
  return {
    exitCode,
    texts: files.map((name) => readFileSync(join(kept ?? '', name), 'utf8')),
    modes: files.map((name) => statSync(join(kept ?? '', name)).mode & 0o777),
    files,
    mounts: host.machine.devices.mounts.map(({ target }) => target),
    unknown: host.machine.unknown,
    mounted: host.machine.ran.some(({ argv }) => argv[0] === 'mount'),
  };
}

it('logs that the service does not take are kept on the written disk, for root alone', async () => {
  const fault = Fault.parse({ kind: 'status', status: 403, on: '^POST .*/logs' });
  const { exitCode, files, texts, modes, mounts, unknown } = await install([fault]);
  expect({ exitCode, files, modes, mounts, unknown }).toEqual({
    exitCode: 0,
    files: ['installer.log', 'unreported.json'],
    modes: [0o600, 0o600],
    mounts: ['/', '/run/media/iso'],
    unknown: [],
  });
  const [log = '', record = ''] = texts;
  expect(log).toContain('the logs could not be uploaded');
  expect(JSON.parse(record)).toMatchObject({
    clusterId: singleIds.cluster,
    infraEnvId: singleIds.infraEnv,
    hostId: singleIds.host,
    unreported: [],
    areLogsUploaded: false,
  });
  expect(texts.join()).not.toContain(token);
});

it('a service that takes everything costs no mount', async () => {
  const { exitCode, files, mounted } = await install([]);
  expect({ exitCode, files, mounted }).toEqual({ exitCode: 0, files: [], mounted: false });
});
