// What a live guest lacks that a host with RHEL CoreOS has, for an agent that runs there.
import { readFileSync } from 'node:fs';
import { placeFile, type PlacedFile } from './install-script.ts';

/** What a machine does in a play. */
export type GuestRole = 'bootstrap' | 'master' | 'arbiter';

const source = (name: string): string =>
  readFileSync(new URL(`live/${name}`, import.meta.url), 'utf8');

/** The stand-ins of a live guest; `desk` is the URL at which it reaches the desk of the lab. */
function standInsFor(role: GuestRole, desk: string): readonly PlacedFile[] {
  const podman = source('podman').replaceAll('@DESK@', desk);
  const everywhere = [{ path: '/usr/local/bin/podman', mode: 0o755, content: podman }];
  if (role !== 'bootstrap') return everywhere;
  return [
    ...everywhere,
    { path: '/usr/bin/oc', mode: 0o755, content: source('oc') },
    {
      path: '/etc/systemd/system/NetworkManager.service',
      mode: 0o644,
      content: source('NetworkManager.service'),
    },
  ];
}

/** Bash that puts the stand-ins into a live guest before its agent is started. */
export const placeStandIns = (role: GuestRole, desk: string): string =>
  [...standInsFor(role, desk).map(placeFile), 'systemctl daemon-reload', ''].join('\n');
