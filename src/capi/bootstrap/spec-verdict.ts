import { isLabelKey, isLabelValue } from '../../layering/api/schema.ts';
import { givenHints } from '../../lib/disk-hints.ts';
import type { BootstrapConfigSpec } from '../api.ts';

/** Whether the spec of a config names all that its host needs; what is wrong with it otherwise. */
export function specVerdict({
  writeMode,
  installDevice,
  rootDeviceHints,
  nodeRegistration: { labels = {} } = {},
}: BootstrapConfigSpec) {
  // The kubelet would not start with them, once the disk is written. What is resolved on the host
  // is taken for a letter.
  const wrong = Object.entries(labels).filter(
    ([key, value]) =>
      !isLabelKey(key) || !isLabelValue(value.replaceAll(/\$METADATA_(?:UUID|NAME)/g, 'a')),
  );
  if (wrong.length > 0) {
    const message = `nodeRegistration.labels: not as labels are: ${wrong.map(([key]) => key).join(', ')}`;
    return { reason: 'NodeLabelsInvalid', message };
  }
  const hasHints = givenHints(rootDeviceHints ?? {}).length > 0;
  if (writeMode === 'ExistingRoot' || hasHints !== ((installDevice ?? '') !== '')) return undefined;
  const message = 'set one of installDevice and rootDeviceHints, or writeMode: ExistingRoot';
  return { reason: hasHints ? 'InstallDeviceAmbiguous' : 'InstallDeviceMissing', message };
}
