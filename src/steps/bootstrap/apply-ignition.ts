import { imageForArgv } from '../../cluster/release.ts';
import { PULL_SECRET_PATH, readFileContent } from '../../ignition/resource.ts';
import { parseConfig } from '../../ignition/parse.ts';
import { minutes, seconds } from '../../model/duration.ts';
import { AgentError } from '../../model/failure.ts';
import { hostFailure } from '../../ports/host-failures.ts';
import { callsOf, type HostScope, step } from '../step.ts';
import { bootstrapFailure } from './failures.ts';
import { BootstrapIgnition } from './fetch-ignition.ts';
import { readTextOr } from '../host-commands.ts';

/**
 * Path of the pull secret in the Ignition until a command moves it: the container does not share
 * /root.
 */
const extractedPath = '/opt/extracted_from_ignition.json';

const mkdirDockerArgv = ['mkdir', '-p', '/root/.docker'] as const;

const moveSecretArgv = ['mv', extractedPath, PULL_SECRET_PATH] as const;

/** Installs the pull secret of the cluster for podman, which pulls the images of the release. */
export const placePullSecret = step({
  id: 'bootstrap/place-pull-secret',
  title: 'Install the pull secret for podman',
  uses: ['host'],
  needs: { ignition: BootstrapIgnition },
  limit: minutes(5),
  preview: () => [mkdirDockerArgv, moveSecretArgv],
  run: async ({ host, signal, onExit }, { ignition }) => {
    const { path } = ignition;
    const text = await readTextOr({ host, signal }, path, () =>
      hostFailure('file.not-read', `${path} is missing`, { context: { path } }),
    );
    const secret = readFileContent(parseConfig(text), PULL_SECRET_PATH);
    // The signal of the step may be aborted by then; the limits of the host port bound the removal.
    onExit(() => host.remove(extractedPath, new AbortController().signal), 'failure');
    await host.writeFile(extractedPath, secret, { signal, mode: 0o600 });
    await host.exec(mkdirDockerArgv, { signal, limit: minutes(2) });
    await host.exec(moveSecretArgv, { signal, limit: minutes(2) });
  },
});

/** A pull of the image over a slow network takes this long. */
const longestRun = minutes(20);

/**
 * Applies the files and units of an Ignition config to the running system, in a container of a
 * release image.
 */
const applyArgv = (mcoImage: string, ignitionPath: string): readonly string[] => [
  ...['podman', 'run', '--net', 'host', '--pid=host', '--volume', '/:/rootfs:rw'],
  ...['--volume', '/usr/bin/rpm-ostree:/usr/bin/rpm-ostree', '--privileged'],
  ...['--entrypoint', '/usr/bin/machine-config-daemon', mcoImage],
  ...['start', '--node-name', 'localhost', '--root-mount', '/rootfs'],
  ...['--once-from', ignitionPath, '--skip-reboot'],
];

/** Name of the image in a release. */
const operator = 'machine-config-operator';

/**
 * Asks the release for its machine-config-operator, as bootkube.sh does.
 * @throws AgentError `bootstrap.no-mco-image`, `command.*`
 */
async function operatorImage({ host, signal }: HostScope, release: string): Promise<string> {
  const argv = imageForArgv(release, operator, PULL_SECRET_PATH);
  const { stdout } = await host.exec(argv, { signal, limit: longestRun });
  const image = stdout.trim();
  if (/^[^\s@-][^\s@]*@sha256:[0-9a-f]{64}$/.test(image)) return image;
  throw bootstrapFailure('bootstrap.no-mco-image', `${release} names no ${operator} by digest`);
}

/**
 * Applies bootstrap.ign to the live system. It is safe to repeat: the machine-config-daemon's
 * `runOnceFromIgnition` writes each file by rename, then each unit, and enables the units. The
 * daemon keeps its backups of the original files from the first run. Nothing on the host shows that
 * an earlier run completed, so this step always runs again. The container has no name, so it does
 * not conflict with the container of a killed run.
 */
export const applyIgnition = step({
  id: 'bootstrap/apply-ignition',
  title: 'Apply the bootstrap Ignition',
  uses: ['host'],
  needs: { ignition: BootstrapIgnition },
  retry: { attempts: 3, every: seconds(5) },
  limit: 6 * longestRun + minutes(1),
  preview: ({ images: { mco } }, { ignition }) => [
    ...(mco === '' ? [imageForArgv('RELEASE_IMAGE', operator, PULL_SECRET_PATH)] : []),
    applyArgv(mco || 'IMAGE', ignition.path),
    ...callsOf('podman'),
  ],
  run: async (scope, { ignition }) => {
    const { host, config, signal } = scope;
    const { mco } = config.images;
    try {
      const image = mco === '' ? await operatorImage(scope, ignition.releaseImage ?? '') : mco;
      await host.exec(applyArgv(image, ignition.path), { signal, limit: longestRun });
    } catch (error) {
      if (!(error instanceof AgentError) || error.code !== 'command.failed') throw error;
      const { message, context, cause } = error;
      throw bootstrapFailure('bootstrap.not-applied', message, { context, cause });
    }
  },
});
