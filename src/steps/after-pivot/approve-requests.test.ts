import { beforeAll, describe, expect, it } from 'vitest';
import { fakeClock } from '../../../test/support/fake-clock.ts';
import { type FakeKube, fakeKube } from '../../../test/support/fake-kube.ts';
import {
  alternativeNames,
  pkcs10,
  signingRequestObject,
} from '../../../test/support/kubelet-request.ts';
import { runStep, tryStep } from '../../../test/support/run-step.ts';
import { certificateSigningRequests as requests, nodes } from '../../cluster/kinds.ts';
import { approved, readSigningRequest } from '../../cluster/csr/signing-request.ts';
import { hours, minutes } from '../../model/duration.ts';
import { kubeFailure } from '../../ports/kube-failures.ts';
import type { Kube, KubeObject } from '../../ports/kube.ts';
import { approveOwnRequests } from './approve-requests.ts';
import { type PivotRecord, recordData, recordRef } from './record.ts';

const record: PivotRecord = {
  node: 'm0',
  addresses: ['192.0.2.7'],
  role: 'master',
  isEtcdOverridden: false,
  images: [],
};
const facts = { record };

let client: KubeObject;
let otherKey: KubeObject;
let serving: KubeObject;
let forged: KubeObject;
let foreign: KubeObject;
beforeAll(async () => {
  client = signingRequestObject('client', await pkcs10());
  otherKey = signingRequestObject('client', await pkcs10(), { name: 'csr-other-key' });
  const names = alternativeNames('m0', '192.0.2.7');
  serving = signingRequestObject('serving', await pkcs10({ names }));
  const wide = alternativeNames('m0', '192.0.2.7', '192.0.2.1');
  forged = signingRequestObject('serving', await pkcs10({ names: wide }), { name: 'csr-forged' });
  const subject = 'O=system:nodes, CN=system:node:m1';
  foreign = signingRequestObject('client', await pkcs10({ subject }), { name: 'csr-foreign' });
});

const node = (isReady: boolean): KubeObject => ({
  metadata: { name: 'm0' },
  status: { conditions: [{ type: 'Ready', status: isReady ? 'True' : 'False' }] },
});

/** A cluster with the record, in which things happen each minute. */
function cluster(...happens: readonly ((kube: FakeKube) => void)[]) {
  const clock = fakeClock();
  const kube = fakeKube();
  const { namespace = '', name } = recordRef;
  kube.put(recordRef.kind, { metadata: { name, namespace }, data: recordData(record) });
  const ahead = async (): Promise<void> => {
    for (const happen of happens) {
      await clock.sleep(minutes(1), new AbortController().signal);
      happen(kube);
    }
  };
  void ahead();
  return { clock, kube };
}

const stateOf = (kube: FakeKube, { metadata }: KubeObject): string | undefined => {
  const object = kube.objectsOf(requests).find((one) => one.metadata.name === metadata.name);
  return object && readSigningRequest(object)?.state;
};

const statuses = (events: readonly object[]): readonly string[] =>
  events.flatMap((event) => ('status' in event ? [String(event.status)] : []));

describe('after-pivot/approve-requests', () => {
  it('approves both requests of the own node and ends when it is Ready', async () => {
    const run = cluster(
      (kube) => kube.put(requests, client),
      (kube) => kube.put(nodes, node(false)),
      (kube) => kube.put(requests, serving),
      (kube) => kube.put(nodes, node(true)),
    );
    const { events } = await runStep(approveOwnRequests, { ...run, facts });
    expect(run.clock.now()).toBe(minutes(4));
    expect([stateOf(run.kube, client), stateOf(run.kube, serving)]).toEqual([
      'approved',
      'approved',
    ]);
    expect(statuses(events)).toEqual([
      'm0 has not joined and has not asked for a client certificate',
      'm0 has not joined and has a client certificate',
      'm0 has joined and is not Ready: no reason given',
    ]);
  });

  it('writes to the subresource, after the key is in the record', async () => {
    const run = cluster((kube) => kube.put(requests, client).put(nodes, node(true)));
    run.kube.put(requests, client);
    await runStep(approveOwnRequests, { ...run, facts });
    expect(run.kube.writes.slice(0, 2)).toMatchObject([
      {
        verb: 'patch',
        kind: 'configmaps',
        body: { data: { clientKey: expect.any(String) as string } },
      },
      { verb: 'replace', kind: 'certificatesigningrequests', subresource: 'approval' },
    ]);
  });

  it('leaves every other request alone, and says why once', async () => {
    const run = cluster(
      (kube) => kube.put(requests, foreign).put(requests, forged),
      (kube) => kube.put(requests, client),
      (kube) => kube.put(requests, otherKey),
      (kube) => kube.put(nodes, node(true)).put(requests, serving),
    );
    const { notes } = await runStep(approveOwnRequests, { ...run, facts });
    const states = [foreign, forged, otherKey, client, serving].map((one) =>
      stateOf(run.kube, one),
    );
    expect(states).toEqual(['pending', 'pending', 'pending', 'approved', 'approved']);
    expect(notes.filter((line) => line.startsWith('warn'))).toEqual([
      expect.stringContaining('csr-forged') as string,
      expect.stringContaining('csr-other-key') as string,
    ]);
  });

  it('approves no client request once the node is there', async () => {
    const run = cluster();
    run.kube.put(nodes, node(true)).put(requests, client);
    await runStep(approveOwnRequests, { ...run, facts });
    expect(stateOf(run.kube, client)).toBe('pending');
    expect(run.clock.now()).toBe(minutes(10));
  });

  it('goes by the key of the record that an earlier run wrote', async () => {
    const run = cluster((kube) => kube.put(nodes, node(true)));
    run.kube.put(requests, client);
    const known = { record: { ...record, clientKey: '00' } };
    await runStep(approveOwnRequests, { ...run, facts: known });
    expect(run.kube.writes).toEqual([]);
  });

  it('takes what another has approved for approved', async () => {
    const run = cluster();
    run.kube
      .put(nodes, node(true))
      .put(requests, approved(serving, { reason: 'x', message: '', at: 0 }));
    await runStep(approveOwnRequests, { ...run, facts });
    expect(run.clock.now()).toBe(0);
    expect(run.kube.writes).toEqual([]);
  });

  it('leaves a denied request denied', async () => {
    const run = cluster();
    const conditions = [{ type: 'Denied', status: 'True' }];
    run.kube.put(nodes, node(true)).put(requests, { ...serving, status: { conditions } });
    await runStep(approveOwnRequests, { ...run, facts });
    expect(run.kube.writes).toEqual([]);
  });

  it('reads a request anew when another writes it at the same time', async () => {
    const run = cluster();
    run.kube.put(nodes, node(true)).put(requests, serving);
    let conflicts = 2;
    const kube: Kube = {
      ...run.kube,
      replace: (ref, object, options) => {
        if (conflicts > 0) {
          conflicts -= 1;
          run.kube.put(requests, serving);
        }
        return run.kube.replace(ref, object, options);
      },
    };
    await runStep(approveOwnRequests, { ...run, kube, facts });
    expect(stateOf(run.kube, serving)).toBe('approved');
    expect(conflicts).toBe(0);
  });

  it('tries again later what could not be approved', async () => {
    const run = cluster();
    run.kube.put(nodes, node(true)).put(requests, serving);
    let failures = 1;
    const kube: Kube = {
      ...run.kube,
      replace: async (ref, object, options) => {
        failures -= 1;
        if (failures >= 0) throw kubeFailure('kube.unreachable', 'down');
        return run.kube.replace(ref, object, options);
      },
    };
    const { events } = await runStep(approveOwnRequests, { ...run, kube, facts });
    expect(statuses(events)).toContainEqual(expect.stringContaining('(kube.unreachable)'));
    expect(stateOf(run.kube, serving)).toBe('approved');
  });

  it('fails at once when it may not approve', async () => {
    const run = cluster();
    run.kube.put(requests, client);
    const kube: Kube = {
      ...run.kube,
      replace: () => Promise.reject(kubeFailure('kube.denied', 'no')),
    };
    const { failure } = await tryStep(approveOwnRequests, { ...run, kube, facts });
    expect(failure).toMatchObject({ code: 'kube.denied' });
  });

  it('waits for a request that nobody approves, and names it when it gives up', async () => {
    const run = cluster();
    run.kube.put(nodes, node(true)).put(requests, forged);
    const { failure } = await tryStep(approveOwnRequests, { ...run, facts });
    expect(run.clock.now()).toBeGreaterThanOrEqual(hours(24));
    expect(failure).toMatchObject({
      code: 'wait.timed-out',
      context: { status: expect.stringContaining('request csr-forged') as string },
    });
  });

  it('has nothing to do without a record', async () => {
    const { events } = await runStep(approveOwnRequests, { facts: { record: null } });
    expect(events).toMatchObject([{ type: 'step.skipped' }]);
  });
});
