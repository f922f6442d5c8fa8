import { describe, expect, it } from 'vitest';
import { fakeClock, settle } from '../../../test/support/fake-clock.ts';
import { fakeKube } from '../../../test/support/fake-kube.ts';
import { runPools } from '../../../test/support/run-pools.ts';
import { machineConfigPools, nodes, pods } from '../../kube/kinds.ts';
import { annotationOf } from '../../kube/object.ts';
import { nodeKeys } from '../../layering/api/node-keys.ts';
import { isCordoned } from '../../layering/roll-out/node-state.ts';
import { seconds } from '../../model/duration.ts';
import type { Kube, KubeObject } from '../../ports/kube.ts';

const role = 'node-role.kubernetes.io/master';
const select = { matchLabels: { [role]: '' } };
const names = ['m0', 'm1', 'm2'];

/** Three masters with a pod each, whose pool has another configuration. */
function changedPool() {
  const kube = fakeKube();
  kube.put(machineConfigPools, {
    metadata: { name: 'master' },
    spec: { nodeSelector: select, configuration: { name: 'r2' } },
  });
  for (const name of names) {
    kube.put(nodes, {
      metadata: {
        name,
        labels: { [role]: '' },
        annotations: {
          [nodeKeys.currentConfig]: 'r1',
          [nodeKeys.desiredConfig]: 'r1',
          [nodeKeys.state]: 'Done',
        },
      },
      status: { conditions: [{ type: 'Ready', status: 'True' }] },
    });
    kube.put(pods, {
      metadata: { name: `on-${name}`, namespace: 'shop' },
      spec: { nodeName: name },
    });
  }
  return kube;
}

/** Simulates agents and kubelets, and checks invariants of the nodes meanwhile. */
function cluster() {
  const kube = changedPool();
  const seen = { reboots: [] as string[], most: 0, rebootedWithPods: [] as string[] };
  const annotate = (node: KubeObject, change: Readonly<Record<string, string>>): void => {
    const annotations = { ...node.metadata.annotations, ...change };
    kube.put(nodes, { ...node, metadata: { ...node.metadata, annotations } });
  };
  const podsOn = (name: string): readonly KubeObject[] =>
    kube.objectsOf(pods).filter((pod) => pod.metadata.name === `on-${name}`);
  const actOn = (node: KubeObject): void => {
    const at = (key: keyof typeof nodeKeys): string => annotationOf(node, nodeKeys[key]);
    const config = at('desiredConfig');
    const isAnswered = at('desiredDrain') === at('lastAppliedDrain');
    if (at('currentConfig') !== config && !at('desiredDrain').endsWith(config)) {
      annotate(node, { [nodeKeys.state]: 'Working', [nodeKeys.desiredDrain]: `drain-${config}` });
    } else if (at('desiredDrain') === `drain-${config}` && isAnswered) {
      const { name } = node.metadata;
      seen.reboots.push(name);
      if (podsOn(name).length > 0) seen.rebootedWithPods.push(name);
      annotate(node, {
        [nodeKeys.currentConfig]: config,
        [nodeKeys.desiredDrain]: `uncordon-${config}`,
      });
    } else if (at('desiredDrain') === `uncordon-${config}` && isAnswered) {
      annotate(node, { [nodeKeys.state]: 'Done' });
    }
  };
  const tick = (): void => {
    for (const { verb, name = '', namespace = '' } of kube.writes) {
      if (verb === 'evict') kube.drop({ kind: pods, namespace, name });
    }
    const all = kube.objectsOf(nodes);
    const busy = all.filter(
      (node) => isCordoned(node) || annotationOf(node, nodeKeys.state) !== 'Done',
    );
    seen.most = Math.max(seen.most, busy.length);
    for (const node of all) actOn(node);
  };
  return { kube, seen, tick };
}

/** Runs controllers; the first one crashes right after one of its effects, by number. */
async function runToEnd(dies?: number) {
  const { kube, seen, tick } = cluster();
  const clock = fakeClock({ auto: false });
  const run = (port: Kube, signal: AbortSignal) =>
    runPools(undefined, {
      kube: port,
      clock,
      signal,
      namespace: 'openshift-machine-config-operator',
    });
  const isOver = (): boolean =>
    kube
      .objectsOf(nodes)
      .every(
        (node) =>
          annotationOf(node, nodeKeys.currentConfig) === 'r2' &&
          annotationOf(node, nodeKeys.state) === 'Done' &&
          !isCordoned(node),
      );
  /** Advances the time until a run is over, or for two minutes. */
  const advance = async (until: () => boolean): Promise<void> => {
    for (let pass = 0; pass < 60 && !until(); pass += 1) {
      await clock.advance(seconds(2));
      await settle(6);
      tick();
    }
  };
  const stop = new AbortController();
  const killed = new AbortController();
  const effects: string[] = [];
  const after = async <T>(name: string, effect: Promise<T>): Promise<T> => {
    const answer = await effect;
    effects.push(name);
    if (effects.length === dies) killed.abort(new Error('killed'));
    killed.signal.throwIfAborted();
    return answer;
  };
  const dying: Kube = {
    ...kube,
    patch: (ref, ...given) => after(`patch ${ref.name}`, kube.patch(ref, ...given)),
    create: (...given) => after('create', kube.create(...given)),
    evict: (...given) => after('evict', kube.evict(...given)),
  };
  const first = run(dying, AbortSignal.any([killed.signal, stop.signal]));
  await advance(() => killed.signal.aborted || isOver());
  if (dies !== undefined) {
    await first;
    const second = run(kube, stop.signal);
    await advance(isOver);
    stop.abort(new Error('stop'));
    await second;
  }
  stop.abort(new Error('stop'));
  await first;
  return {
    effects,
    end: {
      ...seen,
      evicted: kube.writes.flatMap(({ verb, name = '' }) => (verb === 'evict' ? [name] : [])),
      nodes: kube
        .objectsOf(nodes)
        .map((node) => [
          annotationOf(node, nodeKeys.currentConfig) === 'r2',
          annotationOf(node, nodeKeys.state),
          isCordoned(node),
        ]),
    },
  };
}

describe('a pool controller that is killed', () => {
  it('after any of its writes is continued by the next one, one master at a time', async () => {
    const whole = await runToEnd();
    expect(whole.end).toEqual({
      reboots: names,
      most: 1,
      rebootedWithPods: [],
      evicted: names.map((name) => `on-${name}`),
      nodes: names.map(() => [true, 'Done', false]),
    });
    expect(whole.effects.length).toBeGreaterThan(12);
    for (let dies = 1; dies <= whole.effects.length; dies += 1) {
      const { end } = await runToEnd(dies);
      expect(end, `died after ${whole.effects[dies - 1]} (${dies})`).toEqual(whole.end);
    }
  });
});
