import { expect, it } from 'vitest';
import { builtDigest, laneHost } from '../../../test/layering/lane-host.ts';
import { rest } from '../../../test/support/fake-host.ts';
import { runStep, tryStep } from '../../../test/support/run-step.ts';
import { minutes } from '../../model/duration.ts';
import { step } from '../step.ts';
import { tagImage } from './publish-images.ts';

const final = `registry.rig.test/ocl/master@${builtDigest}`;
const tagging = step({
  id: 'test/tag-image',
  title: 'Tag an image',
  uses: ['host', 'clock'],
  limit: minutes(5),
  run: (scope) => tagImage(scope, final, 'master-0123', '/manifests/push.yaml'),
});

it('gives an image a name more in its repository, and keeps its digest', async () => {
  const host = laneHost();
  await runStep(tagging, { host });
  const copy = host.ran.find(([, action]) => action === 'copy');
  expect(copy).toContain('--preserve-digests');
  expect(copy?.slice(-2)).toEqual([
    `docker://${final}`,
    'docker://registry.rig.test/ocl/master:master-0123',
  ]);
  expect([...host.files.keys()].filter((path) => path.includes('/auth/'))).toEqual([]);
});

it('refuses a tag that became another image', async () => {
  const other = `sha256:${'9'.repeat(64)}`;
  const host = laneHost().on(['skopeo', 'inspect', '--no-tags', rest]).prints(other);
  expect((await tryStep(tagging, { host })).failure).toMatchObject({
    code: 'layering.digest-changed',
  });
});
