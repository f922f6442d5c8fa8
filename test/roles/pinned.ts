import { readFile } from 'node:fs/promises';
import type { Machine } from '../../mocks/host/machine.ts';
import { watchFile } from '../../mocks/host/watch-file.ts';
import { controllerPod } from '../../src/layering/delivery/bootstrap-files.ts';
import { pinPath } from '../../src/layering/delivery/pin.ts';
import { type Write, writeRendered } from './layered.ts';

/** A bootstrap host with its manifests. */
interface Rendering {
  readonly machine: Machine;
  readonly write: Write;
}

/**
 * The kubelet of a bootstrap host and the controller in the pod that it makes anew: when the manifest of the pod has
 * changed, all is rendered again from what lies among the manifests then.
 */
export async function renderOnceMore(
  { machine: { files }, write }: Rendering,
  signal: AbortSignal,
): Promise<void> {
  const read = async (path: string): Promise<string> => readFile(await files.real(path), 'utf8');
  let pod = await read(controllerPod);
  const look = async (): Promise<void> => {
    const found = await read(controllerPod);
    if (found === pod) return;
    pod = found;
    const images = new Map<string, string>();
    for (const pool of ['master', 'worker']) {
      const { spec } = JSON.parse(await read(pinPath(pool))) as { spec: { osImageURL: string } };
      images.set(pool, spec.osImageURL);
    }
    await writeRendered(write, (pool) => images.get(pool));
  };
  await watchFile({ files, path: controllerPod, signal }, () => {
    // The folder of a host goes with its test.
    void look().catch(() => undefined);
  });
}
