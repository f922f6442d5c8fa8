import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { bundlePath } from '../../../scripts/bundle.ts';
import { openContainerStore } from '../../support/container-store.ts';
import { machineConfig } from './ignition.ts';

const execute = promisify(execFile);

/** `bootwright layer build` for the masters. */
interface LayerCommands {
  /**
   * Builds for a MachineOSConfig of that name, which its layer has too, pushes to a repository of
   * that name, and gives the pull spec.
   */
  readonly push: (name: string) => Promise<string>;
}

/** The registry and the system of the release. */
export interface LayerPlace {
  /** HOST:PORT of a registry without TLS. */
  readonly address: string;
  /** The system of the release, by its digest. */
  readonly osImageURL: string;
}

/** The build and its listener. */
interface LayerUser {
  /** A MachineOSConfig whose image goes to a repository; that of the tests unless given. */
  readonly osConfig?: (repository: string, name: string) => string;
  /** Gets each line that a command prints while it runs. */
  readonly print?: (line: string) => void;
  /** Ends a command early. */
  readonly signal?: AbortSignal;
}

/**
 * Prepares the files of a user who builds; all of them and the images lie in a folder of the test.
 */
export function layerCommands(
  folder: string,
  { address, osImageURL }: LayerPlace,
  { osConfig = testConfig, print = () => undefined, signal }: LayerUser = {},
): LayerCommands {
  const at = (name: string): string => join(folder, name);
  writeFileSync(at('rendered.json'), JSON.stringify(renderedConfig(osImageURL)));
  writeFileSync(at('auth.json'), '{"auths":{}}');
  mkdirSync(at('.config/containers'), { recursive: true });
  const settings = `[[registry]]\nlocation = "${address}"\ninsecure = true\n`;
  writeFileSync(at('.config/containers/registries.conf'), settings);
  const env = { ...process.env, ...openContainerStore().environment, HOME: folder };
  return {
    push: async (name) => {
      const file = at(`${name}.yaml`);
      writeFileSync(file, osConfig(`${address}/ocl/${name}`, name));
      const words = ['--os-config', file, '--rendered-config', at('rendered.json')];
      const auth = ['--authfile', at('auth.json'), '--push-authfile', at('auth.json')];
      const argv = [bundlePath, 'layer', 'build', ...words, ...auth, '--storage', at('storage')];
      const running = execute(process.execPath, argv, { env, ...(signal && { signal }) });
      const { stderr } = running.child;
      if (stderr !== null) createInterface({ input: stderr }).on('line', print);
      return /^pull spec\s+(\S+)$/m.exec((await running).stdout)?.[1] ?? '';
    },
  };
}

const testConfig = (repository: string, name: string): string =>
  readFileSync(new URL('os-config.yaml', import.meta.url), 'utf8')
    .replaceAll('REPOSITORY', repository)
    .replaceAll('LAYER', name);

const renderedConfig = (osImageURL: string): object => ({
  apiVersion: 'machineconfiguration.openshift.io/v1',
  kind: 'MachineConfig',
  metadata: { name: `rendered-master-${'1'.repeat(32)}` },
  spec: { osImageURL, config: machineConfig() },
});
