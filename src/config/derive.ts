import type { SettingKey } from './keys.ts';
import { type Given, type Layer, textIn } from './layer.ts';

/**
 * Settings that follow from others: an infra-env without a name is the cluster's, a worker has no
 * control plane to count, and a dry run has a log file of its own (rules of the agent replaced).
 */
export function derive(given: Layer): Layer {
  const derived = new Map<SettingKey, Given>();
  const clusterId = textIn(given, 'cluster.id');
  if (textIn(given, 'cluster.infraEnvId') === '' && clusterId !== '') {
    derived.set('cluster.infraEnvId', { value: clusterId, origin: 'derived from cluster.id' });
  }
  if (textIn(given, 'role') === 'worker' && given.has('cluster.controlPlaneCount')) {
    derived.set('cluster.controlPlaneCount', { value: 0, origin: 'derived from role worker' });
  }
  const dryId = textIn(given, 'dry.hostId');
  if (textIn(given, 'host.reach') === 'dry' && dryId !== '' && !given.has('log.file')) {
    derived.set('log.file', {
      value: `/var/log/assisted-installer-${dryId}.log`,
      origin: 'derived from dry.hostId',
    });
  }
  return new Map([...given, ...derived]);
}
