import type { Program, Programs } from './call.ts';
import { imagePrograms } from './commands/skopeo.ts';
import { ownRegistryPrograms } from './commands/own-registry.ts';
import { transientPrograms } from './commands/systemd-run.ts';
import { containerPrograms } from './commands/podman.ts';
import { copyingPrograms } from './commands/copying.ts';
import { deployingPrograms } from './commands/deploying.ts';
import { filePrograms } from './commands/files.ts';
import { firmwarePrograms } from './commands/efibootmgr.ts';
import { keyPrograms } from './commands/ssh-keygen.ts';
import { linkPrograms } from './commands/linking.ts';
import { listingPrograms } from './commands/lsblk.ts';
import { mappingPrograms } from './commands/mapping.ts';
import { mountingPrograms } from './commands/mounting.ts';
import { movingPrograms } from './commands/rpm-ostree.ts';
import { namingPrograms } from './commands/naming.ts';
import { shellPrograms } from './commands/shell.ts';
import { systemPrograms } from './commands/system.ts';
import { unitPrograms } from './commands/systemctl.ts';
import { volumePrograms } from './commands/volumes.ts';
import { wipingPrograms } from './commands/wiping.ts';
import { writerPrograms } from './commands/coreos-installer.ts';

const bare: Programs = {
  ...containerPrograms,
  ...copyingPrograms,
  ...deployingPrograms,
  ...filePrograms,
  ...imagePrograms,
  ...firmwarePrograms,
  ...keyPrograms,
  ...linkPrograms,
  ...listingPrograms,
  ...mappingPrograms,
  ...mountingPrograms,
  ...movingPrograms,
  ...namingPrograms,
  ...ownRegistryPrograms,
  ...systemPrograms,
  ...unitPrograms,
  ...volumePrograms,
  ...wipingPrograms,
  ...writerPrograms,
};

const among = (programs: Programs, name: string): Program | undefined =>
  Object.hasOwn(programs, name) ? programs[name] : undefined;

const inBare = (name: string): Program | undefined => among(bare, name);

const programs: Programs = { ...bare, ...shellPrograms(inBare), ...transientPrograms(inBare) };

/** The stand-in of a program, or undefined when there is none. */
export const programNamed = (name: string): Program | undefined => among(programs, name);
