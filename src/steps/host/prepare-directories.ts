import { minutes } from '../../model/duration.ts';
import { step } from '../step.ts';

/** Folder of the agent's downloads, as a path of the host; it is gone after the reboot. */
const installDirectory = '/opt/install-dir';

/** Creates the directory of all downloads. */
export const mkdirArgv = ['mkdir', '-p', installDirectory] as const;

/** Creates the directories of the installation on the host. */
export const prepareDirectories = step({
  id: 'host/prepare-directories',
  title: 'Create the installation directory',
  stage: 'Starting installation',
  stageInfo: ({ role }) => role,
  uses: ['host'],
  limit: minutes(5),
  preview: () => [mkdirArgv],
  run: async ({ host, signal }) => {
    await host.exec(mkdirArgv, { signal, limit: minutes(2) });
  },
});
