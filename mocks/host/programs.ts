import type { Program, Programs } from './call.ts';
import { containerPrograms } from './commands/podman.ts';
import { deployingPrograms } from './commands/deploying.ts';
import { filePrograms } from './commands/files.ts';
import { firmwarePrograms } from './commands/efibootmgr.ts';
import { listingPrograms } from './commands/lsblk.ts';
import { mappingPrograms } from './commands/mapping.ts';
import { mountingPrograms } from './commands/mounting.ts';
import { systemPrograms } from './commands/system.ts';
import { volumePrograms } from './commands/volumes.ts';
import { wipingPrograms } from './commands/wiping.ts';
import { writerPrograms } from './commands/coreos-installer.ts';

const programs: Programs = {
  ...containerPrograms,
  ...deployingPrograms,
  ...filePrograms,
  ...firmwarePrograms,
  ...listingPrograms,
  ...mappingPrograms,
  ...mountingPrograms,
  ...systemPrograms,
  ...volumePrograms,
  ...wipingPrograms,
  ...writerPrograms,
};

/** The stand-in of a program, or undefined when there is none. */
export const programNamed = (name: string): Program | undefined =>
  Object.hasOwn(programs, name) ? programs[name] : undefined;
