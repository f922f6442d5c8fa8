import { join } from 'node:path';
import { systemClock } from '../../adapters/clock.ts';
import { kubeCluster } from '../../adapters/kube/kube.ts';
import { systemPorts } from '../../adapters/random.ts';
import { ifPresent, readFileOf } from '../../adapters/file-access.ts';
import { controlPlaneType } from '../../capi/api.ts';
import { assetsSecret } from '../../capi/control-plane/make-assets.ts';
import {
  discarded,
  installerFailure,
  type InstallFiles,
  madeFiles,
} from '../../capi/control-plane/installer.ts';
import { installerLog } from '../../capi/control-plane/installer-jobs.ts';
import { createOnce } from '../../capi/objects.ts';
import { secrets } from '../../kube/kinds.ts';
import type { Environment } from '../../config/environment.ts';
import { commandCredentials } from '../cluster.ts';
import { withoutJournal } from '../run-context.ts';

/** Arguments of `capi assets`. */
interface AssetsCall {
  readonly folder: string;
  readonly namespace: string;
  readonly cluster: string;
  readonly controlPlane: string;
  readonly uid: string;
  readonly inputsHash: string;
  readonly mcoImage?: string;
  readonly coreosImage?: string;
  readonly environment: Environment;
}

/**
 * Stores the installer's files as a Secret. Creation of the Secret decides: another run may have
 * created it earlier. Resolves with the exit code; 2 where the installer discarded manifests, or a
 * file is missing.
 */
export async function runCapiAssets(call: AssetsCall): Promise<number> {
  const { folder, namespace, cluster, controlPlane: name, uid, inputsHash } = call;
  return withoutJournal({ level: 'info', stream: 'stderr' }, async ({ emit, signal }) => {
    const log = await readFileOf({ at: join(folder, installerLog), kind: 'settings' });
    const lost = discarded(log.toString());
    if (lost !== undefined) throw installerFailure('installer.manifests-discarded', lost);
    const object = assetsSecret(
      await filesIn(folder),
      {
        namespace,
        cluster,
        inputsHash,
        owner: { ...controlPlaneType, name, uid, controller: true },
        mcoImage: call.mcoImage,
        coreOsImage: call.coreosImage,
      },
      systemClock.now(),
    );
    const kube = kubeCluster({
      ...systemPorts,
      emit,
      credentials: await commandCredentials(call.environment, undefined),
    });
    try {
      await createOnce(kube, secrets, object, signal);
    } finally {
      await kube.close();
    }
  });
}

/** The files in the installer's folder that the Secret holds. */
async function filesIn(folder: string): Promise<InstallFiles> {
  const found = await Promise.all(
    Object.values(madeFiles).map(async (name) => {
      const content = await ifPresent(readFileOf({ at: join(folder, name), kind: 'host' }));
      return content === undefined ? [] : [[name, content] as const];
    }),
  );
  return Object.fromEntries(found.flat());
}
