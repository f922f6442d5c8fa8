import { expect, it } from 'vitest';
import { hintWithReset } from './reset.ts';

it.each([
  ['unmount it, then run the same "podman run" line again', /^unmount it; then reset the cluster/],
  ['fix it, and run the same "podman run" or "bootwright" line again', /^fix it; then reset/],
  ['run the same "podman run" line again', /^reset the cluster at the service \("Reset C/],
  [
    'run the same "podman run" line again; if it fails again, check the network',
    /^install again; if it fails again, check the network; then reset the cluster/,
  ],
  ['correct the Containerfile; then install again', /^correct the Containerfile; then reset the/],
  ['nodes could not pull it later, so install again', /^nodes could not pull it later; then reset/],
  [
    'read the log; then boot the live medium again, which installs from the beginning',
    /^read the log; then reset the cluster/,
  ],
  ['boot the live medium and install again', /^reset the cluster at the service/],
  ['replace the disk', /^replace the disk; then .*clusters\/c1\/actions\/reset\), boot its hosts/],
])('behind a service, a host is installed from its discovery image: %s', (hint, expected) => {
  expect(hintWithReset(hint, 'c1')).toMatch(expected);
});
