import { join } from 'node:path';
import { systemClock, systemPorts } from '../../adapters/clock.ts';
import { kubeCluster } from '../../adapters/kube/kube.ts';
import { ifPresent, readFileOf } from '../../adapters/file-access.ts';
import {
  type AssetsOwner,
  assetsSecret,
  discardedLine,
  installerFailure,
  madeFiles,
} from '../../capi/control-plane/installer.ts';
import { installerLog } from '../../capi/control-plane/installer-jobs.ts';
import { createOnce } from '../../capi/objects.ts';
import { secrets } from '../../kube/kinds.ts';
import type { Environment } from '../../config/environment.ts';
import { commandCredentials } from '../cluster.ts';
import { withoutJournal } from '../run-context.ts';

/** Arguments of `capi assets`. */
interface AssetsCall extends AssetsOwner {
  readonly folder: string;
  readonly environment: Environment;
}

/**
 * Stores the installer's files as a Secret. Creation of the Secret decides: another run may have
 * created it earlier. Resolves with the exit code; 2 where the installer discarded manifests, or a
 * file is missing.
 */
export async function runCapiAssets(call: AssetsCall): Promise<number> {
  const { folder, environment } = call;
  return withoutJournal({ level: 'info', stream: 'stderr' }, async ({ emit, signal }) => {
    const log = await readFileOf({ at: join(folder, installerLog), kind: 'settings' });
    const lost = discardedLine(log.toString());
    if (lost !== undefined) throw installerFailure('installer.manifests-discarded', lost);
    const object = assetsSecret(await filesIn(folder), call, systemClock.now());
    const kube = kubeCluster({
      ...systemPorts,
      emit,
      credentials: await commandCredentials(environment, undefined),
    });
    try {
      await createOnce(kube, secrets, object, signal);
    } finally {
      await kube.close();
    }
  });
}

/** The files in the installer's folder that the Secret holds. */
async function filesIn(folder: string): Promise<Readonly<Record<string, Uint8Array>>> {
  const found = await Promise.all(
    Object.values(madeFiles).map(async (name) => {
      const content = await ifPresent(readFileOf({ at: join(folder, name), kind: 'host' }));
      return content === undefined ? [] : [[name, content] as const];
    }),
  );
  return Object.fromEntries(found.flat());
}
