import { expect, it } from 'vitest';
import { entitlementMounts } from './entitlement.ts';

it.each([
  ['nothing without a certificate', { '/etc/yum.repos.d': ['a.repo'], '/etc/rhsm': ['ca'] }, []],
  [
    'what is there beside a certificate',
    {
      '/etc/pki/entitlement': ['1.pem', '1-key.pem'],
      '/etc/rhsm': ['rhsm.conf'],
      '/etc/yum.repos.d': ['README'],
    },
    ['/x/etc/pki/entitlement:/etc/pki/entitlement:rw', '/x/etc/rhsm:/run/secrets/rhsm:rw'],
  ],
])('mounts %s', (_, names, volumes) => {
  const mounts = entitlementMounts(new Map(Object.entries(names)), '/x');
  expect(mounts.map(({ volume }) => volume)).toEqual(volumes);
});
