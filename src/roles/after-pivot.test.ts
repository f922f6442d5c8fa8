import { describe, expect, it } from 'vitest';
import { fakeClock } from '../../test/support/fake-clock.ts';
import { type FakeKube, fakeKube } from '../../test/support/fake-kube.ts';
import { fakeRandom } from '../../test/support/fake-random.ts';
import {
  alternativeNames,
  pkcs10,
  signingRequestObject,
} from '../../test/support/kubelet-request.ts';
import { noJournal } from '../adapters/journal.ts';
import { certificateSigningRequests, clusterRoles, configMaps, nodes } from '../cluster/kinds.ts';
import { Config } from '../config/schema.ts';
import type { RunEvent } from '../engine/events.ts';
import { runRole } from '../engine/run.ts';
import { clusterRoleManifest } from '../steps/after-pivot/manifests.ts';
import { recordData, recordRef } from '../steps/after-pivot/record.ts';
import { afterPivot } from './after-pivot.ts';

async function run(kube: FakeKube): Promise<readonly RunEvent[]> {
  const clock = fakeClock();
  const events: RunEvent[] = [];
  await runRole({
    role: afterPivot,
    config: Config.parse({}),
    ports: { kube, clock, random: fakeRandom() },
    clock,
    journal: noJournal,
    header: { version: '1', fingerprint: 'f', bootId: 'b' },
    run: 'test',
    sinks: [(event) => events.push(event)],
    signal: new AbortController().signal,
  });
  return events;
}

/** A cluster that the bootstrap host has left for. */
function pivoted(): FakeKube {
  const host = { node: 'm0', addresses: ['192.0.2.7'], role: 'master' };
  const record = { ...host, isEtcdOverridden: false, images: [] };
  const { kind, name, namespace = '' } = recordRef;
  return fakeKube()
    .put(kind, { metadata: { name, namespace }, data: recordData(record) })
    .put(clusterRoles, clusterRoleManifest([]).object);
}

describe('the role after-pivot', () => {
  it('reports no stage', () => {
    const steps = afterPivot.steps.flatMap((item) =>
      'lanes' in item ? Object.values(item.lanes).flat() : [item],
    );
    expect(steps.map(({ id, stage }) => [id, stage])).toEqual([
      ['after-pivot/read-record', undefined],
      ['after-pivot/approve-requests', undefined],
      ['cluster/restore-etcd', undefined],
      ['layering/bring-images', undefined],
      ['after-pivot/remove-record', undefined],
    ]);
  });

  it('approves, and takes away what was left, the permissions last', async () => {
    const pem = await pkcs10({ names: alternativeNames('m0', '192.0.2.7') });
    const conditions = [{ type: 'Ready', status: 'True' }];
    const kube = pivoted()
      .put(certificateSigningRequests, signingRequestObject('serving', pem))
      .put(nodes, { metadata: { name: 'm0' }, status: { conditions } });
    await run(kube);
    expect(kube.writes.map(({ verb, kind }) => `${verb} ${kind}`)).toEqual([
      'replace certificatesigningrequests',
      'remove configmaps',
      'remove clusterroles',
    ]);
  });

  it('waits for nobody where there is no record, and cleans up what is left', async () => {
    const kube = fakeKube().put(clusterRoles, clusterRoleManifest([]).object);
    const events = await run(kube);
    expect(events).toContainEqual(
      expect.objectContaining({ type: 'step.skipped', step: 'after-pivot/approve-requests' }),
    );
    expect([...kube.objectsOf(configMaps), ...kube.objectsOf(clusterRoles)]).toEqual([]);
  });

  it('ends at once with a record that cannot be read', async () => {
    const kube = pivoted();
    kube.put(recordRef.kind, {
      metadata: { ...kube.objectsOf(configMaps)[0]!.metadata },
      data: {},
    });
    await expect(run(kube)).rejects.toMatchObject({ code: 'after-pivot.bad-record' });
    expect(kube.writes).toEqual([]);
  });
});
