import { readFileSync } from 'node:fs';
import { osFile } from '../../../scripts/parts/os-files.ts';
import { ENCAPSULATED_PATH } from '../../../src/ignition/encapsulated.ts';

/** Where the installed system finds the files of the Machine Config Server. */
const proofPath = '/etc/lab-proof';
const proofPathInVar = '/var/lib/lab-proof';
const proofText = 'from-the-machine-config-server';

/** On the second serial port, once Ignition has finished: its files and its user. */
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

/** An image built for the pool already has the files, so they replace existing ones. */
const textFile = (path: string, text: string): object => ({
  path,
  mode: 0o644,
  overwrite: true,
  contents: { source: dataUrl(text) },
});

/**
 * The config of the Machine Config Server for a role: files, a user, units, and the MachineConfig they
 * are from. A job disk is looked for at each start, as in the live system.
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

/** The Ignition of the inventory service for one host: its name, and where the rest is. */
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

/** Where the programs of the live system lie on a host whose /usr is read-only. */
const programs = '/etc/lab';

const live = (path: string): string => readFileSync(osFile(`live/tree/usr/${path}`), 'utf8');

/** A file of Ignition that can be run. */
export const programFile = (path: string, text: string): object => ({
  path,
  mode: 0o755,
  overwrite: true,
  contents: { source: `data:;base64,${Buffer.from(text).toString('base64')}` },
});

const program = (path: string): object =>
  programFile(`${programs}/${path.split('/').at(-1) ?? ''}`, live(path));

function jobUnit(): string {
  const more = [
    `Environment=PATH=${programs}:/usr/sbin:/usr/bin`,
    // The top folder of a deployment is immutable, and a job wants its /job.
    'ExecStartPre=chattr -i /',
    `ExecStart=${programs}/live-job`,
  ];
  return (
    live('lib/systemd/system/live-job.service')
      // Both write on the second serial port.
      .replace(/^After=/m, 'After=labcoreos-report.service ')
      .replace(/^ExecStart=.*$/m, more.join('\n'))
  );
}

/**
 * Files and units by which an installed host runs a job with an agent, as the live system does.
 */
export const jobRunner = {
  directories: [{ path: '/etc/pki' }],
  files: [program('bin/run-agent'), program('libexec/live-job')],
  units: [
    { name: 'systemd-networkd-wait-online.service', enabled: true },
    { name: 'live-job.service', enabled: true, contents: jobUnit() },
  ],
} as const;
