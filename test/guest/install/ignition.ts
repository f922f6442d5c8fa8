import { ENCAPSULATED_PATH } from '../../../src/ignition/encapsulated.ts';
import { jobRunner } from './job-runner.ts';

/** Where the installed system finds the files of the Machine Config Server. */
const proofPath = '/etc/lab-proof';
const proofPathInVar = '/var/lib/lab-proof';
const proofText = 'from-the-machine-config-server';

/** On the second serial port, once Ignition is through: the files and the user that it brought. */
export const proofLine = `IGNITION-APPLIED ${proofText} in-var core sudo`;

const unit = `[Unit]
Description=Say on the second serial port what Ignition brought
Before=labcoreos-report.service
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/sh -c 'echo IGNITION-APPLIED $$(cat ${proofPath} ${proofPathInVar}) $$(id -nG core) > /dev/ttyS1'
[Install]
WantedBy=multi-user.target
`;

const dataUrl = (text: string): string => `data:,${encodeURIComponent(text)}`;

/** The operating system that a cluster wants its nodes to have. */
export interface FinalOs {
  readonly osImageURL: string;
  readonly kernelArguments: readonly string[];
}

/** An image that was built for the pool has the files already, so they replace what is there. */
const textFile = (path: string, text: string): object => ({
  path,
  mode: 0o644,
  overwrite: true,
  contents: { source: dataUrl(text) },
});

/**
 * What the Machine Config Server has for a role: files, a user, units, and the MachineConfig they are from. A job disk is
 * looked for at each start, as in the live system.
 */
export const machineConfig = (finalOs?: FinalOs): object => ({
  ignition: { version: '3.2.0' },
  passwd: { users: [{ name: 'core', groups: ['sudo'] }] },
  storage: {
    directories: jobRunner.directories,
    files: [
      ...jobRunner.files,
      textFile(proofPath, `${proofText}\n`),
      textFile(proofPathInVar, 'in-var\n'),
      ...(finalOs === undefined
        ? []
        : [textFile(ENCAPSULATED_PATH, JSON.stringify({ spec: finalOs }))]),
    ],
  },
  systemd: {
    units: [{ name: 'lab-proof.service', enabled: true, contents: unit }, ...jobRunner.units],
  },
});

/** What the inventory service has for one host: its name, and where the rest is. */
export const pointerConfig = ({
  hostname,
  source,
}: {
  readonly hostname: string;
  readonly source: string;
}): object => ({
  ignition: { version: '3.2.0', config: { merge: [{ source }] } },
  storage: {
    files: [
      {
        path: '/etc/hostname',
        mode: 0o644,
        overwrite: true,
        contents: { source: dataUrl(`${hostname}\n`) },
      },
    ],
  },
});
