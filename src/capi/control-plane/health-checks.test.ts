import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import type { KubeObject } from '../../ports/kube.ts';
import { healthChecksFinding } from './status.ts';

const check = (checks: object, more: object = {}): KubeObject => ({
  metadata: { name: 'workers' },
  spec: { clusterName: 'demo', checks, ...more },
});
const ready = (timeoutSeconds: number) => ({
  nodeStartupTimeoutSeconds: 0,
  unhealthyNodeConditions: [{ type: 'Ready', status: 'Unknown', timeoutSeconds }],
});

describe('the MachineHealthChecks of a Cluster', () => {
  it.each([
    ['refuse ten minutes of an Unknown node', ready(600), 'Ready=Unknown after 600 s'],
    [
      'refuse five minutes of a Machine condition',
      {
        nodeStartupTimeoutSeconds: 0,
        unhealthyMachineConditions: [{ type: 'Up', status: 'False', timeoutSeconds: 300 }],
      },
      'Up=False after 300 s',
    ],
    ['refuse the default node startup timeout of core', {}, 'no node after 600 s'],
    [
      'refuse a node startup timeout of half an hour',
      { nodeStartupTimeoutSeconds: 1800 },
      'no node after 1800 s',
    ],
    [
      'accept timeouts of two hours',
      { ...ready(7200), nodeStartupTimeoutSeconds: 7200 },
      undefined,
    ],
    ['accept a disabled node startup timeout', { nodeStartupTimeoutSeconds: 0 }, undefined],
  ])('%s', (_, checks, why) => {
    const { status, reason, message = '' } = healthChecksFinding([check(checks)], 'demo');
    expect([status, reason]).toEqual(why === undefined ? ['True', 'Valid'] : ['False', 'TooShort']);
    if (why === undefined) return;
    expect(message).toContain(`MachineHealthCheck workers: ${why}`);
    expect(message).toContain('unhealthyLessThanOrEqualTo');
  });

  it('ignore those of another Cluster', () => {
    const other = check(ready(600), { clusterName: 'other' });
    expect(healthChecksFinding([other], 'demo').status).toBe('True');
  });

  it('are not part of the sample', () => {
    const text = readFileSync(
      new URL('../../../deploy/capi/samples/metal3.yaml', import.meta.url),
      'utf8',
    );
    const objects = parseAllDocuments(text).map((one) => one.toJS() as KubeObject);
    expect(objects.length).toBeGreaterThan(8);
    expect(objects.map(({ kind }) => kind)).not.toContain('MachineHealthCheck');
  });
});
