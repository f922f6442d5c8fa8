import { describe, expect, it } from 'vitest';
import { clusterHasCredentials, serviceHasCredentials } from './vsphere-credentials.ts';

const real = { user: 'u', password: 'p', server: 's' };
const overrides = (vsphere: unknown): string => JSON.stringify({ platform: { vsphere } });
const withVcenter = (vcenter: object): string => overrides({ vcenters: [vcenter] });

describe('credentials of the vCenter at the service', () => {
  it.each([
    ['real ones', 'vsphere', withVcenter(real), true],
    ['a second vCenter that is not whole', 'vsphere', overrides({ vcenters: [real, {}] }), true],
    ['old fields', 'vsphere', overrides({ vCenter: 's', username: 'u', password: 'p' }), false],
    ['no user', 'vsphere', withVcenter({ ...real, user: 'usernameplaceholder' }), false],
    ['no password', 'vsphere', withVcenter({ ...real, password: 'passwordplaceholder' }), false],
    ['no server', 'vsphere', withVcenter({ ...real, server: 'vcenterplaceholder' }), false],
    ['an empty server', 'vsphere', withVcenter({ ...real, server: '' }), false],
    ['a missing user', 'vsphere', withVcenter({ password: 'p', server: 's' }), false],
    ['no vCenter', 'vsphere', overrides({ vcenters: [] }), false],
    ['no overrides', 'vsphere', '', false],
    ['overrides that are not JSON', 'vsphere', '{', false],
    ['another platform', 'nutanix', withVcenter(real), false],
  ])('with %s', (...[, platformType, installConfigOverrides, has]) => {
    const cluster = { id: 'c', kind: 'Cluster', platformType, installConfigOverrides };
    expect(serviceHasCredentials(cluster)).toBe(has);
  });

  it('are not there when the service names no platform', () => {
    expect(serviceHasCredentials({ id: 'c', kind: 'Cluster' })).toBe(false);
  });
});

it.each([
  ['a real server', { vcenterServer: 's' }, true],
  ['the placeholder', { vcenterServer: 'vcenterplaceholder' }, false],
  ['an empty server', { vcenterServer: '' }, false],
  ['no server', {}, false],
])('credentials by the install-config with %s', (_, vsphere, has) => {
  const config = { controlPlaneReplicas: 3, arbiterReplicas: 0, platform: 'vsphere', ...vsphere };
  expect(clusterHasCredentials(config)).toBe(has);
});
