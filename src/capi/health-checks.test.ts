import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import type { KubeObject } from '../ports/kube.ts';
import { healthChecksFinding } from './health-checks.ts';

const check = (checks: object, more: object = {}): KubeObject => ({
  metadata: { name: 'workers' },
  spec: { clusterName: 'demo', checks, ...more },
});
const ready = (timeoutSeconds: number) => ({
  nodeStartupTimeoutSeconds: 0,
  unhealthyNodeConditions: [{ type: 'Ready', status: 'Unknown', timeoutSeconds }],
});

describe('the MachineHealthChecks of a Cluster', () => {
  it.each<[string, object, string | undefined]>([
    ['ten minutes without a word of the node', ready(600), 'Ready=Unknown after 600 s'],
    [
      'ten minutes of a condition of the Machine',
      {
        nodeStartupTimeoutSeconds: 0,
        unhealthyMachineConditions: [{ type: 'Up', status: 'False', timeoutSeconds: 300 }],
      },
      'Up=False after 300 s',
    ],
    ['no condition and the default of core', {}, 'no node after 600 s'],
    ['a start of half an hour', { nodeStartupTimeoutSeconds: 1800 }, 'no node after 1800 s'],
    ['hours', { ...ready(7200), nodeStartupTimeoutSeconds: 7200 }, undefined],
    ['no limit for the start', { nodeStartupTimeoutSeconds: 0 }, undefined],
  ])('%s', (_, checks, why) => {
    const { status, reason, message = '' } = healthChecksFinding([check(checks)], 'demo');
    expect([status, reason]).toEqual(why === undefined ? ['True', 'Valid'] : ['False', 'TooShort']);
    if (why === undefined) return;
    expect(message).toContain(`MachineHealthCheck workers: ${why}`);
    expect(message).toContain('unhealthyLessThanOrEqualTo');
  });

  it('are those of this Cluster alone', () => {
    const other = check(ready(600), { clusterName: 'other' });
    expect(healthChecksFinding([other], 'demo').status).toBe('True');
  });

  it('of the sample replace no host', () => {
    const text = readFileSync(
      new URL('../../deploy/capi/samples/metal3.yaml', import.meta.url),
      'utf8',
    );
    const objects = parseAllDocuments(text).map((one) => one.toJS() as KubeObject);
    expect(objects.length).toBeGreaterThan(8);
    expect(objects.map(({ kind }) => kind)).not.toContain('MachineHealthCheck');
  });
});
