import { expect, it } from 'vitest';
import { invokerOf } from './invoker.ts';

const metadata = { name: 'openshift-install-manifests' };

it.each([
  ['without a ConfigMap', undefined, 'assisted-service'],
  ['without data', { metadata }, ''],
  ['without the key', { metadata, data: { version: 'x' } }, ''],
  ['that says it', { metadata, data: { invoker: 'agent-installer' } }, 'agent-installer'],
])('the invoker of a cluster %s', (_, configMap, invoker) => {
  expect(invokerOf(configMap)).toBe(invoker);
});
