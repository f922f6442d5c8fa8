import { expect, it } from 'vitest';
import { fakeHost } from '../../../test/support/fake-host.ts';
import { runStep } from '../../../test/support/run-step.ts';
import { findRegistryMedia, findRegistryArgv } from './find-media.ts';

it.each([
  [0, true],
  [1, false],
])('takes exit code %d of stat for isPresent %s', async (exitCode, isPresent) => {
  const host = fakeHost().on(findRegistryArgv).fails(exitCode);
  const { value } = await runStep(findRegistryMedia, { host });
  expect(value).toEqual({ isPresent });
  expect(host.ran).toEqual([['stat', '/run/media/iso/registry']]);
});
