import { readServedConfig, servedFault } from '../../layering/served-config.ts';
import { minutes } from '../../model/duration.ts';
import { HostIgnition } from '../ignition/fetch-host.ts';
import { readRendered } from '../image/final-os.ts';
import { step } from '../step.ts';
import { buildsOsImages } from './conditions.ts';
import { OsImageOrder, PublishedImages } from './facts.ts';
import { handOverFailure } from './hand-over-failures.ts';
import { mastersImage, whyNotServed } from './control-plane-images.ts';

/**
 * Looks at what this host itself will be served at its first boot. By now the cluster serves it, whose rendered
 * MachineConfig names the system of the release: the built image is put in only once the cluster counts a master as
 * updated. A host that is served the other one boots into it, and has to be led back with one reboot more.
 */
export const checkServedConfig = step({
  id: 'layering/check-served-config',
  title: 'Check that this host is served the built image',
  uses: ['host', 'web'],
  needs: { order: OsImageOrder, published: PublishedImages, ignition: HostIgnition },
  when: buildsOsImages,
  skipIf: ({ order, published }) => whyNotServed(order, published),
  limit: minutes(30),
  waitsFor: 'the built image in what the machine-config-server serves, at most 20 minutes',
  run: async (scope, { published, ignition }) => {
    const image = mastersImage(published)?.final;
    // This host becomes a master, whatever the other pools are.
    if (image === undefined) return;
    const read = (text: Uint8Array): void => {
      const fault = servedFault(readServedConfig(text), image);
      if (fault !== undefined) throw handOverFailure('layering.other-image-served', fault);
    };
    await readRendered(scope, ignition.path, { read });
  },
});
