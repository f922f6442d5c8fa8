import { expect, it } from 'vitest';
import { requireHost, unseenHost } from './host-root.ts';

const [host, container] = [{ id: 'mnt:[1]' }, { id: 'mnt:[2]' }];

it.each([
  ['a container with --pid=host', host, container, true, undefined],
  ['the host itself', host, host, false, undefined],
  ['a container without --pid=host', container, container, true, 'process 1 is one of this'],
  ['a container without --privileged', { code: 'EACCES' }, container, true, 'cannot be entered'],
  ['a user who is not root', { code: 'EACCES' }, host, false, 'cannot be entered: EACCES'],
])('checks access to the host from %s', (_, first, own, isContained, problem) => {
  const found = unseenHost(first, own, isContained);
  expect(found).toEqual(problem === undefined ? undefined : expect.stringContaining(problem));
});

it('requireHost accepts a given host root without a check', async () => {
  await expect(requireHost('/mnt')).resolves.toBeUndefined();
});
