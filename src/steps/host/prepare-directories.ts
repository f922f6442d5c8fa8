import { seconds } from '../../model/duration.ts';
import { step } from '../step.ts';

/** Where the agent keeps what it downloads, seen from the host; gone after the reboot. */
const installDirectory = '/opt/install-dir';

/** Makes the directory that all downloaded files go to. */
export const mkdirArgv = ['mkdir', '-p', installDirectory] as const;

/** Makes the directories of the installation on the host. */
export const prepareDirectories = step({
  id: 'host/prepare-directories',
  title: 'Create the installation directory',
  stage: 'Starting installation',
  stageInfo: ({ role }) => role,
  uses: ['host'],
  limit: seconds(30),
  preview: () => [mkdirArgv],
  run: async ({ host, signal }) => {
    await host.exec(mkdirArgv, { signal, limit: seconds(20) });
  },
});
