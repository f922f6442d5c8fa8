import { describe, expect, it } from 'vitest';
import { handOverTo, key, siteCluster } from '../../../test/layering/hand-over-run.ts';
import { buildNamed, final, operator, rendered } from '../../../test/layering/hand-over-site.ts';
import { osConfigObject } from '../../../test/layering/samples.ts';
import { rest } from '../../../test/support/fake-host.ts';
import { type FakeKube } from '../../../test/support/fake-kube.ts';
import { runStep, tryStep } from '../../../test/support/run-step.ts';
import { machineOSBuilds, machineOSConfigs, secrets } from '../../kube/kinds.ts';
import { layeringFailure } from '../../layering/failures.ts';
import { kubeFailure } from '../../ports/kube-failures.ts';
import type { Kube } from '../../ports/kube.ts';
import { handOverServed } from './hand-over.ts';

const writesOf = (kube: FakeKube): readonly string[] =>
  kube.writes.map(({ verb, kind, subresource }) =>
    [verb, kind, ...(subresource === undefined ? [] : [subresource])].join(' '),
  );

describe('layering/hand-over', () => {
  it('writes in the order in which no controller takes offence', async () => {
    const kube = siteCluster();
    const { notes } = await runStep(handOverServed, handOverTo(kube));
    expect(writesOf(kube)).toEqual([
      'patch machineconfigpools',
      'create secrets',
      'create machineosbuilds',
      'patch machineosbuilds status',
      'create machineosconfigs',
      'patch machineosconfigs status',
      'patch machineosbuilds',
      'patch machineconfigpools',
    ]);
    expect(notes).toEqual(['info: the OS image of pool master is handed over']);
  });

  it('writes the labels with the request that makes the build, under the name that the builder would take', async () => {
    const kube = siteCluster();
    await runStep(handOverServed, handOverTo(kube));
    const made = kube.writes.find(({ kind }) => kind === 'machineosbuilds');
    expect(made).toMatchObject({
      verb: 'create',
      name: buildNamed,
      body: {
        metadata: {
          labels: {
            [key('target-machine-config-pool')]: 'master',
            [key('rendered-machine-config')]: rendered,
            [key('machine-os-config')]: 'master',
            [key('pre-built-image')]: 'true',
          },
          annotations: { [key('rendered-image-push-secret')]: 'ocl-push' },
        },
      },
    });
  });

  it('hands the spec of the user over word for word, with build and image', async () => {
    const kube = siteCluster();
    await runStep(handOverServed, handOverTo(kube));
    expect(kube.objectsOf(machineOSConfigs)[0]).toMatchObject({
      metadata: { annotations: { [key('current-machine-os-build')]: buildNamed } },
      spec: osConfigObject()['spec'],
      status: { currentImagePullSpec: final, machineOSBuild: { name: buildNamed } },
    });
    expect(kube.objectsOf(secrets)[0]).toMatchObject({
      metadata: { name: 'ocl-push', namespace: operator },
      type: 'kubernetes.io/dockerconfigjson',
    });
  });

  it('tags the image by the name of the build before it writes the objects', async () => {
    const kube = siteCluster();
    const run = handOverTo(kube);
    const written: number[] = [];
    run.host.on(['skopeo', 'copy', rest]).answers(() => {
      written.push(kube.objectsOf(machineOSBuilds).length);
      return {};
    });
    await runStep(handOverServed, run);
    expect(written).toEqual([0]);
    const copy = run.host.ran.find(([, verb]) => verb === 'copy');
    expect(copy?.slice(-2)).toEqual([
      `docker://${final}`,
      `docker://registry.rig.test/ocl/master:${buildNamed}`,
    ]);
  });

  it.each([
    ['is refused', () => ({ exitCode: 1, stderr: 'unauthorized' })],
    ['never comes', () => new Promise<never>(() => undefined)],
  ])('does not fail an installation for a tag that %s', async (_, answer) => {
    const kube = siteCluster();
    const run = handOverTo(kube);
    run.host.on(['skopeo', 'copy', rest]).answers(answer);
    const { notes } = await runStep(handOverServed, run);
    expect(kube.objectsOf(machineOSConfigs)).toHaveLength(1);
    expect(notes).toContainEqual(
      `warn: the OS image of pool master has no tag ${buildNamed} in its registry: add it by hand`,
    );
  });
});

describe('a cluster that does not keep what is written', () => {
  it.each(['machineosbuilds', 'machineosconfigs'])('is told by its %s', async (plural) => {
    const kube = siteCluster();
    const deaf: Kube = {
      ...kube,
      patch: (ref, patch, signal) =>
        ref.kind.plural === plural && patch.subresource === 'status'
          ? Promise.resolve({ metadata: { name: ref.name } })
          : kube.patch(ref, patch, signal),
    };
    const { failure } = await tryStep(handOverServed, handOverTo(deaf));
    expect(failure).toMatchObject({ code: 'layering.not-kept' });
  });

  it.each([
    kubeFailure('kube.invalid', 'spec.x: unknown'),
    layeringFailure('layering.manifest-unusable', 'no Secret'),
    layeringFailure('layering.digest-changed', 'another'),
  ])('is asked once for what it refuses for good: $code', async (refusal) => {
    const kube = siteCluster();
    const refusing: Kube = { ...kube, create: () => Promise.reject(refusal) };
    const { failure, events } = await tryStep(handOverServed, handOverTo(refusing));
    expect(failure).toMatchObject({ code: refusal.code, message: refusal.message });
    expect(events.map(({ type }) => type)).not.toContain('step.retrying');
  });

  it('is asked again while it is away', async () => {
    const kube = siteCluster();
    let attempts = 0;
    const shaky: Kube = {
      ...kube,
      create: (into, object, signal) => {
        attempts += 1;
        return attempts === 2
          ? Promise.reject(kubeFailure('kube.unreachable', 'refused'))
          : kube.create(into, object, signal);
      },
    };
    await runStep(handOverServed, handOverTo(shaky));
    expect(kube.objectsOf(machineOSConfigs)).toHaveLength(1);
  });
});
