import { PULL_SECRET_PATH, readFileContent } from '../../ignition/resource.ts';
import { parseConfig } from '../../ignition/parse.ts';
import { minutes, seconds } from '../../model/duration.ts';
import { AgentError } from '../../model/failure.ts';
import { hostFailure } from '../../ports/host-failures.ts';
import { proxyEnv } from '../host-commands.ts';
import { step } from '../step.ts';
import { bootstrapFailure } from './failures.ts';
import { BootstrapIgnition, mcoImageOf } from './fetch-ignition.ts';

/** Where the secret lies until it is moved to its place, which we see by commands only. */
const extractedPath = '/opt/extracted_from_ignition.json';

/** Makes the directory of the docker configuration. */
const mkdirDockerArgv = ['mkdir', '-p', '/root/.docker'] as const;

/** Moves the secret to where podman of root reads it. */
const moveSecretArgv = ['mv', extractedPath, PULL_SECRET_PATH] as const;

/** Puts the pull secret of the cluster where podman finds it: the images of the release need it. */
export const placePullSecret = step({
  id: 'bootstrap/place-pull-secret',
  title: 'Put the pull secret in its place',
  uses: ['host'],
  needs: { ignition: BootstrapIgnition },
  limit: minutes(2),
  preview: () => [mkdirDockerArgv, moveSecretArgv],
  run: async ({ host, signal, onExit }, { ignition }) => {
    const { path } = ignition;
    const text = await host.readText(path, signal);
    if (text === undefined) {
      throw hostFailure('file.not-read', `${path} is gone`, { context: { path } });
    }
    const secret = readFileContent(parseConfig(text).config, PULL_SECRET_PATH);
    // The signal of the step may be aborted by then; the host's own limits bound it.
    onExit(() => host.remove(extractedPath, new AbortController().signal), 'failure');
    await host.writeFile(extractedPath, secret, { signal, mode: 0o600 });
    await host.exec(mkdirDockerArgv, { signal, limit: seconds(20) });
    await host.exec(moveSecretArgv, { signal, limit: seconds(20) });
  },
});

/** The image may be pulled over a slow line. */
const longestRun = minutes(20);

/** Puts files and units of an Ignition onto the running system, by a container of the release. */
export const applyArgv = (mcoImage: string, ignitionPath: string): readonly string[] => [
  'podman',
  'run',
  '--net',
  'host',
  '--pid=host',
  '--volume',
  '/:/rootfs:rw',
  '--volume',
  '/usr/bin/rpm-ostree:/usr/bin/rpm-ostree',
  '--privileged',
  '--entrypoint',
  '/usr/bin/machine-config-daemon',
  mcoImage,
  'start',
  '--node-name',
  'localhost',
  '--root-mount',
  '/rootfs',
  '--once-from',
  ignitionPath,
  '--skip-reboot',
];

/**
 * Puts what bootstrap.ign describes onto the live system. It may run again after it was stopped
 * anywhere: the machine-config-daemon's `runOnceFromIgnition` writes each file by rename, then each
 * unit, and enables them; the same twice is the same (its backups of originals are kept from the
 * first time). The world does not tell whether it came to its end, since the units come last and
 * have no mark, so it runs again rather than being looked for. The container has no name: one that a
 * killed run left behind is in nobody's way, and while it still works it writes the same.
 */
export const applyIgnition = step({
  id: 'bootstrap/apply-ignition',
  title: 'Put the bootstrap onto the live system',
  uses: ['host'],
  needs: { ignition: BootstrapIgnition },
  retry: { attempts: 3, every: seconds(5) },
  limit: 3 * longestRun + minutes(1),
  preview: ({ images }, { ignition }) => [
    applyArgv(images.mco === '' ? '<images.mco>' : images.mco, ignition.path),
  ],
  run: async ({ host, config, signal }, { ignition }) => {
    const argv = applyArgv(mcoImageOf(config), ignition.path);
    try {
      await host.exec(argv, { signal, limit: longestRun, env: proxyEnv(config.proxy) });
    } catch (error) {
      if (!(error instanceof AgentError) || error.code !== 'command.failed') throw error;
      const { message, context, cause } = error;
      throw bootstrapFailure('bootstrap.not-applied', message, { context, cause });
    }
  },
});
