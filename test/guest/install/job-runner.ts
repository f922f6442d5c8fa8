import { readFileSync } from 'node:fs';

import { osFile } from '../../../scripts/parts/os-files.ts';

/** Where the programs of the live system lie on a host whose /usr is read-only. */
const programs = '/etc/lab';

const live = (path: string): string => readFileSync(osFile(`live/tree/usr/${path}`), 'utf8');

function program(path: string): object {
  const source = `data:;base64,${Buffer.from(live(path)).toString('base64')}`;
  const place = `${programs}/${path.split('/').at(-1) ?? ''}`;
  return { path: place, mode: 0o755, overwrite: true, contents: { source } };
}

function unit(): string {
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

/** What brings to an installed host, by Ignition, what the live system has to run a job with an agent. */
export const jobRunner = {
  directories: [{ path: '/etc/pki' }],
  files: [program('bin/run-agent'), program('libexec/live-job')],
  units: [
    { name: 'systemd-networkd-wait-online.service', enabled: true },
    { name: 'live-job.service', enabled: true, contents: unit() },
  ],
} as const;
