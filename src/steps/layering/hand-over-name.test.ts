import { describe, expect, it } from 'vitest';
import { buildIn, handOverTo, key, siteCluster } from '../../../test/layering/hand-over-run.ts';
import { buildNamed, operator, renderedConfig } from '../../../test/layering/hand-over-site.ts';
import { runStep, tryStep } from '../../../test/support/run-step.ts';
import { configMaps, machineConfigs } from '../../kube/kinds.ts';
import { handOverServed } from './hand-over.ts';

describe('the name of the build', () => {
  it('is made from the images of the ConfigMap up to 4.21', async () => {
    const old = renderedConfig();
    const annotations = { [key('release-image-version')]: '4.21.3' };
    const kube = siteCluster([
      machineConfigs,
      { ...old, metadata: { ...old.metadata, annotations } },
    ]);
    const missing = await tryStep(handOverServed, handOverTo(kube));
    expect(missing.failure).toMatchObject({ code: 'layering.images-unknown' });
    kube.put(configMaps, {
      metadata: { name: 'machine-config-osimageurl', namespace: operator },
      data: { baseOSContainerImage: 'r.example.com/base@sha256:0', releaseVersion: '4.21.3' },
    });
    await runStep(handOverServed, handOverTo(kube));
    expect(buildIn(kube)?.metadata.name).toMatch(/^master-[0-9a-f]{32}$/);
    expect(buildIn(kube)?.metadata.name).not.toBe(buildNamed);
  });
});
