import { PULL_SECRET_PATH, readFileContent } from '../../ignition/file.ts';
import { parseConfig } from '../../ignition/parse.ts';
import { minutes, seconds } from '../../model/duration.ts';
import { hostFailure } from '../../ports/host-failures.ts';
import { step } from '../step.ts';
import { BootstrapIgnition } from './facts.ts';

/** Where the secret lies until it is moved to its place, which we see by commands only. */
const extractedPath = '/opt/extracted_from_ignition.json';

/** Makes the directory of the docker configuration. */
export const mkdirDockerArgv = ['mkdir', '-p', '/root/.docker'] as const;

/** Moves the secret to where podman of root reads it. */
export const moveSecretArgv = ['mv', extractedPath, PULL_SECRET_PATH] as const;

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
