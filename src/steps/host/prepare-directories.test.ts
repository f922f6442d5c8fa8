import { expect, it } from 'vitest';
import { fakeHost } from '../../../test/support/fake-host.ts';
import { runStep } from '../../../test/support/run-step.ts';
import { mkdirArgv, prepareDirectories } from './prepare-directories.ts';

it('host/prepare-directories creates the directory and reports the configured role', async () => {
  const host = fakeHost().on(mkdirArgv).succeeds();
  const { events } = await runStep(prepareDirectories, { host, config: { role: 'worker' } });
  expect(host.ran).toEqual([['mkdir', '-p', '/opt/install-dir']]);
  expect(events[0]).toMatchObject({ stage: 'Starting installation', stageInfo: 'worker' });
});
